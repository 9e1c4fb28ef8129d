//! Training as a case: a plan file, its proof, and an attack on the run that it describes.

use super::{
    planned_part::{IdealGame, planned_part, planned_part_of_runs},
    planting::{self, CanaryKind},
    white_box::Game,
};
use crate::{AuditClaim, Brief, Case, FinalModel, Scoring, SubjectNote, TrialSource, WhiteBox};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{collections::BTreeMap, path::Path, sync::Arc};
use veracity_audit::{AuditSubject, Method, Observation, World, bound::many_runs::IdealRuns, observe};
use veracity_claims::Subject;
use veracity_core::{Claim, Count, Epsilon, NoiseMultiplier, SamplingRate, Upper};
use veracity_core::{Error, Refusal};
use veracity_train::{Dataset, Initial, cohort::Cohort, device::Device};
use veracity_trainer::{Cost, PlanChange, PlanSections, Prepared, Protection, TrainingPlan};

/// The kind of these subjects.
pub(crate) const KIND: &str = "training";
const DEFAULT: &str = include_str!("default.toml");

/// The plan that is audited where none is given: a private model of the built-in digits.
pub fn default_plan() -> Result<TrainingPlan, Refusal> {
    default_plan_with(&[])
}

/// The same with some of its lines replaced.
pub fn default_plan_with(changes: &[PlanChange]) -> Result<TrainingPlan, Refusal> {
    TrainingPlan::parse_with(DEFAULT, Path::new(""), changes)
}

/// How a training is attacked.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Attack {
    /// Canaries that own one parameter each; the attacker sees every step.
    WhiteBox {
        /// How many canaries, each in or out by itself.
        canaries: usize,
        /// How many records each of them is.
        copies: usize,
    },
    /// A planted record; the attacker is given the last model.
    FinalModel {
        /// Which record.
        canary: CanaryKind,
        /// How many copies of it.
        copies: usize,
        /// How the model's answer is scored.
        scoring: Scoring,
        /// Where training starts.
        start: Start,
    },
}

/// Where an attacked training starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Start {
    /// Where the plan says.
    AsPlanned,
    /// Where the records have nothing left to teach and the canary everything: the guarantee holds for every start.
    ///
    /// # Reference  [AnnamalaiDeCristofaro24]
    WorstCase,
}

impl Attack {
    /// What the attacker does, in one line.
    fn describe(self) -> String {
        match self {
            Attack::WhiteBox { .. } => {
                "canaries that own one parameter each; the noisy sum of every step is read, less what the records contribute"
                    .to_owned()
            }
            Attack::FinalModel { canary, copies, scoring, start } => {
                let asked = scoring.describe();
                let from = match start {
                    Start::AsPlanned => "",
                    Start::WorstCase => ", from worst-case initial parameters",
                };
                let times = if copies == 1 { String::new() } else { format!(", {copies} times") };
                format!("{} planted{times}{from}; {asked} is read", canary.describe())
            }
        }
    }

    /// How many canaries a training holds.
    fn canaries(self) -> usize {
        match self {
            Attack::WhiteBox { canaries, .. } => canaries,
            Attack::FinalModel { .. } => 1,
        }
    }

    /// How many records each canary is.
    fn copies(self) -> usize {
        match self {
            Attack::WhiteBox { copies, .. } | Attack::FinalModel { copies, .. } => copies,
        }
    }

    fn access(self) -> &'static str {
        match self {
            Attack::WhiteBox { .. } => "every step",
            Attack::FinalModel { .. } => "final model",
        }
    }
}

/// What a prepared training proves of itself, and what is claimed of it.
pub(super) struct Stakes {
    pub(super) cost: Cost,
    pub(super) proved: Option<Upper<Epsilon>>,
    pub(super) claim: AuditClaim,
}

impl Stakes {
    /// The claim is `claimed`, or what the accountant proves.
    pub(super) fn of(prepared: &Prepared, claimed: Option<Epsilon>) -> Result<Stakes, Error> {
        let Some(cost) = prepared.cost.clone() else {
            return Err(Error::invalid("training without noise has no claim to attack"));
        };
        if !cost.charges.is_empty() {
            return Err(Error::invalid(
                "the plan learns means or bounds of its records before the first step, expected none: an audit attacks the \
                 steps alone",
            ));
        }
        let proved = cost.answer.epsilon.upper();
        let epsilon = claimed.map(Upper).or(proved).ok_or_else(|| {
            Error::invalid("the accountant has no upper bound for this plan; claim an epsilon")
        })?;
        let point = Claim { epsilon, delta: cost.delta, adjacency: cost.subject.adjacency };
        let mechanism = proved.map(|_| cost.subject.mechanism.clone());
        let claim = AuditClaim { point, mechanism };
        Ok(Stakes { cost, proved, claim })
    }
}

