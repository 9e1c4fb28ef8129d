//! From what was done to what it can leak: a [`Question`] goes in, a certified [`veracity_core::Finding`] comes out.
//!
//! `expand` turns a mechanism under an adjacency into flat compositions of [`Part`]s; each method is one file that
//! reads those parts; `epsilon_at` and `delta_at` pick the file.

pub mod advanced;
pub mod basic;
pub mod best;
mod best_of;
pub mod bounded_range;
pub mod calibrate;
pub mod exact;
pub mod expand;
pub mod filter;
pub mod gdp;
pub mod matrix;
mod method;
pub mod optimal;
pub mod pld;
pub mod rdp;
mod shuffled;
mod single;
pub mod tradeoff;
pub mod zcdp;

pub use exact::Profile;
pub use expand::{Composition, Neighbours, Part};
pub use method::Method;
pub use shuffled::Shuffled;

use veracity_core::{Adjacency, Delta, Epsilon, Finding, Mechanism, Refusal};

/// What is asked about: a mechanism, and which datasets it must not tell apart.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// What was done.
    pub mechanism: Mechanism,
    /// Which datasets are adjacent.
    pub adjacency: Adjacency,
}

/// The ε that goes with `delta`, as `method` knows it.
pub fn epsilon_at(question: &Question, delta: Delta, method: Method) -> Result<Finding<Epsilon>, Refusal> {
    match method {
        Method::Exact => exact::epsilon_at(question, delta),
        Method::Pld => pld::epsilon_at(question, delta),
        Method::Rdp => rdp::epsilon_at(question, delta),
        Method::Moments => rdp::moments_epsilon_at(question, delta),
        Method::Zcdp => zcdp::epsilon_at(question, delta),
        Method::Gdp => gdp::epsilon_at(question, delta),
        Method::GdpClt => gdp::clt_epsilon_at(question, delta),
        Method::Edgeworth => gdp::edgeworth_epsilon_at(question, delta),
        Method::Basic => basic::epsilon_at(question, delta),
        Method::Advanced => advanced::epsilon_at(question, delta),
        Method::AdvancedKov => advanced::kov_epsilon_at(question, delta),
        Method::Optimal => optimal::epsilon_at(question, delta),
    }
}

/// The δ that goes with `epsilon`, as `method` knows it.
pub fn delta_at(question: &Question, epsilon: Epsilon, method: Method) -> Result<Finding<Delta>, Refusal> {
    match method {
        Method::Exact => exact::delta_at(question, epsilon),
        Method::Pld => pld::delta_at(question, epsilon),
        Method::Rdp => rdp::delta_at(question, epsilon),
        Method::Moments => rdp::moments_delta_at(question, epsilon),
        Method::Zcdp => zcdp::delta_at(question, epsilon),
        Method::Gdp => gdp::delta_at(question, epsilon),
        Method::GdpClt => gdp::clt_delta_at(question, epsilon),
        Method::Edgeworth => gdp::edgeworth_delta_at(question, epsilon),
        Method::Basic => basic::delta_at(question, epsilon),
        Method::Advanced => advanced::delta_at(question, epsilon),
        Method::AdvancedKov => advanced::kov_delta_at(question, epsilon),
        Method::Optimal => optimal::delta_at(question, epsilon),
    }
}
