//! The test of a claimed trade-off curve: whether it is refuted, where, and how much of the declared noise the trials allow.

use crate::{
    ClaimUnderTest, ClaimedCurve, CountSummary, Counts, Observation, Scores,
    bound::{
        clopper_pearson::ErrorRates,
        many_runs::{self, IdealRuns, Tallies},
        one_run::Guesses,
        one_run_fdp,
        sequential::{Rounds, ScoredTrial, bet, without_error},
        trade_off::{self, Kind},
    },
    method::BettingRounds,
    threshold::{self, Choice},
};
use veracity_core::{Count, Refusal, Significance};

/// Noise is looked at from this part of what is declared to its inverse.
pub(crate) const LEAST_NOISE: f64 = 1.0 / 8.0;
/// How finely a limit on noise is found.
const FINE: f64 = 0.02;
/// The ratio of neighbouring rungs of a ladder of noise.
const RUNG: f64 = 1.08;
/// The rungs above and below what is declared.
const RUNGS: i32 = 18;

/// A claimed mechanism, with any part of the noise that it declares.
pub trait Declared: Send + Sync {
    /// The curve of the mechanism with `part` times its declared noise; at 1 it is the claim itself. Less noise promises less.
    ///
    /// # Errors
    /// A part of the noise that the mechanism has no curve for.
    fn with_noise(&self, part: f64) -> Result<ClaimedCurve, Refusal>;

    /// Whether there is noise of which a part can be taken.
    fn has_noise(&self) -> bool {
        true
    }
}

/// The curves of a claim by the part of its noise, where it has noise.
pub(crate) type Noise<'a> = Option<&'a dyn Fn(f64) -> Result<ClaimedCurve, Refusal>>;

/// The result of testing a claimed curve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CurveTest {
    /// The guesses that were counted.
    pub counted: CountSummary,
    /// Where the claim fell, if it did.
    pub fallen: Option<Refutation>,
    /// Whether an attacker who never errs would have refuted it with so many trials.
    pub is_able: bool,
    /// The largest multiple of the declared noise that the trials allow; none if they allow any, or none is declared.
    pub noise_at_most: Option<f64>,
}

/// Where a claimed curve is refuted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Refutation {
    /// At a threshold.
    Threshold {
        /// What the rate of false alarms does not exceed.
        alarms: f64,
        /// What the rate of misses does not exceed.
        misses: f64,
        /// The misses that the claim leaves, at least, beside so many false alarms.
        promised: f64,
    },
    /// By more right guesses than this, which the claim allows but for the chance of error.
    Guesses {
        /// So many.
        most: u64,
    },
    /// By bets on the guesses of whole runs, at one pair of the claim.
    Runs {
        /// After so many runs.
        runs: u64,
        /// The ε of the pair.
        epsilon: f64,
        /// Its δ.
        delta: f64,
    },
    /// By bets that nobody wins against a true claim.
    Bets {
        /// After so many trials.
        trials: u64,
    },
}

/// The largest part of the noise that stands, where more of it falls.
///
/// # Promise  A claim of more noise implies one of less, so whatever refutes a curve refutes those above it
pub(crate) fn noise_limit(
    noise: Noise<'_>,
    falls: impl Fn(&ClaimedCurve) -> bool,
) -> Result<Option<f64>, Refusal> {
    let Some(noise) = noise else { return Ok(None) };
    let falls = |part: f64| noise(part).map(|curve| falls(&curve));
    // Little noise takes the accountant long, so the search begins at what is declared.
    let (mut stands, mut fallen) = (1.0, 1.0);
    if falls(1.0)? {
        loop {
            stands = f64::max(0.7 * stands, LEAST_NOISE);
            match falls(stands)? {
                true if stands == LEAST_NOISE => return Ok(Some(stands)),
                true => fallen = stands,
                false => break,
            }
        }
    } else {
        loop {
            fallen = f64::min(1.5 * fallen, 1.0 / LEAST_NOISE);
            match falls(fallen)? {
                true => break,
                false if fallen * LEAST_NOISE >= 1.0 => return Ok(None),
                false => stands = fallen,
            }
        }
    }
    while fallen > stands * (1.0 + FINE) {
        let middle = (stands * fallen).sqrt();
        if falls(middle)? { fallen = middle } else { stands = middle }
    }
    Ok(Some(fallen))
}

