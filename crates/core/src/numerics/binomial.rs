//! Exact binomial tails in log space, and the Clopper–Pearson limits that follow from them.
//!
//! The point probability comes from Loader's saddle-point form, the tail from summing ratios away from the mean; each
//! carries a bound on its rounding error, by which the limits are pushed outward.

use crate::numerics::{UNIT, root};
use std::f64::consts::{LN_2, PI};

/// The logarithm of a probability, and how far it may be off.
#[derive(Debug, Clone, Copy)]
struct Log {
    value: f64,
    error: f64,
}

/// log P[X ≥ k] for X ~ Binomial(n, p).
///
/// # Reference  \[Loader00\] for the point probability
/// # Numerics   Absolute error about 1e-13, growing with u·(|k − np| + √n): 1e-12 at n = 10^6 near the mean
///
/// # Examples
///
/// ```
/// use veracity_core::numerics::binomial::log_upper_tail;
///
/// // Eight or more heads in ten flips: (45 + 10 + 1)/1024.
/// assert!((log_upper_tail(10, 8, 0.5).exp() - 56.0 / 1024.0).abs() < 1e-15);
/// // A tail that no float could hold still has a logarithm.
/// assert!((log_upper_tail(10_000, 10_000, 0.5) + 10_000.0 * 2f64.ln()).abs() < 1e-9);
/// ```
pub fn log_upper_tail(n: u64, k: u64, p: f64) -> f64 {
    upper_tail(n, k, p).value
}

/// log P[X ≤ k] for X ~ Binomial(n, p), as accurate as [`log_upper_tail`].
pub fn log_lower_tail(n: u64, k: u64, p: f64) -> f64 {
    lower_tail(n, k, p).value
}

/// log P[X = k] for X ~ Binomial(n, p), as accurate as [`log_upper_tail`].
///
/// # Examples
///
/// ```
/// use veracity_core::numerics::binomial::{log_lower_tail, log_probability};
///
/// let summed: f64 = (0..=3).map(|k| log_probability(20, k, 0.3).exp()).sum();
/// assert!((summed.ln() - log_lower_tail(20, 3, 0.3)).abs() < 1e-13);
/// ```
pub fn log_probability(n: u64, k: u64, p: f64) -> f64 {
    if k > n {
        return f64::NEG_INFINITY;
    }
    match (p <= 0.0, p >= 1.0) {
        (true, _) if k == 0 => 0.0,
        (_, true) if k == n => 0.0,
        (true, _) | (_, true) => f64::NEG_INFINITY,
        // The mirror image counts failures.
        _ if k == 0 => log_point(n, n, 1.0 - p, p).value,
        _ => log_point(n, k, p, 1.0 - p).value,
    }
}

/// The one-sided Clopper–Pearson lower limit: `successes` out of `n` would be exceeded or met with chance ≤ `alpha`
/// by any success probability below it.
///
/// # Promise  Never above the exact limit: the p with P[X ≥ successes] = alpha.
///
/// # Examples
///
/// ```
/// use veracity_core::numerics::binomial::lower_limit;
///
/// // All of ten: the limit solves p¹⁰ = 5 %. Ours is on the safe side of it.
/// let truth = 0.05f64.powf(0.1);
/// let ours = lower_limit(10, 10, 0.05);
/// assert!(ours <= truth && truth - ours < 1e-12);
/// assert_eq!(lower_limit(0, 10, 0.05), 0.0);
/// ```
pub fn lower_limit(successes: u64, n: u64, alpha: f64) -> f64 {
    if successes == 0 || n == 0 {
        return 0.0;
    }
    let target = alpha.ln() * (1.0 + 2.0 * UNIT);
    // The tail rises with p, so every p at which it is surely at most alpha lies below the limit.
    let certain = |p: f64| {
        let tail = upper_tail(n, successes, p);
        tail.value + tail.error <= target
    };
    search(certain, 0.0, 1.0)
}

