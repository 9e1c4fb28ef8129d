//! `veracity audit --device` through the real binary, on a machine that need not have a GPU.

use crate::door::{refusal, room, veracity, words};
use std::fs;

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
