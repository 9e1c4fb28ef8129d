//! Training from a plan to a model, its claim and its report, in one call.
//!
//! All of them are on disk, whole, before the model has its name, and nothing that another run left is lost unasked. What was
//! measured on the training records is not private, and is neither returned nor written unless asked for.

use crate::{
    Checkpoint, Cost, Draws, Entry, FolderStatus, Learning, Model, OutFolder, OutputSizes, PreparedConvex,
    PreparedRun, PreprocessedRecords, PrivacyCost, Protection, Run, STATISTICS, SavedRun, Score, State,
    TrainingPlan, evaluate, page, plan_file::no_budget, prepared::PreparedTraining,
};
use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};
use veracity_account::claims::{ClaimFile, Provenance, moment, spec::MechanismSpec};
use veracity_core::files::{saving::ReservedSpace, since_1970};
use veracity_core::{Count, Error, NoiseMultiplier};
use veracity_ledger::{Attempt, KeptAnswer, Paid, Payer, pay};
use veracity_noise::Entropy;
use veracity_train::Dataset;

/// How often someone who watches is told.
const TICK: Duration = Duration::from_millis(250);
/// Space for a claim besides its mechanism, of which it holds two copies at most.
const CLAIM_TEXT: u64 = 16 << 10;
/// Space for a report: those of the examples have less than 40 kB.
const REPORT_TEXT: u64 = 64 << 10;
/// Space for the words of a checkpoint besides its numbers.
const CARD_TEXT: u64 = 4 << 10;

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
    /// Evaluate the model on the training records. The score is not private.
    pub with_training_score: bool,
}

/// Receives the events of a training.
pub type Watch<'a> = &'a mut dyn FnMut(TrainEvent);

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
            with_training_score: false,
        }
    }
}

/// What someone who watches is told.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TrainEvent {
    /// What is about to be replaced in the folder, because that was asked for.
    Replaces(FolderStatus),
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

/// The steps of a training.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Steps {
    /// How many there are.
    pub count: Count,
    /// Records in a batch, as planned.
    pub batch: Count,
}

/// A model, and all that goes with it.
#[derive(Debug)]
pub struct TrainingDone {
    /// The model.
    pub model: Model,
    /// Its claim; nothing without protection.
    pub claim: Option<ClaimFile>,
    /// What the training leaks of whose data; nothing without protection.
    pub cost: Option<PrivacyCost>,
    /// The noise multiplier of the steps, where there are steps with noise.
    pub noise: Option<NoiseMultiplier>,
    /// The steps; nothing for a convex model, which is minimized.
    pub steps: Option<Steps>,
    /// How many records or people there are, as the plan says.
    pub population: Count,
    /// The score on the training records, where the settings ask for it. It is not private.
    pub training_score: Option<Score>,
    /// The page of the run; a convex model has none.
    pub report: Option<String>,
}

/// Trains a model by a plan: reads the records, finds the noise, trains, writes. `watch` is called with its progress.
///
/// # Errors
///
/// Refuses a plan whose records cannot be read or whose budget no noise is certified for, and a folder that holds another run or has no
/// space for the files of this one.
pub fn train(
    plan: &TrainingPlan,
    settings: &TrainSettings,
    watch: Option<Watch<'_>>,
) -> Result<TrainingDone, Error> {
    look(settings)?;
    PlannedRun::new(plan, settings)?.open(settings)?.carry_out(watch)
}