/// The one-sided Clopper–Pearson upper limit.
///
/// # Promise  Never below the exact limit: the p with P[X ≤ successes] = alpha.
///
/// # Examples
///
/// ```
/// use veracity_core::numerics::binomial::upper_limit;
///
/// // The rule of three: nothing seen in n trials leaves about 3/n possible, at a chance of error of 5 %.
/// let ours = upper_limit(0, 1000, 0.05);
/// assert!(ours > 0.0029 && ours < 0.003);
/// ```
pub fn upper_limit(successes: u64, n: u64, alpha: f64) -> f64 {
    if successes >= n {
        return 1.0;
    }
    let target = alpha.ln() * (1.0 + 2.0 * UNIT);
    let certain = |p: f64| {
        let tail = lower_tail(n, successes, p);
        tail.value + tail.error <= target
    };
    search(certain, 1.0, 0.0)
}

/// The last point, going from `safe` towards `far`, at which the predicate was seen to hold.
fn search(certain: impl Fn(f64) -> bool, safe: f64, far: f64) -> f64 {
    if certain(far) {
        return far;
    }
    root::bisect(safe, far, 0.0, certain).holds
}

fn upper_tail(n: u64, k: u64, p: f64) -> Log {
    if k == 0 || p >= 1.0 && k <= n {
        return Log { value: 0.0, error: 0.0 };
    }
    if k > n || p <= 0.0 {
        return Log { value: f64::NEG_INFINITY, error: 0.0 };
    }
    if k as f64 > n as f64 * p { sum_from(n, k, p, 1.0 - p) } else { complement(lower_tail(n, k - 1, p)) }
}

fn lower_tail(n: u64, k: u64, p: f64) -> Log {
    if k >= n || p <= 0.0 {
        return Log { value: 0.0, error: 0.0 };
    }
    if p >= 1.0 {
        return Log { value: f64::NEG_INFINITY, error: 0.0 };
    }
    // The mirror image counts failures.
    if k as f64 <= n as f64 * p {
        sum_from(n, n - k, 1.0 - p, p)
    } else {
        complement(upper_tail(n, k + 1, p))
    }
}

/// log(1 − e^x), with the error that x brings along.
fn complement(tail: Log) -> Log {
    let value = crate::numerics::logspace::log1m_exp(tail.value.min(-f64::MIN_POSITIVE));
    // d/dx log(1 − e^x) = −e^x/(1 − e^x).
    let slope = (tail.value - value).exp();
    Log { value, error: slope * tail.error + 8.0 * UNIT * (value.abs() + slope) }
}

/// log P[X ≥ k] for 1 ≤ k ≤ n at or above the mean, where the terms fall: the first of them times a sum of ratios.
fn sum_from(n: u64, k: u64, p: f64, q: f64) -> Log {
    let first = log_point(n, k, p, q);
    let odds = p / q;
    let (mut term, mut sum, mut terms) = (1.0, 1.0, 1.0);
    for j in k..n {
        let ratio = (n - j) as f64 / (j + 1) as f64 * odds;
        term *= ratio;
        sum += term;
        terms += 1.0;
        // Ratios fall, so what is left is at most a geometric series.
        if term <= UNIT * sum * (1.0 - ratio) {
            break;
        }
    }
    // A term after m ratios is off by at most 5m units, the sum by as many units again as it has terms.
    Log { value: first.value + sum.ln(), error: first.error + 8.0 * UNIT * (terms + 4.0) }
}

