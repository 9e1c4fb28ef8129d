//! Verdicts that somebody or something bends: sorted files, retries, machines that fail, crashes that tell.

use std::{
    fmt::Write as _,
    fs,
    path::PathBuf,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
};
use veracity_auditing::{
    AuditDone, AuditResult, AuditSettings, Case, Failure, Opening, Retention, World, audit, bound::Basis,
    lower_bounds, subject_fn,
};
use veracity_core::{Adjacency, Claim, Count, Delta, Epsilon, Significance, Upper, Verdict};

fn claim(epsilon: f64) -> Claim {
    Claim {
        epsilon: Upper(Epsilon::new(epsilon).unwrap()),
        delta: Delta::new(0.0).unwrap(),
        adjacency: Adjacency::AddRemove,
    }
}

fn judged(case: &Case, settings: &AuditSettings) -> AuditResult {
    let AuditDone::Judged { audited, .. } = audit(case, settings).unwrap() else { panic!("a share") };
    *audited
}

fn room(name: &str) -> PathBuf {
    let room = std::env::temp_dir().join(format!("veracity-bending-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&room);
    fs::create_dir_all(&room).unwrap();
    room
}

/// Uniform on [0, 1): SplitMix64.
fn uniform(at: u64) -> f64 {
    let mut z = at.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 11) as f64 * (f64::EPSILON / 2.0)
}

/// A mechanism of ε = 1 by Laplace noise, its scores sorted and its trials numbered afterwards. Forty files at 1 %: more than four are
/// refuted with chance below 1e-4. The twin, a claim of a quarter of the truth, falls in each of them.
#[test]
fn a_sorted_file_of_an_honest_mechanism_is_not_refuted() {
    let room = room("sorted");
    let (mut refuted, mut shown, mut found) = (0, 0, 0);
    for file in 0..40u64 {
        let mut rows: Vec<(f64, bool)> = (0..1200u64)
            .map(|row| {
                let (is_in, u) = (row % 2 == 0, uniform(file * 10_000 + row) - 0.5);
                let laplace = -u.signum() * (1.0 - 2.0 * u.abs()).ln();
                (laplace + f64::from(u8::from(is_in)), is_in)
            })
            .collect();
        rows.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut text = "trial,world,score\n".to_owned();
        for (trial, (score, is_in)) in rows.iter().enumerate() {
            writeln!(text, "{trial},{},{score:?}", if *is_in { "in" } else { "out" }).unwrap();
        }
        let path = room.join("scores.csv");
        fs::write(&path, text).unwrap();
        let audited = |epsilon| {
            judged(&Case::scores(&path, claim(epsilon), 1).unwrap(), &AuditSettings::default()).is_refuted()
        };
        refuted += u64::from(audited(1.0));
        found += u64::from(audited(0.25));
        let scores = lower_bounds::read_scores(&path).unwrap();
        let rows = lower_bounds::side_by_side(
            &scores,
            Delta::new(0.0).unwrap(),
            None,
            Count::new(5).unwrap(),
            Significance::new(0.01).unwrap(),
        );
        let proved = rows.unwrap().into_iter().filter(|row| row.shown.basis == Basis::Proved);
        shown += u64::from(proved.map(|row| row.shown.epsilon.0.get()).fold(0.0, f64::max) > 1.0);
    }
    fs::remove_dir_all(room).unwrap();
    assert!(refuted <= 4, "{refuted} of 40 refuted");
    // Five proved bounds at 1 % each.
    assert!(shown <= 10, "{shown} of 40 shown above the truth");
    assert!(found >= 36, "a claim of a quarter of the truth stands in {} of 40", 40 - found);
}

/// Exactly ln 2-private, crashes included: 1, 0 or a crash with chances 0.4, 0.1, 0.5 with the canary and 0.2, 0.2, 0.6 without. Among
/// runs that do not crash, 0 is 2.5 times as likely without it: whoever tries again until a score comes sees more than ln 2.
#[test]
fn retries_refute_nothing_and_are_told() {
    let truth = 2f64.ln();
    let draws = AtomicU64::new(0);
    let leaky = move |_trial: u64, world: World| {
        let u = uniform(draws.fetch_add(1, Ordering::Relaxed));
        let (one, zero) = if world == World::In { (0.4, 0.1) } else { (0.2, 0.2) };
        match u {
            u if u < one => Ok(1.0),
            u if u < one + zero => Ok(0.0),
            _ => Err(Failure::Run("it crashed".into())),
        }
    };
    let trials = Count::new(40_000).unwrap();
    let case = Case::of_code("crashes", subject_fn(leaky), claim(truth), trials, 3);
    let settings = |retries| AuditSettings {
        retries,
        max_failures: Some(40_000),
        jobs: Some(Count::ONE),
        significance: 1e-6,
        ..AuditSettings::default()
    };
    let honest = judged(&case, &settings(0));
    assert!(!honest.is_refuted() && !honest.was_retried, "{:?}", honest.evidence);
    assert_eq!(honest.evidence.shown.basis, Basis::Proved);
    let retried = judged(&case, &settings(20));
    assert!(!retried.is_refuted() && retried.was_retried, "{:?}", retried.evidence);
    assert_eq!(retried.evidence.shown.basis, Basis::IfRetriesTellNothing);
    // What it shows is false, which is why it refutes nothing.
    assert!(retried.evidence.shown.epsilon.0.get() > truth, "{:?}", retried.evidence);
}

/// A run that crashes with the canary and not without says nothing by its scores, and all by its failures.
#[test]
fn a_crash_that_tells_is_a_leak() {
    let crashing = |trial: u64, world: World| {
        if world == World::In && uniform(trial) < 0.2 {
            return Err(Failure::Run("out of memory".into()));
        }
        Ok(0.0)
    };
    let case = Case::of_code("a crash", subject_fn(crashing), claim(1.0), Count::new(2000).unwrap(), 1);
    let settings = AuditSettings { max_failures: Some(2000), ..AuditSettings::default() };
    let found = judged(&case, &settings);
    assert!(found.is_refuted(), "{:?} {:?}", found.verdict, found.failed);
    assert!(found.failed.failed_out == 0 && found.failed.imbalance() < 1e-9, "{:?}", found.failed);
    // The twin: the same crashes in both worlds tell nothing.
    let even = |trial: u64, _: World| {
        if uniform(trial) < 0.2 { Err(Failure::Run("out of memory".into())) } else { Ok(0.0) }
    };
    let case = Case::of_code("a crash", subject_fn(even), claim(0.1), Count::new(2000).unwrap(), 1);
    assert!(!judged(&case, &settings).is_refuted());
}

/// A disk that is full is no outcome: the audit stops, and goes on where it was when there is room again.
#[test]
fn a_fault_of_the_machine_stops_the_audit_and_spoils_nothing() {
    static IS_FULL: AtomicBool = AtomicBool::new(true);
    let folder = room("machine");
    let runs = |trial: u64, world: World| {
        if trial == 30 && IS_FULL.load(Ordering::Relaxed) {
            return Err(Failure::Machine("no space left".into()));
        }
        Ok(uniform(trial) + f64::from(u8::from(world == World::In)))
    };
    let case = Case::of_code("a full disk", subject_fn(runs), claim(1.0), Count::new(200).unwrap(), 1);
    let settings = |opening| AuditSettings {
        keep: Retention::Everything(folder.join("audit"), opening),
        jobs: Some(Count::ONE),
        ..AuditSettings::default()
    };
    let refused = audit(&case, &settings(Opening::Fresh)).unwrap_err().to_string();
    assert!(refused.contains("no space left") && refused.contains("resume"), "{refused}");
    IS_FULL.store(false, Ordering::Relaxed);
    let found = judged(&case, &settings(Opening::Resume));
    assert_eq!((found.failures, found.was_retried), (0, false));
    fs::remove_dir_all(folder).unwrap();
}

/// Four trials cannot refute anything, and say so.
#[test]
fn an_audit_without_power_cannot_tell() {
    let silent = |_: u64, world: World| Ok(f64::from(u8::from(world == World::In)));
    let case = Case::of_code("four trials", subject_fn(silent), claim(1.0), Count::new(4).unwrap(), 1);
    assert!(matches!(judged(&case, &AuditSettings::default()).verdict, Verdict::CannotTell { .. }));
    let case = Case::of_code("many trials", subject_fn(silent), claim(1.0), Count::new(400).unwrap(), 1);
    assert!(judged(&case, &AuditSettings::default()).is_refuted());
}
