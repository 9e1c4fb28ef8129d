//! Which threshold is counted at: one that is known beforehand, one that other trials chose, or all of them at once.
//!
//! Choosing the best threshold on the scores that are then counted makes a bound that lies; none of these does.

use crate::{
    ClaimedCurve, Counts, Rates, Scores,
    against::{Noise, noise_limit},
    bound::{
        FromCounts, LowerBound,
        clopper_pearson::ErrorRates,
        gdp,
        trade_off::{self, Kind},
    },
};
use veracity_core::{Count, Delta, Refusal, Significance};

/// How the threshold comes about.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Choice {
    /// Known before the trials.
    Fixed(f64),
    /// The first half of the trials chooses, the second half is counted.
    Split,
    /// Each of this many folds chooses the threshold in turn and the others are counted, each at its share of the level;
    /// the best bound is taken.
    Folds(Count),
    /// All thresholds at once, by limits that hold together.
    Union,
}

/// A bound, and the threshold and counts behind it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChosenThreshold {
    /// What is shown.
    pub shown: LowerBound,
    /// The attacker said "in" above this.
    pub threshold: f64,
    /// How the guesses came out that were counted.
    pub counts: Counts,
}

/// Bounds ε from scores, with a threshold that does not make the bound lie.
///
/// # Promise    That of the bound, at the significance that is spent here, though the scores may choose:
/// fixed: nothing is chosen. Split: given the first half, the second is counted at a fixed threshold. Folds: given fold j,
/// the other folds are counted at a fixed threshold, so each of the K bounds fails with chance ≤ level/K, and the best of
/// them with chance ≤ level. Union: see [`trade_off::band`]
/// # Assumes    Independent trials
///
/// # Examples
///
/// ```
/// use veracity_audit::{Choice, Scores, bound::FromCounts, threshold};
/// use veracity_core::{Count, Delta, Significance};
///
/// // The worlds differ by 2; half of the trials find out where.
/// let spread = |centre: f64| (0..1_000).map(|i| centre + f64::from(i * 37 % 1_000) / 500.0).collect();
/// let scores = Scores::new(spread(2.0), spread(0.0))?;
/// let (delta, level) = (Delta::new(1e-5)?, Significance::new(0.05)?);
/// let method = FromCounts::ClopperPearson;
/// let chosen = threshold::bound(&scores, Choice::Split, method, delta, Count::ONE, level)?;
/// assert!(chosen.shown.epsilon.0.get() > 4.0);
/// // The first half was not counted.
/// assert_eq!(chosen.counts.trials(), 1_000);
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
///
/// # Errors
/// A threshold that is not a number, folds outside 2 to 100, or a choice that the method has no theorem for.
pub fn bound(
    scores: &Scores,
    choice: Choice,
    method: FromCounts,
    delta: Delta,
    group: Count,
    significance: Significance,
) -> Result<ChosenThreshold, Refusal> {
    let counted = |scores: &Scores, threshold: f64, significance| -> Result<ChosenThreshold, Refusal> {
        let counts = Counts::above(threshold, scores);
        Ok(ChosenThreshold { shown: method.bound(counts, delta, group, significance)?, threshold, counts })
    };
    let goal = Goal { method, delta: delta.get(), group: group.as_f64() };
    match choice {
        Choice::Fixed(threshold) if threshold.is_nan() => {
            Err(Refusal::out_of_range("threshold", "not a number", "a number"))
        }
        Choice::Fixed(threshold) => counted(scores, threshold, significance),
        Choice::Split => {
            let (choosing, counting) = scores.halves();
            let threshold = goal.best_threshold(&choosing, &counting, significance.level());
            counted(&counting, threshold, significance)
        }
        Choice::Folds(folds) => {
            let k = checked_folds(folds)?;
            let bounds = (0..k).zip(significance.shares(folds)).map(|(fold, share)| {
                let (choosing, counting) = scores.fold(fold, k);
                let threshold = goal.best_threshold(&choosing, &counting, share.level());
                counted(&counting, threshold, share)
            });
            best_of(bounds.collect::<Result<_, Refusal>>()?)
        }
        Choice::Union => union(scores, method, delta, group, significance),
    }
}

