//! A model that somebody else trained, and canaries of which is known whether they were in its data. The bound is that of one run.
//!
//! A file of canaries has the layout of the model's records and one column more, `world` (in or out; in NPZ files an array of ones and
//! zeros). The model's margin on each canary is its score. A trainer that saw its own canaries at every step brings scores instead.

use super::{final_model::margin, recorded::Recorded};
use crate::{
    AuditClaim, Case, SubjectNote, TrialSource,
    trials::{Record, Trials},
};
use serde_json::Value;
use std::{collections::BTreeMap, path::Path};
use veracity_audit::{Observation, World};
use veracity_core::{Count, Error};
use veracity_training::{DataSpec, Labels, Model, Wanted};

/// The kind of these subjects.
pub const KIND: &str = "model";
/// The column that says which canaries were in.
pub const WORLD: &str = "world";

impl Case {
    /// A model, and a file of canaries: one trial of so many canaries.
    ///
    /// # Assumes  Each canary was in by a fair coin of its own that nothing else depended on
    ///
    /// # Errors
    /// Files that cannot be read, or worlds that no fair coin gave.
    pub fn trained_model(
        model: &Path,
        canaries: &Path,
        claim: impl Into<AuditClaim>,
        seed: u64,
    ) -> Result<Case, Error> {
        Ok(Case::one_run(score(model, canaries)?, claim.into(), seed))
    }

    /// The canaries of one training that ran elsewhere: whether each was in, and the score that an attacker gave it who read the noisy
    /// sum of every step. `settings` are all that the scores depend on.
    ///
    /// # Assumes  As [`Case::trained_model`]; a score depends on its canary's coin through the noisy sums alone
    ///
    /// # Errors
    /// Scores that are more than a run can have.
    pub fn canaries_of_one_run(
        scores: &[(World, f64)],
        settings: BTreeMap<String, Value>,
        claim: impl Into<AuditClaim>,
        seed: u64,
    ) -> Result<Case, Error> {
        let canaries = u32::try_from(scores.len())
            .map_err(|_| Error::out_of_range("canaries", scores.len(), "fewer than 2^32"))?;
        let note = SubjectNote {
            kind: KIND.to_owned(),
            description: "a trained model and the canaries of its training".to_owned(),
            attack: format!(
                "every step, {canaries} canaries, each read from the noisy sums along its own direction"
            ),
            access: "every step".to_owned(),
            settings,
        };
        let trials = trials(scores.iter().copied())?;
        Ok(Case::one_run(Recorded { note, trials, count: u64::from(canaries) }, claim.into(), seed))
    }

    fn one_run(recorded: Recorded, claim: AuditClaim, seed: u64) -> Case {
        let Recorded { note, trials, count } = recorded;
        Case {
            trials_from: TrialSource::Recorded(trials),
            note,
            claim,
            proved: None,
            trials: Count::ONE,
            seed,
            canaries: count as u32,
            group: Count::ONE,
            is_one_run: true,
            is_costly: false,
            ideal_game: None,
        }
    }
}

/// One trial of so many canaries. A score that is not a number is a canary that failed.
fn trials(scores: impl Iterator<Item = (World, f64)>) -> Result<Trials, Error> {
    let mut trials = Trials::default();
    for (canary, (world, score)) in scores.enumerate() {
        let known = Some(score).filter(|x| !x.is_nan());
        let observation = Observation { trial: 0, canary: canary as u32, world, score: known };
        let failure = if score.is_nan() { "the score is not a number".to_owned() } else { String::new() };
        trials.add(Record { observation, failure, attempts: 1 })?;
    }
    Ok(trials)
}

/// Scores canaries by a model.
fn score(model: &Path, canaries: &Path) -> Result<Recorded, Error> {
    let weights = std::fs::read(model).map_err(|error| Error::unreadable("model", model, error))?;
    let model = Model::read(model)?;
    let worlds = worlds(&model.card.data, canaries)?;
    let records = model.records(canaries, None, Wanted::Labelled)?;
    let Labels::Classes { of, .. } = records.labels() else {
        return Err(Error::invalid("the labels of the canaries are numbers, but this attack needs classes"));
    };
    let outputs = model.class_scores(&records)?;
    let margins = outputs.iter().zip(of).map(|(row, class)| margin(row, *class as usize));
    let trials = trials(worlds.iter().copied().zip(margins))?;
    let settings = [
        ("model_sha256", crate::sha256(&[&weights])),
        ("canaries_sha256", super::prepared_training::records_sha256(&records)),
        ("canaries", worlds.len().to_string()),
    ];
    let note = SubjectNote {
        kind: KIND.to_owned(),
        description: "a trained model and its canaries".to_owned(),
        attack: "final model, reads the margin on each canary; their file states which were included by a fair coin flip"
            .to_owned(),
        access: "final model".to_owned(),
        settings: settings.into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect(),
    };
    Ok(Recorded { note, trials, count: worlds.len() as u64 })
}

/// Which canaries were in, read as if that were their label.
fn worlds(layout: &DataSpec, path: &Path) -> Result<Vec<World>, Error> {
    let layout = layout.labelled_by(WORLD, ["out", "in"])?;
    match layout.read(path, None, Wanted::Labelled)?.labels() {
        Labels::Classes { of, .. } => {
            Ok(of.iter().map(|class| if *class == 1 { World::In } else { World::Out }).collect())
        }
        Labels::Values(_) => Err(Error::invalid("world is a number, expected in or out")),
    }
}

/// Refuses worlds that no fair coins gave: honest ones are refused with chance below 1e-9 (Hoeffding).
pub(crate) fn must_be_fair(worlds: &[World]) -> Result<(), Error> {
    let (canaries, ins) = (worlds.len(), worlds.iter().filter(|world| **world == World::In).count());
    let off = (ins as f64 - canaries as f64 / 2.0).abs();
    if canaries >= 2 && off <= 3.3 * (canaries as f64).sqrt() && ins > 0 && ins < canaries {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "{ins} of {canaries} canaries are included, expected about half; include each by a fair coin flip"
    )))
}
