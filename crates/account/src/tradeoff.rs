//! What a privacy profile means for an attacker: trade-off curve, advantage, true-positive rate, posterior.
//!
//! An upper bound on δ(ε) goes in, as a function or as points that hold; what no attacker can exceed comes out. Every ε
//! of the profile limits every test, so each function is a search over ε whose every step is a bound: a poor search gives
//! a looser bound.

mod curve;

pub use curve::{Sided, TradeoffCurve};

use veracity_core::{Epsilon, Lower, Probability, Refusal, Upper};

/// The least false-negative rate of any test whose false-positive rate is at most `false_positives`.
///
/// # Promise    The result is never above the true trade-off function f
/// # Reference  \[WassermanZhou10\], \[KairouzOhViswanath15\]: (ε, δ)-privacy in both directions forces
/// α + e^ε β ≥ 1 − δ and e^ε α + β ≥ 1 − δ. \[DongRothSu22\] Proposition 2.12: the best of all ε is f itself, for a
/// symmetric f
/// # Assumes    `delta_upper(ε)` bounds δ(ε) from above for each ε ≥ 0, for both orders of the two datasets
/// # Numerics   A walk over ε = 0 and 10^−4 … 10^3, then golden sections; rounded down by 8 units
pub fn tradeoff_lower(false_positives: Probability, delta_upper: impl Fn(f64) -> f64) -> Lower<Probability> {
    let alpha = false_positives.get();
    let bound = |epsilon: f64| forced(alpha, epsilon, delta_upper(epsilon));
    at_least(most(bound) - 8.0 * f64::EPSILON)
}

/// As [`tradeoff_lower`], from points (ε, δ) each of which holds.
///
/// # Promise    The result is never above the true trade-off function f
/// # Reference  As `tradeoff_lower`
/// # Assumes    Each pair holds for both orders of the two datasets
/// # Numerics   Rounded down by 8 units
pub fn tradeoff_through(false_positives: Probability, points: &[(f64, f64)]) -> Lower<Probability> {
    let alpha = false_positives.get();
    let best = points.iter().map(|&(epsilon, delta)| forced(alpha, epsilon, delta)).fold(0.0, f64::max);
    at_least(best - 8.0 * f64::EPSILON)
}

/// So many points of [`tradeoff_through`], to draw it: false-positive rates from 0 to 1, each with its bound. They are close together
/// at both ends, where the curve is steep.
///
/// # Errors
/// Returns the refusal of a rate out of range.
pub fn tradeoff_points(points: &[(f64, f64)], count: usize) -> Result<Vec<(f64, f64)>, Refusal> {
    let point = |index: usize| {
        let share = index as f64 / count.saturating_sub(1).max(1) as f64;
        let rate = Probability::new((share * std::f64::consts::FRAC_PI_2).sin().powi(2))?;
        Ok((rate.get(), tradeoff_through(rate, points).0.get()))
    };
    (0..count).map(point).collect()
}

/// The best true-positive rate of any test at this false-positive rate: 1 − f(α).
///
/// # Promise    No test does better
/// # Reference  As `tradeoff_lower`
/// # Assumes    As `tradeoff_lower`
///
/// # Examples
///
/// ```
/// use veracity_account::{Profile, Question, tradeoff};
/// use veracity_core::{Adjacency, Epsilon, Mechanism, NoiseMultiplier, Probability};
///
/// let mechanism = Mechanism::Gaussian { noise_multiplier: NoiseMultiplier::new(1.0)? };
/// let profile = Profile::new(&Question { mechanism, adjacency: Adjacency::AddRemove })?;
/// // Where there is no answer, 1 is a bound.
/// let delta = |x: f64| Epsilon::new(x).and_then(|e| profile.delta_at(e)).map_or(1.0, |d| d.upper.0.get());
///
/// let caught = tradeoff::true_positives_at(Probability::new(0.05)?, delta).0.get();
/// // The best test against a shift of one deviation: 1 − Φ(Φ⁻¹(0.95) − 1) = 0.2595.
/// assert!(caught >= 0.2595 && caught < 0.2605);
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
pub fn true_positives_at(
    false_positives: Probability,
    delta_upper: impl Fn(f64) -> f64,
) -> Upper<Probability> {
    let missed = tradeoff_lower(false_positives, delta_upper).0.get();
    at_most(1.0 - missed + f64::EPSILON)
}

