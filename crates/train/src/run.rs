//! One model at work, step by step; it can be stopped after any step and resumed from a checkpoint with the same bits.

use crate::{
    CalibratedNoise, ClippedSum, Clipping, Initial, Noises, Plan, Privacy, Rounding, World,
    clip::{Balance, Clip},
    explicit::Measure,
    optimiser::{Block, Memory, Stride},
    partial_sums::{Batch, PartialSums},
    phases::{Phase, timed},
    private::{CLIP_NORMS, PIECE, Piece, is_shared, pieces, privatize_into},
    privatize,
    sampling::Sampler,
    sharding::Sharding,
};
use rayon::prelude::*;
use veracity_core::{Adjacency, ClipNorm, NoiseMultiplier, Probability, Refusal};
use veracity_noise::{Entropy, Family, Origin, Purpose, Tape};

/// How far an adaptive clip norm may go from where it began, as a factor either way.
const FARTHEST_CLIP: f64 = (1u64 << 20) as f64;

/// Which streams a model draws from.
#[derive(Debug, Clone, Copy)]
pub struct Draws<'a> {
    /// The root of all of them.
    pub entropy: &'a Entropy,
    /// The run.
    pub run: u64,
    /// The model within the run.
    pub trial: u64,
}

/// A trained model.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct TrainedModel {
    /// Its parameters, as [`crate::Network`] lays them out.
    pub parameters: Vec<f32>,
}

/// A checkpoint: all that a run needs to resume, besides its plan, dataset and entropy. It holds nothing but what came out of
/// noise, and no key.
#[derive(Debug, Clone, PartialEq)]
pub struct State {
    /// Steps done.
    pub step: u64,
    /// The parameters.
    pub parameters: Vec<f32>,
    /// The optimiser's mean directions; empty where it has none.
    pub first: Vec<f32>,
    /// Its mean squares; empty where it has none.
    pub second: Vec<f32>,
    /// The mean of the parameters; empty where none is taken.
    pub average: Vec<f32>,
    /// The clip norm of the next step.
    pub clip: f64,
}

/// One model.
///
/// # Examples
///
/// ```
/// use veracity_noise::Entropy;
/// use veracity_train::{Draws, Run};
/// # use veracity_core::{ClipNorm, Count, NoiseMultiplier};
/// # use veracity_train::*;
/// # let features = (0..400).flat_map(|i| [if i % 2 == 1 { 1.0 } else { -1.0 }, 0.5]).collect();
/// # let data = Dataset::new(features, 2, Labels::Classes { of: (0..400).map(|i| i % 2).collect(), classes: 2 })?;
/// # let network = Network::new(Shape::Flat(2), vec![Layer::Linear { outputs: 1 }])?;
/// # let sampling = Sampling::Poisson { batch: Count::new(40)?, population: Count::new(400)? };
/// # let privacy = Privacy::gaussian(NoiseMultiplier::new(1.0)?, ClipNorm::new(1.0)?);
/// # let plan = Plan::new(network, Loss::Logistic, sampling, Count::new(20)?, privacy);
///
/// let entropy = Entropy::system()?;
/// let mut run = Run::new(&plan, &data, Draws { entropy: &entropy, run: 0, trial: 0 })?;
/// assert!(run.is_releasable());
/// while run.step()? {}
/// assert_eq!(run.steps_done(), 20);
/// assert_eq!(run.model().parameters.len(), plan.network.parameters());
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
#[derive(Debug)]
pub struct Run<'a> {
    plan: &'a Plan,
    world: World<'a>,
    state: State,
    memory: Memory,
    guard: Option<Guard>,
    sampler: Sampler,
    batches: Family,
    noises: Noises,
    origin: Origin,
    batch: Vec<u32>,
    sharding: Sharding,
    measure: Measure,
    sums: PartialSums,
}

/// The noise of a step.
#[derive(Debug)]
struct Guard {
    gradient: CalibratedNoise,
    adaptive: Option<Adaptive>,
}

