//! A linear model, and what is known of how it was released.

use super::features::{BoundedFeatures, RowBound};
use crate::Dataset;
use veracity_core::{Adjacency, Mechanism, Refusal};

/// Weights, one vector for two classes or for numbers, one for each class otherwise; and how rows are bounded before they
/// meet them.
#[derive(Debug, Clone, PartialEq)]
pub struct LinearModel {
    weights: Vec<f64>,
    scores: usize,
    rows: RowBound,
}

impl LinearModel {
    pub(super) fn new(weights: Vec<f64>, scores: usize, rows: RowBound) -> LinearModel {
        LinearModel { weights, scores, rows }
    }

    /// A model that was released before: `scores` weight vectors, one after the other.
    ///
    /// # Errors
    /// Refuses weights that are not finite, or not equally many for each score.
    pub fn from_weights(weights: Vec<f64>, scores: usize, rows: RowBound) -> Result<LinearModel, Refusal> {
        if scores > 0 && weights.len().is_multiple_of(scores) && weights.iter().all(|w| w.is_finite()) {
            return Ok(LinearModel::new(weights, scores, rows));
        }
        Err(Refusal::Invalid(
            "weights do not match the model; they must be finite, with the same number per score".into(),
        ))
    }

    /// All weights, class after class; the last of each class is that of the intercept, if there is one.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// How rows are bounded.
    pub fn rows(&self) -> RowBound {
        self.rows
    }

    /// The scores of every record: one number, or one for each class.
    ///
    /// # Errors
    /// Refuses records of another dimension.
    pub fn scores(&self, data: &Dataset) -> Result<Vec<Vec<f64>>, Refusal> {
        let features = BoundedFeatures::new(data, self.rows);
        let dimension = self.weights.len() / self.scores;
        if features.dimension() != dimension {
            return Err(Refusal::Invalid(format!(
                "the records have {} features including the intercept, but the model has {dimension}",
                features.dimension()
            )));
        }
        let of = |record| self.weights.chunks(dimension).map(|w| features.score(record, w)).collect();
        Ok((0..data.len()).map(of).collect())
    }

    /// The class of every record: that of the largest score, or of the sign of the only one.
    ///
    /// # Errors
    /// Refuses records of another dimension.
    pub fn classes(&self, data: &Dataset) -> Result<Vec<u32>, Refusal> {
        let class = |scores: &Vec<f64>| match scores[..] {
            [score] => u32::from(score > 0.0),
            _ => {
                let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                scores.iter().take_while(|score| **score < largest).count() as u32
            }
        };
        Ok(self.scores(data)?.iter().map(class).collect())
    }
}

/// A model that may be seen, with what it cost.
#[derive(Debug, Clone, PartialEq)]
pub struct ReleasedModel {
    /// The model.
    pub model: LinearModel,
    /// What was done to the data, for the accountant, under `adjacency` and no other.
    pub mechanism: Mechanism,
    /// Which datasets must look alike.
    pub adjacency: Adjacency,
    /// What every weight is a multiple of, whatever the data.
    pub granularity: f64,
}
