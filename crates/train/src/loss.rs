//! How wrong an output is, and the gradient of that by the output, example by example.

use crate::{Labels, Shape};
use veracity_core::Refusal;

/// A loss. Each is a sum over examples; nothing is averaged here.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Loss {
    /// −log of the softmax probability of the true class, from one output for each class.
    SoftmaxCrossEntropy,
    /// −log of the logistic probability of the true one of two classes, from one output: the log-odds of class 1.
    Logistic,
    /// Half the squared distance of one output from a number.
    Squared,
    /// As squared near by, but growing only linearly beyond a distance.
    Huber {
        /// The distance; also the largest slope.
        delta: f32,
    },
}

impl Loss {
    /// The name used in plans.
    pub fn name(self) -> &'static str {
        match self {
            Loss::SoftmaxCrossEntropy => "softmax-cross-entropy",
            Loss::Logistic => "logistic",
            Loss::Squared => "squared",
            Loss::Huber { .. } => "huber",
        }
    }

    /// Checks that a network's output can be held against these labels.
    pub(crate) fn check(self, output: Shape, labels: &Labels) -> Result<(), Refusal> {
        let outputs = output.size();
        if let Loss::Huber { delta } = self
            && !(delta > 0.0 && delta.is_finite())
        {
            return Err(Refusal::out_of_range("huber delta", delta, "a finite number > 0"));
        }
        let wanted = match (self, labels) {
            (Loss::SoftmaxCrossEntropy, Labels::Classes { classes, .. }) => *classes,
            (Loss::Logistic, Labels::Classes { classes: 2, .. }) => 1,
            (Loss::Logistic, Labels::Classes { classes, .. }) => {
                return Err(Refusal::out_of_range("classes", classes, "2 for the logistic loss"));
            }
            (Loss::Squared | Loss::Huber { .. }, Labels::Values(_)) => 1,
            (Loss::SoftmaxCrossEntropy | Loss::Logistic, Labels::Values(_)) => {
                return Err(Refusal::Invalid(format!(
                    "loss {} needs classes as labels, but the labels are numbers",
                    self.name()
                )));
            }
            (Loss::Squared | Loss::Huber { .. }, Labels::Classes { .. }) => {
                return Err(Refusal::Invalid(format!(
                    "loss {} needs numbers as labels, but the labels are classes",
                    self.name()
                )));
            }
        };
        if outputs == wanted {
            return Ok(());
        }
        Err(Refusal::Invalid(format!(
            "the network has {outputs} outputs, expected {wanted} for the {} loss on these labels",
            self.name()
        )))
    }

    /// Writes the gradient of one example's loss by its output, and returns the loss.
    pub(crate) fn gradient(self, output: &[f32], label: Label, gradient: &mut [f32]) -> f32 {
        match (self, label) {
            (Loss::SoftmaxCrossEntropy, Label::Class(class)) => softmax(output, class as usize, gradient),
            (Loss::Logistic, Label::Class(class)) => {
                let (loss, slope) = logistic(output[0], class == 1);
                gradient[0] = slope;
                loss
            }
            (Loss::Squared, Label::Value(value)) => {
                let off = output[0] - value;
                gradient[0] = off;
                0.5 * off * off
            }
            (Loss::Huber { delta }, Label::Value(value)) => {
                let off = output[0] - value;
                // A NaN stays one: it must be seen as not finite, and not become the largest slope.
                gradient[0] = if off.is_nan() { off } else { off.clamp(-delta, delta) };
                if off.abs() <= delta { 0.5 * off * off } else { delta * (off.abs() - 0.5 * delta) }
            }
            (Loss::SoftmaxCrossEntropy | Loss::Logistic, Label::Value(_))
            | (Loss::Squared | Loss::Huber { .. }, Label::Class(_)) => {
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

/// log(1 + e^−m) of the margin m, and its slope by the output; neither overflows.
fn logistic(output: f32, positive: bool) -> (f32, f32) {
    let margin = if positive { output } else { -output };
    let small = libm::expf(-margin.abs());
    let loss = libm::log1pf(small) + if margin < 0.0 { -margin } else { 0.0 };
    let miss = if margin < 0.0 { 1.0 / (1.0 + small) } else { small / (1.0 + small) };
    (loss, if positive { -miss } else { miss })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOSSES: [(Loss, Label, &[f32]); 8] = [
        (Loss::SoftmaxCrossEntropy, Label::Class(1), &[0.3, -0.7, 1.1]),
        (Loss::Logistic, Label::Class(1), &[0.4]),
        (Loss::Logistic, Label::Class(0), &[0.4]),
        (Loss::Logistic, Label::Class(1), &[-3.0]),
        (Loss::Squared, Label::Value(0.3), &[1.5]),
        (Loss::Huber { delta: 0.5 }, Label::Value(0.3), &[0.6]),
        (Loss::Huber { delta: 0.5 }, Label::Value(0.3), &[1.6]),
        (Loss::Huber { delta: 0.5 }, Label::Value(0.3), &[-1.6]),
    ];

    #[test]
    fn gradients_are_finite_differences() {
        for (loss, label, output) in LOSSES {
            let mut gradient = vec![0.0; output.len()];
            loss.gradient(output, label, &mut gradient);
            for at in 0..output.len() {
                let shifted = |by: f32| {
                    let mut output = output.to_vec();
                    output[at] += by;
                    f64::from(loss.gradient(&output, label, &mut vec![0.0; output.len()]))
                };
                let slope = (shifted(1e-2) - shifted(-1e-2)) / 2e-2;
                assert!((slope - f64::from(gradient[at])).abs() < 1e-3, "{loss:?} {label:?} {slope}");
            }
        }
    }

    #[test]
    fn extreme_outputs_overflow_nowhere_and_what_is_no_number_stays_none() {
        for (loss, label, output) in LOSSES {
            let mut gradient = vec![0.0; output.len()];
            for extreme in [3e38, -3e38] {
                let mut output = output.to_vec();
                output[0] = extreme;
                loss.gradient(&output, label, &mut gradient);
                assert!(gradient.iter().all(|g| g.is_finite()), "{loss:?} {extreme}");
            }
            let mut output = output.to_vec();
            output[0] = f32::NAN;
            loss.gradient(&output, label, &mut gradient);
            assert!(gradient.iter().any(|g| g.is_nan()), "{loss:?} hides a NaN");
        }
    }

    #[test]
    fn losses_are_told_what_they_can_be_held_against() {
        let classes = |classes| Labels::Classes { of: vec![0, 1], classes };
        let values = || Labels::Values(vec![0.5]);
        let fits = |loss: Loss, outputs, labels: &Labels| loss.check(Shape::Flat(outputs), labels).is_ok();
        assert!(
            fits(Loss::SoftmaxCrossEntropy, 3, &classes(3))
                && !fits(Loss::SoftmaxCrossEntropy, 2, &classes(3))
        );
        assert!(fits(Loss::Logistic, 1, &classes(2)) && !fits(Loss::Logistic, 1, &classes(3)));
        assert!(!fits(Loss::Logistic, 2, &classes(2)) && !fits(Loss::Logistic, 1, &values()));
        assert!(fits(Loss::Squared, 1, &values()) && !fits(Loss::Squared, 1, &classes(2)));
        assert!(
            fits(Loss::Huber { delta: 1.0 }, 1, &values()) && !fits(Loss::Huber { delta: 0.0 }, 1, &values())
        );
        assert!(!fits(Loss::Squared, 2, &values()) && !fits(Loss::Huber { delta: f32::NAN }, 1, &values()));
    }
}
