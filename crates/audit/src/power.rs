//! Before anything is run: how many trials would refute a claim, and the most that so many trials could show.
//!
//! Trials are half with the canary and half without. Chances are exact binomial sums for the bound that assumes nothing.

use crate::{
    ClaimedCurve, Declared, Method, Rates,
    against::{self, LEAST_NOISE},
    bound::{
        clopper_pearson::ErrorRates,
        many_runs::IdealRuns,
        one_run::Guesses,
        one_run_fdp, profile,
        trade_off::{Kind, Limits},
    },
    method::PARTS,
    threshold::Choice,
};
use veracity_core::numerics::{binomial, normal, root};
use veracity_core::{Count, Delta, Epsilon, GdpMu, Probability, Refusal, Significance};

/// The most trials that are planned for.
const MOST: u64 = 10_000_000;
/// Outcomes rarer than this are left out of a sum; the chance is then understated.
const RARE: f64 = 1e-12;
/// Pairs that a sequential test loses before its bets are good.
const UNBET: f64 = 5.0;
/// The part of the trials that would do as well at the best threshold as all of them do at the one that their half chooses; simulated.
const SPLIT: f64 = 0.92;
/// Numbers of errors are judged in about so many blocks, each by its worst end; below that many, one by one.
const BLOCKS: u64 = 96;

/// What the mechanism might really be.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Truth {
    /// A Gaussian mechanism; the attacker may choose among all thresholds.
    Gaussian(GdpMu),
    /// Randomized response: the leakiest mechanism with this ε at δ = 0, and one event to look at.
    Pure(Epsilon),
}

impl Truth {
    /// The Gaussian mechanism with this ε at this δ.
    ///
    /// # Errors
    /// An ε and a δ that no Gaussian mechanism within reach has.
    pub fn gaussian(epsilon: Epsilon, delta: Delta) -> Result<Truth, Refusal> {
        if !(delta.get() > 0.0 && epsilon.get() > 0.0 && epsilon.get() <= 500.0) {
            return Err(Refusal::Invalid(format!(
                "no Gaussian mechanism has epsilon {epsilon} at delta {delta}, expected 0 < epsilon ≤ 500 and delta > 0"
            )));
        }
        let leaks_less = |mu: f64| profile::epsilon_at_least(mu, delta.get()) < epsilon.get();
        Ok(Truth::Gaussian(GdpMu::new(root::bisect(0.0, 64.0, 1e-12, leaks_less).holds)?))
    }

    /// The chances of a false alarm and a miss, at thresholds worth looking at.
    fn attacks(self) -> Vec<ErrorRates> {
        match self {
            Truth::Gaussian(mu) => (-100..=100)
                .map(|i| mu.get() / 2.0 + f64::from(i) * 0.06)
                .map(|threshold| ErrorRates {
                    false_positive: normal::cdf(-threshold),
                    false_negative: normal::cdf(threshold - mu.get()),
                })
                .collect(),
            Truth::Pure(epsilon) => {
                let error = 1.0 / (1.0 + epsilon.get().exp());
                vec![ErrorRates { false_positive: error, false_negative: error }]
            }
        }
    }
}

/// What a plan needs and can do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Plan {
    /// All trials, half of them with the canary.
    pub trials: Count,
    /// The chance that they refute the claim.
    pub chance: Probability,
    /// The most that they could show.
    pub ceiling: Epsilon,
}

/// The claim to be refuted and how it is tried.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trial {
    /// The ε claimed.
    pub claim: Epsilon,
    /// Its δ.
    pub delta: Delta,
    /// How the threshold comes about.
    pub choice: Choice,
}

