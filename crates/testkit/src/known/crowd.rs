//! Many canaries in one run, each in or out by a fair coin, and what the run leaks of each to one who knows all others.

use super::{Draws, Known, epsilon_at, law::gaussian_delta};

/// A run with many canaries.
#[derive(Debug)]
pub enum Crowd<'a> {
    /// Each canary goes through the mechanism alone.
    Apart(&'a Known),
    /// One coin for all: either every bit is answered, and wrong so often, or nothing is said.
    AllOrNone {
        /// The chance that anything is said.
        speaks: f64,
        /// The chance that an answer is wrong.
        wrong: f64,
    },
    /// Each canary has noise of its own of deviation 1 around μ, and all share more of it.
    SharedNoise {
        /// What one canary adds.
        mu: f64,
        /// The deviation of what they share.
        shared: f64,
    },
    /// Answers two by two, of which at most one is wrong: who sees that the other is knows that this one is not.
    Antithetic {
        /// The chance that an answer is wrong.
        wrong: f64,
    },
}

impl Crowd<'_> {
    /// What it is called.
    pub fn name(&self) -> &str {
        match self {
            Crowd::Apart(known) => known.name,
            Crowd::AllOrNone { .. } => "all or none answer",
            Crowd::SharedNoise { .. } => "noise that canaries share",
            Crowd::Antithetic { .. } => "antithetic answers",
        }
    }

    /// Whether each canary goes its own way.
    pub fn is_independent(&self) -> bool {
        matches!(self, Crowd::Apart(_))
    }

    /// Whether the trade-off curve of each canary is that of a Gaussian.
    pub fn is_gaussian(&self) -> bool {
        match self {
            Crowd::Apart(known) => known.is_gaussian(),
            Crowd::SharedNoise { .. } => true,
            Crowd::AllOrNone { .. } | Crowd::Antithetic { .. } => false,
        }
    }

    /// The δ at which bounds are held against the truth.
    pub fn deltas(&self) -> Vec<f64> {
        match self {
            Crowd::Apart(known) => known.deltas.clone(),
            Crowd::AllOrNone { .. } | Crowd::SharedNoise { .. } => vec![1e-5, 0.1],
            Crowd::Antithetic { wrong } => vec![*wrong],
        }
    }

    /// One run with these canaries in: a score of each.
    pub fn run(&self, ins: &[bool], rng: &mut Draws) -> Vec<f64> {
        let says = |is_in: bool, lies: bool| if is_in == lies { -1.0 } else { 1.0 };
        match self {
            Crowd::Apart(known) => {
                // The guesser knows nothing of a crash; none of the mechanisms that may crash is run so.
                ins.iter().map(|is_in| known.run(*is_in, rng).unwrap_or(0.0)).collect()
            }
            Crowd::AllOrNone { speaks, wrong } => match rng.coin(*speaks) {
                true => ins.iter().map(|is_in| says(*is_in, rng.coin(*wrong))).collect(),
                false => vec![0.0; ins.len()],
            },
            Crowd::SharedNoise { mu, shared } => {
                let common = shared * rng.normal();
                ins.iter().map(|is_in| mu * f64::from(u8::from(*is_in)) + common + rng.normal()).collect()
            }
            Crowd::Antithetic { wrong } => {
                let mut said = Vec::with_capacity(ins.len());
                for pair in ins.chunks(2) {
                    let u = rng.uniform();
                    let lies = [u < *wrong, 1.0 - u <= *wrong];
                    said.extend(pair.iter().zip(lies).map(|(is_in, lies)| says(*is_in, lies)));
                }
                said
            }
        }
    }

    /// The δ at ε of one canary, for one who knows all the others of so many.
    pub fn delta_at(&self, epsilon: f64, canaries: usize) -> f64 {
        match self {
            Crowd::Apart(known) => known.delta_at(epsilon),
            Crowd::AllOrNone { speaks, wrong } => speaks * (1.0 - wrong - epsilon.exp() * wrong).max(0.0),
            Crowd::SharedNoise { mu, shared } => {
                // What the others leave unknown of the noise that all share.
                let left = 1.0 / (shared.powi(-2) + (canaries - 1) as f64);
                gaussian_delta(mu / (1.0 + left).sqrt(), epsilon)
            }
            // Where the other is wrong, this is right for certain; else it is right or wrong.
            Crowd::Antithetic { wrong } => wrong + (1.0 - 2.0 * wrong - epsilon.exp() * wrong).max(0.0),
        }
    }

    /// The least ε at which δ is no more than this.
    pub fn epsilon_at(&self, delta: f64, canaries: usize) -> f64 {
        epsilon_at(|epsilon| self.delta_at(epsilon, canaries), delta)
    }
}
