//! `veracity batching`: the ways to draw batches stand in their order, the gap is told, and plans of all of them are accounted.

use crate::door::{answer, json, room};
use std::{fs, path::Path};

const MNIST: &str = "batching --dataset-size 60000 --batch-size 256 --noise-multiplier 1 --delta 1e-5";

/// ε of one way under one adjacency: lower (0 where none is known) and upper.
fn sides(object: &serde_json::Value, batches: &str, adjacency: &str) -> (f64, f64) {
    let ways = object["ways"].as_array().unwrap();
    let way = ways.iter().find(|way| way["batches"] == batches && way["adjacency"] == adjacency).unwrap();
    (way["epsilon"]["lower"].as_f64().unwrap_or(0.0), way["epsilon"]["upper"].as_f64().unwrap())
}

/// One epoch of MNIST: 0.347457 by balls and bins (FRONTIER.md). Poisson batches at the rate 1/234 leak 0.3935, at 256/60000
/// a little less.
#[test]
fn the_ways_to_draw_batches_stand_in_their_order() {
    let object = json(&answer(&format!("{MNIST} --max-batch 320 --json")));
    assert_eq!(object["schema"], "veracity.batching/1");
    assert_eq!(object["batches_per_epoch"], 234);
    let (poisson, dealt) =
        (sides(&object, "poisson", "zero-out"), sides(&object, "balls-and-bins", "zero-out"));
    assert!(poisson.0 > 0.3915 && poisson.1 < 0.3935, "{poisson:?}");
    assert!(dealt.0 <= 0.347457 && 0.347457 <= dealt.1, "{dealt:?}");
    let truncated = sides(&object, "truncated-poisson", "zero-out");
    assert!(truncated.0 == 0.0 && truncated.1 > poisson.0, "{truncated:?}");
    let (shuffled, known) =
        (sides(&object, "shuffled", "zero-out"), sides(&object, "deterministic", "zero-out"));
    assert!(shuffled.0 <= shuffled.1 && shuffled.1 == known.1, "{shuffled:?} {known:?}");
    let (added, replaced) =
        (sides(&object, "fixed-size", "add-remove"), sides(&object, "fixed-size", "replace-one"));
    assert!(
        poisson.1 < added.0 && added.0 <= replaced.1 && replaced.0 <= replaced.1,
        "{added:?} {replaced:?}"
    );
    assert_eq!(object["claimed_poisson"], poisson.1);
}

/// Little noise: shuffling leaks at least 10.99 (mpmath, see the accountant's tests), many times what Poisson batches do.
#[test]
fn a_trainer_that_shuffles_is_told_how_far_its_claim_is_off() {
    let text = answer("batching --dataset-size 1000000 --batch-size 100 --noise-multiplier 0.5 --delta 1e-6");
    let sentence = text.lines().last().unwrap();
    assert!(sentence.starts_with("A trainer that shuffles but claims Poisson batches reports "), "{text}");
    assert!(sentence.contains("but its epsilon is at least 10.99"), "{text}");
}

fn plan(name: &str, text: &str) -> std::path::PathBuf {
    let path = room(&format!("batching-{name}")).join("plan.toml");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    path
}

fn accounted(path: &Path) -> f64 {
    let object = json(&answer(&format!("account {} --delta 1e-5 --method pld --json", path.display())));
    object["epsilon"]["upper"].as_f64().unwrap()
}

#[test]
fn a_plan_can_list_its_losses() {
    let list = plan(
        "losses",
        "[[mechanism]]\nkind = \"repeated\"\ntimes = 30\n\n[mechanism.mechanism]\nkind = \"losses\"\n\n\
         [mechanism.mechanism.first]\nlosses = [-0.7, 0.7]\nprobabilities = [0.3318122278318339, 0.6681877721681661]\n",
    );
    let pure = plan(
        "pure",
        "[[mechanism]]\nkind = \"repeated\"\ntimes = 30\n\n[mechanism.mechanism]\nkind = \"pure\"\nepsilon = 0.7\n",
    );
    let (listed, declared) = (accounted(&list), accounted(&pure));
    assert!((listed - declared).abs() <= 1e-4 * declared, "{listed} {declared}");
}