/// What every audit of a plan's training notes: shares of it, and what resumes it, must have the same.
pub(super) fn settings(plan: &TrainingPlan, data: &Dataset) -> Result<BTreeMap<String, Value>, Error> {
    Ok(BTreeMap::from([
        ("plan".to_owned(), plan_value(plan)?),
        ("records".to_owned(), data.len().into()),
        ("records_sha256".to_owned(), crate::records_sha256(data).into()),
    ]))
}

/// A plan as it stands in a certificate: all of it but where its files are.
pub(crate) fn plan_value(plan: &TrainingPlan) -> Result<Value, Error> {
    serde_json::from_str(&plan.written()?)
        .map_err(|error| Error::invalid(format!("plan cannot be written down: {error}")))
}

/// The plan of a certificate. Where its files are, it does not say.
pub(crate) fn plan_of(value: &Value) -> Result<TrainingPlan, Error> {
    let sections = PlanSections::deserialize(value)
        .map_err(|error| Error::invalid(format!("plan is not one that veracity wrote ({error})")))?;
    Ok(TrainingPlan::new(sections, Path::new(""))?)
}

/// What an audit of a training says of it, without its records: they are in `settings`.
pub(crate) fn note(
    subject: &Subject,
    attack: Attack,
    mut settings: BTreeMap<String, Value>,
) -> Result<SubjectNote, Error> {
    let written = serde_json::to_value(attack)
        .map_err(|error| Error::invalid(format!("attack cannot be written down: {error}")))?;
    settings.insert("attack".to_owned(), written);
    Ok(SubjectNote {
        kind: KIND.to_owned(),
        description: format!("training, {}", subject.describe()),
        attack: attack.describe(),
        access: attack.access().to_owned(),
        settings,
    })
}

/// What is said and proved of an attack on a plan's training, and what was prepared for it.
pub(crate) fn brief(
    plan: &TrainingPlan,
    attack: Attack,
    claimed: Option<Epsilon>,
) -> Result<(Brief, Prepared, Dataset), Error> {
    let data = plan.records()?;
    let prepared = plan.prepare(&data, Protection::Private)?;
    let Stakes { cost, proved, claim } = Stakes::of(&prepared, claimed)?;
    let brief = Brief {
        note: note(&cost.subject, attack, settings(plan, &data)?)?,
        claim,
        proved,
        canaries: u32::try_from(attack.canaries()).unwrap_or(u32::MAX),
        group: Count::new(attack.copies() as u64)?,
        is_one_run: false,
    };
    Ok((brief, prepared, data))
}

impl Case {
    /// The training that a plan describes. The claim is `claimed`, or what the accountant proves.
    pub fn training(
        plan: &TrainingPlan,
        attack: Attack,
        claimed: Option<Epsilon>,
        seed: u64,
        trials: Count,
    ) -> Result<Case, Error> {
        Case::training_on(None, plan, attack, claimed, seed, trials)
    }

    /// The same, its models trained on a device where there is one. A plan that the device cannot train is refused before any model is
    /// trained.
    pub fn training_on(
        device: Option<Arc<dyn Device>>,
        plan: &TrainingPlan,
        attack: Attack,
        claimed: Option<Epsilon>,
        seed: u64,
        trials: Count,
    ) -> Result<Case, Error> {
        let (brief, prepared, data) = brief(plan, attack, claimed)?;
        let brief = brief.on(device.as_deref(), &prepared)?;
        let subject = subject(plan, prepared, data, brief.claim.point, attack, seed, device)?;
        Ok(brief.case(subject, trials, seed))
    }
}

/// The most canaries of a training where nobody says how many.
const MOST_CANARIES: usize = 300;

/// How many canaries a training holds where nobody says: as many as are hardly louder for one another than alone, each with a
/// parameter to itself. What a training costs is then shared by many.
pub fn planned_canaries(plan: &TrainingPlan) -> Result<Count, Error> {
    let data = plan.records()?;
    let parameters = plan.prepare(&data, Protection::Private)?.plan.network.parameters();
    // Half of the parameters are quiet, and three quarters of the records are the plan's own.
    let most = MOST_CANARIES.min(parameters / 2).min(data.len() / 4);
    Ok(Count::new(most.max(2.min(parameters)) as u64)?)
}

/// From so many runs on, each is judged by those before it.
const MANY_RUNS: u64 = 64;

