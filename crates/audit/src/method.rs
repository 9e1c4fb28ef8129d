//! From observations to a lower bound: the method is chosen before any score is seen.

use crate::{
    Choice, ClaimedCurve, Counts, CurveTest, Declared, Observation, Scores, World, against,
    bound::{
        FromCounts, LowerBound,
        many_runs::{self, Tallies},
        one_per_run::{self, End, OnePerRun},
        one_run::Guesses,
        one_run_exact,
        sequential::{self, Rounds, ScoredTrial},
    },
    threshold::{self, ChosenThreshold},
};
use veracity_core::{Claim, Count, Delta, Lower, Refusal, Significance, Verdict};

/// Parts of the canaries of which one is guessed.
pub(crate) const PARTS: [f64; 7] = [1.0, 0.7, 0.5, 0.25, 0.1, 0.03, 0.01];
/// The part is chosen for a truth with this much of the declared noise.
pub(crate) const MISSED: f64 = 0.8;
/// What the best of many parts tells by luck alone, in units of e.
const LUCK: f64 = 3.0;

/// How scores become a lower bound on ε.
///
/// # Examples
///
/// Many canaries in a few runs, of which half are guessed:
///
/// ```
/// use veracity_audit::{CountSummary, Failure, Method, AuditSubject, World, observe, show};
/// use veracity_core::{Delta, Significance};
///
/// /// Sums in which each canary has a coordinate of its own, published without noise.
/// struct Plain;
/// impl AuditSubject for Plain {
///     fn canaries(&self) -> usize {
///         100
///     }
///     fn run(&self, _: u64, worlds: &[World]) -> Result<Vec<f64>, Failure> {
///         Ok(worlds.iter().map(|world| f64::from(u8::from(*world == World::In))).collect())
///     }
/// }
/// let outcomes = observe(&Plain, 1, &[0, 1, 2, 3], 1);
/// let observations: Vec<_> = outcomes.into_iter().flat_map(|outcome| outcome.observations).collect();
/// let method = Method::ManyCanaries { guessed: Some(0.5) };
/// let evidence = show(method, &observations, Delta::new(1e-5)?, Significance::new(0.05)?)?;
/// assert!(matches!(evidence.counted, CountSummary::Ends { guesses, .. } if guesses.correct() == 200));
/// assert_eq!(evidence.shown.epsilon.0, evidence.shown.ceiling);
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Method {
    /// One canary in a run: guesses by a threshold, exact limits on both error rates. Assumes nothing.
    Threshold {
        /// How the threshold is found.
        choice: Choice,
        /// How many records the two worlds differ by.
        group: Count,
    },
    /// Guesses by a threshold, and what they show if the mechanism is Gaussian; scores of one run's canaries count as
    /// independent, which Gaussian noise makes them.
    Gaussian {
        /// How the threshold is found.
        choice: Choice,
    },
    /// Many canaries in a run, each in or out by a coin of its own: the highest scores are guessed "in", the lowest "out".
    /// Assumes nothing; all runs together are one mechanism with all their canaries.
    ///
    /// # Reference  \[SteinkeNasrJagielski23\] for the game; [`one_run_exact`] for the bound
    ManyCanaries {
        /// Which part of the canaries is guessed, half of it at each end; where none is given the first quarter of the runs
        /// chooses, and the others are counted.
        guessed: Option<f64>,
    },
    /// Many canaries in each of many runs. Assumes nothing but that runs are as independent as Clopper–Pearson takes them to be;
    /// canaries of one run may depend on each other. A claimed curve is always tested by bets on runs.
    ManyRuns {
        /// Part that is guessed: of the canaries for [`RunGuesses::Past`], of the runs for [`RunGuesses::One`].
        guessed: f64,
        /// Which canaries of a run are guessed.
        rule: RunGuesses,
    },
    /// One canary in a run: bets against the claim, which may be watched and end as soon as it is refuted. Assumes nothing about the
    /// mechanism; [`Rounds`] says what it assumes about the worlds of the trials.
    Sequential {
        /// How many records the two worlds differ by.
        group: Count,
        /// What the bets are on.
        rounds: Rounds,
    },
}

/// Which canaries are guessed in each of many runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunGuesses {
    /// Those beyond thresholds from earlier runs, at both ends, by bets on what the guesses of a run come to.
    Past,
    /// One canary in each of the runs with the farthest scores at one end, by an exact test.
    One(End),
}

