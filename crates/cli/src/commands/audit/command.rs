//! `veracity audit --command`: any program in any language.

use super::{jobs, method, order, run_in, trials_of};
use crate::{Outcome, args::AuditArgs, meaning::duration};
use std::path::PathBuf;
use veracity::{
    Adjacency, Count, Delta, Epsilon, Refusal, Upper,
    auditing::{Claim, MOST_TRIALS, command, interrupt, plan_trials},
    spec::Whole,
};

/// Trials that are run when nobody says how many.
const TRIALS: f64 = 1000.0;

/// Runs the trials of a command.
pub fn run(args: &AuditArgs, line: &str) -> Result<Outcome, Refusal> {
    interrupt::install_handlers();
    let folder = args.out.clone().unwrap_or_else(|| PathBuf::from("out-audit"));
    let spec = command::Spec {
        line: line.to_owned(),
        data: args.data.clone().zip(args.canary.clone()),
        copies: args
            .canary_copies
            .map_or(Ok(1), |copies| Whole(copies).count("canary-copies").map(Count::get))?,
        timeout: duration("timeout", args.timeout.as_deref().unwrap_or("600s"))?,
        retries: retries(args)?,
        folder: folder.clone(),
    };
    let trials = Whole(args.trials.unwrap_or(TRIALS)).count("trials")?;
    let (mut case, records) = command::case(spec, claim(args)?, trials, args.seed)?;
    let method = method(args, "clopper-pearson", records)?;
    if let Some(budget) = &args.budget {
        let budget = duration("budget", budget)?;
        let known = if args.resume { trials_of(&folder) } else { None };
        let planned = match known {
            Some(trials) => trials,
            None => plan_trials(case.subject.as_ref(), args.seed, budget, jobs(args)?, MOST_TRIALS - 1)?,
        };
        case.trials = Count::new(planned)?;
    }
    let order = order(args, &case, method)?;
    run_in(&folder, args, &case, &order)
}

/// The claim of the flags.
pub fn claim(args: &AuditArgs) -> Result<Claim, Refusal> {
    let Some(epsilon) = args.claim_epsilon else {
        return Err(Refusal::Invalid(
            "--claim-epsilon is missing, expected the ε that is claimed of the subject".into(),
        ));
    };
    if !epsilon.is_finite() {
        return Err(Refusal::out_of_range("claim-epsilon", epsilon, "a finite number ≥ 0"));
    }
    Ok(Claim {
        epsilon: Upper(Epsilon::new(epsilon)?),
        delta: Delta::new(args.claim_delta.unwrap_or(1e-5))?,
        adjacency: args.declared.adjacency.as_deref().map_or(Ok(Adjacency::AddRemove), str::parse)?,
    })
}

fn retries(args: &AuditArgs) -> Result<u32, Refusal> {
    match args.retries {
        None => Ok(2),
        Some(n) if n.fract() == 0.0 && (0.0..=100.0).contains(&n) => Ok(n as u32),
        Some(n) => Err(Refusal::out_of_range("retries", n, "a whole number, 0 ≤ retries ≤ 100")),
    }
}
