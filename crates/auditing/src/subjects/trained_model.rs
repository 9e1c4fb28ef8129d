//! A model that somebody else trained, and canaries of which a file says whether they were in its data.
//!
//! The file has the layout of the model's records and one column more, `world` (in or out; in NPZ files an array of ones and
//! zeros). The model's margin on each canary is its score, and the bound is that of one run.

use super::{final_model::margin, recorded::Recorded};
use crate::{
    AuditClaim, Case, SubjectNote, TrialSource,
    trials::{Record, Trials},
};
use std::path::Path;
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
        let Recorded { note, trials, count } = score(model, canaries)?;
        Ok(Case {
            trials_from: TrialSource::Recorded(trials),
            note,
            claim: claim.into(),
            proved: None,
            trials: Count::ONE,
            seed,
            canaries: count as u32,
            group: Count::ONE,
            is_one_run: true,
            is_costly: false,
            ideal_game: None,
        })
    }
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
    let mut trials = Trials::default();
    let outputs = model.class_scores(&records)?;
    for (canary, ((row, class), world)) in outputs.iter().zip(of).zip(&worlds).enumerate() {
        let score = margin(row, *class as usize);
        let observation = Observation {
            trial: 0,
            canary: canary as u32,
            world: *world,
            score: Some(score).filter(|x| !x.is_nan()),
        };
        let failure = if score.is_nan() { "the margin is not a number".to_owned() } else { String::new() };
        trials.add(Record { observation, failure, attempts: 1 })?;
    }
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