/// The largest difference between the true-positive and the false-positive rate of any test.
///
/// # Promise    No test has a larger one
/// # Reference  The advantage is the total variation distance, which is δ(0)
/// # Assumes    As `tradeoff_lower`
pub fn advantage(delta_upper: impl Fn(f64) -> f64) -> Upper<Probability> {
    at_most(delta_upper(0.0))
}

/// As [`advantage`], from points (ε, δ) each of which holds.
///
/// # Promise    No test has a larger one
/// # Reference  \[KairouzOhViswanath15\] Remark A.1: (e^ε − 1 + 2δ)/(e^ε + 1); at ε = 0 it is δ(0) itself
/// # Assumes    As `tradeoff_through`
/// # Numerics   Rounded up by 8 units
///
/// # Examples
///
/// ```
/// use veracity_account::tradeoff::advantage_through;
///
/// let one = advantage_through(&[(1.0, 1e-5)]).0;
/// let both = advantage_through(&[(1.0, 1e-5), (0.1, 0.2)]).0;
/// // Every point that holds can only help.
/// assert!(both < one && one.get() < 0.4622);
/// ```
pub fn advantage_through(points: &[(f64, f64)]) -> Upper<Probability> {
    let of = |&(epsilon, delta): &(f64, f64)| (0.5 * epsilon).tanh() + 2.0 * delta / (epsilon.exp() + 1.0);
    at_most(points.iter().map(of).fold(1.0, f64::min) * (1.0 + 8.0 * f64::EPSILON))
}

/// How often the best guess is right when the record is in the data with chance `prior`.
///
/// # Promise    No guess, after seeing the output, is right more often
/// # Reference  A guess with error rates α and β is right with probability π(1 − β) + (1 − π)(1 − α), the supremum of
/// π(1 − f(α)) + (1 − π)(1 − α). For π ≤ ½ take e^ε = (1−π)/π: it is wrong with probability
/// π(β + e^ε α) ≥ π(1 − δ(ε)); for π > ½ exchange the roles. So success ≤ 1 − min(π, 1−π)(1 − δ(|log((1−π)/π)|))
/// # Assumes    As `tradeoff_lower`
/// # Numerics   One value of the profile; rounded up by 8 units
pub fn success_from(prior: Probability, delta_upper: impl Fn(f64) -> f64) -> Upper<Probability> {
    let pi = prior.get();
    let rarer = pi.min(1.0 - pi);
    if rarer == 0.0 {
        return at_most(1.0);
    }
    // Rounded down, since δ falls with ε.
    let epsilon = ((1.0 - rarer) / rarer).ln() * (1.0 - 8.0 * f64::EPSILON);
    let missed = rarer * (1.0 - delta_upper(epsilon.max(0.0)).min(1.0));
    at_most(1.0 - missed + 8.0 * f64::EPSILON)
}

/// The largest chance that an attacker may give to the record being there after any output, from a `prior`.
///
/// # Promise    Holds for every output under pure ε-privacy. Under (ε, δ)-privacy it does not hold "except with
/// probability δ"; use `success_from`, or read it as a statement about the ε part of a pair that is within δ of pure
/// # Reference  Bayes: posterior odds = prior odds × likelihood ratio, and the ratio is at most e^ε
/// # Assumes    δ = 0
/// # Numerics   Rounded up by 8 units
///
/// # Examples
///
/// ```
/// use veracity_account::tradeoff::posterior;
/// use veracity_core::{Epsilon, Probability};
///
/// // One in two becomes at most three in four.
/// let after = posterior(Probability::new(0.5)?, Epsilon::new(3f64.ln())?);
/// assert!((after.0.get() - 0.75).abs() < 1e-12);
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
pub fn posterior(prior: Probability, epsilon: Epsilon) -> Upper<Probability> {
    let pi = prior.get();
    let chance = if pi == 0.0 { 0.0 } else { pi / (pi + (1.0 - pi) * (-epsilon.get()).exp()) };
    at_most(if pi == 0.0 { 0.0 } else { chance * (1.0 + 8.0 * f64::EPSILON) })
}

