//! Cases of code and of recorded scores.

use veracity_auditing::{AuditDone, AuditSettings, AuditSubject, Case, Shard, World, audit, subject_fn};
use veracity_core::{Adjacency, Claim, Count, Delta, Epsilon, Upper};

fn claim() -> Claim {
    let (epsilon, delta) = (Epsilon::new(1.0).unwrap(), Delta::new(1e-5).unwrap());
    Claim { epsilon: Upper(epsilon), delta, adjacency: Adjacency::AddRemove }
}

fn case(subject: impl AuditSubject + Send + 'static, trials: u64) -> Case {
    Case::of_code("a telltale", subject, claim(), Count::new(trials).unwrap(), 1)
}

#[test]
fn a_closure_can_be_audited() {
    let closure = subject_fn(|_, world| Ok(f64::from(u8::from(world == World::In))));
    let done = audit(&case(closure, 400), &AuditSettings::default()).unwrap();
    assert!(matches!(done, AuditDone::Judged { audited, .. } if audited.is_refuted()));
}

#[test]
fn trials_that_were_run_have_no_time_and_no_shares() {
    let file = std::env::temp_dir().join(format!("veracity-strange-{}.csv", std::process::id()));
    std::fs::write(&file, "world,score\nin,1\nout,0\nin,1\nout,0\n").unwrap();
    let case = Case::scores(&file, claim(), 1).unwrap();
    std::fs::remove_file(file).unwrap();
    let refused = |settings| audit(&case, &settings).unwrap_err().to_string();
    let budget = Some(std::time::Duration::from_secs(1));
    assert!(
        refused(AuditSettings { budget, ..AuditSettings::default() })
            .starts_with("a time budget cannot be used")
    );
    let shard = Shard::new(0, 2).unwrap();
    assert!(
        refused(AuditSettings { shard, ..AuditSettings::default() })
            .starts_with("recorded trials cannot be split")
    );
    audit(&case, &AuditSettings::default()).unwrap();
}
