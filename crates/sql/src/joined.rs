//! How many rows of one unit are joined to another private table, in SQL.
//!
//! A join of private tables multiplies the rows of a unit before they are counted. So of each table a unit has no more rows than its
//! cap: those of the least ranks, where it has more. A rank is SHA-256 over the secret of the query, the unit and what of the row is
//! read, numbers as whole numbers. Rows that tie are told apart by their values; those that are alike in all give the same sums.

use crate::{Column, Grid, bound::list, compile::Compiler, plan::Source, scalar::Range};
use veracity_core::{Count, Refusal};

impl Compiler<'_> {
    /// The declared columns of a table, with at most so many rows of each unit. Only those of units that have more are hashed.
    pub(crate) fn few_of_each_unit(&self, source: &Source, most: Count) -> Result<String, Refusal> {
        let (cells, most) = (cell_names(source), most.get());
        let unit = self.unit_names().join(", ");
        let shown = list(self.unit_names().into_iter().chain(cells.iter().cloned()));
        let sized = format!(
            "SELECT {shown}, COUNT(*) OVER (PARTITION BY {unit}) AS n FROM ({}) AS owned",
            self.view(source)
        );
        let hash = format!("CASE WHEN n > {most} THEN {} END", self.hash_of_cells(source)?);
        let order = list(std::iter::once(hash).chain(cells.iter().map(|cell| in_order(cell))));
        let ranked = format!(
            "SELECT {shown}, ROW_NUMBER() OVER (PARTITION BY {unit} ORDER BY {order}) AS r FROM ({sized}) AS sized"
        );
        Ok(format!("SELECT {shown} FROM ({ranked}) AS few WHERE r <= {most}"))
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