/// A threshold that the trials counted there did not choose, and the level at which they are counted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Look {
    pub(crate) threshold: f64,
    pub(crate) counts: Counts,
    pub(crate) level: f64,
}

/// The same choices for a claimed curve: the threshold at which the trials that choose tell most against it, or against more noise than it
/// declares.
pub(crate) fn looks(
    scores: &Scores,
    choice: Choice,
    claim: &ClaimedCurve,
    noise: Noise<'_>,
    significance: Significance,
) -> Result<Vec<Look>, Refusal> {
    let level = significance.spend();
    let look = |(choosing, counting): (Scores, Scores), level: f64| -> Result<Look, Refusal> {
        let curve = to_break(&choosing, &counting, claim, noise, level)?;
        let threshold = loudest_threshold(&choosing, &curve);
        Ok(Look { threshold, counts: Counts::above(threshold, &counting), level })
    };
    match choice {
        Choice::Fixed(threshold) if threshold.is_nan() => {
            Err(Refusal::out_of_range("threshold", "not a number", "a number"))
        }
        Choice::Fixed(threshold) => {
            Ok(vec![Look { threshold, counts: Counts::above(threshold, scores), level }])
        }
        Choice::Split => Ok(vec![look(scores.halves(), level)?]),
        Choice::Folds(folds) => {
            let k = checked_folds(folds)?;
            (0..k).map(|fold| look(scores.fold(fold, k), level / folds.as_f64())).collect()
        }
        Choice::Union => Err(Refusal::invalid("a union has no single threshold")),
    }
}

/// The curve against which a threshold is chosen: the claim, or, where the trials that choose would not refute it, the claim of so much
/// more noise that they just would.
///
/// A claim that holds says little about where its mechanism is best attacked: whatever breaks it is chance. More noise than there is
/// can be refuted, and where that is done best measures the noise best.
fn to_break(
    choosing: &Scores,
    counting: &Scores,
    claim: &ClaimedCurve,
    noise: Noise<'_>,
    level: f64,
) -> Result<ClaimedCurve, Refusal> {
    let limits =
        |threshold: f64| ErrorRates::limits(expected(Counts::above(threshold, choosing), counting), level);
    let all: Vec<ErrorRates> = candidates(choosing).into_iter().map(limits).collect();
    let any_breaks = |curve: &ClaimedCurve| {
        all.iter().any(|rates| curve.broken_by(rates.false_positive, rates.false_negative).is_some())
    };
    match noise.zip(noise_limit(noise, any_breaks)?) {
        Some((noise, part)) if part > 1.0 => noise(part),
        _ => Ok(claim.clone()),
    }
}

/// The threshold that tells most against a claim, as far as these scores go; where none does, the one with the fewest errors.
fn loudest_threshold(choosing: &Scores, claim: &ClaimedCurve) -> f64 {
    let mut best = (f64::INFINITY, f64::NEG_INFINITY);
    for threshold in candidates(choosing) {
        let counts = Counts::above(threshold, choosing);
        let rate = |errors: u64, of: u64| (errors as f64 + 0.5) / (of as f64 + 1.0);
        let seen = Rates {
            alarms: rate(counts.false_positives, counts.outs()),
            misses: rate(counts.false_negatives, counts.ins()),
        };
        let told = claim.nearest(seen).map_or(-seen.alarms - seen.misses, |(_, told)| told);
        if told > best.1 {
            best = (threshold, told);
        }
    }
    in_the_middle(best.0, choosing)
}

/// A threshold in the middle of those with the same counts: at an end of a gap between the worlds, other scores would fall on the
/// wrong side.
fn in_the_middle(threshold: f64, choosing: &Scores) -> f64 {
    let all = || choosing.inside().iter().chain(choosing.outside()).copied();
    let below = all().filter(|score| *score <= threshold).fold(f64::NEG_INFINITY, f64::max);
    let above = all().filter(|score| *score > threshold).fold(f64::INFINITY, f64::min);
    let middle = below.midpoint(above);
    let is_same = middle.is_finite() && Counts::above(middle, choosing) == Counts::above(threshold, choosing);
    if is_same { middle } else { threshold }
}

