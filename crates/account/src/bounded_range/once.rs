//! Closed forms: the profile of one bounded-range mechanism, and that of several which all have the same t.

use veracity_core::Count;
use veracity_core::numerics::logspace;

/// V_1(ε) = (1 − e^{(ε−ε₀)/2})²/(1 − e^{−ε₀}) for 0 ≤ ε ≤ ε₀: the product (1 − e^{t−ε₀})(1 − e^{ε−t}) is largest at
/// t = (ε + ε₀)/2.
///
/// # Reference  [DongDurfeeRogers20] Section 5, one mechanism
/// # Numerics   Relative error a few ulp
pub(super) fn once(range: f64, epsilon: f64) -> f64 {
    once_below_top(range, range - epsilon)
}

/// The same, by how far ε is below ε₀.
pub(super) fn once_below_top(range: f64, rest: f64) -> f64 {
    if rest <= 0.0 {
        return 0.0;
    }
    let root = (-0.5 * rest).exp_m1();
    root * root / -(-range).exp_m1()
}

/// Mechanisms of one range that all have the same t, whatever was answered before.
pub(super) struct Fixed {
    range: f64,
    uses: f64,
}

impl Fixed {
    pub(super) fn new(range: f64, uses: Count) -> Fixed {
        Fixed { range, uses: uses.as_f64() }
    }

    /// The largest δ at ε over t = (ε + (l + 1) ε₀)/(k + 1), l = 0 … k, by climbing from the middle.
    ///
    /// # Promise    Never above the true δ: each t is a mechanism
    /// # Reference  [DongDurfeeRogers20] Theorem 3: one of these t is the best that is not adaptive
    /// # Numerics   Rounded down by 1e-10, relatively
    pub(super) fn delta_below(&self, epsilon: f64) -> f64 {
        let shift = |l: f64| ((epsilon + (l + 1.0) * self.range) / (self.uses + 1.0)).min(self.range);
        let at = |l: f64| self.delta(epsilon, shift(l));
        let mut l = (0.5 * self.uses - epsilon / self.range).clamp(0.0, self.uses).floor();
        let mut best = at(l);
        for step in [-1.0, 1.0] {
            while (0.0..=self.uses).contains(&(l + step)) && at(l + step) > best {
                l += step;
                best = at(l);
            }
        }
        best * (1.0 - 1e-10)
    }

    /// Σ C(k, i) p^{k−i} (1 − p)^i (1 − e^{ε − kt + iε₀}) over losses above ε, from the smallest of them up. What is left out
    /// once the terms have become small is positive.
    fn delta(&self, epsilon: f64, t: f64) -> f64 {
        let (k, range) = (self.uses, self.range);
        if t <= 0.0 || t >= range {
            return 0.0;
        }
        let log_whole = (-(-range).exp_m1()).ln();
        let (log_p, log_rest) =
            ((-(t - range).exp_m1()).ln() - log_whole, t.exp_m1().ln() - range - log_whole);
        let mut sum = 0.0;
        let last = ((k * t - epsilon) / range).floor().min(k);
        let mut before = 0.0;
        for i in (0..=last.max(-1.0) as i64).rev() {
            let i = i as f64;
            let over = k * t - i * range - epsilon;
            if over <= 0.0 {
                continue;
            }
            let term =
                -(logspace::log_binomial(k, i) + (k - i) * log_p + i * log_rest).exp() * (-over).exp_m1();
            sum += term;
            if term < 1e-14 * sum && term <= before {
                break;
            }
            before = term;
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use veracity_testkit::short::count;

    /// All terms, in the order of the formula: the sum that stops early is never above it, and next to it.
    #[test]
    fn a_sum_that_stops_early_lacks_nothing_that_counts() {
        for (range, uses) in [(0.01, 8000u64), (0.1, 1000), (1.0, 30), (3.0, 2)] {
            let fixed = Fixed::new(range, count(uses));
            for (share, part) in [(0.0, 0.5), (0.03, 0.52), (0.1, 0.55), (0.5, 0.8), (0.9, 0.97)] {
                let (epsilon, t, k) = (share * range * uses as f64, part * range, uses as f64);
                let p = (1.0 - (t - range).exp()) / (1.0 - (-range).exp());
                let term = |i: u64| {
                    let over = k * t - i as f64 * range - epsilon;
                    let log = logspace::log_binomial(k, i as f64)
                        + (k - i as f64) * p.ln()
                        + i as f64 * (1.0 - p).ln();
                    if over > 0.0 { log.exp() * (1.0 - (-over).exp()) } else { 0.0 }
                };
                let whole: f64 = (0..=uses).map(term).sum();
                let found = fixed.delta(epsilon, t);
                assert!(found <= whole * (1.0 + 1e-9), "{range} {uses} {share}: {found} {whole}");
                assert!(found >= whole * (1.0 - 1e-9), "{range} {uses} {share}: {found} {whole}");
            }
        }
    }
}