/// The same, paid by a ledger where one is given, and printed by `print`, whose text the ledger keeps.
///
/// The mechanism that is charged depends on the number of records, which is public; where the plan does not say it, it is counted in
/// the file. So the records are read before the charge, once. A file that cannot be read, or a record that is not a number, is refused
/// then and costs nothing; nothing else leaves the process before the charge. A training that fails after the charge stays charged and
/// open, and may be resumed under its request id.
///
/// # Errors
///
/// The errors of [`train`], of the ledger and of `print`.
pub fn train_paid(
    plan: &TrainingPlan,
    settings: &TrainSettings,
    payer: Option<&Payer>,
    watch: Option<Watch<'_>>,
    print: impl FnOnce(&TrainingDone) -> Result<KeptAnswer, Error>,
) -> Result<Paid<TrainingDone>, Error> {
    // A folder that holds the finished run of a request is no reason to refuse the request when it is asked again.
    if payer.is_none_or(|payer| payer.id.is_none()) {
        look(settings)?;
    }
    let run = PlannedRun::new(plan, settings)?;
    let attempt = match settings.entry {
        Entry::Resume => Attempt::Resumed,
        Entry::Fresh | Entry::Force => Attempt::Resumable,
    };
    let payment = payer.map(|payer| {
        let subject = run.prepared.subject().ok_or_else(no_budget)?;
        let payment = payer.payment(subject, Some(&run.dataset), "training")?;
        Ok::<_, Error>(payment.with_attempt(attempt))
    });
    pay(
        payment.transpose()?,
        || run.open(settings),
        |opened| {
            let done = opened.carry_out(watch)?;
            let answer = print(&done)?;
            Ok((done, answer))
        },
    )
}

/// Refuses a folder that holds another run, before anything is read.
fn look(settings: &TrainSettings) -> Result<(), Error> {
    settings.out.as_deref().map_or(Ok(()), |out| FolderStatus::look(out, settings.entry).map(drop))
}

/// A plan with its records and its noise.
struct PlannedRun {
    /// When the training was asked for, in its claim and in its report.
    time: String,
    dataset: String,
    provenance: Provenance,
    data: Dataset,
    prepared: PreparedTraining,
}

impl PlannedRun {
    /// Reads the records and finds the noise, once each.
    fn new(plan: &TrainingPlan, settings: &TrainSettings) -> Result<PlannedRun, Error> {
        if plan.is_convex() {
            refuse_steps(settings)?;
        }
        match (&settings.out, settings.entry, settings.checkpoint_every) {
            (None, Entry::Resume, _) => {
                return Err(Error::invalid("out is missing; give the folder of the run to resume"));
            }
            (None, _, Some(_)) => {
                return Err(Error::invalid("out is missing; give a folder for the checkpoints"));
            }
            (None, _, None) | (Some(_), _, _) => {}
        }
        let time = now()?;
        let dataset = settings.dataset.clone().unwrap_or_else(|| plan.dataset());
        let provenance = Provenance::at(&dataset, time.clone())?;
        let data = plan.records()?;
        let prepared = plan.prepare_training(&data, settings.protection)?;
        Ok(PlannedRun { time, dataset, provenance, data, prepared })
    }

    /// Takes the folder, and finds there what is to be resumed.
    fn open(self, settings: &TrainSettings) -> Result<OpenRun, Error> {
        let PlannedRun { time, provenance, data, prepared, .. } = self;
        let work = match (prepared, settings.entry, &settings.out) {
            (PreparedTraining::Convex(prepared), _, _) => Work::Minimise(prepared, data),
            (PreparedTraining::Steps(prepared), Entry::Resume, Some(folder)) => {
                let begun = resume(folder, settings.seed, &prepared, data)?;
                Work::Resume(prepared, Box::new(begun))
            }
            (PreparedTraining::Steps(prepared), _, _) => Work::Begin(prepared, data),
        };
        let out = settings.out.as_deref().map(|out| open(out, settings, &work)).transpose()?;
        Ok(OpenRun { settings: settings.clone(), time, provenance, work, out })
    }
}

/// A training of which everything is fixed: the folder is taken, and no noise is drawn. Dropped, the folder is as it was.
#[derive(Debug)]
struct OpenRun {
    settings: TrainSettings,
    time: String,
    provenance: Provenance,
    work: Work,
    out: Option<Held>,
}

