//! A claim as a whole curve: all pairs (ε, δ) that a mechanism promises, and so the least errors that it leaves to an attacker.
//!
//! An (ε, δ) alone speaks of the far tail, where hardly a trial lands. The accountant knows δ at every ε, and an attack that breaks
//! any of these pairs breaks the claim.

use crate::{Refutation, bound::many_runs};
use veracity_core::numerics::UNIT;
use veracity_core::{Count, Delta, Epsilon, Refusal};

/// One promise: P ≤ e^ε P′ + δ for every event, in both directions.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Pair {
    epsilon: f64,
    delta: f64,
}

/// What a claim leaves to an attacker: the least rate of misses at each rate of false alarms.
///
/// # Promise   Never more than what the pairs say: every pair that is left out, and every rounding, makes the claim more lenient
///
/// # Examples
///
/// ```
/// use veracity_audit::ClaimedCurve;
/// use veracity_core::{Delta, Epsilon};
///
/// // Randomized response that tells the truth with chance 3/4, so ε = ln 3.
/// let curve = ClaimedCurve::new([(Epsilon::new(3f64.ln())?, Delta::new(0.0)?)])?;
/// assert!((curve.least_misses(0.25) - 0.25).abs() < 1e-12);
/// // An attacker with fewer errors of both kinds refutes it; one with as many does not.
/// assert!(curve.broken_by(0.24, 0.24).is_some() && curve.broken_by(0.25, 0.25).is_none());
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct ClaimedCurve {
    pairs: Vec<Pair>,
    /// Where the curve bends, by rising rate of false alarms.
    corners: Vec<Rates>,
}

/// The rates of an attacker's two errors.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rates {
    /// Out, and guessed "in".
    pub alarms: f64,
    /// In, and guessed "out".
    pub misses: f64,
}

impl ClaimedCurve {
    /// The curve of pairs that all hold, in both directions.
    ///
    /// # Errors
    /// None today: a pair that promises nothing is left out.
    pub fn new(pairs: impl IntoIterator<Item = (Epsilon, Delta)>) -> Result<ClaimedCurve, Refusal> {
        let pairs =
            pairs.into_iter().map(|(epsilon, delta)| Pair { epsilon: epsilon.get(), delta: delta.get() });
        Ok(ClaimedCurve::of(pairs.collect()))
    }

    fn of(mut pairs: Vec<Pair>) -> ClaimedCurve {
        // Beyond, e^ε is no number, and a δ of 1 promises nothing. What promises nothing is never refuted.
        pairs.retain(|pair| pair.epsilon <= 700.0 && pair.delta < 1.0);
        pairs.sort_by(|a, b| a.epsilon.total_cmp(&b.epsilon));
        let corners = corners(&pairs);
        ClaimedCurve { pairs, corners }
    }

    /// The promise for data that differ by `size` records: P ≤ e^{kε} P′ + δ (e^{kε} − 1)/(e^ε − 1).
    ///
    /// # Numerics  δ is rounded up
    ///
    /// # Errors
    /// None today: a group for which nothing is promised has a curve that nothing refutes.
    pub fn for_group(&self, size: Count) -> Result<ClaimedCurve, Refusal> {
        if size == Count::ONE {
            return Ok(self.clone());
        }
        let k = size.as_f64();
        let grown = self.pairs.iter().map(|pair| {
            let all = (k * pair.epsilon).exp_m1();
            let slope = if pair.epsilon == 0.0 { k } else { all / pair.epsilon.exp_m1() };
            let slack = 1.0 + UNIT * (32.0 + 8.0 * k * pair.epsilon);
            let delta = if pair.delta == 0.0 { 0.0 } else { pair.delta * slope * slack };
            Pair { epsilon: k * pair.epsilon * (1.0 + 4.0 * UNIT), delta }
        });
        Ok(ClaimedCurve::of(grown.collect()))
    }

