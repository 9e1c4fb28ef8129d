//! Output perturbation: minimise, put the weights on a grid, add integer noise.

use super::{
    grid::{SLACK, from_steps, to_steps},
    model::{LinearModel, ReleasedModel},
    problem::Problem,
};
use veracity_core::{Adjacency, Epsilon, Mechanism, NoiseMultiplier, Refusal};
use veracity_noise::{Distance, Noise, NoiseStream, Ratio, vector};

/// Steps of the grid in one standard deviation, as of the vector noise.
const STEPS: f64 = (1u64 << vector::UNIT_BITS) as f64;

/// Which noise the weights get.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum OutputNoise {
    /// Integer Laplace noise on every weight, for pure ε.
    ///
    /// The published mechanism draws a vector with density ∝ e^−β‖b‖, which no float sampler does safely. Independent noise
    /// calibrated to the ℓ1 distance √d × the ℓ2 distance is exact, and its vector is √2 times as long.
    Laplace {
        /// The ε.
        epsilon: Epsilon,
    },
    /// Gaussian noise on the grid of the vector sampler: tight accounting, and the precision that sampler states.
    Gaussian {
        /// Standard deviation over the distance one record moves all weights.
        noise: NoiseMultiplier,
    },
}

/// The grid, how far the integers on it can move, and what that costs: all public, decided before data are seen.
struct Layout {
    granularity: f64,
    declared: Distance,
    mechanism: Mechanism,
    sampler: Sampler,
}

enum Sampler {
    Exact(Noise),
    Vector,
}

/// Releases the minimiser with noise on its weights.
///
/// # Promise    As private as its `mechanism` under `adjacency`: one record moves the integers that get noise by no more than
/// was declared, solver error and rounding to the grid included
/// # Reference  \[ChaudhuriMonteleoniSarwate11\] Algorithm 1 for Laplace noise with e^−β‖b‖
/// # Assumes    Nothing of the data. That the solver reaches its tolerance is not covered: a refusal is not private
///
/// # Errors
/// Refuses an ε or noise out of range, and a problem whose minimizer is not found.
///
/// # Examples
///
/// ```
/// use veracity_core::{Adjacency, ClipNorm, Count, Epsilon, Mechanism};
/// use veracity_noise::{Entropy, Key, NoiseStream, Purpose};
/// use veracity_train::convex::{BoundedFeatures, ConvexLoss, Intercept, Manner, OutputNoise, Problem};
/// use veracity_train::convex::{Regularisation, RowBound, output_perturbation};
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
/// let noise = OutputNoise::Laplace { epsilon: Epsilon::new(1.0)? };
/// let released = output_perturbation(&problem, noise, Adjacency::AddRemove, &mut rng)?;
/// let right = released.model.classes(&data)?.iter().zip(0..).filter(|(class, i)| **class == i % 2).count();
/// assert_eq!(right, 2_000);
/// assert!(!matches!(released.mechanism, Mechanism::Gaussian { .. }));
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
pub fn output_perturbation(
    problem: &Problem<'_>,
    noise: OutputNoise,
    adjacency: Adjacency,
    rng: &mut NoiseStream,
) -> Result<ReleasedModel, Refusal> {
    let layout = match noise {
        OutputNoise::Laplace { epsilon } => laplace(problem, epsilon, adjacency)?,
        OutputNoise::Gaussian { noise } => gaussian(problem, noise, adjacency)?,
    };
    let exact = problem.without_privacy()?;
    let clean = to_steps(exact.weights(), layout.granularity);
    let place = "convex output";
    let noisy = match layout.sampler {
        Sampler::Exact(noise) => noise.add(place, &clean, layout.declared, rng),
        Sampler::Vector => rng.call(place, &clean, layout.declared, |clean, stream| {
            let mut normals = vec![0; clean.len()];
            vector::fill(&mut normals, stream);
            clean.iter().zip(normals).map(|(value, k)| value + i128::from(k)).collect()
        }),
    };
    let weights = from_steps(&noisy, layout.granularity);
    Ok(ReleasedModel {
        model: LinearModel::new(weights, problem.scores(), problem.features().rows()),
        mechanism: layout.mechanism,
        adjacency,
        granularity: layout.granularity,
    })
}

/// # Promise  Integers move by at most `declared` in ℓ1, and scale ≥ declared/ε
fn laplace(problem: &Problem<'_>, epsilon: Epsilon, adjacency: Adjacency) -> Result<Layout, Refusal> {
    let e = epsilon.get();
    if !(e > 0.0 && e <= 1000.0) {
        return Err(Refusal::out_of_range("epsilon", epsilon, "0 < epsilon ≤ 1000 for output perturbation"));
    }
    let d = problem.features().dimension() as f64;
    let scores = problem.scores() as f64;
    // √d turns the ℓ2 distance of one weight vector into ℓ1.
    let l1 = f64::from(adjacency.contributions()) * scores * d.sqrt() * problem.sensitivity();
    // So many steps that rounding every weight costs little.
    let steps = (e * STEPS).max(64.0 * scores * d);
    let granularity = l1 / steps;
    let moved = (steps * (1.0 + 1e-12) + scores * d * SLACK).ceil();
    let scale = Ratio::at_least(moved / e * (1.0 + f64::EPSILON))?;
    Ok(Layout {
        granularity,
        declared: Distance::L1(moved as u128),
        mechanism: Mechanism::Pure { epsilon },
        sampler: Sampler::Exact(Noise::Laplace { scale }),
    })
}

/// # Promise  Integers move by at most 2^20/noise for every contribution, and have noise of 2^20
fn gaussian(problem: &Problem<'_>, noise: NoiseMultiplier, adjacency: Adjacency) -> Result<Layout, Refusal> {
    let scores = problem.scores() as f64;
    let parameters = scores * problem.features().dimension() as f64;
    // The part of the sensitivity that rounding to the grid takes.
    let share = noise.get() * parameters.sqrt() * SLACK / STEPS;
    if !(share <= 0.5) {
        return Err(Refusal::out_of_range(
            "noise multiplier",
            noise,
            "less noise or fewer weights, because rounding to the grid of the noise would exceed the contribution of a record",
        ));
    }
    let sensitivity = scores.sqrt() * problem.sensitivity() / (1.0 - share) * (1.0 + 1e-12);
    let moved = f64::from(adjacency.contributions()) * STEPS / noise.get() * (1.0 + 1e-12);
    Ok(Layout {
        granularity: noise.get() * sensitivity / STEPS,
        declared: Distance::L2Squared((moved * moved).ceil() as u128),
        mechanism: Mechanism::Gaussian { noise_multiplier: noise },
        sampler: Sampler::Vector,
    })
}