/// Space for the files of a run, and their folder. Dropped, the space is free before the folder is left.
type Held = (Vec<ReservedSpace>, OutFolder);

/// What is left to do.
#[derive(Debug)]
enum Work {
    /// To minimise.
    Minimise(Box<PreparedConvex>, Dataset),
    /// To take steps, from the first on.
    Begin(Box<PreparedRun>, Dataset),
    /// To take the steps that are left.
    Resume(Box<PreparedRun>, Box<RunStart>),
}

impl OpenRun {
    /// Trains and writes.
    fn carry_out(self, mut watch: Option<Watch<'_>>) -> Result<TrainingDone, Error> {
        let OpenRun { settings, time, provenance, work, out } = self;
        if let Some((_, out)) = &out
            && settings.entry == Entry::Force
            && (out.left.is_finished || out.left.is_paused)
        {
            // Said before it is done.
            tell(&mut watch, TrainEvent::Replaces(out.left));
        }
        let place = Place { settings: &settings, time: &time, provenance: &provenance, out };
        match work {
            Work::Minimise(prepared, data) => minimise(*prepared, data, place),
            Work::Begin(prepared, data) => {
                let entropy = entropy(settings.seed)?;
                let ready = prepared.learn(data, &entropy)?;
                let begun = RunStart { ready, entropy, state: None, checkpoint: None };
                step_by_step(*prepared, begun, place, watch)
            }
            Work::Resume(prepared, begun) => step_by_step(*prepared, *begun, place, watch),
        }
    }
}

/// Takes the folder, and holds space in it for the files of the run.
fn open(folder: &Path, settings: &TrainSettings, work: &Work) -> Result<Held, Error> {
    let out = OutFolder::open(folder, settings.entry)?;
    let reserved = out.reserve(&work.sizes(settings)?)?;
    Ok((reserved, out))
}

impl Work {
    /// How large the files of the run will be.
    fn sizes(&self, settings: &TrainSettings) -> Result<OutputSizes, Error> {
        let (model, subject, state) = match self {
            Work::Minimise(prepared, _) => {
                (prepared.model_size()?, prepared.cost.as_ref().map(|cost| &cost.subject), None)
            }
            Work::Begin(prepared, _) | Work::Resume(prepared, _) => (
                prepared.model_size()?,
                prepared.cost.as_ref().map(|cost| &cost.subject),
                Some(prepared.state_size()),
            ),
        };
        let mechanism = subject.map_or(Ok(0), |subject| {
            serde_json::to_vec(&MechanismSpec::from(&subject.mechanism))
                .map(|written| written.len() as u64)
                .map_err(|error| Error::invalid(format!("mechanism cannot be written: {error}")))
        })?;
        Ok(OutputSizes {
            model,
            claim: 2 * mechanism + CLAIM_TEXT,
            report: state.map(|_| REPORT_TEXT),
            checkpoint: settings.checkpoint_every.and(state).map(|state| state + CARD_TEXT),
        })
    }
}

/// Where a training goes, and how it is noted.
struct Place<'a> {
    settings: &'a TrainSettings,
    time: &'a str,
    provenance: &'a Provenance,
    out: Option<Held>,
}

/// This moment, as claims write it.
fn now() -> Result<String, Error> {
    let since = since_1970()?;
    Ok(moment::written(since.as_secs(), since.subsec_nanos()))
}

/// Data of this name, used now.
#[cfg(test)]
pub(crate) fn provenance(dataset: &str) -> Result<Provenance, Error> {
    Ok(Provenance::at(dataset, now()?)?)
}

fn entropy(seed: Option<u64>) -> Result<Entropy, Error> {
    Ok(seed.map_or_else(Entropy::system, |seed| Ok(Entropy::seeded(seed)))?)
}

