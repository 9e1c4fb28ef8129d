//! The learning rate over the steps of a run.

use std::f64::consts::PI;
use veracity_core::{Count, Refusal};

/// How the learning rate changes. Rates rise linearly over the warm-up steps where there are any.
///
/// # Examples
///
/// ```
/// use veracity_train::Schedule;
///
/// let schedule = Schedule::Cosine { rate: 0.4, warmup: 10, last: 0.0 };
/// assert!((schedule.rate(4, 100) - 0.2).abs() < 1e-6);
/// assert_eq!(schedule.rate(10, 100), 0.4);
/// assert!(schedule.rate(99, 100) < 0.001);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Schedule {
    /// Always the same.
    Constant {
        /// The rate.
        rate: f32,
    },
    /// A linear rise, then constant.
    Warmup {
        /// The rate after the rise.
        rate: f32,
        /// Steps of the rise.
        warmup: u64,
    },
    /// A linear rise, then half a cosine down.
    Cosine {
        /// The highest rate.
        rate: f32,
        /// Steps of the rise.
        warmup: u64,
        /// The rate at the end.
        last: f32,
    },
    /// Multiplied by a factor every so many steps.
    StepDecay {
        /// The first rate.
        rate: f32,
        /// The factor.
        factor: f32,
        /// How many steps a rate lasts.
        every: Count,
    },
}

impl Default for Schedule {
    /// A constant rate of 0.1.
    fn default() -> Schedule {
        Schedule::Constant { rate: 0.1 }
    }
}

impl Schedule {
    /// The name used in plans.
    pub fn name(self) -> &'static str {
        match self {
            Schedule::Constant { .. } => "constant",
            Schedule::Warmup { .. } => "warmup",
            Schedule::Cosine { .. } => "cosine",
            Schedule::StepDecay { .. } => "step-decay",
        }
    }

    pub(crate) fn check(self) -> Result<(), Refusal> {
        let positive = |name: &'static str, x: f32| {
            if x > 0.0 && x.is_finite() {
                return Ok(());
            }
            Err(Refusal::out_of_range(name, x, "a finite number > 0"))
        };
        match self {
            Schedule::Constant { rate } | Schedule::Warmup { rate, .. } => positive("learning rate", rate),
            Schedule::Cosine { rate, last, .. } => {
                positive("learning rate", rate)?;
                if (0.0..=rate).contains(&last) {
                    return Ok(());
                }
                Err(Refusal::out_of_range("last rate", last, "0 ≤ last rate ≤ rate"))
            }
            Schedule::StepDecay { rate, factor, .. } => {
                positive("learning rate", rate)?;
                positive("factor", factor)
            }
        }
    }

    /// The learning rate at `step`, counted from 0, of a run of `steps`.
    pub fn rate(self, step: u64, steps: u64) -> f32 {
        // Never zero, or the first step would be lost.
        let rise = |warmup: u64| (step + 1) as f64 / warmup as f64;
        match self {
            Schedule::Constant { rate } => rate,
            Schedule::Warmup { rate, warmup } | Schedule::Cosine { rate, warmup, .. } if step < warmup => {
                (f64::from(rate) * rise(warmup)) as f32
            }
            Schedule::Warmup { rate, .. } => rate,
            Schedule::Cosine { rate, warmup, last } => {
                let whole = steps.saturating_sub(warmup).saturating_sub(1).max(1);
                let part = (step - warmup).min(whole) as f64 / whole as f64;
                let height = f64::from(rate) - f64::from(last);
                (f64::from(last) + 0.5 * height * (1.0 + libm::cos(PI * part))) as f32
            }
            Schedule::StepDecay { rate, factor, every } => {
                (f64::from(rate) * libm::pow(f64::from(factor), (step / every.get()) as f64)) as f32
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use veracity_testkit::short;

    #[test]
    fn rates_are_those_of_their_formulas() {
        let rates = |schedule: Schedule, steps: u64| -> Vec<f32> {
            (0..steps).map(|step| schedule.rate(step, steps)).collect()
        };
        assert_eq!(rates(Schedule::Constant { rate: 0.5 }, 3), [0.5; 3]);
        assert_eq!(rates(Schedule::Warmup { rate: 1.0, warmup: 4 }, 6), [0.25, 0.5, 0.75, 1.0, 1.0, 1.0]);
        let cosine = rates(Schedule::Cosine { rate: 1.0, warmup: 2, last: 0.2 }, 7);
        let expected = [0.5, 1.0, 1.0, 0.882_842_7, 0.6, 0.317_157_3, 0.2];
        assert!(cosine.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6), "{cosine:?}");
        let every = short::count(2);
        assert_eq!(
            rates(Schedule::StepDecay { rate: 1.0, factor: 0.5, every }, 5),
            [1.0, 1.0, 0.5, 0.5, 0.25]
        );
        // A run that is all warm-up, or of one step, has rates too.
        assert!(rates(Schedule::Cosine { rate: 1.0, warmup: 9, last: 0.0 }, 3).iter().all(|r| *r > 0.0));
        assert_eq!(rates(Schedule::Cosine { rate: 1.0, warmup: 0, last: 0.0 }, 1), [1.0]);
    }

    #[test]
    fn rates_out_of_range_are_refused() {
        for bad in [0.0, -1.0, f32::NAN, f32::INFINITY] {
            assert!(Schedule::Constant { rate: bad }.check().is_err());
            assert!(Schedule::StepDecay { rate: 1.0, factor: bad, every: Count::ONE }.check().is_err());
        }
        assert!(Schedule::Cosine { rate: 0.1, warmup: 0, last: 0.2 }.check().is_err());
    }
}