/// Clopper–Pearson limits at a threshold that other trials chose, or at all thresholds.
pub(crate) fn by_threshold(
    scores: &Scores,
    choice: Choice,
    claim: &ClaimedCurve,
    noise: Noise<'_>,
    significance: Significance,
) -> Result<CurveTest, Refusal> {
    if choice == Choice::Union {
        return by_band(scores, claim, noise, significance);
    }
    let looks = threshold::looks(scores, choice, claim, noise, significance)?;
    let limits: Vec<ErrorRates> =
        looks.iter().map(|look| ErrorRates::limits(look.counts, look.level)).collect();
    let fallen = |curve: &ClaimedCurve| {
        let at = |rates: &ErrorRates| curve.broken_by(rates.false_positive, rates.false_negative);
        limits.iter().enumerate().find_map(|(which, rates)| at(rates).map(|fallen| (which, fallen)))
    };
    let perfect_attack =
        |look: &threshold::Look| ErrorRates::limits(look.counts.perfect_attack(), look.level);
    let is_able = looks
        .iter()
        .map(perfect_attack)
        .any(|rates| claim.broken_by(rates.false_positive, rates.false_negative).is_some());
    let found = fallen(claim);
    let Some(look) = looks.get(found.map_or(0, |(which, _)| which)) else {
        return Err(Refusal::invalid("no trial was counted"));
    };
    Ok(CurveTest {
        counted: CountSummary::Threshold { threshold: look.threshold, counts: look.counts },
        fallen: found.map(|(_, fallen)| fallen),
        is_able,
        noise_at_most: noise_limit(noise, |curve| fallen(curve).is_some())?,
    })
}

/// Limits that hold at all thresholds together.
fn by_band(
    scores: &Scores,
    claim: &ClaimedCurve,
    noise: Noise<'_>,
    significance: Significance,
) -> Result<CurveTest, Refusal> {
    let band = trade_off::band(scores, Kind::Ranks, significance);
    let excess = |curve: &ClaimedCurve, point: &trade_off::Point| {
        curve.least_misses(point.false_positive) - point.false_negative
    };
    let worst = |curve: &ClaimedCurve| {
        let points = band.points().iter().copied();
        points.max_by(|a, b| excess(curve, a).total_cmp(&excess(curve, b)))
    };
    let fallen = |curve: &ClaimedCurve| {
        worst(curve).and_then(|point| curve.broken_by(point.false_positive, point.false_negative))
    };
    let threshold = worst(claim).map_or(f64::INFINITY, |point| point.threshold);
    let fewest = band.fewest();
    Ok(CurveTest {
        counted: CountSummary::Threshold { threshold, counts: Counts::above(threshold, scores) },
        fallen: fallen(claim),
        is_able: claim.broken_by(fewest.alarms, fewest.misses).is_some(),
        noise_at_most: noise_limit(noise, |curve| fallen(curve).is_some())?,
    })
}

/// Guesses at both ends of the ranking, by the recursion for whole curves.
pub(crate) fn by_guesses(
    (guesses, highest, lowest): (Guesses, u64, u64),
    claim: &ClaimedCurve,
    noise: Noise<'_>,
    level: f64,
) -> Result<CurveTest, Refusal> {
    let falls = |curve: &ClaimedCurve, guesses| one_run_fdp::refutes(guesses, level, curve);
    let fallen = if falls(claim, guesses) {
        // Fewer right guesses never refute more.
        let (mut stands, mut refuted) = (0, guesses.correct());
        while refuted - stands > 1 {
            let middle = stands.midpoint(refuted);
            let of = Guesses::new(guesses.canaries(), guesses.guesses(), middle)?;
            if falls(claim, of) { refuted = middle } else { stands = middle }
        }
        Some(Refutation::Guesses { most: stands })
    } else {
        None
    };
    Ok(CurveTest {
        counted: CountSummary::Ends { highest, lowest, guesses },
        fallen,
        is_able: falls(claim, guesses.perfect_attack()),
        noise_at_most: noise_limit(noise, |curve| falls(curve, guesses))?,
    })
}

/// The parts of the canaries that are guessed against a curve, each by bets of its own with an equal share of the chance of error.
const RUN_PARTS: [f64; 4] = [0.5, 0.15, 0.04, 0.01];

