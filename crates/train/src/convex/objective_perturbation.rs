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
    model::{LinearModel, ReleasedModel},
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
/// # Reference  \[ChaudhuriMonteleoniSarwate11\] Algorithm 2; \[KiferSmithThakurta12\] for Gaussian noise;
/// \[RedbergKoskelaWang23\] for its tight form on linear models; \[IyengarEtAl19\] for approximate minima
/// # Assumes    The keystream is uniform. That the solver reaches its tolerance is not covered: a refusal is not private
///
/// # Errors
/// Refuses an ε or δ out of range, and a problem whose minimizer is not found.
///
/// # Examples
///
/// ```
/// use veracity_core::{Adjacency, ClipNorm, Count, Delta, Epsilon};
/// use veracity_noise::{Entropy, Key, NoiseStream, Purpose};
/// use veracity_train::convex::{BoundedFeatures, ConvexLoss, Intercept, Manner, ObjectiveNoise, Problem};
/// use veracity_train::convex::{Regularisation, RowBound, objective_perturbation};
/// use veracity_train::{Dataset, Labels};
///
/// let features = (0..2_000).map(|i| if i % 2 == 1 { 0.8 } else { -0.8 }).collect();
/// let labels = Labels::Classes { of: (0..2_000).map(|i| i % 2).collect(), classes: 2 };
/// let data = Dataset::new(features, 1, labels)?;
/// let rows = RowBound::new(ClipNorm::new(1.0)?, Intercept::Absent, Manner::Clip)?;
/// let penalty = Regularisation::new(0.01, Count::new(2_000)?)?;
/// let problem = Problem::new(BoundedFeatures::new(&data, rows), ConvexLoss::Logistic, penalty)?;
///
/// let mut rng = NoiseStream::new(Entropy::seeded(1).stream(Purpose::Noise, Key::default()));
/// let noise = ObjectiveNoise::Gaussian { epsilon: Epsilon::new(1.0)?, delta: Delta::new(1e-6)? };
/// let released = objective_perturbation(&problem, noise, Adjacency::AddRemove, &mut rng)?;
/// // It stays close to the model without noise.
/// let (noisy, plain) = (released.model.weights()[0], problem.without_privacy()?.weights()[0]);
/// assert!((noisy - plain).abs() < 0.2 * plain);
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
pub fn objective_perturbation(
    problem: &Problem<'_>,
    noise: ObjectiveNoise,
    adjacency: Adjacency,
    rng: &mut NoiseStream,
) -> Result<ReleasedModel, Refusal> {
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
    Ok(ReleasedModel {
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
        let range = "a larger delta, or laplace noise, which needs no delta";
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
    use super::super::{
        BoundedFeatures, ConvexLoss, Intercept, Manner, Regularisation, RowBound, Softness,
        linear_term::delta_of_linear_term,
    };
    use super::*;
    use crate::{Dataset, Labels};
    use veracity_core::{ClipNorm, Count};
    use veracity_testkit::short;

    type Records = Vec<(f64, f64)>;

    /// Records of one feature and a class ±1, and adjacent ones.
    fn pairs() -> [(Records, Records, Adjacency); 3] {
        [
            (vec![(1.0, 1.0)], vec![], Adjacency::AddRemove),
            (vec![(1.0, 1.0), (0.5, -1.0)], vec![(0.5, -1.0)], Adjacency::ZeroOut),
            (vec![(1.0, 1.0)], vec![(1.0, -1.0)], Adjacency::ReplaceOne),
        ]
    }

    fn losses() -> [ConvexLoss; 2] {
        [ConvexLoss::Logistic, ConvexLoss::HuberSvm { softness: Softness::new(0.25).unwrap() }]
    }

    /// What the code decides for a problem in one dimension; which records there are does not matter.
    fn with_problem<T>(loss: ConvexLoss, total: f64, ask: impl Fn(&Problem<'_>) -> T) -> T {
        let labels = Labels::Classes { of: vec![1], classes: 2 };
        let data = Dataset::new(vec![0.5], 1, labels).unwrap();
        let rows = RowBound::new(ClipNorm::new(1.0).unwrap(), Intercept::Absent, Manner::Clip).unwrap();
        let regularisation = Regularisation::new(total, Count::ONE).unwrap();
        ask(&Problem::new(BoundedFeatures::new(&data, rows), loss, regularisation).unwrap())
    }

    /// The logarithm of the density of w*: that of the linear term there, times the curvature of the objective.
    fn log_density(w: f64, records: &Records, loss: ConvexLoss, layout: &Layout) -> f64 {
        let pull: f64 = records.iter().map(|(x, y)| loss.slope(w * x, *y) * x).sum();
        let bend: f64 = records.iter().map(|(x, y)| loss.curvature(w * x, *y) * x * x).sum();
        let b = pull + layout.penalty * w;
        let of_b = match &layout.linear {
            LinearNoise::Laplace { scale, step } => {
                let s = scale.as_f64() * step;
                -b.abs() / s - (2.0 * s).ln()
            }
            LinearNoise::Gaussian { step } => {
                let s = step * (1u64 << vector::UNIT_BITS) as f64;
                -0.5 * (b / s).powi(2) - (s * (2.0 * std::f64::consts::PI).sqrt()).ln()
            }
        };
        of_b + (layout.penalty + bend).ln()
    }

    #[test]
    fn densities_of_minimisers_differ_by_no_more_than_epsilon_and_by_all_of_it() {
        let epsilon = short::epsilon(1.0);
        // The second penalty is too weak for this ε, and is raised.
        for (loss, total) in losses().into_iter().flat_map(|loss| [(loss, 5.0), (loss, 0.01)]) {
            let mut largest = 0.0_f64;
            let share = Shares::of(epsilon, 1).unwrap().objective;
            for (one, other, adjacency) in pairs() {
                let layout =
                    with_problem(loss, total, |problem| laplace(problem, epsilon, adjacency).unwrap());
                assert!(layout.penalty >= total && (total < 1.0) == (layout.penalty > total));
                for i in -40_000..40_000 {
                    let w = f64::from(i) / 4000.0 + 1e-7;
                    let density = |records| log_density(w, records, loss, &layout);
                    let apart = (density(&one) - density(&other)).abs();
                    assert!(apart <= share, "{loss:?} {total} {adjacency} at {w}: {apart}");
                    largest = largest.max(apart);
                }
            }
            // Hinges meet the bound: a formula without the determinants, or with half of them, would be refuted.
            if loss != ConvexLoss::Logistic {
                assert!(largest > 0.999 * share, "{loss:?} {total} {largest}");
            }
        }
    }

    #[test]
    fn hockey_sticks_of_minimisers_keep_delta_and_less_noise_would_not() {
        let (epsilon, delta) = (short::epsilon(1.0), short::delta(0.02));
        let share = Shares::of(epsilon, 1).unwrap().objective;
        for loss in losses() {
            let mut strongest = 0.0_f64;
            for (one, other, adjacency) in pairs() {
                let layout = |delta| {
                    with_problem(loss, 4.0, |problem| gaussian(problem, epsilon, delta, adjacency).unwrap())
                };
                let found = |layout: &Layout| {
                    let density = |records: &Records, w| log_density(w, records, loss, layout).exp();
                    let stick = |p: &Records, q: &Records| -> f64 {
                        let points = (-12_000..12_000).map(|i| f64::from(i) * 1e-3);
                        points.map(|w| (density(p, w) - share.exp() * density(q, w)).max(0.0) * 1e-3).sum()
                    };
                    stick(&one, &other).max(stick(&other, &one))
                };
                let kept = found(&layout(delta));
                assert!(kept <= delta.get() * (1.0 - 2.0 * OUTPUT_SHARE), "{loss:?} {adjacency}: {kept}");
                // Twin: the noise for ten times the δ.
                strongest = strongest.max(found(&layout(short::delta(0.2))));
            }
            if loss != ConvexLoss::Logistic {
                assert!(strongest > delta.get(), "{loss:?} {strongest}");
            }
        }
    }

    #[test]
    fn what_is_added_to_the_weights_hides_two_balls_and_their_rounding() {
        let (epsilon, delta) = (short::epsilon(0.5), short::delta(1e-5));
        with_problem(losses()[1], 3.0, |problem| {
            let e = 0.5 * OUTPUT_SHARE;
            let layout = laplace(problem, epsilon, Adjacency::ReplaceOne).unwrap();
            let LinearNoise::Laplace { step, .. } = layout.linear else { panic!("asked for laplace") };
            let steps =
                2.0 * (problem.tolerance() + 0.5 * step) / layout.penalty / layout.granularity + SLACK;
            let IntegerNoise::Laplace(scale) = layout.output else { panic!("asked for laplace") };
            assert!(steps / scale.as_f64() <= e && steps / scale.as_f64() > 0.999 * e);

            let layout = gaussian(problem, epsilon, delta, Adjacency::ReplaceOne).unwrap();
            let LinearNoise::Gaussian { step } = layout.linear else { panic!("asked for gaussian") };
            let steps =
                2.0 * (problem.tolerance() + 0.58 * step) / layout.penalty / layout.granularity + SLACK;
            let IntegerNoise::Gaussian(sigma) = layout.output else { panic!("asked for gaussian") };
            let rho = 0.5 * (steps / sigma.as_f64()).powi(2);
            let cost = rho + 2.0 * (rho * -f64::ln(1e-5 * OUTPUT_SHARE)).sqrt();
            assert!(cost <= e && cost > 0.999 * e, "{cost} {e}");
        });
        // The δ of the linear term, its failures and the δ of this noise are no more than was asked for.
        let shift = largest_shift(0.4, 1e-5 * (1.0 - 2.0 * OUTPUT_SHARE), Adjacency::ReplaceOne).unwrap();
        let spent = delta_of_linear_term(0.4, shift, Adjacency::ReplaceOne) + 2.0 * 1e-5 * OUTPUT_SHARE;
        assert!(spent <= 1e-5 && spent > 0.999e-5);
    }

    #[test]
    fn the_concentration_found_costs_what_it_may() {
        for (epsilon, delta) in [(1.0, 1e-5), (1e-3, 1e-9), (10.0, 1e-2)] {
            let rho = concentration(epsilon, delta);
            let cost = rho + 2.0 * (rho * -f64::ln(delta)).sqrt();
            assert!(cost <= epsilon && cost > 0.999_999 * epsilon, "{cost}");
        }
    }
}
