//! `veracity audit [PLAN]`: a training plan, or the embedded default, attacked from within or by its last model.

use super::{method, run_case};
use crate::{Outcome, args::AuditArgs, meaning};
use std::path::Path;
use veracity::{
    Epsilon, Refusal,
    auditing::{Attack, Case, Kind, Scoring, Start, best_canary},
    plan::read_text,
    spec::Whole,
    training::Recipe,
};

/// Trainings that take less than a minute on two cores.
const TRIALS: f64 = 6000.0;
/// Canaries that a training holds.
const CANARIES: f64 = 20.0;
/// Shadow models for likelihood ratios.
const SHADOWS: u64 = 64;

/// Attacks a plan.
pub fn run(args: &AuditArgs) -> Result<Outcome, Refusal> {
    let (case, copies) = case(args)?;
    let bound = if case.subject.canaries() == 1 { "clopper-pearson" } else { "one-run" };
    let method = method(args, bound, copies as u64)?;
    run_case(args, case, method)
}

/// The case, and how many records its canary is.
fn case(args: &AuditArgs) -> Result<(Case, usize), Refusal> {
    let stated =
        [("--claim-delta", args.claim_delta.is_some()), ("--adjacency", args.declared.adjacency.is_some())];
    if let Some((flag, _)) = stated.iter().find(|(_, given)| *given) {
        return Err(Refusal::Invalid(format!(
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
            return Err(Refusal::Invalid(format!(
                "{flag} is given with a white-box attack, expected it with an --attack on the last model"
            )));
        }
        let canaries = Whole(args.canaries.unwrap_or(CANARIES)).count("canaries")?.get() as usize;
        return Ok((Attack::WhiteBox { canaries, copies }, copies));
    }
    if args.canaries.is_some() {
        return Err(Refusal::Invalid(
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
