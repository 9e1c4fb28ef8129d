//! A test that may stop as soon as it knows: bets against a claim, pair by pair, that nobody can win if it is true.
//!
//! Each pair of trials, one from either world, is a round. Before it, the past chooses an event and a stake; if the claim
//! holds, the gambler's wealth is a fair game or worse, so it ever reaches 1/significance with chance ≤ significance.

use std::collections::VecDeque;
use veracity_core::{Count, Delta, Epsilon, Lower, Refusal, Significance};

/// Rounds that are watched before the first bet.
const WATCHED: usize = 8;
/// The largest part of what keeps wealth above zero that is staked.
const BOLDEST: f64 = 0.95;

/// A test of one claim of (ε, δ)-privacy at any time.
///
/// # Promise    If the claim holds, it is ever refuted with chance at most the significance, whenever one stops looking.
/// # Reference  \[Ville39\]; \[WaudbySmithRamdas24\] (betting)
/// # Assumes    Pairs are independent of each other, and the two trials of a pair too
///
/// # Examples
///
/// A test that may stop as soon as it knows:
///
/// ```
/// use veracity_audit::{Idealised, AuditSubject, World, bound::sequential::Test};
/// use veracity_core::{Count, Delta, Epsilon, NoiseMultiplier, SamplingRate, Significance};
///
/// let subject = Idealised::honest(SamplingRate::new(1.0)?, NoiseMultiplier::new(0.3)?, Count::ONE);
/// let mut test = Test::new(Epsilon::new(0.5)?, Delta::new(1e-5)?, Significance::new(0.01)?);
/// let mut trial = 0;
/// while !test.is_refuted() && trial < 4_000 {
///     let mut score = |world| {
///         trial += 1;
///         subject.run(trial, &[world]).map(|scores| scores[0]).unwrap_or(0.0)
///     };
///     test.observe(score(World::In), score(World::Out))?;
/// }
/// assert!(test.is_refuted() && test.pairs() < 500);
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
#[derive(Debug, Clone)]
pub struct Test {
    book: Book,
    past: Past,
}

impl Test {
    /// Begins a test of the claim.
    pub fn new(epsilon: Epsilon, delta: Delta, significance: Significance) -> Test {
        Test { book: Book::new(epsilon.get(), delta.get(), significance.spend()), past: Past::default() }
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

    /// The logarithm of what one unit of wealth has become, half of it bet on either direction.
    pub fn log_wealth(&self) -> f64 {
        self.book.log_wealth()
    }
}

/// A lower bound on ε that holds at all times together, from tests of a ladder of claims.
///
/// The bound is the highest rung up to which every claim is refuted. It exceeds the truth only if the lowest rung at or
/// above the truth is refuted, and that is one true claim: the ladder costs nothing more than a single test.
///
/// # Promise    It is ever above the truth with chance at most the significance.
///
/// # Examples
///
/// ```
/// use veracity_audit::bound::sequential::Sequence;
/// use veracity_core::{Count, Delta, Epsilon, Significance};
///
/// let (step, rungs) = (Epsilon::new(0.25)?, Count::new(40)?);
/// let mut sequence = Sequence::new(step, rungs, Delta::new(1e-5)?, Significance::new(0.05)?)?;
/// let mut before = Epsilon::ZERO;
/// for _ in 0..300 {
///     sequence.observe(1.0, 0.0)?;
///     // The bound may be looked at after every pair. It never falls.
///     assert!(sequence.epsilon_lower().0 >= before);
///     before = sequence.epsilon_lower().0;
/// }
/// assert!(before.get() > 1.0);
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
#[derive(Debug, Clone)]
pub struct Sequence {
    /// The claims that still stand, ascending.
    standing: VecDeque<(Epsilon, Book)>,
    past: Past,
    shown: Epsilon,
}

impl Sequence {
    /// Rungs at `step`, 2·`step`, … up to `rungs`·`step`.
    pub fn new(
        step: Epsilon,
        rungs: Count,
        delta: Delta,
        significance: Significance,
    ) -> Result<Sequence, Refusal> {
        if !(step.get() > 0.0 && step.get() * rungs.as_f64() < 700.0) {
            return Err(Refusal::out_of_range("step", step, "0 < step, and step × rungs < 700"));
        }
        let level = significance.spend();
        let standing = (1..=rungs.get()).map(|rung| {
            let epsilon = Epsilon::new(step.get() * rung as f64)?;
            Ok((epsilon, Book::new(epsilon.get(), delta.get(), level)))
        });
        let standing = standing.collect::<Result<_, Refusal>>()?;
        Ok(Sequence { standing, past: Past::default(), shown: Epsilon::ZERO })
    }

