//! `veracity audit`: a training plan, any command, a mechanism, a model, or recorded scores; one file per subject.
//!
//! Each subject becomes a case; the flags say how it is attacked; one call does the rest.

mod ci;
mod claim;
mod command;
mod mechanism;
mod model;
mod printing;
mod training;

use crate::{
    Outcome,
    args::{AuditAction, AuditArgs},
    commands::replay,
    console::Console,
    meaning,
    progress::{self, Step},
};
use ci::{AuditOutcome, AuditReport};
use printing::Output;
use std::path::{Path, PathBuf};
use veracity::{
    AuditDone, AuditSettings, Case, Count, Error, ErrorKind, Significance, TrainingPlan,
    auditing::command::LOG,
    auditing::{
        Audit, AuditPlan, AuditProtocol, CHANCE, InsufficientPower, Method, MethodRequest, Opening, Progress,
        Retention, Shard, default_plan, interrupt, merge, signature::SigningKey,
    },
    decimal::{down, grouped, nearest},
    saving::refuse_foreign_file,
    spec::Whole,
};

/// Default folder: for the report of an audit whose trials are not kept, and for all files of an audit of a command.
const FOLDER: &str = "out-audit";

/// Audits a claim; exit code 1 when it is refuted.
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
        let done = merge(&args.folders, &args.out, key.as_ref())?;
        return printing::done(&done, &everything(&args.out, false), output);
    }
    if args.mechanism.is_none() && args.claim.is_none() {
        meaning::refuse_mechanism(&args.declared, "use them with --mechanism KIND or --claim KIND")?;
    }
    if args.canary.is_some() && !args.one_run && (args.command.is_none() || args.data.is_none()) {
        return Err(Error::invalid("--canary needs --command and --data, or --one-run"));
    }
    if args.replay.replay && args.command.is_none() && args.scores.is_none() && args.mechanism.is_none() {
        return replay::run(args);
    }
    let (case, keep) = case(args)?;
    let settings = settings(args, &case, keep)?;
    let about = ci::about(args);
    let output =
        Output { is_json: args.json, junit: &args.junit, sarif: &args.sarif, about: about.as_deref() };
    let ending = attack(args, &case, &settings, console);
    if let Err(error) = &ending {
        let line = error.to_string();
        output.write_files(
            AuditReport { note: case.note(), outcome: AuditOutcome::Broken, line: &line },
            &settings.keep,
        )?;
    }
    match ending? {
        AuditEnding::InsufficientPower(planned) => {
            printing::too_little(&case, planned, &settings.keep, output)
        }
        AuditEnding::Done(done) => printing::done(&done, &settings.keep, output),
    }
}

/// The end of an audit, or the reason that it did not start.
enum AuditEnding {
    /// It ran.
    Done(AuditDone),
    /// It cannot detect what it must.
    InsufficientPower(InsufficientPower),
}

/// Prints the planned power, and runs the trials.
fn attack(
    args: &AuditArgs,
    case: &Case,
    settings: &AuditSettings,
    console: Console,
) -> Result<AuditEnding, Error> {
    let audit = Audit::new(case, settings).map_err(|error| with_advice(error, &settings.keep))?;
    match audit.plan()? {
        AuditPlan::InsufficientPower(planned) => return Ok(AuditEnding::InsufficientPower(planned)),
        AuditPlan::Catches(below) if args.progress || console.is_watched() => {
            console.remark(&plan_line(audit.protocol(), below));
        }
        AuditPlan::Catches(_) | AuditPlan::Unstated => {}
    }
    let done = progress::shown(console, args.progress, step, |watch| {
        audit.run(|now| {
            // A closed display is ignored.
            let _ = watch.send(now);
        })
    });
    Ok(AuditEnding::Done(done.map_err(|error| with_advice(error, &settings.keep))?))
}

/// The planned power, in one line.
fn plan_line(protocol: &AuditProtocol, below: f64) -> String {
    let up_to = if protocol.method.bound == "sequential" { "up to " } else { "" };
    let (below, probability) = (down(below, 2), nearest(100.0 * CHANCE, 3));
    format!(
        "plan: {up_to}{} trials, {probability}% to detect noise below {below}× declared (optimal attack)",
        grouped(protocol.trials)
    )
}

