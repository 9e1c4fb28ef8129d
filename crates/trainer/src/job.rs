//! Training from a plan to a model, its claim and its report, in one call.
//!
//! All of them are on disk, whole, before the model has its name, and nothing that another run left is lost unasked. What was
//! measured on the training records is not private, and is neither returned nor written unless asked for.

use crate::{
    Checkpoint, ConvexPrepared, Cost, Draws, Entry, Learning, Left, Model, OutFolder, Prepared, Protection,
    Ready, Run, STATISTICS, SavedRun, State, TrainingPlan, evaluate, page,
};
use std::{
    path::{Path, PathBuf},
    sync::mpsc::Sender,
    time::{Duration, Instant},
};
use veracity_claims::{Answer, ClaimFile, Provenance, Subject, moment};
use veracity_core::{Count, Error, NoiseMultiplier};
use veracity_files::since_1970;
use veracity_noise::Entropy;
use veracity_train::Dataset;

/// How often someone who watches is told.
const TICK: Duration = Duration::from_millis(250);

/// How a plan is carried out, beside what it says itself.
#[derive(Debug, Clone, PartialEq)]
pub struct TrainSettings {
    /// Where the model, its claim and its report go; nothing is written without.
    pub out: Option<PathBuf>,
    /// What becomes of a run that is there already.
    pub entry: Entry,
    /// Whether records are protected.
    pub protection: Protection,
    /// What the records are called in the claim [default: the name of their file].
    pub dataset: Option<String>,
    /// Draw from a seed, to repeat a test: the model is then not for release.
    pub seed: Option<u64>,
    /// Save the run every so many steps, so that it can be resumed.
    pub checkpoint_every: Option<Count>,
    /// Put what is measured on the training records into the report, which then is not private.
    pub with_training_metrics: bool,
}

impl Default for TrainSettings {
    fn default() -> TrainSettings {
        TrainSettings {
            out: None,
            entry: Entry::Fresh,
            protection: Protection::Private,
            dataset: None,
            seed: None,
            checkpoint_every: None,
            with_training_metrics: false,
        }
    }
}

/// What someone who watches is told.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TrainEvent {
    /// What is about to be replaced in the folder, because that was asked for.
    Replaces(Left),
    /// Where the run stands.
    Steps {
        /// Steps done, those of an earlier process included.
        done: u64,
        /// All steps.
        of: u64,
        /// Records in a batch, as planned.
        batch: u64,
        /// What those steps leak, where something is protected.
        epsilon: Option<f64>,
    },
}

/// A model, and all that goes with it.
#[derive(Debug)]
pub struct TrainingDone {
    /// The model.
    pub model: Model,
    /// Its claim; nothing without protection.
    pub claim: Option<ClaimFile>,
    /// What was done to whose data, and what that leaks; nothing without protection.
    pub cost: Option<(Subject, Answer)>,
    /// The noise multiplier of the steps, where there are steps with noise.
    pub noise: Option<NoiseMultiplier>,
    /// Steps, and records in a batch as planned; nothing for a convex model, which is minimised.
    pub steps: Option<(Count, Count)>,
    /// How many records or people there are, as the plan says.
    pub population: Count,
    /// The records as the model sees them. Nothing protects them.
    pub data: Dataset,
    /// The page of the run; a convex model has none.
    pub report: Option<String>,
}

/// Trains a model by a plan: reads the records, finds the noise, trains, writes. Whoever holds the other end of `watch` may follow.
pub fn train(
    plan: &TrainingPlan,
    settings: &TrainSettings,
    watch: Option<&Sender<TrainEvent>>,
) -> Result<TrainingDone, Error> {
    Opened::new(plan, settings)?.carry_out(watch)
}

/// A training of which everything is fixed: the records are read, the folder is taken, and no noise is drawn. What can fail has
/// failed by now, so that whoever pays for a training pays here.
#[derive(Debug)]
pub struct Opened {
    settings: TrainSettings,
    provenance: Provenance,
    work: Work,
    out: Option<OutFolder>,
}

/// What is left to do.
#[derive(Debug)]
enum Work {
    /// To minimise.
    Minimise(Box<ConvexPrepared>, Dataset),
    /// To take steps, from the first on.
    Begin(Box<Prepared>, Dataset),
    /// To take the steps that are left.
    Resume(Box<Prepared>, Box<Begun>),
}

