//! How a plan says what is learnt and what protects the records, and the settings that these words stand for.
//!
//! A word that the chosen way would ignore is a misunderstanding, and is refused.

use serde::{Deserialize, Serialize};
use veracity_account::claims::spec::Whole;
use veracity_core::ClipNorm;
use veracity_core::printable;
use veracity_core::{Count, NoiseMultiplier, Probability, Refusal};
use veracity_train::{Averaging, Clipping, Loss, Mirror, Optimiser, Privacy, Sampling, Schedule};

/// `[training]`: what is learnt, from which batches, how fast.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[allow(missing_docs)] // Each field is named as in train's own nouns, which document it.
pub struct TrainingSpec {
    pub loss: Option<String>,
    pub huber_delta: Option<f32>,
    pub sampling: Option<String>,
    pub batch_size: Option<f64>,
    pub records: Option<f64>,
    pub steps: Option<f64>,
    pub epochs: Option<f64>,
    #[serde(alias = "optimizer")]
    pub optimiser: Option<String>,
    pub momentum: Option<f32>,
    pub beta1: Option<f32>,
    pub beta2: Option<f32>,
    pub adam_epsilon: Option<f32>,
    pub learning_rate: Option<f32>,
    pub schedule: Option<String>,
    pub warmup: Option<f64>,
    pub last_rate: Option<f32>,
    pub factor: Option<f32>,
    pub every: Option<f64>,
    pub initial_scale: Option<f32>,
    pub weight_decay: Option<f32>,
    pub averaging: Option<String>,
    pub averaging_decay: Option<f32>,
    pub averaging_steps: Option<f64>,
    pub views: Option<f64>,
    pub view_shift: Option<f64>,
    pub view_mirror: Option<bool>,
}

/// How an image is shown several times.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ViewSettings {
    pub count: usize,
    pub shift: usize,
    pub mirror: Mirror,
}

/// `[privacy]`: the budget or the noise, and how gradients are clipped.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[allow(missing_docs)] // Each field is named as in train's own nouns, which document it.
pub struct PrivacySpec {
    pub epsilon: Option<f64>,
    pub delta: Option<f64>,
    pub noise_multiplier: Option<f64>,
    pub noise: Option<String>,
    pub clip_norm: Option<f64>,
    pub clipping: Option<String>,
    pub layer_weights: Option<Vec<f32>>,
    pub gamma: Option<f32>,
    pub quantile: Option<f64>,
    pub clip_rate: Option<f32>,
    pub count_noise: Option<f64>,
}

/// Refuses a setting that has no effect with the chosen option.
pub(super) fn unused(words: &[(&str, bool)], chosen: &str) -> Result<(), Refusal> {
    match words.iter().find(|(_, given)| *given) {
        Some((word, _)) => Err(Refusal::invalid(format!("{word} cannot be used with {chosen}; remove it"))),
        None => Ok(()),
    }
}

pub(super) fn missing(word: &str, beside: &str) -> Refusal {
    Refusal::invalid(format!("{word} is missing; add it to {beside}"))
}

/// A word in printable form.
pub(super) fn shown(word: &str) -> String {
    printable(word, 40)
}

impl TrainingSpec {
    pub(super) fn loss(&self) -> Result<Loss, Refusal> {
        let name = self.loss.as_deref().unwrap_or("softmax-cross-entropy");
        if name != "huber" {
            unused(&[("huber_delta", self.huber_delta.is_some())], name)?;
        }
        match name {
            "softmax-cross-entropy" => Ok(Loss::SoftmaxCrossEntropy),
            "logistic" => Ok(Loss::Logistic),
            "squared" => Ok(Loss::Squared),
            "huber" => Ok(Loss::Huber { delta: self.huber_delta.unwrap_or(1.0) }),
            other => Err(Refusal::out_of_range(
                "loss",
                shown(other),
                "softmax-cross-entropy, logistic, squared or huber",
            )),
        }
    }

    /// The number of records is public: it is the plan's, or that of the file.
    pub(super) fn sampling(&self, records: usize) -> Result<Sampling, Refusal> {
        let batch = self.batch_size.ok_or_else(|| missing("batch_size", "[training]"))?;
        let batch = Whole(batch).count("batch_size")?;
        let population = self.population(records)?;
        if batch > population {
            let (batch, population) = (batch.get(), population.get());
            return Err(Refusal::invalid(format!(
                "batch_size is {batch}, expected at most the number of records, {population}"
            )));
        }
        match self.sampling.as_deref().unwrap_or("poisson") {
            "poisson" => Ok(Sampling::Poisson { batch, population }),
            "fixed-size" => Ok(Sampling::FixedSize { batch, population }),
            "shuffled" => Ok(Sampling::Shuffled { batch, population }),
            other => Err(Refusal::out_of_range("sampling", shown(other), "poisson, fixed-size or shuffled")),
        }
    }

