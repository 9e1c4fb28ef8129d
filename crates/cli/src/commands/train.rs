//! `veracity train`: a plan and its data become a model, a claim and a report.

use crate::{
    Outcome,
    args::TrainArgs,
    charging::{Beginning, Charged, Printed, Purchase},
    commands::evaluate,
    console::Console,
    meaning,
    progress::{self, Step, Told},
    text,
};
use serde_json::{Value, json};
use std::path::Path;
use veracity::{
    Error, TrainEvent, TrainSettings, TrainingDone, TrainingPlan,
    report::decimal,
    spec::Whole,
    training::{CLAIM, Entry, Left, MODEL, Opened, PlanFile, Protection, REPORT, evaluate as score},
};

/// Trains and tells.
pub fn run(args: &TrainArgs, console: Console) -> Result<Outcome, Error> {
    let plan = match &args.plan {
        Some(path) => meaning::training_plan(path, args.data.as_deref(), &args.set)?,
        None => TrainingPlan::digits_with(&args.set)?,
    };
    let settings = settings(args)?;
    let purchase = purchase(args, &plan, &settings)?;
    // A folder that holds the finished run of this request is no reason to refuse it.
    if let Some(Charged::Known { printed, from }) =
        purchase.as_ref().map(Purchase::recall).transpose()?.flatten()
    {
        return Outcome::done(printed.text_again(args.json, &from)?);
    }
    // What fails until here costs nothing; what fails later stays charged and open, and may be resumed under its request id.
    let opened = Opened::new(&plan, &settings)?;
    let beginning = if args.resume { Beginning::Resumed } else { Beginning::Fresh };
    let charged = match purchase.map_or(Ok(Charged::Unasked), |purchase| purchase.charge(beginning)) {
        Err(error) => {
            opened.give_up();
            return Err(error);
        }
        Ok(Charged::Known { printed, from }) => {
            opened.give_up();
            return Outcome::done(printed.text_again(args.json, &from)?);
        }
        Ok(charged) => charged,
    };
    let told = |event| told(&args.out, event);
    let done = progress::shown(console, args.progress, told, |watch| opened.carry_out(Some(watch)))?;
    let printed = Printed { words: words(args, &done)?, object: report(args, &done)?, of: None };
    charged.keep(&printed)?;
    Outcome::done(printed.text(args.json)?)
}

/// The whole training as its ledger is asked for it, if one is named.
fn purchase(
    args: &TrainArgs,
    plan: &TrainingPlan,
    settings: &TrainSettings,
) -> Result<Option<Purchase>, Error> {
    if args.charge.ledger.is_none() {
        return Ok(None);
    }
    let dataset = settings.dataset.clone().unwrap_or_else(|| plan.dataset());
    let subject = PlanFile::Training(Box::new(plan.clone())).subject()?;
    Purchase::new(&args.charge, &subject, (&dataset, "training"))
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
    })
}

fn words(args: &TrainArgs, done: &TrainingDone) -> Result<String, Error> {
    let (parameters, records) = (done.model.parameters.len(), done.population.get());
    let mut lines = format!("{}   ({parameters} parameters, ", args.out.join(MODEL).display());
    lines += &match done.steps {
        Some((steps, batch)) => {
            format!("{} steps, batches of {} from {records} records)\n", steps.get(), batch.get())
        }
        None => format!("from {records} records)\n"),
    };
    match &done.cost {
        Some((subject, answer)) => {
            lines += &text::answer(subject, answer);
            if let Some(noise) = done.noise {
                lines += &format!("noise multiplier {}\n", decimal::nearest(noise.get(), 9));
            }
            lines += &format!("claim in {}\n", args.out.join(CLAIM).display());
            if !done.model.card.for_release {
                lines += "drawn from a seed: not for release\n";
            }
        }
        None => lines += "trained without protection: no claim, not for release\n",
    }
    if done.report.is_some() {
        lines += &format!("report in {}\n", args.out.join(REPORT).display());
    }
    if args.with_training_metrics {
        lines += "not private: the report shows numbers measured on the training records\n";
    }
    if args.show_non_private {
        let score = score(&done.model, &done.data)?;
        lines += &format!("not private, on the training records: {}\n", evaluate::words(&score));
    }
    Ok(lines)
}

fn report(args: &TrainArgs, done: &TrainingDone) -> Result<Value, Error> {
    let path = |name: &str| args.out.join(name).display().to_string();
    let measured = args.show_non_private.then(|| score(&done.model, &done.data)).transpose()?;
    let mut object = json!({
        "schema": "veracity.training/2",
        "model": path(MODEL),
        "parameters": done.model.parameters.len(),
        "for_release": done.model.card.for_release,
        "steps": done.steps.map(|(steps, _)| steps.get()),
        "report": done.report.as_ref().map(|_| path(REPORT)),
        "noise_multiplier": done.noise.map(|noise| noise.get()),
        "claim": done.claim.as_ref().map(|_| path(CLAIM)),
        "non_private": measured.as_ref().map(evaluate::object),
    });
    let cost = done.cost.as_ref().map(|(subject, answer)| text::cost(subject, answer)).transpose()?;
    for field in text::COST {
        object[field] = cost.as_ref().map_or(Value::Null, |cost| cost[field].clone());
    }
    Ok(object)
}

/// Steps, speed, ε so far and time left; or what is about to be replaced.
fn told(out: &Path, event: TrainEvent) -> Told {
    match event {
        TrainEvent::Replaces(left) => {
            Told::Remark(format!("--force: replaces in {} {}", out.display(), replaced(left)))
        }
        TrainEvent::Steps { done, of, batch, epsilon } => {
            let more = epsilon
                .map_or(String::new(), |epsilon| format!(", epsilon so far {}", decimal::up(epsilon, 4)));
            Told::Step(Step { what: "step", done, of, speed: Some((batch, "examples")), more })
        }
    }
}

fn replaced(left: Left) -> &'static str {
    match (left.is_finished, left.is_paused) {
        (true, true) => "the model of a finished run, whose claim stays, and a paused run, with its key",
        (false, true) => "a paused run, with its key",
        (true, false) | (false, false) => "the model of a finished run; its claim stays",
    }
}
