//! Everything about a run that is not data: it drives the run, and it is what the accountant reads.

use crate::{Averaging, Clipping, Loss, Network, Optimiser, Rounding, Sampling, Schedule, Views, World};
use std::sync::Arc;
use veracity_core::{Adjacency, ClipNorm, Count, Mechanism, NoiseMultiplier, Refusal};

/// What protects the records.
#[derive(Debug, Clone, PartialEq)]
pub enum Privacy {
    /// Gradients are clipped in ℓ2, and their sum gets Gaussian noise.
    Gaussian {
        /// Noise over clip norm. Under adaptive clipping the count is paid for out of it, so the gradient's own noise is
        /// larger.
        noise: NoiseMultiplier,
        /// How long one record's gradient may be.
        clip: ClipNorm,
        /// How it is brought to that.
        clipping: Clipping,
    },
    /// Gradients are clipped in ℓ1 one by one, and their sum gets Laplace noise.
    Laplace {
        /// The scale of the noise over the clip norm.
        noise: NoiseMultiplier,
        /// How long, in ℓ1, one record's gradient may be.
        clip: ClipNorm,
    },
    /// Nothing. For comparison only; there is nothing to claim.
    None,
}

impl Privacy {
    /// Gaussian noise on gradients that are clipped as a whole.
    pub fn gaussian(noise: NoiseMultiplier, clip: ClipNorm) -> Privacy {
        Privacy::Gaussian { noise, clip, clipping: Clipping::Flat }
    }
}

/// What is protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Unit {
    /// One record.
    #[default]
    Record,
    /// One person with all records: they enter batches together, and their mean gradient is clipped.
    Person,
}

/// Where the parameters start.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Initial {
    /// As their layers draw them.
    Random {
        /// What they are multiplied with; 1 is right for ReLU, tanh likes less.
        scale: f32,
    },
    /// At these.
    At(Vec<f32>),
}

impl Default for Initial {
    /// As their layers draw them.
    fn default() -> Initial {
        Initial::Random { scale: 1.0 }
    }
}

impl Initial {
    fn check(&self, network: &Network) -> Result<(), Refusal> {
        match self {
            Initial::Random { scale } if (0.0..=1e6).contains(scale) => Ok(()),
            Initial::Random { scale } => {
                Err(Refusal::out_of_range("initial scale", scale, "0 ≤ initial scale ≤ 1e6"))
            }
            Initial::At(start)
                if start.len() == network.parameters() && start.iter().all(|w| w.is_finite()) =>
            {
                Ok(())
            }
            Initial::At(_) => Err(Refusal::Invalid(format!(
                "the initial parameters do not match the network, which needs {} finite numbers",
                network.parameters()
            ))),
        }
    }
}

/// A training run: everything about it that is not data. A clone shares the network's stages and the views.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The model.
    pub network: Network,
    /// What it learns to make small.
    pub loss: Loss,
    /// How batches are drawn.
    pub sampling: Sampling,
    /// How many.
    pub steps: Count,
    /// What protects the records.
    pub privacy: Privacy,
    /// How parameters follow the gradient.
    pub optimiser: Optimiser,
    /// How far.
    pub schedule: Schedule,
    /// By which part, times the learning rate, parameters shrink in a step; 0 for not at all.
    pub weight_decay: f32,
    /// What is handed over at the end.
    pub averaging: Averaging,
    /// Where the parameters start.
    pub initial: Initial,
    /// Whose records they are.
    pub unit: Unit,
    /// What an example is shown as; itself when there is nothing here.
    pub views: Option<Arc<dyn Views>>,
}

impl Plan {
    /// The most steps: streams are numbered by step and block.
    pub const MOST_STEPS: u64 = 1 << 40;

