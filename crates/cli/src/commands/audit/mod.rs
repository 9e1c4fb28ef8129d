//! `veracity audit`: a training plan, any command, a mechanism, or recorded scores; one file per subject.
//!
//! Each subject says what is ordered; trials that go to a folder are journaled there, so that they can be taken up again,
//! shared out and recomputed.

mod ci;
mod command;
mod mechanism;
mod memory;
mod merge;
mod model;
mod one_run;
mod printing;
mod progress;
mod scores;
mod training;

use crate::{
    Outcome,
    args::{AuditAction, AuditArgs},
    commands::replay,
    meaning,
};
use std::path::Path;
use veracity::{
    Count, Refusal, Significance,
    auditing::{
        self, Case, ClaimNote, Journal, MOST_TRIALS, MethodNote, ORDER_SCHEMA, Opening, Order, Shard, Terms,
        VERSION, certificate, conduct, journal, plan_trials,
    },
    report::html::Command,
    saving::refuse_foreign_file,
    spec::Whole,
};

/// The page of an audit, in its folder.
const REPORT: &str = veracity::auditing::journal::REPORT;
/// Which part of one run's canaries is guessed when nobody says, half of it at each end.
const ENDS: &str = "ends:0.2";

/// Attacks a claim; exit code 1 when it is refuted.
pub fn run(args: &AuditArgs) -> Result<Outcome, Refusal> {
    // A typing error should not cost an hour of trials.
    Significance::new(args.significance)?;
    args.junit.as_ref().map_or(Ok(()), |path| refuse_foreign_file("junit", path, ci::is_junit))?;
    args.sarif.as_ref().map_or(Ok(()), |path| refuse_foreign_file("sarif", path, ci::is_sarif))?;
    if let (None, Some(kind)) = (&args.action, &args.mechanism) {
        return mechanism::run(args, kind);
    }
    meaning::refuse_mechanism(&args.declared, "them with --mechanism KIND")?;
    if args.canary.is_some() && !args.one_run && (args.command.is_none() || args.data.is_none()) {
        return Err(Refusal::Invalid(
            "--canary is given, expected it with --command and --data, or with --one-run".into(),
        ));
    }
    if let (None, Some(model), Some(canaries)) = (&args.action, &args.model, &args.canaries_file) {
        return model::run(args, model, canaries);
    }
    if args.action.is_none() && args.one_run {
        return one_run::run(args);
    }
    match (&args.action, &args.command, &args.scores) {
        (Some(AuditAction::Merge(args)), _, _) => merge::run(args),
        (None, Some(line), _) => command::run(args, line),
        (None, None, Some(file)) => scores::run(args, file),
        (None, None, None) if args.replay.replay => {
            replay::run(&args.replay, args.plan.as_deref(), args.seed, args.json)
        }
        (None, None, None) => training::run(args),
    }
}

/// Everything that is fixed before the first trial.
fn order(args: &AuditArgs, case: &Case, method: MethodNote) -> Result<Order, Refusal> {
    let order = Order {
        schema: ORDER_SCHEMA.to_owned(),
        subject: case.note.clone(),
        claim: ClaimNote::from(&case.claim),
        proved: case.proved.map(|proved| proved.0.get()),
        method,
        significance: args.significance,
        trials: case.trials.get(),
        canaries: case.subject.canaries() as u32,
        seed: args.seed,
        max_failures: max_failures(args, case.trials.get())?,
        version: VERSION.to_owned(),
    };
    order.check()?;
    Ok(order)
}

/// Runs a case by a method: for a time where one is given, in a folder or in memory.
fn run_case(args: &AuditArgs, mut case: Case, method: MethodNote) -> Result<Outcome, Refusal> {
    if let Some(budget) = &args.budget {
        let known = args.out.as_deref().filter(|_| args.resume).and_then(trials_of);
        let budget = meaning::duration("budget", budget)?;
        let planned = match known {
            Some(trials) => trials,
            None => plan_trials(case.subject.as_ref(), args.seed, budget, jobs(args)?, MOST_TRIALS - 1)?,
        };
        case.trials = Count::new(planned)?;
    }
    let order = order(args, &case, method)?;
    match &args.out {
        Some(folder) => run_in(folder, args, &case, &order),
        None if args.resume => {
            Err(Refusal::Invalid("--out is missing, expected the folder of the audit to --resume".into()))
        }
        None => {
            let terms = Terms {
                method: order.method.method()?,
                trials: case.trials,
                seed: args.seed,
                significance: args.significance,
            };
            memory::run(args, &case, terms, order.max_failures)
        }
    }
}

