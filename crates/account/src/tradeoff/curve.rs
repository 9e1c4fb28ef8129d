//! The trade-off curve of a profile at any false-positive rate, from both sides.
//!
//! Points of the profile with both ends go in. Each upper end forces errors on every test, so the curve from below is an envelope
//! of lines. Between the points the profile is bounded from below by its convexity, and that makes an envelope from above.

use veracity_core::{Lower, Probability, Upper};

/// Covers the rounding of chords between points that are themselves rounded outward.
const OUTWARD: f64 = 1e-12;

/// δ at one ε, from both sides: (ε, at least, at most).
pub type Sided = (f64, f64, f64);

/// A value at e^ε, on the way to a chord.
#[derive(Debug, Clone, Copy)]
struct Node {
    x: f64,
    low: f64,
    high: f64,
}

/// The symmetric convex curve f(α) = sup over x > 0 of 1 − δ(log x) − x α that a profile determines, between two envelopes.
///
/// # Examples
///
/// ```
/// use veracity_account::tradeoff::TradeoffCurve;
/// use veracity_core::Probability;
///
/// // A coin with odds 3: at false-positive rate 1/4 the best test misses 1/4.
/// let delta = |epsilon: f64| ((3.0 - epsilon.exp()) / 4.0).max(0.0);
/// let points: Vec<_> = (0..200).map(|i| 0.01 * f64::from(i)).map(|e| (e, delta(e), delta(e))).collect();
/// let curve = TradeoffCurve::new(&points);
/// let alpha = Probability::new(0.25)?;
/// assert!(curve.lower(alpha).0.get() <= 0.25 && curve.upper(alpha).0.get() >= 0.25);
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
#[derive(Debug, Clone)]
pub struct TradeoffCurve {
    promised: Vec<(f64, f64)>,
    shown: Vec<(f64, f64)>,
}

impl TradeoffCurve {
    /// The curve of these points.
    ///
    /// # Promise    `lower` is never above the false-negative rate of any test at that false-positive rate, `upper` never below f
    /// # Reference  As `tradeoff_lower`; \[DongRothSu22\] Proposition 2.12; δ(−ε) = 1 − e^{−ε}(1 − δ(ε)); x ↦ δ(log x) is convex,
    /// falls, and is at least 1 − x and 0, since it is the larger one of E(P − xQ)₊ for both orders of the datasets
    /// # Assumes    Each point holds from both sides, for both orders of the two datasets
    /// # Numerics   Chords through neighbouring points extended to each piece, the least of each at an end, where two cross, or
    /// where one meets 0; rounded outward by 8 units below, by 1e-12 above
    pub fn new(points: &[Sided]) -> TradeoffCurve {
        let nodes = nodes(points);
        let promised = nodes.iter().map(|node| (node.x, node.high)).collect();
        TradeoffCurve { promised: hull(promised), shown: hull(pieces(&nodes)) }
    }

    /// No test whose false-positive rate is at most this has a false-negative rate below what is returned.
    pub fn lower(&self, false_positives: Probability) -> Lower<Probability> {
        let least = least(&self.promised, false_positives.get());
        super::at_least(1.0 - least - 8.0 * f64::EPSILON)
    }

    /// The curve is at most this.
    pub fn upper(&self, false_positives: Probability) -> Upper<Probability> {
        let alpha = false_positives.get();
        let most = (1.0 - least(&self.shown, alpha)).min(1.0 - alpha);
        super::at_most(if self.shown.is_empty() { 1.0 - alpha } else { most + OUTWARD })
    }
}

/// The points by rising e^ε, those of negative ε as well.
fn nodes(points: &[Sided]) -> Vec<Node> {
    let usable = |point: &&Sided| point.0 >= 0.0 && point.0 < 700.0 && point.1 <= point.2;
    let there =
        points.iter().filter(usable).map(|&(epsilon, low, high)| Node { x: epsilon.exp(), low, high });
    let mut all: Vec<Node> = there
        .flat_map(|node| {
            let x = 1.0 / node.x;
            let mirrored = |delta: f64| 1.0 - x * (1.0 - delta);
            [Node { x, low: mirrored(node.low), high: mirrored(node.high) }, node]
        })
        .collect();
    all.sort_by(|one, other| one.x.total_cmp(&other.x));
    all.dedup_by(|one, other| one.x == other.x);
    all
}

