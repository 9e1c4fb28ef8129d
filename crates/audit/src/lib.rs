//! What a mechanism leaks at least: attack it many times, count, and bound ε from below.
//!
//! A [`Subject`] is run in two worlds, with and without a canary; an attacker scores each run; half of the runs choose a
//! threshold, the other half are counted; [`Evidence`] turns the counts into a lower bound that holds with a stated
//! chance of error.

mod attack;
pub mod bound;
mod counts;
mod evidence;
pub mod power;
mod scores;
mod subject;
pub mod threshold;

pub use attack::run;
pub use counts::Counts;
pub use evidence::Evidence;
pub use scores::Scores;
pub use subject::{Subject, World};
