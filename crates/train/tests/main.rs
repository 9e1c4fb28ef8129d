//! All integration tests of this crate, as one program.
#![allow(clippy::unwrap_used)] // A test that cannot go on should stop there.

mod adversaries;
mod convex;
mod crafted_gradients;
mod features;
mod fork;
mod hostile;
mod integer;
mod layers;
mod people;
mod replay;
mod speed_paths;
mod step;
mod written;
