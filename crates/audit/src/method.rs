//! From observations to a lower bound: the method is chosen before any score is seen.

use crate::{
    Choice, Counts, Observation, Scores, World,
    bound::{FromCounts, Shown, one_run::Guesses, one_run_fdp},
    threshold::{self, ChosenThreshold},
};
use veracity_core::{Claim, Count, Delta, Refusal, Significance, Verdict, judge};

/// How scores become a lower bound on ε.
///
/// # Examples
///
/// Many canaries in a few runs, of which half are guessed:
///
/// ```
/// use veracity_audit::{Counted, Failure, Method, AuditSubject, World, observe, show};
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
/// assert!(matches!(evidence.counted, Counted::Ends { guesses, .. } if guesses.correct() == 200));
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
    /// # Reference  \[SteinkeNasrJagielski23\] for the game; \[MahloujifarMelisChaudhuri24\] for the bound, which pays less for δ
    ManyCanaries {
        /// Which part of the canaries is guessed, half of it at each end; where none is given the first quarter of the runs
        /// chooses, and the others are counted.
        guessed: Option<f64>,
    },
}

impl Method {
    /// The name used in files.
    pub fn name(self) -> &'static str {
        match self {
            Method::Threshold { .. } => "clopper-pearson",
            Method::Gaussian { .. } => "gdp",
            Method::ManyCanaries { .. } => "one-run",
        }
    }

    /// Refuses runs with another number of canaries than there is a theorem for.
    pub fn must_fit(self, canaries: u64) -> Result<(), Refusal> {
        let refuse = |why: &str| Err(Refusal::Invalid(why.to_owned()));
        match self {
            Method::Threshold { .. } if canaries > 1 => refuse(
                "a run holds several canaries, expected one for clopper-pearson: its guesses must be independent",
            ),
            Method::ManyCanaries { .. } if canaries < 2 => refuse(
                "a run holds one canary, expected several for one-run: a single one is in at every other run, by no coin",
            ),
            Method::Threshold { .. } | Method::Gaussian { .. } | Method::ManyCanaries { .. } => Ok(()),
        }
    }
}

/// What was counted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Counted {
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
}

/// What an audit saw, and what that shows.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Evidence {
    /// The lower bound, the most it could have been, and what it rests on.
    pub shown: Shown,
    /// The guesses that were counted.
    pub counted: Counted,
    /// The δ of the bound.
    pub delta: Delta,
    /// The chance of error that was spent.
    pub significance: f64,
}

impl Evidence {
    fn of(chosen: ChosenThreshold, delta: Delta, significance: f64) -> Evidence {
        let ChosenThreshold { shown, threshold, counts } = chosen;
        Evidence { shown, counted: Counted::Threshold { threshold, counts }, delta, significance }
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
        let Shown { epsilon: shown, ceiling, basis } = self.shown;
        if basis.may_refute() { judge(claim, shown, ceiling) } else { Verdict::NotRefuted { shown, ceiling } }
    }
}

/// Turns observations into a lower bound.
///
/// # Promise  Whatever the subject is, the bound exceeds the truth with chance at most `significance`, under what its basis
/// says
pub fn show(
    method: Method,
    observations: &[Observation],
    delta: Delta,
    significance: Significance,
) -> Result<Evidence, Refusal> {
    let keys = || observations.iter().map(|seen| (seen.trial, seen.canary));
    if !keys().zip(keys().skip(1)).all(|(one, next)| one < next) {
        return Err(Refusal::Invalid(
            "observations are out of order or double, expected each (trial, canary) once, in order".into(),
        ));
    }
    method.must_fit(observations.iter().map(|seen| u64::from(seen.canary) + 1).max().unwrap_or(0))?;
    let level = significance.level();
    match method {
        Method::Threshold { choice, group } => {
            let bound = FromCounts::ClopperPearson;
            let chosen = threshold::bound(&scores(observations)?, choice, bound, delta, group, significance)?;
            Ok(Evidence::of(chosen, delta, level))
        }
        Method::Gaussian { choice } => {
            let (scores, bound) = (scores(observations)?, FromCounts::Gdp);
            let chosen = threshold::bound(&scores, choice, bound, delta, Count::ONE, significance)?;
            Ok(Evidence::of(chosen, delta, level))
        }
        Method::ManyCanaries { guessed } => {
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
                    let (highest, lowest) = best_ends(&scores(choosing)?, counting.len(), delta, level)?;
                    (counting, highest, lowest)
                }
            };
            let guesses = Guesses::count(&scores(counting)?, highest, lowest)?;
            let shown = one_run_fdp::pointwise(guesses, delta, significance);
            Ok(Evidence {
                shown,
                counted: Counted::Ends { highest, lowest, guesses },
                delta,
                significance: level,
            })
        }
    }
}

fn scores(observations: &[Observation]) -> Result<Scores, Refusal> {
    let of = |world| observations.iter().filter(move |seen| seen.world == world).map(Observation::counted);
    Scores::new(of(World::In).collect(), of(World::Out).collect())
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
            let shown = one_run_fdp::pointwise(guesses, delta, Significance::new(level)?).epsilon.0.get();
            if shown > best.1 {
                best = ((*highest, *lowest), shown);
            }
        }
    }
    let scaled = |end: u64| (end as f64 * counted as f64 / total.max(1) as f64).floor() as u64;
    Ok((scaled(best.0.0), scaled(best.0.1)))
}
