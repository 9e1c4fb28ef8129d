//! How many rows of one unit are joined to another private table, in SQL.
//!
//! A join of private tables multiplies the rows of a unit before they are counted. So of each table a unit has no more rows than its
//! cap: where it has more, those at even distances from a secret start (`spread.rs`), in the order of what is read of them. Rows that
//! are alike in all of it give the same sums.

use crate::sql::{bound::list, compile::Compiler, plan::Source, spread};
use veracity_core::Count;

impl Compiler<'_> {
    /// The declared columns of a table, with at most so many rows of each unit. Only units that have more are hashed, each with the
    /// place of the table, so that what is chosen of one table tells nothing of another.
    pub(crate) fn few_of_each_unit(&self, source: &Source, table: usize, most: Count) -> String {
        self.few_of(source, self.view(source), table, most)
    }

    /// The same of some of its rows.
    pub(crate) fn few_of(&self, source: &Source, rows: String, table: usize, most: Count) -> String {
        let (cells, most) = (cell_names(source), most.get());
        let unit = self.unit_names().join(", ");
        let shown = list(self.unit_names().into_iter().chain(cells.iter().cloned()));
        // A unit alone may be all that is read: its rows are alike.
        let order = match cells.is_empty() {
            true => unit.clone(),
            false => list(cells.iter().map(|cell| in_order(cell))),
        };
        let sized = format!(
            "SELECT {shown}, COUNT(*) OVER (PARTITION BY {unit}) AS n, \
             ROW_NUMBER() OVER (PARTITION BY {unit} ORDER BY {order}) AS p FROM ({rows}) AS owned"
        );
        let hash = self.hash_of_unit(&format!(" table {table}"), Vec::new());
        let key = format!("CASE WHEN n > {most} THEN {} ELSE 0 END", self.dialect.first_bits(&hash));
        let turned = spread::turned("p", "n", &key);
        format!(
            "SELECT {shown} FROM (SELECT {shown}, n, {turned} AS x FROM ({sized}) AS sized) AS few WHERE {}",
            spread::is_counted("x", "n", most)
        )
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
