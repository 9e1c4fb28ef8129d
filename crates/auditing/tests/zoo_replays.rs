//! Exhibits that are replayed: each has the fault that its bug must have, and its twin has none.

use veracity_audit::replay::{Fault, ReplayComparison};
use veracity_auditing::zoo::planted::{Replays, Specimen, exhibits};

fn first_fault(replays: &Replays) -> Option<Fault> {
    (0..replays.pairs()).find_map(|pair| replays.replay(pair).unwrap().fault)
}

#[test]
fn every_replayed_bug_has_a_fault_of_its_kind() {
    let mut seen = 0;
    for exhibit in exhibits(7).unwrap() {
        let Specimen::Replays(replays) = &exhibit.specimen else { continue };
        let kind = match exhibit.name {
            "early-stopping" | "empty-batch-skipped" | "nan-skips-batch" => "control-flow",
            "noise-reused" => "noise-reused",
            _ => "sensitivity",
        };
        let fault = first_fault(replays).unwrap();
        assert_eq!(fault.kind(), kind, "{}: {fault}", exhibit.name);
        seen += 1;
    }
    assert!(seen >= 16);
}

#[test]
fn twins_use_all_that_they_declare_and_no_more() {
    for seed in 0..5 {
        for exhibit in exhibits(seed).unwrap() {
            let Specimen::Replays(replays) = &exhibit.twin else { continue };
            let all: Vec<ReplayComparison> =
                (0..replays.pairs()).map(|pair| replays.replay(pair).unwrap()).collect();
            assert!(all.iter().all(|replayed| replayed.fault.is_none()), "{}: {all:?}", exhibit.name);
            let used = all.iter().map(|replayed| replayed.used).fold(0.0, f64::max);
            // A record whose gradient is no number moves nothing.
            let moves = !exhibit.name.starts_with("nan-");
            assert!(!moves || used > 0.99, "{}: {used}", exhibit.name);
        }
    }
}