/// The fewest trials, within 1 %, that refute the claim with at least this chance if this is the truth.
///
/// # Promise    With that many trials the chance is at least as stated, for an attacker who counts at the best threshold of
/// a fine grid. Where trials choose the threshold, it is assumed that they find that one; folds and unions count one
/// of their looks only, so they do better.
/// # Numerics   Exact sums over both counts, rounded down: outcomes rarer than 1e-12 are left out, and where there are many,
/// neighbouring numbers of errors are judged by the worst of them
///
/// # Examples
///
/// How many models must be trained to see that ε is 4 where 1 was claimed?
///
/// ```
/// use veracity_audit::{Choice, power::{Trial, Truth, needed}};
/// use veracity_core::{Delta, Epsilon, Probability, Significance};
///
/// let delta = Delta::new(1e-5)?;
/// let trial = Trial { claim: Epsilon::new(1.0)?, delta, choice: Choice::Fixed(0.0) };
/// let ask = |epsilon, chance| {
///     let truth = Truth::gaussian(Epsilon::new(epsilon)?, delta)?;
///     needed(trial, truth, Probability::new(chance)?, Significance::new(0.05)?)
/// };
/// let plan = ask(4.0, 0.8)?;
/// assert!(plan.chance.get() >= 0.8 && plan.ceiling.get() > 1.0);
/// // A truth that is farther from the claim is seen sooner, and more certainty takes more trials.
/// assert!(ask(8.0, 0.8)?.trials < plan.trials && ask(4.0, 0.95)?.trials > plan.trials);
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
///
/// # Errors
/// A claim that holds for this truth, or more trials than can be counted.
pub fn needed(
    trial: Trial,
    truth: Truth,
    chance: Probability,
    significance: Significance,
) -> Result<Plan, Refusal> {
    let level = significance.spend();
    let wanted = chance.get();
    if !(wanted < 1.0) {
        return Err(Refusal::out_of_range("probability", wanted, "0 ≤ probability < 1"));
    }
    let most = truth.attacks().iter().map(|rates| rates.epsilon(trial.delta.get(), 1.0)).fold(0.0, f64::max);
    if !(most > trial.claim.get()) {
        return Err(Refusal::Invalid(format!(
            "a claim of epsilon {} is true for that mechanism, so no number of trials refutes it; use a smaller claim or a larger true \
             epsilon",
            trial.claim
        )));
    }
    let reached = |pairs: u64| Judge::new(trial, pairs, level).map(|judge| judge.chance(truth) >= wanted);
    let (mut few, mut enough) = (1, 2);
    while !reached(enough)? {
        (few, enough) = (enough, enough * 2);
        if enough > MOST / 2 {
            return Err(Refusal::Invalid(format!(
                "refuting epsilon {} needs more than {MOST} trials; use a smaller claim or a larger true epsilon",
                trial.claim
            )));
        }
    }
    while enough - few > 1 + enough / 200 {
        let middle = few + (enough - few) / 2;
        if reached(middle)? { enough = middle } else { few = middle }
    }
    plan_of(trial, truth, enough, level)
}

/// The power of this many trials: the chance that they refute the claim, and the most that they could show.
///
/// # Errors
/// Fewer than 2 or more than 10^7 trials, or folds outside 2 to 100.
pub fn plan(trial: Trial, truth: Truth, trials: Count, significance: Significance) -> Result<Plan, Refusal> {
    if !(2..=MOST).contains(&trials.get()) {
        return Err(Refusal::out_of_range("trials", trials.get(), "2 ≤ trials ≤ 1e7"));
    }
    plan_of(trial, truth, trials.get() / 2, significance.spend())
}

/// The largest part of the declared noise that so many trials catch with this chance, were no more noise added than that: by an attacker
/// who tells the worlds apart as well as the mechanism lets anyone. None where no part is. Each run has `canaries` of the observations.
///
/// # Numerics  About: exact sums at the best threshold for Clopper–Pearson; for bets and for guesses at both ends what is expected, with
/// normal and binomial spreads around it
///
/// # Errors
/// A method without a theorem for so many canaries, or a part of the noise that has no curve.
pub fn caught(
    method: Method,
    (observations, canaries): (Count, Count),
    declared: &dyn Declared,
    chance: Probability,
    significance: Significance,
) -> Result<Option<f64>, Refusal> {
    let level = significance.spend();
    let group = method.group();
    let claim = declared.with_noise(1.0)?.for_group(group)?;
    let reached = |part: f64| -> Result<bool, Refusal> {
        let truth = declared.with_noise(part)?.for_group(group)?;
        let seen = (observations.get(), canaries.get());
        Ok(chance_against(method, seen, &claim, &truth, level)? >= chance.get())
    };
    // Little noise takes the accountant long, so the search goes down from what is declared.
    let (mut caught, mut missed) = (1.0, 1.0);
    loop {
        caught = f64::max(0.75 * caught, LEAST_NOISE);
        match reached(caught)? {
            true => break,
            false if caught == LEAST_NOISE => return Ok(None),
            false => missed = caught,
        }
    }
    while missed - caught > 0.005 * caught {
        let middle = f64::sqrt(caught * missed);
        if reached(middle)? { caught = middle } else { missed = middle }
    }
    Ok(Some(caught))
}