impl Method {
    /// The name used in files.
    pub fn name(self) -> &'static str {
        match self {
            Method::Threshold { .. } => "clopper-pearson",
            Method::Gaussian { .. } => "gdp",
            Method::ManyCanaries { .. } => "one-run",
            Method::ManyRuns { .. } => "many-runs",
            Method::Sequential { .. } => "sequential",
        }
    }

    /// How many records the two worlds differ by.
    pub fn group(self) -> Count {
        match self {
            Method::Threshold { group, .. } | Method::Sequential { group, .. } => group,
            Method::Gaussian { .. } | Method::ManyCanaries { .. } | Method::ManyRuns { .. } => Count::ONE,
        }
    }

    /// Whether a trial that failed is an outcome that may speak for the canary. Elsewhere it counts as a wrong guess.
    pub fn counts_failures(self) -> bool {
        match self {
            Method::Sequential { .. } => true,
            Method::Threshold { choice, .. } => choice == Choice::Split,
            // It refutes nothing, whatever failures say.
            Method::Gaussian { .. } => false,
            Method::ManyCanaries { .. } | Method::ManyRuns { .. } => false,
        }
    }

    /// Refuses runs with another number of canaries than there is a theorem for.
    ///
    /// # Errors
    /// A number of canaries that the method has no theorem for.
    pub fn must_fit(self, canaries: u64) -> Result<(), Refusal> {
        let refuse = |why: &str| Err(Refusal::Invalid(why.to_owned()));
        match self {
            Method::Threshold { .. } | Method::Sequential { .. } if canaries > 1 => refuse(&format!(
                "a run has several canaries, but {} needs one: its guesses must be independent",
                self.name()
            )),
            Method::ManyCanaries { .. } | Method::ManyRuns { .. } if canaries < 2 => {
                refuse(&format!("a run has one canary, but {} needs several", self.name()))
            }
            Method::Threshold { .. }
            | Method::Gaussian { .. }
            | Method::ManyCanaries { .. }
            | Method::ManyRuns { .. }
            | Method::Sequential { .. } => Ok(()),
        }
    }
}

/// What was counted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum CountSummary {
    /// Guesses above and below a threshold.
    Threshold {
        /// The score above which the attacker said "in".
        threshold: f64,
        /// How the guesses came out.
        counts: Counts,
    },
    /// Guesses at both ends of the ranking.
    Ends {
        /// How many of the highest scores were guessed "in".
        highest: u64,
        /// How many of the lowest were guessed "out".
        lowest: u64,
        /// How the guesses came out.
        guesses: Guesses,
    },
    /// Bets on trials.
    Bets {
        /// How many trials were looked at.
        trials: u64,
        /// The logarithm of what one unit of wealth became by bets against the claim.
        log_wealth: f64,
    },
}

/// What an audit saw, and what that shows.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Evidence {
    /// The lower bound, the most it could have been, and what it rests on.
    pub shown: LowerBound,
    /// The guesses that were counted.
    pub counted: CountSummary,
    /// The δ of the bound.
    pub delta: Delta,
    /// The chance of error that was spent.
    pub significance: f64,
}

impl Evidence {
    fn of(chosen: ChosenThreshold, delta: Delta, significance: f64) -> Evidence {
        let ChosenThreshold { shown, threshold, counts } = chosen;
        Evidence { shown, counted: CountSummary::Threshold { threshold, counts }, delta, significance }
    }

    /// What this evidence says of a claim at its δ. A bound that leans on an assumption refutes nothing: it may be the
    /// assumption that is false.
    ///
    /// # Examples
    ///
    /// A bound that leans on an assumption refutes nothing, however large:
    ///
    /// ```
    /// use veracity_audit::{Choice, Method, Observation, World, show};
    /// use veracity_core::{Adjacency, Claim, Count, Delta, Epsilon, Significance, Upper, Verdict};
    ///
    /// let observe = |trial: u64| {
    ///     let (world, score) = if trial % 2 == 0 { (World::In, 1.0) } else { (World::Out, 0.0) };
    ///     Observation { trial, canary: 0, world, score: Some(score) }
    /// };
    /// let observations: Vec<_> = (0..1_000).map(observe).collect();
    /// let delta = Delta::new(1e-5)?;
    /// let claim = Claim { epsilon: Upper(Epsilon::new(1.0)?), delta, adjacency: Adjacency::AddRemove };
    /// let choice = Choice::Fixed(0.5);
    ///
    /// let proved = Method::Threshold { choice, group: Count::ONE };
    /// let verdict = show(proved, &observations, delta, Significance::new(0.05)?)?.judge(&claim);
    /// assert!(matches!(verdict, Verdict::Refuted { .. }));
    ///
    /// let gaussian = show(Method::Gaussian { choice }, &observations, delta, Significance::new(0.05)?)?;
    /// assert!(gaussian.shown.epsilon.0.get() > 5.0);
    /// assert!(matches!(gaussian.judge(&claim), Verdict::NotRefuted { .. }));
    /// # Ok::<(), veracity_core::Refusal>(())
    /// ```
    pub fn judge(&self, claim: &Claim) -> Verdict {
        let LowerBound { epsilon: shown, ceiling, basis } = self.shown;
        if basis.may_refute() {
            veracity_core::judge(claim, shown, ceiling)
        } else {
            Verdict::NotRefuted { shown, ceiling }
        }
    }
}

