//! A test that may stop at any time: bets against a claim, trial by trial, that win nothing on average if the claim is true.
//!
//! Before each trial, the past chooses a threshold and a stake. The trial's world is a fair coin that nobody has tossed before the bet is
//! placed. If the claim holds, the wealth is a nonnegative supermartingale, so it ever reaches 1/significance with probability at
//! most the significance \[Ville39\].
//!
//! # Why drift does no harm
//!
//! Fix a trial and everything that happened before it. Let α be the probability of a false alarm in this trial if the canary is out, and
//! β the probability of a miss if it is in: both may depend on the past in any way. The claim allows (α, β). A bet pays
//! r(alarm or none)/m if the coin falls on "out" and r′(miss or none)/m if it falls on "in". With A(α) and B(β) for the means of r and
//! r′, the mean of the payment is (A(α) + B(β))/2m, since the coin is fair whatever the past is. A and B are linear, so their sum is
//! largest at a corner of what the claim allows, and m is that maximum or more. The mean is at most 1. ∎
//!
//! No two trials are compared with each other: a level of the scores that changes over time changes α and β together, within the claim.
//! A test of pairs, one trial of each world, does compare trials of different times. It is kept for scores that somebody else has
//! recorded ([`Test::observe_pair`]), where no coin is known, and assumes that they are independent.

use super::{Basis, LowerBound};
use crate::{ClaimedCurve, Rates, Scores, World};
use std::collections::VecDeque;
use veracity_core::{Count, Delta, Epsilon, Lower, Refusal, Significance};

/// Trials that are watched before the first bet.
const WATCHED: usize = 8;
/// How many gamblers there are; each begins with the same share of the wealth.
const GAMBLERS: usize = 3;
/// Which part of its wealth each of them stakes on a trial.
const STAKES: [f64; GAMBLERS] = [1.0, 0.6, 0.25];
/// The distance of the rungs of a ladder of ε.
const STEP: f64 = 0.05;
/// Covers the rounding of the mean of a bet under the claim.
const FAIR: f64 = 1.0 + 1e-9;

/// What the bets of a sequential test are on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rounds {
    /// Each trial by itself. Its world must be a fair coin, independent of all that happened before; scores may drift and depend on
    /// earlier trials.
    Trials,
    /// Pairs of trials, one of each world, for recorded scores. The trials must be independent of each other and of their order.
    Pairs,
}

/// A test of one claim at any time.
///
/// # Promise    If the claim holds, the test ever refutes it with probability at most the significance, whenever you stop.
/// # Reference  \[Ville39\]; \[WaudbySmithRamdas24\] (betting); \[TurnerGrunwald23\] (two streams of coins and a convex claim)
/// # Assumes    [`observe`](Test::observe): given all that happened before, the world of a trial is a fair coin, and the run satisfies the
/// claim. [`observe_pair`](Test::observe_pair): all trials are independent
///
/// # Examples
///
/// A test that stops as soon as the claim is refuted:
///
/// ```
/// use veracity_audit::{ClaimedCurve, IdealAttacker, bound::sequential::Test, observe_one};
/// use veracity_core::{Count, Delta, Epsilon, NoiseMultiplier, SamplingRate, Significance};
///
/// let subject = IdealAttacker::honest(SamplingRate::new(1.0)?, NoiseMultiplier::new(0.3)?, Count::ONE);
/// let claim = ClaimedCurve::new([(Epsilon::new(0.5)?, Delta::new(1e-5)?)])?;
/// let mut test = Test::new(claim, Significance::new(0.01)?);
/// let mut trial = 0;
/// while !test.is_refuted() && trial < 4_000 {
///     let seen = observe_one(&subject, 1, trial).observations[0];
///     test.observe(seen.world, seen.score)?;
///     trial += 1;
/// }
/// assert!(test.is_refuted() && test.trials() < 200);
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
#[derive(Debug, Clone)]
pub struct Test {
    book: Book,
    past: History,
}

