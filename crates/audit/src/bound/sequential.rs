//! A test that may stop as soon as it knows: bets against a claim, pair by pair, that nobody can win if it is true.
//!
//! Each pair of trials, one from either world, is a round. Before it, the past chooses a threshold and what to stake; if the claim
//! holds, the gambler's wealth is a fair game or worse, so it ever reaches 1/significance with chance ≤ significance.

use super::{Basis, Shown};
use crate::{ClaimedCurve, Rates, Scores};
use std::collections::VecDeque;
use veracity_core::{Count, Delta, Epsilon, Lower, Refusal, Significance};

/// Rounds that are watched before the first bet.
const WATCHED: usize = 4;
/// How many gamblers there are; each begins with the same share of the wealth.
const GAMBLERS: usize = 3;
/// Which part of what it has each of them stakes in a round.
const STAKES: [f64; GAMBLERS] = [1.0, 0.6, 0.25];
/// The distance of the rungs of a ladder of ε.
const STEP: f64 = 0.05;
/// Covers the rounding of what a bet can win under the claim.
const FAIR: f64 = 1.0 + 1e-9;

/// A test of one claim at any time.
///
/// # Promise    If the claim holds, it is ever refuted with chance at most the significance, whenever one stops looking.
/// # Reference  \[Ville39\]; \[WaudbySmithRamdas24\] (betting); \[TurnerGrunwald23\] (two streams of coins and a convex claim)
/// # Assumes    Pairs are independent of each other, and the two trials of a pair too
///
/// # Examples
///
/// A test that may stop as soon as it knows:
///
/// ```
/// use veracity_audit::{ClaimedCurve, Idealised, AuditSubject, World, bound::sequential::Test};
/// use veracity_core::{Count, Delta, Epsilon, NoiseMultiplier, SamplingRate, Significance};
///
/// let subject = Idealised::honest(SamplingRate::new(1.0)?, NoiseMultiplier::new(0.3)?, Count::ONE);
/// let claim = ClaimedCurve::new([(Epsilon::new(0.5)?, Delta::new(1e-5)?)])?;
/// let mut test = Test::new(claim, Significance::new(0.01)?);
/// let mut trial = 0;
/// while !test.is_refuted() && trial < 4_000 {
///     let mut score = |world| {
///         trial += 1;
///         subject.run(trial, &[world]).map(|scores| scores[0]).unwrap_or(0.0)
///     };
///     test.observe(Some(score(World::In)), Some(score(World::Out)))?;
/// }
/// assert!(test.is_refuted() && test.pairs() < 100);
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
#[derive(Debug, Clone)]
pub struct Test {
    book: Book,
    past: Past,
}

impl Test {
    /// Begins a test of the claim.
    pub fn new(claim: ClaimedCurve, significance: Significance) -> Test {
        Test { book: Book::new(claim, significance.spend()), past: Past::default() }
    }

    /// One more pair: the score of a trial with the canary and of one without; none of a trial that failed.
    pub fn observe(&mut self, inside: Option<f64>, outside: Option<f64>) -> Result<(), Refusal> {
        check(inside, outside)?;
        self.book.settle(inside, outside);
        if let Some(seen) = self.past.add(inside, outside) {
            self.book.bet(&seen);
        }
        Ok(())
    }

    /// Whether the claim is refuted; once it is, it stays so.
    pub fn is_refuted(&self) -> bool {
        self.book.is_refuted()
    }

    /// How many pairs were seen.
    pub fn pairs(&self) -> u64 {
        self.past.pairs as u64
    }

    /// The logarithm of what one unit of wealth has become.
    pub fn log_wealth(&self) -> f64 {
        self.book.log_wealth()
    }
}