/// The fewest observations, within a few percent, that catch this part of the declared noise with this chance.
///
/// # Errors
/// A part of the noise that no number of trials catches.
pub fn needed_for_noise(
    method: Method,
    canaries: Count,
    part: f64,
    declared: &dyn Declared,
    chance: Probability,
    significance: Significance,
) -> Result<Count, Refusal> {
    let level = significance.spend();
    if !(part > 0.0 && part < 1.0) {
        return Err(Refusal::out_of_range("part of the noise", part, "more than 0 and less than 1"));
    }
    let group = method.group();
    let claim = declared.with_noise(1.0)?.for_group(group)?;
    let truth = declared.with_noise(part)?.for_group(group)?;
    let reached = |n: u64| {
        Ok::<_, Refusal>(chance_against(method, (n, canaries.get()), &claim, &truth, level)? >= chance.get())
    };
    let (mut few, mut enough) = (2u64, 4u64);
    while !reached(enough)? {
        (few, enough) = (enough, enough * 2);
        if enough > 64 * MOST {
            return Err(Refusal::invalid(format!(
                "detecting noise at {part}× declared needs more than {} trials; require a smaller multiple",
                64 * MOST
            )));
        }
    }
    while enough - few > 1 + enough / 50 {
        let middle = few.midpoint(enough);
        if reached(middle)? { enough = middle } else { few = middle }
    }
    Count::new(enough)
}

/// The chance that the claim falls if `truth` is the curve of what runs, half of the observations in either world.
fn chance_against(
    method: Method,
    (observations, canaries): (u64, u64),
    claim: &ClaimedCurve,
    truth: &ClaimedCurve,
    level: f64,
) -> Result<f64, Refusal> {
    let pairs = observations / 2;
    if pairs < 2 {
        return Ok(0.0);
    }
    let attacks = rates_on(truth);
    let told = |rates: &Rates| claim.nearest(*rates).map_or(0.0, |(_, told)| told);
    let best = attacks.iter().copied().max_by(|a, b| told(a).total_cmp(&told(b)));
    let Some(best) = best.filter(|rates| told(rates) > 0.0) else { return Ok(0.0) };
    match method {
        Method::Threshold { choice, .. } | Method::Gaussian { choice } => {
            let trial = Trial { claim: Epsilon::ZERO, delta: Delta::ZERO, choice };
            // Worlds are coins, so that one of them has fewer trials than the other.
            let fewer = pairs as f64 - 0.65 * (observations as f64).sqrt();
            // One half of the trials finds a threshold near the best one, not the best one itself.
            let pairs = if choice == Choice::Split { SPLIT * fewer } else { fewer } as u64;
            let judge = Judge::new(trial, pairs.max(1), level)?;
            let rates = ErrorRates { false_positive: best.alarms, false_negative: best.misses };
            Ok(judge.chance_of(rates, |alarms, misses| claim.broken_by(alarms, misses).is_some()))
        }
        Method::Sequential { .. } => Ok(chance_of_bets(pairs as f64, best, claim, level)),
        Method::ManyCanaries { guessed } => chance_of_guesses(observations, guessed, claim, truth, level),
        Method::ManyRuns { .. } => {
            let canaries = canaries as f64;
            let runs = IdealRuns { runs: observations as f64 / canaries, canaries };
            Ok(against::chance_of_runs(runs, claim, truth, level))
        }
    }
}

/// Bets grow by the divergence a pair; finding the threshold and the odds costs about 0.65 ln n of it, as simulations have it.
fn chance_of_bets(pairs: f64, seen: Rates, claim: &ClaimedCurve, level: f64) -> f64 {
    // The first trials are not bet on, and no bet takes an error for less likely than half of one in the trials so far.
    let pairs = pairs - UNBET;
    if !(pairs > 1.0) {
        return 0.0;
    }
    let least = 1.0 / (pairs + 2.0);
    let seen = Rates { alarms: seen.alarms.max(least), misses: seen.misses.max(least) };
    let Some((allowed, told)) = claim.nearest(seen) else { return 0.0 };
    let spread = |p: f64, q: f64| p * (1.0 - p) * ((p / q).ln() - ((1.0 - p) / (1.0 - q)).ln()).powi(2);
    let variance = spread(seen.alarms, allowed.alarms) + spread(seen.misses, allowed.misses);
    let needed = -level.ln() + 0.65 * pairs.ln();
    normal::cdf((pairs * told - needed) / (pairs * variance).sqrt().max(f64::MIN_POSITIVE))
}

