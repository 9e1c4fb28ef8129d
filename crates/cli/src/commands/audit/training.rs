//! `veracity audit [PLAN]`: a training plan, or the embedded default, attacked from within or by its last model.

use super::{REPORT, jobs, method, order, printing, progress, run_in};
use crate::{Outcome, args::AuditArgs, meaning, meaning::duration, text};
use std::{fs, path::Path};
use veracity::{
    Count, Epsilon, Refusal,
    auditing::{
        self, Attack, Case, Kind, MOST_TRIALS, Observation, Progress, Scoring, Start, Terms, best_canary,
        observe, plan_trials,
    },
    plan::read_text,
    spec::Whole,
    training::Recipe,
};

/// Trainings that take about a minute on two cores.
const TRIALS: f64 = 6000.0;
/// Canaries that a training holds.
const CANARIES: f64 = 20.0;
/// Shadow models for likelihood ratios.
const SHADOWS: u64 = 64;
/// Where the report goes when nobody says.
const FOLDER: &str = "out-audit";
/// Trials between two looks at the clock.
const PORTION: usize = 50;

/// Attacks a plan.
pub fn run(args: &AuditArgs) -> Result<Outcome, Refusal> {
    let (mut case, copies) = case(args)?;
    let bound = if case.subject.canaries() == 1 { "clopper-pearson" } else { "one-run" };
    let method = method(args, bound, copies as u64)?;
    if let Some(budget) = &args.budget {
        let known = args.out.as_deref().filter(|_| args.resume).and_then(super::trials_of);
        let budget = duration("budget", budget)?;
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
            Err(Refusal::NoAnswer("--out is missing, expected the folder of the audit to --resume".into()))
        }
        None => {
            let terms = Terms {
                method: order.method.method()?,
                trials: case.trials,
                seed: args.seed,
                significance: args.significance,
            };
            in_memory(args, &case, terms)
        }
    }
}

/// Runs all trials without keeping them; what is left is a report.
fn in_memory(args: &AuditArgs, case: &Case, terms: Terms) -> Result<Outcome, Refusal> {
    let path = Path::new(FOLDER).join(REPORT);
    fs::create_dir_all(FOLDER).map_err(|error| {
        Refusal::NoAnswer(format!("{FOLDER} cannot be made here, expected --out DIR ({error})"))
    })?;
    let trials: Vec<u64> = (0..terms.trials.get()).collect();
    let jobs = jobs(args)?;
    let mut seen: Vec<Observation> = Vec::new();
    progress::shown(args.progress, |watch| {
        let mut now = Progress { done: 0, of: terms.trials.get(), failed: 0 };
        for portion in trials.chunks(PORTION * jobs) {
            for outcome in observe(case.subject.as_ref(), terms.seed, portion, jobs) {
                now.done += 1;
                now.failed += u64::from(outcome.failure.is_some());
                seen.extend(outcome.observations);
            }
            // Nobody need watch.
            let _ = watch.send(now);
        }
        Ok(())
    })?;
    let audited = auditing::examine(case.note.clone(), case.claim, case.proved, terms, &seen)?;
    let page = auditing::page(&audited, &seen, Vec::new())?;
    text::write_file("report", &path, page.render().as_bytes())?;
    printing::verdict(&audited, printing::Kept::Report(&path), (args.json, &args.junit, &args.sarif))
}

/// The case, and how many records its canary is.
fn case(args: &AuditArgs) -> Result<(Case, usize), Refusal> {
    let stated = [("--claim-delta", args.claim_delta.is_some()), ("--adjacency", args.adjacency.is_some())];
    if let Some((flag, _)) = stated.iter().find(|(_, given)| *given) {
        return Err(Refusal::NoAnswer(format!(
            "{flag} is given, expected it with --command or --scores: a plan has its own"
        )));
    }
    let recipe = match &args.plan {
        None => Recipe::audited_by_default()?,
        Some(path) => {
            let text = read_text("plan", path)?;
            Recipe::parse(&text, path.parent().unwrap_or(Path::new("")))?
        }
    };
    let trials = Whole(args.trials.unwrap_or(TRIALS)).count("trials")?;
    let claimed = args.claim_epsilon.map(Epsilon::new).transpose()?;
    let (attack, copies) = attack(args, &recipe)?;
    Ok((Case::training(&recipe, attack, claimed, args.seed, trials)?, copies))
}

fn attack(args: &AuditArgs, recipe: &Recipe) -> Result<(Attack, usize), Refusal> {
    let copies =
        args.copies.map_or(Ok(1), |copies| Whole(copies).count("copies").map(|k| k.get() as usize))?;
    let name = args.attack.as_deref().unwrap_or("white-box");
    if name == "white-box" {
        let flags = [("--score", args.score.is_some()), ("--worst-case-start", args.worst_case_start)];
        if let Some((flag, _)) = flags.iter().find(|(_, given)| *given) {
            return Err(Refusal::NoAnswer(format!(
                "{flag} is given with a white-box attack, expected it with an --attack on the last model"
            )));
        }
        let canaries = Whole(args.canaries.unwrap_or(CANARIES)).count("canaries")?.get() as usize;
        return Ok((Attack::WhiteBox { canaries, copies }, copies));
    }
    if args.canaries.is_some() {
        return Err(Refusal::NoAnswer(
            "--canaries is given with an attack on the last model, expected it with white-box".into(),
        ));
    }
    let scoring = match args.score.as_deref().unwrap_or("margin") {
        "margin" => Scoring::Margin { against_blank: false },
        "loss" => Scoring::Loss,
        "likelihood-ratio" => Scoring::LikelihoodRatio { shadows: SHADOWS },
        other => {
            let range = "margin, loss or likelihood-ratio";
            return Err(Refusal::out_of_range("score", meaning::clean(other), range));
        }
    };
    let start = if args.worst_case_start { Start::WorstCase } else { Start::AsPlanned };
    let canary = match Kind::ALL.into_iter().find(|kind| kind.name() == name) {
        Some(kind) => kind,
        None if name == "search" => best_canary(recipe, copies, scoring, start, args.seed)?,
        None => {
            let range = "white-box, member, blank, mislabelled, checkerboard, backdoor, clip-bkd or search";
            return Err(Refusal::out_of_range("attack", meaning::clean(name), range));
        }
    };
    Ok((Attack::FinalModel { canary, copies, scoring, start }, copies))
}
