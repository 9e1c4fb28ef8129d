//! Private training by its definition: full batches, doubles, every gradient written out; and the same with a mistake planted.
//!
//! Without a [`Bug`] it hides the same sums as the library (a test holds the two together). Records go in, each step makes
//! one noise call, and what comes out is what an attacker with every step sees.

mod bug;
mod gradient;

pub use bug::Bug;
pub use gradient::{CLASSES, HIDDEN, INPUTS, PARAMETERS, Record, SECOND, Signals};

use gradient::is_bias;
use veracity_core::{ClipNorm, Count, NoiseMultiplier, Refusal};
use veracity_noise::{Distance, NoiseStream, vector};
use veracity_train::{CalibratedNoise, Rounding};

/// The training loss below which [`Bug::StopsEarly`] stops.
const SMALL_LOSS: f64 = 1.0;
/// How fast [`Bug::AdaptsClipInTheOpen`] follows.
const ADAPTING: f64 = 0.5;

/// Everything about a run that is not data.
#[derive(Debug, Clone)]
pub struct Trainer {
    /// Noise over clip norm.
    pub noise: NoiseMultiplier,
    /// How long one record's gradient may be.
    pub clip: ClipNorm,
    /// The batch size that is planned: all records.
    pub planned: Count,
    /// How far rounding may take its sums.
    pub rounding: Rounding,
    /// How many steps.
    pub steps: u64,
    /// The learning rate.
    pub rate: f32,
    /// How much of the last direction is kept.
    pub momentum: f32,
    /// The parameters before the first step.
    pub start: Vec<f32>,
    /// What is wrong with it.
    pub bug: Option<Bug>,
}

/// What a run shows to an attacker who sees every step.
#[derive(Debug, Clone)]
pub struct Transcript {
    /// The parameters before each step that was taken.
    pub visited: Vec<Vec<f32>>,
    /// The noisy sum of each.
    pub said: Vec<Vec<f64>>,
    /// The parameters after the last.
    pub parameters: Vec<f32>,
}

impl Trainer {
    fn calibrated(&self, clip: f64) -> Result<CalibratedNoise, Refusal> {
        CalibratedNoise::gaussian(self.noise, ClipNorm::new(clip)?, PARAMETERS, self.rounding)
    }

    /// Trains on records; every step draws from `rng`.
    ///
    /// # Errors
    /// Noise that cannot be drawn.
    pub fn train(&self, records: &[Record], rng: &mut NoiseStream) -> Result<Transcript, Refusal> {
        let mut clip = self.clip.get();
        let mut parameters = self.start.clone();
        let (mut velocity, mut clean_velocity) = (vec![0.0f32; PARAMETERS], vec![0.0f64; PARAMETERS]);
        let (mut visited, mut said, mut first_noise) = (Vec::new(), Vec::new(), None);
        for _ in 0..self.steps {
            if self.skips(records, &parameters) {
                continue;
            }
            let law = self.calibrated(clip)?;
            let mut sum = self.clipped_sum(records, &parameters, f64::from(law.clip_limit()));
            if self.bug == Some(Bug::MomentumBeforeNoise) {
                let kept = f64::from(self.momentum);
                clean_velocity.iter_mut().zip(&sum).for_each(|(v, g)| *v = kept * *v + g);
                sum.clone_from(&clean_velocity);
            }
            let noisy = self.privatize(&sum, &law, &mut first_noise, rng);
            visited.push(parameters.clone());
            self.follow(&mut parameters, &noisy, &mut velocity, records.len());
            said.push(noisy);
            clip = self.next_clip(clip, records, &parameters);
            if self.bug == Some(Bug::StopsEarly) && mean_loss(records, &parameters) < SMALL_LOSS {
                break;
            }
        }
        Ok(Transcript { visited, said, parameters })
    }

    /// Whether a step is left out, noise and all.
    fn skips(&self, records: &[Record], parameters: &[f32]) -> bool {
        match self.bug {
            Some(Bug::SkipsEmptyBatches) => records.is_empty(),
            Some(Bug::SkipsBatchesWithNan) => {
                records.iter().any(|record| !is_finite(&Signals::of(record, parameters).gradient()))
            }
            _ => false,
        }
    }

