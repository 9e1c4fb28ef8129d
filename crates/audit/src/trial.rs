//! Trials: which are to be run, their outcomes, and the threads that run them.

use crate::subject::{AuditSubject, Failure, UNDER_WAY, World, worlds};
use std::sync::{
    Mutex,
    atomic::{AtomicUsize, Ordering},
};
use veracity_core::Refusal;

/// The score of one canary in one trial. Its key is (trial, canary).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Observation {
    /// The number of the trial.
    pub trial: u64,
    /// Which of its canaries, from 0.
    pub canary: u32,
    /// Whether it was in.
    pub world: World,
    /// The attacker's score; none when the run failed.
    pub score: Option<f64>,
}

impl Observation {
    /// The score as it counts: a run that failed is a wrong guess, whatever the threshold.
    pub fn counted(&self) -> f64 {
        match (self.score, self.world) {
            (Some(score), _) => score,
            (None, World::In) => f64::NEG_INFINITY,
            (None, World::Out) => f64::INFINITY,
        }
    }
}

/// One of several equal shares of the trials: those whose number leaves `index` when divided by `of`. Each trial is in a world by a
/// coin of its own, so that machines that differ tell nothing of the world.
///
/// # Examples
///
/// ```
/// use veracity_audit::Shard;
///
/// // Three machines share ten trials.
/// let share = |index| Ok::<_, veracity_core::Refusal>(Shard::new(index, 3)?.trials(10).collect::<Vec<_>>());
/// assert_eq!((share(0)?, share(1)?, share(2)?), (vec![0, 3, 6, 9], vec![1, 4, 7], vec![2, 5, 8]));
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    index: u64,
    of: u64,
}

impl Shard {
    /// All trials.
    pub const WHOLE: Shard = Shard { index: 0, of: 1 };

    /// Share `index` of `of`, counted from 0.
    ///
    /// # Errors
    /// An index that is not below the number of shards.
    pub fn new(index: u64, of: u64) -> Result<Shard, Refusal> {
        if index < of && of <= 1 << 20 {
            return Ok(Shard { index, of });
        }
        Err(Refusal::out_of_range("shard", format!("{index}/{of}"), "I/N with 0 ≤ I < N ≤ 2^20"))
    }

    /// Its trials among the first `trials`.
    pub fn trials(self, trials: u64) -> impl Iterator<Item = u64> {
        (self.index..trials).step_by(self.of as usize)
    }
}

/// The outcome of a trial: an observation for each canary, and why there is no score if there is none.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// One for each canary.
    pub observations: Vec<Observation>,
    /// Why the run failed, if it did.
    pub failure: Option<Failure>,
    /// How often it was run: more than once where it failed and was tried again.
    pub attempts: u32,
}

/// Runs one trial.
///
/// # Promise  A score that is no number, or another number of scores than canaries, is a failure
pub fn observe_one(subject: &dyn AuditSubject, seed: u64, trial: u64) -> Outcome {
    let worlds = worlds(seed, trial, subject.canaries());
    outcome(trial, &worlds, subject.run(trial, &worlds))
}

/// Runs trials in one call of the subject; the outcomes are in their order.
///
/// # Promise  That of [`observe_one`]; where other than one result comes for each trial, all of them are failures of the machine
pub fn observe_many(subject: &dyn AuditSubject, seed: u64, trials: &[u64]) -> Vec<Outcome> {
    let canaries = subject.canaries();
    let worlds: Vec<Vec<World>> = trials.iter().map(|trial| worlds(seed, *trial, canaries)).collect();
    let mut results = subject.run_many(trials, &worlds);
    if results.len() != trials.len() {
        let why = format!("{} results for {} trials, expected one per trial", results.len(), trials.len());
        results = vec![Err(Failure::Machine(why)); trials.len()];
    }
    let each = trials.iter().zip(&worlds).zip(results);
    each.map(|((trial, worlds), scores)| outcome(*trial, worlds, scores)).collect()
}

