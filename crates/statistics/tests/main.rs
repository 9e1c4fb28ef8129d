//! All integration tests of this crate, as one program.
#![allow(clippy::unwrap_used)] // A test that cannot go on should stop there.

mod common;
mod sql_adversary;
mod sql_agreement;
mod sql_calls;
mod sql_engines;
mod sql_groupings;
mod sql_hostile;
mod sql_laws_of_noise;
mod sql_limits;
mod sql_neighbours;
mod sql_periods;
mod sql_sizes;
mod statistician;