    /// Adds noise to a sum, on the grid that the library uses.
    fn privatize(
        &self,
        sum: &[f64],
        law: &CalibratedNoise,
        first_noise: &mut Option<Vec<i32>>,
        rng: &mut NoiseStream,
    ) -> Vec<f64> {
        let step = law.granularity();
        let place = |x: &f64| if x.is_nan() { 0 } else { (x / step).round_ties_even() as i128 };
        let input: Vec<i128> = sum.iter().map(place).collect();
        let most = law.clip() / step;
        let declared = Distance::L2Squared((most * most) as u128);
        let said = rng.call("gradient", &input, declared, |input, stream| {
            let mut drawn = vec![0; PARAMETERS];
            vector::fill(&mut drawn, stream);
            if self.bug == Some(Bug::NoiseReused) {
                drawn = first_noise.get_or_insert(drawn).clone();
            }
            let noise = |at: usize| (self.deviation(at) * f64::from(drawn[at])).round() as i128;
            input.iter().enumerate().map(|(at, value)| value + noise(at)).collect()
        });
        said.iter().map(|k| step * *k as f64).collect()
    }

    /// The noise that a parameter really gets, over what is accounted. An attacker knows the code, and so this.
    pub fn deviation(&self, parameter: usize) -> f64 {
        match self.bug {
            Some(Bug::NoiseNotScaledByClip) => 1.0 / self.clip.get(),
            Some(Bug::NoiseDividedByBatch | Bug::BackpropagationSlip) => 1.0 / self.planned.as_f64(),
            Some(Bug::NoiseOnLastLayerOnly) if parameter < SECOND => 0.0,
            _ => 1.0,
        }
    }

    /// The optimiser: gradient descent, with momentum where there is some.
    fn follow(&self, parameters: &mut [f32], noisy: &[f64], velocity: &mut [f32], realised: usize) {
        // Divide by the planned batch size: the realised one is private.
        let divisor = match self.bug {
            Some(Bug::DividesByRealisedBatch) => realised as f32,
            _ => self.planned.as_f64() as f32,
        };
        let kept = if self.bug == Some(Bug::MomentumBeforeNoise) { 0.0 } else { self.momentum };
        for ((w, v), g) in parameters.iter_mut().zip(velocity).zip(noisy) {
            *v = kept * *v + *g as f32 / divisor;
            *w -= self.rate * *v;
        }
    }

    fn next_clip(&self, clip: f64, records: &[Record], parameters: &[f32]) -> f64 {
        if self.bug != Some(Bug::AdaptsClipInTheOpen) || records.is_empty() {
            return clip;
        }
        let within = |record: &&Record| norm(&Signals::of(record, parameters).gradient()) <= clip;
        let share = records.iter().filter(within).count() as f64 / records.len() as f64;
        clip * (-ADAPTING * (share - 0.5)).exp()
    }

    /// The sum of gradients, each brought within `room`, or what the bug makes of it.
    pub fn clipped_sum(&self, records: &[Record], parameters: &[f32], room: f64) -> Vec<f64> {
        let raw = |record: &Record| finite(Signals::of(record, parameters).gradient());
        let mut sum = vec![0.0; PARAMETERS];
        let mut add = |part: Vec<f64>| sum.iter_mut().zip(part).for_each(|(total, x)| *total += x);
        match self.bug {
            Some(Bug::ClipsMicroBatches) => {
                for pair in records.chunks(2) {
                    let mut mean = total(pair.iter().map(raw));
                    mean.iter_mut().for_each(|x| *x /= pair.len() as f64);
                    shorten(&mut mean, room);
                    add(mean);
                }
            }
            Some(Bug::ClipsTheMean) => {
                let mut whole = total(records.iter().map(raw));
                // The mean to `room`, so the sum to as many times that.
                shorten(&mut whole, room * self.planned.as_f64());
                add(whole);
            }
            Some(Bug::NormalisesByBatch) => {
                let mean = mean_features(records);
                for (features, class) in records {
                    let centred = std::array::from_fn(|i| features[i] - mean[i]);
                    add(shortened(raw(&(centred, *class)), room));
                }
            }
            Some(Bug::ClipsViewsApart) => {
                for (features, class) in records {
                    add(shortened(raw(&(*features, *class)), room));
                    let mut mirrored = *features;
                    mirrored.reverse();
                    add(shortened(raw(&(mirrored, *class)), room));
                }
            }
            Some(Bug::BackpropagationSlip) => {
                for record in records {
                    add(finite(self.clipped_on_the_way(Signals::of(record, parameters), room)));
                }
            }
            Some(Bug::KeepsWhatIsNotFinite) => {
                for record in records {
                    let gradient = Signals::of(record, parameters).gradient();
                    // In single precision, infinity times zero.
                    let factor = (room as f32 / norm(&gradient) as f32).min(1.0);
                    add(gradient.into_iter().map(|x| f64::from(x as f32 * factor)).collect());
                }
            }
            _ => records.iter().for_each(|record| add(self.clip_one(raw(record), room))),
        }
        sum
    }

