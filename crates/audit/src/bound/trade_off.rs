//! Bands around the trade-off curve: upper limits on both error rates at every threshold at once.
//!
//! Whoever reads the best ε off a band may look at all thresholds, since the band holds at all of them together. Two
//! bands are known: one of constant width, and one whose width follows the binomial and so is narrow in the tails,
//! where ε is shown.

use super::{Basis, LowerBound, at_least_zero, clopper_pearson::ErrorRates, gdp, profile};
use crate::Scores;
use veracity_core::numerics::{UNIT, binomial};
use veracity_core::{Count, Delta, Epsilon, GdpMu, Lower, Significance};

/// How the limits hold together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Dvoretzky–Kiefer–Wolfowitz–Massart: the same width everywhere.
    Uniform,
    /// Clopper–Pearson limits at ranks that were fixed before looking.
    Ranks,
}

/// A threshold, and what both error rates of an attacker who says "in" above it do not exceed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// The attacker says "in" above this score.
    pub threshold: f64,
    /// An upper limit on the chance of a false alarm.
    pub false_positive: f64,
    /// An upper limit on the chance of a miss.
    pub false_negative: f64,
}

/// Limits that hold at all thresholds together.
#[derive(Debug, Clone, PartialEq)]
pub struct Band {
    points: Vec<Point>,
    fewest: ErrorRates,
}

/// The band of these scores. All of them count; none has to choose a threshold.
///
/// # Promise    With chance ≥ 1 − significance, at every threshold both error rates are below their limits.
/// # Reference  \[Massart90\], one-sided, half the level for each world: the excess of a rate over what was seen is at most
/// √(ln(2/level)/(2n)) everywhere. \[ClopperPearson34\] for ranks that were fixed beforehand, see `rank_limits`
/// # Assumes    Independent trials
///
/// # Examples
///
/// ```
/// use veracity_audit::{Scores, bound::trade_off::{Kind, band}};
/// use veracity_core::{Count, Delta, Significance};
///
/// let spread = |centre: f64| (0..2_000).map(|i| centre + f64::from(i) / 1_000.0).collect();
/// let scores = Scores::new(spread(1.0), spread(0.0))?;
/// let delta = Delta::new(1e-5)?;
/// let shown = |kind| {
///     let band = band(&scores, kind, Significance::new(0.05)?);
///     Ok::<_, veracity_core::Refusal>(band.bound(delta, Count::ONE).epsilon.0)
/// };
/// // ε shows in the tails, where limits that follow the binomial are narrower.
/// assert!(shown(Kind::Ranks)? > shown(Kind::Uniform)?);
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
pub fn band(scores: &Scores, kind: Kind, significance: Significance) -> Band {
    let level = significance.spend();
    let limits = |n: usize| Limits::new(kind, n as u64, level / 2.0);
    let (ins, outs) = (limits(scores.inside().len()), limits(scores.outside().len()));
    let fewest = ErrorRates { false_positive: outs.at(0), false_negative: ins.at(0) };
    let (mut of_alarms, mut of_misses) = (outs.walk(), ins.walk());
    let thresholds = Thresholds::of(scores);
    let points = thresholds.errors().map(|(threshold, alarms, misses)| Point {
        threshold,
        false_positive: of_alarms.at(alarms),
        false_negative: of_misses.at(misses),
    });
    Band { points: corners_of(points), fewest }
}

/// Only points that no other point of the curve beats in one rate without being worse in the other.
fn corners_of(points: impl Iterator<Item = Point>) -> Vec<Point> {
    let mut kept: Vec<Point> = Vec::new();
    for point in points {
        match kept.last_mut() {
            // Misses only rise with the threshold, so an equal number of alarms is worth nothing more.
            Some(last) if point.false_positive >= last.false_positive => {}
            Some(last) if point.false_negative <= last.false_negative => *last = point,
            _ => kept.push(point),
        }
    }
    kept
}

impl Band {
    /// Where the band has its corners, thresholds ascending: false alarms fall and misses rise along it.
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// The limits of an attacker who never errs.
    pub(crate) fn fewest(&self) -> crate::Rates {
        crate::Rates { alarms: self.fewest.false_positive, misses: self.fewest.false_negative }
    }

    /// The best ε that any threshold shows.
    ///
    /// # Promise   Above the truth with chance at most the significance that the band has spent, for all δ together.
    pub fn bound(&self, delta: Delta, group: Count) -> LowerBound {
        let shown = |rates: ErrorRates| rates.epsilon(delta.get(), group.as_f64());
        let best = self.best_by(shown).map_or(f64::NEG_INFINITY, |point| shown(point.rates()));
        LowerBound {
            epsilon: Lower(at_least_zero(best)),
            ceiling: at_least_zero(shown(self.fewest)),
            basis: Basis::Proved,
        }
    }