/// What moves an adaptive clip norm.
#[derive(Debug)]
struct Adaptive {
    quantile: Probability,
    rate: f64,
    balance: CalibratedNoise,
    /// The gradient's own noise multiplier.
    noise: NoiseMultiplier,
    first_clip: f64,
}

impl<'a> Run<'a> {
    /// A model with random parameters, before its first step.
    ///
    /// # Errors
    /// As [`Plan::check`]; also refuses noise that [`CalibratedNoise`] refuses.
    pub fn new(plan: &'a Plan, world: impl Into<World<'a>>, draws: Draws<'_>) -> Result<Run<'a>, Refusal> {
        let world = world.into();
        plan.check(world)?;
        Run::with_sampler(plan, world, draws, Sampler::new(plan.sampling)?)
    }

    /// As [`Run::new`], where the number of records is as private as they are: nothing is refused that depends on it, though a plan
    /// with Poisson batches may be for far fewer than there are.
    ///
    /// # Errors
    /// As [`Run::new`], except for the number of records.
    pub fn with_private_count(
        plan: &'a Plan,
        world: impl Into<World<'a>>,
        draws: Draws<'_>,
    ) -> Result<Run<'a>, Refusal> {
        let world = world.into();
        plan.check_but_number(world)?;
        Run::with_sampler(plan, world, draws, Sampler::new(plan.sampling)?)
    }

