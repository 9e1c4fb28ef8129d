//! All integration tests of this crate, as one program.
#![allow(clippy::unwrap_used)] // A test that cannot go on should stop there.

mod bending;
mod devices;
mod failures;
mod more_canaries;
mod noise_in_replays;
mod strange_cases;
mod zoo_powers;
mod zoo_replays;
mod zoo_together;
mod zoo_trainer;