/// What is claimed of a subject: a point (ε, δ), and the whole curve where a mechanism is claimed.
#[derive(Clone, Copy)]
pub struct ClaimUnderTest<'a> {
    /// The point.
    pub point: Claim,
    /// The mechanism behind it.
    pub declared: Option<&'a dyn Declared>,
}

impl From<Claim> for ClaimUnderTest<'_> {
    fn from(point: Claim) -> Self {
        ClaimUnderTest { point, declared: None }
    }
}

impl ClaimUnderTest<'_> {
    /// The curve of the claim for worlds that differ by so many records: that of the mechanism, or the two lines of the point.
    ///
    /// # Errors
    /// A group size that the mechanism has no curve for.
    pub fn curve(&self, group: Count) -> Result<ClaimedCurve, Refusal> {
        match self.declared {
            Some(declared) => declared.with_noise(1.0)?.for_group(group),
            None => ClaimedCurve::new([(self.point.epsilon.0, self.point.delta)])?.for_group(group),
        }
    }
}

/// What an audit says of a claim, and why.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Judgment {
    /// The lower bound on ε.
    pub evidence: Evidence,
    /// What the trials say of the whole curve, where it was looked at.
    pub against: Option<CurveTest>,
    /// Whether the claim is refuted.
    pub verdict: Verdict,
}