/// log P[X = k] for 1 ≤ k ≤ n and 0 < p < 1.
fn log_point(n: u64, k: u64, p: f64, q: f64) -> Log {
    let (count, hits, misses) = (n as f64, k as f64, (n - k) as f64);
    if k == n {
        // For p near one its logarithm is that of 1 − q.
        let log_p = if q < 0.5 { (-q).ln_1p() } else { p.ln() };
        let value = count * log_p;
        // q was rounded once; relative to log p that is one more unit.
        return Log { value, error: 8.0 * UNIT * value.abs() + 4.0 * UNIT * count * UNIT };
    }
    let corrections = stirling(count) - stirling(hits) - stirling(misses);
    let distance = deviance(hits, count * p) + deviance(misses, count * q);
    let width = 0.5 * (2.0 * PI * hits * (misses / count)).ln();
    let value = corrections - distance - width;
    // np and nq carry two roundings, which the deviance turns into |k − np| units each; small factorials lose a few.
    let error = UNIT * (8.0 * (hits - count * p).abs() + 16.0 * distance.abs() + 8.0 * width.abs() + 200.0);
    Log { value, error }
}

/// log n! − log(√(2πn) (n/e)^n) for whole n ≥ 1.
fn stirling(n: f64) -> f64 {
    if n < 16.0 {
        let factorial: f64 = (2..=n as u64).map(|i| i as f64).product();
        return factorial.ln() - (n + 0.5) * n.ln() + n - 0.5 * (LN_2 + PI.ln());
    }
    stirling_series(n)
}

/// The same for any n ≥ 16, whole or not, within 1e-16.
pub(crate) fn stirling_series(n: f64) -> f64 {
    let s = 1.0 / (n * n);
    (1.0 / 12.0 - s * (1.0 / 360.0 - s * (1.0 / 1260.0 - s * (1.0 / 1680.0 - s / 1188.0)))) / n
}

