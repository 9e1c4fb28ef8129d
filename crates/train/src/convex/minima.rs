//! Objective perturbation by approximate minima: a random linear term, a certified near-minimiser, and a little more noise.
//!
//! # Why it is private
//!
//! The exact minimiser w* for a real random b is private, as [`linear_term`](super::linear_term) shows.
//!
//! What is computed is w̃, at which the gradient is certainly at most γ. And b is drawn on a grid, within r of a real b that
//! has the law above. So the gradient at w̃ of the objective with the real b is at most γ + r, and w̃ within R = (γ + r)/Λ of
//! the real w*. Given w*, the integers of w̃ lie in a ball of radius R around it, whatever the dataset: noise that hides a
//! move of 2R (and the rounding) makes the rest private, by composition. So no floating-point noise is trusted.

use super::{
    grid::{SLACK, from_steps, to_steps},
    linear_term::{GAUSSIAN_FAILURE, GAUSSIAN_ROUNDING, LinearNoise, largest_shift},
    model::{LinearModel, Released},
    problem::Problem,
};
use veracity_core::{Adjacency, Delta, Epsilon, Mechanism, Refusal};
use veracity_noise::{Distance, NoiseStream, Ratio, Stream, exact, vector};

/// The part of ε, and of δ, that the noise on the weights takes.
const OUTPUT_SHARE: f64 = 1.0 / 32.0;
/// Steps of the released grid in R, times √d: rounding then adds a sixteenth to what the noise must hide.
const FINENESS: f64 = 8.0;

/// Which noise the objective gets, and the guarantee of the whole.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ObjectiveNoise {
    /// Laplace noise on every coordinate of the linear term, for pure ε; its vector is √2 times as long as that of the
    /// published density ∝ e^−β‖b‖.
    Laplace {
        /// The ε of the release.
        epsilon: Epsilon,
    },
    /// Gaussian noise, for (ε, δ).
    Gaussian {
        /// The ε of the release.
        epsilon: Epsilon,
        /// The δ of the release.
        delta: Delta,
    },
}

/// Noise of one weight vector, and what surrounds it: all public, decided before data are seen.
struct Layout {
    /// Λ, raised if ε asks for it.
    penalty: f64,
    linear: LinearNoise,
    granularity: f64,
    output: IntegerNoise,
    mechanism: Mechanism,
}

enum IntegerNoise {
    Laplace(Ratio),
    Gaussian(Ratio),
}

/// Releases a near-minimiser of an objective with a random linear term.
///
/// With more than two classes, each has an equal part of ε and δ. A penalty too weak for ε is raised, as published.
/// A tape shows one call that hides nothing additively: b and the solution determine each other, so replaying outputs on
/// another dataset cannot measure a distance here.
///
/// # Promise    As private as its `mechanism` under `adjacency`
/// # Reference  [ChaudhuriMonteleoniSarwate11] Algorithm 2; [KiferSmithThakurta12] for Gaussian noise;
/// [RedbergKoskelaWang23] for its tight form on linear models; [IyengarEtAl19] for approximate minima
/// # Assumes    The keystream is uniform. That the solver reaches its tolerance is not covered: a refusal is not private
pub fn objective_perturbation(
    problem: &Problem<'_>,
    noise: ObjectiveNoise,
    adjacency: Adjacency,
    rng: &mut NoiseStream,
) -> Result<Released, Refusal> {
    let layout = match noise {
        ObjectiveNoise::Laplace { epsilon } => laplace(problem, epsilon, adjacency)?,
        ObjectiveNoise::Gaussian { epsilon, delta } => gaussian(problem, epsilon, delta, adjacency)?,
    };
    let mut refused = None;
    let noisy = rng.call("convex objective", &[], Distance::LInf(0), |_, stream| {
        let release = |class| near_minimum(problem, class, &layout, stream);
        let steps: Result<Vec<Vec<i128>>, Refusal> = (0..problem.scores()).map(release).collect();
        steps.map(|steps| steps.concat()).unwrap_or_else(|refusal| {
            refused = Some(refusal);
            Vec::new()
        })
    });
    if let Some(refusal) = refused {
        return Err(refusal);
    }
    let weights = from_steps(&noisy, layout.granularity);
    Ok(Released {
        model: LinearModel::new(weights, problem.scores(), problem.features().rows()),
        mechanism: layout.mechanism,
        adjacency,
        granularity: layout.granularity,
    })
}

/// One class: draws the linear term, solves, rounds, adds noise.
fn near_minimum(
    problem: &Problem<'_>,
    class: usize,
    layout: &Layout,
    stream: &mut Stream,
) -> Result<Vec<i128>, Refusal> {
    let linear = layout.linear.draw(problem.features().dimension(), stream);
    let weights = problem.minimum(class, layout.penalty, &linear)?;
    let steps = to_steps(&weights, layout.granularity);
    Ok(steps.into_iter().map(|step| step.saturating_add(layout.output.draw(stream))).collect())
}

impl IntegerNoise {
    fn draw(&self, stream: &mut Stream) -> i128 {
        match self {
            IntegerNoise::Laplace(scale) => exact::discrete_laplace(*scale, stream),
            IntegerNoise::Gaussian(sigma) => exact::discrete_gaussian(*sigma, stream),
        }
    }
}

/// What one class may spend, divided between the objective and the weights.
struct Shares {
    objective: f64,
    output: f64,
}

