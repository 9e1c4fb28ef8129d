//! Integer training, as devices do it: products and sums over records are of integers, and exact in any order.
//!
//! What a device is told ([`Job`], [`place`]) and what it can train ([`check`]) is here, so that [`IntegerReference`] does the same on the CPU. The theorem on its sums is in docs/proofs/device-sums.md.

mod job;
mod reference;
mod rows;
mod score;
mod shape;
mod worlds;

pub use job::{Job, SHUFFLED};
pub use reference::IntegerReference;
pub(crate) use score::Scores;
pub use shape::{Layers, check, job, room_for};
pub use worlds::{Numbers, place};
