//! All integration tests of this crate, as one program.
#![allow(clippy::unwrap_used)] // A test that cannot go on should stop there.

mod attacks;
mod events;
mod examples;
mod forged_claims;
mod honest_claims;
mod mechanisms;
mod persons;
mod questions;
mod releases;
mod replaying;
mod sql_tour;
mod strange_files;
mod zoo;