    /// As [`Run::new`], for a plan that was checked, with the tables of another model's sampler.
    pub(crate) fn with_sampler(
        plan: &'a Plan,
        world: World<'a>,
        draws: Draws<'_>,
        sampler: Sampler,
    ) -> Result<Run<'a>, Refusal> {
        let family = |purpose| draws.entropy.family(purpose, draws.run, draws.trial);
        let parameters = match &plan.initial {
            Initial::At(initial) => initial.clone(),
            Initial::Random { scale } => {
                let mut parameters = plan.network.initialise(&mut family(Purpose::Init).stream(0));
                parameters.iter_mut().for_each(|parameter| *parameter *= scale);
                parameters
            }
        };
        let guard = Guard::new(plan, parameters.len())?;
        let clip = match &plan.privacy {
            Privacy::Gaussian { clip, .. } | Privacy::Laplace { clip, .. } => clip.get(),
            Privacy::None => f64::INFINITY,
        };
        if let Some(guard) = &guard {
            guard.gradient.check_records(world.len())?;
        }
        let sharding = Sharding::new(plan);
        Ok(Run {
            sums: PartialSums::new(plan, sharding.shards(), guard.is_some()),
            sharding,
            measure: measure(plan, guard.as_ref()),
            memory: plan.optimiser.memory(parameters.len()),
            guard,
            sampler,
            batches: family(Purpose::Batch),
            noises: Noises::new(family(Purpose::Noise)),
            origin: draws.entropy.origin(),
            batch: Vec::new(),
            state: State {
                step: 0,
                average: plan.averaging.begin(&parameters),
                parameters,
                first: Vec::new(),
                second: Vec::new(),
                clip,
            },
            plan,
            world,
        })
    }

    /// Resumes a run from a checkpoint. With the same plan, dataset and entropy it goes on with the same bits; whether
    /// they are the same is the caller's to check.
    ///
    /// # Errors
    /// As [`Run::new`]; also refuses a checkpoint of another plan.
    ///
    /// # Examples
    ///
    /// A run that was stopped and resumed ends with the same bits as one that was not:
    ///
    /// ```
    /// use veracity_noise::Entropy;
    /// use veracity_train::{Draws, Run};
    /// # use veracity_core::{ClipNorm, Count, NoiseMultiplier};
    /// # use veracity_train::*;
    /// # let features = (0..400).flat_map(|i| [if i % 2 == 1 { 1.0 } else { -1.0 }, 0.5]).collect();
    /// # let data = Dataset::new(features, 2, Labels::Classes { of: (0..400).map(|i| i % 2).collect(), classes: 2 })?;
    /// # let network = Network::new(Shape::Flat(2), vec![Layer::Linear { outputs: 1 }])?;
    /// # let sampling = Sampling::Poisson { batch: Count::new(40)?, population: Count::new(400)? };
    /// # let privacy = Privacy::gaussian(NoiseMultiplier::new(1.0)?, ClipNorm::new(1.0)?);
    /// # let plan = Plan::new(network, Loss::Logistic, sampling, Count::new(20)?, privacy);
    ///
    /// let entropy = Entropy::seeded(1);
    /// let draws = Draws { entropy: &entropy, run: 0, trial: 0 };
    /// let mut whole = Run::new(&plan, &data, draws)?;
    /// while whole.step()? {}
    ///
    /// let mut first = Run::new(&plan, &data, draws)?;
    /// for _ in 0..7 {
    ///     first.step()?;
    /// }
    /// let checkpoint = first.state();
    /// let mut resumed = Run::resume(&plan, &data, draws, checkpoint)?;
    /// while resumed.step()? {}
    /// assert_eq!(resumed.model(), whole.model());
    /// # Ok::<(), veracity_core::Refusal>(())
    /// ```
    pub fn resume(
        plan: &'a Plan,
        world: impl Into<World<'a>>,
        draws: Draws<'_>,
        state: State,
    ) -> Result<Run<'a>, Refusal> {
        let mut run = Run::new(plan, world, draws)?;
        let fits = run.state.parameters.len() == state.parameters.len()
            && run.state.average.len() == state.average.len()
            && run.memory.first.len() == state.first.len()
            && run.memory.second.len() == state.second.len()
            && state.step <= plan.steps.get();
        if !fits {
            return Err(Refusal::Invalid("the saved state does not match the plan".into()));
        }
        run.memory = Memory { first: state.first, second: state.second };
        run.state = State { first: Vec::new(), second: Vec::new(), ..state };
        run.set_clip(run.state.clip)?;
        Ok(run)
    }

    /// The same run, which keeps the last sum that noise hid, for an auditor who needs no tape. Refused for entropy that is fit
    /// for release.
    ///
    /// # Errors
    /// Refuses entropy that is fit for release.
    pub fn listening(mut self) -> Result<Run<'a>, Refusal> {
        self.noises = self.noises.into_listening()?;
        Ok(self)
    }

    /// The same run with a tape of every sum that noise hides, for an auditor. Refused for entropy that is fit for release.
    ///
    /// # Errors
    /// Refuses entropy that is fit for release.
    pub fn recording(mut self, adjacency: Adjacency) -> Result<Run<'a>, Refusal> {
        self.noises = self.noises.into_recording(adjacency)?;
        Ok(self)
    }

    /// The same run, but what it says is what `script` said: on an adjacent dataset, the tape then shows how far each sum has
    /// moved and nothing else.
    ///
    /// # Errors
    /// Refuses entropy that is fit for release.
    pub fn replaying(mut self, adjacency: Adjacency, script: Tape) -> Result<Run<'a>, Refusal> {
        self.noises = self.noises.into_replaying(adjacency, script)?;
        Ok(self)
    }

    /// Takes the next step, and says whether there was one to take. An empty batch is a step like any other, since whether
    /// it is empty is private.
    ///
    /// # Errors
    /// Refuses an adaptive clip norm for which no noise can be calibrated.
    pub fn step(&mut self) -> Result<bool, Refusal> {
        let (plan, step) = (self.plan, self.state.step);
        if step >= plan.steps.get() {
            return Ok(false);
        }
        let crafted = timed(Phase::Sampling, || {
            self.sampler.draw(step, self.world.len(), &mut self.batch, &self.batches);
            self.sharding.assign(&self.batch, self.world, step, &self.batches)
        });
        let batch = Batch {
            plan,
            world: self.world,
            sharding: &self.sharding,
            crafted: &crafted,
            parameters: &self.state.parameters,
            measure: &self.measure,
            step,
        };
        let stride = Stride {
            corrections: plan.optimiser.corrections(step),
            // Divide by the planned batch size: the realised one is private.
            scale: 1.0 / plan.sampling.planned().as_f64() as f32,
            rate: plan.schedule.rate(step, plan.steps.get()),
            decay: plan.weight_decay,
        };
        let (sums, noises) = (&mut self.sums, &mut self.noises);
        let balance = match &self.guard {
            Some(Guard { gradient: noise, .. }) => {
                let ahead = noises.draw_ahead(noise, step, batch.parameters.len(), sums.workers());
                let (sum, others, balance) = sums.clipped_sum(batch, noise, ahead);
                let sum = ClippedSum::of_gradients(sum, others);
                let all = Block::all(&mut self.state.parameters, &mut self.memory);
                timed(Phase::Update, || {
                    privatize_into(sum, noise, step, noises, all, |block, noisy| {
                        plan.optimiser.step(block, noisy.values(), stride);
                    });
                });
                balance
            }
            None => {
                let sum = sums.plain_sum(batch);
                let all = Block::all(&mut self.state.parameters, &mut self.memory);
                timed(Phase::Update, || {
                    let step = |Piece { values, target, .. }: Piece<'_, Block<'_>>| {
                        plan.optimiser.step(target, values, stride);
                    };
                    match is_shared(sum.len()) {
                        true => pieces(sum, all, PIECE).into_par_iter().for_each(step),
                        false => plan.optimiser.step(all, sum, stride),
                    }
                });
                0
            }
        };
        plan.averaging.add(&mut self.state.average, &self.state.parameters, step, plan.steps.get());
        self.adapt(balance, step)?;
        self.state.step += 1;
        Ok(true)
    }

    /// Moves an adaptive clip norm by what the noisy balance says.
    ///
    /// # Reference  [AndrewThakkarMcMahanRamaswamy21]: C ← C·exp(−rate·(b − quantile)), with b the noisy part of gradients
    /// within C. Here b = ½ + balance/(2 × planned batch), since each gradient counts as ½ or −½
    fn adapt(&mut self, balance: Balance, step: u64) -> Result<(), Refusal> {
        let Some(adaptive) = self.guard.as_ref().and_then(|guard| guard.adaptive.as_ref()) else {
            return Ok(());
        };
        let mut cell = [0.0];
        let sum = ClippedSum::of_balance(balance, &mut cell);
        let noisy = privatize(sum, &adaptive.balance, step, &mut self.noises).values()[0];
        let within = 0.5 + f64::from(noisy) / (2.0 * self.plan.sampling.planned().as_f64());
        let moved = self.state.clip * libm::exp(-adaptive.rate * (within - adaptive.quantile.get()));
        // Within what can be clipped to: a run must not end because its gradients became small.
        let least = (adaptive.first_clip / FARTHEST_CLIP).max(*CLIP_NORMS.start());
        let most = (adaptive.first_clip * FARTHEST_CLIP).min(*CLIP_NORMS.end());
        self.set_clip(moved.clamp(least, most))
    }

    /// Sets the clip norm of the next step where it is adaptive, and the noise with it.
    fn set_clip(&mut self, clip: f64) -> Result<(), Refusal> {
        let plan = self.plan;
        if let Some(guard) = &mut self.guard
            && let Some(adaptive) = &guard.adaptive
        {
            let (parameters, rounding) = (plan.network.parameters(), plan.rounding());
            guard.gradient =
                CalibratedNoise::gaussian(adaptive.noise, ClipNorm::new(clip)?, parameters, rounding)?;
            self.state.clip = clip;
            self.measure =
                Measure::L2(Clip::new(&Clipping::Flat, &plan.network, guard.gradient.clip_limit()));
        }
        Ok(())
    }

    /// Steps done.
    pub fn steps_done(&self) -> u64 {
        self.state.step
    }

    /// What the last step said: its clipped sum with noise. Nothing before the first step, and nothing without privacy.
    pub fn last_noisy_sum(&self) -> Option<&[f32]> {
        (self.guard.is_some() && self.state.step > 0).then(|| self.sums.total())
    }

    /// What noise hid in the last step of a run that listens: its clipped sum alone. It is private.
    pub fn last_sum(&self) -> Option<&[f32]> {
        self.noises.last_sum()
    }

    /// Whether what it has learnt may be released: noise from system entropy, and no tape.
    pub fn is_releasable(&self) -> bool {
        self.guard.is_some() && self.origin.is_releasable() && self.noises.is_releasable()
    }

    /// A checkpoint, from which it can be resumed.
    pub fn state(&self) -> State {
        let Memory { first, second } = self.memory.clone();
        State { first, second, ..self.state.clone() }
    }

    /// The model as it is now: the mean of its parameters where the plan takes one.
    pub fn model(&self) -> TrainedModel {
        let averaged = !self.state.average.is_empty();
        let parameters = if averaged { &self.state.average } else { &self.state.parameters };
        TrainedModel { parameters: parameters.clone() }
    }

    /// The tape of a recording or replaying run. Its sums are private.
    pub fn into_tape(self) -> Option<Tape> {
        self.noises.into_tape()
    }
}

