//! How well a strategy serves running sums: the variance that it leaves in each prefix sum, at noise as large as its
//! sensitivity. Multiply by the square of the noise multiplier (noise over sensitivity) for the variance itself.

use super::toeplitz;
use veracity_core::numerics::UNIT;
use veracity_core::{Coefficients, Count, Refusal};

/// The most steps whose errors are summed up one by one.
pub const MOST_STEPS: u64 = 1 << 20;

/// Variances of the running sums of a strategy, for one participation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PrefixErrors {
    /// The mean over all steps.
    pub mean: f64,
    /// The largest.
    pub largest: f64,
}

/// Noise of its own on every step.
pub fn independent(steps: Count) -> PrefixErrors {
    PrefixErrors { mean: (steps.as_f64() + 1.0) / 2.0, largest: steps.as_f64() }
}

/// A tree whose sums are put together from as few blocks as the binary digits of the step have ones.
///
/// # Reference  \[DworkNaorPitassiRothblum10\], \[ChanShiSong11\]
pub fn tree(steps: Count) -> PrefixErrors {
    let n = steps.get();
    let levels = f64::from(n.ilog2() + 1);
    // Among 0 … n, how often each binary digit is one.
    let ones = (0..=n.ilog2()).map(|digit| {
        let half = 1u64 << digit;
        let (whole, rest) = ((n + 1) / (2 * half), (n + 1) % (2 * half));
        (whole * half + rest.saturating_sub(half)) as f64
    });
    PrefixErrors {
        mean: levels * ones.sum::<f64>() / steps.as_f64(),
        largest: levels * f64::from((n + 1).ilog2()),
    }
}

/// A Toeplitz strategy. Its sums are noised by A C⁻¹z, whose coefficients are the running sums of those of C⁻¹.
///
/// # Reference  \[FichtenbergerHenzingerUpadhyay23\] for the two errors
///
/// # Errors
/// Refuses more than 2^20 steps.
pub fn banded(coefficients: &Coefficients, steps: Count) -> Result<PrefixErrors, Refusal> {
    if steps.get() > MOST_STEPS {
        return Err(Refusal::out_of_range("steps", steps.get(), "at most 1,048,576 steps to compute errors"));
    }
    let band = toeplitz::trimmed(coefficients.get(), steps);
    let sums = running_sums(band, steps.get() as usize);
    let square: f64 = band.iter().map(|c| c * c).sum();
    let n = sums.len() as f64;
    let weighted = sums.iter().enumerate().map(|(t, b)| (n - t as f64) * b * b);
    Ok(PrefixErrors {
        mean: square * weighted.sum::<f64>() / n,
        largest: square * sums.iter().map(|b| b * b).sum::<f64>(),
    })
}

/// The coefficients of 1/((1 − x) c(x)): how the noise of one step shows in the sums after it.
pub(super) fn running_sums(band: &[f64], steps: usize) -> Vec<f64> {
    divided(&vec![1.0; steps], band)
}

/// The first coefficients of p(x)/c(x).
pub(super) fn divided(power: &[f64], band: &[f64]) -> Vec<f64> {
    let mut out: Vec<f64> = Vec::with_capacity(power.len());
    for (t, p) in power.iter().enumerate() {
        let reach = band.len().min(t + 1);
        let known: f64 = band[1..reach].iter().zip(out.iter().rev()).map(|(c, b)| c * b).sum();
        out.push((p - known) / band[0]);
    }
    out
}

/// The coefficients of (1 − x)^(−1/2): binomials C(2k, k)/4^k. With all of them, C² is the matrix of running sums.
///
/// # Reference  \[FichtenbergerHenzingerUpadhyay23\] (the square root), \[KalininLampert24\] (cut off after `bands`)
///
/// # Errors
/// Refuses more bands than a strategy may have.
pub fn square_root(bands: Count) -> Result<Coefficients, Refusal> {
    let mut coefficients = Vec::new();
    let mut c = 1.0;
    for k in 1..=bands.get().min(MOST_STEPS) {
        coefficients.push(c);
        c *= (2 * k - 1) as f64 / (2 * k) as f64;
    }
    Coefficients::new(coefficients)
}

/// A mean error that no strategy whatever goes below, banded or not: the square of the nuclear norm of the matrix of running
/// sums over the number of steps.
///
/// # Reference  \[HenzingerUpadhyayUpadhyay23\] (lower bound of the mean): ‖A‖_* ≤ ‖AC⁻¹‖_F ‖C‖_F, and ‖C‖_F² ≤ T × the largest column. The
/// singular values are 1/(2 sin((2j − 1)π/(4T + 2)))
/// # Numerics   Rounded down, by a few units of the last place for each step
///
/// # Errors
/// Refuses more than 2^20 steps.
pub fn least_mean(steps: Count) -> Result<f64, Refusal> {
    if steps.get() > MOST_STEPS {
        return Err(Refusal::out_of_range("steps", steps.get(), "at most 1,048,576 steps to compute errors"));
    }
    let n = steps.as_f64();
    let singular = |j: u64| 0.5 / ((2 * j - 1) as f64 * std::f64::consts::PI / (4.0 * n + 2.0)).sin();
    let nuclear: f64 = (1..=steps.get()).map(singular).sum();
    Ok((nuclear / n).powi(2) * (1.0 - (4.0 * n + 64.0) * UNIT))
}
