//! `veracity audit --device` through the real binary, on a machine that need not have a GPU.

#![allow(clippy::unwrap_used)] // A test that cannot go on should stop there.

mod door;

use door::{refusal, room, veracity, words};
use std::fs;

#[test]
fn devices_are_for_trainings_and_others_say_so_in_one_line() {
    for line in [
        "audit --mechanism gaussian --noise-multiplier 1 --device cpu",
        "audit --command true --claim-epsilon 1 --device cpu",
        "audit --scores scores.csv --claim-epsilon 1 --device auto",
        "audit --model model.safetensors --canaries-file c.csv --claim-epsilon 1 --device cuda:0",
        "audit --replay --device cpu",
    ] {
        let refused = refusal(&words(line));
        assert!(refused.contains("--device") && refused.contains("expected one or the other"), "{refused}");
    }
    for word in ["gpu", "cuda", "cuda:x", "CPU"] {
        let refused = refusal(&["audit", "--device", word]);
        assert!(refused.contains(&format!("device is {word}, expected auto, cpu or cuda:N")), "{refused}");
    }
}

#[cfg(not(feature = "cuda"))]
#[test]
fn a_build_without_cuda_says_so_and_takes_the_cores_where_it_may() {
    for line in ["audit --device cuda:0", "audit --one-run --device cuda:0"] {
        let refused = refusal(&words(line));
        assert!(refused.contains("this build has no CUDA") && refused.contains("feature cuda"), "{refused}");
    }
    let folder = room("devices-auto");
    let kept = |device: &str| {
        let out = folder.join(device);
        let line = format!("audit --trials 20 --canaries 2 --device {device} --out {}", out.display());
        assert!(veracity(&words(&line)).stderr.is_empty(), "{line}");
        fs::read_to_string(out.join("certificate.json")).unwrap()
    };
    assert_eq!(kept("auto"), kept("cpu"));
}