    /// The least misses that the claim leaves beside so many false alarms.
    ///
    /// # Numerics  Rounded down
    pub fn least_misses(&self, alarms: f64) -> f64 {
        self.pairs.iter().map(|pair| pair.least(alarms)).fold(0.0, f64::max)
    }

    /// Whether rates that are at most these break the claim, and where.
    pub fn broken_by(&self, alarms: f64, misses: f64) -> Option<Refutation> {
        let promised = self.least_misses(alarms);
        (misses < promised).then_some(Refutation::Threshold { alarms, misses, promised })
    }

    /// The pairs (ε, δ), by rising ε.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (f64, f64)> {
        self.pairs.iter().map(|pair| (pair.epsilon, pair.delta))
    }

    /// Where the curve bends, by rising rate of false alarms.
    pub fn corners(&self) -> &[Rates] {
        &self.corners
    }

    /// The largest 1 − x at which the curve still leaves no more than 1 − y misses: the inverse of 1 − f, as recursions ask for it.
    ///
    /// # Numerics  Rounded down
    pub(crate) fn inverse(&self, y: f64) -> f64 {
        self.pairs.iter().map(|pair| pair.inverse(y)).fold(0.0, f64::max)
    }

    /// The rates that the claim allows and that are hardest to tell from these, and how much one pair of trials tells: the
    /// Kullback–Leibler divergence of two coins. Nothing where these rates are allowed.
    ///
    /// The divergence is convex in the rates and so is what the claim allows, so the search over the curve has one valley.
    pub(crate) fn nearest(&self, seen: Rates) -> Option<(Rates, f64)> {
        let allowed = |alarms: f64| Rates { alarms, misses: self.on_curve(alarms).max(seen.misses) };
        if self.on_curve(seen.alarms) <= seen.misses {
            return None;
        }
        let cost = |alarms: f64| {
            let there = allowed(alarms);
            divergence(seen.alarms, there.alarms) + divergence(seen.misses, there.misses)
        };
        // Beyond this the curve no longer asks for more misses than were seen.
        let beyond = self.alarms_at(seen.misses);
        let (mut low, mut high) = (seen.alarms, beyond.max(seen.alarms));
        for _ in 0..40 {
            let (a, b) = (low + (high - low) * 0.382, low + (high - low) * 0.618);
            if cost(a) < cost(b) { high = b } else { low = a }
        }
        let alarms = 0.5 * (low + high);
        Some((allowed(alarms), cost(alarms)))
    }

    /// The largest part of guesses that the claim lets be right, where so large a part of the canaries is guessed, half of it "in".
    /// For what needs no side.
    pub(crate) fn most_right(&self, part: f64) -> f64 {
        // Of each world as many are in: said "in" are alarms and 1 − misses of the two worlds.
        let said = |alarms: f64| alarms + 1.0 - self.on_curve(alarms);
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..50 {
            let middle = 0.5 * (low + high);
            if said(middle) < part { low = middle } else { high = middle }
        }
        let found = 1.0 - self.on_curve(low);
        (found / (found + low)).clamp(0.5, 1.0 - 1e-12)
    }

    /// The pair that lets the fewest guesses be right, where so large a part of the canaries is guessed.
    pub(crate) fn tightest(&self, part: f64) -> Option<many_runs::Pair> {
        let allowed = |pair: &Pair| {
            let growth = pair.epsilon.exp();
            (growth + pair.delta / part) / (1.0 + growth)
        };
        let tightest = self.pairs.iter().min_by(|a, b| allowed(a).total_cmp(&allowed(b)))?;
        Some(many_runs::Pair { epsilon: tightest.epsilon, delta: tightest.delta })
    }

    /// The curve between its corners; for what needs no side.
    fn on_curve(&self, alarms: f64) -> f64 {
        let after = self.corners.partition_point(|corner| corner.alarms <= alarms);
        let (Some(left), Some(right)) = (self.corners.get(after.wrapping_sub(1)), self.corners.get(after))
        else {
            return self.corners.last().map_or(0.0, |corner| corner.misses);
        };
        let part = (alarms - left.alarms) / (right.alarms - left.alarms);
        left.misses + part * (right.misses - left.misses)
    }

    /// The false alarms at which the curve comes down to so many misses.
    fn alarms_at(&self, misses: f64) -> f64 {
        let after = self.corners.partition_point(|corner| corner.misses > misses);
        let (Some(left), Some(right)) = (self.corners.get(after.wrapping_sub(1)), self.corners.get(after))
        else {
            return if after == 0 { 0.0 } else { 1.0 };
        };
        let part = (left.misses - misses) / (left.misses - right.misses);
        left.alarms + part * (right.alarms - left.alarms)
    }
}

