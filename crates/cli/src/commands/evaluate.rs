//! `veracity evaluate`: the accuracy of a model on records that it was not trained on.

use crate::{Outcome, args::EvaluateArgs, text};
use serde_json::{Value, json};
use veracity::{
    Error, decimal,
    training::{Model, Score, Wanted, evaluate},
};

/// Reads the model, then the records, and compares.
pub fn run(args: &EvaluateArgs) -> Result<Outcome, Error> {
    let model = Model::read(&args.model)?;
    let data = model.records(&args.data, args.labels.as_deref(), Wanted::Labelled)?;
    let score = evaluate(&model, &data)?;
    Outcome::done(match args.json {
        true => text::json(&with_schema(object(&score)))?,
        false => format!("{}\nnot private: measured on these records without noise\n", words(&score)),
    })
}

fn with_schema(mut object: Value) -> Value {
    object["schema"] = json!("veracity.evaluation/2");
    object["private"] = json!(false);
    object
}

/// A score in words.
pub fn words(score: &Score) -> String {
    match score {
        Score::Accuracy { right, records } => {
            let percent = 100.0 * *right as f64 / *records as f64;
            format!("accuracy {}%   ({right} of {records} records)", decimal::nearest(percent, 4))
        }
        Score::RootMeanSquare { error, records } => {
            format!("root mean squared error {}   ({records} records)", decimal::nearest(*error, 6))
        }
    }
}

/// A score as JSON: of classes the accuracy, of numbers the error; the other is null.
pub fn object(score: &Score) -> Value {
    let (records, right, error) = match score {
        Score::Accuracy { right, records } => (records, Some(*right), None),
        Score::RootMeanSquare { error, records } => (records, None, Some(*error)),
    };
    json!({
        "records": records,
        "accuracy": right.map(|right| right as f64 / *records as f64),
        "right": right,
        "root_mean_squared_error": error,
    })
}
