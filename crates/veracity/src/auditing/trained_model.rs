//! A model that somebody else trained, and canaries of which a file says whether they were in its data.
//!
//! The file has the layout of the model's records and one column more, `world` (in or out; in NPZ files an array of ones and
//! zeros). The model's margin on each canary is its score, and the bound is that of one run.

use super::{
    SubjectNote,
    final_model::margin,
    recorded::Recorded,
    trials::{Record, Trials},
};
use crate::{
    Refusal,
    training::{Classes, DataSpec, Labels, Model, Spellings, Wanted},
};
use std::path::Path;
use veracity_audit::{Observation, World};

/// The kind of these subjects.
pub const KIND: &str = "model";
/// The column that says which canaries were in.
pub const WORLD: &str = "world";

/// Scores canaries by a model: one trial of so many canaries.
///
/// # Assumes  Each canary was in by a fair coin of its own that nothing else depended on
pub fn score(model: &Path, canaries: &Path) -> Result<Recorded, Refusal> {
    let weights = std::fs::read(model).map_err(|error| {
        Refusal::Invalid(format!("model is {}, expected a readable file ({error})", model.display()))
    })?;
    let model = Model::read(model)?;
    let worlds = worlds(&model.card.data, canaries)?;
    let records = model.records(canaries, None, Wanted::Labelled)?;
    let Labels::Classes { of, .. } = records.labels() else {
        return Err(Refusal::Invalid("the canaries have numbers for labels, expected classes".into()));
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
        trials.add(Record { observation, failure })?;
    }
    let settings = [
        ("model_sha256", super::sha256(&[&weights])),
        ("canaries_sha256", super::records_sha256(&records)),
        ("canaries", worlds.len().to_string()),
    ];
    let note = SubjectNote {
        kind: KIND.to_owned(),
        description: "a trained model and its canaries".to_owned(),
        attack: "its margin on each canary is read; each was in by a fair coin, as their file says"
            .to_owned(),
        access: "final model".to_owned(),
        settings: settings.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
    };
    Ok(Recorded { note, trials, count: worlds.len() as u64 })
}

/// Which canaries were in, read as if that were their label.
fn worlds(layout: &DataSpec, path: &Path) -> Result<Vec<World>, Refusal> {
    let names = ["out", "in"].map(|name| Spellings::One(name.to_owned()));
    let mut layout = layout.clone();
    match &mut layout {
        DataSpec::Csv { label, classes, label_bounds, .. }
        | DataSpec::Parquet { label, classes, label_bounds, .. } => {
            *label = WORLD.to_owned();
            *classes = Some(Classes::Named(names.to_vec()));
            *label_bounds = None;
        }
        DataSpec::Npz { labels, classes, label_bounds, .. } => {
            *labels = WORLD.to_owned();
            *classes = Some(Classes::Counted(2));
            *label_bounds = None;
        }
        DataSpec::Digits {} | DataSpec::Npy { .. } | DataSpec::Idx { .. } => {
            return Err(Refusal::Invalid(
                "the model's records have no place for a column world, expected a model of CSV, Parquet or NPZ records"
                    .into(),
            ));
        }
    }
    match layout.read(path, None, Wanted::Labelled)?.labels() {
        Labels::Classes { of, .. } => {
            Ok(of.iter().map(|class| if *class == 1 { World::In } else { World::Out }).collect())
        }
        Labels::Values(_) => Err(Refusal::Invalid("world is a number, expected in or out".into())),
    }
}

/// Refuses worlds that no fair coins gave: honest ones are refused with chance below 1e-9 (Hoeffding).
pub(super) fn must_be_fair(worlds: &[World]) -> Result<(), Refusal> {
    let (canaries, ins) = (worlds.len(), worlds.iter().filter(|world| **world == World::In).count());
    let off = (ins as f64 - canaries as f64 / 2.0).abs();
    if canaries >= 2 && off <= 3.3 * (canaries as f64).sqrt() && ins > 0 && ins < canaries {
        return Ok(());
    }
    Err(Refusal::Invalid(format!(
        "{ins} of {canaries} canaries are in, expected about half: each is in by a fair coin of its own"
    )))
}
