//! Sums, differences and binomials of numbers known by their logarithm.

/// log(e^a + e^b).
///
/// # Examples
///
/// ```
/// use veracity_core::numerics::logspace::log_add;
///
/// // e^-1000 is zero as a float; its logarithm is not lost.
/// assert_eq!(log_add(-1000.0, -1000.0), -1000.0 + 2f64.ln());
/// assert_eq!(log_add(f64::NEG_INFINITY, 3.0), 3.0);
/// ```
pub fn log_add(a: f64, b: f64) -> f64 {
    let (small, large) = if a < b { (a, b) } else { (b, a) };
    if small == f64::NEG_INFINITY { large } else { large + (small - large).exp().ln_1p() }
}

/// log(e^a − e^b) for a ≥ b; minus infinity when they are equal.
pub fn log_sub(a: f64, b: f64) -> f64 {
    debug_assert!(a >= b, "log_sub of {a} and {b}");
    if b == f64::NEG_INFINITY { a } else { a + log1m_exp(b - a) }
}

/// log(1 − e^x) for x ≤ 0, without cancellation at either end.
///
/// # Examples
///
/// ```
/// use veracity_core::numerics::logspace::log1m_exp;
///
/// // 1 − e^-1e-20 is 1e-20; written out in floats it would be 0 and its logarithm minus infinity.
/// assert!((log1m_exp(-1e-20) - 1e-20f64.ln()).abs() < 1e-13);
/// assert_eq!((1.0 - (-1e-20f64).exp()).ln(), f64::NEG_INFINITY);
/// ```
pub fn log1m_exp(x: f64) -> f64 {
    if x > -std::f64::consts::LN_2 { (-x.exp_m1()).ln() } else { (-x.exp()).ln_1p() }
}

/// log Σ e^{x_i}.
pub fn log_sum(terms: &[f64]) -> f64 {
    let largest = terms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if largest.is_infinite() {
        return largest;
    }
    largest + terms.iter().map(|x| (x - largest).exp()).sum::<f64>().ln()
}

/// log of the binomial coefficient with real top `n` and whole bottom `k`, 0 ≤ k ≤ n.
///
/// # Numerics  Absolute error about 1e-15 × the largest log-gamma involved.
pub fn log_binomial(n: f64, k: f64) -> f64 {
    libm::lgamma(n + 1.0) - libm::lgamma(k + 1.0) - libm::lgamma(n - k + 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_space_keeps_what_plain_floats_lose() {
        assert_eq!(log_add(-1000.0, f64::NEG_INFINITY), -1000.0);
        assert!((log_add(-1000.0, -1000.0) - (-1000.0 + std::f64::consts::LN_2)).abs() < 1e-12);
        // mpmath 1.3, 50 digits: log(1-exp(mpf(-1e-20)))
        assert!((log1m_exp(-1e-20) - -46.051_701_859_880_914).abs() < 1e-13);
        assert!((log_sub(0.0, -1e-20) - -46.051_701_859_880_914).abs() < 1e-13);
        assert!((log_binomial(50.0, 25.0) - 126_410_606_437_752f64.ln()).abs() < 1e-13);
        assert!((log_sum(&[0.0, 0.0, 0.0]) - 3f64.ln()).abs() < 1e-15);
    }
}
