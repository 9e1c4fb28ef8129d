//! How wrong an output is, and the gradient of that by the output, example by example.

use crate::{Labels, Shape};
use veracity_core::Refusal;

/// A loss. Each is a sum over examples; nothing is averaged here.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Loss {
    /// −log of the softmax probability of the true class.
    SoftmaxCrossEntropy,
}

impl Loss {
    /// The name used in plans.
    pub fn name(self) -> &'static str {
        match self {
            Loss::SoftmaxCrossEntropy => "softmax-cross-entropy",
        }
    }

    /// Checks that a network's output can be held against these labels.
    pub(crate) fn check(self, output: Shape, labels: &Labels) -> Result<(), Refusal> {
        match (self, labels) {
            (Loss::SoftmaxCrossEntropy, Labels::Classes { classes, .. }) if output.size() == *classes => {
                Ok(())
            }
            (Loss::SoftmaxCrossEntropy, Labels::Classes { classes, .. }) => Err(Refusal::NoAnswer(format!(
                "the network has {} outputs, expected {classes}, one for each class",
                output.size()
            ))),
            (Loss::SoftmaxCrossEntropy, Labels::Values(_)) => {
                Err(Refusal::NoAnswer("softmax cross-entropy was given numbers, expected classes".into()))
            }
        }
    }

    /// Writes the gradient of one example's loss by its output, and returns the loss.
    pub(crate) fn gradient(self, output: &[f32], label: Label, gradient: &mut [f32]) -> f32 {
        match (self, label) {
            (Loss::SoftmaxCrossEntropy, Label::Class(class)) => softmax(output, class as usize, gradient),
            (Loss::SoftmaxCrossEntropy, Label::Value(_)) => {
                unreachable!("labels were checked against the loss before training")
            }
        }
    }
}

/// The label of one record.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Label {
    Class(u32),
    Value(f32),
}

impl Labels {
    pub(crate) fn at(&self, record: usize) -> Label {
        match self {
            Labels::Classes { of, .. } => Label::Class(of[record]),
            Labels::Values(values) => Label::Value(values[record]),
        }
    }
}

fn softmax(output: &[f32], class: usize, gradient: &mut [f32]) -> f32 {
    let largest = output.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let mut total = 0.0;
    for (g, x) in gradient.iter_mut().zip(output) {
        *g = libm::expf(x - largest);
        total += *g;
    }
    for g in gradient.iter_mut() {
        *g /= total;
    }
    gradient[class] -= 1.0;
    largest + libm::logf(total) - output[class]
}
