//! Optimal banded strategies: the Toeplitz band that leaves the least error in running sums.
//!
//! What is minimised is the product of the error at unit noise and the square of the sensitivity; it does not change when the
//! band is scaled, so the first coefficient is held at 1 and the rest are free. The result is scaled to columns of norm 1.

use super::{errors, lbfgs};
use veracity_core::{Coefficients, Count, Refusal};

/// The most multiplications of one look at the error.
const MOST_WORK: u64 = 1 << 24;

/// What is made small.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aim {
    /// The mean error of the running sums.
    Mean,
    /// The largest error, that of the last sum.
    Largest,
}

/// The best Toeplitz band of this width, with columns of norm at most 1.
///
/// # Promise    Never worse than the square root cut off after as many bands, from which the search starts. That it is the
/// best is not certified; the privacy of a strategy does not depend on it
/// # Reference  \[McKenna24\] (Toeplitz bands), \[ChoquetteChooEtAl23b\] (banded strategies): as long as participations are at
/// least a band apart, their number is a factor on the error and does not change what is best
///
/// # Errors
/// Refuses more bands than steps, and more than 2^24 steps times bands.
///
/// # Examples
///
/// ```
/// use veracity_account::matrix::{errors, optimal};
/// use veracity_core::Count;
///
/// let (steps, bands) = (Count::new(64)?, Count::new(16)?);
/// let found = errors::banded(&optimal::banded(steps, bands, optimal::Aim::Mean)?, steps)?.mean;
/// assert!(found <= errors::banded(&errors::square_root(bands)?, steps)?.mean);
/// assert!(found < errors::independent(steps).mean);
/// // No strategy whatever goes below.
/// assert!(found >= errors::least_mean(steps)?);
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
pub fn banded(steps: Count, bands: Count, aim: Aim) -> Result<Coefficients, Refusal> {
    if bands > steps {
        return Err(Refusal::out_of_range("bands", bands.get(), "at most as many bands as steps"));
    }
    if steps.get().saturating_mul(bands.get()) > MOST_WORK {
        return Err(Refusal::out_of_range(
            "steps times bands",
            steps.get().saturating_mul(bands.get()),
            "at most 16,777,216; use fewer bands",
        ));
    }
    let start = errors::square_root(bands)?.get()[1..].to_vec();
    let n = steps.get() as usize;
    let free = lbfgs::minimise(start, |free| log_error(free, n, aim));
    let band: Vec<f64> = std::iter::once(1.0).chain(free).collect();
    let norm = band.iter().map(|c| c * c).sum::<f64>().sqrt();
    Coefficients::new(band.iter().map(|c| c / norm).collect())
}

/// The logarithm of error × sensitivity², and its slope in the free coefficients.
///
/// With b = 1/((1 − x)c) the error is Σ w_t b_t², and ∂b/∂c_j = −x^j b/c.
fn log_error(free: &[f64], steps: usize, aim: Aim) -> (f64, Vec<f64>) {
    let band: Vec<f64> = std::iter::once(1.0).chain(free.iter().copied()).collect();
    let sums = errors::running_sums(&band, steps);
    let weight = |t: usize| match aim {
        Aim::Mean => (steps - t) as f64,
        Aim::Largest => 1.0,
    };
    let error: f64 = sums.iter().enumerate().map(|(t, b)| weight(t) * b * b).sum();
    let square: f64 = band.iter().map(|c| c * c).sum();
    let pull: Vec<f64> = sums.iter().enumerate().map(|(t, b)| weight(t) * b).collect();
    let twice = errors::divided(&sums, &band);
    let slope = (1..band.len()).map(|j| {
        let change: f64 = pull[j..].iter().zip(&twice).map(|(p, d)| p * d).sum();
        -2.0 * change / error + 2.0 * band[j] / square
    });
    (error.ln() + square.ln(), slope.collect())
}
