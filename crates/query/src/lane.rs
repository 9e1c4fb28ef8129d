//! One noise call on one exact integer sum: a public grid, the sensitivity on it, the noise, and what they mean.

use crate::{Draw, NoiseKind, Part, fixed::power_of_two, tail};
use veracity_core::{Adjacency, Count, Mechanism, NoiseMultiplier, Refusal};
use veracity_noise::{Distance, Noise, NoiseStream, Ratio};

/// How an exact sum becomes a noisy multiple of a public granularity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Lane {
    place: &'static str,
    /// The power of two that one unit of the exact sum stands for.
    exponent: i32,
    /// Units in a step of the grid.
    step: i128,
    /// How many steps one record's contribution is, rounded up.
    sensitivity: Count,
    noise: Noise,
    adjacency: Adjacency,
}

impl Lane {
    /// Noise is about this many steps wide, or wider: then the grid costs nothing to speak of.
    const FINENESS: f64 = 128.0;
    /// The most steps in one record's contribution.
    const MOST_STEPS: f64 = 1e6;
    /// The widest noise that an accountant reads, in steps.
    const WIDEST: f64 = 1e9;
    /// Significant bits of a step, so that small multiples of the granularity are exact floats.
    const STEP_BITS: u32 = 20;

    /// The grid and noise for an exact sum to which one record contributes at most `contribution` units of 2^`exponent`.
    ///
    /// For |a − b| ≤ c the coarse values differ by at most ceil(c/step): a step of ceil(contribution/m) makes that at most
    /// m, so that only the ceiling is charged.
    ///
    /// # Assumes  `contribution` ≥ 1
    pub(crate) fn new(
        place: &'static str,
        contribution: i128,
        exponent: i32,
        noise: (NoiseKind, NoiseMultiplier),
        adjacency: Adjacency,
    ) -> Result<Lane, Refusal> {
        let wanted = (Lane::FINENESS / noise.1.get()).ceil().clamp(1.0, Lane::MOST_STEPS);
        Lane::on_grid(place, (contribution, exponent), (wanted, 0), noise, adjacency)
    }

    /// The same under add-remove, for sums whose rounding may cost one step more than the contribution has. There are so many steps
    /// in it that one more is little, unless the noise is near the widest there is.
    pub(crate) fn with_spare(
        place: &'static str,
        contribution: i128,
        exponent: i32,
        noise: (NoiseKind, NoiseMultiplier),
    ) -> Result<Lane, Refusal> {
        let fine = (Lane::FINENESS / noise.1.get()).ceil();
        let widest = (Lane::WIDEST / noise.1.get()).floor() - 2.0;
        let wanted = fine.max(Lane::FINENESS.min(widest)).clamp(1.0, Lane::MOST_STEPS - 1.0);
        Lane::on_grid(place, (contribution, exponent), (wanted, 1), noise, Adjacency::AddRemove)
    }

    /// At most so many steps in a contribution, and so many more.
    fn on_grid(
        place: &'static str,
        (contribution, exponent): (i128, i32),
        (wanted, spare): (f64, u64),
        (kind, multiplier): (NoiseKind, NoiseMultiplier),
        adjacency: Adjacency,
    ) -> Result<Lane, Refusal> {
        let wanted = wanted as i128;
        let step = round_up(ceil_div(contribution, wanted), Lane::STEP_BITS);
        // Between 1 and `wanted`, so the casts are exact.
        let steps = ceil_div(contribution, step) as u64 + spare;
        let scale = Ratio::at_least(multiplier.get() * steps as f64)?;
        // What is too wide is refused here.
        NoiseMultiplier::new(scale.as_f64())?;
        let noise = match kind {
            NoiseKind::Laplace => Noise::Laplace { scale },
            NoiseKind::Gaussian => Noise::Gaussian { sigma: scale },
        };
        Ok(Lane { place, exponent, step, sensitivity: Count::new(steps)?, noise, adjacency })
    }

    /// A count: each record is one or nothing.
    pub(crate) fn count(
        place: &'static str,
        noise: (NoiseKind, NoiseMultiplier),
        adjacency: Adjacency,
    ) -> Result<Lane, Refusal> {
        Lane::new(place, 1, 0, noise, adjacency)
    }

    /// A sum on the grid, with noise: a multiple of [`Lane::granularity`].
    pub(crate) fn release(&self, exact: i128, rng: &mut NoiseStream) -> i128 {
        self.add(&[self.coarse(exact)], rng)[0]
    }

    /// Noise on several numbers of steps that one record moves together, by no more than the sensitivity in the norm of the noise.
    pub(crate) fn add(&self, coarse: &[i128], rng: &mut NoiseStream) -> Vec<i128> {
        let moves = u128::from(self.adjacency.contributions()) * u128::from(self.sensitivity.get());
        let declared = match self.noise {
            Noise::Laplace { .. } => Distance::L1(moves),
            Noise::Gaussian { .. } => Distance::L2Squared(moves * moves),
        };
        self.noise.add(self.place, coarse, declared, rng)
    }

    /// The nearest multiple of the step.
    pub(crate) fn coarse(&self, exact: i128) -> i128 {
        (exact + self.step / 2).div_euclid(self.step)
    }

    /// What one step of the grid is worth.
    pub(crate) fn granularity(&self) -> f64 {
        self.step as f64 * power_of_two(self.exponent)
    }

    /// The value of a noisy multiple.
    pub(crate) fn value(&self, noisy: i128) -> f64 {
        noisy as f64 * self.granularity()
    }

    /// The half-width around [`Lane::value`] that misses the exact sum with chance at most `miss`.
    pub(crate) fn half_width(&self, miss: f64) -> f64 {
        let grid = if self.step == 1 { 0.0 } else { 0.5 };
        (tail::half_width(self.noise, miss) + grid) * self.granularity()
    }

    /// How many steps one record's contribution is, rounded up.
    pub(crate) fn sensitivity(&self) -> Count {
        self.sensitivity
    }

    /// The noise that is added.
    pub(crate) fn noise(&self) -> Noise {
        self.noise
    }

    /// What the accountant reads. The floats are the sampler's ratios, exactly.
    pub(crate) fn mechanism(&self) -> Mechanism {
        let legal = "was checked when the lane was made";
        let level = |ratio: Ratio| NoiseMultiplier::new(ratio.as_f64()).expect(legal);
        match self.noise {
            Noise::Laplace { scale } => {
                Mechanism::DiscreteLaplace { scale: level(scale), sensitivity: self.sensitivity }
            }
            Noise::Gaussian { sigma } => {
                Mechanism::DiscreteGaussian { sigma: level(sigma), sensitivity: self.sensitivity }
            }
        }
    }

    /// What is public about it.
    pub(crate) fn part(&self) -> Part {
        Part {
            place: self.place,
            granularity: self.granularity(),
            sensitivity: self.sensitivity,
            draw: Draw::Added(self.noise),
        }
    }
}

fn ceil_div(a: i128, b: i128) -> i128 {
    (a + b - 1) / b
}

/// The least number ≥ x with at most `bits` significant bits.
fn round_up(x: i128, bits: u32) -> i128 {
    let spare = (128 - x.leading_zeros()).saturating_sub(bits);
    ceil_div(x, 1 << spare) << spare
}
