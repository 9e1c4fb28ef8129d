//! `veracity audit --one-run [PLAN]`: one training, many canaries.

use super::{one_run_method, run_case};
use crate::{Outcome, args::AuditArgs, meaning};
use std::path::Path;
use veracity::{
    Epsilon, Refusal,
    auditing::{Case, Kind},
    plan::read_text,
    spec::Whole,
    training::Recipe,
};

/// Trains once and guesses.
pub fn run(args: &AuditArgs) -> Result<Outcome, Refusal> {
    let stated =
        [("--claim-delta", args.claim_delta.is_some()), ("--adjacency", args.declared.adjacency.is_some())];
    if let Some((flag, _)) = stated.iter().find(|(_, given)| *given) {
        return Err(Refusal::Invalid(format!("{flag} is given, expected none: a plan has its own")));
    }
    let recipe = match &args.plan {
        None => Recipe::audited_by_default()?,
        Some(path) => Recipe::parse(&read_text("plan", path)?, path.parent().unwrap_or(Path::new("")))?,
    };
    let canaries = args
        .canaries
        .map(|many| Whole(many).count("canaries").map(|many| many.get() as usize))
        .transpose()?;
    let claimed = args.claim_epsilon.map(Epsilon::new).transpose()?;
    let trials = Whole(args.trials.unwrap_or(1.0)).count("trials")?;
    let method = one_run_method(args)?;
    let case = Case::one_run(&recipe, kind(args)?, canaries, claimed, args.seed, trials)?;
    run_case(args, case, method)
}

fn kind(args: &AuditArgs) -> Result<Kind, Refusal> {
    let Some(name) = args.canary.as_deref().map(|name| name.to_string_lossy()) else {
        return Ok(Kind::Mislabelled);
    };
    Kind::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| {
        let expected = "member, mislabelled, blank, checkerboard or backdoor with --one-run";
        Refusal::out_of_range("canary", meaning::clean(&name), expected)
    })
}
