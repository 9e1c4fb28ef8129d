//! `veracity predict`: what a model says of records, one line each.

use crate::{Outcome, args::PredictArgs};
use veracity::{
    Error,
    saving::{never, refuse_foreign_file, replace},
    training::{Model, Prediction, Wanted, predict},
};

/// Reads the model, then the records.
pub fn run(args: &PredictArgs) -> Result<Outcome, Error> {
    // Predictions are plain lines, so that nothing tells them from a file of someone else.
    args.out.as_ref().map_or(Ok(()), |path| refuse_foreign_file("predictions", path, never))?;
    let model = Model::read(&args.model)?;
    let data = model.records(&args.data, None, Wanted::Features)?;
    let mut lines = String::new();
    for said in predict(&model, &data)? {
        lines += &match said {
            Prediction::Class(class) => model.card.data.class_name(class as usize),
            Prediction::Value(value) => value.to_string(),
        };
        lines.push('\n');
    }
    match &args.out {
        None => Outcome::done(lines),
        Some(path) => {
            replace("predictions", path, lines.as_bytes(), never)?;
            Outcome::done(format!("{} predictions in {}\n", data.len(), path.display()))
        }
    }
}