/// x log(x/m) + m − x for x, m > 0, without cancellation where they are close.
pub(crate) fn deviance(x: f64, m: f64) -> f64 {
    let gap = x - m;
    if gap.abs() >= 0.1 * (x + m) {
        return x * (x / m).ln() - gap;
    }
    // With v = (x − m)/(x + m): (x − m) v + 2x Σ_{j≥1} v^{2j+1}/(2j+1).
    let v = gap / (x + m);
    let mut sum = gap * v;
    let mut power = 2.0 * x * v;
    for j in 1..60 {
        power *= v * v;
        let next = sum + power / f64::from(2 * j + 1);
        if next == sum {
            break;
        }
        sum = next;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    /// # python-flint 0.9, 300 bits: log of the sum of point probabilities from k upwards
    const TAILS: &[(u64, u64, f64, f64)] = &[
        (10, 3, 0.2, -1.1325813383458678),
        (10, 10, 0.999, -0.010005003335835344),
        (100, 1, 1e-15, -29.933606208922644),
        (100, 2, 1e-15, -60.5704099342587),
        (1000, 600, 0.5, -22.715259239806745),
        (1000, 400, 0.5, -9.008412706686116e-11),
        (1000000, 500000, 0.5, -0.6923496143391256),
        (1000000, 505000, 0.5, -53.2220203452642),
        (1000000, 499000, 0.5, -0.022957690591797957),
        (1000000, 30, 1e-05, -15.198026688375181),
        (1000000, 1, 1e-09, -6.90825523681572),
        (1000000, 999999, 0.999999, -0.30685281945439086),
        (50000, 600, 0.01, -11.867879719887457),
        (1000000, 1000, 0.001, -0.6847593466666662),
        (1000000, 900000, 0.5, -368070.7121076244),
    ];

    /// # python-flint 0.9, 300 bits: Newton on that sum, started from scipy 1.17 beta.ppf
    /// successes, n, alpha, lower limit, upper limit
    const LIMITS: &[(u64, u64, f64, f64, f64)] = &[
        (500, 500, 0.01, 0.9908319448927676, 1.0),
        (0, 500, 0.01, 0.0, 0.009168055107232426),
        (37, 500, 0.01, 0.04924935134330546, 0.10576354072107473),
        (1, 1000, 0.025, 2.5317487491294045e-05, 0.005558924279826673),
        (999, 1000, 0.025, 0.9944410757201734, 0.9999746825125088),
        (5, 100000, 1e-10, 2.61660527163914e-07, 0.0003634150063863144),
        (4922, 100000, 5e-11, 0.04491795782798777, 0.05377678237744108),
        (174, 100000, 5e-11, 0.001018232901508041, 0.0027445454292068573),
        (500000, 1000000, 1e-15, 0.4960288909524919, 0.5039711090475081),
        (0, 1000000, 1e-15, 0.0, 3.453817993824024e-05),
        (3, 1000000, 0.05, 8.176919305463176e-07, 7.75363809884006e-06),
        (999990, 1000000, 1e-06, 0.9999655725361575, 0.9999987231762816),
        (1, 1, 0.05, 0.05, 1.0),
        (2, 3, 0.5, 0.5, 0.7937005259840998),
        (1, 2, 1e-12, 5.00000000000125e-13, 0.9999999999995),
    ];

    #[test]
    fn tails_keep_their_digits() {
        for &(n, k, p, expected) in TAILS {
            let found = upper_tail(n, k, p);
            assert!((found.value - expected).abs() <= found.error, "{n} {k} {p}: {found:?} {expected}");
            assert!(found.error <= 3e-11 + 1e-14 * expected.abs(), "{n} {k} {p}: {found:?}");
        }
    }

    #[test]
    fn tails_add_up_to_the_slow_sum() {
        // Twin: Pascal's rule for the law of 40 throws.
        for p in [0.01, 0.3, 0.5, 0.93] {
            let mut law = vec![1.0];
            for _ in 0..40 {
                let mut next = vec![0.0; law.len() + 1];
                for (i, mass) in law.iter().enumerate() {
                    next[i] += mass * (1.0 - p);
                    next[i + 1] += mass * p;
                }
                law = next;
            }
            for k in 0..=40 {
                let upper: f64 = law[k..].iter().rev().sum();
                let lower: f64 = law[..=k].iter().sum();
                assert!((log_upper_tail(40, k as u64, p).exp() / upper - 1.0).abs() < 1e-12, "{k} {p}");
                assert!((log_lower_tail(40, k as u64, p).exp() / lower - 1.0).abs() < 1e-12, "{k} {p}");
                assert!((log_probability(40, k as u64, p).exp() / law[k] - 1.0).abs() < 1e-12, "{k} {p}");
            }
        }
    }

    #[test]
    fn limits_err_outward_and_only_a_little() {
        for &(k, n, alpha, low, high) in LIMITS {
            let (lower, upper) = (lower_limit(k, n, alpha), upper_limit(k, n, alpha));
            assert!(lower <= low && low <= lower * (1.0 + 1e-11), "{k} of {n} at {alpha}: {lower} {low}");
            assert!(upper >= high && upper <= high * (1.0 + 1e-11), "{k} of {n} at {alpha}: {upper} {high}");
        }
    }

    #[test]
    fn the_ends_are_closed() {
        assert_eq!((lower_limit(0, 10, 0.05), upper_limit(10, 10, 0.05)), (0.0, 1.0));
        assert_eq!((log_upper_tail(10, 0, 0.3), log_lower_tail(10, 10, 0.3)), (0.0, 0.0));
        assert_eq!(log_upper_tail(10, 11, 0.3), f64::NEG_INFINITY);
        assert_eq!((log_probability(10, 0, 0.0), log_probability(10, 10, 1.0)), (0.0, 0.0));
        assert_eq!(log_probability(10, 1, 0.0) + log_probability(10, 1, 1.0), f64::NEG_INFINITY);
        assert_eq!(
            (log_upper_tail(10, 3, 0.0), log_lower_tail(10, 3, 1.0)),
            (f64::NEG_INFINITY, f64::NEG_INFINITY)
        );
    }

    #[test]
    fn more_successes_never_lower_a_limit() {
        for k in 0..50 {
            assert!(lower_limit(k, 50, 0.01) < lower_limit(k + 1, 50, 0.01));
            assert!(upper_limit(k, 50, 0.01) <= upper_limit(k + 1, 50, 0.01));
        }
    }
}
