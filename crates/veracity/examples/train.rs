//! A private model, from a plan to predictions. `cargo run -p veracity --example train`

use std::{path::Path, sync::mpsc::channel, thread};
use veracity::{
    Error, TrainEvent, TrainSettings, TrainingPlan, train,
    training::{Wanted, evaluate},
};

/// Handwritten digits that are built in; a CSV file would be `format = "csv"`, with its columns and their bounds.
const PLAN: &str = r#"
[data]
format = "digits"

[[model.layer]]
kind = "linear"
outputs = 10

[training]
batch_size = 256
epochs = 20
learning_rate = 2

[privacy]
epsilon = 3
delta = 1e-5
clip_norm = 1
"#;

pub(crate) fn main() -> Result<(), Error> {
    let plan = TrainingPlan::parse(PLAN, Path::new(""))?;
    let (progress, events) = channel();
    let done = thread::scope(|scope| {
        scope.spawn(|| {
            for event in events {
                if let TrainEvent::Steps { done, of, epsilon: Some(epsilon), .. } = event {
                    println!("step {done} of {of}: epsilon so far {epsilon:.3}");
                }
            }
        });
        let done = train(&plan, &TrainSettings::default(), Some(&progress));
        // The watcher ends with the last sender.
        drop(progress);
        done
    })?;
    if let Some((subject, answer)) = &done.cost {
        println!("{}: epsilon ≤ {:?}", subject.describe(), answer.epsilon.upper().map(|upper| upper.0.get()));
    }
    let held_out = done.model.records(Path::new("digits"), None, Wanted::Labelled)?;
    println!("on records that it has not seen: {:?}", evaluate(&done.model, &held_out)?);
    Ok(())
}
