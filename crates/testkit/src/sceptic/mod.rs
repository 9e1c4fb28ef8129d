//! The sceptic: independent roads to what the accountant claims, random questions, and a judge.
//!
//! `double_double`, `complex` and `normal_tail` are its own arithmetic; `worlds` says what a mechanism shows, in the terms
//! of `law`; `once`, `enumeration`, `laplace_series`, `jumps` and `contour` (with `nodes` and `envelope`) are roads from a law to a [`truth::Truth`], and
//! `roads` picks one. `questions` draws what to ask with `dice`, `judge` holds an answer against the truth and against laws
//! that need none, `tally` counts. Nothing here is shared with the crates under test but the names of mechanisms.

pub mod complex;
pub mod contour;
pub mod dice;
pub mod double_double;
pub mod enumeration;
mod envelope;
pub mod judge;
pub mod jumps;
pub mod laplace_series;
pub mod law;
mod nodes;
pub mod normal_tail;
pub mod once;
pub mod questions;
pub mod roads;
pub mod tally;
pub mod truth;
pub mod worlds;