/// Judges a claim by observations: by its whole curve where a mechanism is claimed or bets are made, else by the lower bound on ε.
///
/// # Promise  A true claim is refuted with chance at most `significance`. The lower bound on ε and the limit on noise beside the
/// verdict hold with that chance of error each.
///
/// # Examples
///
/// A subject declares noise of 1 and adds half of it. Four hundred runs are enough to see it, where ε alone shows little:
///
/// ```
/// use veracity_audit::{ClaimUnderTest, ClaimedCurve, Declared, IdealAttacker, Method, judge, observe};
/// use veracity_audit::bound::sequential::Rounds;
/// use veracity_core::{Adjacency, Claim, Count, Delta, Epsilon, NoiseMultiplier, Refusal};
/// use veracity_core::{SamplingRate, Significance, Upper, Verdict};
/// use veracity_core::numerics::normal;
///
/// /// Gaussian noise of one sensitivity.
/// struct Gaussian;
/// impl Declared for Gaussian {
///     fn with_noise(&self, part: f64) -> Result<ClaimedCurve, Refusal> {
///         let mu = 1.0 / part;
///         let delta = |e: f64| normal::cdf(mu / 2.0 - e / mu) - e.exp() * normal::cdf(-mu / 2.0 - e / mu);
///         let pair = |e: f64| Ok((Epsilon::new(e)?, Delta::new((delta(e) * 1.001).clamp(0.0, 1.0))?));
///         ClaimedCurve::new((0..50).map(|i| pair(f64::from(i) * mu / 8.0)).collect::<Result<Vec<_>, Refusal>>()?)
///     }
/// }
/// let honest = IdealAttacker::honest(SamplingRate::new(1.0)?, NoiseMultiplier::new(1.0)?, Count::ONE);
/// let subject = honest.adding(NoiseMultiplier::new(0.5)?);
/// let outcomes = observe(&subject, 7, &(0..400).collect::<Vec<_>>(), 1);
/// let seen: Vec<_> = outcomes.into_iter().flat_map(|outcome| outcome.observations).collect();
///
/// let epsilon = Upper(Epsilon::new(4.3772)?);
/// let point = Claim { epsilon, delta: Delta::new(1e-5)?, adjacency: Adjacency::AddRemove };
/// let method = Method::Sequential { group: Count::ONE, rounds: Rounds::Trials };
/// let claimed = ClaimUnderTest { point, declared: Some(&Gaussian) };
/// let judged = judge(method, &seen, &claimed, Significance::new(0.01)?)?;
/// assert!(matches!(judged.verdict, Verdict::Refuted { .. }));
/// assert!(judged.against.is_some_and(|against| against.noise_at_most.is_some_and(|part| part <= 1.0)));
/// assert!(judged.evidence.shown.epsilon.0.get() < 4.0);
/// # Ok::<(), Refusal>(())
/// ```
///
/// # Errors
/// Observations that the method cannot take: of one world alone, or of another number of canaries.
pub fn judge(
    method: Method,
    observations: &[Observation],
    claimed: &ClaimUnderTest<'_>,
    significance: Significance,
) -> Result<Judgment, Refusal> {
    let level = significance.level();
    let (claim, group) = (claimed.point, method.group());
    let is_curve = claimed.declared.is_some() || matches!(method, Method::Sequential { .. });
    // What takes the mechanism for a Gaussian refutes nothing, by a curve or otherwise.
    let is_curve = is_curve && !matches!(method, Method::Gaussian { .. });
    let mut evidence = show(method, observations, claim.delta, significance.for_another())?;
    if !is_curve {
        let verdict = evidence.judge(&claim);
        return Ok(Judgment { evidence, against: None, verdict });
    }
    let curve = claimed.curve(group)?;
    let scaled = claimed
        .declared
        .filter(|declared| declared.has_noise())
        .map(|declared| move |part: f64| declared.with_noise(part)?.for_group(group));
    let noise: against::Noise<'_> = match &scaled {
        Some(scaled) => Some(scaled),
        None => None,
    };
    let against = match method {
        Method::Threshold { choice, .. } | Method::Gaussian { choice } => {
            against::by_threshold(&scores_for(observations, choice)?, choice, &curve, noise, significance)?
        }
        Method::Sequential { rounds, .. } => {
            against::by_bets(&BettingRounds::of(observations, rounds), &curve, noise, level)?
        }
        Method::ManyRuns { .. } => against::by_runs(observations, &curve, noise, level)?,
        Method::ManyCanaries { guessed } => {
            let ends = |choosing: &Scores, counted| loudest_ends(choosing, counted, &curve);
            // A part that was fixed for ε lies in the tail; a curve has a better one, which no trial has to tell.
            let guessed = match (guessed, noise) {
                (Some(_), Some(noise)) => Some(loudest_part(&curve, &noise(MISSED)?)),
                (guessed, _) => guessed,
            };
            against::by_guesses(guesses(observations, guessed, ends)?, &curve, noise, level)?
        }
    };
    let LowerBound { epsilon: shown, ceiling, .. } = evidence.shown;
    let verdict = match against {
        CurveTest { fallen: Some(_), .. } => Verdict::Refuted { shown },
        CurveTest { is_able: false, .. } => Verdict::CannotTell { shown, ceiling },
        CurveTest { .. } => {
            // Two statements, each with its own chance of error: the claim stands, so no more than it is said to be shown.
            evidence.shown.epsilon = Lower(if shown.0 > claim.epsilon.0 { claim.epsilon.0 } else { shown.0 });
            Verdict::NotRefuted { shown: evidence.shown.epsilon, ceiling }
        }
    };
    Ok(Judgment { evidence, against: Some(against), verdict })
}

