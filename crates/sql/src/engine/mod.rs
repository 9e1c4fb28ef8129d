//! Engines that hold tables and sum whole numbers. Noise is none of their business.

mod cells;

mod direct;
mod duckdb;
mod header;
#[cfg(feature = "postgres")]
mod postgres;
mod sqlite;
mod together;

pub use duckdb::DuckDb;
#[cfg(feature = "postgres")]
pub use postgres::Postgres;
pub use sqlite::Sqlite;

use crate::{Column, Dialect, Plan, Row, Secret, Source, Statement, Totals, compile_typed};
use std::collections::BTreeMap;
use veracity_core::Error;
use veracity_records::Kind;

/// An engine that can answer the statements of a plan.
pub trait Engine {
    /// How it writes SQL.
    fn dialect(&self) -> Dialect;

    /// Checks the tables of a plan without reading a row: that files are there, or that columns are of the declared kind.
    ///
    /// A refusal rests on what is public. It costs nothing.
    fn check(&mut self, plan: &Plan) -> Result<(), Error>;

    /// Loads the rows, where the engine holds them itself. A refusal may rest on a row, so that a ledger is charged before.
    fn load(&mut self, _plan: &Plan) -> Result<(), Error> {
        Ok(())
    }

    /// Makes the tables of a plan ready.
    fn prepare(&mut self, plan: &Plan) -> Result<(), Error> {
        self.check(plan)?;
        self.load(plan)
    }

    /// Which columns of the unit hold whole numbers, in every table that has them; none where that is not known.
    fn whole_units(&self) -> &[bool] {
        &[]
    }

    /// The rows of a statement, in any order.
    ///
    /// What an engine says of a failure may hold data, so that no more than its code is told.
    fn run(&mut self, statement: &Statement) -> Result<Vec<Row>, Error>;

    /// The whole numbers of a plan that it was prepared for.
    fn totals(&mut self, plan: &Plan, secret: &Secret) -> Result<Totals, Error> {
        self.asked(plan, secret)
    }

    /// The same by its statements.
    fn asked(&mut self, plan: &Plan, secret: &Secret) -> Result<Totals, Error> {
        let statements = compile_typed(plan, self.dialect(), secret, self.whole_units())?;
        let all = statements.iter().map(|statement| self.run(statement)).collect::<Result<_, _>>()?;
        Ok(Totals::of(all)?)
    }
}

/// The columns of a file that a plan reads, by name.
type Needed<'a> = BTreeMap<&'a str, Kind>;

/// The columns that a source reads, and as what.
fn columns_of(source: &Source) -> impl Iterator<Item = (&str, Kind)> {
    let units = source.unit.iter().map(|name| (name.as_str(), Kind::Texts));
    let declared = source.columns.iter().map(|(name, column)| {
        let kind = match column {
            Column::Number(_) => Kind::Numbers,
            Column::Text(_) => Kind::Texts,
        };
        (name.as_str(), kind)
    });
    units.chain(declared)
}
