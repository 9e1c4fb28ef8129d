//! Objective perturbation by approximate minima: a random linear term, a certified near-minimiser, and a little more noise.
//!
//! # Why it is private
//!
//! Let w* minimise Σℓ(w) + Λ‖w‖²/2 + ⟨b, w⟩. Then b = −(Σ∇ℓ(w*) + Λw*), a one-to-one map that is Lipschitz both ways, so the
//! density of w* is that of b there, times the determinant of H = Σ∇²ℓ + ΛI, for almost every w* (which covers the Huber
//! losses, that bend at corners only). For datasets that differ by one record:
//!
//! - Adding a record multiplies the determinant by 1 + ∇²ℓ's one eigenvalue in the metric of H: between 1 and 1 + bend/Λ. A
//!   replacement is a removal and an addition, so the ratio is at most that too. The published analysis has its square.
//! - b moves by one record's gradient, at most `pull`, or 2 `pull` for a replacement. Laplace noise pays √d of that for pure ε.
//!   For Gaussian noise, the gradient is slope × row: its direction is fixed and only its length depends on w*, hence on b.
//!   So the loss is at most log(1 + bend/Λ) + a|N| + a²/2 with N normal and a = pull/σ, which gives δ in closed form; for
//!   a replacement it is the larger of two such, with rows' sum and difference, and a = 2 pull/σ.
//!
//! What is computed is w̃, at which the gradient is certainly at most γ. And b is drawn on a grid, within r of a real b that
//! has the law above. So the gradient at w̃ of the objective with the real b is at most γ + r, and w̃ within R = (γ + r)/Λ of
//! the real w*. Given w*, the integers of w̃ lie in a ball of radius R around it, whatever the dataset: noise that hides a
//! move of 2R (and the rounding) makes the rest private, by composition. So no floating-point noise is trusted.

use super::{
    grid::{SLACK, from_steps, to_steps},
    model::{LinearModel, Released},
    problem::Problem,
};
use veracity_core::{Adjacency, Delta, Epsilon, Mechanism, Refusal};
use veracity_noise::{Bits, Distance, NoiseStream, Ratio, Stream, exact, vector};
use veracity_numerics::{normal, root};

/// The part of ε, and of δ, that the noise on the weights takes.
const OUTPUT_SHARE: f64 = 1.0 / 32.0;
/// How far integers of the vector sampler are from 2^20 × a normal, with room for one multiplication; and how often not.
const GAUSSIAN_ROUNDING: f64 = 0.58;
const GAUSSIAN_FAILURE: f64 = 3.4e-24; // 2^-78, rounded up
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

enum LinearNoise {
    Laplace { scale: Ratio, step: f64 },
    Gaussian { step: f64 },
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
/// [RedbergKoskelaWang23] for its tight form on linear models; [IyengarEtAl19] for approximate minima, where the distance
/// of two solutions from one minimiser is counted once: here it is counted twice, as two balls of radius R demand
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

impl LinearNoise {
    fn draw(&self, length: usize, stream: &mut Stream) -> Vec<f64> {
        match self {
            LinearNoise::Laplace { scale, step } => {
                (0..length).map(|_| half_laplace(*scale, stream) * step).collect()
            }
            LinearNoise::Gaussian { step } => {
                let mut normals = vec![0; length];
                vector::fill(&mut normals, stream);
                normals.into_iter().map(|k| f64::from(k) * step).collect()
            }
        }
    }
}

/// A number within ½ of a real Laplace variable of this scale.
///
/// The whole part of such a variable's magnitude is geometric, which is the law of an integer Laplace that is not negative.
///
/// # Numerics  Exact below 2^52; the scale is below 2^34, so nobody will see more
fn half_laplace(scale: Ratio, stream: &mut Stream) -> f64 {
    let whole = loop {
        let k = exact::discrete_laplace(scale, stream);
        if k >= 0 {
            break k;
        }
    };
    let magnitude = whole as f64 + 0.5;
    if stream.bits(1) == 1 { -magnitude } else { magnitude }
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

/// The δ at ε of a privacy loss that is at most a|N| + a²/2, N normal; of the largest of two such for a replacement.
///
/// E(1 − e^(ε − loss))₊ = 2 ∫ φ(x)(1 − e^(ε − ax − a²/2)) dx from t = max(0, ε/a − a/2), and φ(x)e^(−ax − a²/2) = φ(x + a).
///
/// # Promise   An upper bound
/// # Numerics  Both terms are good to some ulp; what cancels is within 1e-6 of the result for every a that is asked for
fn delta_of_linear_term(epsilon: f64, a: f64, adjacency: Adjacency) -> f64 {
    let sides = 2.0 * f64::from(adjacency.contributions());
    let t = (epsilon / a - 0.5 * a).max(0.0);
    sides * (normal::cdf(-t) - libm::exp(epsilon) * normal::cdf(-t - a)).max(0.0) * (1.0 + 1e-6)
}

/// The largest a with at most this δ at this ε.
fn largest_shift(epsilon: f64, delta: f64, adjacency: Adjacency) -> Result<f64, Refusal> {
    let enough = |a: f64| delta_of_linear_term(epsilon, a, adjacency) <= delta;
    let (least, most) = (1e-6, 1e3);
    if !enough(least) || enough(most) {
        return Err(Refusal::out_of_range(
            "delta",
            delta,
            "a delta between 0 and 1 and an epsilon for which noise can be found; raise either",
        ));
    }
    Ok(root::bisect(least, most, 1e-9, enough).holds)
}