    /// One more pair, for every claim that still stands.
    pub fn observe(&mut self, inside: f64, outside: f64) -> Result<(), Refusal> {
        check(inside, outside)?;
        let seen = self.past.add(inside, outside);
        for (_, book) in &mut self.standing {
            book.settle(inside, outside);
            if let Some(seen) = &seen {
                book.bet(seen);
            }
        }
        while self.standing.front().is_some_and(|(_, book)| book.is_refuted()) {
            if let Some((epsilon, _)) = self.standing.pop_front() {
                self.shown = epsilon;
            }
        }
        Ok(())
    }

    /// What has been shown so far.
    pub fn epsilon_lower(&self) -> Lower<Epsilon> {
        Lower(self.shown)
    }

    /// How many pairs were seen.
    pub fn pairs(&self) -> u64 {
        self.past.inside.len() as u64
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
    growth: f64,
    delta: f64,
    log_target: f64,
    gamblers: [Gambler; 2],
    log_best: f64,
}

impl Book {
    fn new(epsilon: f64, delta: f64, level: f64) -> Book {
        let gambler = |direction| Gambler { direction, bet: None, log_wealth: 0.0 };
        Book {
            growth: epsilon.exp(),
            delta,
            log_target: -level.ln(),
            gamblers: [gambler(Direction::High), gambler(Direction::Low)],
            log_best: 0.0,
        }
    }

    fn settle(&mut self, inside: f64, outside: f64) {
        for gambler in &mut self.gamblers {
            gambler.settle(inside, outside, self.growth, self.delta);
        }
        self.log_best = self.log_best.max(self.log_wealth());
    }

    fn bet(&mut self, seen: &[Seen; 2]) {
        for (gambler, seen) in self.gamblers.iter_mut().zip(seen) {
            gambler.bet = seen.best_bet(self.growth, self.delta);
        }
    }

    fn is_refuted(&self) -> bool {
        // A millionth more than needed covers the rounding of as many logarithms as there can be pairs.
        self.log_best >= self.log_target + 1e-6
    }

    fn log_wealth(&self) -> f64 {
        let [first, second] = &self.gamblers;
        veracity_numerics::logspace::log_add(first.log_wealth, second.log_wealth) - std::f64::consts::LN_2
    }
}

/// Bets on one direction of the claim: on what is seen above a threshold in the first world rather than the second.
#[derive(Debug, Clone)]
struct Gambler {
    direction: Direction,
    bet: Option<Bet>,
    log_wealth: f64,
}

/// Which world is bet on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    /// High scores are likelier with the canary than allowed.
    High,
    /// Low scores are likelier without it than allowed.
    Low,
}

/// The event {score > threshold}, and the stake.
#[derive(Debug, Clone, Copy)]
struct Bet {
    threshold: f64,
    stake: f64,
}

impl Gambler {
    /// Wins or loses the bet: X = 1{first world in the event} − e^ε 1{second world in it} − δ has no positive mean under the
    /// claim, and 1 + stake·X stays above zero.
    fn settle(&mut self, inside: f64, outside: f64, growth: f64, delta: f64) {
        let Some(bet) = self.bet else { return };
        let (first, second) = self.direction.ordered(inside, outside);
        let seen = |score: f64| if score > bet.threshold { 1.0 } else { 0.0 };
        let gain = seen(first) - growth * seen(second) - delta;
        self.log_wealth += (bet.stake * gain).ln_1p();
    }
}

impl Direction {
    /// The score of the world that is bet on, then the other; turned around so that high scores speak for the first.
    fn ordered(self, inside: f64, outside: f64) -> (f64, f64) {
        match self {
            Direction::High => (inside, outside),
            Direction::Low => (-outside, -inside),
        }
    }
}

/// All scores so far.
#[derive(Debug, Clone, Default)]
struct Past {
    inside: Vec<f64>,
    outside: Vec<f64>,
    next: usize,
}

impl Past {
    /// One more pair; what was seen, when it is time to bet anew: after every eighth more of the past.
    fn add(&mut self, inside: f64, outside: f64) -> Option<[Seen; 2]> {
        self.inside.push(inside);
        self.outside.push(outside);
        let pairs = self.inside.len();
        if pairs < self.next.max(WATCHED) {
            return None;
        }
        self.next = pairs + 1 + pairs / 8;
        Some([self.seen(Direction::High), self.seen(Direction::Low)])
    }

