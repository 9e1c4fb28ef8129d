//! Engines that hold tables and sum whole numbers. Noise is none of their business.

mod duckdb;
#[cfg(feature = "postgres")]
mod postgres;
mod sorted;
mod sqlite;

pub use duckdb::DuckDb;
#[cfg(feature = "postgres")]
pub use postgres::Postgres;
pub use sqlite::Sqlite;

use crate::{Dialect, Plan, Row, Statement};
use veracity_core::Error;

/// An engine that can answer the statements of a plan.
pub trait Engine {
    /// How it writes SQL.
    fn dialect(&self) -> Dialect;

    /// Makes the tables of a plan ready: loads files, or checks that columns are of the declared kind.
    ///
    /// A refusal rests on what is public: files that are no tables, columns that are missing or of another type.
    fn prepare(&mut self, plan: &Plan) -> Result<(), Error>;

    /// The rows of a statement, in any order.
    ///
    /// What an engine says of a failure may hold data, so that no more than its code is told.
    fn run(&mut self, statement: &Statement) -> Result<Vec<Row>, Error>;
}
