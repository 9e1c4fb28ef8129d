//! What a mechanism leaks at least: attack it many times, count, and bound ε from below.
//!
//! A [`Subject`] is run with and without its canaries; an attacker scores each of them; [`observe`] runs trials, and [`show`]
//! turns what they told into a lower bound by a [`Method`] that was fixed before, with a stated chance of error.

pub mod bound;
mod canary;
mod counts;
mod idealised;
mod method;
pub mod power;
pub mod replay;
mod scores;
mod subject;
pub mod threshold;
mod trial;

pub use canary::Canary;
pub use counts::Counts;
pub use idealised::Idealised;
pub use method::{Counted, Evidence, Method, show};
pub use scores::Scores;
pub use subject::{Failure, Subject, World, worlds};
pub use threshold::Choice;
pub use trial::{Observation, Outcome, Shard, observe, observe_one};