/// A lower bound on ε that holds at all times together: the highest rung of a ladder of claims, each 0.05 above the last, up to which
/// all are refuted.
pub(crate) fn bound(
    pairs: impl ExactSizeIterator<Item = (Option<f64>, Option<f64>)>,
    delta: Delta,
    group: Count,
    significance: Significance,
) -> Result<Shown, Refusal> {
    let level = significance.spend();
    // An attacker who never errs wins no more than e^{−ε} a pair: so many pairs cannot climb higher.
    let highest = (pairs.len() as f64 / -level.ln()).max(1.0).ln() / group.as_f64();
    let rungs = Count::new((highest / STEP).floor().max(1.0) as u64)?;
    let claim = |rung: u64| ClaimedCurve::new([(Epsilon::new(STEP * rung as f64)?, delta)])?.for_group(group);
    let claims = (1..=rungs.get()).map(claim).collect::<Result<Vec<_>, Refusal>>()?;
    let mut ladder = Ladder::new(claims, Significance::new(level)?);
    for (inside, outside) in pairs {
        ladder.observe(inside, outside)?;
    }
    Ok(Shown {
        epsilon: Lower(Epsilon::new(STEP * ladder.refuted() as f64)?),
        ceiling: Epsilon::new(STEP * rungs.as_f64())?,
        basis: Basis::Proved,
    })
}

/// The same for scores, paired in their order.
pub fn epsilon_lower(scores: &Scores, delta: Delta, significance: Significance) -> Result<Shown, Refusal> {
    let some = |scores: &[f64]| scores.iter().copied().map(Some).collect::<Vec<_>>();
    let pairs = some(scores.inside()).into_iter().zip(some(scores.outside()));
    bound(pairs, delta, Count::ONE, significance)
}

/// Claims in an order in which each is implied by those after it, all tested on the same trials: the last one up to which every
/// claim is refuted.
///
/// Of all claims that are true the first is refuted with chance at most the significance, and whoever says too much has refuted it:
/// the ladder costs nothing more than a single test.
///
/// # Promise    It ever says too much with chance at most the significance.
///
/// # Examples
///
/// ```
/// use veracity_audit::bound::sequential::Ladder;
/// use veracity_core::{Count, Delta, Epsilon, Significance};
///
/// let (step, rungs) = (Epsilon::new(0.25)?, Count::new(40)?);
/// let mut ladder = Ladder::of_epsilons(step, rungs, Delta::new(1e-5)?, Significance::new(0.05)?)?;
/// let mut before = 0;
/// for _ in 0..300 {
///     ladder.observe(Some(1.0), Some(0.0))?;
///     // It may be looked at after every pair, and never falls.
///     assert!(ladder.refuted() >= before);
///     before = ladder.refuted();
/// }
/// // ε is at least 0.25 times as many rungs.
/// assert!(before > 8);
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
#[derive(Debug, Clone)]
pub struct Ladder {
    /// The claims that still stand.
    standing: VecDeque<Book>,
    past: Past,
    refuted: usize,
}

impl Ladder {
    /// Tests these claims, the boldest first.
    pub fn new(claims: impl IntoIterator<Item = ClaimedCurve>, significance: Significance) -> Ladder {
        let level = significance.spend();
        let standing = claims.into_iter().map(|claim| Book::new(claim, level)).collect();
        Ladder { standing, past: Past::default(), refuted: 0 }
    }

    /// The claims that ε is at most `step`, 2·`step`, … `rungs`·`step`.
    pub fn of_epsilons(
        step: Epsilon,
        rungs: Count,
        delta: Delta,
        significance: Significance,
    ) -> Result<Ladder, Refusal> {
        if !(step.get() > 0.0 && step.get() * rungs.as_f64() < 700.0) {
            return Err(Refusal::out_of_range("step", step, "0 < step, and step × rungs < 700"));
        }
        let claims = (1..=rungs.get()).map(|rung| {
            let epsilon = Epsilon::new(step.get() * rung as f64)?;
            ClaimedCurve::new([(epsilon, delta)])
        });
        Ok(Ladder::new(claims.collect::<Result<Vec<_>, Refusal>>()?, significance))
    }

