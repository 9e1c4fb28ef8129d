//! `veracity audit`: the embedded default, or the same attack on parameters of your own.

use crate::{Outcome, args::AuditArgs, text};
use veracity::{
    Count, Delta, Epsilon, NoiseMultiplier, Refusal, SamplingRate, Significance, Verdict,
    auditing::{self, Audit, Audited, Evidence, Target as AuditSubject},
    report::decimal::{down, nearest, up},
    spec::Whole,
};

/// The most runs that are kept in memory at once.
const MOST_TRIALS: u64 = 100_000_000;

/// Attacks a claim; exit code 1 when it is refuted.
pub fn run(args: &AuditArgs) -> Result<Outcome, Refusal> {
    let audited = auditing::run(meaning(args)?)?;
    let stands = matches!(audited.verdict, Verdict::NotRefuted { .. });
    let text = if args.json { json(&audited)? } else { words(&audited) };
    Ok(Outcome { text, stands })
}

fn meaning(args: &AuditArgs) -> Result<Audit, Refusal> {
    let default = AuditSubject::demonstration()?;
    let rate = args.sampling_rate.map_or(Ok(default.rate), SamplingRate::new)?;
    let noise = args.noise_multiplier.map_or(Ok(default.noise_multiplier), NoiseMultiplier::new)?;
    let steps = args.steps.map_or(Ok(default.steps), |n| Whole(n).count("steps"))?;
    let trials =
        args.trials.map_or(Count::new(AuditSubject::DEMONSTRATION_TRIALS), |n| Whole(n).count("trials"))?;
    if !(4..=MOST_TRIALS).contains(&trials.get()) {
        return Err(Refusal::out_of_range("trials", trials.get(), "4 ≤ trials ≤ 1e8"));
    }
    let subject = AuditSubject::honest(rate, noise, steps);
    let subject = match args.noise_added {
        Some(added) => subject.adding(NoiseMultiplier::new(added)?),
        None => subject,
    };
    Ok(Audit {
        subject,
        claimed: args.claim_epsilon.map(Epsilon::new).transpose()?,
        delta: Delta::new(args.claim_delta)?,
        trials,
        seed: args.seed,
        significance: Significance::new(args.significance)?,
    })
}

fn words(audited: &Audited) -> String {
    let claimed = up(audited.claim.epsilon.0.get(), 6);
    let delta = nearest(audited.claim.delta.get(), 6);
    let shown = down(audited.shown.0.get(), 4);
    let chance = nearest(100.0 * audited.significance, 3);
    let first = match audited.verdict {
        Verdict::Refuted { .. } => {
            format!("REFUTED: observed epsilon ≥ {shown} > {claimed} claimed, chance of error ≤ {chance}%")
        }
        Verdict::NotRefuted { ceiling, .. } => format!(
            "NOT REFUTED: observed epsilon ≥ {shown}, claimed {claimed}; this audit could have shown up to {}",
            down(ceiling.get(), 4)
        ),
    };
    let subject = &audited.subject;
    let counts = &audited.counts;
    let planted = if subject.noise_added == subject.noise_multiplier {
        String::new()
    } else {
        format!(" declared but {} added", subject.noise_added)
    };
    format!(
        "{first}\n\n\
         proved   epsilon ≤ {} at delta {delta}   (add-remove, per example; exact)\n\
         claimed  epsilon ≤ {claimed} at delta {delta}\n\
         shown    epsilon ≥ {shown} at delta {delta}   (chance of error ≤ {chance}%)\n\n\
         subject  dp-sgd, sampling rate {}, noise multiplier {}{planted}, {} steps\n\
         attack   white box, one canary that owns a coordinate of the gradient; the attacker sees every step\n\
         runs     {}, half to choose the threshold, half counted: {} of {} canaries found, {} of {} false alarms\n\
         seed     {} ({})\n",
        up(audited.proved.0.get(), 9),
        subject.rate,
        subject.noise_multiplier,
        subject.steps.get(),
        audited.trials.get(),
        counts.true_positives,
        counts.true_positives + counts.false_negatives,
        counts.false_positives,
        counts.false_positives + counts.true_negatives,
        audited.seed,
        Evidence::STANDING,
    )
}

fn json(audited: &Audited) -> Result<String, Refusal> {
    let verdict = match audited.verdict {
        Verdict::Refuted { .. } => "refuted",
        Verdict::NotRefuted { .. } => "not-refuted",
    };
    let subject = &audited.subject;
    let counts = &audited.counts;
    text::json(&serde_json::json!({
        "schema": "veracity.audit/1",
        "verdict": verdict,
        "epsilon_lower": audited.shown.0.get(),
        "epsilon": { "lower": audited.shown.0.get(), "upper": audited.proved.0.get() },
        "ceiling": audited.ceiling.get(),
        "significance": audited.significance,
        "claim": {
            "epsilon": audited.claim.epsilon.0.get(),
            "delta": audited.claim.delta.get(),
            "adjacency": audited.claim.adjacency.name(),
        },
        "adjacency": audited.claim.adjacency.name(),
        "trials": audited.trials.get(),
        "threshold": audited.threshold,
        "counts": {
            "true_positives": counts.true_positives,
            "false_negatives": counts.false_negatives,
            "false_positives": counts.false_positives,
            "true_negatives": counts.true_negatives,
        },
        "subject": {
            "kind": "dp-sgd",
            "sampling_rate": subject.rate.get(),
            "noise_multiplier": subject.noise_multiplier.get(),
            "noise_added": subject.noise_added.get(),
            "steps": subject.steps.get(),
        },
        "seed": audited.seed,
        "standing": Evidence::STANDING,
    }))
}
