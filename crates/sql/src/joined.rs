//! How many rows of one unit are joined to another private table, in SQL.
//!
//! A join of private tables multiplies the rows of a unit before they are counted. So of each table a unit has no more rows than its
//! cap: those of the least ranks, where it has more. A rank is SHA-256 over the secret of the query, the unit and what of the row is
//! read, numbers as whole numbers. Rows that tie are told apart by their values; those that are alike in all give the same sums.

use crate::{
    Column, Grid,
    bound::{group_by, list},
    compile::Compiler,
    plan::Source,
    scalar::Range,
};
use veracity_core::{Count, Refusal};

impl Compiler<'_> {
    /// The declared columns of a table, with at most so many rows of each unit.
    pub(crate) fn few_of_each_unit(&self, source: &Source, most: Count) -> Result<String, Refusal> {
        let (units, cells, most) = (self.unit_names(), cell_names(source), most.get());
        let shown = list(units.iter().chain(&cells).cloned());
        let declared = self.view(source);
        let same = list_and((0..units.len()).map(|at| format!("u{at} = w{at}")));
        let over = format!(
            "SELECT {} FROM ({declared}) AS owned{} HAVING COUNT(*) > {most}",
            list((0..units.len()).map(|at| format!("u{at} AS w{at}"))),
            group_by(&units)
        );
        let few = format!(
            "SELECT {shown} FROM ({declared}) AS few LEFT JOIN ({over}) AS over_cap ON {same} WHERE w0 IS NULL"
        );
        let ranked = format!(
            "SELECT {shown}, ROW_NUMBER() OVER (PARTITION BY {} ORDER BY {}) AS r \
             FROM ({declared}) AS many INNER JOIN ({over}) AS over_cap ON {same}",
            units.join(", "),
            list(std::iter::once(self.hash_of_cells(source)?).chain(cells.iter().map(|cell| in_order(cell)))),
        );
        Ok(format!("{few} UNION ALL SELECT {shown} FROM ({ranked}) AS ranked WHERE r <= {most}"))
    }

    /// The hash of a unit and of what is read of a row.
    fn hash_of_cells(&self, source: &Source) -> Result<String, Refusal> {
        let texts: Vec<String> = cell_names(source)
            .into_iter()
            .zip(&source.columns)
            .map(|(cell, (_, declared))| {
                let text = match declared {
                    Column::Text(_) => cell,
                    Column::Number(bounds) => {
                        let range = Range { low: bounds.lower(), high: bounds.upper() };
                        self.dialect.digits(&self.on_grid(&cell, &Grid::of_means(range)?))
                    }
                };
                Ok(format!("COALESCE({text}, '')"))
            })
            .collect::<Result<_, Refusal>>()?;
        Ok(self.hash_of_unit(texts.into_iter()))
    }
}

/// The columns that are read of a row.
fn cell_names(source: &Source) -> Vec<String> {
    (0..source.columns.len()).map(|at| format!("c{at}")).collect()
}

/// A value in an order that engines agree on: those that are missing first.
fn in_order(cell: &str) -> String {
    format!("CASE WHEN {cell} IS NULL THEN 0 ELSE 1 END, {cell}")
}

fn list_and(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(" AND ")
}
