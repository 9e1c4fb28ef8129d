//! Trials: which are to be run, their outcomes, and the threads that run them.

use crate::subject::{AuditSubject, Failure, World, worlds};
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

/// Trials two by two, the first with the canary and the first without, then the second of both, in the order of the trials. What is
/// left over in one world is not looked at.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Pairs(Vec<(Option<f64>, Option<f64>)>);

impl Pairs {
    pub(crate) fn of(observations: &[Observation]) -> Pairs {
        let of = |world| observations.iter().filter(move |seen| seen.world == world).map(|seen| seen.score);
        Pairs(of(World::In).zip(of(World::Out)).collect())
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = (Option<f64>, Option<f64>)> {
        self.0.iter().copied()
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
    let scores = match subject.run(trial, &worlds) {
        Ok(scores) if scores.len() != worlds.len() => {
            Err(Failure::Run(format!("{} scores came, expected {}", scores.len(), worlds.len())))
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

/// Runs trials on `threads` threads; the outcomes are in the order of `trials`.
pub fn observe(subject: &dyn AuditSubject, seed: u64, trials: &[u64], threads: usize) -> Vec<Outcome> {
    let next = AtomicUsize::new(0);
    let found = Mutex::new(Vec::with_capacity(trials.len()));
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, trials.len().max(1)) {
            scope.spawn(|| {
                while let Some(trial) = trials.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let outcome = observe_one(subject, seed, *trial);
                    found.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((*trial, outcome));
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