    /// The point that shows the best ε.
    pub fn best(&self, delta: Delta, group: Count) -> Option<Point> {
        self.best_by(|rates| rates.epsilon(delta.get(), group.as_f64()))
    }

    /// The largest μ that any threshold shows, if the mechanism is Gaussian.
    pub fn mu(&self) -> Lower<GdpMu> {
        let nothing = ErrorRates { false_positive: 1.0, false_negative: 1.0 };
        gdp::mu_of(self.best_gaussian().map_or(nothing, |point| point.rates()))
    }

    /// The point that shows it.
    pub fn best_gaussian(&self) -> Option<Point> {
        self.best_by(|rates| gdp::mu_of(rates).0.get())
    }

    /// The ε of that μ.
    pub fn gaussian_bound(&self, delta: Delta) -> LowerBound {
        let epsilon = |mu: Lower<GdpMu>| -> Epsilon {
            at_least_zero(profile::epsilon_at_least(mu.0.get(), delta.get()))
        };
        LowerBound {
            epsilon: Lower(epsilon(self.mu())),
            ceiling: epsilon(gdp::mu_of(self.fewest)),
            basis: Basis::IfGaussian,
        }
    }

    fn best_by(&self, shown: impl Fn(ErrorRates) -> f64) -> Option<Point> {
        self.points.iter().copied().max_by(|a, b| shown(a.rates()).total_cmp(&shown(b.rates())))
    }
}

impl Point {
    pub(crate) fn rates(&self) -> ErrorRates {
        ErrorRates { false_positive: self.false_positive, false_negative: self.false_negative }
    }
}

/// Upper limits on one world's error rate, for every number of errors that may be seen there.
pub(crate) enum Limits {
    /// The rate seen, and so much more.
    Uniform { trials: f64, excess: f64 },
    /// Ranks ascending, each with its limit.
    Ranks(Vec<(u64, f64)>),
}

impl Limits {
    pub(crate) fn new(kind: Kind, trials: u64, level: f64) -> Limits {
        match kind {
            Kind::Uniform => {
                let n = trials as f64;
                Limits::Uniform { trials: n, excess: (-level.ln() / (2.0 * n)).sqrt() * (1.0 + 16.0 * UNIT) }
            }
            Kind::Ranks => Limits::Ranks(rank_limits(trials, level)),
        }
    }

    /// What the error rate does not exceed at any threshold where so many errors are seen.
    pub(crate) fn at(&self, errors: u64) -> f64 {
        match self {
            Limits::Uniform { trials, excess } => {
                let limit = (errors as f64 / trials + excess) * (1.0 + 4.0 * UNIT);
                // Without trials there is no rate.
                if limit < 1.0 { limit } else { 1.0 }
            }
            Limits::Ranks(ranks) => {
                let place = ranks.partition_point(|(rank, _)| *rank <= errors);
                ranks.get(place).map_or(1.0, |(_, limit)| *limit)
            }
        }
    }
}

/// Limits asked for one after another: numbers of errors that are near the last are found at once.
pub(crate) struct Walk<'a> {
    limits: &'a Limits,
    /// The rank that was last looked at.
    place: usize,
}

impl Limits {
    pub(crate) fn walk(&self) -> Walk<'_> {
        Walk { limits: self, place: 0 }
    }
}

impl Walk<'_> {
    /// What [`Limits::at`] says.
    pub(crate) fn at(&mut self, errors: u64) -> f64 {
        let Limits::Ranks(ranks) = self.limits else { return self.limits.at(errors) };
        while ranks.get(self.place).is_some_and(|(rank, _)| *rank <= errors) {
            self.place += 1;
        }
        while self.place > 0 && ranks[self.place - 1].0 > errors {
            self.place -= 1;
        }
        ranks.get(self.place).map_or(1.0, |(_, limit)| *limit)
    }
}

/// Limits at fixed ranks, each at its share of the level.
///
/// Sort n scores from the end where they are errors, and let Y be the one at rank j. The chance of an error beyond Y is
/// at most (in law) the j-th smallest of n uniforms (equal, if the law has no atoms), so it exceeds b with chance at most
/// P[Bin(n, b) < j]: b is the Clopper–Pearson limit for j − 1 errors. A threshold with fewer than j errors lies at Y
/// or beyond, so the limit holds there too, and the union over the ranks, whose number depends on n alone, costs the sum
/// of their levels.
fn rank_limits(trials: u64, level: f64) -> Vec<(u64, f64)> {
    let ranks = ranks(trials);
    let share = level / ranks.len().max(1) as f64;
    ranks.into_iter().map(|rank| (rank, binomial::upper_limit(rank - 1, trials, share))).collect()
}

