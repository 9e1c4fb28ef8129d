//! Running the trials that a journal lacks, on several threads, each kept as soon as it has ended.

use crate::{
    AuditProtocol, Method, Trials,
    claim::{Curves, as_declared},
    interrupt,
    journal::Journal,
};
use std::{
    sync::{
        atomic::{AtomicBool, AtomicUsize, Ordering},
        mpsc::sync_channel,
    },
    thread,
    time::{Duration, Instant},
};
use veracity_audit::{
    AuditSubject, ClaimUnderTest, Failure, Outcome, Shard,
    bound::sequential::{Rounds, Test},
    observe_many, workers,
};
use veracity_core::{Error, Significance};

/// How long trials are gathered before they are kept together: no more than this is lost in a crash.
const PORTION: Duration = Duration::from_millis(20);
/// Failures this unlikely, if they did not depend on the world, are taken to depend on it.
pub(crate) const UNEVEN: f64 = 0.01;
/// The most trials of a portion.
const LARGEST_PORTION: usize = 1000;

/// Where an audit stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// The trials of this run that have ended.
    pub done: u64,
    /// The trials of this run.
    pub of: u64,
    /// The trials that failed, those of earlier runs included.
    pub failed: u64,
}

/// Runs all trials of a shard that are not yet in the journal, and calls `on_progress` as they end.
///
/// # Promise  With more failures than the order allows it stops and names the most frequent reason; there is no verdict.
pub(crate) fn conduct(
    subject: &dyn AuditSubject,
    journal: &mut Journal,
    curves: Option<&Curves>,
    (shard, jobs): (Shard, usize),
    mut on_progress: impl FnMut(Progress),
) -> Result<(), Error> {
    check_failures(journal.trials(), journal.protocol())?;
    let mut watching = RunningTest::new(journal, curves, shard)?;
    if watching.as_mut().map_or(Ok(false), |watching| watching.has_fallen(journal))? {
        return Ok(());
    }
    let trials = journal.missing(shard);
    let order = Order { seed: journal.protocol().seed, retries: journal.protocol().retries };
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let jobs = workers(subject, jobs, trials.len());
    let (sender, portions) = sync_channel::<Vec<Outcome>>(4 * jobs);
    thread::scope(|scope| {
        for _ in 0..jobs {
            let sender = sender.clone();
            let (next, stop, trials) = (&next, &stop, &trials);
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    let portion = portion(subject, order, trials, next);
                    // Nobody listens once the audit has stopped.
                    if portion.is_empty() || sender.send(portion).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        let mut progress = Progress { done: 0, of: trials.len() as u64, failed: journal.trials().failures() };
        for portion in portions {
            let kept = must_go_on().and_then(|()| keep(journal, &portion, &mut progress));
            on_progress(progress);
            let fallen =
                kept.and_then(|()| watching.as_mut().map_or(Ok(false), |test| test.has_fallen(journal)));
            if fallen != Ok(false) {
                stop.store(true, Ordering::Relaxed);
                return fallen.map(|_| ());
            }
        }
        Ok(())
    })
}

/// What every trial is run by.
#[derive(Clone, Copy)]
struct Order {
    seed: u64,
    retries: u32,
}

/// A test that is watched while its trials come in, and ends them as soon as the claim falls.
#[derive(Debug)]
pub(crate) struct RunningTest {
    test: Test,
    /// Trials that were looked at, in their order.
    looked: u64,
}

impl RunningTest {
    /// Bets against the claim where the order says so and all trials are run here.
    pub(crate) fn new(
        journal: &Journal,
        curves: Option<&Curves>,
        shard: Shard,
    ) -> Result<Option<RunningTest>, Error> {
        let protocol = journal.protocol();
        let method = protocol.method.method()?;
        if !matches!(method, Method::Sequential { rounds: Rounds::Trials, .. }) || shard != Shard::WHOLE {
            return Ok(None);
        }
        let claimed = ClaimUnderTest { point: protocol.claim.claim()?.point, declared: as_declared(curves) };
        let curve = claimed.curve(method.group())?;
        let test = Test::new(curve, Significance::new(protocol.significance)?);
        Ok(Some(RunningTest { test, looked: 0 }))
    }

    /// Looks at the trials that have come in without a gap; once the claim is refuted, the later ones are dropped.
    pub(crate) fn has_fallen(&mut self, journal: &mut Journal) -> Result<bool, Error> {
        while let Some(told) = journal.trials().observation(self.looked) {
            self.looked += 1;
            self.test.observe(told.world, told.score)?;
            if self.test.is_refuted() {
                journal.end_at(self.looked);
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Runs trials that nobody else has taken: as many at once as the subject takes, or one by one until they are worth a message, so that
/// one that takes long is told by itself.
fn portion(
    subject: &dyn AuditSubject,
    order: Order,
    trials: &[(u64, u32)],
    next: &AtomicUsize,
) -> Vec<Outcome> {
    let at_once = subject.portion().max(1);
    let take = || {
        let first = next.fetch_add(at_once, Ordering::Relaxed).min(trials.len());
        &trials[first..trials.len().min(first + at_once)]
    };
    let (began, mut outcomes) = (Instant::now(), Vec::new());
    while outcomes.is_empty() || at_once == 1 && outcomes.len() < LARGEST_PORTION && began.elapsed() < PORTION
    {
        let taken = take();
        if taken.is_empty() {
            break;
        }
        outcomes.extend(attempt(subject, order, taken));
    }
    outcomes
}

/// Runs trials, and again those that fail and may be tried again. What was interrupted or could not be run is not tried again.
fn attempt(subject: &dyn AuditSubject, order: Order, trials: &[(u64, u32)]) -> Vec<Outcome> {
    let numbers: Vec<u64> = trials.iter().map(|(trial, _)| *trial).collect();
    let mut outcomes = observe_many(subject, order.seed, &numbers);
    for (outcome, (_, before)) in outcomes.iter_mut().zip(trials) {
        outcome.attempts = before + 1;
    }
    for _ in 0..order.retries {
        let failed = |at: &usize| matches!(outcomes[*at].failure, Some(Failure::Run(_)));
        let failed: Vec<usize> = (0..outcomes.len()).filter(failed).collect();
        if failed.is_empty() || interrupt::is_asked() {
            break;
        }
        let again: Vec<u64> = failed.iter().map(|at| numbers[*at]).collect();
        for (at, outcome) in failed.into_iter().zip(observe_many(subject, order.seed, &again)) {
            outcomes[at] = Outcome { attempts: outcomes[at].attempts + 1, ..outcome };
        }
    }
    outcomes
}

/// Keeps trials as they ended, and refuses to go on when too many failed.
pub(crate) fn keep(journal: &mut Journal, portion: &[Outcome], progress: &mut Progress) -> Result<(), Error> {
    for outcome in portion {
        if let Some(Failure::Machine(why)) = &outcome.failure {
            return Err(Error::invalid(format!(
                "a trial could not be run: {why}; fix that and resume the audit"
            )));
        }
        journal.keep(outcome)?;
        progress.done += 1;
        progress.failed += u64::from(outcome.failure.is_some());
        if progress.failed > journal.protocol().max_failures {
            check_failures(journal.trials(), journal.protocol())?;
        }
    }
    Ok(())
}

/// Refuses to go on when asked to stop: what was interrupted is no failed trial.
fn must_go_on() -> Result<(), Error> {
    if interrupt::is_asked() {
        return Err(Error::Interrupted("the audit was interrupted".into()));
    }
    Ok(())
}

/// Refuses trials of which too many failed, unless failing depends on the canary: an audit that stops there would hide a leak.
pub(crate) fn check_failures(trials: &Trials, protocol: &AuditProtocol) -> Result<(), Error> {
    let failed = trials.failures();
    if failed <= protocol.max_failures {
        return Ok(());
    }
    let by = trials.failures_by_world();
    // Failures that depend on the canary are what the audit is looking for. Where a run has many canaries, they are in both worlds.
    if protocol.canaries == 1 && by.imbalance() < UNEVEN {
        return Ok(());
    }
    let (reason, times) = trials.most_frequent_failure().unwrap_or_default();
    Err(Error::TrialsFailed(format!(
        "{failed} of {} trials failed ({} with the canary, {} without), more than the maximum of {}: {reason} ({times} times)",
        protocol.trials, by.failed_in, by.failed_out, protocol.max_failures
    )))
}

/// How many trials fit into a time: a few are run for their duration only, under numbers that the audit does not use.
///
/// # Promise  The number depends on no score, so the audit that follows is one of a fixed size.
pub(crate) fn plan_trials(
    subject: &dyn AuditSubject,
    seed: u64,
    budget: Duration,
    jobs: usize,
    most: u64,
) -> Result<u64, Error> {
    let began = Instant::now();
    plan_by(|| began.elapsed(), subject, seed, budget, jobs, most)
}

/// The same by any clock that says how much time has passed.
fn plan_by(
    elapsed: impl Fn() -> Duration,
    subject: &dyn AuditSubject,
    seed: u64,
    budget: Duration,
    jobs: usize,
    most: u64,
) -> Result<u64, Error> {
    const PILOTS: u64 = super::protocol::MOST_TRIALS;
    let jobs = jobs.max(1) as u64;
    let (mut ran, mut batch) = (0, jobs);
    // Until a tenth of the time is spent; at least once.
    while ran == 0 || elapsed() < budget / 10 && ran < PILOTS {
        let (first, before) = (PILOTS + ran, elapsed());
        let trials: Vec<u64> = (first..first + batch).collect();
        for outcome in veracity_audit::observe(subject, seed, &trials, jobs as usize) {
            if let Some(failure) = outcome.failure {
                return Err(Error::invalid(format!("a pilot trial failed: {failure}")));
            }
        }
        ran += batch;
        // Of trials that take no time a few would tell how long threads take to start.
        if elapsed().saturating_sub(before) < budget / 100 {
            batch *= 2;
        }
    }
    let spent = elapsed().as_secs_f64();
    let (round, left) = (spent / ran as f64 * jobs as f64, budget.as_secs_f64() - spent);
    // A tenth is left for slower trials and for what comes after them.
    let trials = (0.9 * left.max(0.0) / round * jobs as f64) as u64;
    let trials = (trials - trials % 2).min(most - most % 2);
    if trials < 4 {
        return Err(Error::invalid(format!(
            "budget is {} s and {jobs} trials at once take {} s, so fewer than 4 trials fit; increase the budget",
            budget.as_secs_f64(),
            veracity_core::decimal::nearest(round, 2)
        )));
    }
    Ok(trials)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;
    use veracity_audit::{Failure, World};

    /// A subject that takes five milliseconds of a clock of its own, and notes the least number of a trial that it was given.
    struct Timed {
        clock: AtomicU64,
        least: AtomicU64,
    }

    impl AuditSubject for Timed {
        fn run(&self, trial: u64, worlds: &[World]) -> Result<Vec<f64>, Failure> {
            self.clock.fetch_add(5, Ordering::SeqCst);
            self.least.fetch_min(trial, Ordering::SeqCst);
            Ok(vec![0.0; worlds.len()])
        }
    }

    fn planned(budget: u64, jobs: usize, most: u64) -> (Result<u64, Error>, u64) {
        let subject = Timed { clock: AtomicU64::new(0), least: AtomicU64::new(u64::MAX) };
        let elapsed = || Duration::from_millis(subject.clock.load(Ordering::SeqCst));
        let trials = plan_by(elapsed, &subject, 1, Duration::from_millis(budget), jobs, most);
        (trials, subject.least.into_inner())
    }

    #[test]
    fn a_time_holds_nine_tenths_of_the_trials_that_fit_and_counts_no_pilot() {
        // Ten rounds of two are a tenth of a second; nine tenths of what is left hold 81 more.
        let (trials, least) = planned(1000, 2, 1 << 20);
        assert_eq!(trials, Ok(162));
        assert!(least >= super::super::protocol::MOST_TRIALS, "pilot {least} has the number of a trial");
        assert_eq!(planned(1000, 2, 101).0, Ok(100));
        // 223 pilots: 1, 2, … 16 take less than a hundredth of the time each, then six times 32 do not. 8.885 s are left.
        assert_eq!(planned(10_000, 1, 1 << 20).0, Ok(1598));
        let refused = planned(20, 1, 1 << 20).0.unwrap_err().to_string();
        assert_eq!(
            refused,
            "budget is 0.02 s and 1 trials at once take 0.005 s, so fewer than 4 trials fit; increase the budget"
        );
    }
}