    pub(super) fn steps(&self, sampling: Sampling) -> Result<Count, Refusal> {
        match (self.steps, self.epochs) {
            (Some(steps), None) => Whole(steps).count("steps"),
            (None, Some(epochs)) if epochs > 0.0 && epochs.is_finite() => {
                let exact = epochs * sampling.population().as_f64() / sampling.planned().as_f64();
                Whole(exact.round().max(1.0)).count("steps")
            }
            (None, Some(epochs)) => Err(Refusal::out_of_range("epochs", epochs, "a finite number > 0")),
            (Some(_), Some(_)) => Err(Refusal::invalid("steps and epochs are both given; give only one")),
            (None, None) => Err(missing("steps or epochs", "[training]")),
        }
    }

    pub(super) fn optimiser(&self) -> Result<Optimiser, Refusal> {
        let name = self.optimiser.as_deref().unwrap_or("sgd");
        let adam = [
            ("beta1", self.beta1.is_some()),
            ("beta2", self.beta2.is_some()),
            ("adam_epsilon", self.adam_epsilon.is_some()),
        ];
        match name {
            "sgd" | "nesterov" => unused(&adam, name)?,
            _ => unused(&[("momentum", self.momentum.is_some())], name)?,
        }
        match name {
            "sgd" => Ok(Optimiser::Sgd { momentum: self.momentum.unwrap_or(0.0) }),
            "nesterov" => Ok(Optimiser::Nesterov { momentum: self.momentum.unwrap_or(0.9) }),
            "adam" => Ok(Optimiser::Adam {
                beta1: self.beta1.unwrap_or(0.9),
                beta2: self.beta2.unwrap_or(0.999),
                epsilon: self.adam_epsilon.unwrap_or(1e-8),
            }),
            other => Err(Refusal::out_of_range("optimiser", shown(other), "sgd, nesterov or adam")),
        }
    }

    pub(super) fn schedule(&self) -> Result<Schedule, Refusal> {
        let rate = self.learning_rate.ok_or_else(|| missing("learning_rate", "[training]"))?;
        let name = self.schedule.as_deref().unwrap_or("constant");
        let [warmup, last, decay] = match name {
            "constant" => [true, true, true],
            "warmup" => [false, true, true],
            "cosine" => [false, false, true],
            _ => [true, true, false],
        };
        unused(
            &[
                ("warmup", warmup && self.warmup.is_some()),
                ("last_rate", last && self.last_rate.is_some()),
                ("factor", decay && self.factor.is_some()),
                ("every", decay && self.every.is_some()),
            ],
            name,
        )?;
        let rise = match self.warmup {
            None | Some(0.0) => 0,
            Some(warmup) => Whole(warmup).count("warmup")?.get(),
        };
        match name {
            "constant" => Ok(Schedule::Constant { rate }),
            "warmup" => Ok(Schedule::Warmup { rate, warmup: rise }),
            "cosine" => Ok(Schedule::Cosine { rate, warmup: rise, last: self.last_rate.unwrap_or(0.0) }),
            "step-decay" => Ok(Schedule::StepDecay {
                rate,
                factor: self.factor.ok_or_else(|| missing("factor", "[training] for step-decay"))?,
                every: Whole(self.every.ok_or_else(|| missing("every", "[training] for step-decay"))?)
                    .count("every")?,
            }),
            other => {
                Err(Refusal::out_of_range("schedule", shown(other), "constant, warmup, cosine or step-decay"))
            }
        }
    }

    pub(super) fn averaging(&self) -> Result<Averaging, Refusal> {
        let name = self.averaging.as_deref().unwrap_or("none");
        unused(
            &[
                ("averaging_decay", name != "exponential" && self.averaging_decay.is_some()),
                ("averaging_steps", name != "tail" && self.averaging_steps.is_some()),
            ],
            name,
        )?;
        match name {
            "none" => Ok(Averaging::None),
            "exponential" => Ok(Averaging::Exponential { decay: self.averaging_decay.unwrap_or(0.99) }),
            "tail" => {
                let steps = self
                    .averaging_steps
                    .ok_or_else(|| missing("averaging_steps", "[training] for tail averaging"))?;
                Ok(Averaging::Tail { steps: Whole(steps).count("averaging_steps")? })
            }
            other => Err(Refusal::out_of_range("averaging", shown(other), "none, exponential or tail")),
        }
    }

