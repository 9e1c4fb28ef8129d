//! How the loss on the training records fell: not private, and only watched where that was asked for.

use super::{PreparedRun, Score};
use veracity_core::Refusal;
use veracity_train::{Dataset, Labels, Loss, Run, cohort};

/// At most so many records are looked at, evenly spread.
const MOST_RECORDS: usize = 1000;
/// About so many times.
const LOOKS: u64 = 60;

/// The mean loss after some of the steps, and the model's accuracy in the end. Nothing protects these numbers.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Learning {
    /// Steps done and the mean loss then.
    pub losses: Vec<(u64, f64)>,
    /// How many records were looked at.
    pub records: usize,
    /// The model's accuracy on all of them, once it is known.
    pub score: Option<Score>,
    sample: Dataset,
    every: u64,
}

impl Learning {
    /// Nothing seen yet of a run on these records.
    pub fn new(prepared: &PreparedRun, data: &Dataset) -> Result<Learning, Refusal> {
        let sample = spread(data)?;
        let every = prepared.plan.steps.get().div_ceil(LOOKS);
        Ok(Learning { losses: Vec::new(), records: sample.len(), score: None, sample, every })
    }

    /// Looks at a run, unless it has looked shortly before.
    pub fn look(&mut self, prepared: &PreparedRun, run: &Run<'_>) -> Result<(), Refusal> {
        let done = run.steps_done();
        if !(done.is_multiple_of(self.every) || done == prepared.plan.steps.get()) {
            return Ok(());
        }
        let outputs = cohort::predict(&prepared.plan.network, &run.model().parameters, &self.sample)?;
        let loss = mean_loss(prepared.plan.loss, &outputs, self.sample.labels(), self.records);
        self.losses.push((done, loss));
        Ok(())
    }
}

/// Every so many-th record, so that at most [`MOST_RECORDS`] are left.
fn spread(data: &Dataset) -> Result<Dataset, Refusal> {
    let kept = || (0..data.len()).step_by(data.len().div_ceil(MOST_RECORDS).max(1));
    let labels = match data.labels() {
        Labels::Classes { of, classes } => {
            Labels::Classes { of: kept().map(|at| of[at]).collect(), classes: *classes }
        }
        Labels::Values(values) => Labels::Values(kept().map(|at| values[at]).collect()),
    };
    let features = kept().flat_map(|at| data.row(at).iter().copied()).collect();
    Dataset::new(features, data.width(), labels)
}

/// The mean of a loss over rows of outputs.
fn mean_loss(loss: Loss, outputs: &[f32], labels: &Labels, records: usize) -> f64 {
    let records = records.max(1);
    let rows = outputs.chunks_exact((outputs.len() / records).max(1));
    let total: f64 = match labels {
        Labels::Classes { of, .. } => rows.zip(of).map(|(row, class)| of_class(loss, row, *class)).sum(),
        Labels::Values(values) => rows.zip(values).map(|(row, value)| of_value(loss, row[0] - value)).sum(),
    };
    total / records as f64
}

fn of_class(loss: Loss, row: &[f32], class: u32) -> f64 {
    // log(1 + Σ e^(x − x_class)) over the other outputs; the logistic loss has one other, at 0.
    let margin = |from: f64, to: f64| (from - to).max(0.0) + (-(from - to).abs()).exp().ln_1p();
    match loss {
        Loss::Logistic => {
            let x = f64::from(row[0]);
            if class == 1 { margin(0.0, x) } else { margin(x, 0.0) }
        }
        Loss::SoftmaxCrossEntropy | Loss::Squared | Loss::Huber { .. } => {
            let largest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            let total: f64 = row.iter().map(|x| f64::from(x - largest).exp()).sum();
            total.ln() - f64::from(row[class as usize] - largest)
        }
    }
}

fn of_value(loss: Loss, off: f32) -> f64 {
    let off = f64::from(off);
    match loss {
        Loss::Huber { delta } if off.abs() > f64::from(delta) => {
            f64::from(delta) * (off.abs() - 0.5 * f64::from(delta))
        }
        Loss::Huber { .. } | Loss::Squared | Loss::SoftmaxCrossEntropy | Loss::Logistic => 0.5 * off * off,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-6, "{found} {expected}");
    }

    #[test]
    fn losses_are_their_formulas() {
        let classes = |of: Vec<u32>, classes| Labels::Classes { of, classes };
        // python3 -c "from math import *; print(log(e**1+e**2+e**4)-2, log(1+exp(-1.5)), log(1+exp(1.5)))"
        near(
            mean_loss(Loss::SoftmaxCrossEntropy, &[1.0, 2.0, 4.0], &classes(vec![1], 3), 1),
            2.169_846_019_556_285,
        );
        near(mean_loss(Loss::Logistic, &[1.5], &classes(vec![1], 2), 1), 0.201_413_277_982_752_44);
        near(mean_loss(Loss::Logistic, &[1.5], &classes(vec![0], 2), 1), 1.701_413_277_982_752_5);
        near(mean_loss(Loss::Squared, &[1.0, 5.0], &Labels::Values(vec![3.0, 5.0]), 2), 1.0);
        near(mean_loss(Loss::Huber { delta: 1.0 }, &[3.0], &Labels::Values(vec![0.0]), 1), 2.5);
    }

    #[test]
    fn a_sample_is_spread_over_all_records() {
        let records = 2500usize;
        let of = (0..records).map(|at| (at % 2) as u32).collect();
        let features = (0..records).map(|at| at as f32).collect();
        let data = Dataset::new(features, 1, Labels::Classes { of, classes: 2 }).unwrap();
        let sample = spread(&data).unwrap();
        assert_eq!((sample.len(), sample.row(0)[0], sample.row(833)[0]), (834, 0.0, 2499.0));
    }
}
