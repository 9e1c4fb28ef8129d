//! All integration tests of this crate, as one program.
#![allow(clippy::unwrap_used)] // A test that cannot go on should stop there.

mod adaptive;
mod door;
mod faults;
mod hostile;
mod kills;
mod laws;
mod paying;
mod retries;
mod storage;
