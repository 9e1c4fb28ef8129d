//! A test that may stop as soon as it knows: bets against a claim, pair by pair, that nobody can win if it is true.
//!
//! Each pair of trials, one from either world, is a round. Before it, the past chooses a threshold and what to stake; if the claim
//! holds, the gambler's wealth is a fair game or worse, so it ever reaches 1/significance with chance ≤ significance.

use crate::claimed::{ClaimedCurve, Rates};
use std::collections::VecDeque;
use veracity_core::{Count, Delta, Epsilon, Refusal, Significance};

/// Rounds that are watched before the first bet.
const WATCHED: usize = 4;
/// How many gamblers there are; each begins with the same share of the wealth.
const GAMBLERS: usize = 3;
/// Which part of what it has each of them stakes in a round.
const STAKES: [f64; GAMBLERS] = [1.0, 0.6, 0.25];
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
///     test.observe(score(World::In), score(World::Out))?;
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

    /// One more pair: the score of a trial with the canary and of one without.
    pub fn observe(&mut self, inside: f64, outside: f64) -> Result<(), Refusal> {
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
        self.past.inside.len() as u64
    }

    /// The logarithm of what one unit of wealth has become.
    pub fn log_wealth(&self) -> f64 {
        self.book.log_wealth()
    }
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
///     ladder.observe(1.0, 0.0)?;
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
    pub fn observe(&mut self, inside: f64, outside: f64) -> Result<(), Refusal> {
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

fn check(inside: f64, outside: f64) -> Result<(), Refusal> {
    if inside.is_nan() || outside.is_nan() {
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
    log_best: f64,
}

impl Book {
    fn new(claim: ClaimedCurve, level: f64) -> Book {
        Book { claim, log_target: -level.ln(), bet: None, log_wealth: [0.0; GAMBLERS], log_best: 0.0 }
    }

    fn settle(&mut self, inside: f64, outside: f64) {
        let Some(bet) = &self.bet else { return };
        let gain = bet.gain(inside, outside);
        for (wealth, stake) in self.log_wealth.iter_mut().zip(STAKES) {
            *wealth += if stake < 1.0 { (stake * gain.exp_m1()).ln_1p() } else { gain };
        }
        self.log_best = self.log_best.max(self.log_wealth());
    }

    fn bet(&mut self, seen: &[Event]) {
        let against = seen.iter().filter_map(|event| Some((event, self.claim.nearest(event.seen)?)));
        let best = against.max_by(|(_, (_, a)), (_, (_, b))| a.total_cmp(b));
        self.bet = best.map(|(event, (allowed, _))| Bet::new(event, allowed, &self.claim));
    }

    fn is_refuted(&self) -> bool {
        // A millionth more than needed covers the rounding of as many logarithms as there can be pairs.
        self.log_best >= self.log_target + 1e-6
    }

    fn log_wealth(&self) -> f64 {
        let most = self.log_wealth.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = self.log_wealth.iter().map(|wealth| (wealth - most).exp()).sum();
        most + (sum / GAMBLERS as f64).ln()
    }
}

/// A threshold, and what a pair of trials wins by it: the likelihood ratio of the rates that were seen over those that the claim
/// allows and that are hardest to tell from them.
///
/// Write A and B for the mean gains of a trial without and with the canary. Both are linear in the true rates, and so is (A + B)/2;
/// over all rates that the claim allows it is largest at a corner of the curve. Where it is at most 1, so is A·B ≤ ((A + B)/2)².
#[derive(Debug, Clone, Copy)]
struct Bet {
    threshold: f64,
    /// The logarithm of what a false alarm wins, and what none wins.
    alarm: [f64; 2],
    /// The logarithm of what a miss wins, and what none wins.
    miss: [f64; 2],
}

impl Bet {
    fn new(event: &Event, allowed: Rates, claim: &ClaimedCurve) -> Bet {
        let ratios = |seen: f64, allowed: f64| [seen / allowed, (1.0 - seen) / (1.0 - allowed)];
        let alarm = ratios(event.seen.alarms, allowed.alarms);
        let miss = ratios(event.seen.misses, allowed.misses);
        let mean = |rate: f64, [yes, no]: [f64; 2]| rate * yes + (1.0 - rate) * no;
        let of = |rates: &Rates| 0.5 * (mean(rates.alarms, alarm) + mean(rates.misses, miss));
        let most = claim.corners().iter().map(of).fold(1.0, f64::max) * FAIR;
        let fair = |ratios: [f64; 2]| ratios.map(|ratio| (ratio / most).ln());
        Bet { threshold: event.threshold, alarm: fair(alarm), miss: fair(miss) }
    }

    fn gain(&self, inside: f64, outside: f64) -> f64 {
        let [alarm, none] = self.alarm;
        let [miss, found] = self.miss;
        (if outside > self.threshold { alarm } else { none })
            + (if inside > self.threshold { found } else { miss })
    }
}

/// All scores so far.
#[derive(Debug, Clone, Default)]
struct Past {
    inside: Vec<f64>,
    outside: Vec<f64>,
    next: usize,
}

/// A threshold, and how often either error was made at it.
struct Event {
    threshold: f64,
    seen: Rates,
}

impl Past {
    /// One more pair; what was seen, when it is time to bet anew: after every sixteenth more of the past.
    fn add(&mut self, inside: f64, outside: f64) -> Option<Vec<Event>> {
        self.inside.push(inside);
        self.outside.push(outside);
        let pairs = self.inside.len();
        if pairs < self.next.max(WATCHED) {
            return None;
        }
        self.next = pairs + 1 + pairs / 16;
        Some(self.events())
    }

    fn events(&self) -> Vec<Event> {
        let sorted = |scores: &[f64]| {
            let mut sorted = scores.to_vec();
            sorted.sort_by(f64::total_cmp);
            sorted
        };
        let (inside, outside) = (sorted(&self.inside), sorted(&self.outside));
        let n = inside.len() as f64;
        // Half an error more than was seen: no event is bet on as if it could not fail.
        let rate = |errors: usize| (errors as f64 + 0.5) / (n + 1.0);
        let event = |threshold: f64| {
            let at_most = |scores: &[f64]| scores.partition_point(|score| *score <= threshold);
            let seen = Rates {
                alarms: rate(outside.len() - at_most(&outside)),
                misses: rate(at_most(&inside)),
            };
            Event { threshold, seen }
        };
        candidates(&inside, &outside).into_iter().map(event).collect()
    }
}

/// Thresholds at few, then ever more, errors from either end.
fn candidates(inside: &[f64], outside: &[f64]) -> Vec<f64> {
    let mut found = Vec::new();
    let mut rank = 0;
    while rank < inside.len() {
        found.push(outside[outside.len() - 1 - rank]);
        // Just below, so that the score itself is found.
        found.push(inside[rank].next_down());
        rank += 1 + rank / 5;
    }
    found
}