/// What came of a trial in its worlds.
fn outcome(trial: u64, worlds: &[World], scores: Result<Vec<f64>, Failure>) -> Outcome {
    let scores = match scores {
        Ok(scores) if scores.len() != worlds.len() => {
            Err(Failure::Run(format!("{} scores, expected {}", scores.len(), worlds.len())))
        }
        Ok(scores) if scores.iter().any(|score| score.is_nan()) => {
            Err(Failure::Run("a score is not a number".into()))
        }
        other => other,
    };
    let observe = |(canary, world): (usize, &World)| Observation {
        trial,
        canary: canary as u32,
        world: *world,
        score: scores.as_ref().ok().map(|scores| scores[canary]),
    };
    let observations = worlds.iter().enumerate().map(observe).collect();
    Outcome { observations, failure: scores.err(), attempts: 1 }
}

/// How many threads run trials of a subject: as many as are asked for, if there is so much to do. A subject that takes many trials at
/// once has no more than [`UNDER_WAY`], so that what it holds of them stays bounded.
pub fn workers(subject: &dyn AuditSubject, threads: usize, trials: usize) -> usize {
    let portion = subject.portion().max(1);
    let most = if portion > 1 { threads.min(UNDER_WAY) } else { threads };
    most.clamp(1, trials.div_ceil(portion).max(1))
}