impl Test {
    /// Begins a test of the claim.
    pub fn new(claim: ClaimedCurve, significance: Significance) -> Test {
        Test { book: Book::new(claim, significance.spend()), past: History::default() }
    }

    /// Adds the score of a trial whose world a fair coin has chosen; no score if the trial failed.
    ///
    /// # Errors
    /// A score that is not a number is refused.
    pub fn observe(&mut self, world: World, score: Option<f64>) -> Result<(), Refusal> {
        self.add(&[(world, score)])
    }

    /// Adds a pair of independent trials, one of each world.
    ///
    /// # Errors
    /// A score that is not a number is refused.
    pub fn observe_pair(&mut self, inside: Option<f64>, outside: Option<f64>) -> Result<(), Refusal> {
        self.add(&[(World::In, inside), (World::Out, outside)])
    }

    pub(crate) fn add(&mut self, round: &[ScoredTrial]) -> Result<(), Refusal> {
        check(round)?;
        self.book.settle(round);
        if let Some(events) = self.past.add(round) {
            self.book.bet(&events);
        }
        Ok(())
    }

    /// Whether the claim is refuted; once it is, it stays so.
    pub fn is_refuted(&self) -> bool {
        self.book.is_refuted()
    }

    /// How many trials were seen.
    pub fn trials(&self) -> u64 {
        self.past.trials() as u64
    }

    /// The logarithm of what one unit of wealth has become.
    pub fn log_wealth(&self) -> f64 {
        self.book.log_wealth()
    }
}

/// The world of a trial and its score; no score if the trial failed.
pub(crate) type ScoredTrial = (World, Option<f64>);

/// A lower bound on ε that holds at all times together: the highest rung of a ladder of claims, each 0.05 above the last, up to which
/// all are refuted. See [`Ladder`] for why many claims cost no more than one.
pub(crate) fn bound<'a>(
    rounds: impl ExactSizeIterator<Item = &'a [ScoredTrial]> + Clone,
    delta: Delta,
    group: Count,
    significance: Significance,
) -> Result<LowerBound, Refusal> {
    let level = significance.spend();
    let trials: usize = rounds.clone().map(<[ScoredTrial]>::len).sum();
    // A trial without error multiplies the wealth by about 1 + e^−ε at most.
    let needed = (-level.ln() / trials.max(1) as f64).exp_m1();
    let highest = ((-needed.ln()).max(0.0) / group.as_f64() / STEP).ceil() as u64;
    let claim = |rung: u64| ClaimedCurve::new([(Epsilon::new(STEP * rung as f64)?, delta)])?.for_group(group);
    let mut refuted = 0;
    while refuted < highest
        && bet(&claim(refuted + 1)?, rounds.clone().map(|round| round.to_vec()), level)?.is_refuted()
    {
        refuted += 1;
    }
    // The same worlds with scores that never err: a higher claim never falls more easily.
    let is_able = |rung: u64| -> Result<bool, Refusal> {
        let sure = rounds.clone().map(|round| round.iter().copied().map(without_error).collect());
        Ok(bet(&claim(rung)?, sure, level)?.is_refuted())
    };
    let (mut able, mut unable) = (refuted, highest + 1);
    while unable - able > 1 {
        let middle = able.midpoint(unable);
        if is_able(middle)? { able = middle } else { unable = middle }
    }
    Ok(LowerBound {
        epsilon: Lower(Epsilon::new(STEP * refuted as f64)?),
        ceiling: Epsilon::new(STEP * able as f64)?,
        basis: Basis::Proved,
    })
}

/// A test of these rounds, up to the refutation if there is one.
pub(crate) fn bet(
    claim: &ClaimedCurve,
    rounds: impl Iterator<Item = Vec<ScoredTrial>>,
    level: f64,
) -> Result<Test, Refusal> {
    let mut test = Test::new(claim.clone(), Significance::new(level)?);
    for round in rounds {
        test.add(&round)?;
        if test.is_refuted() {
            break;
        }
    }
    Ok(test)
}

