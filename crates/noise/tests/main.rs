//! All integration tests of this crate, as one program.
#![allow(clippy::unwrap_used)] // A test that cannot go on should stop there.

mod exact;
mod fork;
mod statistics;
mod streams;
mod vector;
