//! Training as a case: a plan file, its proof, and an attack on the run that it describes.

use super::{Case, SubjectNote, WhiteBox};
use crate::{
    Refusal,
    training::{Protection, Recipe},
};
use std::{collections::BTreeMap, path::Path};
use veracity_core::{Claim, Count, Epsilon, Upper};

const DEFAULT: &str = include_str!("default.toml");

impl Recipe {
    /// The plan that `veracity audit` attacks when it is given none: a private model of the built-in digits.
    pub fn audited_by_default() -> Result<Recipe, Refusal> {
        Recipe::parse(DEFAULT, Path::new(""))
    }
}

/// What a white-box attack plants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Planting {
    /// How many canaries, each in or out by itself.
    pub canaries: usize,
    /// How many records each of them is.
    pub copies: usize,
}

impl Case {
    /// The training that a plan describes, attacked by someone who sees every step. The claim is `claimed`, or what the
    /// accountant proves.
    pub fn white_box(
        recipe: &Recipe,
        planting: Planting,
        claimed: Option<Epsilon>,
        seed: u64,
        trials: Count,
    ) -> Result<Case, Refusal> {
        let data = recipe.records()?;
        let prepared = recipe.prepare(&data, Protection::Private)?;
        let Some(cost) = prepared.cost else {
            return Err(Refusal::NoAnswer("training without noise has no claim to attack".into()));
        };
        let proved = cost.answer.epsilon.upper();
        let epsilon = claimed.map(Upper).or(proved).ok_or_else(|| {
            Refusal::NoAnswer("the accountant has no upper bound for this plan; claim an epsilon".into())
        })?;
        let adjacency = cost.subject.adjacency;
        let claim = Claim { epsilon, delta: cost.delta, adjacency };
        let settings = BTreeMap::from([
            ("plan".to_owned(), recipe.written()?),
            ("records".to_owned(), data.len().to_string()),
            ("canaries".to_owned(), planting.canaries.to_string()),
            ("copies".to_owned(), planting.copies.to_string()),
        ]);
        let description = format!("training, {}", cost.subject.describe());
        let subject =
            WhiteBox::new(prepared.plan, data, adjacency, planting.canaries, planting.copies, seed)?;
        let note = SubjectNote {
            kind: "training".to_owned(),
            description,
            attack: "canaries that own one parameter each; the noisy sum of every step is read".to_owned(),
            access: "every step".to_owned(),
            settings,
        };
        Ok(Case { subject: Box::new(subject), note, claim, proved, trials })
    }
}