    /// One more pair, for every claim that still stands.
    pub fn observe(&mut self, inside: Option<f64>, outside: Option<f64>) -> Result<(), Refusal> {
        check(inside, outside)?;
        let seen = self.past.add(inside, outside);
        for book in &mut self.standing {
            book.settle(inside, outside);
            if let Some(seen) = &seen {
                book.bet(seen);
            }
        }
        while self.standing.front().is_some_and(Book::is_refuted) {
            self.standing.pop_front();
            self.refuted += 1;
        }
        Ok(())
    }

    /// How many claims are refuted, each with all before it.
    pub fn refuted(&self) -> usize {
        self.refuted
    }
}

fn check(inside: Option<f64>, outside: Option<f64>) -> Result<(), Refusal> {
    if inside.is_some_and(f64::is_nan) || outside.is_some_and(f64::is_nan) {
        return Err(Refusal::out_of_range("score", "not a number", "a number, or an infinity"));
    }
    Ok(())
}

/// The bets against one claim.
#[derive(Debug, Clone)]
struct Book {
    claim: ClaimedCurve,
    log_target: f64,
    bet: Option<Bet>,
    /// What each gambler has.
    log_wealth: [f64; GAMBLERS],
    is_refuted: bool,
}

impl Book {
    fn new(claim: ClaimedCurve, level: f64) -> Book {
        // A millionth more than needed covers the rounding of as many logarithms as there can be pairs.
        let log_target = -level.ln() + 1e-6;
        Book { claim, log_target, bet: None, log_wealth: [0.0; GAMBLERS], is_refuted: false }
    }

    fn settle(&mut self, inside: Option<f64>, outside: Option<f64>) {
        let Some(bet) = &self.bet else { return };
        let gains = bet.gains(inside, outside);
        let mut most = f64::NEG_INFINITY;
        for (wealth, gain) in self.log_wealth.iter_mut().zip(gains) {
            *wealth += gain;
            most = most.max(*wealth);
        }
        // All together have no more than the richest of them would have alone.
        self.is_refuted |= most >= self.log_target && self.log_wealth() >= self.log_target;
    }

    fn bet(&mut self, seen: &[Event]) {
        let against = seen.iter().filter_map(|event| Some((event, self.claim.nearest(event.seen)?)));
        let best = against.max_by(|(_, (_, a)), (_, (_, b))| a.total_cmp(b));
        self.bet = best.map(|(event, (allowed, _))| Bet::new(event, allowed, &self.claim));
    }

    fn is_refuted(&self) -> bool {
        self.is_refuted
    }

    fn log_wealth(&self) -> f64 {
        let most = self.log_wealth.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = self.log_wealth.iter().map(|wealth| (wealth - most).exp()).sum();
        most + (sum / GAMBLERS as f64).ln()
    }
}

/// A guess, and what a pair of trials wins by it: the likelihood ratio of the rates that were seen over those that the claim
/// allows and that are hardest to tell from them.
///
/// Write A and B for the mean gains of a trial without and with the canary. Both are linear in the true rates, and so is (A + B)/2;
/// over all rates that the claim allows it is largest at a corner of the curve. Where it is at most 1, so is A·B ≤ ((A + B)/2)².
#[derive(Debug, Clone, Copy)]
struct Bet {
    guess: Guess,
    /// The logarithm of what each gambler has after the pair for what it had before, by false alarm or none, and miss or none.
    gains: [[[f64; GAMBLERS]; 2]; 2],
}