    /// A plan for single records. What protects them must be said; the rest has defaults that change no guarantee, and is set by
    /// the methods below or by the fields themselves: plain gradient descent at a constant rate of 0.1, random initial parameters,
    /// and neither weight decay nor averaging nor views.
    ///
    /// # Examples
    ///
    /// ```
    /// use veracity_core::{ClipNorm, Count, NoiseMultiplier};
    /// use veracity_train::{Layer, Loss, Network, Optimiser, Plan, Privacy, Sampling, Schedule, Shape};
    ///
    /// let network = Network::new(Shape::Flat(64), vec![Layer::Linear { outputs: 10 }])?;
    /// let sampling = Sampling::Poisson { batch: Count::new(256)?, population: Count::new(60_000)? };
    /// let privacy = Privacy::gaussian(NoiseMultiplier::new(1.1)?, ClipNorm::new(1.0)?);
    /// let plan = Plan::new(network, Loss::SoftmaxCrossEntropy, sampling, Count::new(1_000)?, privacy)
    ///     .with_optimiser(Optimiser::Sgd { momentum: 0.9 })
    ///     .with_schedule(Schedule::Cosine { rate: 0.5, warmup: 50, last: 0.0 });
    /// // Two runs of one plan that differ in one thing.
    /// let slower = Plan { steps: Count::new(4_000)?, ..plan.clone() };
    /// assert_eq!(slower.privacy, plan.privacy);
    /// # Ok::<(), veracity_core::Refusal>(())
    /// ```
    pub fn new(network: Network, loss: Loss, sampling: Sampling, steps: Count, privacy: Privacy) -> Plan {
        Plan {
            network,
            loss,
            sampling,
            steps,
            privacy,
            optimiser: Optimiser::default(),
            schedule: Schedule::default(),
            initial: Initial::default(),
            weight_decay: 0.0,
            averaging: Averaging::default(),
            unit: Unit::default(),
            views: None,
        }
    }

    /// The same plan with another optimiser.
    pub fn with_optimiser(self, optimiser: Optimiser) -> Plan {
        Plan { optimiser, ..self }
    }

    /// The same plan with another learning rate.
    pub fn with_schedule(self, schedule: Schedule) -> Plan {
        Plan { schedule, ..self }
    }

    /// The same plan with a weight decay.
    pub fn with_weight_decay(self, weight_decay: f32) -> Plan {
        Plan { weight_decay, ..self }
    }

    /// The same plan with a mean of parameters handed over.
    pub fn with_averaging(self, averaging: Averaging) -> Plan {
        Plan { averaging, ..self }
    }

    /// The same plan from other initial parameters.
    pub fn with_initial(self, initial: Initial) -> Plan {
        Plan { initial, ..self }
    }

    /// The same plan for another unit.
    pub fn with_unit(self, unit: Unit) -> Plan {
        Plan { unit, ..self }
    }

    /// The same plan with several views of each example.
    pub fn with_views(self, views: impl Views + 'static) -> Plan {
        Plan { views: Some(Arc::new(views)), ..self }
    }

    /// What is done to the data, for the accountant. Each way of sampling has theorems for some adjacencies only, so it is
    /// asked for one; the others are refused.
    ///
    /// # Promise  The run is at most as revealing, between datasets of this adjacency, as the mechanism returned
    ///
    /// # Errors
    /// Refuses training without noise, and adjacencies without a theorem.
    ///
    /// # Examples
    ///
    /// Shuffled batches have a theorem only where records keep their places:
    ///
    /// ```
    /// use veracity_core::Adjacency;
    /// # use veracity_core::{ClipNorm, Count, NoiseMultiplier};
    /// # use veracity_train::*;
    /// # let features = (0..400).flat_map(|i| [if i % 2 == 1 { 1.0 } else { -1.0 }, 0.5]).collect();
    /// # let data = Dataset::new(features, 2, Labels::Classes { of: (0..400).map(|i| i % 2).collect(), classes: 2 })?;
    /// # let network = Network::new(Shape::Flat(2), vec![Layer::Linear { outputs: 1 }])?;
    /// let sampling = Sampling::Shuffled { batch: Count::new(40)?, population: Count::new(400)? };
    /// # let privacy = Privacy::gaussian(NoiseMultiplier::new(1.0)?, ClipNorm::new(1.0)?);
    /// let plan = Plan::new(network, Loss::Logistic, sampling, Count::new(20)?, privacy);
    ///
    /// assert!(plan.mechanism(Adjacency::AddRemove).is_err());
    /// assert!(plan.mechanism(Adjacency::ReplaceOne).is_ok());
    /// # Ok::<(), veracity_core::Refusal>(())
    /// ```
    pub fn mechanism(&self, adjacency: Adjacency) -> Result<Mechanism, Refusal> {
        // An adaptive count is part of the same Gaussian step: the noise multiplier is that of both together.
        let step = match &self.privacy {
            Privacy::Gaussian { noise, .. } => Mechanism::Gaussian { noise_multiplier: *noise },
            Privacy::Laplace { noise, .. } => Mechanism::Laplace { noise_multiplier: *noise },
            Privacy::None => {
                return Err(Refusal::Invalid("training without noise has no privacy guarantee".into()));
            }
        };
        self.sampling.mechanism(step, self.steps, adjacency)
    }