/// How the gradients of a plan are measured before its first step.
fn measure(plan: &Plan, guard: Option<&Guard>) -> Measure {
    match (&plan.privacy, guard) {
        (Privacy::Gaussian { clipping, .. }, Some(guard)) => {
            Measure::L2(Clip::new(clipping, &plan.network, guard.gradient.clip_limit()))
        }
        (Privacy::Laplace { .. }, Some(guard)) => Measure::L1 { norm: guard.gradient.clip_limit() },
        // Without privacy nothing is clipped.
        (Privacy::None, _) | (_, None) => Measure::L2(Clip::none()),
    }
}

impl Guard {
    fn new(plan: &Plan, parameters: usize) -> Result<Option<Guard>, Refusal> {
        let rounding: Rounding = plan.rounding();
        let (gradient, adaptive) = match &plan.privacy {
            Privacy::None => return Ok(None),
            Privacy::Laplace { noise, clip } => {
                (CalibratedNoise::laplace(*noise, *clip, parameters, rounding)?, None)
            }
            Privacy::Gaussian {
                noise,
                clip,
                clipping: Clipping::Adaptive { quantile, rate, count_noise },
            } => {
                let noise = gradient_noise(*noise, *count_noise)?;
                let adaptive = Adaptive {
                    quantile: *quantile,
                    rate: f64::from(*rate),
                    balance: CalibratedNoise::balance(*count_noise)?,
                    noise,
                    first_clip: clip.get(),
                };
                (CalibratedNoise::gaussian(noise, *clip, parameters, rounding)?, Some(adaptive))
            }
            Privacy::Gaussian { noise, clip, .. } => {
                (CalibratedNoise::gaussian(*noise, *clip, parameters, rounding)?, None)
            }
        };
        Ok(Some(Guard { gradient, adaptive }))
    }
}

/// The gradient's own noise multiplier, so that gradient and balance together are one Gaussian mechanism with that of the
/// step.
///
/// Both sums are over the same batch. Side by side, each over its own standard deviation, one record's contribution has a
/// squared length of at most z_g^-2 + z_b^-2, in a vector with standard normal noise: that is a Gaussian mechanism of noise
/// multiplier (z_g^-2 + z_b^-2)^-½, under any sampling and any adjacency, since a record counts as ½ or −½ and a blank as 0.
///
/// # Promise    Never below the exact value
/// # Reference  [AndrewThakkarMcMahanRamaswamy21], Theorem 1, with z_b = 2σ_b
fn gradient_noise(step: NoiseMultiplier, count: NoiseMultiplier) -> Result<NoiseMultiplier, Refusal> {
    let ratio = step.get() / count.get();
    if !(ratio < 1.0 - 1e-9) {
        return Err(Refusal::out_of_range(
            "count noise",
            count,
            "more than the noise multiplier of the step",
        ));
    }
    NoiseMultiplier::new(step.get() / (1.0 - ratio * ratio).sqrt() * (1.0 + 1e-15 / (1.0 - ratio)))
}