/// Bets on the guesses of whole runs, in the order of the runs, where several parts of the canaries are guessed, each against the pair of
/// the claim that allows the least there.
pub(crate) fn by_runs(
    observations: &[Observation],
    claim: &ClaimedCurve,
    noise: Noise<'_>,
    level: f64,
) -> Result<CurveTest, Refusal> {
    let share = level / RUN_PARTS.len() as f64;
    let guessed: Vec<(f64, Tallies)> = RUN_PARTS
        .into_iter()
        .map(|part| Tallies::of(observations, part).map(|tallies| (part, tallies)))
        .collect::<Result<_, _>>()?;
    let falls = |curve: &ClaimedCurve| {
        let fall = |(at, (part, tallies)): (usize, &(f64, Tallies))| {
            let pair = curve.tightest(*part)?;
            let runs = tallies.fall(pair, share)?;
            Some((at, Refutation::Runs { runs, epsilon: pair.epsilon, delta: pair.delta }))
        };
        guessed.iter().enumerate().find_map(fall)
    };
    let is_able = guessed.iter().any(|(part, tallies)| {
        claim.tightest(*part).is_some_and(|pair| many_runs::is_able(tallies, pair, share))
    });
    let found = falls(claim);
    let (highest, lowest, guesses) = guessed[found.map_or(0, |(at, _)| at)].1.counted();
    Ok(CurveTest {
        counted: CountSummary::Ends { highest, lowest, guesses },
        fallen: found.map(|(_, fallen)| fallen),
        is_able,
        noise_at_most: noise_limit(noise, |curve| falls(curve).is_some())?,
    })
}

/// The chance that a claim falls by bets on runs, if `truth` is the curve of what runs and its canaries are independent.
pub(crate) fn chance_of_runs(runs: IdealRuns, claim: &ClaimedCurve, truth: &ClaimedCurve, level: f64) -> f64 {
    let share = level / RUN_PARTS.len() as f64;
    let chance = |part: f64| {
        let pair = claim.tightest(part)?;
        Some(runs.chance_of_fall(part, truth.most_right(part), pair, share))
    };
    RUN_PARTS.into_iter().filter_map(chance).fold(0.0, f64::max)
}

/// Bets in the order of the trials; those after the refutation are not looked at.
pub(crate) fn by_bets(
    seen: &BettingRounds,
    claim: &ClaimedCurve,
    noise: Noise<'_>,
    level: f64,
) -> Result<CurveTest, Refusal> {
    let test = bet(claim, seen.rounds().map(<[ScoredTrial]>::to_vec), level)?;
    // The same worlds with scores that never err.
    let perfect_attack = seen.rounds().map(|round| round.iter().copied().map(without_error).collect());
    let sure = bet(claim, perfect_attack, level)?;
    let trials = test.trials();
    Ok(CurveTest {
        counted: CountSummary::Bets { trials, log_wealth: test.log_wealth() },
        fallen: test.is_refuted().then_some(Refutation::Bets { trials }),
        is_able: sure.is_refuted(),
        noise_at_most: noise_by_bets(seen, trials, noise, level)?,
    })
}

/// From the most noise down, the first that stands ends the climb: see the ladders of [`sequential`](crate::bound::sequential), whose rungs are here looked at one after another.
fn noise_by_bets(
    seen: &BettingRounds,
    used: u64,
    noise: Noise<'_>,
    level: f64,
) -> Result<Option<f64>, Refusal> {
    let Some(noise) = noise else { return Ok(None) };
    let mut limit = None;
    for rung in (-RUNGS..=RUNGS).rev() {
        let part = RUNG.powi(rung);
        let mut left = used as usize;
        let rounds = seen.rounds().take_while(|round| {
            let is_used = left > 0;
            left = left.saturating_sub(round.len());
            is_used
        });
        if !bet(&noise(part)?, rounds.map(<[ScoredTrial]>::to_vec), level)?.is_refuted() {
            break;
        }
        limit = Some(part);
    }
    Ok(limit)
}

/// Whether bets on each trial refute a claim by these observations, in their order.
///
/// # Errors
/// A group size that the claim has no curve for.
pub fn is_refuted_by_bets(
    observations: &[Observation],
    claimed: &ClaimUnderTest<'_>,
    group: Count,
    significance: Significance,
) -> Result<bool, Refusal> {
    let seen = BettingRounds::of(observations, Rounds::Trials);
    let rounds = seen.rounds().map(<[ScoredTrial]>::to_vec);
    Ok(bet(&claimed.curve(group)?, rounds, significance.spend())?.is_refuted())
}