/// Runs trials on `threads` threads; the outcomes are in the order of their numbers.
pub fn observe(subject: &dyn AuditSubject, seed: u64, trials: &[u64], threads: usize) -> Vec<Outcome> {
    let next = AtomicUsize::new(0);
    let portions: Vec<&[u64]> = trials.chunks(subject.portion().max(1)).collect();
    let found = Mutex::new(Vec::with_capacity(trials.len()));
    std::thread::scope(|scope| {
        for _ in 0..workers(subject, threads, trials.len()) {
            scope.spawn(|| {
                while let Some(portion) = portions.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let outcomes = observe_many(subject, seed, portion);
                    let mut found = found.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                    found.extend(portion.iter().copied().zip(outcomes));
                }
            });
        }
    });
    let mut found = found.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    found.sort_by_key(|(trial, _)| *trial);
    found.into_iter().map(|(_, outcome)| outcome).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Scores its trial's number when in; fails at every seventh trial, and says nonsense at every eleventh.
    struct Odd(usize);

    impl AuditSubject for Odd {
        fn canaries(&self) -> usize {
            self.0
        }

        fn run(&self, trial: u64, worlds: &[World]) -> Result<Vec<f64>, Failure> {
            match trial {
                t if t % 7 == 0 => Err(Failure::Run("the seventh".into())),
                t if t % 11 == 0 => Ok(vec![f64::NAN; worlds.len()]),
                t if t % 13 == 0 => Ok(Vec::new()),
                _ => Ok(worlds
                    .iter()
                    .map(|world| if *world == World::In { trial as f64 } else { 0.0 })
                    .collect()),
            }
        }
    }

    #[test]
    fn failures_are_kept_and_count_against_the_auditor() {
        for trial in [7, 11, 13, 14, 22, 26] {
            let outcome = observe_one(&Odd(1), 1, trial);
            let seen = outcome.observations[0];
            assert!(outcome.failure.is_some() && seen.score.is_none());
            let wrong = if seen.world == World::In { f64::NEG_INFINITY } else { f64::INFINITY };
            assert_eq!(seen.counted(), wrong);
        }
        assert_eq!(observe_one(&Odd(1), 1, 2).observations[0].counted(), 2.0);
    }

    #[test]
    fn shards_on_any_threads_give_what_one_run_gives() {
        let all: Vec<u64> = (0..100).collect();
        for canaries in [1, 5] {
            let whole = observe(&Odd(canaries), 3, &all, 1);
            let mut parts: Vec<Outcome> = Vec::new();
            for index in 0..3 {
                let trials: Vec<u64> = Shard::new(index, 3).unwrap().trials(100).collect();
                parts.extend(observe(&Odd(canaries), 3, &trials, 4));
            }
            parts.sort_by_key(|outcome| outcome.observations[0].trial);
            assert_eq!(whole, parts);
        }
        assert!(Shard::new(3, 3).is_err() && Shard::new(0, 0).is_err());
    }

    /// Takes seven trials at once, and counts how often and how many it was given.
    struct Portions {
        inner: Odd,
        calls: Mutex<Vec<usize>>,
        loses: bool,
    }

    impl AuditSubject for Portions {
        fn run(&self, trial: u64, worlds: &[World]) -> Result<Vec<f64>, Failure> {
            self.inner.run(trial, worlds)
        }

        fn portion(&self) -> usize {
            7
        }

        fn run_many(&self, trials: &[u64], worlds: &[Vec<World>]) -> Vec<Result<Vec<f64>, Failure>> {
            self.calls.lock().unwrap().push(trials.len());
            let kept = trials.len() - usize::from(self.loses);
            trials.iter().zip(worlds).take(kept).map(|(trial, worlds)| self.run(*trial, worlds)).collect()
        }
    }

    #[test]
    fn portions_give_what_single_trials_give() {
        let trials: Vec<u64> = (0..100).collect();
        for threads in [1, 2, 8] {
            let subject = Portions { inner: Odd(1), calls: Mutex::default(), loses: false };
            assert_eq!(observe(&subject, 3, &trials, threads), observe(&Odd(1), 3, &trials, 1));
            let mut calls = subject.calls.into_inner().unwrap();
            calls.sort_unstable();
            assert_eq!(calls, [vec![2], vec![7; 14]].concat());
        }
        let whole = Portions { inner: Odd(1), calls: Mutex::default(), loses: false };
        assert_eq!((workers(&whole, 8, 100), workers(&whole, 8, 7), workers(&Odd(1), 8, 100)), (2, 1, 8));
        // A result too few: nobody knows of which trial.
        let subject = Portions { inner: Odd(1), calls: Mutex::default(), loses: true };
        let outcomes = observe(&subject, 3, &trials, 2);
        assert!(outcomes.iter().all(|outcome| matches!(outcome.failure, Some(Failure::Machine(_)))));
    }

    /// Each share on a machine of its own, whose scores are off by something: were one share all "in", that would tell the world.
    #[test]
    fn every_share_sees_both_worlds_alike() {
        for of in [2, 3, 4, 7] {
            let mut all: Vec<u64> = Vec::new();
            for index in 0..of {
                let trials: Vec<u64> = Shard::new(index, of).unwrap().trials(7001).collect();
                let ins = trials.iter().filter(|trial| worlds(1, **trial, 1) == [World::In]).count();
                // Fair coins: off by more than six deviations with chance below 1e-8.
                let off = ins.abs_diff(trials.len() - ins) as f64;
                assert!(
                    off < 6.0 * (trials.len() as f64).sqrt(),
                    "share {index} of {of}: {ins} of {}",
                    trials.len()
                );
                all.extend(trials);
            }
            all.sort_unstable();
            assert_eq!(all, (0..7001).collect::<Vec<u64>>());
        }
    }

    #[test]
    fn coins_are_fair_and_nothing_else_tells_the_world() {
        // The world of a trial is no function of its number's last bits: 4096 trials, each residue within six deviations of half.
        for modulus in [2, 3, 4, 5, 8] {
            for rest in 0..modulus {
                let of = (0..4096u64).filter(|trial| trial % modulus == rest);
                let ins = of.clone().filter(|trial| worlds(9, *trial, 1) == [World::In]).count() as f64;
                let n = of.count() as f64;
                assert!((ins - n / 2.0).abs() < 3.0 * n.sqrt(), "{rest} of {modulus}: {ins} of {n}");
            }
        }
        // 20 000 fair coins: outside 10 000 ± 400 with chance below 2e-8.
        let coins = (0..1000).flat_map(|trial| worlds(9, trial, 20)).filter(|world| *world == World::In);
        assert!((9600..=10_400).contains(&coins.count()));
        assert!(worlds(9, 1, 20) != worlds(9, 2, 20) && worlds(9, 1, 20) != worlds(8, 1, 20));
    }
}
