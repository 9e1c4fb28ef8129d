//! Labels: an outcome w counts as above with probability χ(w) = Φ(g(w)), g(w) = u/width + curl·(e^u − 1), u = w − at.
//!
//! To the left a label falls like a Gaussian of its width; to the right what is left of an outcome falls like one, and doubly
//! exponentially where there is a curl: faster than any tilt of a loss that grows like e^w can raise it.

use super::sampled::SampledGaussian;
use veracity_core::numerics::normal;

/// The largest shift of a line that a label with a curl allows: cos² must outdo sin².
const CURLED: f64 = 0.6;

/// An analytic step from 0 to 1.
#[derive(Debug, Clone, Copy)]
pub(super) struct SmoothStep {
    pub at: f64,
    pub width: f64,
    pub curl: f64,
}

impl SmoothStep {
    fn g(&self, w: f64) -> f64 {
        let u = w - self.at;
        u / self.width + if self.curl == 0.0 { 0.0 } else { self.curl * u.exp_m1() }
    }

    /// g·g′: how steeply log(1 − χ) falls at w and beyond, at least.
    pub(super) fn fall(&self, w: f64) -> f64 {
        let u = w - self.at;
        self.g(w).max(0.0) * (1.0 / self.width + if self.curl == 0.0 { 0.0 } else { self.curl * u.exp() })
    }

    /// log χ and log(1 − χ).
    pub(super) fn logs(&self, w: f64) -> (f64, f64) {
        let g = self.g(w);
        (normal::log_cdf(g), normal::log_cdf(-g))
    }

    /// Bounds on log |χ| and log |1 − χ| for all of w ± half on the line moved by a.
    ///
    /// # Promise  |Φ(x + iy)| ≤ Φ(x) e^{y²/2}, since Φ is an integral of densities along a line; and |χ| ≤ 1 + |1 − χ|
    pub(super) fn moved(&self, w: f64, half: f64, a: f64) -> (f64, f64) {
        let u = w - self.at;
        let curled = |part: f64| if self.curl == 0.0 { 0.0 } else { self.curl * part };
        let real = |u: f64| u / self.width + curled(u.exp() * a.cos() - 1.0);
        let turned = a / self.width + curled((u + half).exp() * a.sin());
        let cost = 0.5 * turned * turned;
        let (low, high) = (real(u - half), real(u + half));
        // Far out the square of x outgrows that of y, but both overflow.
        let below = if low > 1e7 { f64::NEG_INFINITY } else { normal::log_cdf(-low) + cost };
        let above = if high < -1e7 { f64::NEG_INFINITY } else { normal::log_cdf(high) + cost };
        (above.min(below.exp().ln_1p()), below.min(above.exp().ln_1p()))
    }

    /// How far the line may be moved.
    pub(super) fn farthest(&self) -> f64 {
        if self.curl == 0.0 { f64::INFINITY } else { CURLED }
    }

    /// How many ulp χ and 1 − χ are off, relative to themselves, through the rounding of w.
    pub(super) fn ulps(&self, w: f64) -> (f64, f64) {
        let (u, g) = (w - self.at, self.g(w));
        let moved = 2.0 * (w.abs() + self.at.abs()) * (1.0 / self.width + self.curl * u.min(600.0).exp())
            + 4.0 * g.abs();
        // Φ′/Φ is at most |x| + 1 below zero and at most the density above it.
        let off = |x: f64| 16.0 + moved * if x < 0.0 { 1.0 - x } else { (-0.5 * x * x).exp() };
        (off(g), off(-g))
    }

    /// The probability of the label under P, at most.
    pub(super) fn mass(&self, step: &SampledGaussian) -> f64 {
        let s2 = step.s * step.s;
        let spread = (s2 + self.width * self.width).sqrt();
        // Without its curl the label is larger below `at`, by less than 1 above it.
        let at = |mean: f64| normal::cdf((mean - self.at) / spread);
        let plain = (1.0 - step.rate) * at(-0.5 * s2) + step.rate * at(0.5 * s2);
        let above = if self.curl == 0.0 { 0.0 } else { step.masses(self.at, f64::INFINITY).0 };
        (plain + above) * (1.0 + 1e-9)
    }
}