    fn seen(&self, direction: Direction) -> Seen {
        let pairs = self.inside.iter().zip(&self.outside).map(|(i, o)| direction.ordered(*i, *o));
        let (mut first, mut second): (Vec<f64>, Vec<f64>) = pairs.unzip();
        for scores in [&mut first, &mut second] {
            scores.sort_by(|a, b| b.total_cmp(a));
        }
        let n = first.len() as f64 + 1.0;
        let event = |threshold: f64| {
            let above = |scores: &[f64]| scores.partition_point(|score| *score > threshold) as f64;
            // Half an error more than was seen: no event is bet on as if it could not fail.
            Event { threshold, hit: above(&first) / n, miss: (above(&second) + 0.5) / n }
        };
        Seen(candidates(&first, &second).into_iter().map(event).collect())
    }
}

/// Events to bet on in one direction.
struct Seen(Vec<Event>);

/// A threshold, and how often either world was above it.
struct Event {
    threshold: f64,
    hit: f64,
    miss: f64,
}

impl Seen {
    /// The event and stake under which wealth would have grown most.
    fn best_bet(&self, growth: f64, delta: f64) -> Option<Bet> {
        let mut best: Option<(f64, Bet)> = None;
        // An event that the claim allows has no stake at which wealth grows.
        for event in self.0.iter().filter(|event| event.hit > growth * event.miss + delta) {
            let (rate, stake) = best_stake(event.hit, event.miss, growth, delta);
            if rate > best.map_or(0.0, |(rate, _)| rate) {
                best = Some((rate, Bet { threshold: event.threshold, stake }));
            }
        }
        best.map(|(_, bet)| bet)
    }
}

/// Thresholds at few, then ever more, errors from either end.
fn candidates(first: &[f64], second: &[f64]) -> Vec<f64> {
    let mut found = Vec::new();
    let mut rank = 0;
    while rank < second.len() {
        found.push(second[rank]);
        found.push(first[first.len() - 1 - rank.min(first.len() - 1)]);
        rank += 1 + rank / 5;
    }
    found
}

/// The stake with the best growth of wealth if the event has these chances, and that growth.
fn best_stake(hit: f64, miss: f64, growth: f64, delta: f64) -> (f64, f64) {
    let most = BOLDEST / (growth + delta);
    let rate = |stake: f64| {
        let log = |gain: f64| (stake * (gain - delta)).ln_1p();
        hit * (1.0 - miss) * log(1.0)
            + hit * miss * log(1.0 - growth)
            + (1.0 - hit) * miss * log(-growth)
            + (1.0 - hit) * (1.0 - miss) * log(0.0)
    };
    // The growth is concave in the stake: thirds narrow it down.
    let (mut low, mut high) = (0.0, most);
    for _ in 0..24 {
        let (a, b) = (low + (high - low) / 3.0, high - (high - low) / 3.0);
        if rate(a) < rate(b) { low = a } else { high = b }
    }
    let stake = 0.5 * (low + high);
    (rate(stake), stake)
}
