//! Noise on a vector of real numbers: every coordinate goes to a public grid first, and what that adds to the sensitivity
//! is charged.

use crate::fixed::{exponent_of, power_of_two, round_to};
use crate::{NoiseKind, tail};
use veracity_core::{Adjacency, Count, Epsilon, Mechanism, NoiseMultiplier, Refusal, Rho, Sensitivity};
use veracity_noise::{Distance, Noise, NoiseStream, Ratio};

/// Everything public about noise on a vector.
///
/// The caller vouches for the contribution: computing the coordinates in floating point may itself move them, and that
/// must be within it. Sums of data are better asked as a `Question`, where nothing needs to be vouched for.
///
/// # Examples
///
/// A vector of norm at most 1 for each record, with Gaussian noise of standard deviation 5:
///
/// ```
/// use veracity_core::{Adjacency, Count, Mechanism, NoiseMultiplier, Sensitivity};
/// use veracity_noise::{Entropy, Key, NoiseStream, Purpose};
/// use veracity_mechanisms::{NoiseKind, VectorDesign};
///
/// let (kind, contribution) = (NoiseKind::Gaussian, Sensitivity::new(1.0)?);
/// let (adjacency, multiplier) = (Adjacency::AddRemove, NoiseMultiplier::new(5.0)?);
/// let design = VectorDesign::new(Count::new(3)?, kind, contribution, adjacency, multiplier)?;
/// // 1/(2·5²): the noise has grown by what the grid adds to the sensitivity.
/// assert!(matches!(design.mechanism(), Mechanism::Zcdp { rho } if (rho.get() - 0.02).abs() < 1e-9));
///
/// let mut rng = NoiseStream::new(Entropy::system()?.stream(Purpose::Noise, Key::default()));
/// let noisy = design.release(&[10.0, -20.0, 0.5], &mut rng)?;
/// assert!(noisy.values.iter().all(|x| (x / design.granularity()).fract() == 0.0));
/// assert!(design.release(&[10.0], &mut rng).is_err());
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VectorDesign {
    dimension: Count,
    exponent: i32,
    noise: Noise,
    declared: Distance,
    /// One record's steps where there is one coordinate.
    single: Option<Count>,
    /// The whole move, in noise scales.
    moves: f64,
    /// Of one coordinate, on the integer scale.
    half_width: f64,
}

/// A vector that protects.
#[derive(Debug, Clone, PartialEq)]
pub struct NoisyVector {
    /// The coordinates, multiples of the granularity.
    pub values: Vec<f64>,
    /// With chance at least 95 %, a coordinate is within this of the exact one; for each by itself.
    pub error_bar: f64,
    /// What the accountant reads.
    pub mechanism: Mechanism,
}

impl VectorDesign {
    /// The most coordinates.
    const MOST: u64 = 1_000_000;
    /// Coordinates are clamped to this many steps, so that integers hold them.
    const FAR: i32 = 100;

    /// Noise of `multiplier` times the largest ℓ1 (Laplace) or ℓ2 (Gaussian) norm of one record's contribution.
    ///
    /// # Errors
    /// Refuses dimensions and contributions out of range.
    pub fn new(
        dimension: Count,
        kind: NoiseKind,
        contribution: Sensitivity,
        adjacency: Adjacency,
        multiplier: NoiseMultiplier,
    ) -> Result<VectorDesign, Refusal> {
        if dimension.get() > VectorDesign::MOST {
            return Err(Refusal::out_of_range("dimension", dimension.get(), "1 to 10^6 coordinates"));
        }
        if !(1e-100..=1e100).contains(&contribution.get()) {
            return Err(Refusal::out_of_range("sensitivity", contribution, "1e-100 ≤ sensitivity ≤ 1e100"));
        }
        let grid = Grid::new(dimension, kind, contribution, multiplier);
        let (one, most, declared) = grid.moves(kind, adjacency);
        let scale = Ratio::at_least(multiplier.get() * one)?;
        let noise = match kind {
            NoiseKind::Laplace => Noise::Laplace { scale },
            NoiseKind::Gaussian => Noise::Gaussian { sigma: scale },
        };
        let single = if dimension == Count::ONE { Some(Count::new(one as u64)?) } else { None };
        let moves = most / scale.as_f64() * OUTWARD;
        let half_width = tail::half_width(noise, 0.05) + 0.5;
        Ok(VectorDesign { dimension, exponent: grid.exponent, noise, declared, single, moves, half_width })
    }

    /// What every coordinate is a multiple of.
    pub fn granularity(&self) -> f64 {
        power_of_two(self.exponent)
    }