/// The method for many canaries that see every step of a plan's training: the part is guessed at both ends that would show most in the
/// ideal game of so many trials. See [`planned_part`] and [`planned_part_of_runs`].
///
/// # Promise  No trial is looked at
pub fn planned_method(
    plan: &TrainingPlan,
    canaries: Count,
    trials: Count,
    significance: f64,
) -> Result<Method, Error> {
    let data = plan.records()?;
    let prepared = plan.prepare(&data, Protection::Private)?;
    let claim = Stakes::of(&prepared, None)?.claim;
    let game = Game::of(&prepared.plan, claim.point.adjacency, 1)?;
    let ideal = IdealGame {
        rate: SamplingRate::new(game.rate)?,
        // Opposites are twice as far apart, which is as half of the noise.
        noise_multiplier: NoiseMultiplier::new(
            game.sigma / f64::from(claim.point.adjacency.contributions()),
        )?,
        steps: prepared.plan.steps,
    };
    let total = Count::new(canaries.get().saturating_mul(trials.get()))?;
    let delta = claim.point.delta;
    Ok(match trials.get() {
        MANY_RUNS.. => {
            let runs = IdealRuns { runs: trials.as_f64(), canaries: canaries.as_f64() };
            Method::ManyRuns { guessed: planned_part_of_runs(ideal, runs, delta, significance)? }
        }
        _ => Method::ManyCanaries { guessed: Some(planned_part(ideal, total, delta, significance)?) },
    })
}

/// Trainings that a search spends on each kind of canary.
const PILOTS: u64 = 60;

/// The kind of canary that tells the worlds apart best in a few trainings of their own, which are not counted.
///
/// # Promise  None of the draws of an audit with this seed is looked at, so that the choice costs no significance
pub fn best_canary(
    plan: &TrainingPlan,
    copies: usize,
    scoring: Scoring,
    start: Start,
    seed: u64,
) -> Result<CanaryKind, Error> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    // Another seed: another family of streams.
    let (elsewhere, pilots) = (seed ^ 0x7365_6172_6368, (0..PILOTS).collect::<Vec<u64>>());
    let mut best: Option<(CanaryKind, f64)> = None;
    let mut refused = None;
    for canary in CanaryKind::ALL {
        let attack = Attack::FinalModel { canary, copies, scoring, start };
        let case = match Case::training(plan, attack, None, elsewhere, Count::new(PILOTS)?) {
            Ok(case) => case,
            // Not every kind goes with every adjacency.
            Err(refusal) => {
                refused = Some(refusal);
                continue;
            }
        };
        let TrialSource::Run(subject) = &case.trials_from else { continue };
        let seen = observe(subject.as_ref(), elsewhere, &pilots, threads);
        let apart = separation(seen.iter().flat_map(|outcome| &outcome.observations));
        if best.is_none_or(|(_, most)| apart > most) {
            best = Some((canary, apart));
        }
    }
    match (best, refused) {
        (Some((canary, _)), _) => Ok(canary),
        (None, Some(refusal)) => Err(refusal),
        (None, None) => Err(Error::invalid("there is no canary to choose from")),
    }
}

/// How far apart the two worlds' scores are, in standard deviations.
fn separation<'a>(seen: impl Iterator<Item = &'a Observation>) -> f64 {
    let mut sums = [(0.0, 0.0, 0.0); 2];
    for (told, score) in seen.filter_map(|told| Some((told, told.score?))) {
        let sum = &mut sums[usize::from(told.world == World::In)];
        *sum = (sum.0 + 1.0, sum.1 + score, sum.2 + score * score);
    }
    let [outside, inside] = sums.map(|(n, sum, squares): (f64, f64, f64)| {
        let mean = sum / n.max(1.0);
        (mean, squares / n.max(1.0) - mean * mean)
    });
    (inside.0 - outside.0) / (inside.1 + outside.1).max(f64::MIN_POSITIVE).sqrt()
}

fn subject(
    plan: &TrainingPlan,
    prepared: Prepared,
    data: Dataset,
    claim: Claim,
    attack: Attack,
    seed: u64,
    device: Option<Arc<dyn Device>>,
) -> Result<Box<dyn AuditSubject + Send>, Error> {
    let (canary, copies, scoring, start) = match attack {
        Attack::WhiteBox { canaries, copies } => {
            let (plan, adjacency) = (prepared.plan, claim.adjacency);
            let subject = WhiteBox::with_device(plan, data, adjacency, canaries, copies, seed, device)?;
            return Ok(Box::new(subject));
        }
        Attack::FinalModel { canary, copies, scoring, start } => (canary, copies, scoring, start),
    };
    let mut attacked = prepared.plan;
    // Without noise, for what an attacker who knows the records would know of them.
    let bare = plan.prepare(&data, Protection::None)?.plan;
    let (base, planted) = planting::plant(&bare, &data, canary, copies, claim.adjacency, attacked.sampling)?;
    if start == Start::WorstCase {
        attacked.initial = Initial::At(planting::worst_start(&attacked, &bare, &base, &planted.inside)?);
    }
    Ok(Box::new(FinalModel::with_device(Cohort::new(attacked)?, base, planted, scoring, seed, device)?))
}
