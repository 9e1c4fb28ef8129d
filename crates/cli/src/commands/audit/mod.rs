//! `veracity audit`: a training plan, any command, a mechanism, a model, or recorded scores; one file per subject.
//!
//! Each subject becomes a case; the flags say how it is attacked; one call does the rest.

mod ci;
mod claim;
mod command;
mod mechanism;
mod model;
mod one_run;
mod printing;
mod slurm;
mod training;

use crate::{
    Outcome,
    args::{AuditAction, AuditArgs},
    commands::replay,
    console::Console,
    meaning,
    progress::{self, Step},
};
use ci::{CameTo, Told};
use printing::{Output, TooLittle};
use std::{
    path::{Path, PathBuf},
    sync::{Arc, mpsc::Sender},
};
use veracity::{
    AuditDone, AuditSettings, Case, Count, Error, ErrorKind, Significance, TrainingPlan, audit,
    auditing::command::LOG,
    auditing::{
        CHANCE, Keep, MethodNote, Opening, Progress, Shard, default_plan_with, device::Device, interrupt,
        merge_signed, needed_trials, plan, signature::SigningKey,
    },
    devices,
    report::decimal::{down, nearest},
    saving::refuse_foreign_file,
    spec::Whole,
};

/// Where the report of an audit goes whose trials are not kept, and everything of one of a command.
const FOLDER: &str = "out-audit";

/// Attacks a claim; exit code 1 when it is refuted.
pub fn run(args: &AuditArgs, console: Console) -> Result<Outcome, Error> {
    // A typing error should not cost an hour of trials.
    Significance::new(args.significance)?;
    args.junit.as_ref().map_or(Ok(()), |path| refuse_foreign_file("junit", path, ci::is_junit))?;
    args.sarif.as_ref().map_or(Ok(()), |path| refuse_foreign_file("sarif", path, ci::is_sarif))?;
    // A file of an earlier audit would be taken for the verdict of this one, should this one fail.
    for (name, path) in [("junit", &args.junit), ("sarif", &args.sarif)] {
        path.as_deref().map_or(Ok(()), |path| ci::forget(name, path))?;
    }
    if let Some(AuditAction::Merge(args)) = &args.action {
        let output = Output { is_json: args.json, junit: &args.junit, sarif: &args.sarif, about: None };
        let key = args.sign.as_deref().map(SigningKey::read).transpose()?;
        let done = merge_signed(&args.folders, &args.out, key.as_ref())?;
        return printing::done(&done, &everything(&args.out, false), output);
    }
    if args.mechanism.is_none() && args.claim.is_none() {
        meaning::refuse_mechanism(&args.declared, "them with --mechanism KIND or --claim KIND")?;
    }
    if args.canary.is_some() && !args.one_run && (args.command.is_none() || args.data.is_none()) {
        return Err(Error::invalid(
            "--canary is given, expected it with --command and --data, or with --one-run",
        ));
    }
    if args.replay.replay && args.command.is_none() && args.scores.is_none() && args.mechanism.is_none() {
        return replay::run(args);
    }
    let (case, keep) = case(args)?;
    let settings = settings(args, &case, keep)?;
    let about = ci::about(args);
    let output =
        Output { is_json: args.json, junit: &args.junit, sarif: &args.sarif, about: about.as_deref() };
    match planned(args, &case, &settings)? {
        Planned::Nothing => {}
        Planned::Catches(told) if args.progress || console.is_watched() => console.remark(&told),
        Planned::Catches(_) => {}
        Planned::TooLittle(planned) => return printing::too_little(&case, planned, &settings.keep, output),
    }
    match conducted(args, &case, &settings, console) {
        Ok(done) => printing::done(&done, &settings.keep, output),
        Err(error) => {
            let line = error.to_string();
            output.tell(Told { note: &case.note, came_to: CameTo::Broken, line: &line }, &settings.keep)?;
            Err(error)
        }
    }
}