/// A tenth of the trials unless told otherwise.
fn max_failures(args: &AuditArgs, trials: u64) -> Result<u64, Refusal> {
    match args.max_failures {
        Some(0.0) => Ok(0),
        Some(most) => Ok(Whole(most).count("max-failures")?.get()),
        None => Ok(trials / 10),
    }
}

/// Runs what a folder lacks of an order, and judges when nothing is missing.
fn run_in(folder: &Path, args: &AuditArgs, case: &Case, order: &Order) -> Result<Outcome, Refusal> {
    let shard = args.shard.as_deref().map_or(Ok(Shard::WHOLE), shard)?;
    let jobs = jobs(args)?;
    let opening = if args.resume { Opening::Resume } else { Opening::Fresh };
    let mut journal = Journal::open(folder, order, opening)?;
    progress::shown(args.progress, |watch| conduct(case.subject.as_ref(), &mut journal, shard, jobs, watch))?;
    if !journal.missing(Shard::WHOLE).is_empty() {
        let trials = journal.settle(&[])?;
        return printing::share(args.json, folder, order, &trials);
    }
    judge(journal, (args.json, &args.junit, &args.sarif))
}

/// Writes trials and certificate, and says the verdict.
fn judge(journal: Journal, output: printing::Output) -> Result<Outcome, Refusal> {
    let (audited, certificate) = certificate::certify(journal.order(), journal.trials())?;
    let folder = journal.folder().to_owned();
    let page = auditing::page(&audited, &journal.trials().observations(), recompute())?;
    journal.settle(&[
        ("certificate", certificate::FILE, certificate.to_json()?),
        ("report", REPORT, page.render()),
    ])?;
    printing::verdict(&audited, printing::Kept::All(&folder), output)
}

/// How anyone comes to the same verdict; the same for all audits, so that their pages differ in nothing but what they found.
fn recompute() -> Vec<Command> {
    vec![Command {
        says: "Recompute the verdict from the trials beside this page".to_owned(),
        line: format!("veracity verify {}", certificate::FILE),
    }]
}

fn jobs(args: &AuditArgs) -> Result<usize, Refusal> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let jobs =
        args.jobs.map_or(Ok(cores), |jobs| Whole(jobs).count("jobs").map(|jobs| jobs.get() as usize))?;
    if jobs <= 4096 { Ok(jobs) } else { Err(Refusal::out_of_range("jobs", jobs, "1 ≤ jobs ≤ 4096")) }
}

fn shard(text: &str) -> Result<Shard, Refusal> {
    let parts = text.split_once('/').and_then(|(index, of)| Some((index.parse().ok()?, of.parse().ok()?)));
    match parts {
        Some((index, of)) => Shard::new(index, of),
        None => Err(Refusal::out_of_range("shard", meaning::clean(text), "I/N with 0 ≤ I < N ≤ 2^20")),
    }
}

/// The trials of an audit that was planned for a time and is taken up again.
fn trials_of(folder: &Path) -> Option<u64> {
    journal::read(folder).ok().map(|(order, _)| order.trials)
}

/// The method of the flags for many canaries in one run; no other bound holds for their scores.
fn one_run_method(args: &AuditArgs) -> Result<MethodNote, Refusal> {
    let bound = args.bound.as_deref().unwrap_or("one-run");
    let threshold = args.threshold.as_deref().unwrap_or(ENDS);
    if bound != "one-run" || threshold == "split" {
        return Err(Refusal::Invalid(
            "canaries of one run are guessed together, expected --bound one-run and --threshold ends:PART"
                .into(),
        ));
    }
    let group_size = args.group_size.map_or(Ok(1), |size| Whole(size).count("group-size").map(Count::get))?;
    let note = MethodNote { bound: bound.to_owned(), threshold: threshold.to_owned(), group_size };
    Ok(MethodNote::of(note.method()?))
}

/// The method of the flags.
fn method(args: &AuditArgs, bound: &str, records: u64) -> Result<MethodNote, Refusal> {
    let group =
        args.group_size.map_or(Ok(records), |size| Whole(size).count("group-size").map(|size| size.get()))?;
    if group < records {
        return Err(Refusal::Invalid(format!(
            "group-size is {group}, expected at least {records}: so many records separate the worlds"
        )));
    }
    let note = MethodNote {
        bound: args.bound.as_deref().unwrap_or(bound).to_owned(),
        threshold: args.threshold.as_deref().unwrap_or("split").to_owned(),
        group_size: group,
    };
    // Spelled as the facade spells it, so that the same method is the same order.
    Ok(auditing::MethodNote::of(note.method()?))
}
