//! One noise call on exact integer sums: a public grid, the sensitivity on it, the noise, and what they mean.
//!
//! Sums are rounded to a multiple of a public step that is a little finer than the noise, and integer noise is added there. A change of
//! at most c moves a multiple of the step by at most ⌈c/step⌉. Several sums can share what one unit contributes: each sum that is
//! rounded by itself, except the first, can move by one step more.

use crate::{Draw, NoiseKind, Part, fixed::power_of_two, tail};
use veracity_core::{Adjacency, Count, Mechanism, NoiseMultiplier, Refusal};
use veracity_noise::{Distance, Noise, NoiseStream, Ratio};

/// Noise is about this many steps wide, or wider: then the grid costs nothing to speak of.
const FINENESS: f64 = 128.0;
/// The most steps in one unit's contribution.
const MOST_STEPS: f64 = 1e6;
/// The widest noise that an accountant reads, in steps.
const WIDEST: f64 = 1e9;
/// Significant bits of a step, so that small multiples of the granularity are exact floats.
const STEP_BITS: u32 = 20;

/// How far one unit moves the sums of one noise call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Contribution {
    /// The most that it moves the sums of one group, in ℓ1, all sums together.
    pub amount: i128,
    /// The power of two that one unit of the exact sums stands for.
    pub exponent: i32,
    /// How many sums of a group are rounded each by itself.
    pub rounded: u32,
    /// In how many groups one unit can be.
    pub groups: Count,
    /// Whether it comes and goes, or is replaced by another.
    pub adjacency: Adjacency,
}

impl Contribution {
    /// A contribution to one sum of whole numbers, in one group, under add-remove.
    pub fn new(amount: i128) -> Contribution {
        Contribution { amount, exponent: 0, rounded: 1, groups: Count::ONE, adjacency: Adjacency::AddRemove }
    }
}

/// How exact sums become noisy multiples of a public granularity.
///
/// # Examples
///
/// ```
/// use veracity_core::NoiseMultiplier;
/// use veracity_mechanisms::{Contribution, NoiseKind, NoisySum};
/// use veracity_noise::{NoiseStream, Purpose};
///
/// // Ages of people who are up to 100 years old.
/// let noise = (NoiseKind::Laplace, NoiseMultiplier::new(2.0)?);
/// let sum = NoisySum::new("sum", Contribution::new(100), noise)?;
/// let mut rng = NoiseStream::system(Purpose::Noise)?;
/// let noisy = sum.value(sum.release(5_000, &mut rng));
/// assert!((noisy - 5_000.0).abs() <= sum.half_width(1e-12));
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NoisySum {
    place: &'static str,
    exponent: i32,
    /// Units in a step of the grid.
    step: i128,
    /// How many steps one unit's contribution to a group is, rounded up.
    sensitivity: Count,
    noise: Noise,
    groups: Count,
    adjacency: Adjacency,
}

impl NoisySum {
    /// The grid and the noise for sums that one unit moves by at most its contribution, at a noise level: the scale of the noise over the
    /// contribution.
    ///
    /// A step of ⌈amount/m⌉ makes the contribution at most m steps, so that only the ceiling is charged. Where rounding may cost steps
    /// more, there are so many in a contribution that a few more are little, unless the noise is near the widest there is.
    ///
    /// # Errors
    ///
    /// Refuses a contribution that is not positive or has more steps than are counted, and noise that is too wide to be accounted for.
    pub fn new(
        place: &'static str,
        contribution: Contribution,
        (kind, multiplier): (NoiseKind, NoiseMultiplier),
    ) -> Result<NoisySum, Refusal> {
        let Contribution { amount, exponent, rounded, groups, adjacency } = contribution;
        if amount < 1 || rounded < 1 {
            return Err(Refusal::invalid("contribution to a sum is 0, expected a positive number"));
        }
        let spare = f64::from(rounded - 1);
        let fine = (FINENESS / multiplier.get()).ceil();
        let widest = (WIDEST / multiplier.get()).floor() - 1.0 - spare;
        let wanted = if spare > 0.0 { fine.max(FINENESS.min(widest)) } else { fine };
        let wanted = wanted.clamp(1.0, MOST_STEPS - spare) as i128;
        let step = round_up(ceil_div(amount, wanted), STEP_BITS);
        // Between 1 and `wanted`, so the cast is exact.
        let steps = ceil_div(amount, step) as u64 + u64::from(rounded - 1);
        let scale = Ratio::at_least(multiplier.get() * steps as f64)?;
        // What is too wide is refused here.
        NoiseMultiplier::new(scale.as_f64())?;
        let noise = match kind {
            NoiseKind::Laplace => Noise::Laplace { scale },
            NoiseKind::Gaussian => Noise::Gaussian { sigma: scale },
        };
        Ok(NoisySum { place, exponent, step, sensitivity: Count::new(steps)?, noise, groups, adjacency })
    }

    /// A count: each record is one or nothing.
    ///
    /// # Errors
    ///
    /// Refuses noise that is too wide to be accounted for.
    pub fn count(
        place: &'static str,
        noise: (NoiseKind, NoiseMultiplier),
        adjacency: Adjacency,
    ) -> Result<NoisySum, Refusal> {
        NoisySum::new(place, Contribution { adjacency, ..Contribution::new(1) }, noise)
    }

    /// A sum on the grid, with noise: a multiple of [`NoisySum::granularity`].
    pub fn release(&self, exact: i128, rng: &mut NoiseStream) -> i128 {
        self.add(&[self.coarse(exact)], rng)[0]
    }

