//! Questions in SQL about people: one bounded plan, exact integers from an engine, exact noise outside of it.
//!
//! A [`Catalog`] says which tables there are and what is public about them. [`check`] turns a query into a [`Plan`], or refuses it
//! with the nearest allowed form; [`Plan::prepare`] finds the least noise within a budget, before any data are touched;
//! [`compile`] writes the plan in the dialect of an [`Engine`], which answers with whole numbers; [`Plan::answer`] adds noise.
//! [`ask`] is the whole job, from the engine to the claim on disk.
//!
//! ```
//! use veracity_core::Epsilon;
//! use veracity_records::Form;
//! use veracity_sql::{Catalog, Cell, QueryRequest, QuerySettings, ask, engine_for};
//!
//! let folder = std::env::temp_dir().join(format!("veracity-sql-doc-{}", std::process::id()));
//! std::fs::create_dir_all(&folder).unwrap();
//! std::fs::write(folder.join("people.csv"), "id,sex,hours\n1,Male,40\n2,Female,38\n3,Male,45\n").unwrap();
//! let catalog = Catalog::read(
//!     r#"
//!     [tables.people]
//!     path = "people.csv"
//!     person = "id"
//!     [tables.people.columns]
//!     hours = { lower = 0, upper = 99 }
//!     sex = { keys = ["Male", "Female"] }
//!     "#,
//!     &folder,
//! )?;
//!
//! let request = QueryRequest::new("SELECT sex, COUNT(*) FROM people GROUP BY sex", Epsilon::new(1.0)?);
//! let prepared = request.prepare(&catalog)?;
//! let mut engine = engine_for(&prepared, None, Form::default())?;
//! engine.prepare(&prepared.plan)?;
//! let settings = QuerySettings { claim: Some(folder.join("claim.json")), ..QuerySettings::default() };
//! let done = ask(&prepared, &mut *engine, &settings)?;
//! // Both keys are answered, and what that cost is on disk.
//! assert!(done.rows.len() == 2 && done.path.exists());
//! # std::fs::remove_dir_all(&folder).unwrap();
//! # Ok::<(), veracity_core::Error>(())
//! ```

mod answer;
mod ast;
mod bound;
mod catalog;
mod check;
mod compile;
mod design;
mod dialect;
pub mod engine;
mod grid;
mod job;
mod joined;
mod lex;
mod one_pass;
mod parse;
mod plan;
mod prepared;
mod quantile;
mod scalar;
mod spread;

pub use answer::{Cell, Group, Noisy, Totals};
pub use ast::{Comparison, Direction, JoinKind, Operator};
pub use catalog::{Caps, Catalog, Column, Place, RowsOf, Table};
pub use check::{CapsWanted, check};
pub use compile::{Row, Secret, Statement, compile, compile_typed};
pub use design::{Design, Drawn, Lane};
pub use dialect::Dialect;
pub use engine::Engine;
pub use grid::Grid;
pub use job::{Asking, QueryDone, QueryRequest, QuerySettings, ask, engine_for, query};
pub use plan::{Aggregate, Condition, Input, Key, Output, OutputValue, Plan, Shown, Source, Summand, Value};
pub use prepared::Prepared;
pub use scalar::{ColumnRef, Predicate, Scalar, TextRef};
