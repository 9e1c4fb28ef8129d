//! Questions in SQL about people.
mod answer;
mod ast;
mod catalog;
mod check;
mod compile;
mod design;
mod dialect;
pub mod engine;
mod grid;
mod lex;
mod parse;
mod plan;
mod prepared;
mod quantile;
mod scalar;

pub use answer::{Cell, Group, Noisy, Totals};
pub use ast::{Comparison, Direction, JoinKind, Operator};
pub use catalog::{Caps, Catalog, Column, Place, RowsOf, Table};
pub use check::{CapsWanted, check};
pub use compile::{Row, Secret, Statement, compile};
pub use design::{Design, Drawn, Lane};
pub use dialect::Dialect;
pub use engine::Engine;
pub use grid::Grid;
pub use plan::{Aggregate, Condition, Input, Key, Output, OutputValue, Plan, Shown, Source, Summand, Value};
pub use prepared::Prepared;
pub use scalar::{ColumnRef, Predicate, Scalar, TextRef};
