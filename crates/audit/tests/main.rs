//! All integration tests of this crate, as one program.
#![allow(clippy::unwrap_used)] // A test that cannot go on should stop there.

mod bounds;
mod coverage;
mod drift;
mod known_leaks;
mod many_runs;
mod power;
mod trace_noise;
mod verdicts;
mod worlds;
