//! Plans on crafted records, replayed by the real binary: the tool must not refute itself.

use crate::door::{answer, json, room};
use std::fs;
use veracity_testkit::shifted_ramp;

/// Records whose gradients are their labels, the other way round.
fn crafted(records: usize) -> String {
    let rows = shifted_ramp(records, 0.93).into_iter().map(|gradient| format!("0,{:e}\n", -gradient));
    "x,y\n".to_owned() + &rows.collect::<String>()
}

/// A float sum over a batch of 65,536 such records moved by several clip norms when one was taken away.
#[test]
fn a_plan_on_crafted_records_is_not_refuted_by_its_own_replay() {
    for records in [4096, 65_536] {
        let room = room(&format!("hostile-sums-{records}"));
        fs::write(room.join("crafted.csv"), crafted(records)).unwrap();
        let plan = format!(
            r#"
unit = "record"

[data]
format = "csv"
path = "crafted.csv"
label = "y"

[[data.column]]
name = "x"

[[model.layer]]
kind = "linear"
outputs = 1

[training]
batch_size = {records}
steps = 1
learning_rate = 0.1
loss = "squared"

[privacy]
noise_multiplier = 4
delta = 1e-5
clip_norm = 1
"#
        );
        fs::write(room.join("plan.toml"), plan).unwrap();
        let found = json(&answer(&format!("audit {} --replay --json", room.join("plan.toml").display())));
        assert_eq!(found["verdict"], "not-refuted", "{found}");
    }
}
