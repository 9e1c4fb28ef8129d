//! All integration tests of this crate, as one program.
#![allow(clippy::unwrap_used)] // A test that cannot go on should stop there.

mod columnar;
mod columns;
mod failures;
mod hostile;
mod mutations;
mod parts;
mod readers;
mod writing;
mod written;