/// Turns observations into a lower bound.
///
/// # Promise  Whatever the subject is, the bound exceeds the truth with chance at most `significance`, under what its basis
/// says
///
/// # Errors
/// Observations that the method cannot take: of one world alone, or of another number of canaries.
pub fn show(
    method: Method,
    observations: &[Observation],
    delta: Delta,
    significance: Significance,
) -> Result<Evidence, Refusal> {
    let keys = || observations.iter().map(|seen| (seen.trial, seen.canary));
    if !keys().zip(keys().skip(1)).all(|(one, next)| one < next) {
        return Err(Refusal::Invalid("observations must have each (trial, canary) once and in order".into()));
    }
    method.must_fit(observations.iter().map(|seen| u64::from(seen.canary) + 1).max().unwrap_or(0))?;
    let level = significance.level();
    match method {
        Method::Threshold { choice, group } => {
            let (scores, bound) = (scores_for(observations, choice)?, FromCounts::ClopperPearson);
            let chosen = threshold::bound(&scores, choice, bound, delta, group, significance)?;
            Ok(Evidence::of(chosen, delta, level))
        }
        Method::Gaussian { choice } => {
            let (scores, bound) = (scores_for(observations, choice)?, FromCounts::Gdp);
            let chosen = threshold::bound(&scores, choice, bound, delta, Count::ONE, significance)?;
            Ok(Evidence::of(chosen, delta, level))
        }
        Method::ManyCanaries { guessed } => {
            let ends = |choosing: &Scores, counted| best_ends(choosing, counted, delta, level);
            let (guesses, highest, lowest) = guesses(observations, guessed, ends)?;
            let shown = one_run_exact::bound(guesses, delta, significance);
            let counted = CountSummary::Ends { highest, lowest, guesses };
            Ok(Evidence { shown, counted, delta, significance: level })
        }
        Method::ManyRuns { guessed, rule: RunGuesses::One(end) } => {
            let seen = OnePerRun::count(observations, guessed, end)?;
            let guesses = seen.guesses();
            let (highest, lowest) = match end {
                End::Highest => (guesses.guesses(), 0),
                End::Lowest => (0, guesses.guesses()),
            };
            let shown = one_per_run::bound(seen, delta, significance);
            let counted = CountSummary::Ends { highest, lowest, guesses };
            Ok(Evidence { shown, counted, delta, significance: level })
        }
        Method::ManyRuns { guessed, rule: RunGuesses::Past } => {
            let tallies = Tallies::of(observations, guessed)?;
            let (highest, lowest, guesses) = tallies.counted();
            let shown = many_runs::bound(&tallies, delta, significance);
            let counted = CountSummary::Ends { highest, lowest, guesses };
            Ok(Evidence { shown, counted, delta, significance: level })
        }
        Method::Sequential { group, rounds } => {
            let bettable = BettingRounds::of(observations, rounds);
            let shown = sequential::bound(bettable.rounds(), delta, group, significance)?;
            let counted = CountSummary::Bets { trials: bettable.trials() as u64, log_wealth: 0.0 };
            Ok(Evidence { shown, counted, delta, significance: level })
        }
    }
}

/// Trials in the rounds that are bet on, in the order of the trials.
pub(crate) struct BettingRounds {
    seen: Vec<ScoredTrial>,
    /// How many trials are a round.
    size: usize,
}

impl BettingRounds {
    /// Each trial by itself, or the first of either world, then the second of both, and so on: what is left over in one world is then
    /// not looked at.
    pub(crate) fn of(observations: &[Observation], rounds: Rounds) -> BettingRounds {
        let seen = |told: &Observation| (told.world, told.score);
        match rounds {
            Rounds::Trials => BettingRounds { seen: observations.iter().map(seen).collect(), size: 1 },
            Rounds::Pairs => {
                let of = |world| observations.iter().filter(move |told| told.world == world).map(seen);
                let pairs = of(World::In).zip(of(World::Out));
                BettingRounds {
                    seen: pairs.flat_map(|(inside, outside)| [inside, outside]).collect(),
                    size: 2,
                }
            }
        }
    }

    pub(crate) fn trials(&self) -> usize {
        self.seen.len()
    }

    pub(crate) fn rounds(&self) -> impl ExactSizeIterator<Item = &[ScoredTrial]> + Clone {
        self.seen.chunks_exact(self.size)
    }
}

/// Guesses at both ends of the ranking: so many as a fixed part says, or as `ends` finds best on the first quarter of the runs.
fn guesses(
    observations: &[Observation],
    guessed: Option<f64>,
    ends: impl Fn(&Scores, usize) -> Result<(u64, u64), Refusal>,
) -> Result<(Guesses, u64, u64), Refusal> {
    let (counting, highest, lowest) = match guessed {
        Some(part) if part > 0.0 && part <= 1.0 => {
            let end = (part * observations.len() as f64 / 2.0).floor() as u64;
            (observations, end, end)
        }
        Some(part) => return Err(Refusal::out_of_range("guessed", part, "0 < guessed ≤ 1")),
        None => {
            let (choosing, counting) = first_quarter(observations);
            if choosing.is_empty() {
                let range = "at least 4, so that a quarter of them can choose how many are guessed";
                return Err(Refusal::out_of_range("trials", "fewer than 4", range));
            }
            let (highest, lowest) = ends(&scores(choosing)?, counting.len())?;
            (counting, highest, lowest)
        }
    };
    Ok((Guesses::count(&scores(counting)?, highest, lowest)?, highest, lowest))
}

