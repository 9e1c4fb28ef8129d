//! Training as a case: a plan file, its proof, and an attack on the run that it describes.

use super::{
    Case, FinalModel, Scoring, SubjectNote, WhiteBox,
    planting::{self, Kind},
};
use crate::{
    Refusal,
    training::{Prepared, Protection, Recipe},
};
use std::{collections::BTreeMap, path::Path};
use veracity_audit::Subject;
use veracity_core::{Claim, Count, Epsilon, Upper};
use veracity_train::{Dataset, Initial, cohort::Cohort};

const DEFAULT: &str = include_str!("default.toml");

impl Recipe {
    /// The plan that `veracity audit` attacks when it is given none: a private model of the built-in digits.
    pub fn audited_by_default() -> Result<Recipe, Refusal> {
        Recipe::parse(DEFAULT, Path::new(""))
    }
}

/// How a training is attacked.
#[derive(Debug, Clone, Copy, PartialEq)]
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
        canary: Kind,
        /// How many copies of it.
        copies: usize,
        /// How the model's answer is scored.
        scoring: Scoring,
        /// Where training starts.
        start: Start,
    },
}

/// Where an attacked training starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
                "canaries that own one parameter each; the noisy sum of every step is read".to_owned()
            }
            Attack::FinalModel { canary, copies, scoring, start } => {
                let asked = match scoring {
                    Scoring::Loss => "the last model's loss on it",
                    Scoring::Margin { .. } => "the last model's margin on it",
                    Scoring::LikelihoodRatio { .. } => "its likelihood ratio, from shadow models",
                };
                let from = match start {
                    Start::AsPlanned => "",
                    Start::WorstCase => ", from worst-case initial parameters",
                };
                let times = if copies == 1 { String::new() } else { format!(", {copies} times") };
                format!("{} planted{times}{from}; {asked} is read", canary.describe())
            }
        }
    }

    fn access(self) -> &'static str {
        match self {
            Attack::WhiteBox { .. } => "every step",
            Attack::FinalModel { .. } => "final model",
        }
    }
}

impl Case {
    /// The training that a plan describes. The claim is `claimed`, or what the accountant proves.
    pub fn training(
        recipe: &Recipe,
        attack: Attack,
        claimed: Option<Epsilon>,
        seed: u64,
        trials: Count,
    ) -> Result<Case, Refusal> {
        let data = recipe.records()?;
        let prepared = recipe.prepare(&data, Protection::Private)?;
        let Some(cost) = prepared.cost.clone() else {
            return Err(Refusal::NoAnswer("training without noise has no claim to attack".into()));
        };
        let proved = cost.answer.epsilon.upper();
        let epsilon = claimed.map(Upper).or(proved).ok_or_else(|| {
            Refusal::NoAnswer("the accountant has no upper bound for this plan; claim an epsilon".into())
        })?;
        let claim = Claim { epsilon, delta: cost.delta, adjacency: cost.subject.adjacency };
        let settings = BTreeMap::from([
            ("plan".to_owned(), recipe.written()?),
            ("records".to_owned(), data.len().to_string()),
            ("attack".to_owned(), format!("{attack:?}")),
        ]);
        let note = SubjectNote {
            kind: "training".to_owned(),
            description: format!("training, {}", cost.subject.describe()),
            attack: attack.describe(),
            access: attack.access().to_owned(),
            settings,
        };
        let subject = subject(recipe, prepared, data, claim, attack, seed)?;
        Ok(Case { subject, note, claim, proved, trials })
    }
}

fn subject(
    recipe: &Recipe,
    prepared: Prepared,
    data: Dataset,
    claim: Claim,
    attack: Attack,
    seed: u64,
) -> Result<Box<dyn Subject + Send>, Refusal> {
    let (canary, copies, scoring, start) = match attack {
        Attack::WhiteBox { canaries, copies } => {
            let subject = WhiteBox::new(prepared.plan, data, claim.adjacency, canaries, copies, seed)?;
            return Ok(Box::new(subject));
        }
        Attack::FinalModel { canary, copies, scoring, start } => (canary, copies, scoring, start),
    };
    let mut plan = prepared.plan;
    // Without noise, for what an attacker who knows the records would know of them.
    let bare = recipe.prepare(&data, Protection::None)?.plan;
    let (base, planted) = planting::plant(&bare, &data, canary, copies, claim.adjacency, plan.sampling)?;
    if start == Start::WorstCase {
        plan.initial = Initial::At(planting::worst_start(&plan, &bare, &base, &planted.inside)?);
    }
    Ok(Box::new(FinalModel::new(Cohort::new(plan)?, base, planted, scoring, seed)?))
}
