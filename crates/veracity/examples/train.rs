//! A private model of the built-in digits, from a plan to predictions. `cargo run -p veracity --example train`

use std::path::Path;
use veracity::{
    prelude::*,
    training::{Wanted, evaluate},
};

const PLAN: &str = r#"
data.format = "digits"
model.layer = [{ kind = "linear", outputs = 10 }]
training = { batch_size = 256, epochs = 20, learning_rate = 2 }
privacy = { epsilon = 3, delta = 1e-5, clip_norm = 1 }
"#;

pub(crate) fn main() -> Result<(), Error> {
    let plan = TrainingPlan::parse(PLAN, Path::new(""))?;
    let done = train(&plan, &TrainSettings::default(), None)?;
    if let Some(cost) = &done.cost {
        println!("{}: {}", cost.subject.describe(), cost.answer);
    }
    let held_out = done.model.records(Path::new("digits"), None, Wanted::Labelled)?;
    println!("on records that it has not seen: {:?}", evaluate(&done.model, &held_out)?);
    Ok(())
}
