//! All integration tests of this crate, as one program.
#![allow(clippy::unwrap_used)] // A test that cannot go on should stop there.

mod answers;
mod attacks;
mod choices;
mod coverage;
mod horizon;
mod laws;
mod local_figures;
mod local_laws;
mod local_lines;
mod local_ratio;
mod local_variance;
mod quantile_pairs;
mod replay;
