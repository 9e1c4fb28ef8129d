//! What certified points (ε, δ) allow an attacker: the one place that turns a profile into attack measures.
//!
//! Every function takes pairs (ε, δ) each of which holds, and answers with a bound that no attack exceeds.

/// The least false-negative rate of any test with false-positive rate `alpha`: the trade-off curve f(α), from below.
///
/// # Promise    Never above the true trade-off curve.
/// # Reference  [WassermanZhou10]; [DongRothSu19] Prop. 2.5, with the maximum with 0 that the seed left out
/// # Assumes    Each pair holds in both directions, as it does when adjacency is symmetric
pub fn least_false_negative_rate(pairs: &[(f64, f64)], alpha: f64) -> f64 {
    pairs
        .iter()
        .map(|&(epsilon, delta)| {
            let odds = epsilon.exp();
            let steep = 1.0 - delta - odds * alpha;
            let flat = (1.0 - delta - alpha) / odds;
            steep.max(flat)
        })
        // An infinite e^ε makes NaN of 0·∞; `max` skips it, which promises less.
        .fold(0.0, f64::max)
        .min(1.0)
}

/// The largest true-positive rate of any test with false-positive rate `alpha`.
pub fn most_true_positives(pairs: &[(f64, f64)], alpha: f64) -> f64 {
    1.0 - least_false_negative_rate(pairs, alpha)
}

/// The largest advantage, true-positive rate minus false-positive rate, of any test: the total variation.
///
/// # Reference  [KairouzOhViswanath15] Remark A.1: (e^ε − 1 + 2δ)/(e^ε + 1); at ε = 0 it is δ(0) itself
pub fn advantage(pairs: &[(f64, f64)]) -> f64 {
    pairs
        .iter()
        .map(|&(epsilon, delta)| {
            let half = (epsilon / 2.0).tanh();
            half + 2.0 * delta / (epsilon.exp() + 1.0)
        })
        .fold(1.0, f64::min)
}

/// What a suspicion held with probability `prior` becomes, at most, when a test that errs at rate `alpha` on people
/// who are not in the data points at someone.
pub fn posterior(prior: f64, true_positives: f64, alpha: f64) -> f64 {
    let (hit, miss) = (prior * true_positives, (1.0 - prior) * alpha);
    if hit + miss > 0.0 { hit / (hit + miss) } else { prior }
}

/// The (kε, δ (e^{kε} − 1)/(e^ε − 1)) that a group of `size` is promised by any (ε, δ); `None` when that is no promise.
///
/// # Reference  [Vadhan17] Lemma 2.2; rounded up
pub fn group_promise(epsilon: f64, delta: f64, size: u32) -> Option<(f64, f64)> {
    let k = f64::from(size);
    let factor = if epsilon == 0.0 { k } else { (k * epsilon).exp_m1() / epsilon.exp_m1() };
    let grown = if delta == 0.0 { 0.0 } else { delta * factor * (1.0 + 8.0 * f64::EPSILON) };
    (grown < 1.0).then_some((k * epsilon, grown))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn perfect_privacy_leaves_only_guessing() {
        for alpha in [0.0, 0.3, 1.0] {
            assert!((most_true_positives(&[(0.0, 0.0)], alpha) - alpha).abs() < 1e-15);
        }
        assert_eq!(advantage(&[(0.0, 0.0)]), 0.0);
        assert_eq!(posterior(0.01, 0.3, 0.3), 0.01);
    }

    #[test]
    fn randomized_response_meets_the_bound_of_pure_privacy() {
        // A binary answer kept with probability e^ε/(1 + e^ε): true positives 3/4, false positives 1/4 at ε = ln 3.
        let pairs = [(3f64.ln(), 0.0)];
        assert!((most_true_positives(&pairs, 0.25) - 0.75).abs() < 1e-15);
        assert!((advantage(&pairs) - 0.5).abs() < 1e-15);
        assert!((posterior(0.5, 0.75, 0.25) - 0.75).abs() < 1e-15);
    }

    #[test]
    fn more_points_never_help_the_attacker() {
        let few = [(1.0, 1e-3)];
        let more = [(1.0, 1e-3), (0.5, 0.05), (0.0, 0.2)];
        for alpha in [0.001, 0.01, 0.1, 0.5] {
            assert!(most_true_positives(&more, alpha) <= most_true_positives(&few, alpha));
        }
        assert!(advantage(&more) <= advantage(&few));
    }

    #[test]
    fn huge_epsilon_promises_nothing_and_does_not_break() {
        assert_eq!(most_true_positives(&[(1e6, 0.0)], 0.1), 1.0);
        assert_eq!(advantage(&[(1e6, 0.0)]), 1.0);
        assert_eq!(group_promise(400.0, 1e-5, 5), None);
        assert_eq!(group_promise(1e6, 1e-5, 2), None, "NaN is no promise");
    }
}
