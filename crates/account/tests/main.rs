//! All integration tests of this crate, as one program.
#![allow(clippy::unwrap_used)] // A test that cannot go on should stop there.

mod batches;
mod bounded_range;
mod calibration;
mod corners;
mod filters;
mod golden;
mod kinds;
mod laws;
mod methods;
mod random_bits;
mod rare;
mod sceptic;
mod sceptic_mended;
mod selection;
mod small_populations;
mod strategies;
mod strategy_sensitivity;
mod union_filter;
mod worked_examples;
