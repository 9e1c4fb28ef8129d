//! One row for each unit, in SQL: sums, counts and extremes of its rows.
//!
//! Of the rows of a unit no more are taken than its cap, as before a join (`joined.rs`). Sums are exact sums of integers on a grid, so
//! that every engine has the same number. The numbers are clamped to what follows from the cap and the declared bounds, as those of a
//! stored column are. So one unit has one row, and that row moves a sum by no more than a row with such bounds does.

use crate::sql::{
    compile::Compiler,
    dialect::Dialect,
    plan::{Measure, PerUnit, Source},
    scalar::Extreme,
};
use veracity_core::Count;

impl Compiler<'_> {
    /// The columns of a source that has one row for each unit, before they are clamped.
    pub(crate) fn one_of_each_unit(&self, source: &Source, per_unit: &PerUnit, table: usize) -> String {
        let rows = self.rows_of_units(per_unit);
        let most = per_unit.rows.most.unwrap_or(Count::ONE);
        let few = self.few_of(&per_unit.rows, rows, table, most);
        let unit = self.units_of(source);
        let measures = source.columns.iter().enumerate().filter_map(|(at, (name, _))| {
            per_unit.measures.get(name).map(|measure| format!("{} AS c{at}", self.measure(measure)))
        });
        let units = unit.iter().map(|name| format!("t0.{name} AS {name}"));
        let shown: Vec<String> = units.chain(measures).collect();
        let grouped: Vec<String> = unit.iter().map(|name| format!("t0.{name}")).collect();
        format!("SELECT {} FROM ({few}) AS t0 GROUP BY {}", shown.join(", "), grouped.join(", "))
    }

    /// The rows of units that pass the filter.
    fn rows_of_units(&self, per_unit: &PerUnit) -> String {
        let unit = self.units_of(&per_unit.rows);
        let cells = (0..per_unit.rows.columns.len()).map(|at| format!("c{at}"));
        let shown: Vec<String> =
            unit.iter().cloned().chain(cells).map(|name| format!("t0.{name} AS {name}")).collect();
        let mut filters: Vec<String> = unit.iter().map(|name| format!("t0.{name} IS NOT NULL")).collect();
        filters.extend(per_unit.filter.as_ref().map(|filter| self.predicate(filter)));
        format!(
            "SELECT {} FROM ({}) AS t0 WHERE {}",
            shown.join(", "),
            self.view(&per_unit.rows),
            filters.join(" AND ")
        )
    }

    fn units_of(&self, source: &Source) -> Vec<String> {
        (0..source.unit.len()).map(|at| format!("u{at}")).collect()
    }

    fn measure(&self, measure: &Measure) -> String {
        let float = |x: &str| {
            let kind = match self.dialect {
                Dialect::Sqlite => "REAL",
                Dialect::Postgres => "DOUBLE PRECISION",
                Dialect::DuckDb | Dialect::Spark => "DOUBLE",
            };
            format!("CAST({x} AS {kind})")
        };
        match measure {
            Measure::Rows => float("COUNT(*)"),
            Measure::Present(input) => float(&format!("COUNT({})", self.whole(input))),
            Measure::Sum(input) => {
                format!(
                    "({} * {})",
                    float(&format!("SUM({})", self.whole(input))),
                    self.dialect.float(input.grid.unit())
                )
            }
            Measure::Mean(input) => {
                let whole = self.whole(input);
                // No unit without a number is divided by zero.
                format!(
                    "(CASE WHEN COUNT({whole}) > 0 THEN {} / {} END * {})",
                    float(&format!("SUM({whole})")),
                    float(&format!("COUNT({whole})")),
                    self.dialect.float(input.grid.unit())
                )
            }
            Measure::Extreme(Extreme::Least, scalar) => format!("MIN({})", self.scalar(scalar)),
            Measure::Extreme(Extreme::Greatest, scalar) => format!("MAX({})", self.scalar(scalar)),
        }
    }
}
