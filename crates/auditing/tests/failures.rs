//! Trials that fail more often with the canary: the audit must not say that the claim stands, however failures are treated.

use std::sync::Mutex;
use veracity_auditing::{
    AuditDone, AuditSettings, AuditSubject, Case, Choice, Failure, Method, World, audit,
};
use veracity_core::{Adjacency, Claim, Count, Delta, Epsilon, Upper, Verdict};

/// Fails at the first attempt of every third trial of one world, or of both; its scores say nothing.
struct Crashes {
    worlds: &'static [World],
    tried: Mutex<Vec<u64>>,
}

impl AuditSubject for Crashes {
    fn run(&self, trial: u64, worlds: &[World]) -> Result<Vec<f64>, Failure> {
        let mut tried = self.tried.lock().unwrap();
        let again = tried.contains(&trial);
        tried.push(trial);
        if trial.is_multiple_of(3) && !again && self.worlds.contains(&worlds[0]) {
            return Err(Failure::Run("out of memory".into()));
        }
        Ok(vec![(trial % 7) as f64])
    }
}

fn verdict(worlds: &'static [World], method: Option<Method>, retries: u32) -> Result<Verdict, String> {
    let claim = Claim {
        epsilon: Upper(Epsilon::new(1.0).unwrap()),
        delta: Delta::new(1e-5).unwrap(),
        adjacency: Adjacency::AddRemove,
    };
    let subject = Crashes { worlds, tried: Mutex::default() };
    let case = Case::of_code("crashes", subject, claim, Count::new(600).unwrap(), 1);
    let method = method.or(Some(case.sequential()));
    let settings = AuditSettings { method, retries, jobs: Some(Count::ONE), ..AuditSettings::default() };
    match audit(&case, &settings).map_err(|error| error.to_string())? {
        AuditDone::Judged { audited, .. } => Ok(audited.verdict),
        AuditDone::Share { .. } => Err("a share".into()),
    }
}

#[test]
fn failing_with_the_canary_is_a_leak_and_never_hidden() {
    let fixed = Some(Method::Threshold { choice: Choice::Fixed(3.0), group: Count::ONE });
    for worlds in [&[World::In][..], &[World::Out]] {
        assert!(matches!(verdict(worlds, None, 0), Ok(Verdict::Refuted { .. })));
        assert!(matches!(verdict(worlds, fixed, 0), Ok(Verdict::CannotTell { .. })));
        // A retry hides the failure from every method.
        assert!(matches!(verdict(worlds, None, 1), Ok(Verdict::CannotTell { .. })));
        assert!(matches!(verdict(worlds, fixed, 1), Ok(Verdict::CannotTell { .. })));
    }
}

/// A subject that reveals the canary and fails once: a retry must not turn "refuted" into "not refuted".
#[test]
fn one_retry_does_not_save_a_claim() {
    struct Telltale(Mutex<bool>);
    impl AuditSubject for Telltale {
        fn run(&self, _: u64, worlds: &[World]) -> Result<Vec<f64>, Failure> {
            let mut failed = self.0.lock().unwrap();
            if !std::mem::replace(&mut *failed, true) {
                return Err(Failure::Run("once".into()));
            }
            Ok(vec![if worlds[0] == World::In { 1.0 } else { 0.0 }])
        }
    }
    for split in [false, true] {
        let claim = Claim {
            epsilon: Upper(Epsilon::new(0.3).unwrap()),
            delta: Delta::new(1e-5).unwrap(),
            adjacency: Adjacency::AddRemove,
        };
        let case = Case::of_code("tells", Telltale(Mutex::new(false)), claim, Count::new(400).unwrap(), 1);
        let split = split.then_some(Method::Threshold { choice: Choice::Split, group: Count::ONE });
        let method = split.or(Some(case.sequential()));
        let settings =
            AuditSettings { method, retries: 1, jobs: Some(Count::ONE), ..AuditSettings::default() };
        let AuditDone::Judged { audited, .. } = audit(&case, &settings).unwrap() else { panic!() };
        assert!(matches!(audited.verdict, Verdict::CannotTell { .. }), "{:?}", audited.verdict);
    }
}

/// The control: failures that do not depend on the world stop the audit, or are retried without harm.
#[test]
fn failing_in_both_worlds_is_no_leak() {
    let both = &[World::In, World::Out];
    assert!(verdict(both, None, 0).is_err_and(|said| said.contains("trials failed")));
    assert!(matches!(verdict(both, None, 1), Ok(Verdict::NotRefuted { .. })));
}
