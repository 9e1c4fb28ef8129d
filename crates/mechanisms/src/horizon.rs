//! Noisy sums of ordered periods: a count for each day of a year, and every total over consecutive days, from one release.
//!
//! One unit counts in at most k of T periods, with at most r in each. The sums x of the periods become y = Cx, with a lower-triangular
//! Toeplitz matrix C of integers, and every y gets independent integer Gaussian noise z. What is published is C⁻¹(y + z) = x + C⁻¹z: the
//! noise of later periods partly cancels that of earlier ones, so that totals over many periods have much less noise than a sum of
//! independent draws has. C is the power (1 − shift)^−a, rounded to a multiple of its unit: a = 0 is independent noise, which is best
//! for the single periods, and a = 1/2 is the square root of the matrix of running totals \[FichtenbergerHenzingerUpadhyay23\].
//!
//! **Sensitivity.** The entries c₀ ≥ c₁ ≥ … ≥ 0 fall. A unit moves x by u with |uᵢ| ≤ r, in a set π of at most k periods, and
//! ‖Cu‖² = Σ Gᵢⱼ uᵢuⱼ ≤ r² Σ_{i,j ∈ π} Gᵢⱼ with G = CᵀC, Gᵢⱼ = Σ_{m < T − j} c_m c_{m+j−i} for i ≤ j. G falls as j rises, and as j − i
//! rises. The a-th element of π is at least a, and the distance of two is at least that of their ranks. So the first k periods are the
//! worst \[KalininLampert24\]: ‖Cu‖ ≤ r ‖C(1, …, 1, 0, …)‖, the root of an integer, and a unit attains it.
//!
//! **Privacy.** If N were normal, y + N would be a Gaussian mechanism with μ = ‖Cu‖/σ, and so would be y + round(N), for y is of integers.
//! Integer Gaussian noise z differs from round(N) by little where σ is large. With P(z = k) ≤ φ(k) (Poisson summation) and
//! P(round(N) = k) = φ(k) ∫ e^{−(2kt + t²)/2σ²} dt over |t| ≤ ½, which is between φ(k) e^{−1/24σ²} (Jensen) and φ(k) e^{k²/24σ⁴}
//! (sinh(x)/x ≤ e^{x²/6}), both probabilities of a point within Mσ differ by a factor of at most e^{M²/24σ²}. Let G be the set of points
//! whose T coordinates are all within Mσ of the center of P, and so within (M + μ)σ of that of Q, and η = T(M + μ)²/24σ². Then
//! for ε ≥ 0 and every event S
//!
//! > P(S) − e^ε Q(S) ≤ P(not G) + e^η (P'(S ∩ G) − e^{ε − 2η} Q'(S ∩ G)) ≤ δ₀ + e^η H(ε − 2η),
//!
//! where P', Q' have rounded normal noise, H(ε) is the curve of the Gaussian mechanism, and δ₀ = 2T e^{−M²/2}. With the best event of
//! H(ε − 2η), H(ε − 2η) ≤ H(ε) + e^{2η} − 1. So the curve is at most H(ε) + e^{3η} − 1 + δ₀, which is at most that of the Gaussian
//! mechanism beside one that fails with δ' = (e^{3η} − 1 + δ₀)/(1 − H(0)), 1 − H(0) = 2Φ(−μ/2). For ε < 0 the same follows from the
//! reverse pair. [`PeriodSums::mechanism`] is this composition, and C is scaled up until δ' is as small as asked for.

use crate::{Contribution, NoiseKind};
use crate::{NoisySum, fixed::power_of_two, tail};
use std::ops::Range;
use veracity_core::numerics::normal;
use veracity_core::{
    Coefficients, Count, Delta, Epsilon, Mechanism, NoiseMultiplier, Participation, Refusal, Strategy,
};
use veracity_noise::{Distance, Noise, NoiseStream, Ratio};

/// The most periods, as many as a matrix has coefficients.
const MOST_PERIODS: u64 = 8192;
/// The most steps in what one unit adds to a period.
const MOST_STEPS: i128 = 1 << 12;
/// Bits of the unit that the matrix is rounded to: as few as make the noise wide enough.
const BITS: Range<i32> = 10..40;
/// Exponents of the matrix that are tried, in hundredths.
const EXPONENTS: Range<u32> = 0..61;
/// The farthest sum of a period, in steps of its grid.
const FAR: i128 = 1 << 64;
/// Covers the roundings of a few operations.
const OUTWARD: f64 = 1.0 + 1e-12;

/// Ordered periods, and how much one unit adds to them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Horizon {
    /// How many periods there are.
    pub periods: Count,
    /// In how many of them one unit counts at most.
    pub active: Count,
    /// The most that it adds to the sum of one, or takes from it.
    pub amount: i128,
}