impl Bet {
    fn new(event: &Event, allowed: Rates, claim: &ClaimedCurve) -> Bet {
        let ratios = |seen: f64, allowed: f64| [seen / allowed, (1.0 - seen) / (1.0 - allowed)];
        let alarm = ratios(event.seen.alarms, allowed.alarms);
        let miss = ratios(event.seen.misses, allowed.misses);
        let mean = |rate: f64, [yes, no]: [f64; 2]| rate * yes + (1.0 - rate) * no;
        let of = |rates: &Rates| 0.5 * (mean(rates.alarms, alarm) + mean(rates.misses, miss));
        let most = claim.corners().iter().map(of).fold(1.0, f64::max) * FAIR;
        let gain = |alarm: f64, miss: f64| {
            STAKES.map(|stake| (stake * (alarm * miss / (most * most) - 1.0)).ln_1p())
        };
        Bet { guess: event.guess, gains: alarm.map(|alarm| miss.map(|miss| gain(alarm, miss))) }
    }

    fn gains(&self, inside: Option<f64>, outside: Option<f64>) -> [f64; GAMBLERS] {
        let (alarm, miss) = (self.guess.says_in(outside), !self.guess.says_in(inside));
        self.gains[usize::from(!alarm)][usize::from(!miss)]
    }
}

/// What is guessed of a trial. One that failed is an outcome like any other: a crash may tell.
#[derive(Debug, Clone, Copy)]
struct Guess {
    threshold: f64,
    failed_is_in: bool,
}

impl Guess {
    fn says_in(self, score: Option<f64>) -> bool {
        score.map_or(self.failed_is_in, |score| score > self.threshold)
    }
}

/// All scores so far.
#[derive(Debug, Clone, Default)]
struct Past {
    pairs: usize,
    inside: Vec<f64>,
    outside: Vec<f64>,
    next: usize,
}

/// A guess, and how often either error was made by it.
struct Event {
    guess: Guess,
    seen: Rates,
}

impl Past {
    /// One more pair; what was seen, when it is time to bet anew: after every sixteenth more of the past.
    fn add(&mut self, inside: Option<f64>, outside: Option<f64>) -> Option<Vec<Event>> {
        self.inside.extend(inside);
        self.outside.extend(outside);
        self.pairs += 1;
        if self.pairs < self.next.max(WATCHED) {
            return None;
        }
        self.next = self.pairs + 1 + self.pairs / 16;
        Some(self.events())
    }

    fn events(&self) -> Vec<Event> {
        let sorted = |scores: &[f64]| {
            let mut sorted = scores.to_vec();
            sorted.sort_by(f64::total_cmp);
            sorted
        };
        let (inside, outside) = (sorted(&self.inside), sorted(&self.outside));
        let (failed_in, failed_out) = (self.pairs - inside.len(), self.pairs - outside.len());
        // Half an error more than was seen: no event is bet on as if it could not fail.
        let rate = |errors: usize| (errors as f64 + 0.5) / (self.pairs as f64 + 1.0);
        let event = |threshold: f64, failed_is_in: bool| {
            let at_most = |scores: &[f64]| scores.partition_point(|score| *score <= threshold);
            let (alarms, misses) = if failed_is_in { (failed_out, 0) } else { (0, failed_in) };
            let seen = Rates {
                alarms: rate(outside.len() - at_most(&outside) + alarms),
                misses: rate(at_most(&inside) + misses),
            };
            Event { guess: Guess { threshold, failed_is_in }, seen }
        };
        let thresholds = candidates(&inside, &outside);
        let mut events: Vec<Event> = thresholds.iter().map(|threshold| event(*threshold, false)).collect();
        if failed_in + failed_out > 0 {
            events.extend(thresholds.iter().map(|threshold| event(*threshold, true)));
            // By the failures alone.
            events.extend([event(f64::INFINITY, true), event(f64::NEG_INFINITY, false)]);
        }
        events
    }
}

/// Thresholds at few, then ever more, errors from either end.
fn candidates(inside: &[f64], outside: &[f64]) -> Vec<f64> {
    let mut found = Vec::new();
    let mut rank = 0;
    while rank < inside.len().max(outside.len()) {
        found.extend(outside.iter().rev().nth(rank));
        // Just below, so that the score itself is found.
        found.extend(inside.get(rank).map(|score| score.next_down()));
        rank += 1 + rank / 5;
    }
    found
}
