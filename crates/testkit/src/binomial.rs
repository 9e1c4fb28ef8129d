//! How surprising a number of successes is, on either side, by exact binomial tails.

use veracity_core::numerics::binomial::{log_lower_tail, log_upper_tail};

/// Twice the smaller tail, at most 1: a true `p` gives a value ≤ α with probability ≤ α, for every α.
///
/// # Numerics  Relative error about 1e-12 up to 10^6 trials, however small the value
pub fn two_sided(successes: u64, trials: u64, p: f64) -> f64 {
    let tail = log_lower_tail(trials, successes, p).min(log_upper_tail(trials, successes, p));
    (2.0 * tail.exp()).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// scipy 1.17.1: 2*min(binom.cdf(k, n, p), binom.sf(k-1, n, p))
    #[test]
    fn tails_meet_outside_numbers() {
        for (successes, trials, p, truth) in GOLDEN {
            let ours = two_sided(successes, trials, p);
            assert!((ours / truth - 1.0).abs() < 1e-10, "{successes} of {trials}: {ours}");
        }
        assert_eq!(two_sided(50, 100, 0.5), 1.0);
    }

    const GOLDEN: [(u64, u64, f64, f64); 4] = [
        (60, 100, 0.5, 0.056_887_933_640_980_89),
        (3, 1000, 0.01, 0.020_145_309_544_028_583),
        (502_500, 1_000_000, 0.5, 5.762_541_637_743_035e-7),
        (0, 50, 0.25, 1.132_643_312_853_877e-6),
    ];
}