/// The same trial with a score that shows its world.
pub(crate) fn without_error((world, _): ScoredTrial) -> ScoredTrial {
    (world, Some(if world == World::In { 1.0 } else { 0.0 }))
}

/// The same bound from recorded scores, paired in their order.
///
/// # Assumes  All trials are independent
///
/// # Errors
/// A score that is not a number.
pub fn epsilon_lower(
    scores: &Scores,
    delta: Delta,
    significance: Significance,
) -> Result<LowerBound, Refusal> {
    let pairs: Vec<[ScoredTrial; 2]> = scores
        .inside()
        .iter()
        .zip(scores.outside())
        .map(|(inside, outside)| [(World::In, Some(*inside)), (World::Out, Some(*outside))])
        .collect();
    bound(pairs.iter().map(|pair| &pair[..]), delta, Count::ONE, significance)
}

/// Claims in an order in which each is implied by those after it, all tested on the same trials: the last one up to which every
/// claim is refuted.
///
/// To report too much, the ladder must refute the first of the claims that are true, which it ever does with probability at most the
/// significance: many claims cost no more than one.
///
/// # Promise    It ever reports too much with probability at most the significance.
/// # Assumes    What [`Test`] assumes
///
/// # Examples
///
/// ```
/// use veracity_audit::{World, bound::sequential::Ladder, worlds};
/// use veracity_core::{Count, Delta, Epsilon, Significance};
///
/// let (step, rungs) = (Epsilon::new(0.25)?, Count::new(40)?);
/// let mut ladder = Ladder::of_epsilons(step, rungs, Delta::new(1e-5)?, Significance::new(0.05)?)?;
/// let mut before = 0;
/// for trial in 0..600 {
///     let world = worlds(1, trial, 1)[0];
///     ladder.observe(world, Some(if world == World::In { 1.0 } else { 0.0 }))?;
///     // You may look after every trial, and the bound never falls.
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
    past: History,
    refuted: usize,
}

impl Ladder {
    /// Tests these claims, the boldest first.
    pub fn new(claims: impl IntoIterator<Item = ClaimedCurve>, significance: Significance) -> Ladder {
        let level = significance.spend();
        let standing = claims.into_iter().map(|claim| Book::new(claim, level)).collect();
        Ladder { standing, past: History::default(), refuted: 0 }
    }

    /// The claims that ε is at most `step`, 2·`step`, … `rungs`·`step`.
    ///
    /// # Errors
    /// A step of 0, or a last rung that is no ε.
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

    /// Adds the score of a trial whose world a fair coin has chosen; no score if the trial failed.
    ///
    /// # Errors
    /// A score that is not a number is refused.
    pub fn observe(&mut self, world: World, score: Option<f64>) -> Result<(), Refusal> {
        self.add(&[(world, score)])
    }

