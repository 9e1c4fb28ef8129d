//! `veracity bound`: a lower bound on ε from counts, from one run or from scores, and the number of trials that it needs.

use crate::{
    Outcome,
    args::{
        BoundArgs, BoundCommand, BoundOneRunArgs, BoundPowerArgs, BoundQuestion, BoundScoresArgs,
        choice::{ThresholdWord, TruthWord},
    },
    text,
};
use serde_json::{Value, json};
use veracity::{
    Count, Delta, Epsilon, Error, Probability, Significance,
    auditing::certificate::Number,
    decimal::{down, grouped, nearest},
    lower_bounds::{
        self, Counts, Row,
        bound::{Basis, FromCounts, LowerBound, one_run::Guesses},
        power::{self, Plan, Trial, Truth},
        threshold::Choice,
    },
    spec::Whole,
    words::table::align,
};

/// Digits of a bound.
const DIGITS: usize = 6;

/// Runs one of the four.
pub fn run(args: &BoundArgs) -> Result<Outcome, Error> {
    match &args.command {
        None => from_counts(args),
        Some(BoundCommand::OneRun(args)) => from_one_run(args),
        Some(BoundCommand::Scores(args)) => from_scores(args),
        Some(BoundCommand::Power(args)) => plan(args),
    }
}

fn from_counts(args: &BoundArgs) -> Result<Outcome, Error> {
    let counts = Counts {
        true_positives: whole("tp", args.tp)?,
        false_negatives: whole("fn", args.fn_)?,
        false_positives: whole("fp", args.fp)?,
        true_negatives: whole("tn", args.tn)?,
    };
    if counts.ins() == 0 || counts.outs() == 0 {
        return Err(Error::invalid("each world needs at least one run: tp + fn ≥ 1 and fp + tn ≥ 1"));
    }
    let method = args.bound;
    let delta = Delta::new(args.question.delta)?;
    if method == FromCounts::Gdp {
        refuse_no_delta(delta)?;
    }
    let group = Whole(args.group_size).count("group size")?;
    let significance = Significance::new(args.question.significance)?;
    let shown = method.bound(counts, delta, group, significance)?;
    let evidence =
        format!("{} runs with the canary and {} without", grouped(counts.ins()), grouped(counts.outs()));
    printed(method.name(), shown, counts.trials(), &evidence, &args.question, |value| {
        value["group_size"] = json!(group.get());
        value["counts"] = json!({
            "true_positives": counts.true_positives,
            "false_negatives": counts.false_negatives,
            "false_positives": counts.false_positives,
            "true_negatives": counts.true_negatives,
        });
    })
}

fn from_one_run(args: &BoundOneRunArgs) -> Result<Outcome, Error> {
    let number = |name, value| whole(name, Some(value));
    let (canaries, made) = (number("canaries", args.canaries)?, number("guesses", args.guesses)?);
    let guesses = Guesses::new(canaries, made, number("correct", args.correct)?)?;
    let delta = Delta::new(args.question.delta)?;
    let significance = Significance::new(args.question.significance)?;
    if args.bound.is_gaussian() {
        refuse_no_delta(delta)?;
    }
    let shown = args.bound.bound(guesses, delta, significance);
    let evidence = format!("{} guesses on {} canaries", grouped(made), grouped(canaries));
    printed(args.bound.name(), shown, canaries, &evidence, &args.question, |value| {
        value["guesses"] = json!(guesses.guesses());
        value["correct"] = json!(guesses.correct());
    })
}

fn from_scores(args: &BoundScoresArgs) -> Result<Outcome, Error> {
    let delta = Delta::new(args.question.delta)?;
    let significance = Significance::new(args.question.significance)?;
    let level = significance.level();
    let folds = Whole(args.folds).count("folds")?;
    let scores = lower_bounds::read_scores(&args.file)?;
    let rows = lower_bounds::side_by_side(&scores, delta, args.threshold, folds, significance)?;
    let (ins, outs) = (scores.inside().len(), scores.outside().len());
    Outcome::done(match args.question.json {
        true => text::json(&json!({
            "schema": "veracity.bound-scores/2",
            "delta": delta.get(),
            "significance": level,
            "trials": scores.trials(),
            "in": ins,
            "out": outs,
            "bounds": rows.iter().map(row_json).collect::<Vec<_>>(),
        }))?,
        false => format!(
            "{}\nat δ = {}, from {} trials with the canary and {} without; each valid row alone has {}% confidence, so choose one row \
             before you look\n",
            align(
                ["bound", "threshold", "ε", "maximum", "basis"],
                &rows.iter().map(row_words).collect::<Vec<_>>()
            ),
            nearest(delta.get(), DIGITS),
            grouped(ins as u64),
            grouped(outs as u64),
            confidence(level),
        ),
    })
}

fn row_words(row: &Row) -> [String; 5] {
    [
        row.bound.to_owned(),
        row.threshold.to_owned(),
        format!("{} {}", sign(row.shown.basis), down(row.shown.epsilon.0.get(), DIGITS)),
        down(row.shown.ceiling.get(), 4),
        row.shown.basis.describe().to_owned(),
    ]
}

fn row_json(row: &Row) -> Value {
    json!({
        "bound": row.bound,
        "threshold": row.threshold,
        "epsilon_lower": Number(row.shown.epsilon.0.get()),
        "ceiling": Number(row.shown.ceiling.get()),
        "basis": row.shown.basis.name(),
    })
}