/// Scores as they count where nobody has chosen what a failure says: a run that failed is a wrong guess, whatever the threshold.
fn scores(observations: &[Observation]) -> Result<Scores, Refusal> {
    Scores::in_order(observations.iter().map(|seen| (seen.world, seen.counted())))
}

/// Scores for a choice of the threshold. Where the first half of the trials chooses, it also chooses what a failure says in either
/// world: a run that fails is an outcome like any other, and one that fails more often with the canary tells of it.
fn scores_for(observations: &[Observation], choice: Choice) -> Result<Scores, Refusal> {
    if choice != Choice::Split || observations.iter().all(|seen| seen.score.is_some()) {
        return scores(observations);
    }
    let choosing = &observations[..observations.len() / 2];
    let failing = |world| {
        let of_world = || choosing.iter().filter(|seen| seen.world == world);
        of_world().filter(|seen| seen.score.is_none()).count() as f64 / of_world().count().max(1) as f64
    };
    let says = if failing(World::In) > failing(World::Out) { f64::INFINITY } else { f64::NEG_INFINITY };
    Scores::in_order(observations.iter().map(|seen| (seen.world, seen.score.unwrap_or(says))))
}

/// The observations of the first quarter of the trials, and the others.
fn first_quarter(observations: &[Observation]) -> (&[Observation], &[Observation]) {
    let mut trials: Vec<u64> = observations.iter().map(|seen| seen.trial).collect();
    trials.dedup();
    let first_counted = trials.get(trials.len() / 4).copied().unwrap_or(0);
    observations.split_at(observations.partition_point(|seen| seen.trial < first_counted))
}

/// How many guesses at each end would have shown most on `choosing`, scaled to so many canaries.
fn best_ends(choosing: &Scores, counted: usize, delta: Delta, level: f64) -> Result<(u64, u64), Refusal> {
    let total = choosing.trials();
    let mut ends = vec![0];
    let mut end = 4;
    while end <= total / 2 {
        ends.push(end);
        end += 1 + end / 2;
    }
    // Where nothing shows, a tenth is guessed: what could have been shown is told by guesses that are made.
    let mut best = ((total / 20, total / 20), 0.0);
    for highest in &ends {
        for lowest in &ends {
            let guesses = Guesses::count(choosing, *highest, *lowest)?;
            // Nothing is shown by these canaries; they only say how the others are looked at.
            let shown = one_run_exact::bound(guesses, delta, Significance::new(level)?).epsilon.0.get();
            if shown > best.1 {
                best = ((*highest, *lowest), shown);
            }
        }
    }
    let scaled = |end: u64| (end as f64 * counted as f64 / total.max(1) as f64).floor() as u64;
    Ok((scaled(best.0.0), scaled(best.0.1)))
}

/// The part of canaries whose guesses tell most against a claim, were `truth` what runs. It depends on no score.
fn loudest_part(claim: &ClaimedCurve, truth: &ClaimedCurve) -> f64 {
    let told = |part: f64| part * crate::claimed::divergence(truth.most_right(part), claim.most_right(part));
    PARTS.into_iter().max_by(|a, b| told(*a).total_cmp(&told(*b))).unwrap_or(1.0)
}

/// How many guesses at each end tell most against a claimed curve on `choosing`, scaled to so many canaries.
fn loudest_ends(choosing: &Scores, counted: usize, claim: &ClaimedCurve) -> Result<(u64, u64), Refusal> {
    let total = choosing.trials();
    // Half of the canaries, unless another part tells more than luck would.
    let mut best = (total / 4, LUCK);
    let mut end = 4;
    while end <= total / 2 {
        let guesses = Guesses::count(choosing, end, end)?;
        let part = 2.0 * end as f64 / total as f64;
        let right = guesses.correct() as f64 / (guesses.guesses() as f64 + 1.0);
        let allowed = claim.most_right(part);
        if right > allowed {
            let told = guesses.guesses() as f64 * crate::claimed::divergence(right, allowed);
            if told > best.1 {
                best = (end, told);
            }
        }
        end += 1 + end / 4;
    }
    let scaled = (best.0 as f64 * counted as f64 / total.max(1) as f64).floor() as u64;
    Ok((scaled, scaled))
}
