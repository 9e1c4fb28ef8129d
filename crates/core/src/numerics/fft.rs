//! Fourier transforms of real sequences whose length is a power of two, with an a-priori bound on their round-off.

pub use num_complex::Complex64;

// A browser downloads what it runs, and realfft's planner brings every algorithm for every length.
#[cfg(any(target_arch = "wasm32", test))]
mod halved;
#[cfg(not(target_arch = "wasm32"))]
mod planned;

use crate::numerics::UNIT;
#[cfg(target_arch = "wasm32")]
use halved::Plan;
#[cfg(not(target_arch = "wasm32"))]
use planned::Plan;

/// Transforms of one length, planned once.
///
/// # Examples
///
/// The law of the sum of two dice, as a product of spectra, to within the stated round-off:
///
/// ```
/// use veracity_core::numerics::fft::RealFft;
///
/// let fft = RealFft::new(13);
/// assert_eq!(fft.len(), 16);
/// let mut die = vec![0.0; fft.len()];
/// die[1..=6].fill(1.0 / 6.0);
///
/// let mut spectrum = fft.forward(&mut die);
/// spectrum.iter_mut().for_each(|value| *value *= *value);
/// let sum = fft.inverse(&mut spectrum);
/// // Probabilities add up to 1, so no modulus of a spectrum exceeds 1: two transforms forward and one back.
/// assert!((sum[7] - 6.0 / 36.0).abs() <= 4.0 * fft.roundoff());
/// assert!((sum[12] - 1.0 / 36.0).abs() <= 4.0 * fft.roundoff());
/// ```
pub struct RealFft {
    plan: Plan,
    len: usize,
}

impl RealFft {
    /// Plans transforms of length `len`, rounded up to a power of two.
    pub fn new(len: usize) -> RealFft {
        let len = len.max(2).next_power_of_two();
        RealFft { plan: Plan::new(len), len }
    }

    /// The length of the sequences.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Never: the shortest length is two.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Σ_j x_j e^{−2πi jk/N} for k = 0 … N/2; the other half is its mirror image. `values` is used as scratch.
    ///
    /// # Examples
    ///
    /// ```
    /// use veracity_core::numerics::fft::{Complex64, RealFft};
    ///
    /// // A unit mass at place 1 of 4 turns by a quarter from one frequency to the next.
    /// let spectrum = RealFft::new(4).forward(&mut [0.0, 1.0, 0.0, 0.0]);
    /// assert_eq!(spectrum, [Complex64::new(1.0, 0.0), Complex64::new(0.0, -1.0), Complex64::new(-1.0, 0.0)]);
    /// ```
    pub fn forward(&self, values: &mut [f64]) -> Vec<Complex64> {
        self.plan.forward(values)
    }

    /// The real sequence with this half spectrum. `spectrum` is used as scratch.
    pub fn inverse(&self, spectrum: &mut [Complex64]) -> Vec<f64> {
        // The mean and the alternating sum of a real sequence are real.
        spectrum[0].im = 0.0;
        spectrum[self.len / 2].im = 0.0;
        let mut values = self.plan.inverse(spectrum);
        let scale = 1.0 / self.len as f64;
        values.iter_mut().for_each(|x| *x *= scale);
        values
    }

    /// A factor φ such that each output of `forward` errs by at most φ ‖x‖₁, and each output of `inverse` by at most
    /// φ times the mean modulus of the whole spectrum.
    ///
    /// # Reference  Each output is a sum over inputs of the input times one twiddle factor per level: an error of at
    /// most r per level multiplies each path by at most (1 + r)^levels. Higham, Accuracy and Stability, section 24.1,
    /// has the same argument in the Euclidean norm
    /// # Assumes    A power-of-two length, so that the plan is a Cooley–Tukey factorization without Bluestein's or
    /// Rader's detour
    /// # Numerics   The angle 2πj/N of a twiddle errs by the rounding of π and of one product (N is a power of two):
    /// 1.4u·2π < 9u, its sine and cosine by less than 2u more, a complex product by √5 u, a sum by u: r ≤ 16u.
    /// Splitting the real transform into a complex one of half the length adds one level, scaling by 1/N another.
    pub fn roundoff(&self) -> f64 {
        16.0 * UNIT * (f64::from(self.len.trailing_zeros()) + 2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sum itself, with the angle reduced in whole numbers.
    pub(super) fn slow(values: &[f64]) -> Vec<Complex64> {
        let n = values.len();
        let term = |j: usize, k: usize| {
            let angle = -2.0 * std::f64::consts::PI * ((j * k) % n) as f64 / n as f64;
            Complex64::from_polar(values[j], angle)
        };
        (0..=n / 2).map(|k| (0..n).map(|j| term(j, k)).sum()).collect()
    }

    #[test]
    fn agrees_with_the_sum_within_its_bound() {
        for len in [2, 8, 256, 1024] {
            let fft = RealFft::new(len);
            let values: Vec<f64> = (0..len).map(|j| ((j * j + 3 * j) % 17) as f64 - 8.0).collect();
            let norm: f64 = values.iter().map(|x| x.abs()).sum();
            let mut spectrum = fft.forward(&mut values.clone());
            for (fast, slow) in spectrum.iter().zip(slow(&values)) {
                // The slow sum has an error of its own, of the order of a few units.
                assert!((fast - slow).norm() <= (fft.roundoff() + 16.0 * UNIT) * norm);
            }
            for (back, value) in fft.inverse(&mut spectrum).iter().zip(&values) {
                assert!((back - value).abs() <= 2.0 * fft.roundoff() * norm);
            }
        }
    }
}