/// Runs the trials here, or on a cluster.
fn conducted(
    args: &AuditArgs,
    case: &Case,
    settings: &AuditSettings,
    console: Console,
) -> Result<AuditDone, Error> {
    if args.on.is_some() {
        let shards = slurm::run(args, case, settings)?;
        let out = args.out.clone().unwrap_or_else(|| PathBuf::from(FOLDER));
        return merge_signed(&shards, &out, settings.sign.as_ref());
    }
    progress::shown(console, args.progress, told, |watch| attack(case, settings, watch))
}

/// What the trials are planned to catch, told before the first of them. An audit that must catch more than it can is not begun.
fn planned(args: &AuditArgs, case: &Case, settings: &AuditSettings) -> Result<Planned, Error> {
    // How many trials fit into a time is not known yet.
    if args.budget.is_some() {
        return Ok(Planned::Nothing);
    }
    let (protocol, caught) = plan(case, settings)?;
    let below = caught.and_then(|caught| caught.noise_below);
    if let Some(part) = args.require
        && below.is_none_or(|below| below < part)
    {
        let needed = needed_trials(case, protocol.method.method()?, part, args.significance)?;
        let (trials, needed) = (protocol.trials, needed.get());
        return Ok(Planned::TooLittle(TooLittle { trials, require: part, needed }));
    }
    let Some(below) = below else { return Ok(Planned::Nothing) };
    let up_to = if protocol.method.bound == "sequential" { "up to " } else { "" };
    let (below, chance) = (down(below, 2), nearest(100.0 * CHANCE, 3));
    Ok(Planned::Catches(format!(
        "plan: {up_to}{} trials; noise below {below} of the declared is caught with chance {chance}%",
        protocol.trials
    )))
}

/// What is known of an audit before its first trial.
enum Planned {
    /// Nothing that could be told.
    Nothing,
    /// What it catches.
    Catches(String),
    /// It cannot catch what it must.
    TooLittle(TooLittle),
}

/// Trials, speed, failures and time left.
fn told(now: Progress) -> progress::Told {
    let more = if now.failed > 0 { format!(", {} failed", now.failed) } else { String::new() };
    progress::Told::Step(Step { what: "trial", done: now.done, of: now.of, speed: Some((1, "trials")), more })
}

/// Runs the audit; an interrupted one says how to go on.
fn attack(case: &Case, settings: &AuditSettings, watch: &Sender<Progress>) -> Result<AuditDone, Error> {
    audit(case, settings, Some(watch)).map_err(|error| match (&settings.keep, error.kind()) {
        (Keep::Everything(..), ErrorKind::Interrupted) => Error::Interrupted(format!(
            "{error}; the trials that had ended are kept, --resume goes on with the others"
        )),
        (Keep::Everything(folder, _), ErrorKind::TrialsFailed) if folder.join(LOG).exists() => {
            Error::TrialsFailed(format!(
                "{error}; what they said is in {}, --resume --retry-failed tries them again",
                folder.join(LOG).display()
            ))
        }
        _ => error,
    })
}

/// What is audited, and what is kept of it where nobody says.
fn case(args: &AuditArgs) -> Result<(Case, Keep), Error> {
    let report = Keep::Report(PathBuf::from(FOLDER));
    Ok(match (&args.mechanism, &args.command, &args.scores, &args.model) {
        (Some(kind), ..) => (mechanism::case(args, kind)?, report),
        (_, Some(line), ..) => {
            interrupt::install_handlers();
            let folder = args.out.clone().unwrap_or_else(|| PathBuf::from(FOLDER));
            let case = command::case(args, line, &folder)?;
            (case, everything(&folder, args.resume))
        }
        (_, _, Some(file), _) => (Case::scores(file, claim::of(args)?, args.seed)?, Keep::Nothing),
        (.., Some(model)) => (model::case(args, model)?, Keep::Nothing),
        _ if args.one_run => (one_run::case(args)?, report),
        _ => (training::case(args)?, report),
    })
}

/// A case whose models are trained where it is asked for; for `auto`, on the cores where the GPU cannot train them.
fn on_device(
    args: &AuditArgs,
    case: impl Fn(Option<Arc<dyn Device>>) -> Result<Case, Error>,
) -> Result<Case, Error> {
    let word = args.device.as_deref().unwrap_or("cpu");
    match devices::open(word)? {
        Some(device) if word == "auto" => case(Some(device)).or_else(|_| case(None)),
        device => case(device),
    }
}

