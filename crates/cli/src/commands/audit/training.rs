//! `veracity audit [PLAN]`: a training plan, or the embedded default, attacked from within.

use super::{jobs, method, order, printing, run_in};
use crate::{Outcome, args::AuditArgs, meaning::duration};
use std::path::Path;
use veracity::{
    Count, Epsilon, Refusal,
    auditing::{self, Attack, Case, MOST_TRIALS, Terms, plan_trials},
    plan::read_text,
    spec::Whole,
    training::Recipe,
};

/// Trainings that take about a minute on two cores.
const TRIALS: f64 = 6000.0;
/// Canaries that a training holds.
const CANARIES: f64 = 20.0;

/// Attacks a plan.
pub fn run(args: &AuditArgs) -> Result<Outcome, Refusal> {
    let mut case = case(args)?;
    let bound = if case.subject.canaries() == 1 { "clopper-pearson" } else { "one-run" };
    let method = method(args, bound, 1)?;
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
            let (audited, _) = auditing::attack(&case, terms, jobs(args)?)?;
            printing::verdict(&audited, None, (args.json, &args.junit, &args.sarif))
        }
    }
}

fn case(args: &AuditArgs) -> Result<Case, Refusal> {
    let stated =
        [("--claim-delta", args.claim_delta.is_some()), ("--adjacency", args.declared.adjacency.is_some())];
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
    let canaries = Whole(args.canaries.unwrap_or(CANARIES)).count("canaries")?.get() as usize;
    let claimed = args.claim_epsilon.map(Epsilon::new).transpose()?;
    Case::training(&recipe, Attack::WhiteBox { canaries, copies: 1 }, claimed, args.seed, trials)
}
