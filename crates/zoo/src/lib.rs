//! Planted bugs: mistakes that private code really makes, each of which the audits must refute.
//!
//! [`exhibits`] gives all of them. An [`Exhibit`] says what is claimed, and holds a [`Specimen`] that breaks the claim beside
//! its honest twin, the same code without the mistake. A specimen is attacked by running it in two worlds many times, or is
//! recorded on a dataset and replayed on an adjacent one. What the claim is worth in ε the caller asks an accountant.

mod exhibit;
mod exhibits;
pub mod trainer;

pub use exhibit::{Exhibit, Replays, Runs, Specimen};
pub use exhibits::exhibits;