/// Whose largest error is made as small as possible.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Priority {
    /// The sums of single periods.
    Counts,
    /// Totals from the first period on.
    Totals,
}

impl Priority {
    /// All of them.
    pub const ALL: [Priority; 2] = [Priority::Counts, Priority::Totals];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Priority::Counts => "counts",
            Priority::Totals => "totals",
        }
    }
}

/// Noise on the sums of all periods of a horizon, everything of it public.
///
/// # Examples
///
/// Counts of 365 days of people who come on at most 2 days:
///
/// ```
/// use veracity_core::{Count, Delta, NoiseMultiplier};
/// use veracity_mechanisms::{Horizon, PeriodSums, Priority};
/// use veracity_noise::{NoiseStream, Purpose};
///
/// let horizon = Horizon { periods: Count::new(365)?, active: Count::new(2)?, amount: 1 };
/// let noise = NoiseMultiplier::new(4.0)?;
/// let days = PeriodSums::new(horizon, Priority::Totals, noise, Delta::new(1e-9)?)?;
/// let noisy = days.release(&[50; 365], &mut NoiseStream::system(Purpose::Noise)?)?;
/// assert!((noisy.total(0..365) - 50.0 * 365.0).abs() < days.half_width(0..365, 1e-12));
/// // A sum of independent noise has more than three times that error.
/// let independent = PeriodSums::new(horizon, Priority::Counts, noise, Delta::new(1e-9)?)?;
/// assert!(independent.half_width(0..365, 0.05) > 3.0 * days.half_width(0..365, 0.05));
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct PeriodSums {
    horizon: Horizon,
    /// Rounds the sums, and says what one unit adds in steps.
    grid: NoisySum,
    /// The first column of C.
    weights: Vec<i128>,
    /// The first of them, times the steps of one unit.
    unit_moves: Count,
    /// The square of how far one unit moves Cx.
    moved_squared: u128,
    sigma: Ratio,
    /// The δ that integer noise costs beside normal noise.
    slack: Delta,
    /// The first column of C⁻¹, in steps, and its running totals.
    inverse: Vec<f64>,
    totals: Vec<f64>,
}

/// Noisy sums of all periods.
#[derive(Debug, Clone, PartialEq)]
pub struct NoisyPeriods {
    totals: Vec<f64>,
    /// How far floats may have moved a total.
    rounding: f64,
}

impl NoisyPeriods {
    /// The sum over a range of periods.
    pub fn total(&self, range: Range<usize>) -> f64 {
        let until = |end: usize| if end == 0 { 0.0 } else { self.totals[end - 1] };
        until(range.end) - until(range.start)
    }

    /// How far the rounding of floats may have moved a sum, beside its half-width.
    pub fn rounding(&self) -> f64 {
        self.rounding
    }
}

impl PeriodSums {
    /// The noise for a horizon: `noise` is σ over how far one unit moves what gets noise, and `slack` the most δ that may be added.
    ///
    /// # Errors
    ///
    /// Refuses more than 8192 periods, a unit in more periods than there are, and noise that is too wide, or so narrow or with a slack
    /// so small that no matrix keeps it.
    pub fn new(
        horizon: Horizon,
        priority: Priority,
        noise: NoiseMultiplier,
        slack: Delta,
    ) -> Result<PeriodSums, Refusal> {
        let Horizon { periods, active, amount } = horizon;
        if periods.get() > MOST_PERIODS {
            return Err(Refusal::out_of_range(
                "periods",
                periods.get(),
                "at most 8192 periods; use longer ones",
            ));
        }
        if active > periods {
            return Err(Refusal::out_of_range("periods of one person", active.get(), "at most all periods"));
        }
        // Fine enough that rounding up what one unit adds costs next to nothing.
        let step = Contribution { groups: active, ..Contribution::new(amount) };
        let level = NoiseMultiplier::new(FINE_LEVEL)?;
        let grid = NoisySum::new("periods", step, (NoiseKind::Gaussian, level))?;
        debug_assert!(i128::from(grid.sensitivity().get()) <= MOST_STEPS);
        let (exponent, _) = best_exponent(periods, active, priority);
        for bits in BITS {
            let weights = rounded_power(periods, exponent, bits);
            let moved_squared = moved_squared(&weights, active, u128::from(grid.sensitivity().get()))?;
            let Ok(sigma) = Ratio::at_least(noise.get() * (moved_squared as f64).sqrt() * OUTWARD) else {
                break;
            };
            let kept = slack_of(periods, sigma.as_f64(), 1.0 / noise.get());
            if kept <= slack.get() {
                let inverse = inverse(&weights);
                let totals = running(&inverse);
                let slack = Delta::new(kept)?;
                // At most 2^10 times 2^39.
                let unit_moves = grid.sensitivity().times(Count::new(1 << bits)?)?;
                return Ok(PeriodSums {
                    unit_moves,
                    horizon,
                    grid,
                    weights,
                    moved_squared,
                    sigma,
                    slack,
                    inverse,
                    totals,
                });
            }
        }
        Err(Refusal::invalid(format!(
            "no integer noise of multiplier {noise} over {} periods is within delta {slack} of normal noise; use a larger delta \
             or a smaller epsilon",
            periods.get()
        )))
    }