    /// The sums of all groups on the grid, each rounded by itself, with noise: `sums` has one row for each group.
    ///
    /// # Promise  One unit moves them by no more than the distance that is declared
    pub fn release_groups(&self, sums: &[Vec<i128>], rng: &mut NoiseStream) -> Vec<Vec<i128>> {
        let coarse: Vec<i128> = sums.iter().flatten().map(|sum| self.coarse(*sum)).collect();
        let mut noisy = self.add(&coarse, rng).into_iter();
        sums.iter().map(|row| noisy.by_ref().take(row.len()).collect()).collect()
    }

    /// Noise on numbers of steps that one unit moves together, by no more than the sensitivity in each of its groups.
    pub(crate) fn add(&self, coarse: &[i128], rng: &mut NoiseStream) -> Vec<i128> {
        let groups = u128::from(self.groups.get());
        let moves = u128::from(self.adjacency.contributions()) * u128::from(self.sensitivity.get());
        let declared = match self.noise {
            Noise::Laplace { .. } => Distance::L1(groups.saturating_mul(moves)),
            Noise::Gaussian { .. } => Distance::L2Squared(groups.saturating_mul(moves * moves)),
        };
        self.noise.add(self.place, coarse, declared, rng)
    }

    /// The nearest multiple of the step.
    pub(crate) fn coarse(&self, exact: i128) -> i128 {
        (exact + self.step / 2).div_euclid(self.step)
    }

    /// Where in the answer.
    pub fn place(&self) -> &'static str {
        self.place
    }

    /// Units of the exact sums in a step of the grid.
    pub fn step(&self) -> i128 {
        self.step
    }

    /// What one step of the grid is worth.
    pub fn granularity(&self) -> f64 {
        self.step as f64 * power_of_two(self.exponent)
    }

    /// The value of a noisy multiple.
    pub fn value(&self, noisy: i128) -> f64 {
        noisy as f64 * self.granularity()
    }

    /// The half-width around [`NoisySum::value`] that misses the exact sum with probability at most `miss`.
    pub fn half_width(&self, miss: f64) -> f64 {
        let rounding = if self.step == 1 { 0.0 } else { 0.5 };
        (tail::half_width(self.noise, miss) + rounding) * self.granularity()
    }

    /// The half-width around a sum of noisy sums with these weights that misses the same of the exact sums with probability at most
    /// `miss`.
    pub fn combined_half_width(&self, weights: &[f64], miss: f64) -> f64 {
        let rounding = if self.step == 1 { 0.0 } else { 0.5 };
        let rounded = rounding * weights.iter().map(|weight| weight.abs()).sum::<f64>();
        (tail::combined_half_width(self.noise, weights, miss) + rounded) * self.granularity()
    }

    /// How many steps one unit's contribution to a group is, rounded up.
    pub fn sensitivity(&self) -> Count {
        self.sensitivity
    }

    /// The noise that is added.
    pub fn noise(&self) -> Noise {
        self.noise
    }

    /// What the accountant reads. The floats are the sampler's ratios, exactly.
    pub fn mechanism(&self) -> Mechanism {
        let legal = "was checked when the sum was made";
        let level = |ratio: Ratio| NoiseMultiplier::new(ratio.as_f64()).expect(legal);
        let sensitivity = self.sensitivity;
        let one = match self.noise {
            Noise::Laplace { scale } => Mechanism::DiscreteLaplace { scale: level(scale), sensitivity },
            Noise::Gaussian { sigma } => Mechanism::DiscreteGaussian { sigma: level(sigma), sensitivity },
        };
        if self.groups == Count::ONE { one } else { one.repeated(self.groups) }
    }

    /// What is public about it.
    pub fn part(&self) -> Part {
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use veracity_testkit::short;

    /// From the least noise to the widest, and contributions up to near the largest sums: the steps of a contribution cover it, the
    /// step is an exact float, and what is declared has a step more for each sum that is rounded beside the first.
    #[test]
    fn the_steps_of_a_contribution_cover_it() {
        for multiplier in [1e-6, 1e-3, 0.3, 1.0, 3.3, 127.9, 5e3, 1e6] {
            for amount in [1, 2, 99, 1 << 20, (1 << 40) + 1, (1 << 100) - 1] {
                for rounded in [1, 2, 3] {
                    let noise = (NoiseKind::Laplace, short::noise(multiplier));
                    let contribution = Contribution { rounded, ..Contribution::new(amount) };
                    let sum = NoisySum::new("sum", contribution, noise).unwrap();
                    let steps = i128::from(sum.sensitivity().get()) - i128::from(rounded - 1);
                    assert!(steps * sum.step() >= amount && (steps - 1) * sum.step() < amount, "{sum:?}");
                    assert_eq!(sum.granularity() as i128, sum.step());
                    assert!(sum.sensitivity().get() <= 1_000_000, "{sum:?}");
                    let (Noise::Laplace { scale: width } | Noise::Gaussian { sigma: width }) = sum.noise();
                    assert!(width.as_f64() >= multiplier * sum.sensitivity().as_f64(), "{sum:?}");
                }
            }
        }
    }

    #[test]
    fn noise_that_is_too_wide_and_contributions_of_nothing_are_refused() {
        let noise = |multiplier| (NoiseKind::Gaussian, short::noise(multiplier));
        assert!(
            NoisySum::new("sum", Contribution { rounded: 3, ..Contribution::new(9) }, noise(9e8)).is_err()
        );
        assert!(NoisySum::new("sum", Contribution::new(0), noise(1.0)).is_err());
        assert!(
            NoisySum::new("sum", Contribution { rounded: 0, ..Contribution::new(1) }, noise(1.0)).is_err()
        );
    }
}
