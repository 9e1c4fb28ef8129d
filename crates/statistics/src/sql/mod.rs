//! Questions in SQL about people: one bounded plan, exact integers from an engine, exact noise outside of it.
//!
//! A [`Catalog`] says which tables there are and what is public about them. [`check`] turns a query into a [`Plan`], or refuses it
//! with the nearest allowed form; [`Plan::prepare`] finds the least noise within a budget, before any data are touched;
//! [`compile`] writes the plan in the dialect of an [`Engine`], which answers with integers; [`Plan::answer`] adds noise.
//! [`ask`] is the whole job, from the engine to the claim on disk.
//!
//! ```
//! use veracity_core::Epsilon;
//! use veracity_statistics::{ReleaseSettings, sql::{Catalog, QueryRequest, ask, engine_for}};
//!
//! let folder = std::env::temp_dir().join(format!("veracity-statistics-doc-{}", std::process::id()));
//! std::fs::create_dir_all(&folder).unwrap();
//! std::fs::write(folder.join("people.csv"), "id,sex,hours\n1,Male,40\n2,Female,38\n3,Male,45\n").unwrap();
//! let catalog = Catalog::read(
//!     r#"
//!     [tables.people]
//!     path = "people.csv"
//!     person = "id"
//!     rows_per_group = 1
//!     groups_per_person = 1
//!     [tables.people.columns]
//!     hours = { lower = 0, upper = 99 }
//!     sex = { keys = ["Male", "Female"] }
//!     "#,
//!     &folder,
//! )?;
//!
//! let request = QueryRequest::new("SELECT sex, COUNT(*) FROM people GROUP BY sex", Epsilon::new(1.0)?);
//! let prepared = request.prepare(&catalog)?;
//! let mut engine = engine_for(&prepared, None)?;
//! engine.prepare(&prepared.plan)?;
//! let settings = ReleaseSettings { claim: Some(folder.join("claim.json")), ..ReleaseSettings::default() };
//! let done = ask(&prepared, &mut *engine, &settings)?;
//! // Both keys are answered, and what that cost is on disk.
//! assert!(done.rows.len() == 2 && done.path.exists());
//! # std::fs::remove_dir_all(&folder).unwrap();
//! # Ok::<(), veracity_core::Error>(())
//! ```

mod advice;
mod answer;
mod ast;
mod bound;
mod calendar;
mod catalog;
mod check;
mod compile;
mod design;
mod dialect;
pub mod engine;
mod every;
mod grid;
mod hints;
mod interval;
mod job;
mod joined;
mod lex;
mod one_pass;
mod parse;
mod pattern;
mod per_unit;
mod plan;
mod prepared;
mod quantile;
mod required_caps;
mod scalar;
mod sizes;
mod spread;
mod starting;
mod statistic;
mod suggest;
mod unfilled;

pub use answer::{CallAnswer, Cell, CutRows, Group, NoisyNumber, Totals};
pub use ast::{Comparison, Direction, JoinKind, Operator};
pub use calendar::Unit;
pub use catalog::{Caps, Catalog, Column, DeclaredCaps, Place, RowsOf, Table};
pub use check::{CapOverrides, check};
pub use compile::{Row, Secret, Statement, compile, compile_sizes};
pub use design::{CallNoise, Design};
pub use dialect::Dialect;
pub use engine::{Engine, must_read_forms};
pub use every::{EveryPeriod, PeriodErrors, PeriodsPreview};
pub use grid::Grid;
pub use hints::Hint;
pub use job::{
    EngineChoice, OpenQuery, QueryDone, QueryRequest, ReadyQuery, ask, check_query, engine_for, query,
    query_forecast, query_paid,
};
pub use plan::{
    Aggregate, Condition, Function, Input, Key, Measure, NoiseCall, Output, OutputValue, PerUnit, Plan,
    Presentation, Source, Statistic, Summand, Value,
};
pub use prepared::{NoisyColumn, PreparedQuery};
pub use scalar::{ColumnRef, Extreme, Predicate, Scalar, TextScalar};
pub use sizes::Sizes;
pub use starting::starting_catalog;
pub use suggest::CapSuggestion;
pub use veracity_mechanisms::Priority;
