//! Engines that hold tables and sum integers. They add no noise.

mod cells;
mod direct;
mod duckdb;
mod gathered;
mod header;
#[cfg(feature = "postgres")]
mod postgres;
mod sqlite;
mod together;

pub use duckdb::DuckDb;
#[cfg(feature = "postgres")]
pub use postgres::Postgres;
pub use sqlite::Sqlite;

use crate::sql::{
    Column, Dialect, Place, Plan, Row, Secret, Sizes, Source, Statement, Totals, compile, compile_sizes,
};
use std::collections::BTreeMap;
use veracity_core::{Error, Refusal};
use veracity_tables::{Encoding, Kind, Notation};

/// An engine that can answer the statements of a plan.
pub trait Engine {
    /// How it writes SQL.
    fn dialect(&self) -> Dialect;

    /// Checks the tables of a plan without reading a row: that files are there, or that columns are of the declared kind.
    ///
    /// # Errors
    /// Refuses tables that are not as the plan has them. A refusal rests on what is public. It costs nothing.
    fn check(&mut self, plan: &Plan) -> Result<(), Error>;

    /// Loads the rows, where the engine holds them itself.
    ///
    /// # Errors
    /// Refuses tables that cannot be read. A refusal may rest on a row, so that a ledger is charged before.
    fn load(&mut self, _plan: &Plan) -> Result<(), Error> {
        Ok(())
    }

    /// Checks and loads the tables of a plan.
    ///
    /// # Errors
    /// Refuses what [`Engine::check`] and [`Engine::load`] refuse.
    fn prepare(&mut self, plan: &Plan) -> Result<(), Error> {
        self.check(plan)?;
        self.load(plan)
    }

    /// Which columns of the unit hold integers, in every table that has them; none where that is not known.
    fn whole_units(&self) -> &[bool] {
        &[]
    }

    /// The rows of a statement, in any order.
    ///
    /// # Errors
    /// Returns the code of a failure alone: what an engine says of it may hold data.
    fn run(&mut self, statement: &Statement) -> Result<Vec<Row>, Error>;

    /// How large the units of a plan are, before any cap.
    ///
    /// # Errors
    /// Returns the error of [`Engine::run`].
    fn sizes(&mut self, plan: &Plan) -> Result<Sizes, Error> {
        let statements = compile_sizes(plan, self.dialect(), self.whole_units())?;
        let all = statements.iter().map(|statement| self.run(statement)).collect::<Result<Vec<_>, _>>()?;
        Ok(Sizes::of(&all)?)
    }

    /// The integers of a plan that it was prepared for.
    ///
    /// # Errors
    /// Returns the error of [`Engine::run`].
    fn totals(&mut self, plan: &Plan, secret: &Secret) -> Result<Totals, Error> {
        self.asked(plan, secret)
    }

    /// The same by its statements.
    ///
    /// # Errors
    /// Returns the error of [`Engine::run`].
    fn asked(&mut self, plan: &Plan, secret: &Secret) -> Result<Totals, Error> {
        let statements = compile(plan, self.dialect(), secret, self.whole_units())?;
        let all = statements.iter().map(|statement| self.run(statement)).collect::<Result<_, _>>()?;
        Ok(Totals::of(plan, all)?)
    }
}

/// Refuses files whose numbers or characters an engine would read in another way than the built-in reader does.
///
/// # Errors
/// Names the table and what is declared of it.
pub fn must_read_forms(plan: &Plan, engine: &str) -> Result<(), Refusal> {
    for table in plan.sources.iter().map(|source| &source.table) {
        let (notation, encoding) = (table.form.notation, table.form.encoding);
        let what = if notation != Notation::default() {
            format!("numbers such as {notation}")
        } else if encoding != Encoding::default() {
            format!("the encoding {}", encoding.name())
        } else {
            continue;
        };
        if matches!(table.place, Place::File(_)) {
            return Err(Refusal::invalid(format!(
                "{engine} does not read table {} with {what}; use the engine sqlite",
                table.name
            )));
        }
    }
    Ok(())
}

/// The columns of a file that a plan reads, by name.
type Needed<'a> = BTreeMap<&'a str, Kind>;

/// The columns that a source reads, and as what.
fn columns_of(source: &Source) -> impl Iterator<Item = (&str, Kind)> {
    let source = source.stored();
    let units = source.unit.iter().map(|name| (name.as_str(), Kind::Texts));
    let declared = source.columns.iter().map(|(name, column)| {
        let kind = match column {
            Column::Number(_) => Kind::Numbers,
            Column::Text(_) | Column::Date(..) => Kind::Texts,
        };
        (name.as_str(), kind)
    });
    units.chain(declared)
}