fn plan(args: &BoundPowerArgs) -> Result<Outcome, Error> {
    let delta = Delta::new(args.question.delta)?;
    let truth = Epsilon::new(args.true_epsilon)?;
    let truth = match args.mechanism {
        TruthWord::Gaussian => Truth::gaussian(truth, delta)?,
        TruthWord::Pure => Truth::Pure(truth),
    };
    let trial = Trial { claim: Epsilon::new(args.claim_epsilon)?, delta, choice: choice(args)? };
    let significance = Significance::new(args.question.significance)?;
    let plan = match args.trials {
        Some(trials) => power::plan(trial, truth, Whole(trials).count("trials")?, significance)?,
        None => power::needed(trial, truth, Probability::new(args.chance)?, significance)?,
    };
    Outcome::done(if args.question.json { plan_json(args, &plan)? } else { plan_words(args, &plan) })
}

fn choice(args: &BoundPowerArgs) -> Result<Choice, Error> {
    Ok(match args.choice {
        // Which score it is at does not matter to a plan.
        ThresholdWord::Fixed => Choice::Fixed(0.0),
        ThresholdWord::Split => Choice::Split,
        ThresholdWord::Folds => Choice::Folds(Whole(args.folds).count("folds")?),
        ThresholdWord::Union => Choice::Union,
    })
}

fn plan_words(args: &BoundPowerArgs, plan: &Plan) -> String {
    format!(
        "{} trials, half of them with the canary, refute ε ≤ {} with probability {}% if the true ε is {} ({})\n\
         largest possible lower bound: ε ≥ {}\n\
         at δ = {}, {}% confidence; clopper-pearson, threshold: {}\n",
        grouped(plan.trials.get()),
        args.claim_epsilon,
        down(100.0 * plan.chance.get(), 4),
        args.true_epsilon,
        args.mechanism.name(),
        down(plan.ceiling.get(), DIGITS),
        nearest(args.question.delta, DIGITS),
        confidence(args.question.significance),
        args.choice.name(),
    )
}

fn plan_json(args: &BoundPowerArgs, plan: &Plan) -> Result<String, Error> {
    text::json(&json!({
        "schema": "veracity.bound-power/2",
        "trials": plan.trials.get(),
        "chance": plan.chance.get(),
        "ceiling": Number(plan.ceiling.get()),
        "claim": { "epsilon": args.claim_epsilon, "delta": args.question.delta },
        "true_epsilon": args.true_epsilon,
        "mechanism": args.mechanism.name(),
        "choice": args.choice.name(),
        "significance": args.question.significance,
        "bound": "clopper-pearson",
        "basis": Basis::Proved.name(),
    }))
}

/// One bound, as text or as JSON with the fields of its evidence.
fn printed(
    name: &str,
    shown: LowerBound,
    trials: u64,
    evidence: &str,
    question: &BoundQuestion,
    more: impl Fn(&mut Value),
) -> Result<Outcome, Error> {
    if question.json {
        let mut value = json!({
            "schema": "veracity.bound/2",
            "bound": name,
            "epsilon_lower": Number(shown.epsilon.0.get()),
            "ceiling": Number(shown.ceiling.get()),
            "delta": question.delta,
            "significance": question.significance,
            "trials": trials,
            "basis": shown.basis.name(),
            // Of counts the first two, of one run the others.
            "group_size": null,
            "counts": null,
            "guesses": null,
            "correct": null,
        });
        more(&mut value);
        return Outcome::done(text::json(&value)?);
    }
    Outcome::done(format!(
        "ε {} {} at δ = {}   ({name}; {})\n\
         {}; largest possible lower bound from {evidence}: {}\n",
        sign(shown.basis),
        down(shown.epsilon.0.get(), DIGITS),
        nearest(question.delta, DIGITS),
        shown.basis.describe(),
        certainty(shown.basis, question.significance),
        down(shown.ceiling.get(), DIGITS),
    ))
}

/// Confidence in percent.
fn confidence(significance: f64) -> String {
    nearest(100.0 - 100.0 * significance, 15)
}

fn certainty(basis: Basis, significance: f64) -> String {
    match basis {
        Basis::Proved
        | Basis::IfGaussian
        | Basis::IfRetriesTellNothing
        | Basis::IfIndependent
        | Basis::IfIndependentGaussian => {
            format!("{}% confidence", confidence(significance))
        }
        Basis::Credible => {
            format!("posterior probability of a smaller ε: {}%", nearest(100.0 * significance, 15))
        }
        Basis::Approximate => format!("about {}% confidence", confidence(significance)),
    }
}

/// A theorem gives a bound; the others are approximations.
fn sign(basis: Basis) -> &'static str {
    match basis {
        Basis::Proved
        | Basis::IfGaussian
        | Basis::IfRetriesTellNothing
        | Basis::IfIndependent
        | Basis::IfIndependentGaussian => "≥",
        Basis::Credible | Basis::Approximate => "≈",
    }
}

fn refuse_no_delta(delta: Delta) -> Result<(), Error> {
    if delta.get() == 0.0 {
        return Err(Error::invalid(
            "delta is 0, but a Gaussian mechanism has no finite epsilon at delta 0; set --delta above 0",
        ));
    }
    Ok(())
}

/// An integer that may be zero.
fn whole(name: &'static str, value: Option<f64>) -> Result<u64, Error> {
    match value {
        Some(0.0) => Ok(0),
        Some(value) => Whole(value)
            .count(name)
            .map(Count::get)
            .map_err(|_| Error::out_of_range(name, value, "an integer from 0 to 10^15")),
        None => Err(Error::invalid(format!("--{name} is missing; set --tp, --fn, --fp and --tn"))),
    }
}