    /// How many views an example has, and how they differ; nothing if it has only one.
    pub(super) fn views(&self) -> Result<Option<ViewSettings>, Refusal> {
        let Some(count) = self.views else {
            let words =
                [("view_shift", self.view_shift.is_some()), ("view_mirror", self.view_mirror.is_some())];
            unused(&words, "one view")?;
            return Ok(None);
        };
        let shift = match self.view_shift {
            Some(0.0) => 0,
            Some(shift) => Whole(shift).count("view_shift")?.get(),
            None => 1,
        };
        let mirror = if self.view_mirror == Some(true) { Mirror::Sometimes } else { Mirror::Never };
        // Counts are below 2^53.
        Ok(Some(ViewSettings {
            count: Whole(count).count("views")?.get() as usize,
            shift: shift as usize,
            mirror,
        }))
    }

    /// The number of records as the plan says it, or that of the file.
    pub(super) fn population(&self, records: usize) -> Result<Count, Refusal> {
        match self.records {
            Some(records) => Whole(records).count("records"),
            None => Count::new(records as u64),
        }
    }

    /// Refuses all settings that a model without steps does not use.
    pub(super) fn only_records(&self) -> Result<(), Refusal> {
        if *self == (TrainingSpec { records: self.records, ..TrainingSpec::default() }) {
            return Ok(());
        }
        Err(Refusal::invalid("[training] can only contain records with [model.convex], which has no steps"))
    }
}

impl PrivacySpec {
    /// Refuses all settings of gradients.
    pub(super) fn without_clipping(&self, chosen: &str) -> Result<(), Refusal> {
        unused(
            &[
                ("clip_norm", self.clip_norm.is_some()),
                ("clipping", self.clipping.is_some()),
                ("layer_weights", self.layer_weights.is_some()),
                ("gamma", self.gamma.is_some()),
                ("quantile", self.quantile.is_some()),
                ("clip_rate", self.clip_rate.is_some()),
                ("count_noise", self.count_noise.is_some()),
            ],
            chosen,
        )
    }

    /// What protects the records at a noise multiplier.
    pub(super) fn privacy(&self, noise: NoiseMultiplier) -> Result<Privacy, Refusal> {
        let clip = ClipNorm::new(self.clip_norm.unwrap_or(1.0))?;
        match self.noise.as_deref().unwrap_or("gaussian") {
            "gaussian" => Ok(Privacy::Gaussian { noise, clip, clipping: self.clipping()? }),
            "laplace" => {
                unused(&[("clipping", self.clipping.is_some())], "laplace noise")?;
                Ok(Privacy::Laplace { noise, clip })
            }
            other => Err(Refusal::out_of_range("noise", shown(other), "gaussian or laplace")),
        }
    }

    fn clipping(&self) -> Result<Clipping, Refusal> {
        let name = self.clipping.as_deref().unwrap_or("flat");
        unused(
            &[
                ("layer_weights", name != "per-layer" && self.layer_weights.is_some()),
                ("gamma", name != "automatic" && self.gamma.is_some()),
                ("quantile", name != "adaptive" && self.quantile.is_some()),
                ("clip_rate", name != "adaptive" && self.clip_rate.is_some()),
                ("count_noise", name != "adaptive" && self.count_noise.is_some()),
            ],
            name,
        )?;
        match name {
            "flat" => Ok(Clipping::Flat),
            "per-layer" => Ok(Clipping::PerLayer { weights: self.layer_weights.clone() }),
            "automatic" => Ok(Clipping::Automatic { gamma: self.gamma.unwrap_or(0.01) }),
            "adaptive" => Ok(Clipping::Adaptive {
                quantile: Probability::new(self.quantile.unwrap_or(0.5))?,
                rate: self.clip_rate.unwrap_or(0.2),
                count_noise: NoiseMultiplier::new(
                    self.count_noise
                        .ok_or_else(|| missing("count_noise", "[privacy] for adaptive clipping"))?,
                )?,
            }),
            other => {
                Err(Refusal::out_of_range("clipping", shown(other), "flat, per-layer, automatic or adaptive"))
            }
        }
    }
}