fn tell(watch: &mut Option<Watch<'_>>, event: TrainEvent) {
    if let Some(watch) = watch {
        watch(event);
    }
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
            "{what} needs steps, but [model.convex] has none; use layers instead"
        ))),
    }
}

fn minimise(prepared: PreparedConvex, data: Dataset, place: Place<'_>) -> Result<TrainingDone, Error> {
    let Place { settings, provenance, out, .. } = place;
    let entropy = entropy(settings.seed)?;
    let released = prepared.release(data, &entropy)?;
    let claim = released.claim.map(|claim| released.model.claimed(claim, provenance)).transpose()?;
    if let Some((reserved, out)) = out {
        drop(reserved);
        out.hand_over(&released.model.to_bytes()?, claim.as_ref(), None)?;
        out.clear()?;
    }
    Ok(TrainingDone {
        population: prepared.population(),
        training_score: score(settings, &released.model, &released.data)?,
        model: released.model,
        claim,
        cost: prepared.cost,
        noise: None,
        steps: None,
        report: None,
    })
}

fn step_by_step(
    prepared: PreparedRun,
    begun: RunStart,
    place: Place<'_>,
    mut watch: Option<Watch<'_>>,
) -> Result<TrainingDone, Error> {
    let RunStart { ready, entropy, state, mut checkpoint } = begun;
    let Place { settings, time, provenance, out } = place;
    // Greys are read from bytes, of which a cache holds four times as many; the bits are the same.
    let data = ready.data.packed();
    let claim = prepared.claim(entropy.origin())?;
    let draws = Draws { entropy: &entropy, run: 0, trial: 0 };
    let mut run = match state {
        Some(state) => Run::resume(&prepared.plan, &data, draws, state)?,
        None => Run::new(&prepared.plan, &data, draws)?,
    };
    if let (Some(_), Some((_, out)), Some(folder)) = (settings.checkpoint_every, &out, &settings.out)
        && settings.entry != Entry::Resume
    {
        // First what another run left: its state must not be found beside statistics that are not its own.
        out.clear()?;
        prepared.keep(&ready.statistics, &out.statistics())?;
        checkpoint = Some(Checkpoint::begin(folder, (&prepared, &data), &entropy, &run.state())?);
    }
    let mut learning = settings.with_training_metrics.then(|| Learning::new(&prepared, &data)).transpose()?;
    let every = settings.checkpoint_every.zip(checkpoint.as_ref());
    take_steps(&mut run, &prepared, every, learning.as_mut(), &mut watch)?;
    if let Some(checkpoint) = &checkpoint {
        checkpoint.seal(&run.state())?;
    }
    let model = prepared.model(&run, &ready.statistics);
    if let Some(learning) = &mut learning {
        learning.score = Some(evaluate(&model, &data)?);
    }
    let report = page(&prepared, &model, time, learning.as_ref())?.render();
    let claim = claim.map(|claim| model.claimed(claim, provenance)).transpose()?;
    if let Some((reserved, out)) = out {
        drop(reserved);
        out.hand_over(&model.to_bytes()?, claim.as_ref(), Some(&report))?;
        out.clear()?;
    }
    let plan = &prepared.plan;
    Ok(TrainingDone {
        training_score: score(settings, &model, &data)?,
        model,
        claim,
        noise: prepared.cost.as_ref().map(|cost| cost.noise),
        steps: Some(Steps { count: plan.steps, batch: plan.sampling.planned() }),
        population: plan.sampling.population(),
        cost: prepared.cost.map(|Cost { subject, answer, .. }| PrivacyCost { subject, answer }),
        report: Some(report),
    })
}

fn score(settings: &TrainSettings, model: &Model, data: &Dataset) -> Result<Option<Score>, Error> {
    Ok(settings.with_training_score.then(|| evaluate(model, data)).transpose()?)
}

