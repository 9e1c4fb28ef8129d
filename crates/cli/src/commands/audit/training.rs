//! `veracity audit [PLAN]`: a training plan, or the embedded default, attacked from within or by its last model.

use super::{on_device, training_plan};
use crate::args::{AuditArgs, choice::ScoreWord};
use veracity::{
    Case, Count, Epsilon, Error, TrainingPlan,
    auditing::{Attack, CanaryKind, Method, Scoring, Start, best_canary, planned_canaries, planned_method},
    spec::Whole,
};

/// Trainings that take less than a minute on two cores, where the last model is attacked.
const TRIALS: f64 = 6000.0;
/// The same with many canaries in each: what more of them would show is next to nothing.
const WHITE_BOX_TRIALS: f64 = 4000.0;
/// Shadow models for likelihood ratios.
const SHADOWS: u64 = 64;

/// A plan and an attack on it.
pub fn case(args: &AuditArgs) -> Result<Case, Error> {
    let plan = training_plan(args)?;
    let attack = attack(args, &plan)?;
    let usual = match attack {
        Attack::WhiteBox { .. } => WHITE_BOX_TRIALS,
        Attack::FinalModel { .. } => TRIALS,
    };
    let trials = Whole(args.trials.unwrap_or(usual)).count("trials")?;
    let claimed = args.claim_epsilon.map(Epsilon::new).transpose()?;
    on_device(args, |device| Case::training_on(device, &plan, attack, claimed, args.seed, trials))
}

/// The usual method of a case of [`case`]: many canaries guess the part that shows most in the ideal game.
pub fn usual_method(args: &AuditArgs, case: &Case) -> Result<Method, Error> {
    let is_white_box = case.note.kind == "training" && case.note.access == "every step";
    match u64::from(case.canaries) {
        canaries @ 2.. if is_white_box => {
            planned_method(&training_plan(args)?, Count::new(canaries)?, case.trials, args.significance)
        }
        _ => Ok(case.usual_method()),
    }
}

fn attack(args: &AuditArgs, plan: &TrainingPlan) -> Result<Attack, Error> {
    let copies =
        args.copies.map_or(Ok(1), |copies| Whole(copies).count("copies").map(|k| k.get() as usize))?;
    let name = args.attack.as_deref().unwrap_or("white-box");
    if name == "white-box" {
        let flags = [("--score", args.score.is_some()), ("--worst-case-start", args.worst_case_start)];
        if let Some((flag, _)) = flags.iter().find(|(_, given)| *given) {
            return Err(Error::invalid(format!(
                "{flag} is given with a white-box attack, expected it with an --attack on the last model"
            )));
        }
        let canaries = args
            .canaries
            .map_or_else(|| planned_canaries(plan), |given| Ok(Whole(given).count("canaries")?))?;
        return Ok(Attack::WhiteBox { canaries: canaries.get() as usize, copies });
    }
    if args.canaries.is_some() {
        return Err(Error::invalid(
            "--canaries is given with an attack on the last model, expected it with white-box",
        ));
    }
    let scoring = match args.score.unwrap_or(ScoreWord::Margin) {
        ScoreWord::Margin => Scoring::Margin { against_blank: false },
        ScoreWord::Loss => Scoring::Loss,
        ScoreWord::LikelihoodRatio => Scoring::LikelihoodRatio { shadows: SHADOWS },
    };
    let start = if args.worst_case_start { Start::WorstCase } else { Start::AsPlanned };
    let canary = match CanaryKind::ALL.into_iter().find(|kind| kind.name() == name) {
        Some(kind) => kind,
        // The only other word that the arguments let through.
        None => best_canary(plan, copies, scoring, start, args.seed)?,
    };
    Ok(Attack::FinalModel { canary, copies, scoring, start })
}
