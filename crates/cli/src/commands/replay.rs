//! Replays: two runs on neighboring datasets with the same outputs, compared call by call.
//!
//! `veracity audit --replay` ends here, with a plan or with two traces; so does `veracity release --replay`.

use crate::{Ending, Outcome, args::AuditArgs, console::painted, meaning, text};
use serde_json::json;
use veracity::{
    Error, Significance,
    auditing::{certificate::Number, default_plan},
    decimal::{nearest, up},
    replaying::{self, Fault, NoiseReading, Pair, Replays},
    training::TrainingPlan,
};

/// Replays two recorded traces of any program, or the training run of a plan or of the built-in plan.
pub fn run(args: &AuditArgs) -> Result<Outcome, Error> {
    let significance = Significance::new(args.significance)?;
    let replays = match (&args.replay.trace, &args.replay.trace_neighbour) {
        (Some(_), Some(_)) if args.plan.is_some() || !args.set.is_empty() => {
            return Err(Error::invalid("a plan cannot be used with traces"));
        }
        (Some(run), Some(neighbour)) => replaying::traces(run, neighbour, significance)?,
        (None, _) | (_, None) => replaying::training(&plan_of(args)?, args.seed, significance)?,
    };
    show(&replays, args.json)
}

fn plan_of(args: &AuditArgs) -> Result<TrainingPlan, Error> {
    match &args.plan {
        Some(path) => meaning::training_plan(path, None, &args.set),
        None => Ok(default_plan(&args.set)?),
    }
}

/// Prints the result of replays; exit code 1 when there is a fault.
pub fn show(replays: &Replays, is_json: bool) -> Result<Outcome, Error> {
    let fault = replays.fault();
    let text = if is_json { as_json(replays)? } else { painted(&words(replays)) };
    Ok(Outcome { text, ending: Ending::of(fault.is_none()) })
}

fn words(replays: &Replays) -> String {
    let what = &replays.what;
    match replays.fault() {
        Some((Some(pair), fault)) => {
            format!(
                "REFUTED: {fault}\n\nsubject   {what}\nneighbor  {}\ndeterministic finding: both runs produced identical outputs\n",
                pair.neighbour
            )
        }
        Some((None, fault)) => format!(
            "REFUTED: {fault}\n\nsubject  {what}\n{}\nerror probability of all noise tests together ≤ {}\n",
            tested(replays, 7),
            nearest(Read::of(&replays.noise).significance, 2)
        ),
        None => format!(
            "NOT REFUTED: used at most {}% of the declared sensitivity\n\nsubject    {what}\nneighbors  {}, {} noise calls compared\n{}\nother neighboring datasets may use more\n",
            up(100.0 * replays.used(), 4),
            replays.pairs.len(),
            replays.calls(),
            tested(replays, 9),
        ),
    }
}

/// The noise tests of all recorded runs together.
struct Read {
    declared: usize,
    silent: usize,
    tests: usize,
    significance: f64,
    /// The least, multiplied with its part of the significance of all.
    p_value: f64,
}

impl Read {
    fn of(readings: &[NoiseReading]) -> Read {
        let none = Read { declared: 0, silent: 0, tests: 0, significance: 0.0, p_value: 1.0 };
        readings.iter().fold(none, |all, one| Read {
            declared: all.declared + one.declared,
            silent: all.silent + one.silent,
            tests: all.tests + one.tests,
            significance: all.significance + one.significance,
            p_value: all.p_value.min(one.p_value * readings.len() as f64),
        })
    }
}

/// The line about noise, with a label of this width.
fn tested(replays: &Replays, width: usize) -> String {
    let (read, name) = (Read::of(&replays.noise), format!("{:width$}", "noise"));
    let calls = |count: usize| if count == 1 { "1 call".to_owned() } else { format!("{count} calls") };
    let silent = match read.silent {
        0 => String::new(),
        count => format!("; not declared in {}, so not tested there", calls(count)),
    };
    match read.declared {
        0 => format!("{name}  not declared, so not tested"),
        count => format!("{name}  declared in {}, {} tests{silent}", calls(count), read.tests),
    }
}

fn as_json(replays: &Replays) -> Result<String, Error> {
    let fault = |(pair, fault): (Option<&Pair>, &Fault)| {
        json!({
            "kind": fault.kind(),
            "call": fault.call(),
            "neighbour": pair.map(|pair| &pair.neighbour),
            "words": fault.to_string(),
        })
    };
    let read = Read::of(&replays.noise);
    text::json(&json!({
        "schema": "veracity.replay/3",
        "verdict": if replays.fault().is_some() { "refuted" } else { "not-refuted" },
        "subject": replays.what,
        "fault": replays.fault().map(fault),
        // Beside a fault nothing was measured to the end.
        "used": if replays.fault().is_some() { None } else { Some(Number(replays.used())) },
        "calls": replays.calls(),
        "neighbours": replays.pairs.iter().map(|pair| &pair.neighbour).collect::<Vec<_>>(),
        "noise": {
            "declared": read.declared,
            "silent": read.silent,
            "tests": read.tests,
            "significance": read.significance,
            "p_value": read.p_value.min(1.0),
        },
    }))
}
