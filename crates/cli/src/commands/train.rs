//! `veracity train`: a plan and its data become a model, a claim and a report.

use crate::{
    Outcome,
    args::TrainArgs,
    charging,
    commands::evaluate,
    console::Console,
    meaning,
    progress::{self, ProgressEvent, Step},
    text,
};
use serde_json::{Value, json};
use std::path::Path;
use veracity::{
    Error, Target, TrainEvent, TrainSettings, TrainingDone, TrainingPlan, decimal, large_delta_warning,
    ledger::{KeptAnswer, Paid},
    spec::Whole,
    training::{CLAIM, Entry, FolderStatus, MODEL, Protection, REPORT, Steps, train_paid},
};

/// Trains and tells.
pub fn run(args: &TrainArgs, console: Console) -> Result<Outcome, Error> {
    let plan = match &args.plan {
        Some(path) => meaning::training_plan(path, args.data.as_deref(), &args.set)?,
        None => TrainingPlan::digits_with(&args.set)?,
    };
    let settings = settings(args)?;
    let payer = charging::payer(&args.charge, None)?;
    let told = |event| told(&args.out, event);
    let paid = progress::shown(console, args.progress, told, |watch| {
        let mut watch = |event| {
            // The display outlives the training, so it receives every event.
            let _ = watch.send(event);
        };
        train_paid(&plan, &settings, payer.as_ref(), Some(&mut watch), |done| {
            Ok(KeptAnswer { words: words(args, done)?, object: report(args, done)? })
        })
    })?;
    if let Paid::New { done, .. } = &paid
        && let Some(cost) = &done.cost
        && let Target::Delta(delta) = cost.answer.target
        && let Some(warning) = large_delta_warning(delta, done.population)
    {
        console.remark(&format!("warning: {warning}"));
    }
    Outcome::done(charging::text(&paid, args.json)?)
}

fn settings(args: &TrainArgs) -> Result<TrainSettings, Error> {
    Ok(TrainSettings {
        out: Some(args.out.clone()),
        entry: match (args.resume, args.force) {
            (true, _) => Entry::Resume,
            (false, true) => Entry::Force,
            (false, false) => Entry::Fresh,
        },
        protection: if args.non_private { Protection::None } else { Protection::Private },
        dataset: args.dataset.clone(),
        seed: args.seed,
        checkpoint_every: args
            .checkpoint_every
            .map(|every| Whole(every).count("checkpoint-every"))
            .transpose()?,
        with_training_metrics: args.with_training_metrics,
        with_training_score: args.show_non_private,
    })
}

fn words(args: &TrainArgs, done: &TrainingDone) -> Result<String, Error> {
    let (parameters, records) = (done.model.parameters.len(), done.population.get());
    let mut lines = format!("{}   ({parameters} parameters, ", args.out.join(MODEL).display());
    lines += &match done.steps {
        Some(Steps { count, batch }) => {
            format!("{} steps, batches of {} from {records} records)\n", count.get(), batch.get())
        }
        None => format!("from {records} records)\n"),
    };
    match &done.cost {
        Some(cost) => {
            lines += &text::answer(&cost.subject, &cost.answer);
            if let Some(noise) = done.noise {
                lines += &format!("noise multiplier {}\n", decimal::nearest(noise.get(), 9));
            }
            lines += &format!("claim in {}\n", args.out.join(CLAIM).display());
            if !done.model.card.for_release {
                lines += "not for release: the noise was drawn from a seed\n";
            }
        }
        None => lines += "not for release: trained without privacy, so there is no claim\n",
    }
    if done.report.is_some() {
        lines += &format!("report in {}\n", args.out.join(REPORT).display());
    }
    if args.with_training_metrics {
        lines +=
            "not private: the report contains metrics measured on the training records; do not publish it\n";
    }
    if let Some(score) = &done.training_score {
        lines += &format!("not private, on the training records: {}\n", evaluate::words(score));
    }
    Ok(lines)
}

fn report(args: &TrainArgs, done: &TrainingDone) -> Result<Value, Error> {
    let path = |name: &str| args.out.join(name).display().to_string();
    let mut object = json!({
        "schema": "veracity.training/2",
        "model": path(MODEL),
        "parameters": done.model.parameters.len(),
        "for_release": done.model.card.for_release,
        "steps": done.steps.map(|steps| steps.count.get()),
        "report": done.report.as_ref().map(|_| path(REPORT)),
        "noise_multiplier": done.noise.map(|noise| noise.get()),
        "claim": done.claim.as_ref().map(|_| path(CLAIM)),
        "non_private": done.training_score.as_ref().map(evaluate::object),
    });
    let cost = done.cost.as_ref().map(|cost| text::cost(&cost.subject, &cost.answer)).transpose()?;
    for field in text::COST {
        object[field] = cost.as_ref().map_or(Value::Null, |cost| cost[field].clone());
    }
    Ok(object)
}

/// Steps, speed, ε so far and time left, or which earlier run is replaced.
fn told(out: &Path, event: TrainEvent) -> ProgressEvent {
    match event {
        TrainEvent::Replaces(left) => ProgressEvent::Remark(format!(
            "--force: in {}, this run replaces {}",
            out.display(),
            replaced(left)
        )),
        TrainEvent::Steps { done, of, batch, epsilon } => {
            let more = epsilon
                .map_or(String::new(), |epsilon| format!(", epsilon {} so far", decimal::up(epsilon, 4)));
            ProgressEvent::Step(Step { what: "step", done, of, speed: Some((batch, "examples")), more })
        }
    }
}

fn replaced(left: FolderStatus) -> &'static str {
    match (left.is_finished, left.is_paused) {
        (true, true) => {
            "the model of a finished run, but keeps its claim, and deletes a paused run with its key"
        }
        (false, true) => "a paused run with its key",
        (true, false) | (false, false) => "the model of a finished run, but keeps its claim",
    }
}
