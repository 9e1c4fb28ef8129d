//! Stand-in: compositions of Gaussians in closed form, so that the doors can be built before the accountant lands.

use crate::{Part, Question, expand::expand};
use veracity_core::{Bracket, Delta, Epsilon, Finding, Refusal};
use veracity_numerics::{normal::log_cdf, root::bisect};

/// ε at δ.
pub fn epsilon_at(question: &Question, delta: Delta) -> Result<Finding<Epsilon>, Refusal> {
    Profile::new(question)?.epsilon_at(delta).map(Finding::Bracket)
}

/// δ at ε.
pub fn delta_at(question: &Question, epsilon: Epsilon) -> Result<Finding<Delta>, Refusal> {
    Profile::new(question)?.delta_at(epsilon).map(Finding::Bracket)
}

/// The privacy profile δ(ε) of a question, certified from both sides; built once, asked many times.
#[derive(Debug, Clone)]
pub struct Profile {
    mu: f64,
}

impl Profile {
    /// Prepares the profile, or refuses what has no dominating pair.
    pub fn new(question: &Question) -> Result<Profile, Refusal> {
        let mut worst: f64 = 0.0;
        for composition in expand(&question.mechanism, question.adjacency)? {
            let mut square = 0.0;
            for (part, times) in &composition.parts {
                let Part::Gaussian { mu } = part else {
                    return Err(Refusal::no_theorem(
                        question.mechanism.kind(),
                        "the closed-form stand-in",
                        "use a gaussian",
                    ));
                };
                square += mu * mu * times.as_f64();
            }
            worst = worst.max(square.sqrt());
        }
        Ok(Profile { mu: worst })
    }

    /// The ε that goes with `delta`.
    pub fn epsilon_at(&self, delta: Delta) -> Result<Bracket<Epsilon>, Refusal> {
        if delta.get() == 0.0 {
            return Ok(Bracket::new(Epsilon::new(f64::INFINITY)?, Epsilon::new(f64::INFINITY)?));
        }
        if self.delta(0.0) <= delta.get() {
            return Ok(Bracket::new(Epsilon::ZERO, Epsilon::ZERO));
        }
        let mut high = 1.0;
        while self.delta(high) > delta.get() {
            high *= 2.0;
        }
        let found = bisect(0.0, high, 1e-13, |epsilon| self.delta(epsilon) > delta.get());
        Ok(Bracket::new(
            Epsilon::new(found.holds * (1.0 - 1e-11))?,
            Epsilon::new(found.fails * (1.0 + 1e-11))?,
        ))
    }

    /// The δ that goes with `epsilon`.
    pub fn delta_at(&self, epsilon: Epsilon) -> Result<Bracket<Delta>, Refusal> {
        let delta = self.delta(epsilon.get());
        Ok(Bracket::new(
            Delta::new(delta * (1.0 - 1e-11))?,
            Delta::new((delta * (1.0 + 1e-11)).min(1.0 - f64::EPSILON))?,
        ))
    }

    fn delta(&self, epsilon: f64) -> f64 {
        let (half, ratio) = (self.mu / 2.0, epsilon / self.mu);
        let (above, below) = (log_cdf(half - ratio), epsilon + log_cdf(-half - ratio));
        -above.exp() * (below - above).exp_m1()
    }
}