    fn add(&mut self, round: &[ScoredTrial]) -> Result<(), Refusal> {
        check(round)?;
        let events = self.past.add(round);
        for book in &mut self.standing {
            book.settle(round);
            if let Some(events) = &events {
                book.bet(events);
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

fn check(round: &[ScoredTrial]) -> Result<(), Refusal> {
    if round.iter().any(|(_, score)| score.is_some_and(f64::is_nan)) {
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
        // A millionth more than needed covers the rounding of as many logarithms as there can be trials.
        let log_target = -level.ln() + 1e-6;
        Book { claim, log_target, bet: None, log_wealth: [0.0; GAMBLERS], is_refuted: false }
    }

    /// Pays for a round: only after the whole of a pair its mean is known to be at most 1.
    fn settle(&mut self, round: &[ScoredTrial]) {
        let Some(bet) = &self.bet else { return };
        for seen in round {
            for (wealth, gain) in self.log_wealth.iter_mut().zip(bet.gains(*seen)) {
                *wealth += gain;
            }
        }
        let most = self.log_wealth.iter().copied().fold(f64::NEG_INFINITY, f64::max);
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

/// A guess, and the payment for a trial: the likelihood ratio of the rates that were seen over the closest rates that the claim
/// allows, divided by its largest mean under the claim (see the module).
///
/// A gambler who stakes the part s of its wealth has 1 + s (payment − 1) times as much after a trial, whose mean is at most 1 too. Over a
/// pair of independent trials the mean is at most (1 + s (A/m − 1)) (1 + s (B/m − 1)) ≤ 1, by the inequality of the means.
#[derive(Debug, Clone, Copy)]
struct Bet {
    guess: Guess,
    /// The logarithm of what each gambler has after a trial without the canary for what it had before: by false alarm or none.
    outside: [[f64; GAMBLERS]; 2],
    /// The same with the canary: by miss or none.
    inside: [[f64; GAMBLERS]; 2],
}

impl Bet {
    fn new(event: &Event, allowed: Rates, claim: &ClaimedCurve) -> Bet {
        let ratios = |seen: f64, allowed: f64| [seen / allowed, (1.0 - seen) / (1.0 - allowed)];
        let alarm = ratios(event.seen.alarms, allowed.alarms);
        let miss = ratios(event.seen.misses, allowed.misses);
        let mean = |rate: f64, [yes, no]: [f64; 2]| rate * yes + (1.0 - rate) * no;
        let of = |rates: &Rates| 0.5 * (mean(rates.alarms, alarm) + mean(rates.misses, miss));
        let most = claim.corners().iter().map(of).fold(1.0, f64::max) * FAIR;
        let gain = |ratio: f64| STAKES.map(|stake| (stake * (ratio / most - 1.0)).ln_1p());
        Bet { guess: event.guess, outside: alarm.map(gain), inside: miss.map(gain) }
    }

    fn gains(&self, (world, score): ScoredTrial) -> [f64; GAMBLERS] {
        let says_in = self.guess.says_in(score);
        match world {
            World::Out => self.outside[usize::from(!says_in)],
            World::In => self.inside[usize::from(says_in)],
        }
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

/// All trials so far.
#[derive(Debug, Clone, Default)]
struct History {
    ins: usize,
    outs: usize,
    /// The scores of the trials that did not fail.
    inside: Vec<f64>,
    outside: Vec<f64>,
    next: usize,
}

/// A guess, and how often either error was made by it.
struct Event {
    guess: Guess,
    seen: Rates,
}

impl History {
    fn trials(&self) -> usize {
        self.ins + self.outs
    }

    /// Adds a round; the events to choose the next bet from, after every sixteenth more of the past.
    fn add(&mut self, round: &[ScoredTrial]) -> Option<Vec<Event>> {
        for (world, score) in round {
            let (count, scores) = match world {
                World::In => (&mut self.ins, &mut self.inside),
                World::Out => (&mut self.outs, &mut self.outside),
            };
            *count += 1;
            scores.extend(*score);
        }
        if self.trials() < self.next.max(WATCHED) {
            return None;
        }
        self.next = self.trials() + 1 + self.trials() / 16;
        Some(self.events())
    }

    fn events(&self) -> Vec<Event> {
        let sorted = |scores: &[f64]| {
            let mut sorted = scores.to_vec();
            sorted.sort_by(f64::total_cmp);
            sorted
        };
        let (inside, outside) = (sorted(&self.inside), sorted(&self.outside));
        let (failed_in, failed_out) = (self.ins - inside.len(), self.outs - outside.len());
        // Half an error more than was seen: no event is bet on as if it could not fail.
        let rate = |errors: usize, trials: usize| (errors as f64 + 0.5) / (trials as f64 + 1.0);
        let event = |threshold: f64, failed_is_in: bool| {
            let at_most = |scores: &[f64]| scores.partition_point(|score| *score <= threshold);
            let (alarms, misses) = if failed_is_in { (failed_out, 0) } else { (0, failed_in) };
            let seen = Rates {
                alarms: rate(outside.len() - at_most(&outside) + alarms, self.outs),
                misses: rate(at_most(&inside) + misses, self.ins),
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