/// Ranks from either end, ever sparser towards the middle: about 32 ln n in all, a sixteenth apart.
///
/// Both ends matter: the best ε is often shown where there are few false alarms and nearly as many misses as trials.
fn ranks(trials: u64) -> Vec<u64> {
    let mut ranks: Vec<u64> =
        from_end(trials, 16).into_iter().flat_map(|rank| [rank, trials + 1 - rank]).collect();
    ranks.sort_unstable();
    ranks.dedup();
    ranks
}

/// 1, 2, … and then in steps of one part in `parts`, up to `trials`.
pub(crate) fn from_end(trials: u64, parts: u64) -> Vec<u64> {
    std::iter::successors(Some(1), |rank| Some(rank + 1 + rank / parts))
        .take_while(|rank| *rank <= trials)
        .collect()
}

/// The scores of both worlds, each ascending.
struct Thresholds {
    ins: Vec<f64>,
    outs: Vec<f64>,
}

impl Thresholds {
    fn of(scores: &Scores) -> Thresholds {
        let sorted = |scores: &[f64]| {
            let mut sorted = scores.to_vec();
            sorted.sort_unstable_by(f64::total_cmp);
            sorted
        };
        Thresholds { ins: sorted(scores.inside()), outs: sorted(scores.outside()) }
    }

    /// Every threshold at which something changes, ascending, with its false alarms and misses.
    fn errors(&self) -> impl Iterator<Item = (f64, u64, u64)> {
        let (ins, outs) = (&self.ins, &self.outs);
        // How many of each world are at the threshold or below it.
        let (mut below_in, mut below_out) = (0, 0);
        let mut next = Some(f64::NEG_INFINITY);
        std::iter::from_fn(move || {
            let threshold = next?;
            below_in += ins[below_in..].iter().take_while(|score| **score <= threshold).count();
            below_out += outs[below_out..].iter().take_while(|score| **score <= threshold).count();
            next = [ins.get(below_in), outs.get(below_out)]
                .into_iter()
                .flatten()
                .copied()
                .min_by(f64::total_cmp);
            Some((threshold, (outs.len() - below_out) as u64, below_in as u64))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Thresholds as they are defined: every score and -∞, and the errors counted one by one.
    fn one_by_one(ins: &[f64], outs: &[f64]) -> Vec<(f64, u64, u64)> {
        let mut all: Vec<f64> = ins.iter().chain(outs).copied().chain([f64::NEG_INFINITY]).collect();
        all.sort_by(f64::total_cmp);
        all.dedup();
        let count = |scores: &[f64], is_error: &dyn Fn(f64) -> bool| {
            scores.iter().filter(|score| is_error(**score)).count() as u64
        };
        let errors = |at: f64| (at, count(outs, &|score| score > at), count(ins, &|score| score <= at));
        all.into_iter().map(errors).collect()
    }

    #[test]
    fn thresholds_of_ties_zeros_and_infinities_are_those_counted_one_by_one() {
        let inf = f64::INFINITY;
        let cases: [(&[f64], &[f64]); 6] = [
            (&[], &[]),
            (&[1.0], &[]),
            (&[0.0, -0.0, 1.0, 1.0], &[-0.0, 0.0, 1.0]),
            (&[inf, -inf, 2.0], &[inf, inf, -inf]),
            (&[3.0, 1.0, 2.0, 2.0], &[2.0, 5.0, 0.5, 2.0, 1.0]),
            (&[-inf], &[-inf]),
        ];
        for (ins, outs) in cases {
            let found = Thresholds::of(&Scores::new(ins.to_vec(), outs.to_vec()).unwrap());
            assert_eq!(found.errors().collect::<Vec<_>>(), one_by_one(ins, outs), "{ins:?} {outs:?}");
        }
    }

    #[test]
    fn a_walk_says_what_is_said_of_each_number_in_any_order() {
        for kind in [Kind::Ranks, Kind::Uniform] {
            let limits = Limits::new(kind, 500, 0.01);
            let mut walk = limits.walk();
            for errors in (0..=500).chain((0..=500).rev()).chain((0..500).map(|i| i * 211 % 501)) {
                assert_eq!(walk.at(errors).to_bits(), limits.at(errors).to_bits(), "{errors}");
            }
        }
    }
}