pub(crate) fn checked_folds(folds: Count) -> Result<usize, Refusal> {
    match folds.get() {
        k @ 2..=100 => Ok(k as usize),
        k => Err(Refusal::out_of_range("folds", k, "2 ≤ folds ≤ 100")),
    }
}

fn best_of(bounds: Vec<ChosenThreshold>) -> Result<ChosenThreshold, Refusal> {
    let epsilon = |chosen: &ChosenThreshold| chosen.shown.epsilon.0.get();
    let best = bounds.into_iter().max_by(|a, b| epsilon(a).total_cmp(&epsilon(b)));
    best.ok_or_else(|| Refusal::Invalid("no fold was counted".to_owned()))
}

/// The best of all thresholds, by the band of ranks.
fn union(
    scores: &Scores,
    method: FromCounts,
    delta: Delta,
    group: Count,
    significance: Significance,
) -> Result<ChosenThreshold, Refusal> {
    let chosen = |shown, point: Option<trade_off::Point>| {
        let threshold = point.map_or(f64::INFINITY, |point| point.threshold);
        ChosenThreshold { shown, threshold, counts: Counts::above(threshold, scores) }
    };
    let band = || trade_off::band(scores, Kind::Ranks, significance);
    match method {
        FromCounts::ClopperPearson => {
            let band = band();
            Ok(chosen(band.bound(delta, group), band.best(delta, group)))
        }
        FromCounts::Gdp if group == Count::ONE => {
            let band = band();
            Ok(chosen(band.gaussian_bound(delta), band.best_gaussian()))
        }
        FromCounts::Gdp | FromCounts::LogKatz | FromCounts::Bayesian => Err(Refusal::no_theorem(
            method.name(),
            "a union over thresholds",
            "use clopper-pearson, or split the trials",
        )),
    }
}

/// What a good threshold is good for.
struct Goal {
    method: FromCounts,
    delta: f64,
    group: f64,
}

impl Goal {
    /// The threshold that promises most for `counting`, as far as `choosing` can tell. Any rule would be valid here.
    fn best_threshold(&self, choosing: &Scores, counting: &Scores, level: f64) -> f64 {
        let mut best = (f64::INFINITY, f64::NEG_INFINITY);
        for threshold in candidates(choosing) {
            let expected = expected(Counts::above(threshold, choosing), counting);
            let promise = self.promise(ErrorRates::limits(expected, level));
            if promise > best.1 {
                best = (threshold, promise);
            }
        }
        best.0
    }

    fn promise(&self, rates: ErrorRates) -> f64 {
        match self.method {
            FromCounts::Gdp => gdp::mu_of(rates).0.get(),
            FromCounts::ClopperPearson | FromCounts::LogKatz | FromCounts::Bayesian => {
                rates.epsilon(self.delta, self.group)
            }
        }
    }
}

/// The counts to expect in as many trials as will be counted. An end of the scores was seen, and is not where they end:
/// half an error more than was counted.
fn expected(seen: Counts, counting: &Scores) -> Counts {
    let scaled = |errors: u64, of: u64, to: usize| {
        let rate = (errors as f64 + 0.5) / (of as f64 + 1.0);
        ((rate * to as f64).round() as u64).min(to as u64)
    };
    let (ins, outs) = (counting.inside().len(), counting.outside().len());
    let misses = scaled(seen.false_negatives, seen.ins(), ins);
    let alarms = scaled(seen.false_positives, seen.outs(), outs);
    Counts {
        true_positives: ins as u64 - misses,
        false_negatives: misses,
        false_positives: alarms,
        true_negatives: outs as u64 - alarms,
    }
}

/// Scores at few, then ever more, errors from either end: about 100 thresholds whatever the number of trials.
fn candidates(scores: &Scores) -> Vec<f64> {
    let mut found = Vec::new();
    for (world, flip) in [(scores.outside(), -1.0), (scores.inside(), 1.0)] {
        let mut ranked: Vec<f64> = world.iter().map(|score| flip * score).collect();
        ranked.sort_by(f64::total_cmp);
        for rank in trade_off::from_end(ranked.len() as u64, 5) {
            let score = flip * ranked[rank as usize - 1];
            // "Above" for alarms; just below for misses, so that the score itself is found.
            found.push(if flip < 0.0 { score } else { score.next_down() });
        }
    }
    found
}