impl Pair {
    /// The least misses that this pair leaves beside so many false alarms.
    fn least(self, alarms: f64) -> f64 {
        let Pair { epsilon, delta } = self;
        let slack = UNIT * (16.0 + 4.0 * epsilon);
        // 1 − misses ≤ e^ε alarms + δ, and 1 − alarms ≤ e^ε misses + δ.
        let growth = epsilon.exp();
        let steep = 1.0 - (growth * alarms + delta) * (1.0 + slack) - 4.0 * UNIT;
        let flat = ((1.0 - alarms) - delta) / growth * (1.0 - slack) - 4.0 * UNIT;
        steep.max(flat)
    }

    fn inverse(self, y: f64) -> f64 {
        let Pair { epsilon, delta } = self;
        let slack = 1.0 - UNIT * (16.0 + 4.0 * epsilon);
        let shrink = (-epsilon).exp();
        let steep = (y - delta) * shrink * slack;
        let flat = 1.0 - delta - (1.0 - y) / (shrink * slack);
        (steep.max(flat) - 4.0 * UNIT).max(0.0)
    }
}

/// The corners of the largest of all lines, from (0, ·) to (1, 0).
fn corners(pairs: &[Pair]) -> Vec<Rates> {
    // Lines as (height at no alarms, slope), the steepest first: high ε, low ε, then their mirrors, then nothing.
    let steep = pairs.iter().rev().map(|pair| (1.0 - pair.delta, pair.epsilon.exp()));
    let flat = pairs.iter().map(|pair| ((1.0 - pair.delta) * (-pair.epsilon).exp(), (-pair.epsilon).exp()));
    let meet = |a: (f64, f64), b: (f64, f64)| (a.0 - b.0) / (a.1 - b.1);
    let mut hull: Vec<(f64, f64)> = Vec::new();
    for line in steep.chain(flat).chain([(0.0, 0.0)]) {
        // Of two lines with one slope the higher counts.
        if let Some(last) = hull.last().copied()
            && last.1 - line.1 <= 1e-15 * last.1
        {
            if line.0 <= last.0 {
                continue;
            }
            hull.pop();
        }
        while let Some(last) = hull.last().copied() {
            let takes_over = if let [.., before, _] = hull[..] { meet(before, last) } else { 0.0 };
            if meet(last, line) > takes_over {
                break;
            }
            hull.pop();
        }
        hull.push(line);
    }
    let mut corners = vec![Rates { alarms: 0.0, misses: hull[0].0.clamp(0.0, 1.0) }];
    for pair in hull.windows(2) {
        let alarms = meet(pair[0], pair[1]).clamp(0.0, 1.0);
        corners.push(Rates { alarms, misses: (pair[1].0 - pair[1].1 * alarms).clamp(0.0, 1.0) });
    }
    corners.dedup_by(|b, a| b.alarms <= a.alarms);
    if corners.last().is_none_or(|last| last.alarms < 1.0) {
        corners.push(Rates { alarms: 1.0, misses: 0.0 });
    }
    corners
}