fn everything(folder: &Path, resume: bool) -> Keep {
    Keep::Everything(folder.to_owned(), if resume { Opening::Resume } else { Opening::Fresh })
}

fn settings(args: &AuditArgs, case: &Case, keep: Keep) -> Result<AuditSettings, Error> {
    let keep = match (&args.out, keep) {
        (Some(folder), _) => everything(folder, args.resume),
        (None, keep @ Keep::Everything(..)) => keep,
        (None, _) if args.resume => {
            return Err(Error::invalid("--out is missing, expected the folder of the audit to --resume"));
        }
        (None, keep) => keep,
    };
    Ok(AuditSettings {
        method: Some(method(args, case)?),
        significance: args.significance,
        budget: args.budget.as_deref().map(|budget| meaning::duration("budget", budget)).transpose()?,
        max_failures: match args.max_failures {
            Some(0.0) => Some(0),
            Some(most) => Some(Whole(most).count("max-failures")?.get()),
            None => None,
        },
        retries: command::retries(args)?,
        retry_failed: args.retry_failed,
        require: args.require,
        jobs: args.jobs.map(jobs).transpose()?,
        shard: args.shard.as_deref().map_or(Ok(Shard::WHOLE), shard)?,
        keep,
        sign: args.sign.as_deref().map(SigningKey::read).transpose()?,
    })
}

fn jobs(jobs: f64) -> Result<Count, Error> {
    match Whole(jobs).count("jobs")? {
        count if count.get() <= 4096 => Ok(count),
        _ => Err(Error::out_of_range("jobs", jobs, "1 ≤ jobs ≤ 4096")),
    }
}

fn shard(text: &str) -> Result<Shard, Error> {
    let parts = text.split_once('/').and_then(|(index, of)| Some((index.parse().ok()?, of.parse().ok()?)));
    match parts {
        Some((index, of)) => Ok(Shard::new(index, of)?),
        None => Err(Error::out_of_range("shard", meaning::clean(text), "I/N with 0 ≤ I < N ≤ 2^20")),
    }
}

/// The method of the flags; what they leave open is the usual one of the case.
fn method(args: &AuditArgs, case: &Case) -> Result<veracity::auditing::Method, Error> {
    let usual = MethodNote::of(training::usual_method(args, case)?);
    let asked = args.bound.clone().or_else(|| args.sequential.then(|| "sequential".to_owned()));
    // A threshold of one's own is counted at, not bet on.
    let counts = args.threshold.is_some() && usual.bound == "sequential";
    let counted = counts.then(|| "clopper-pearson".to_owned());
    let bound = asked.or(counted).unwrap_or_else(|| usual.bound.clone());
    // The usual threshold is that of the usual bound.
    let threshold = match bound.as_str() {
        _ if bound == usual.bound => usual.threshold,
        "sequential" => "past".to_owned(),
        "many-runs" => "past:0.05".to_owned(),
        _ => "split".to_owned(),
    };
    let note = MethodNote {
        bound,
        threshold: args.threshold.clone().unwrap_or(threshold),
        group_size: args.group_size.map_or(Ok(case.group), |size| Whole(size).count("group-size"))?.get(),
    };
    Ok(note.method()?)
}

/// The plan that is named, or the built-in one.
fn training_plan(args: &AuditArgs) -> Result<TrainingPlan, Error> {
    let stated =
        [("--claim-delta", args.claim_delta.is_some()), ("--adjacency", args.declared.adjacency.is_some())];
    if let Some((flag, _)) = stated.iter().find(|(_, given)| *given) {
        return Err(Error::invalid(format!(
            "{flag} is given, expected it with --command or --scores: a plan has its own"
        )));
    }
    Ok(match &args.plan {
        None => default_plan_with(&args.set)?,
        Some(path) => meaning::training_plan(path, None, &args.set)?,
    })
}