    /// How far floats can take the sums of a step beyond what a record contributes.
    pub fn rounding(&self) -> Rounding {
        Rounding::of_plan(self)
    }

    /// Whether every gradient is written out before it is added: where it is measured in ℓ1, or is a mean over several.
    pub(crate) fn writes_out(&self) -> bool {
        self.views.is_some() || self.unit == Unit::Person || matches!(self.privacy, Privacy::Laplace { .. })
    }

    /// Checks everything that can be checked without touching a record's values.
    ///
    /// # Errors
    /// Names the first setting that is out of range or does not fit the records.
    pub fn check(&self, world: World<'_>) -> Result<(), Refusal> {
        self.check_but_number(world)?;
        self.sampling.check_number(world.unplanted())
    }

    /// As [`Plan::check`], without the comparison of the planned and the private number of records in a Poisson plan.
    pub(crate) fn check_but_number(&self, world: World<'_>) -> Result<(), Refusal> {
        let inputs = self.network.input().size();
        if world.width() != inputs {
            return Err(Refusal::Invalid(format!(
                "records have {} features, but the network has {inputs} inputs",
                world.width()
            )));
        }
        if self.steps.get() > Plan::MOST_STEPS {
            return Err(Refusal::out_of_range("steps", self.steps.get(), "at most 2^40"));
        }
        if (self.unit == Unit::Person) != world.has_people() {
            return Err(Refusal::Invalid(match self.unit {
                Unit::Person => "the plan protects people, but the records have no privacy IDs".into(),
                Unit::Record => {
                    "the plan protects single records, but the records have privacy IDs; set person in the plan".into()
                }
            }));
        }
        self.sampling.check(world.len())?;
        if let Privacy::Gaussian { clipping, .. } = &self.privacy {
            clipping.check(&self.network)?;
        }
        self.optimiser.check()?;
        self.schedule.check()?;
        self.averaging.check()?;
        if !(0.0..=1e6).contains(&self.weight_decay) {
            return Err(Refusal::out_of_range("weight decay", self.weight_decay, "0 ≤ weight decay ≤ 1e6"));
        }
        if self.views.as_ref().is_some_and(|views| !(1..=1 << 12).contains(&views.count())) {
            return Err(Refusal::out_of_range("views", "none or too many", "1 ≤ views ≤ 4096"));
        }
        self.initial.check(&self.network)?;
        self.check_crafted(world)?;
        world.check_labels(|labels| self.loss.check(self.network.output(), labels))
    }

    /// Refuses gradients of another network.
    pub(crate) fn check_crafted(&self, world: World<'_>) -> Result<(), Refusal> {
        let parameters = self.network.parameters();
        if world.all_crafted().all(|crafted| crafted.fits(parameters)) {
            return Ok(());
        }
        Err(Refusal::Invalid(
            "a crafted gradient has an entry beyond the last parameter of the network".into(),
        ))
    }
}