/// The Kullback–Leibler divergence of a coin of chance `p` from one of chance `q`.
pub(crate) fn divergence(p: f64, q: f64) -> f64 {
    let part = |p: f64, q: f64| if p == 0.0 { 0.0 } else { p * (p / q).ln() };
    part(p, q) + part(1.0 - p, 1.0 - q)
}

#[cfg(test)]
mod tests {
    use super::*;
    use veracity_core::numerics::normal;

    fn gaussian(mu: f64, points: usize) -> ClaimedCurve {
        let delta = |e: f64| normal::cdf(mu / 2.0 - e / mu) - e.exp() * normal::cdf(-mu / 2.0 - e / mu);
        let pairs = (0..points).map(|at| 8.0 * mu * at as f64 / (points - 1) as f64);
        ClaimedCurve::new(
            pairs.map(|e| (Epsilon::new(e).unwrap(), Delta::new(delta(e).max(0.0) * (1.0 + 1e-9)).unwrap())),
        )
        .unwrap()
    }

    /// Twin: the trade-off curve of a Gaussian mechanism in closed form.
    #[test]
    fn pairs_of_a_gaussian_make_its_curve_from_below() {
        for mu in [0.3, 1.0, 2.5] {
            let curve = gaussian(mu, 65);
            for at in 1..1000 {
                let alarms = f64::from(at) / 1000.0;
                let truth = normal::cdf(-normal::quantile(alarms) - mu);
                let ours = curve.least_misses(alarms);
                assert!(ours <= truth && truth - ours < 3e-3, "{mu} {alarms}: {ours} {truth}");
                assert!((curve.on_curve(alarms) - ours).abs() < 1e-9, "{mu} {alarms}");
            }
        }
    }

    /// Twin: a grid over all rates that the claim allows.
    #[test]
    fn the_nearest_rates_are_those_of_a_grid() {
        let curve = gaussian(1.0, 65);
        for (alarms, misses) in [(0.16, 0.16), (0.05, 0.6), (0.3, 0.1), (0.001, 0.9), (0.2, 0.2)] {
            let (near, told) = curve.nearest(Rates { alarms, misses }).unwrap();
            let least = (1..4000)
                .map(|at| f64::from(at) / 4000.0)
                .filter(|x| *x >= alarms)
                .map(|x| divergence(alarms, x) + divergence(misses, curve.on_curve(x).max(misses)))
                .fold(f64::INFINITY, f64::min);
            assert!(
                told <= least * (1.0 + 1e-9) && least - told < 1e-4,
                "{alarms} {misses}: {told} {least} {near:?}"
            );
        }
        assert!(curve.nearest(Rates { alarms: 0.31, misses: 0.31 }).is_none());
    }

    #[test]
    fn groups_and_single_pairs_have_the_lines_that_they_promise() {
        let (epsilon, delta) = (0.5f64, 1e-3);
        let one = ClaimedCurve::new([(Epsilon::new(epsilon).unwrap(), Delta::new(delta).unwrap())]).unwrap();
        let three = one.for_group(Count::new(3).unwrap()).unwrap();
        let slope = (3.0 * epsilon).exp();
        let more = delta * (slope - 1.0) / (epsilon.exp() - 1.0);
        for at in 0..=100 {
            let x = f64::from(at) / 100.0;
            let lines =
                |growth: f64, delta: f64| (1.0 - delta - growth * x).max((1.0 - delta - x) / growth).max(0.0);
            assert!((one.least_misses(x) - lines(epsilon.exp(), delta)).abs() < 1e-12);
            assert!((three.least_misses(x) - lines(slope, more)).abs() < 1e-12);
        }
        assert_eq!(one.corners().len(), 4, "{:?}", one.corners());
        let nothing = ClaimedCurve::new([(Epsilon::new(701.0).unwrap(), Delta::new(0.5).unwrap())]).unwrap();
        assert!(
            nothing.broken_by(0.0, 0.0).is_none()
                && nothing.nearest(Rates { alarms: 0.0, misses: 0.0 }).is_none()
        );
    }
}
