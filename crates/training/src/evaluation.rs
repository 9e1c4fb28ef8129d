//! A model at work on records that it was not trained on.
//!
//! Scores are measured on the given records without noise, so a score is not for release unless
//! those records are public.

use super::{Model, Part, Wanted, sources};
use std::path::Path;
use veracity_core::{Error, Refusal};
use veracity_train::{Dataset, Labels, Loss, cohort};

/// What a model says of one record.
#[derive(Debug, Clone, PartialEq)]
pub enum Prediction {
    /// The class, counted from 0.
    Class(u32),
    /// A number, on the scale of the labels it was trained with.
    Value(f32),
}

/// How often, or how nearly, a model is right.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Score {
    /// The part of records whose class was told right.
    Accuracy {
        /// How many were.
        right: usize,
        /// Of so many.
        records: usize,
    },
    /// The root of the mean squared error.
    RootMeanSquare {
        /// The error.
        error: f64,
        /// Over so many records.
        records: usize,
    },
}

impl Model {
    /// Reads records of the layout that the model was trained on; the word `digits` stands for the held-out built-in ones.
    ///
    /// # Errors
    /// Refuses files that cannot be read, and files without records.
    pub fn records(&self, path: &Path, labels: Option<&Path>, wanted: Wanted) -> Result<Dataset, Error> {
        let data = if path == Path::new("digits") && self.card.data == (super::DataSpec::Digits {}) {
            sources::digits(Part::HeldOut)?
        } else {
            self.card.data.read(path, labels, wanted)?
        };
        if data.is_empty() {
            return Err(Error::invalid("the file has no records"));
        }
        Ok(self.card.chain()?.apply(data, &self.statistics)?)
    }

    /// The outputs of the last layer for each record, row by row: scores of classes, or one score that is positive for the
    /// second of two classes.
    ///
    /// # Errors
    /// Refuses convex models, models of numbers, and records of another width.
    pub fn class_scores(&self, data: &Dataset) -> Result<Vec<Vec<f32>>, Refusal> {
        if self.card.model.convex.is_none()
            && let Loss::SoftmaxCrossEntropy | Loss::Logistic = self.card.loss()?
        {
            let network = self.network()?;
            let outputs = cohort::predict(&network, &self.parameters, data)?;
            return Ok(outputs.chunks_exact(network.output().size()).map(<[f32]>::to_vec).collect());
        }
        Err(Refusal::invalid("class scores need a model with layers that predicts classes"))
    }
}

/// The prediction of the model for each record.
///
/// # Errors
/// Refuses records of another width.
pub fn predict(model: &Model, data: &Dataset) -> Result<Vec<Prediction>, Refusal> {
    if let Some(convex) = &model.card.model.convex {
        return convex.predict(model, data);
    }
    let network = model.network()?;
    let outputs = cohort::predict(&network, &model.parameters, data)?;
    let rows = outputs.chunks_exact(network.output().size());
    Ok(match model.card.loss()? {
        Loss::SoftmaxCrossEntropy => rows.map(|row| Prediction::Class(largest(row))).collect(),
        Loss::Logistic => rows.map(|row| Prediction::Class(u32::from(row[0] > 0.0))).collect(),
        Loss::Squared | Loss::Huber { .. } => rows.map(|row| Prediction::Value(row[0])).collect(),
    })
}

/// The probability that the model gives each class, for each record; they add up to 1. They are about the records given: nothing
/// protects those.
///
/// # Errors
/// As [`Model::class_scores`].
pub fn probabilities(model: &Model, data: &Dataset) -> Result<Vec<Vec<f64>>, Refusal> {
    Ok(model.class_scores(data)?.iter().map(|row| shares(row)).collect())
}

/// Shares in proportion to e^score. One score alone is that of the second of two classes, against 0.
fn shares(scores: &[f32]) -> Vec<f64> {
    let scores: Vec<f64> = match scores {
        [one] => vec![0.0, f64::from(*one)],
        several => several.iter().map(|score| f64::from(*score)).collect(),
    };
    let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let parts: Vec<f64> = scores.iter().map(|score| (score - most).exp()).collect();
    let all: f64 = parts.iter().sum();
    parts.iter().map(|part| part / all).collect()
}

/// The first of the largest.
fn largest(row: &[f32]) -> u32 {
    let mut best = 0;
    for (at, value) in row.iter().enumerate() {
        if *value > row[best] {
            best = at;
        }
    }
    best as u32
}

/// The model's accuracy, or its error, on labelled records.
///
/// # Errors
/// As [`predict`]; also refuses labels of another kind.
pub fn evaluate(model: &Model, data: &Dataset) -> Result<Score, Refusal> {
    let said = predict(model, data)?;
    let records = said.len();
    match data.labels() {
        Labels::Classes { of, .. } => {
            let right =
                said.iter().zip(of).filter(|(said, class)| **said == Prediction::Class(**class)).count();
            Ok(Score::Accuracy { right, records })
        }
        Labels::Values(values) => {
            let squares = said.iter().zip(values).map(|(said, value)| match said {
                Prediction::Value(said) => (f64::from(*said) - f64::from(*value)).powi(2),
                Prediction::Class(_) => f64::NAN,
            });
            let error = (squares.sum::<f64>() / records as f64).sqrt();
            if error.is_nan() {
                return Err(Refusal::invalid("the model predicts classes, but the labels are numbers"));
            }
            Ok(Score::RootMeanSquare { error, records })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Python 3, decimal with 30 digits: `[float(x.exp() / sum(y.exp() for y in s)) for x in s]`; one score is s = [0, score].
    #[test]
    fn shares_are_softmax_and_the_logistic_function() {
        let near = |found: &[f64], truth: &[f64]| {
            assert_eq!(found.len(), truth.len());
            assert!(found.iter().zip(truth).all(|(a, b)| (a - b).abs() < 1e-12), "{found:?}");
        };
        near(
            &shares(&[1.0, 2.0, 3.0]),
            &[0.090_030_573_170_380_46, 0.244_728_471_054_797_64, 0.665_240_955_774_821_9],
        );
        near(&shares(&[0.5]), &[0.377_540_668_798_145_46, 0.622_459_331_201_854_6]);
        near(&shares(&[1e30, 0.0]), &[1.0, 0.0]);
        near(&shares(&[-1e30]), &[1.0, 0.0]);
    }
}