    /// What the accountant reads.
    ///
    /// # Promise  Its curve is nowhere below that of the release, as the module says
    pub fn mechanism(&self) -> Mechanism {
        let legal = "was checked when the noise was made";
        let unit = self.weights[0] as f64;
        // Powers of two and integers below 2^53: no division rounds.
        let width = self.weights.iter().rposition(|weight| *weight > 0).map_or(1, |last| last + 1);
        let coefficients = self.weights[..width].iter().map(|weight| *weight as f64 / unit).collect();
        let one = self.unit_moves.as_f64();
        let matrix = Mechanism::Matrix {
            strategy: Strategy::Banded {
                steps: self.horizon.periods,
                coefficients: Coefficients::new(coefficients).expect(legal),
            },
            participation: Participation::Separated { times: self.horizon.active, separation: Count::ONE },
            noise_multiplier: NoiseMultiplier::new((self.sigma.as_f64() / one).next_down()).expect(legal),
        };
        let slack = Mechanism::Approximate { epsilon: Epsilon::new(0.0).expect(legal), delta: self.slack };
        Mechanism::Composed(vec![matrix, slack])
    }

    /// The σ of the noise that each row of the matrix gets.
    pub fn sigma(&self) -> Ratio {
        self.sigma
    }

    /// How far one unit moves a row of the matrix by what it adds to the period of this row, on the scale of the noise.
    pub fn sensitivity(&self) -> Count {
        self.unit_moves
    }

    /// What one step of the noise is worth in the first period.
    pub fn granularity(&self) -> f64 {
        self.grid.granularity() / self.weights[0] as f64
    }

    /// Noisy sums, from the exact sum of each period.
    ///
    /// # Promise  Adjacent sums move what gets noise by no more than is declared
    ///
    /// # Errors
    ///
    /// Refuses another number of periods.
    pub fn release(&self, exact: &[i128], rng: &mut NoiseStream) -> Result<NoisyPeriods, Refusal> {
        if exact.len() != self.weights.len() {
            return Err(Refusal::out_of_range("periods", exact.len(), "as many as the horizon has"));
        }
        // Clamped, so that no sum leaves 128 bits: that moves no two sums apart.
        let coarse: Vec<i128> = exact.iter().map(|sum| self.grid.coarse(*sum).clamp(-FAR, FAR)).collect();
        let combined: Vec<i128> = (0..coarse.len())
            .map(|row| (0..=row).map(|at| self.weights[row - at] * coarse[at]).sum())
            .collect();
        let declared = Distance::L2Squared(self.moved_squared);
        let noisy = Noise::Gaussian { sigma: self.sigma }.add("periods", &combined, declared, rng);
        let worth = self.grid.granularity();
        // C⁻¹ and running totals, in one go.
        let total =
            |end: usize| (0..=end).map(|at| self.totals[end - at] * noisy[at] as f64).sum::<f64>() * worth;
        let largest = noisy.iter().map(|one| one.unsigned_abs() as f64).fold(0.0, f64::max);
        let read: f64 = self.totals.iter().map(|total| total.abs()).sum();
        // The inverse has a relative error for each of its sums, a total for each of its terms, and a range is of two totals.
        let rounding = 8.0 * noisy.len() as f64 * f64::EPSILON * largest * read * worth;
        Ok(NoisyPeriods { totals: (0..noisy.len()).map(total).collect(), rounding })
    }

    /// The half-width around [`NoisyPeriods::total`] of a range that misses the exact sum with probability at most `miss`.
    pub fn half_width(&self, range: Range<usize>, miss: f64) -> f64 {
        let weight = |at: usize| {
            let until = |end: usize| if end > at { self.totals[end - 1 - at] } else { 0.0 };
            until(range.end) - until(range.start)
        };
        let weights: Vec<f64> = (0..range.end).map(weight).collect();
        let rounding = if self.grid.step() == 1 { 0.0 } else { 0.5 * range.len() as f64 };
        (tail::combined_half_width(Noise::Gaussian { sigma: self.sigma }, &weights, miss) + rounding)
            * self.grid.granularity()
            * (1.0 + 1e-9)
    }

