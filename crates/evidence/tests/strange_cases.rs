//! Cases whose fields were set by hand: what would be a verdict that does not hold is refused.
#![allow(clippy::unwrap_used)]

use veracity_core::{Adjacency, Claim, Count, Delta, Epsilon, Error, Upper};
use veracity_evidence::{
    AuditDone, AuditSettings, AuditSubject, Case, Failure, Observation, Record, Shard, TrialSource, Trials,
    World, audit, subject_fn,
};

/// Tells which of its canaries are in.
struct Telltale(usize);

impl AuditSubject for Telltale {
    fn canaries(&self) -> usize {
        self.0
    }

    fn run(&self, _trial: u64, worlds: &[World]) -> Result<Vec<f64>, Failure> {
        Ok(worlds.iter().map(|world| f64::from(u8::from(*world == World::In))).collect())
    }
}

fn claim() -> Claim {
    let (epsilon, delta) = (Epsilon::new(1.0).unwrap(), Delta::new(1e-5).unwrap());
    Claim { epsilon: Upper(epsilon), delta, adjacency: Adjacency::AddRemove }
}

fn case(subject: impl AuditSubject + Send + 'static, trials: u64) -> Case {
    Case::of_code("a telltale", subject, claim(), Count::new(trials).unwrap(), 1)
}

fn refusal(case: &Case) -> String {
    let done: Result<AuditDone, Error> = audit(case, &AuditSettings::default(), None);
    done.unwrap_err().to_string()
}

#[test]
fn a_closure_can_be_audited() {
    let closure = subject_fn(|_, world| Ok(f64::from(u8::from(world == World::In))));
    let done = audit(&case(closure, 400), &AuditSettings::default(), None).unwrap();
    assert!(matches!(done, AuditDone::Judged { audited, .. } if audited.is_refuted()));
}

/// A case that says otherwise than its subject would run all trials, and have none.
#[test]
fn canaries_are_as_many_as_the_subject_has() {
    for (has, says) in [(1, 3), (1, 0), (5, 1), (5, 4), (5, 6)] {
        let case = Case { canaries: says, ..case(Telltale(has), 40) };
        let refused = refusal(&case);
        assert_eq!(refused, format!("canaries is {says}, expected {has}: so many the subject has"));
    }
}

/// Whoever guesses "in" is right about canaries that are all in, and shows nothing.
#[test]
fn worlds_that_no_coin_gave_are_refused_whatever_they_are_called() {
    let recorded = |trials: u64, is_in: fn(u32) -> bool| {
        let mut all = Trials::default();
        for (trial, canary) in (0..trials).flat_map(|trial| (0..100).map(move |canary| (trial, canary))) {
            let world = if is_in(canary) { World::In } else { World::Out };
            let observation = Observation { trial, canary, world, score: Some(f64::from(canary)) };
            all.add(Record { observation, failure: String::new(), attempts: 1 }).unwrap();
        }
        all
    };
    for kind in ["scores", "model"] {
        let mut case = Case {
            trials_from: TrialSource::Recorded(recorded(1, |_| true)),
            canaries: 100,
            is_one_run: true,
            ..case(Telltale(100), 1)
        };
        case.note.kind = kind.to_owned();
        assert!(refusal(&case).starts_with("100 of 100 canaries are in"), "{kind}: {}", refusal(&case));
        case.trials_from = TrialSource::Recorded(recorded(1, |canary| canary % 2 == 0));
        audit(&case, &AuditSettings::default(), None).unwrap();
        // Where a quarter of the trials chooses, all is guessed "in", and all of it would be right.
        case.trials_from = TrialSource::Recorded(recorded(8, |_| true));
        (case.is_one_run, case.trials) = (false, Count::new(8).unwrap());
        assert!(refusal(&case).starts_with("800 of 800 canaries are in"), "{kind}: {}", refusal(&case));
    }
}

#[test]
fn trials_that_were_run_have_no_time_and_no_shares() {
    let file = std::env::temp_dir().join(format!("veracity-strange-{}.csv", std::process::id()));
    std::fs::write(&file, "world,score\nin,1\nout,0\nin,1\nout,0\n").unwrap();
    let case = Case::scores(&file, claim(), 1).unwrap();
    std::fs::remove_file(file).unwrap();
    let refused = |settings| audit(&case, &settings, None).unwrap_err().to_string();
    let budget = Some(std::time::Duration::from_secs(1));
    assert!(refused(AuditSettings { budget, ..AuditSettings::default() }).starts_with("a budget is given"));
    let shard = Shard::new(0, 2).unwrap();
    assert!(refused(AuditSettings { shard, ..AuditSettings::default() }).starts_with("a shard is given"));
    audit(&case, &AuditSettings::default(), None).unwrap();
}
