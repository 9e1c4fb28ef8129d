//! `veracity audit [PLAN]`: a training plan, or the embedded default, attacked white-box, through its final model, or with many canaries in
//! one run.

use super::training_plan;
use crate::{
    args::{AuditArgs, choice::ScoreWord},
    meaning,
};
use veracity::{
    Case, Epsilon, Error,
    auditing::{AttackRequest, CanaryKind, Scoring, Start, TrainingAudit},
    devices,
    spec::Whole,
};

/// A plan and an attack on it.
pub fn case(args: &AuditArgs) -> Result<Case, Error> {
    let plan = training_plan(args)?;
    let audit = TrainingAudit::of(plan)
        .attack(attack(args)?)
        .claimed(args.claim_epsilon.map(Epsilon::new).transpose()?)
        .seed(args.seed)
        .trials(args.trials.map(|trials| Whole(trials).count("trials")).transpose()?);
    let word = args.device.as_deref().unwrap_or("cpu");
    let device = devices::open(word)?;
    match word {
        "auto" => audit.preferred_device(device).case(),
        _ => audit.device(device).case(),
    }
}

fn attack(args: &AuditArgs) -> Result<AttackRequest, Error> {
    let whole = |name, number: Option<f64>| {
        number.map(|number| Whole(number).count(name).map(|count| count.get() as usize)).transpose()
    };
    let canaries = whole("canaries", args.canaries)?;
    if args.one_run {
        return Ok(AttackRequest::OneRun { canary: kind(args)?, canaries });
    }
    let copies = whole("copies", args.copies)?.unwrap_or(1);
    let name = args.attack.as_deref().unwrap_or("white-box");
    if name == "white-box" {
        let flags = [("--score", args.score.is_some()), ("--worst-case-start", args.worst_case_start)];
        if let Some((flag, _)) = flags.iter().find(|(_, given)| *given) {
            return Err(Error::invalid(format!(
                "{flag} cannot be used with a white-box attack; choose an --attack on the final model"
            )));
        }
        return Ok(AttackRequest::WhiteBox { canaries, copies });
    }
    if canaries.is_some() {
        return Err(Error::invalid(
            "--canaries needs --attack white-box; an attack on the final model has one canary",
        ));
    }
    let scoring = match args.score.unwrap_or(ScoreWord::Margin) {
        ScoreWord::Margin => Scoring::Margin { against_blank: false },
        ScoreWord::Loss => Scoring::Loss,
        ScoreWord::LikelihoodRatio => Scoring::LikelihoodRatio { shadows: Scoring::USUAL_SHADOWS },
    };
    let start = if args.worst_case_start { Start::WorstCase } else { Start::AsPlanned };
    // The only other word that the arguments let through asks for the best kind.
    let canary = CanaryKind::ALL.into_iter().find(|kind| kind.name() == name);
    Ok(AttackRequest::FinalModel { canary, copies, scoring, start })
}

/// The kind of the canaries of one run.
fn kind(args: &AuditArgs) -> Result<CanaryKind, Error> {
    let Some(name) = args.canary.as_deref().map(|name| name.to_string_lossy()) else {
        return Ok(CanaryKind::Mislabelled);
    };
    CanaryKind::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| {
        let expected = "member, mislabelled, blank, checkerboard or backdoor with --one-run";
        Error::out_of_range("canary", meaning::clean(&name), expected)
    })
}
