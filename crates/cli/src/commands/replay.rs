//! Replays: two runs on adjacent datasets that say the same, compared call by call.
//!
//! `veracity audit --replay` ends here, with a plan or with two traces; so does `veracity release --replay`.

use crate::{Ending, Outcome, args::AuditArgs, console::painted, meaning, text};
use serde_json::json;
use veracity::{
    Error,
    auditing::{certificate::Number, default_plan_with},
    replaying::{self, Fault, Pair, Replays},
    report::decimal::up,
    training::TrainingPlan,
};

/// Two recorded traces of anyone's code, or a plan's training, or that of the embedded default.
pub fn run(args: &AuditArgs) -> Result<Outcome, Error> {
    let replays = match (&args.replay.trace, &args.replay.trace_neighbour) {
        (Some(_), Some(_)) if args.plan.is_some() || !args.set.is_empty() => {
            return Err(Error::invalid("a plan is given together with traces, expected one or the other"));
        }
        (Some(run), Some(neighbour)) => replaying::traces(run, neighbour)?,
        (None, _) | (_, None) => replaying::training(&plan_of(args)?, args.seed)?,
    };
    show(&replays, args.json)
}

fn plan_of(args: &AuditArgs) -> Result<TrainingPlan, Error> {
    match &args.plan {
        Some(path) => meaning::training_plan(path, None, &args.set),
        None => Ok(default_plan_with(&args.set)?),
    }
}

/// Prints what replays showed; exit code 1 when there is a fault.
pub fn show(replays: &Replays, is_json: bool) -> Result<Outcome, Error> {
    let fault = replays.fault();
    let text = if is_json { as_json(replays)? } else { painted(&words(replays)) };
    Ok(Outcome { text, ending: Ending::of(fault.is_none()) })
}

fn words(replays: &Replays) -> String {
    let what = &replays.what;
    match replays.fault() {
        Some((pair, fault)) => {
            format!(
                "REFUTED: {fault}\n\nsubject    {what}\nneighbour  {}\nno chance is involved: the two runs said the same\n",
                pair.neighbour
            )
        }
        None => format!(
            "NOT REFUTED: used at most {} % of what was declared\n\nsubject     {what}\nneighbours  {}, {} noise calls compared\nother neighbours may move more; what noise was drawn is not looked at, but for its repetition\n",
            up(100.0 * replays.used(), 4),
            replays.pairs.len(),
            replays.calls(),
        ),
    }
}

fn as_json(replays: &Replays) -> Result<String, Error> {
    let fault = |(pair, fault): (&Pair, &Fault)| {
        json!({
            "kind": fault.kind(),
            "call": fault.call(),
            "neighbour": pair.neighbour,
            "words": fault.to_string(),
        })
    };
    text::json(&json!({
        "schema": "veracity.replay/2",
        "verdict": if replays.fault().is_some() { "refuted" } else { "not-refuted" },
        "subject": replays.what,
        "fault": replays.fault().map(fault),
        // Beside a fault nothing was measured to the end.
        "used": if replays.fault().is_some() { None } else { Some(Number(replays.used())) },
        "calls": replays.calls(),
        "neighbours": replays.pairs.iter().map(|pair| &pair.neighbour).collect::<Vec<_>>(),
    }))
}