impl Opened {
    /// Reads the records, finds the noise, and takes the folder.
    pub fn new(plan: &TrainingPlan, settings: &TrainSettings) -> Result<Opened, Error> {
        match &settings.out {
            Some(out) => drop(Left::look(out, settings.entry)?),
            None if settings.checkpoint_every.is_some() => {
                return Err(Error::invalid("out is missing, expected a folder for the checkpoints"));
            }
            None => {}
        }
        let provenance = provenance(settings.dataset.as_deref().unwrap_or(&plan.dataset()))?;
        let data = plan.records()?;
        let work = match (plan.is_convex(), settings.entry, &settings.out) {
            (true, _, _) => {
                refuse_steps(settings)?;
                Work::Minimise(Box::new(plan.prepare_convex(&data, settings.protection)?), data)
            }
            (false, Entry::Resume, Some(folder)) => {
                let prepared = plan.prepare(&data, settings.protection)?;
                let begun = resume(folder, settings.seed, &prepared, data)?;
                Work::Resume(Box::new(prepared), Box::new(begun))
            }
            (false, Entry::Resume, None) => {
                return Err(Error::invalid("out is missing, expected the folder of the run to resume"));
            }
            (false, Entry::Fresh | Entry::Force, _) => {
                Work::Begin(Box::new(plan.prepare(&data, settings.protection)?), data)
            }
        };
        let out = settings.out.as_deref().map(|out| OutFolder::open(out, settings.entry)).transpose()?;
        Ok(Opened { settings: settings.clone(), provenance, work, out })
    }

    /// Nothing is trained; the folder is as it was.
    pub fn give_up(self) {
        if let Some(out) = self.out {
            out.give_back();
        }
    }

    /// Trains and writes.
    pub fn carry_out(self, watch: Option<&Sender<TrainEvent>>) -> Result<TrainingDone, Error> {
        let Opened { settings, provenance, work, out } = self;
        if let Some(out) = &out
            && settings.entry == Entry::Force
            && (out.left.is_finished || out.left.is_paused)
        {
            // Said before it is done.
            tell(watch, TrainEvent::Replaces(out.left));
        }
        let place = Place { settings: &settings, provenance: &provenance, out };
        match work {
            Work::Minimise(prepared, data) => minimise(*prepared, data, place),
            Work::Begin(prepared, data) => {
                let entropy = entropy(settings.seed)?;
                let ready = prepared.learn(data, &entropy)?;
                let begun = Begun { ready, entropy, state: None, checkpoint: None };
                step_by_step(*prepared, begun, place, watch)
            }
            Work::Resume(prepared, begun) => step_by_step(*prepared, *begun, place, watch),
        }
    }
}

/// Where a training goes, and how it is noted.
struct Place<'a> {
    settings: &'a TrainSettings,
    provenance: &'a Provenance,
    out: Option<OutFolder>,
}

/// Data of this name, used now.
pub(crate) fn provenance(dataset: &str) -> Result<Provenance, Error> {
    let since = since_1970()?;
    Ok(Provenance::at(dataset, moment::written(since.as_secs(), since.subsec_nanos()))?)
}

fn entropy(seed: Option<u64>) -> Result<Entropy, Error> {
    Ok(seed.map_or_else(Entropy::system, |seed| Ok(Entropy::seeded(seed)))?)
}

fn tell(watch: Option<&Sender<TrainEvent>>, event: TrainEvent) {
    // Nobody need watch.
    let _ = watch.map(|watch| watch.send(event));
}

/// A convex model has no steps, so nothing to resume and nothing to show on the way.
fn refuse_steps(settings: &TrainSettings) -> Result<(), Error> {
    let asked = [
        ("resuming", settings.entry == Entry::Resume),
        ("a checkpoint", settings.checkpoint_every.is_some()),
        ("a report of training metrics", settings.with_training_metrics),
    ];
    match asked.iter().find(|(_, asked)| *asked) {
        None => Ok(()),
        Some((what, _)) => Err(Error::invalid(format!(
            "{what} was asked for with [model.convex], which has no steps, expected layers to train"
        ))),
    }
}

fn minimise(prepared: ConvexPrepared, data: Dataset, place: Place<'_>) -> Result<TrainingDone, Error> {
    let Place { settings, provenance, out } = place;
    let entropy = entropy(settings.seed)?;
    let released = prepared.release(data, &entropy)?;
    let claim = released.claim.map(|claim| released.model.claimed(claim, provenance)).transpose()?;
    if let Some(out) = out {
        out.hand_over(&released.model, claim.as_ref(), None)?;
        out.clear()?;
    }
    Ok(TrainingDone {
        population: prepared.population(),
        model: released.model,
        claim,
        cost: prepared.cost,
        noise: None,
        steps: None,
        data: released.data,
        report: None,
    })
}

