//! `veracity predict`: what a model says of records, one line each.

use crate::{Outcome, args::PredictArgs, console::Console};
use veracity::{
    Error,
    saving::{never, refuse_foreign_file, replace},
    training::{Dataset, Model, Prediction, Wanted, predict, probabilities},
    writing::csv_line,
};

/// Reads the model, then the records.
pub fn run(args: &PredictArgs, console: Console) -> Result<Outcome, Error> {
    // Predictions are plain lines, so that nothing tells them from a file of someone else.
    args.out.as_ref().map_or(Ok(()), |path| refuse_foreign_file("predictions", path, never))?;
    let model = Model::read(&args.model)?;
    let data = model.records(&args.data, None, Wanted::Features)?;
    let lines = if args.probabilities { chances(args, &model, &data)? } else { predictions(&model, &data)? };
    if args.probabilities {
        console.remark("not private: computed from these records without noise");
    }
    match &args.out {
        None => Outcome::done(lines),
        Some(path) => {
            replace("predictions", path, lines.as_bytes(), never)?;
            Outcome::done(format!("{} predictions in {}\n", data.len(), path.display()))
        }
    }
}

fn predictions(model: &Model, data: &Dataset) -> Result<String, Error> {
    let mut lines = String::new();
    for said in predict(model, data)? {
        lines += &match said {
            Prediction::Class(class) => model.card.data.class_name(class as usize),
            Prediction::Value(value) => value.to_string(),
        };
        lines.push('\n');
    }
    Ok(lines)
}

/// A line of probabilities for each record, perhaps after the names of the classes.
fn chances(args: &PredictArgs, model: &Model, data: &Dataset) -> Result<String, Error> {
    let rows = probabilities(model, data)?;
    let classes = rows.first().map_or(0, Vec::len);
    let mut lines = String::new();
    if args.header {
        lines += &(csv_line((0..classes).map(|class| model.card.data.class_name(class))) + "\n");
    }
    for row in rows {
        lines += &(row.iter().map(f64::to_string).collect::<Vec<_>>().join(",") + "\n");
    }
    Ok(lines)
}