    /// The horizon.
    pub fn horizon(&self) -> Horizon {
        self.horizon
    }
}

/// Noise at which [`NoisySum`] takes so many steps as an amount should have.
const FINE_LEVEL: f64 = 0.125;

/// The power of (1 − shift) whose largest error is smallest, by its exact weights, and that error over the noise multiplier.
fn best_exponent(periods: Count, active: Count, priority: Priority) -> (f64, f64) {
    let error = |exponent: f64| {
        let weights = power(periods, exponent);
        let (moved, read) = match priority {
            Priority::Counts => (norm_of_first(&weights, active), power(periods, -exponent)),
            Priority::Totals => (norm_of_first(&weights, active), power(periods, 1.0 - exponent)),
        };
        moved * read.iter().map(|x| x * x).sum::<f64>().sqrt()
    };
    let all =
        EXPONENTS.map(|hundredths| 0.01 * f64::from(hundredths)).map(|exponent| (exponent, error(exponent)));
    all.min_by(|one, other| one.1.total_cmp(&other.1)).unwrap_or((0.0, f64::INFINITY))
}

/// The first column of (1 − shift)^−exponent.
fn power(periods: Count, exponent: f64) -> Vec<f64> {
    let next = |last: &mut f64, at: u64| {
        if at > 0 {
            *last *= (at as f64 - 1.0 + exponent) / at as f64;
        }
        Some(*last)
    };
    (0..periods.get()).scan(1.0, next).collect()
}

/// The same in multiples of 2^−bits. Rounding is monotone, so they fall, and the first is 2^bits.
fn rounded_power(periods: Count, exponent: f64, bits: i32) -> Vec<i128> {
    let unit = power_of_two(bits);
    let mut most = i128::MAX;
    let fall = |weight: f64| {
        most = most.min((weight * unit).round() as i128);
        most
    };
    power(periods, exponent).into_iter().map(fall).collect()
}

/// The rows of C(1, …, 1, 0, …) with as many ones as a unit has periods.
fn norm_of_first(weights: &[f64], active: Count) -> f64 {
    let totals = running(weights);
    let active = active.get() as usize;
    let row = |at: usize| totals[at] - if at >= active { totals[at - active] } else { 0.0 };
    (0..weights.len()).map(|at| row(at) * row(at)).sum::<f64>().sqrt()
}

/// The square of how far one unit moves Cx, exactly.
fn moved_squared(weights: &[i128], active: Count, amount: u128) -> Result<u128, Refusal> {
    let active = usize::try_from(active.get()).unwrap_or(usize::MAX);
    let mut row: i128 = 0;
    let mut sum: u128 = 0;
    for (at, weight) in weights.iter().enumerate() {
        row += weight - if at >= active { weights[at - active] } else { 0 };
        let moved = row.unsigned_abs().checked_mul(amount);
        let square = moved.and_then(|moved| moved.checked_mul(moved));
        sum = square
            .and_then(|square| sum.checked_add(square))
            .ok_or_else(|| Refusal::invalid("periods of one person move the sums too far; lower the caps"))?;
    }
    Ok(sum)
}

/// The first column of C⁻¹.
fn inverse(weights: &[i128]) -> Vec<f64> {
    let first = weights[0] as f64;
    let weights: Vec<f64> = weights.iter().map(|weight| *weight as f64 / first).collect();
    let mut inverse: Vec<f64> = vec![1.0];
    for at in 1..weights.len() {
        let rest: f64 = (1..=at).map(|back| weights[back] * inverse[at - back]).sum();
        inverse.push(-rest);
    }
    inverse.iter().map(|x| x / first).collect()
}

fn running(all: &[f64]) -> Vec<f64> {
    let add = |sum: &mut f64, x: &f64| {
        *sum += x;
        Some(*sum)
    };
    all.iter().scan(0.0, add).collect()
}

/// The δ' of the module, for noise of this σ on every row and a unit that moves all of them by μσ.
fn slack_of(periods: Count, sigma: f64, mu: f64) -> f64 {
    // The tail of 2T e^{−M²/2} is at most 2^−70 of one.
    let periods = periods.as_f64();
    let far = (2.0 * (2.0 * periods).ln() + 140.0 * std::f64::consts::LN_2).sqrt();
    let missed = (-70.0 * std::f64::consts::LN_2).exp();
    let apart = periods * ((far + mu) / sigma).powi(2) / 24.0;
    ((3.0 * apart).exp_m1() + missed) / (2.0 * normal::cdf(-0.5 * mu)) * OUTWARD
}