/// Guesses at both ends, each right as often as the truth lets it be.
fn chance_of_guesses(
    canaries: u64,
    guessed: Option<f64>,
    claim: &ClaimedCurve,
    truth: &ClaimedCurve,
    level: f64,
) -> Result<f64, Refusal> {
    // A quarter of the runs chooses the part, where none is fixed.
    let counted = if guessed.is_some() { canaries } else { canaries - canaries / 4 };
    let counted = counted.min(Guesses::MOST);
    let mut best = 0.0f64;
    for part in PARTS {
        let right = truth.most_right(part);
        let guesses = (part * counted as f64) as u64;
        let refutes = |correct: u64| {
            Ok::<_, Refusal>(one_run_fdp::refutes(Guesses::new(counted, guesses, correct)?, level, claim))
        };
        if guesses < 2 || !refutes(guesses)? {
            continue;
        }
        // More right guesses never refute less.
        let (mut stands, mut falls) = (0, guesses);
        while falls - stands > 1 {
            let middle = stands.midpoint(falls);
            if refutes(middle)? { falls = middle } else { stands = middle }
        }
        best = best.max(binomial::log_upper_tail(guesses, falls, right).exp());
    }
    Ok(best)
}

/// Rates along a curve, close enough for the best of them.
fn rates_on(curve: &ClaimedCurve) -> Vec<Rates> {
    let corners = curve.corners();
    let between = |pair: &[Rates]| {
        [0.0, 0.5].map(|part| Rates {
            alarms: pair[0].alarms + part * (pair[1].alarms - pair[0].alarms),
            misses: pair[0].misses + part * (pair[1].misses - pair[0].misses),
        })
    };
    let errs = |rates: Rates| Rates { alarms: rates.alarms.max(RARE), misses: rates.misses.max(RARE) };
    corners.windows(2).flat_map(between).map(errs).collect()
}

/// The most that this many trials, half of them with the canary, could show: an attacker who never errs.
///
/// # Examples
///
/// ```
/// use veracity_audit::{Choice, power::ceiling};
/// use veracity_core::{Count, Delta, Significance};
///
/// let (choice, delta) = (Choice::Fixed(0.0), Delta::new(1e-5)?);
/// let most = |trials| ceiling(Count::new(trials)?, choice, delta, Count::ONE, Significance::new(0.05)?);
/// // A hundred runs can never show an ε of 5, whatever leaks.
/// assert!(most(100)?.get() < 5.0);
/// assert!(most(10_000)?.get() > 5.0);
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
///
/// # Errors
/// Folds outside 2 to 100.
pub fn ceiling(
    trials: Count,
    choice: Choice,
    delta: Delta,
    group: Count,
    significance: Significance,
) -> Result<Epsilon, Refusal> {
    let trial = Trial { claim: Epsilon::ZERO, delta, choice };
    Ok(Judge::new(trial, trials.get() / 2, significance.spend())?.ceiling(group))
}

fn plan_of(trial: Trial, truth: Truth, pairs: u64, level: f64) -> Result<Plan, Refusal> {
    let judge = Judge::new(trial, pairs, level)?;
    Ok(Plan {
        trials: Count::new(2 * pairs)?,
        chance: Probability::new(judge.chance(truth))?,
        ceiling: judge.ceiling(Count::ONE),
    })
}

/// What is counted, and the limits that each number of errors has.
struct Judge {
    trial: Trial,
    /// Trials that are counted in either world.
    counted: u64,
    /// The level of one error rate.
    level: f64,
    /// Simultaneous limits, where all thresholds are looked at.
    band: Option<Limits>,
}

impl Judge {
    fn new(trial: Trial, pairs: u64, level: f64) -> Result<Judge, Refusal> {
        let half = level / 2.0;
        Ok(match trial.choice {
            Choice::Fixed(_) => Judge { trial, counted: pairs, level: half, band: None },
            Choice::Split => Judge { trial, counted: pairs - pairs / 2, level: half, band: None },
            Choice::Folds(folds) => {
                let k = crate::threshold::checked_folds(folds)? as u64;
                // The largest fold chooses.
                Judge { trial, counted: pairs - pairs.div_ceil(k), level: half / k as f64, band: None }
            }
            Choice::Union => {
                let band = Limits::new(Kind::Ranks, pairs, half);
                Judge { trial, counted: pairs, level: half, band: Some(band) }
            }
        })
    }