/// Takes all steps that are left.
fn take_steps(
    run: &mut Run<'_>,
    prepared: &PreparedRun,
    every: Option<(Count, &Checkpoint)>,
    mut learning: Option<&mut Learning>,
    watch: &mut Option<Watch<'_>>,
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
struct RunStart {
    ready: PreprocessedRecords,
    entropy: Entropy,
    state: Option<State>,
    checkpoint: Option<Checkpoint>,
}

fn resume(
    folder: &Path,
    seed: Option<u64>,
    prepared: &PreparedRun,
    data: Dataset,
) -> Result<RunStart, Error> {
    let ready = prepared.recall(data, &folder.join(STATISTICS))?;
    let SavedRun { state, entropy, checkpoint } = Checkpoint::resume(folder, (prepared, &ready.data), seed)?;
    Ok(RunStart { ready, entropy, state: Some(state), checkpoint })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use veracity_core::ErrorKind;

    /// The space that is held is that of the files: none is longer, and a large one is not much shorter.
    #[test]
    fn the_files_of_a_run_fit_into_the_space_that_is_held_for_them() {
        let plan = |training: &str| {
            let text = format!(
                "[data]\nformat = \"digits\"\n[[model.layer]]\nkind = \"linear\"\noutputs = 200\n[[model.layer]]\nkind = \"tanh\"\n\
                 [[model.layer]]\nkind = \"linear\"\noutputs = 10\n\
                 [training]\nbatch_size = 64\nsteps = 2\nlearning_rate = 0.1\n{training}\n[privacy]\nnoise_multiplier = 9\ndelta = 1e-5\n"
            );
            TrainingPlan::parse(&text, Path::new("")).unwrap()
        };
        let folder = std::env::temp_dir().join(format!("veracity-job-sizes-{}", std::process::id()));
        for training in ["", "momentum = 0.5", "optimiser = \"adam\""] {
            let _ = std::fs::remove_dir_all(&folder);
            let settings = TrainSettings {
                out: Some(folder.clone()),
                checkpoint_every: Some(Count::ONE),
                ..TrainSettings::default()
            };
            let opened = PlannedRun::new(&plan(training), &settings).unwrap().open(&settings).unwrap();
            let sizes = opened.work.sizes(&settings).unwrap();
            let Work::Begin(prepared, data) = &opened.work else { panic!("nothing is begun") };
            // A checkpoint of the same run, elsewhere: the run removes its own.
            let entropy = Entropy::seeded(1);
            let run = Run::new(&prepared.plan, data, Draws { entropy: &entropy, run: 0, trial: 0 }).unwrap();
            let beside = folder.join("beside");
            std::fs::create_dir(&beside).unwrap();
            Checkpoint::begin(&beside, (prepared, data), &entropy, &run.state()).unwrap();
            let length = |path: PathBuf| std::fs::metadata(path).unwrap().len();
            let checkpoint = length(beside.join(crate::checkpoint::FILE));
            opened.carry_out(None).unwrap();
            let [model, claim, report] =
                [crate::MODEL, crate::CLAIM, crate::REPORT].map(|name| length(folder.join(name)));
            for (name, held, file) in
                [("model", sizes.model, model), ("checkpoint", sizes.checkpoint.unwrap(), checkpoint)]
            {
                assert!(
                    (file..=file + file / 5).contains(&held),
                    "{training}: {name} of {file} in {held} bytes"
                );
            }
            assert!(claim <= sizes.claim && report <= sizes.report.unwrap(), "{claim} {report} in {sizes:?}");
        }
        std::fs::remove_dir_all(folder).unwrap();
    }

    /// Whoever asks for checkpoints wants to find them.
    #[test]
    fn checkpoints_need_a_folder() {
        let settings = TrainSettings { checkpoint_every: Some(Count::ONE), ..TrainSettings::default() };
        let refused = train(&TrainingPlan::digits().unwrap(), &settings, None).unwrap_err().to_string();
        assert_eq!(refused, "out is missing; give a folder for the checkpoints");
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