/// Trials, speed, failures and time left.
fn step(now: Progress) -> progress::ProgressEvent {
    let more = if now.failed > 0 { format!(", {} failed", now.failed) } else { String::new() };
    progress::ProgressEvent::Step(Step {
        what: "trial",
        done: now.done,
        of: now.of,
        speed: Some((1, "trials")),
        more,
    })
}

/// The error of an audit that was interrupted, or whose trials failed, with advice on how to resume it.
fn with_advice(error: Error, keep: &Retention) -> Error {
    match (keep, error.kind()) {
        (Retention::Everything(..), ErrorKind::Interrupted) => {
            Error::Interrupted(format!("{error}; the finished trials are kept; continue with --resume"))
        }
        (Retention::Everything(folder, _), ErrorKind::TrialsFailed) if folder.join(LOG).exists() => {
            Error::TrialsFailed(format!(
                "{error}; see their output in {}; if the machine was the cause, retry them with --resume --retry-failed (an audit with retries \
                 refutes nothing)",
                folder.join(LOG).display()
            ))
        }
        _ => error,
    }
}

/// The audited subject, and the files that are kept by default.
fn case(args: &AuditArgs) -> Result<(Case, Retention), Error> {
    let report = Retention::Report(PathBuf::from(FOLDER));
    Ok(match (&args.mechanism, &args.command, &args.scores, &args.model) {
        (Some(kind), ..) => (mechanism::case(args, kind)?, report),
        (_, Some(line), ..) => {
            interrupt::install_handlers();
            let folder = args.out.clone().unwrap_or_else(|| PathBuf::from(FOLDER));
            let case = command::case(args, line, &folder)?;
            (case, everything(&folder, args.resume))
        }
        (_, _, Some(file), _) => (Case::scores(file, claim::of(args)?, args.seed)?, Retention::Nothing),
        (.., Some(model)) => (model::case(args, model)?, Retention::Nothing),
        _ => (training::case(args)?, report),
    })
}

fn everything(folder: &Path, resume: bool) -> Retention {
    Retention::Everything(folder.to_owned(), if resume { Opening::Resume } else { Opening::Fresh })
}

fn settings(args: &AuditArgs, case: &Case, keep: Retention) -> Result<AuditSettings, Error> {
    let keep = match (&args.out, keep) {
        (Some(folder), _) => everything(folder, args.resume),
        (None, keep @ Retention::Everything(..)) => keep,
        (None, _) if args.resume => {
            return Err(Error::invalid("--resume needs --out with the folder of the audit"));
        }
        (None, keep) => keep,
    };
    Ok(AuditSettings {
        method: Some(method(args, case)?),
        significance: args.significance,
        budget: args.budget.as_deref().map(|budget| meaning::duration("budget", budget)).transpose()?,
        max_failures: args.max_failures.map(|most| Whole(most).count_or_zero("max-failures")).transpose()?,
        retries: command::retries(args)?,
        retry_failed: args.retry_failed,
        require: args.require,
        jobs: args.jobs.map(jobs).transpose()?,
        shard: args.shard.as_deref().map_or(Ok(Shard::WHOLE), shard)?,
        keep,
        sign: args.sign.as_deref().map(SigningKey::read).transpose()?,
    })
}

/// The number of trials of the flags, or the default.
fn trials(args: &AuditArgs, usual: u64) -> Result<Count, Error> {
    Ok(args.trials.map_or_else(|| Count::new(usual), |trials| Whole(trials).count("trials"))?)
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

/// The method of the flags.
fn method(args: &AuditArgs, case: &Case) -> Result<Method, Error> {
    let bound = args.bound.clone().or_else(|| args.sequential.then(|| "sequential".to_owned()));
    let group = args.group_size.map(|size| Whole(size).count("group-size")).transpose()?;
    let request = MethodRequest { bound, threshold: args.threshold.clone(), group };
    Ok(case.method(&request, args.significance)?)
}

/// The plan that is named, or the built-in one.
fn training_plan(args: &AuditArgs) -> Result<TrainingPlan, Error> {
    let stated =
        [("--claim-delta", args.claim_delta.is_some()), ("--adjacency", args.declared.adjacency.is_some())];
    if let Some((flag, _)) = stated.iter().find(|(_, given)| *given) {
        return Err(Error::invalid(format!(
            "{flag} needs --command or --scores; a training plan has its own"
        )));
    }
    Ok(match &args.plan {
        None => default_plan(&args.set)?,
        Some(path) => meaning::training_plan(path, None, &args.set)?,
    })
}