/// What a suspicion held with probability `prior` becomes when a test with these rates points at someone.
///
/// # Promise    Never below the chance that follows from the rates; rises with the true-positive rate
/// # Reference  Bayes
/// # Numerics   Rounded up by 8 units
pub fn suspicion(prior: Probability, caught: Upper<Probability>, accused: Probability) -> Upper<Probability> {
    let (hit, miss) = (prior.get() * caught.0.get(), (1.0 - prior.get()) * accused.get());
    at_most(if hit > 0.0 { hit / (hit + miss) * (1.0 + 8.0 * f64::EPSILON) } else { prior.get() })
}

/// The factor by which the odds of any event may change under pure ε-privacy: e^ε.
///
/// # Promise    Rounded up
/// # Assumes    δ = 0
pub fn odds_ratio(epsilon: Epsilon) -> Upper<f64> {
    Upper(epsilon.get().exp() * (1.0 + 2.0 * f64::EPSILON))
}

/// Points (α, f(α)) for a picture: `points` false-positive rates, dense towards both ends.
///
/// # Errors
/// Refuses fewer than two points.
pub fn curve(
    points: usize,
    delta_upper: impl Fn(f64) -> f64,
) -> Result<Vec<(Probability, Lower<Probability>)>, Refusal> {
    if points < 2 {
        return Err(Refusal::out_of_range("points", points, "points ≥ 2"));
    }
    let rate = |i: usize| 0.5 - 0.5 * (std::f64::consts::PI * i as f64 / (points - 1) as f64).cos();
    (0..points)
        .map(|i| {
            let alpha = Probability::new(rate(i).clamp(0.0, 1.0))?;
            Ok((alpha, tradeoff_lower(alpha, &delta_upper)))
        })
        .collect()
}

/// The false-negative rate that one (ε, δ) forces at false-positive rate `alpha`.
fn forced(alpha: f64, epsilon: f64, delta: f64) -> f64 {
    let room = 1.0 - delta;
    let steep = room - epsilon.exp() * alpha;
    let flat = (-epsilon).exp() * (room - alpha);
    // An infinite ratio times a rate of zero is no number, and then says nothing.
    if steep.is_nan() { flat.max(0.0) } else { steep.max(flat).max(0.0) }
}

/// The most that `bound` reaches on ε ≥ 0: a walk on a log scale, then golden sections around the best step.
fn most(bound: impl Fn(f64) -> f64) -> f64 {
    const STEPS: i32 = 70;
    let at = |i: f64| 1e-4 * 10f64.powf(0.1 * i);
    let walk: Vec<f64> = (0..=STEPS).map(|i| bound(at(f64::from(i)))).collect();
    let best = (0..=STEPS).max_by(|&i, &j| walk[i as usize].total_cmp(&walk[j as usize])).unwrap_or(0);
    let (mut low, mut high) = (f64::from(best) - 1.0, f64::from(best) + 1.0);
    let golden = 0.5 * (5f64.sqrt() - 1.0);
    let mut found = bound(0.0).max(walk[best as usize]);
    for _ in 0..40 {
        let (x, y) = (high - golden * (high - low), low + golden * (high - low));
        let (at_x, at_y) = (bound(at(x)), bound(at(y)));
        found = found.max(at_x).max(at_y);
        if at_x >= at_y { high = y } else { low = x }
    }
    found
}