    /// What an error rate does not exceed when so many errors are seen.
    fn limit(&self, errors: u64) -> f64 {
        match &self.band {
            Some(band) => band.at(errors),
            None => binomial::upper_limit(errors, self.counted, self.level),
        }
    }

    fn ceiling(&self, group: Count) -> Epsilon {
        let fewest = ErrorRates { false_positive: self.limit(0), false_negative: self.limit(0) };
        Epsilon::new(fewest.epsilon(self.trial.delta.get(), group.as_f64())).unwrap_or(Epsilon::ZERO)
    }

    /// The chance of a refutation at the best threshold.
    fn chance(&self, truth: Truth) -> f64 {
        let attacks = truth.attacks();
        // The exact sums are slow, so only the most promising threshold is summed.
        let best = attacks.into_iter().max_by(|a, b| self.expected(*a).total_cmp(&self.expected(*b)));
        best.map_or(0.0, |rates| self.chance_at(rates))
    }

    /// What the bound would be at about the expected counts, a little on the unlucky side.
    fn expected(&self, rates: ErrorRates) -> f64 {
        let n = self.counted as f64;
        let limit = |rate: f64| {
            let spread = -normal::quantile(self.level) * (rate * (1.0 - rate) / n).sqrt();
            (rate + spread - self.level.ln() / (3.0 * n)).min(1.0)
        };
        let limits = ErrorRates {
            false_positive: limit(rates.false_positive),
            false_negative: limit(rates.false_negative),
        };
        limits.epsilon(self.trial.delta.get(), 1.0)
    }

    fn chance_at(&self, rates: ErrorRates) -> f64 {
        let claim = self.trial.claim.get();
        self.chance_of(rates, |alarms: f64, misses: f64| {
            let limits = ErrorRates { false_positive: alarms, false_negative: misses };
            limits.epsilon(self.trial.delta.get(), 1.0) > claim
        })
    }

    /// P[refuted] = Σ P[alarms in a block] P[misses ≤ what the block's worst end tolerates]: fewer errors never show less.
    fn chance_of(&self, rates: ErrorRates, refutes: impl Fn(f64, f64) -> bool) -> f64 {
        let n = self.counted;
        // The limits of the largest numbers of misses first: they fall as more alarms have to be made up for.
        let mut misses: Vec<(u64, f64)> =
            blocks(n, rates.false_negative).into_iter().map(|(_, most)| (most, self.limit(most))).collect();
        let mut chance = 0.0;
        for (fewest, most) in blocks(n, rates.false_positive) {
            let limit = self.limit(most);
            while misses.last().is_some_and(|(_, missed)| !refutes(limit, *missed)) {
                misses.pop();
            }
            let Some((tolerated, _)) = misses.last() else { break };
            let tail = binomial::log_lower_tail(n, *tolerated, rates.false_negative);
            chance += between(n, fewest, most, rates.false_positive) * tail.exp();
        }
        chance.min(1.0)
    }
}

/// P[fewest ≤ X ≤ most] for X ~ Bin(n, rate).
fn between(n: u64, fewest: u64, most: u64, rate: f64) -> f64 {
    (fewest..=most).map(|k| binomial::log_probability(n, k, rate).exp()).sum()
}

/// Blocks of numbers of errors, ascending, that leave out only what is too rare to matter.
fn blocks(n: u64, rate: f64) -> Vec<(u64, u64)> {
    let (first, last) = likely(n, rate);
    let width = (last - first) / BLOCKS + 1;
    (first..=last).step_by(width as usize).map(|from| (from, (from + width - 1).min(last))).collect()
}

/// The numbers of errors that are not too rare to matter.
fn likely(n: u64, rate: f64) -> (u64, u64) {
    let rare = RARE.ln();
    let middle = (n as f64 * rate) as u64;
    let search = |mut near: u64, mut far: u64, rare_at: &dyn Fn(u64) -> bool| {
        while near.abs_diff(far) > 1 {
            let between = near.midpoint(far);
            if rare_at(between) { far = between } else { near = between }
        }
        far
    };
    let low = search(middle, 0, &|k| binomial::log_lower_tail(n, k, rate) < rare);
    let high = search(middle, n, &|k| binomial::log_upper_tail(n, k, rate) < rare);
    (low, high)
}