    /// One record's gradient as it is added.
    fn clip_one(&self, mut gradient: Vec<f64>, room: f64) -> Vec<f64> {
        match self.bug {
            Some(Bug::BiasNotClipped) => {
                let weights = (0..PARAMETERS).filter(|at| !is_bias(*at)).map(|at| gradient[at]);
                let factor = (room / weights.map(|x| x * x).sum::<f64>().sqrt()).min(1.0);
                let scaled = gradient.iter_mut().enumerate().filter(|(at, _)| !is_bias(*at));
                scaled.for_each(|(_, x)| *x *= factor);
            }
            Some(Bug::LayersClippedApart) => {
                let (first, second) = gradient.split_at_mut(SECOND);
                shorten(first, room);
                shorten(second, room);
            }
            Some(Bug::ClampsAboveOnly) => {
                let most = room / (PARAMETERS as f64).sqrt();
                gradient.iter_mut().for_each(|x| *x = x.min(most));
            }
            Some(Bug::NeverClips) => {}
            _ => shorten(&mut gradient, room),
        }
        gradient
    }

    /// Backpropagation clipping: a layer's inputs and the signals that come back to it are clipped, so that its gradient,
    /// their outer product, is short. The signals are those of the mean loss, which are a batch size smaller already.
    fn clipped_on_the_way(&self, signals: Signals, room: f64) -> Vec<f64> {
        let each = room / 2f64.sqrt();
        let planned = self.planned.as_f64();
        let mut gradient = Vec::with_capacity(PARAMETERS);
        for (inputs, back) in signals.inputs.into_iter().zip(signals.back) {
            let mut inputs: Vec<f64> = inputs.into_iter().chain([1.0]).collect();
            shorten(&mut inputs, 1.0);
            let mut back: Vec<f64> = back.into_iter().map(|x| x / planned).collect();
            shorten(&mut back, each);
            let (bias, weights) = inputs.split_last().expect("a one was put at its end");
            back.iter().for_each(|slope| gradient.extend(weights.iter().map(|input| input * slope)));
            gradient.extend(back.iter().map(|slope| bias * slope));
        }
        gradient
    }
}

fn norm(part: &[f64]) -> f64 {
    part.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// As the library sees it: squared norms are floats.
fn is_finite(gradient: &[f64]) -> bool {
    (norm(gradient) as f32).powi(2).is_finite()
}

/// A gradient that is no number contributes nothing.
fn finite(gradient: Vec<f64>) -> Vec<f64> {
    if is_finite(&gradient) { gradient } else { vec![0.0; PARAMETERS] }
}

fn shorten(part: &mut [f64], most: f64) {
    let factor = (most / norm(part)).min(1.0);
    part.iter_mut().for_each(|x| *x *= factor);
}

fn shortened(mut part: Vec<f64>, most: f64) -> Vec<f64> {
    shorten(&mut part, most);
    part
}

fn total(gradients: impl Iterator<Item = Vec<f64>>) -> Vec<f64> {
    gradients.fold(vec![0.0; PARAMETERS], |mut sum, gradient| {
        sum.iter_mut().zip(gradient).for_each(|(total, x)| *total += x);
        sum
    })
}

fn mean_features(records: &[Record]) -> [f32; INPUTS] {
    let count = records.len().max(1) as f32;
    std::array::from_fn(|i| records.iter().map(|record| record.0[i]).sum::<f32>() / count)
}

fn mean_loss(records: &[Record], parameters: &[f32]) -> f64 {
    let total: f64 = records.iter().map(|record| Signals::of(record, parameters).loss).sum();
    total / records.len().max(1) as f64
}