/// `x` as an upper bound on a probability: 1 where it says nothing, as when it is no number.
fn at_most(x: f64) -> Upper<Probability> {
    let clamped = if x < 1.0 { x.max(0.0) } else { 1.0 };
    Upper(Probability::new(clamped).expect("clamped to [0, 1] above"))
}

/// `x` as a lower bound on a probability: 0 where it says nothing, as when it is no number.
fn at_least(x: f64) -> Lower<Probability> {
    let clamped = if x > 0.0 { x.min(1.0) } else { 0.0 };
    Lower(Probability::new(clamped).expect("clamped to [0, 1] above"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use veracity_core::numerics::normal;

    fn probability(x: f64) -> Probability {
        Probability::new(x).unwrap()
    }

    /// δ(ε) of N(0,1) against N(μ,1).
    fn gaussian(mu: f64) -> impl Fn(f64) -> f64 {
        move |epsilon| {
            let second = normal::log_cdf(-0.5 * mu - epsilon / mu) + epsilon;
            normal::cdf(0.5 * mu - epsilon / mu) - second.exp()
        }
    }

    /// # mpmath 1.3, 50 digits: ncdf(-q(alpha)-mu) with q(p) = -sqrt(2)*erfinv(1-2*p)
    const GOLDEN: [(f64, f64, f64); 9] = [
        (0.1, 1e-6, 0.9999983676626122),
        (0.1, 0.05, 0.9388091637866557),
        (0.1, 0.5, 0.460172162722971),
        (1.0, 1e-6, 0.9999127823898596),
        (1.0, 0.05, 0.7404889771585559),
        (1.0, 0.5, 0.1586552539314571),
        (3.0, 1e-6, 0.9602353992924281),
        (3.0, 0.05, 0.08768546324970357),
        (3.0, 0.5, 0.001349898031630095),
    ];

    #[test]
    fn the_gaussian_curve_is_reached_from_below() {
        for (mu, alpha, truth) in GOLDEN {
            // The profile rounds too, and must be an upper bound.
            let profile = |epsilon: f64| gaussian(mu)(epsilon) + 1e-14;
            let found = tradeoff_lower(probability(alpha), profile).0.get();
            assert!(found <= truth && found >= truth - 1e-4, "{mu} {alpha}: {found} {truth}");
            let caught = true_positives_at(probability(alpha), profile).0.get();
            assert!(caught >= 1.0 - truth && caught <= 1.0 - truth + 1e-4);
        }
    }

    /// The twin that can fail: a profile that is too small by a tenth promises a curve above the truth.
    #[test]
    fn a_profile_that_is_too_small_is_caught() {
        let truth = normal::cdf(normal::quantile(0.95) - 1.0);
        let found = tradeoff_lower(probability(0.05), |epsilon| 0.9 * gaussian(1.0)(epsilon));
        assert!(found.0.get() > truth);
    }

    /// TV(N(0,1), N(μ,1)) = 2Φ(μ/2) − 1.
    #[test]
    fn advantage_is_the_total_variation() {
        let found = advantage(gaussian(1.0)).0.get();
        assert!((found - (2.0 * normal::cdf(0.5) - 1.0)).abs() < 1e-14);
    }

    /// The best guess between N(0,1) and N(μ,1) thresholds at x = μ/2 + log((1−π)/π)/μ.
    #[test]
    fn the_best_guess_is_bayes() {
        for (pi, mu) in [(0.5f64, 1.0), (0.1, 1.5), (0.9, 0.7), (0.01, 3.0)] {
            let threshold = 0.5 * mu + ((1.0 - pi) / pi).ln() / mu;
            let truth = pi * normal::cdf(mu - threshold) + (1.0 - pi) * normal::cdf(threshold);
            let found = success_from(probability(pi), gaussian(mu)).0.get();
            assert!(found >= truth && found <= truth + 1e-12, "{pi} {mu}: {found} {truth}");
            // The same from the definition: the best over all false-positive rates.
            let scan = (0..=2000).map(|i| {
                let alpha = f64::from(i) / 2000.0;
                let caught = true_positives_at(probability(alpha), gaussian(mu)).0.get();
                pi * caught + (1.0 - pi) * (1.0 - alpha)
            });
            let scanned = scan.fold(0.0, f64::max);
            assert!((scanned - truth).abs() < 2e-4, "{scanned} {truth}");
        }
    }

    #[test]
    fn pure_privacy_moves_odds_by_its_factor() {
        let epsilon = Epsilon::new(3f64.ln()).unwrap();
        assert!((odds_ratio(epsilon).0 - 3.0).abs() < 1e-14 && odds_ratio(epsilon).0 >= 3f64.ln().exp());
        let found = posterior(probability(0.25), epsilon).0.get();
        assert!((0.5..0.5 + 1e-14).contains(&found));
        assert_eq!(posterior(probability(0.0), Epsilon::new(f64::INFINITY).unwrap()).0.get(), 0.0);
        assert_eq!(posterior(probability(0.1), Epsilon::new(f64::INFINITY).unwrap()).0.get(), 1.0);
        // Pure privacy as a profile: the same odds bound the true-positive rate.
        let pure = |e: f64| if e >= 3f64.ln() { 0.0 } else { (3.0 - e.exp()) / 4.0 };
        let caught = true_positives_at(probability(0.01), pure).0.get();
        assert!((0.03..0.03 + 1e-6).contains(&caught), "{caught}");
    }

    #[test]
    fn points_say_what_their_promise_says() {
        // A binary answer kept with probability e^ε/(1 + e^ε): true positives 3/4, false positives 1/4 at ε = ln 3.
        let coin = [(3f64.ln(), 0.0)];
        let missed = tradeoff_through(probability(0.25), &coin).0.get();
        assert!((0.25 - 1e-14..=0.25).contains(&missed), "{missed}");
        let gap = advantage_through(&coin).0.get();
        assert!((0.5..0.5 + 1e-14).contains(&gap), "{gap}");
        let caught = Upper(probability(0.75));
        let suspected = suspicion(probability(0.5), caught, probability(0.25)).0.get();
        assert!((0.75..0.75 + 1e-14).contains(&suspected), "{suspected}");
    }

    #[test]
    fn more_points_never_help_the_attacker() {
        let few = [(1.0, 1e-3)];
        let more = [(1.0, 1e-3), (0.5, 0.05), (0.0, 0.2)];
        for alpha in [0.001, 0.01, 0.1, 0.5].map(probability) {
            assert!(tradeoff_through(alpha, &more).0 >= tradeoff_through(alpha, &few).0);
        }
        assert!(advantage_through(&more).0 <= advantage_through(&few).0);
    }

    #[test]
    fn a_huge_epsilon_promises_nothing_and_does_not_break() {
        for alpha in [0.0, 0.1].map(probability) {
            assert_eq!(tradeoff_through(alpha, &[(1e6, 0.0)]).0.get(), 0.0);
        }
        assert_eq!(advantage_through(&[(1e6, 0.0)]).0.get(), 1.0);
        assert_eq!(advantage_through(&[(0.0, 0.0)]).0.get(), 0.0);
        assert_eq!(suspicion(probability(0.3), Upper(probability(0.0)), probability(0.0)).0.get(), 0.3);
    }

    #[test]
    fn no_privacy_and_no_leak_are_the_two_ends() {
        assert_eq!(true_positives_at(probability(0.01), |_| 1.0).0.get(), 1.0);
        let none = true_positives_at(probability(0.01), |_| 0.0).0.get();
        assert!((0.01..0.01 + 1e-14).contains(&none));
        assert_eq!(success_from(probability(0.5), |_| 1.0).0.get(), 1.0);
    }

    #[test]
    fn the_curve_falls() {
        let points = curve(21, gaussian(1.0)).unwrap();
        assert!(points.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1.0 >= pair[1].1.0));
        assert!(curve(1, gaussian(1.0)).is_err());
    }
}
