//! The privacy profile of the Gaussian mechanism from below: what a μ that was shown says of ε.

use veracity_core::numerics::{UNIT, normal, root};

/// The largest ε at which N(μ, 1) against N(0, 1) surely has δ(ε) ≥ `delta`; infinite at `delta` = 0 unless μ is 0.
///
/// # Reference  [BalleWang18] Theorem 8: δ(ε) = Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ), which falls in ε
/// # Numerics   Rounded down
pub(crate) fn epsilon_at_least(mu: f64, delta: f64) -> f64 {
    if !(mu > 0.0) {
        return 0.0;
    }
    if delta <= 0.0 {
        return f64::INFINITY;
    }
    let leaks = |epsilon: f64| delta_at_least(mu, epsilon) >= delta;
    if !leaks(0.0) {
        return 0.0;
    }
    let mut beyond = 1.0;
    while leaks(beyond) {
        beyond *= 2.0;
    }
    root::bisect(0.0, beyond, 0.0, leaks).holds
}

/// δ(ε) for ε ≥ 0, from below.
fn delta_at_least(mu: f64, epsilon: f64) -> f64 {
    let a = epsilon / mu - 0.5 * mu;
    if a < -5.0 {
        // Both terms are plain probabilities here, and the first is close to 1.
        let (first, second) = (normal::cdf(-a), (epsilon + normal::log_cdf(-a - mu)).exp());
        return first - second - 64.0 * UNIT * (first + (1.0 + epsilon + mu * mu) * second);
    }
    // As φ(a)(m(a) − m(a + μ)) with Mills' ratio m, tiny values keep their digits.
    let (near, far) = (normal::mills(a), normal::mills(a + mu));
    let difference = near - far;
    let size = a.abs() + mu + epsilon / mu;
    let relative = UNIT * (32.0 + 16.0 * near / difference + 8.0 * a.abs() * size + 8.0 * size / difference);
    if !(relative < 0.5) {
        return 0.0;
    }
    normal::density(a) * difference * (1.0 - relative)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// # mpmath 1.4, 50 digits: findroot(lambda e: ncdf(m/2-e/m)-exp(e)*ncdf(-m/2-e/m)-d, guess)
    #[test]
    fn the_profile_is_met_from_below() {
        for (mu, delta, truth) in GOLDEN {
            let ours = epsilon_at_least(mu, delta);
            assert!(ours <= truth && truth <= ours * (1.0 + 1e-9), "{mu} {delta}: {ours} {truth}");
        }
        assert_eq!((epsilon_at_least(0.0, 0.0), epsilon_at_least(-1.0, 1e-5)), (0.0, 0.0));
        assert_eq!(epsilon_at_least(1.0, 0.0), f64::INFINITY);
        assert_eq!(epsilon_at_least(1e-9, 1e-5), 0.0);
    }

    const GOLDEN: [(f64, f64, f64); 5] = [
        (1.0, 1e-5, 4.377_178_095_681_225),
        (0.1, 1e-5, 0.340_669_364_684_326_4),
        (2.908657, 1e-5, 16.022_568_208_522_21),
        (20.0, 1e-6, 294.171_786_257_644_5),
        (1.0, 0.3, 0.276_617_398_896_849_55),
    ];
}