impl Shares {
    fn of(epsilon: Epsilon, scores: usize) -> Result<Shares, Refusal> {
        let e = epsilon.get();
        if !(e > 0.0 && e <= 100.0) {
            let range = "0 < epsilon ≤ 100 for objective perturbation";
            return Err(Refusal::out_of_range("epsilon", epsilon, range));
        }
        let each = e / scores as f64 * (1.0 - 1e-12);
        Ok(Shares { objective: each * (1.0 - OUTPUT_SHARE), output: each * OUTPUT_SHARE })
    }

    /// The penalty, and what the determinants leave of the objective's ε: at least half of it.
    ///
    /// # Reference  [ChaudhuriMonteleoniSarwate11] raises a penalty that leaves nothing; here, one that leaves less than half
    fn penalty(&self, problem: &Problem<'_>) -> (f64, f64) {
        let least = problem.bend() / libm::expm1(0.5 * self.objective) * (1.0 + 1e-12);
        let penalty = problem.penalty().max(least);
        (penalty, self.objective - libm::log1p(problem.bend() / penalty) * (1.0 + 1e-12))
    }
}

fn laplace(problem: &Problem<'_>, epsilon: Epsilon, adjacency: Adjacency) -> Result<Layout, Refusal> {
    let shares = Shares::of(epsilon, problem.scores())?;
    let (penalty, left) = shares.penalty(problem);
    let d = problem.features().dimension() as f64;
    let scale = f64::from(adjacency.contributions()) * d.sqrt() * problem.pull() / left * (1.0 + 1e-12);
    // A power of two between scale/2^33 and scale/2^32: multiples of it are exact.
    let step = libm::ldexp(1.0, libm::frexp(scale).1 - 33);
    let radius = radius(problem, penalty, 0.5 * step);
    let granularity = radius / (FINENESS * d.sqrt());
    // In ℓ1: 2R√d for the ball, and rounding.
    let moved = d * (2.0 * FINENESS * (1.0 + 1e-12) + SLACK);
    Ok(Layout {
        penalty,
        linear: LinearNoise::Laplace { scale: Ratio::at_least(scale / step)?, step },
        granularity,
        output: IntegerNoise::Laplace(Ratio::at_least(moved / shares.output * (1.0 + 1e-12))?),
        mechanism: Mechanism::Pure { epsilon },
    })
}

fn gaussian(
    problem: &Problem<'_>,
    epsilon: Epsilon,
    delta: Delta,
    adjacency: Adjacency,
) -> Result<Layout, Refusal> {
    let shares = Shares::of(epsilon, problem.scores())?;
    let (penalty, left) = shares.penalty(problem);
    let d = problem.features().dimension() as f64;
    let each = delta.get() / problem.scores() as f64 * (1.0 - 1e-12);
    // A failure to be near a normal counts on both datasets.
    if !(GAUSSIAN_FAILURE * d * (1.0 + libm::exp(epsilon.get())) <= OUTPUT_SHARE * each) {
        let range = "a larger delta, or laplace noise, which needs none";
        return Err(Refusal::out_of_range("delta", delta, range));
    }
    let shift = largest_shift(left, each * (1.0 - 2.0 * OUTPUT_SHARE), adjacency)?;
    let deviation = f64::from(adjacency.contributions()) * problem.pull() / shift * (1.0 + 1e-12);
    let step = deviation / (1u64 << vector::UNIT_BITS) as f64;
    let radius = radius(problem, penalty, GAUSSIAN_ROUNDING * step);
    let granularity = radius / (FINENESS * d.sqrt());
    // In ℓ2: 2R for the ball, and rounding.
    let moved = d.sqrt() * (2.0 * FINENESS * (1.0 + 1e-12) + SLACK);
    let sigma = moved / (2.0 * concentration(shares.output, each * OUTPUT_SHARE)).sqrt();
    Ok(Layout {
        penalty,
        linear: LinearNoise::Gaussian { step },
        granularity,
        output: IntegerNoise::Gaussian(Ratio::at_least(sigma * (1.0 + 1e-12))?),
        mechanism: Mechanism::Approximate { epsilon, delta },
    })
}

/// R: how far computed weights are at most from the minimiser for the real linear term, of which the drawn one is within
/// `rounding` in every coordinate.
fn radius(problem: &Problem<'_>, penalty: f64, rounding: f64) -> f64 {
    let d = problem.features().dimension() as f64;
    (problem.tolerance() + d.sqrt() * rounding) / penalty * (1.0 + 1e-12)
}

/// The ρ with ρ + 2√(ρ log 1/δ) = ε: ρ-zCDP is (ε, δ)-private.
///
/// # Reference  [BunSteinke16] Proposition 1.3
fn concentration(epsilon: f64, delta: f64) -> f64 {
    let l = -libm::log(delta);
    // √(l + ε) − √l, without cancellation.
    let root = epsilon / ((l + epsilon).sqrt() + l.sqrt());
    root * root * (1.0 - 1e-12)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_concentration_found_costs_what_it_may() {
        for (epsilon, delta) in [(1.0, 1e-5), (1e-3, 1e-9), (10.0, 1e-2)] {
            let rho = concentration(epsilon, delta);
            let cost = rho + 2.0 * (rho * -f64::ln(delta)).sqrt();
            assert!(cost <= epsilon && cost > 0.999_999 * epsilon, "{cost}");
        }
    }
}
