//! Training in whole numbers, as devices do it: products and sums over records are of whole numbers, and exact in any order.
//!
//! What a device is told ([`Job`], [`place`]) and what it can train ([`check`]) is here, so that [`WholeNumbers`] does the same on these
//! cores. The theorem on its sums is in ARCHITECTURE.md.

mod job;
mod rows;
mod score;
mod shape;
mod twin;
mod worlds;

pub use job::{Job, SHUFFLED};
pub(crate) use score::Scores;
pub use shape::{Layers, check, job, room_for};
pub use twin::WholeNumbers;
pub use worlds::{Numbers, place};