/// The corners (x, δ) of a function that is nowhere above the profile.
fn pieces(nodes: &[Node]) -> Vec<(f64, f64)> {
    let (Some(first), Some(last)) = (nodes.first(), nodes.last()) else { return Vec::new() };
    // To the left of all points δ ≥ 1 − x, to the right of them δ ≥ 0 and the last chord, extended.
    let mut corners = vec![(0.0, 1.0), (first.x, 1.0 - first.x), (last.x, last.low.max(0.0))];
    if let [.., before, end] = nodes {
        let slope = (end.low - before.high) / (end.x - before.x);
        corners.extend((slope < 0.0).then(|| (end.x - end.low.max(0.0) / slope, 0.0)));
    }
    for at in 0..nodes.len() - 1 {
        corners.extend(between(nodes, at));
    }
    corners
}

/// The corners between node `at` and the next.
fn between(nodes: &[Node], at: usize) -> [(f64, f64); 5] {
    let (left, right) = (nodes[at], nodes[at + 1]);
    // A convex function is above the chord of two earlier points, extended.
    let (from_left, falling) = match at.checked_sub(1).map(|before| nodes[before]) {
        Some(before) => (left.low, (left.low - before.high) / (left.x - before.x)),
        None => (1.0 - left.x, -1.0),
    };
    // And above that of two later ones; it falls, so a chord that rises says no more than a level one.
    let rising =
        nodes.get(at + 2).map_or(0.0, |after| (after.high - right.low) / (after.x - right.x)).min(0.0);
    let one = |x: f64| from_left + falling * (x - left.x);
    let other = |x: f64| right.low + rising * (x - right.x);
    // A corner outside of the piece, or none, is of no use: then its left end is.
    let inside = |x: f64| if x > left.x && x < right.x { x } else { left.x };
    let crossing = inside(left.x + (other(left.x) - one(left.x)) / (falling - rising));
    let grounds = [inside(left.x - from_left / falling), inside(right.x - right.low / rising)];
    [left.x, right.x, crossing, grounds[0], grounds[1]].map(|x| (x, one(x).max(other(x)).max(0.0)))
}

/// The corners of the convex hull from below, by rising x.
fn hull(mut points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    points.retain(|(x, y)| x.is_finite() && y.is_finite());
    points.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.total_cmp(&other.1)));
    points.dedup_by(|later, earlier| later.0 == earlier.0);
    let mut kept: Vec<(f64, f64)> = Vec::new();
    for (x, y) in points {
        while let [.., (x0, y0), (x1, y1)] = kept[..]
            && (y1 - y0) * (x - x1) >= (y - y1) * (x1 - x0)
        {
            kept.pop();
        }
        kept.push((x, y));
    }
    kept
}