fn step_by_step(
    prepared: Prepared,
    begun: Begun,
    place: Place<'_>,
    watch: Option<&Sender<TrainEvent>>,
) -> Result<TrainingDone, Error> {
    let Begun { ready, entropy, state, mut checkpoint } = begun;
    let Place { settings, provenance, out } = place;
    // Greys are read from bytes, of which a cache holds four times as many; the bits are the same.
    let data = ready.data.packed();
    let claim = prepared.claim(entropy.origin())?;
    let draws = Draws { entropy: &entropy, run: 0, trial: 0 };
    let mut run = match state {
        Some(state) => Run::resume(&prepared.plan, &data, draws, state)?,
        None => Run::new(&prepared.plan, &data, draws)?,
    };
    if let (Some(_), Some(out), Some(folder)) = (settings.checkpoint_every, &out, &settings.out)
        && settings.entry != Entry::Resume
    {
        // First what another run left: its state must not be found beside statistics that are not its own.
        out.clear()?;
        prepared.keep(&ready.statistics, &out.statistics())?;
        checkpoint = Some(Checkpoint::begin(folder, (&prepared, &data), &entropy, &run.state())?);
    }
    let mut learning = settings.with_training_metrics.then(|| Learning::new(&prepared, &data)).transpose()?;
    let every = settings.checkpoint_every.zip(checkpoint.as_ref());
    take_steps(&mut run, &prepared, every, learning.as_mut(), watch)?;
    if let Some(checkpoint) = &checkpoint {
        checkpoint.seal(&run.state())?;
    }
    let model = prepared.model(&run, &ready.statistics);
    if let Some(learning) = &mut learning {
        learning.score = Some(evaluate(&model, &data)?);
    }
    let report = page(&prepared, &model, learning.as_ref())?.render();
    let claim = claim.map(|claim| model.claimed(claim, provenance)).transpose()?;
    if let Some(out) = out {
        out.hand_over(&model, claim.as_ref(), Some(&report))?;
        out.clear()?;
    }
    let plan = &prepared.plan;
    Ok(TrainingDone {
        model,
        claim,
        noise: prepared.cost.as_ref().map(|cost| cost.noise),
        steps: Some((plan.steps, plan.sampling.planned())),
        population: plan.sampling.population(),
        cost: prepared.cost.map(|Cost { subject, answer, .. }| (subject, answer)),
        data,
        report: Some(report),
    })
}

/// Takes all steps that are left.
fn take_steps(
    run: &mut Run<'_>,
    prepared: &Prepared,
    every: Option<(Count, &Checkpoint)>,
    mut learning: Option<&mut Learning>,
    watch: Option<&Sender<TrainEvent>>,
) -> Result<(), Error> {
    let mut look = |run: &Run<'_>| learning.as_mut().map_or(Ok(()), |learning| learning.look(prepared, run));
    look(run)?;
    let mut told = Instant::now();
    while run.step()? {
        look(run)?;
        let done = run.steps_done();
        if let Some((every, checkpoint)) = every
            && done.is_multiple_of(every.get())
        {
            checkpoint.save(&run.state())?;
        }
        let of = prepared.plan.steps.get();
        if watch.is_some() && (told.elapsed() >= TICK || done == of) {
            let batch = prepared.plan.sampling.planned().get();
            tell(watch, TrainEvent::Steps { done, of, batch, epsilon: prepared.epsilon_after(done) });
            told = Instant::now();
        }
    }
    Ok(())
}

/// A run before its next step, fresh or resumed.
#[derive(Debug)]
struct Begun {
    ready: Ready,
    entropy: Entropy,
    state: Option<State>,
    checkpoint: Option<Checkpoint>,
}

fn resume(folder: &Path, seed: Option<u64>, prepared: &Prepared, data: Dataset) -> Result<Begun, Error> {
    let ready = prepared.recall(data, &folder.join(STATISTICS))?;
    let SavedRun { state, entropy, checkpoint } = Checkpoint::resume(folder, (prepared, &ready.data), seed)?;
    Ok(Begun { ready, entropy, state: Some(state), checkpoint })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use veracity_core::ErrorKind;

    /// Whoever asks for checkpoints wants to find them.
    #[test]
    fn checkpoints_need_a_folder() {
        let settings = TrainSettings { checkpoint_every: Some(Count::ONE), ..TrainSettings::default() };
        let refused = train(&TrainingPlan::digits().unwrap(), &settings, None).unwrap_err().to_string();
        assert_eq!(refused, "out is missing, expected a folder for the checkpoints");
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_an_error_of_a_file_with_its_source() {
        let file = std::env::temp_dir().join(format!("veracity-job-{}", std::process::id()));
        std::fs::write(&file, "").unwrap();
        let settings = TrainSettings { out: Some(file.join("out")), ..TrainSettings::default() };
        let refused = train(&TrainingPlan::digits().unwrap(), &settings, None).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::File, "{refused}");
        assert!(std::error::Error::source(&refused).is_some(), "{refused}");
        std::fs::remove_file(file).unwrap();
    }
}
