//! Means of the parameters over steps: post-processing that makes up for some of the noise.

use veracity_core::{Count, Refusal};

/// What is handed over at the end.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
pub enum Averaging {
    /// The parameters after the last step.
    #[default]
    None,
    /// A mean in which each step back weighs less: a = d·a + (1 − d)·w with d = min(`decay`, (1 + t)/(10 + t)), so that the
    /// random beginning is forgotten soon.
    Exponential {
        /// How much is kept.
        decay: f32,
    },
    /// The plain mean over the last steps.
    Tail {
        /// How many.
        steps: Count,
    },
}

impl Averaging {
    /// The name used in plans.
    pub fn name(self) -> &'static str {
        match self {
            Averaging::None => "none",
            Averaging::Exponential { .. } => "exponential",
            Averaging::Tail { .. } => "tail",
        }
    }

    pub(crate) fn check(self) -> Result<(), Refusal> {
        match self {
            Averaging::Exponential { decay } if !(0.0..1.0).contains(&decay) => {
                Err(Refusal::out_of_range("averaging decay", decay, "0 ≤ decay < 1"))
            }
            Averaging::None | Averaging::Exponential { .. } | Averaging::Tail { .. } => Ok(()),
        }
    }

    /// Where a mean begins: at the initial parameters.
    pub(crate) fn begin(self, parameters: &[f32]) -> Vec<f32> {
        match self {
            Averaging::None => Vec::new(),
            Averaging::Exponential { .. } | Averaging::Tail { .. } => parameters.to_vec(),
        }
    }

    /// Takes in the parameters after a step, counted from 0, of so many.
    pub(crate) fn add(self, average: &mut [f32], parameters: &[f32], step: u64, steps: u64) {
        let kept = match self {
            Averaging::None => return,
            Averaging::Exponential { decay } => decay.min(((1 + step) as f64 / (10 + step) as f64) as f32),
            Averaging::Tail { steps: tail } => {
                // Before the tail nothing is kept, and so at its first step.
                let seen = (step + 1).saturating_sub(steps.saturating_sub(tail.get())).max(1);
                (1.0 - 1.0 / seen as f64) as f32
            }
        };
        for (a, w) in average.iter_mut().zip(parameters) {
            *a = kept * *a + (1.0 - kept) * w;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use veracity_testkit::short;

    fn mean_of(averaging: Averaging, path: &[f32]) -> f32 {
        let mut average = averaging.begin(&[100.0]);
        for (step, w) in path.iter().enumerate() {
            averaging.add(&mut average, &[*w], step as u64, path.len() as u64);
        }
        average[0]
    }

    #[test]
    fn a_tail_is_the_plain_mean_of_the_last_steps() {
        let tail = |steps| Averaging::Tail { steps: short::count(steps) };
        let path = [8.0, 1.0, 2.0, 6.0];
        assert_eq!(mean_of(tail(1), &path), 6.0);
        assert!((mean_of(tail(3), &path) - 3.0).abs() < 1e-6);
        assert!((mean_of(tail(4), &path) - 4.25).abs() < 1e-6);
        // More than there are: all of them, and not where it began.
        assert!((mean_of(tail(9), &path) - 4.25).abs() < 1e-6);
    }

    #[test]
    fn an_exponential_mean_follows_its_recurrence() {
        let mut slow = 100.0f64;
        let path = [3.0f32, 5.0, 4.0, 4.5];
        for (t, w) in path.iter().enumerate() {
            let d = 0.2f64.min((1.0 + t as f64) / (10.0 + t as f64));
            slow = d * slow + (1.0 - d) * f64::from(*w);
        }
        assert!((f64::from(mean_of(Averaging::Exponential { decay: 0.2 }, &path)) - slow).abs() < 1e-5);
    }
}
