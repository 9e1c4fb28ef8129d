//! A plan of a convex model: no steps, so nothing to show on the way and nothing to take up again.

use super::open;
use crate::{Outcome, args::TrainArgs, commands::evaluate, text};
use serde_json::{Value, json};
use veracity::{
    AnswerFile, Entropy, Provenance, Refusal,
    training::{CLAIM, ConvexPrepared, ConvexRelease, Dataset, MODEL, Protection, Recipe, evaluate as score},
};

/// Prepares, releases, writes.
pub fn run(
    args: &TrainArgs,
    recipe: &Recipe,
    (data, provenance): (Dataset, &Provenance),
    protection: Protection,
) -> Result<Outcome, Refusal> {
    if args.resume || args.checkpoint_every.is_some() {
        return Err(Refusal::Invalid(
            "--resume or --checkpoint-every is given, expected neither with [model.convex], which has no steps"
                .into(),
        ));
    }
    if args.with_training_metrics {
        return Err(Refusal::Invalid(
            "--with-training-metrics is given, expected no such flag with [model.convex], which has no report".into(),
        ));
    }
    let prepared = recipe.prepare_convex(&data, protection)?;
    let entropy = args.seed.map_or_else(Entropy::system, |seed| Ok(Entropy::seeded(seed)))?;
    let out = open(args)?;
    let mut released = prepared.release(data, &entropy)?;
    let claim = released.claim.take().map(|claim| released.model.claimed(claim, provenance)).transpose()?;
    out.hand_over(&released.model, claim.as_ref(), None)?;
    out.clear()?;
    Outcome::done(match args.json {
        true => text::json(&report(args, &prepared, &released)?)?,
        false => words(args, &prepared, &released)?,
    })
}

fn words(args: &TrainArgs, prepared: &ConvexPrepared, released: &ConvexRelease) -> Result<String, Refusal> {
    let mut lines = format!(
        "{}   ({} parameters, from {} records)\n",
        args.out.join(MODEL).display(),
        released.model.parameters.len(),
        prepared.population().get(),
    );
    match &prepared.cost {
        Some((subject, answer)) => {
            lines += &text::answer(subject, answer);
            lines += &format!("claim in {}\n", args.out.join(CLAIM).display());
            if !released.model.card.for_release {
                lines += "drawn from a seed: not for release\n";
            }
        }
        None => lines += "trained without protection: no claim, not for release\n",
    }
    if args.show_non_private {
        let score = score(&released.model, &released.data)?;
        lines += &format!("not private, on the training records: {}\n", evaluate::words(&score));
    }
    Ok(lines)
}

fn report(args: &TrainArgs, prepared: &ConvexPrepared, released: &ConvexRelease) -> Result<Value, Refusal> {
    let mut object = match &prepared.cost {
        Some((subject, answer)) => {
            serde_json::to_value(AnswerFile::new(subject, answer)).unwrap_or_else(|_| json!({}))
        }
        None => json!({}),
    };
    object["schema"] = json!("veracity.training/1");
    object["model"] = json!(args.out.join(MODEL).display().to_string());
    object["parameters"] = json!(released.model.parameters.len());
    object["for_release"] = json!(released.model.card.for_release);
    if prepared.cost.is_some() {
        object["claim"] = json!(args.out.join(CLAIM).display().to_string());
    }
    if args.show_non_private {
        object["non_private"] = evaluate::object(&score(&released.model, &released.data)?);
    }
    Ok(object)
}
