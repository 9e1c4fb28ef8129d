//! What is audited: anything that can be run with and without its canaries and leaves a score for each.
//!
//! A trial is known by its number alone: with the audit's seed it fixes which canaries are in and all that is drawn, so
//! any shard of the trials, run anywhere and any number of times, gives the same scores.

use std::fmt;
use veracity_core::Refusal;
use veracity_noise::{Bits, Entropy, Key, Purpose};

/// Whether a canary is in the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum World {
    /// It is.
    In,
    /// It is not.
    Out,
}

impl World {
    /// The name used in files.
    pub fn name(self) -> &'static str {
        match self {
            World::In => "in",
            World::Out => "out",
        }
    }
}

/// Something to be audited: its runs may leak whether a canary was in the dataset.
///
/// # Examples
///
/// A subject of your own: a sum that is published without noise.
///
/// ```
/// use veracity_audit::{Failure, AuditSubject, World, observe_one};
///
/// struct Plain;
/// impl AuditSubject for Plain {
///     fn run(&self, trial: u64, worlds: &[World]) -> Result<Vec<f64>, Failure> {
///         if trial == 3 {
///             return Err(Failure::Run("out of memory".into()));
///         }
///         Ok(worlds.iter().map(|world| if *world == World::In { 1.0 } else { 0.0 }).collect())
///     }
/// }
/// let told = observe_one(&Plain, 1, 2).observations[0];
/// assert_eq!(told.score, Some(if told.world == World::In { 1.0 } else { 0.0 }));
/// // A run that failed has no score.
/// let failed = observe_one(&Plain, 1, 3);
/// assert_eq!((failed.observations[0].score, failed.failure), (None, Some(Failure::Run("out of memory".into()))));
/// ```
pub trait AuditSubject: Sync {
    /// How many canaries one run holds, at least 1. Each is in or out by a coin of its own.
    fn canaries(&self) -> usize {
        1
    }

    /// Runs trial `trial` with the canaries that `worlds` has in, and returns the attacker's score for each: the higher, the
    /// more it speaks for "in". The same trial and worlds give the same scores.
    ///
    /// # Errors
    /// The failure of the trial, which is an outcome and is counted.
    fn run(&self, trial: u64, worlds: &[World]) -> Result<Vec<f64>, Failure>;

    /// How many trials it should be given at once. Where that is more than one, they are given to [`AuditSubject::run_many`], and no
    /// more than [`UNDER_WAY`] such portions are under way.
    fn portion(&self) -> usize {
        1
    }

    /// Runs several trials, each in its worlds: what [`AuditSubject::run`] returns of each, in their order.
    fn run_many(&self, trials: &[u64], worlds: &[Vec<World>]) -> Vec<Result<Vec<f64>, Failure>> {
        trials.iter().zip(worlds).map(|(trial, worlds)| self.run(*trial, worlds)).collect()
    }
}

/// How many portions of a subject that takes many trials at once are under way: while one is run, another is scored.
pub const UNDER_WAY: usize = 2;

/// Why a run left no score, in one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// The run itself failed: an outcome of what is audited, which may tell something.
    Run(String),
    /// The machine could not run it, such as for want of room on its disk: nothing is said of what is audited, and the audit stops.
    Machine(String),
}

impl Failure {
    /// The reason.
    pub fn reason(&self) -> &str {
        match self {
            Failure::Run(why) | Failure::Machine(why) => why,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.reason())
    }
}

impl std::error::Error for Failure {}

/// A failure with the line of what caused it.
impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Failure {
        Failure::Run(refusal.to_string())
    }
}

/// A subject with one canary from a function of the trial and whether the canary is in.
///
/// # Examples
///
/// A count that says it adds Laplace noise of scale 4, so ε = 1/4, and adds noise of scale 1/2:
///
/// ```
/// use veracity_audit::{Choice, Method, World, observe, show, subject_fn};
/// use veracity_core::{Adjacency, Claim, Count, Delta, Epsilon, Significance, Upper, Verdict};
/// use veracity_noise::{Distance, Entropy, Key, Noise, NoiseStream, Purpose, Ratio};
///
/// let subject = subject_fn(|trial, world| {
///     let people = if world == World::In { 101 } else { 100 };
///     // The same trial draws the same noise, so that others can repeat it.
///     let stream = Entropy::seeded(5).stream(Purpose::Noise, Key { trial, ..Key::default() });
///     let noise = Noise::Laplace { scale: Ratio::new(1, 2)? };
///     let said = noise.add("people", &[people], Distance::L1(1), &mut NoiseStream::new(stream));
///     Ok(said[0] as f64)
/// });
/// let trials: Vec<u64> = (0..4_000).collect();
/// let outcomes = observe(&subject, 1, &trials, 2);
/// let observations: Vec<_> = outcomes.into_iter().flat_map(|outcome| outcome.observations).collect();
///
/// let method = Method::Threshold { choice: Choice::Split, group: Count::ONE };
/// let evidence = show(method, &observations, Delta::new(0.0)?, Significance::new(0.01)?)?;
/// println!("epsilon {}", evidence.shown.epsilon);
/// // The truth is 2, and the bound stays below it but for one audit in a hundred.
/// assert!((1.5..=2.0).contains(&evidence.shown.epsilon.get().get()));
/// let epsilon = Upper(Epsilon::new(0.25)?);
/// let claim = Claim { epsilon, delta: Delta::new(0.0)?, adjacency: Adjacency::AddRemove };
/// assert!(matches!(evidence.judge(&claim), Verdict::Refuted { .. }));
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
pub fn subject_fn<F>(run: F) -> SubjectFn<F>
where
    F: Fn(u64, World) -> Result<f64, Failure> + Sync,
{
    SubjectFn(run)
}

/// A subject that is a function: see [`subject_fn`].
#[derive(Debug, Clone, Copy)]
pub struct SubjectFn<F>(F);

impl<F> AuditSubject for SubjectFn<F>
where
    F: Fn(u64, World) -> Result<f64, Failure> + Sync,
{
    /// # Errors
    /// The failure of the trial, which is an outcome and is counted.
    fn run(&self, trial: u64, worlds: &[World]) -> Result<Vec<f64>, Failure> {
        worlds.iter().map(|world| (self.0)(trial, *world)).collect()
    }
}

/// Which canaries of a trial are in: each by a fair coin of its own, as the theorems for many canaries in one run demand, and so that
/// nothing about a trial, such as its number, tells its world.
///
/// # Examples
///
/// ```
/// use veracity_audit::{World, worlds};
///
/// // The coins depend on the seed and the trial alone.
/// let coins = worlds(1, 0, 1_000);
/// assert_eq!(coins, worlds(1, 0, 1_000));
/// assert!(coins.iter().filter(|world| **world == World::In).count().abs_diff(500) < 80);
/// ```
pub fn worlds(seed: u64, trial: u64, canaries: usize) -> Vec<World> {
    let mut coins = Entropy::seeded(seed).stream(Purpose::Canary, Key { trial, ..Key::default() });
    (0..canaries).map(|_| if coins.bits(1) == 1 { World::In } else { World::Out }).collect()
}
