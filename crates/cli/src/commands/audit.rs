//! `veracity audit`: a training plan, or the embedded default, attacked from within.

use crate::{Outcome, args::AuditArgs, commands::replay, text};
use std::path::Path;
use veracity::{
    Count, Epsilon, Refusal, Verdict,
    auditing::{self, Attack, Audited, Case, Counted, Method, Terms},
    plan::read_text,
    report::decimal::{down, nearest, up},
    spec::Whole,
    training::Recipe,
};

/// Trainings that take about a minute on two cores.
const DEFAULT_TRIALS: f64 = 6000.0;

/// Attacks a claim; exit code 1 when it is refuted.
pub fn run(args: &AuditArgs) -> Result<Outcome, Refusal> {
    if args.replay.replay {
        return replay::run(&args.replay, args.plan.as_deref(), args.seed, args.json);
    }
    let (case, terms) = meaning(args)?;
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let (audited, _) = auditing::attack(&case, terms, threads)?;
    let stands = matches!(audited.verdict, Verdict::NotRefuted { .. });
    let text = if args.json { json(&audited)? } else { words(&audited) };
    Ok(Outcome { text, stands })
}

fn meaning(args: &AuditArgs) -> Result<(Case, Terms), Refusal> {
    let recipe = match &args.plan {
        None => Recipe::audited_by_default()?,
        Some(path) => {
            let text = read_text("plan", path)?;
            Recipe::parse(&text, path.parent().unwrap_or(Path::new("")))?
        }
    };
    let trials = Whole(args.trials.unwrap_or(DEFAULT_TRIALS)).count("trials")?;
    let canaries = Whole(args.canaries).count("canaries")?.get() as usize;
    let claimed = args.claim_epsilon.map(Epsilon::new).transpose()?;
    let case = Case::training(&recipe, Attack::WhiteBox { canaries, copies: 1 }, claimed, args.seed, trials)?;
    let method = match canaries {
        1 => Method::Threshold { choice: auditing::Choice::Split, group: Count::ONE },
        _ => Method::ManyCanaries { guessed: None },
    };
    Ok((case, Terms { method, trials, seed: args.seed, significance: args.significance }))
}

fn words(audited: &Audited) -> String {
    let claimed = up(audited.claim.epsilon.0.get(), 6);
    let delta = nearest(audited.claim.delta.get(), 6);
    let shown = down(audited.evidence.shown.epsilon.0.get(), 4);
    let chance = nearest(100.0 * audited.evidence.significance, 3);
    let first = match audited.verdict {
        Verdict::Refuted { .. } => {
            format!("REFUTED: observed epsilon ≥ {shown} > {claimed} claimed, chance of error ≤ {chance}%")
        }
        Verdict::NotRefuted { ceiling, .. } => format!(
            "NOT REFUTED: observed epsilon ≥ {shown}, claimed {claimed}; this audit could have shown up to {}",
            down(ceiling.get(), 4)
        ),
    };
    let proved = match audited.proved {
        Some(proved) => format!("proved   epsilon ≤ {} at delta {delta}\n", up(proved.0.get(), 9)),
        None => String::new(),
    };
    format!(
        "{first}\n\n\
         {proved}\
         claimed  epsilon ≤ {claimed} at delta {delta}   ({}, per example)\n\
         shown    epsilon ≥ {shown} at delta {delta}   (chance of error ≤ {chance}%; {})\n\n\
         subject  {}\n\
         attack   {}\n\
         counted  {}\n",
        audited.claim.adjacency.name(),
        audited.evidence.shown.basis.describe(),
        audited.note.description,
        audited.note.attack,
        counted(&audited.evidence.counted),
    )
}

fn counted(counted: &Counted) -> String {
    match counted {
        Counted::Threshold { counts, .. } => format!(
            "{} of {} canaries found, {} of {} false alarms",
            counts.true_positives,
            counts.ins(),
            counts.false_positives,
            counts.outs()
        ),
        Counted::Ends { guesses, .. } => format!(
            "{} canaries, {} guesses, {} of them right",
            guesses.canaries(),
            guesses.guesses(),
            guesses.correct()
        ),
    }
}

fn json(audited: &Audited) -> Result<String, Refusal> {
    let verdict = match audited.verdict {
        Verdict::Refuted { .. } => "refuted",
        Verdict::NotRefuted { .. } => "not-refuted",
    };
    let shown = &audited.evidence.shown;
    text::json(&serde_json::json!({
        "schema": "veracity.audit/1",
        "verdict": verdict,
        "epsilon_lower": shown.epsilon.0.get(),
        "epsilon": { "lower": shown.epsilon.0.get(), "upper": audited.proved.map(|proved| proved.0.get()) },
        "ceiling": shown.ceiling.get(),
        "basis": shown.basis.name(),
        "significance": audited.evidence.significance,
        "claim": {
            "epsilon": audited.claim.epsilon.0.get(),
            "delta": audited.claim.delta.get(),
            "adjacency": audited.claim.adjacency.name(),
        },
        "adjacency": audited.claim.adjacency.name(),
        "trials": audited.terms.trials.get(),
        "seed": audited.terms.seed,
    }))
}
