//! Everything about a run that is not data: it drives the run, and it is what the accountant reads.

use crate::{Averaging, Clipping, Loss, Network, Optimiser, Rounding, Sampling, Schedule, Views, World};
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

/// What is protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// One record.
    Record,
    /// One person with all records: they enter batches together, and their mean gradient is clipped.
    Person,
}

/// Where the parameters start.
#[derive(Debug, Clone, PartialEq)]
pub enum Initial {
    /// As their layers draw them.
    Random {
        /// What they are multiplied with; 1 is right for ReLU, tanh likes less.
        scale: f32,
    },
    /// At these.
    At(Vec<f32>),
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
                "the initial parameters do not fit, expected {} finite numbers",
                network.parameters()
            ))),
        }
    }
}

/// A training run: everything about it that is not data.
#[derive(Debug)]
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
    pub views: Option<Box<dyn Views>>,
}

impl Plan {
    /// The most steps: streams are numbered by step and block.
    pub const MOST_STEPS: u64 = 1 << 40;

    /// A plan for single records, with random initial parameters and neither weight decay nor averaging nor views; those are set
    /// afterwards.
    pub fn new(
        network: Network,
        loss: Loss,
        sampling: Sampling,
        steps: Count,
        privacy: Privacy,
        optimiser: Optimiser,
        schedule: Schedule,
    ) -> Plan {
        Plan {
            network,
            loss,
            sampling,
            steps,
            privacy,
            optimiser,
            schedule,
            initial: Initial::Random { scale: 1.0 },
            weight_decay: 0.0,
            averaging: Averaging::None,
            unit: Unit::Record,
            views: None,
        }
    }

    /// What is done to the data, for the accountant. Each way of sampling has theorems for some adjacencies only, so it is
    /// asked for one; the others are refused.
    ///
    /// # Promise  The run is at most as revealing, between datasets of this adjacency, as the mechanism returned
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
    /// # let (noise, clip) = (NoiseMultiplier::new(1.0)?, ClipNorm::new(1.0)?);
    /// # let privacy = Privacy::Gaussian { noise, clip, clipping: Clipping::Flat };
    /// # let (optimiser, schedule) = (Optimiser::Sgd { momentum: 0.9 }, Schedule::Constant { rate: 0.1 });
    /// let plan = Plan::new(network, Loss::Logistic, sampling, Count::new(20)?, privacy, optimiser, schedule);
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
                return Err(Refusal::Invalid(
                    "training without noise has no guarantee to account for".into(),
                ));
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
    pub fn check(&self, world: World<'_>) -> Result<(), Refusal> {
        let inputs = self.network.input().size();
        if world.width() != inputs {
            return Err(Refusal::Invalid(format!(
                "records have {} features, expected {inputs} for this network",
                world.width()
            )));
        }
        if self.steps.get() > Plan::MOST_STEPS {
            return Err(Refusal::out_of_range("steps", self.steps.get(), "at most 2^40"));
        }
        if (self.unit == Unit::Person) != world.has_people() {
            return Err(Refusal::Invalid(match self.unit {
                Unit::Person => "the plan protects people, expected records that say whose they are".into(),
                Unit::Record => {
                    "the plan protects records one by one, expected none that are told by person".into()
                }
            }));
        }
        self.sampling.check(world.len(), world.unplanted())?;
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
        if world.all_crafted().any(|crafted| !crafted.fits(&self.network)) {
            return Err(Refusal::Invalid(
                "a crafted gradient has an entry past the last parameter, expected one of this network"
                    .into(),
            ));
        }
        world.check_labels(|labels| self.loss.check(self.network.output(), labels))
    }
}
