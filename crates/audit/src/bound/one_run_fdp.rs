//! One training, many canaries, and a whole trade-off curve as the claim: more is shown than from an (ε, δ) alone.
//!
//! The recursion bounds the chance of so many right guesses under any mechanism whose trade-off curve is above f.

use super::{Basis, LowerBound, at_least_zero, one_run::Guesses, one_run_exact, profile};
use crate::ClaimedCurve;
use veracity_core::numerics::{UNIT, normal};
use veracity_core::{Delta, GdpMu, Lower, Significance};

/// An ε that the truth does not fall below if the mechanism is Gaussian, that of the largest μ which is refuted:
/// `one-run-gaussian`.
///
/// # Promise    Above the truth with chance at most the significance, if the mechanism's trade-off curve is Gaussian.
/// # Reference  \[MahloujifarMelisChaudhuri24\] Algorithm 3 with k = 2; its last test is against c′/m (the extracted text of
/// the paper prints c/m)
/// # Assumes    Each canary is in with chance ½, independently; the number of guesses was fixed beforehand
/// # Numerics   Rounded down
pub fn bound(guesses: Guesses, delta: Delta, significance: Significance) -> LowerBound {
    let level = significance.spend();
    let shown = |guesses| {
        let mu = super::largest_refuted(16.0, 1e-11, |mu| is_refuted(guesses, level, Gaussian::new(mu)));
        at_least_zero(profile::epsilon_at_least(mu, delta.get()))
    };
    LowerBound {
        epsilon: Lower(shown(guesses)),
        ceiling: shown(guesses.perfect_attack()),
        basis: Basis::IfGaussian,
    }
}

/// The μ behind [`bound`].
pub fn mu(guesses: Guesses, significance: Significance) -> Lower<GdpMu> {
    let level = significance.spend();
    let mu = super::largest_refuted(16.0, 1e-11, |mu| is_refuted(guesses, level, Gaussian::new(mu)));
    Lower(GdpMu::new(mu).expect("mu was bisected between zero and a finite number"))
}

/// Whether so many right guesses refute a claimed curve: it is the claim itself, so nothing is assumed of the mechanism.
///
/// The recursion for the whole curve and the exact worst case of each of its pairs bound one probability from above, so the smallest
/// of them counts, at no cost in level.
///
/// # Promise    A true claim is refuted with chance at most `level`.
/// # Assumes    As [`bound`]
pub(crate) fn refutes(guesses: Guesses, level: f64, claim: &ClaimedCurve) -> bool {
    let is_pair_refuted = |(epsilon, delta)| one_run_exact::is_refuted(guesses, epsilon, delta, level);
    is_refuted(guesses, level, claim) || claim.pairs().any(is_pair_refuted)
}

impl Curve for &ClaimedCurve {
    fn inverse(&mut self, y: f64) -> f64 {
        ClaimedCurve::inverse(self, y)
    }
}

/// A claimed trade-off curve f, as the inverse of 1 − f from below. Asked for ever larger arguments.
trait Curve {
    /// A number not above the x with 1 − f(x) = y.
    fn inverse(&mut self, y: f64) -> f64;
}

/// Whether so many right guesses have a chance below `level` under the claim.
///
/// Read backwards, from the last right guess to the first: r and h stand for the largest chances that are consistent
/// with the curve and with a p-value of `level`; if they pass what all guesses together can have, it is not.
///
/// # Numerics  Abel summation shows that r grows with every h but the first, so rounding each h and each increment down
/// keeps r and h below their true values
fn is_refuted(guesses: Guesses, level: f64, mut curve: impl Curve) -> bool {
    let (m, all, right) = (guesses.canaries() as f64, guesses.guesses() as f64, guesses.correct() as f64);
    if guesses.correct() == 0 {
        return false;
    }
    let limit = all / m * (1.0 + 64.0 * UNIT);
    let (mut r, mut h) =
        (level * right / m * (1.0 - 8.0 * UNIT), level * (all - right) / m * (1.0 + 8.0 * UNIT));
    for i in (0..guesses.correct()).rev() {
        let next = curve.inverse(r);
        if next <= h {
            // Nothing moves any more.
            break;
        }
        let i = i as f64;
        r += i / (all - i) * (next - h) * (1.0 - 8.0 * UNIT);
        h = next;
        if r + h > limit {
            return true;
        }
    }
    r + h > limit
}

/// The curve of a Gaussian mechanism: 1 − f has the inverse Φ(Φ⁻¹(y) − μ).
struct Gaussian {
    mu: f64,
    /// The last quantile, from which the next is near.
    z: Option<f64>,
}

impl Gaussian {
    fn new(mu: f64) -> Gaussian {
        Gaussian { mu, z: None }
    }
}

impl Curve for Gaussian {
    fn inverse(&mut self, y: f64) -> f64 {
        if y >= 1.0 {
            return 1.0 - 8.0 * UNIT;
        }
        let (z, error) = match self.z {
            Some(near) => near_quantile(y, near),
            None => exact_quantile(y),
        };
        self.z = Some(z);
        normal::cdf(z - self.mu - error) * (1.0 - 32.0 * UNIT)
    }
}

/// Newton's method from a quantile near by; far from it, all over again.
fn near_quantile(y: f64, near: f64) -> (f64, f64) {
    let mut z = near;
    for _ in 0..4 {
        let (value, slope) = (normal::cdf(z), normal::density(z));
        let step = (y - value) / slope;
        if !(step.abs() < 0.1) {
            break;
        }
        z += step;
        // Newton squares the step: what is left is below |z|·step²/2 and the rounding of Φ.
        if step.abs() < 1e-8 {
            return (z, (1.0 + z.abs()) * step * step + 32.0 * UNIT * (value / slope + z.abs()));
        }
    }
    exact_quantile(y)
}

fn exact_quantile(y: f64) -> (f64, f64) {
    let z = normal::quantile(y);
    (z, 1e-13 * (y / normal::density(z)).max(1.0) + 32.0 * UNIT * z.abs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use veracity_core::Epsilon;

    /// The exact worst case of the pair refutes up to ε = 2.1718 here, the recursion up to 2.1557.
    #[test]
    fn a_curve_is_refuted_where_one_of_its_pairs_is() {
        let seen = Guesses::new(1000, 100, 95).unwrap();
        let curve = |epsilon: f64| {
            let vacuous = (Epsilon::new(9.0).unwrap(), Delta::new(0.9).unwrap());
            let pair = (Epsilon::new(epsilon).unwrap(), Delta::new(1e-5).unwrap());
            ClaimedCurve::new([vacuous, pair]).unwrap()
        };
        assert!(refutes(seen, 0.05, &curve(2.171)));
        assert!(!refutes(seen, 0.05, &curve(2.172)));
    }
}
