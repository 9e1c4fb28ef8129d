//! Gauss–Legendre quadrature on a panel, with the error bound for functions analytic in a Bernstein ellipse.

use std::sync::OnceLock;

/// Points per panel.
pub const POINTS: usize = 20;

/// Nodes on [−1, 1] and their weights.
///
/// # Examples
///
/// ```
/// use veracity_core::numerics::legendre::rule;
///
/// let integral: f64 = rule().iter().map(|(node, weight)| weight * node.exp()).sum();
/// assert!((integral - (1f64.exp() - (-1f64).exp())).abs() < 1e-14);
/// ```
pub fn rule() -> &'static [(f64, f64); POINTS] {
    static RULE: OnceLock<[(f64, f64); POINTS]> = OnceLock::new();
    RULE.get_or_init(|| {
        let mut rule = [(0.0, 0.0); POINTS];
        for (i, slot) in rule.iter_mut().enumerate() {
            // Tricomi's guess, then Newton on the three-term recurrence.
            let mut x = (std::f64::consts::PI * (i as f64 + 0.75) / (POINTS as f64 + 0.5)).cos();
            for _ in 0..8 {
                let (value, slope) = legendre(x);
                x -= value / slope;
            }
            let (_, slope) = legendre(x);
            *slot = (x, 2.0 / ((1.0 - x * x) * slope * slope));
        }
        rule
    })
}

/// P_n(x) and its derivative for n = `POINTS`.
fn legendre(x: f64) -> (f64, f64) {
    let (mut previous, mut current) = (1.0, x);
    for k in 2..=POINTS {
        let k = k as f64;
        (previous, current) = (current, ((2.0 * k - 1.0) * x * current - (k - 1.0) * previous) / k);
    }
    (current, POINTS as f64 * (x * current - previous) / (x * x - 1.0))
}

/// The factor by which the largest modulus M of the integrand on the Bernstein ellipse of parameter `rho` bounds the
/// error on a panel of half-width 1: error ≤ factor × M.
///
/// # Reference  Trefethen, Approximation Theory and Approximation Practice, Theorem 19.3:
/// |error| ≤ (64/15) M ρ^{−2n} / (1 − ρ^{−2}) for the n + 1-point rule, so n here is `POINTS` − 1
///
/// # Examples
///
/// ```
/// use veracity_core::numerics::legendre::{error_factor, rule};
///
/// // 1/(x + 2) has its pole at −2, outside of the ellipse of parameter 3, which ends at ±(3 + 1/3)/2 = ±5/3.
/// let integral: f64 = rule().iter().map(|(node, weight)| weight / (node + 2.0)).sum();
/// let largest = 1.0 / (2.0 - 5.0 / 3.0);
/// assert!((integral - 3f64.ln()).abs() <= error_factor(3.0) * largest + 1e-14);
/// ```
pub fn error_factor(rho: f64) -> f64 {
    let n = (POINTS - 1) as i32;
    64.0 / 15.0 * rho.powi(-2 * n) / (1.0 - rho.powi(-2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integrates_exponentials_within_its_bound() {
        for rate in [0.1, 1.0, 4.0, 10.0f64] {
            let found: f64 = rule().iter().map(|(x, w)| w * (rate * x).exp()).sum();
            let truth = 2.0 * rate.sinh() / rate;
            let rho = 5.0f64;
            let largest = (rate * 0.5 * (rho + 1.0 / rho)).exp();
            let bound = error_factor(rho) * largest + 1e-14 * truth;
            assert!((found - truth).abs() <= bound, "{rate}: {} {bound}", (found - truth).abs());
        }
    }
}