    /// What the accountant reads, under the adjacency of the design.
    ///
    /// # Promise    One coordinate is described exactly. Several move together in ways that no single shift stands for:
    /// they are declared by the pure ε of their ℓ1 distance, or the ρ of their ℓ2 distance
    /// # Reference  \[CanonneKamathSteinke20\] (several discrete Gaussians)
    pub fn mechanism(&self) -> Mechanism {
        let legal = "a positive finite ratio of checked numbers";
        // A level beyond the accountant's range is declared as less noise than there is.
        let level = |ratio: Ratio| NoiseMultiplier::new(ratio.as_f64().min(1e9)).expect(legal);
        match (self.noise, self.single) {
            (Noise::Laplace { scale }, Some(sensitivity)) => {
                Mechanism::DiscreteLaplace { scale: level(scale), sensitivity }
            }
            (Noise::Gaussian { sigma }, Some(sensitivity)) => {
                Mechanism::DiscreteGaussian { sigma: level(sigma), sensitivity }
            }
            (Noise::Laplace { .. }, None) => {
                Mechanism::Pure { epsilon: Epsilon::new(self.moves).expect(legal) }
            }
            (Noise::Gaussian { .. }, None) => {
                let rho = 0.5 * self.moves * self.moves * OUTWARD;
                Mechanism::Zcdp { rho: Rho::new(rho).expect(legal) }
            }
        }
    }

    /// Adds noise to a vector. What is no number counts as 0, and infinities as the farthest multiple: an error would tell
    /// whose data it was.
    ///
    /// # Assumes  Adjacent datasets move the vector by at most `contributions` times the contribution, in the norm of the
    /// noise; time is not watched
    ///
    /// # Errors
    /// Refuses a vector of another dimension.
    pub fn release(&self, answer: &[f64], rng: &mut NoiseStream) -> Result<NoisyVector, Refusal> {
        if answer.len() as u64 != self.dimension.get() {
            return Err(Refusal::out_of_range(
                "dimension",
                answer.len(),
                "as many coordinates as the design has",
            ));
        }
        let far = power_of_two(self.exponent + VectorDesign::FAR);
        let on_grid = |x: &f64| if x.is_nan() { 0 } else { round_to(x.clamp(-far, far), self.exponent) };
        let exact: Vec<i128> = answer.iter().map(on_grid).collect();
        let noisy = self.noise.add("vector", &exact, self.declared, rng);
        let values: Vec<f64> = noisy.iter().map(|k| *k as f64 * self.granularity()).collect();
        let largest = values.iter().fold(0.0f64, |most, x| most.max(x.abs()));
        Ok(NoisyVector {
            values,
            error_bar: self.half_width * self.granularity() + f64::EPSILON * largest,
            mechanism: self.mechanism(),
        })
    }
}

/// The public grid of a vector.
struct Grid {
    dimension: f64,
    exponent: i32,
    /// How many steps one record's contribution is long.
    steps: f64,
}

impl Grid {
    /// Fine enough that the noise is 128 steps wide, and what the grid adds is below one in a hundred.
    fn new(
        dimension: Count,
        kind: NoiseKind,
        contribution: Sensitivity,
        multiplier: NoiseMultiplier,
    ) -> Grid {
        let dimension = dimension.as_f64();
        let added = match kind {
            NoiseKind::Laplace => dimension,
            NoiseKind::Gaussian => dimension.sqrt(),
        };
        let fineness = (128.0 / multiplier.get()).max(128.0 * added).log2().ceil() as i32;
        let exponent = exponent_of(contribution.get()) - fineness;
        // Exact: by a power of two.
        Grid { dimension, exponent, steps: contribution.get() / power_of_two(exponent) }
    }

    /// How far one record, and how far adjacent datasets, move the vector on the grid.
    ///
    /// # Promise  Rounding to a step g moves the difference of two coordinates by less than g, so an integer ℓ1 distance is
    /// at most ⌈Δ/g⌉ + d − 1 and an ℓ2 distance at most Δ/g + √d; of one coordinate, ⌈Δ/g⌉
    fn moves(&self, kind: NoiseKind, adjacency: Adjacency) -> (f64, f64, Distance) {
        let (d, whole) = (self.dimension, f64::from(adjacency.contributions()) * self.steps);
        match kind {
            NoiseKind::Laplace => {
                let most = whole.ceil() + d - 1.0;
                (self.steps.ceil() + d - 1.0, most, Distance::L1(most as u128))
            }
            NoiseKind::Gaussian if d == 1.0 => {
                let most = whole.ceil();
                (self.steps.ceil(), most, Distance::L2Squared((most as u128).pow(2)))
            }
            NoiseKind::Gaussian => {
                let most = (whole + d.sqrt()) * OUTWARD;
                // Integer distances below a real bound are below its whole part.
                (self.steps + d.sqrt(), most, Distance::L2Squared((most * most * OUTWARD) as u128))
            }
        }
    }
}

/// Covers the few roundings of a bound.
const OUTWARD: f64 = 1.0 + 16.0 * f64::EPSILON;
