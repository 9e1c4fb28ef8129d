//! Training as a case: a plan file, its proof, and an attack on the run that it describes.

use super::{
    planned_part::IdealGame,
    planting::{self, CanaryKind},
    prepared_training::{PreparedTraining, Stakes},
    white_box::Game,
};
use crate::{Brief, Case, FinalModel, Scoring, SubjectNote, WhiteBox};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{collections::BTreeMap, path::Path, sync::Arc};
use veracity_account::claims::Subject;
use veracity_audit::AuditSubject;
use veracity_core::{
    Adjacency, Count, Epsilon, Error, Mechanism, NoiseMultiplier, Refusal, SamplingRate,
    decimal::{grouped, nearest},
};
use veracity_train::{Initial, cohort::Cohort, device::Device};
use veracity_training::{PlanChange, PlanSections, Protection, TrainingPlan};

/// The kind of these subjects.
pub(crate) const KIND: &str = "training";
const DEFAULT: &str = include_str!("default.toml");

/// The plan that is audited where none is given: a private model of the built-in digits, with some of its lines replaced.
///
/// # Errors
/// A change that names no line of the plan.
pub fn default_plan(changes: &[PlanChange]) -> Result<TrainingPlan, Refusal> {
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
                "white-box, one canary per parameter, reads the noisy gradient sum of every step, minus the other records' contribution"
                    .to_owned()
            }
            Attack::FinalModel { canary, copies, scoring, start } => {
                let score = scoring.describe();
                let from = match start {
                    Start::AsPlanned => "",
                    Start::WorstCase => ", from worst-case initial parameters",
                };
                let times = if copies == 1 { String::new() } else { format!(", {copies} times") };
                format!("final model, {}{times}{from}, reads {score}", canary.describe())
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

/// The training in one line, such as `DP-SGD, 60 steps, noise multiplier 2.996, sampling rate 0.178`.
pub(super) fn describe(subject: &Subject) -> String {
    let (steps, step) = match &subject.mechanism {
        Mechanism::Repeated { times, mechanism } => (times.get(), mechanism.as_ref()),
        other => (1, other),
    };
    let Mechanism::PoissonSampled { rate, mechanism } = step else {
        return format!("training run, {}", subject.describe());
    };
    let Mechanism::Gaussian { noise_multiplier } = mechanism.as_ref() else {
        return format!("training run, {}", subject.describe());
    };
    format!(
        "DP-SGD, {} step{}, noise multiplier {}, sampling rate {}",
        grouped(steps),
        if steps == 1 { "" } else { "s" },
        nearest(noise_multiplier.get(), 4),
        nearest(rate.get(), 4)
    )
}

/// The note of an audit of a training run, without its records: they are in `settings`.
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
        description: describe(subject),
        attack: attack.describe(),
        access: attack.access().to_owned(),
        settings,
    })
}

/// What is said and proved of an attack on a training.
pub(crate) fn brief(
    training: &PreparedTraining,
    attack: Attack,
    claimed: Option<Epsilon>,
) -> Result<Brief, Error> {
    let Stakes { cost, proved, claim } = training.stakes(claimed)?;
    Ok(Brief {
        note: note(&cost.subject, attack, training.settings()?)?,
        claim,
        proved,
        canaries: u32::try_from(attack.canaries()).unwrap_or(u32::MAX),
        group: Count::new(attack.copies() as u64)?,
        is_one_run: false,
    })
}

/// A training as a case, its models trained on a device where there is one. The claim is `claimed`, or what the accountant proves.
pub(super) fn case(
    training: &PreparedTraining,
    attack: Attack,
    claimed: Option<Epsilon>,
    seed: u64,
    trials: Count,
    device: Option<Arc<dyn Device>>,
) -> Result<Case, Error> {
    let brief = brief(training, attack, claimed)?.on(device.as_deref(), &training.run)?;
    let adjacency = brief.claim.point.adjacency;
    let ideal_game = match attack {
        Attack::WhiteBox { canaries: 2.., .. } => Some(ideal_game(training, adjacency)?),
        Attack::WhiteBox { .. } | Attack::FinalModel { .. } => None,
    };
    let subject = subject(training, adjacency, attack, seed, device)?;
    Ok(Case { ideal_game, ..brief.case(subject, trials, seed) })
}

/// The game of a canary that is alone in its coordinate, by the steps of a training.
fn ideal_game(training: &PreparedTraining, adjacency: Adjacency) -> Result<IdealGame, Error> {
    let game = Game::of(&training.run.plan, adjacency, 1)?;
    Ok(IdealGame {
        rate: SamplingRate::new(game.rate)?,
        // Opposites are twice as far apart, which is as half of the noise.
        noise_multiplier: NoiseMultiplier::new(game.sigma / f64::from(adjacency.contributions()))?,
        steps: training.run.plan.steps,
    })
}

/// The most canaries of a training where nobody says how many.
const MOST_CANARIES: usize = 300;

/// How many canaries a training holds where nobody says: as many as are hardly louder for one another than alone, each with a
/// parameter to itself. What a training costs is then shared by many.
pub(super) fn usual_canaries(training: &PreparedTraining) -> Result<usize, Error> {
    let parameters = training.run.plan.network.parameters();
    // Half of the parameters are quiet, and three quarters of the records are the plan's own.
    let most = MOST_CANARIES.min(parameters / 2).min(training.records.len() / 4);
    Ok(Count::new(most.max(2.min(parameters)) as u64)?.get() as usize)
}

pub(super) fn subject(
    training: &PreparedTraining,
    adjacency: Adjacency,
    attack: Attack,
    seed: u64,
    device: Option<Arc<dyn Device>>,
) -> Result<Box<dyn AuditSubject + Send>, Error> {
    let (mut attacked, records) = (training.run.plan.clone(), &training.records);
    let (canary, copies, scoring, start) = match attack {
        Attack::WhiteBox { canaries, copies } => {
            let records = records.clone();
            let subject = WhiteBox::new(attacked, records, adjacency, canaries, copies, seed, device)?;
            return Ok(Box::new(subject));
        }
        Attack::FinalModel { canary, copies, scoring, start } => (canary, copies, scoring, start),
    };
    // Without noise, for what an attacker who knows the records would know of them.
    let bare = training.plan.prepare(records, Protection::None)?.plan;
    let (base, planted) = planting::plant(&bare, records, canary, copies, adjacency, attacked.sampling)?;
    if start == Start::WorstCase {
        attacked.initial = Initial::At(planting::worst_start(&attacked, &bare, &base, &planted.inside)?);
    }
    Ok(Box::new(FinalModel::new(Cohort::new(attacked)?, base, planted, scoring, seed, device)?))
}