/// The least of y + αx over the corners of a hull: their slopes rise, and it is where −α is between two of them.
fn least(hull: &[(f64, f64)], alpha: f64) -> f64 {
    let steep = |pair: &[(f64, f64)]| pair[1].1 - pair[0].1 < -alpha * (pair[1].0 - pair[0].0);
    let pairs = hull.len().saturating_sub(1);
    let (mut low, mut high) = (0, pairs);
    while low < high {
        let middle = low + (high - low) / 2;
        if steep(&hull[middle..middle + 2]) { low = middle + 1 } else { high = middle }
    }
    hull.get(low).map_or(f64::INFINITY, |(x, y)| y + alpha * x)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::tradeoff::tradeoff_through;
    use veracity_core::numerics::normal;

    fn probability(x: f64) -> Probability {
        Probability::new(x).unwrap()
    }

    /// δ(ε) of N(0,1) against N(μ,1).
    fn gaussian(mu: f64, epsilon: f64) -> f64 {
        let second = normal::log_cdf(-0.5 * mu - epsilon / mu) + epsilon;
        normal::cdf(0.5 * mu - epsilon / mu) - second.exp()
    }

    fn points(mu: f64, factor: f64) -> Vec<Sided> {
        let farthest = 7.0 * mu + 0.5 * mu * mu;
        let at = |i: i32| farthest * (f64::from(i) / 256.0).powf(1.5);
        (0..=256)
            .map(|i| {
                let delta = factor * gaussian(mu, at(i));
                (at(i), (delta - 1e-14).max(0.0), delta + 1e-14)
            })
            .collect()
    }

    /// # mpmath 1.3, 50 digits: ncdf(-q(alpha)-mu) with q(p) = -sqrt(2)*erfinv(1-2*p)
    const GOLDEN: [(f64, f64, f64); 6] = [
        (0.1, 0.05, 0.9388091637866557),
        (0.1, 0.5, 0.460172162722971),
        (1.0, 1e-6, 0.9999127823898596),
        (1.0, 0.05, 0.7404889771585559),
        (3.0, 0.05, 0.08768546324970357),
        (3.0, 0.5, 0.001349898031630095),
    ];

    #[test]
    fn the_gaussian_curve_is_reached_from_both_sides() {
        for (mu, alpha, truth) in GOLDEN {
            let curve = TradeoffCurve::new(&points(mu, 1.0));
            let (lower, upper) = (curve.lower(probability(alpha)), curve.upper(probability(alpha)));
            let (lower, upper) = (lower.0.get(), upper.0.get());
            assert!(lower <= truth && lower >= truth - 1e-4, "{mu} {alpha}: {lower} {truth}");
            assert!(upper >= truth && upper <= truth + 2e-4, "{mu} {alpha}: {upper} {truth}");
        }
    }

    /// The twins that can fail: a profile that is too large puts the upper end below the truth, one too small the lower end above.
    #[test]
    fn a_profile_that_is_wrong_is_caught() {
        let truth = normal::cdf(normal::quantile(0.95) - 1.0);
        assert!(TradeoffCurve::new(&points(1.0, 1.2)).upper(probability(0.05)).0.get() < truth);
        assert!(TradeoffCurve::new(&points(1.0, 0.8)).lower(probability(0.05)).0.get() > truth);
    }

    /// The slow twins: every point asked, and every corner.
    #[test]
    fn the_hull_loses_nothing() {
        for mu in [0.01, 0.3, 1.0, 4.0] {
            let sided = points(mu, 1.0);
            let curve = TradeoffCurve::new(&sided);
            let pairs: Vec<(f64, f64)> = sided.iter().map(|point| (point.0, point.2)).collect();
            let corners = pieces(&nodes(&sided));
            for i in 0..=100 {
                let alpha = f64::from(i) / 100.0;
                let slow = tradeoff_through(probability(alpha), &pairs).0.get();
                assert!((curve.lower(probability(alpha)).0.get() - slow).abs() < 1e-14, "{mu} {alpha}");
                let every = corners.iter().map(|(x, y)| y + alpha * x).fold(f64::INFINITY, f64::min);
                assert!((least(&curve.shown, alpha) - every).abs() < 1e-13, "{mu} {alpha}");
            }
        }
    }

    /// A coin with odds e^ε: its curve is the two lines through (1/(1 + e^ε), 1/(1 + e^ε)).
    #[test]
    fn the_coin_has_a_corner() {
        let odds = 3.0_f64;
        let delta = |epsilon: f64| ((odds - epsilon.exp()) / (odds + 1.0)).max(0.0);
        let at = |i: i32| odds.ln() * f64::from(i) / 64.0;
        let sided: Vec<Sided> = (0..=80).map(|i| (at(i), delta(at(i)), delta(at(i)) + 1e-16)).collect();
        let curve = TradeoffCurve::new(&sided);
        for (alpha, truth) in [(0.0, 1.0), (0.1, 0.7), (0.25, 0.25), (0.4, 0.2), (0.7, 0.1), (1.0, 0.0)] {
            let (lower, upper) = (curve.lower(probability(alpha)), curve.upper(probability(alpha)));
            assert!(lower.0.get() <= truth + 1e-15 && lower.0.get() >= truth - 1e-12, "{alpha}: {lower:?}");
            assert!(upper.0.get() >= truth - 1e-15 && upper.0.get() <= truth + 1e-2, "{alpha}: {upper:?}");
        }
    }

    #[test]
    fn nothing_known_is_perfect_privacy_above_and_nothing_below() {
        let nothing = TradeoffCurve::new(&[]);
        assert_eq!(nothing.upper(probability(0.3)).0.get(), 0.7);
        assert_eq!(nothing.lower(probability(0.3)).0.get(), 0.0);
        let wrong = TradeoffCurve::new(&[(f64::INFINITY, 0.0, 0.0), (f64::NAN, 0.0, 1.0), (1.0, 0.5, 0.4)]);
        assert_eq!(wrong.lower(probability(0.3)).0.get(), 0.0);
    }
}
