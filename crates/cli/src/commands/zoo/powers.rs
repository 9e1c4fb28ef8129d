//! `veracity zoo --powers`: the same generic audits on every bug, and the number of trials that each one needs.

use crate::{
    Ending, Outcome,
    args::ZooArgs,
    console::Console,
    progress::{self, ProgressEvent, Step},
    text,
};
use serde_json::{Value, json};
use veracity::{
    Count, Error,
    decimal::{grouped, nearest},
    words::table::align,
    zoo::{AuditAttempt, Exhibit, Powers, Terms, Variant, powers},
};

/// The largest remaining noise at which the curve must refute a bug.
const TELLING: f64 = 0.8;

/// Runs all generic audits; exit code 1 if a bug that leaves little noise is not refuted, or a correct version is.
pub(super) fn run(
    chosen: &[Exhibit],
    breed: Variant,
    terms: Terms,
    args: &ZooArgs,
    console: Console,
) -> Result<Outcome, Error> {
    let (of, most) = (chosen.len() as u64, Count::new(args.trainings)?);
    let told = |(done, name): (u64, &str)| {
        let more = format!(", {name}");
        ProgressEvent::Step(Step {
            what: if args.honest { "control" } else { "bug" },
            done,
            of,
            speed: None,
            more,
        })
    };
    let found: Vec<Powers> = progress::shown(console, args.progress, told, |watch| {
        let all = (1..).zip(chosen).map(|(done, exhibit)| {
            let found = powers(exhibit, breed, terms, most);
            // A closed display is ignored.
            let _ = watch.send((done, exhibit.name));
            found
        });
        all.collect()
    })?;
    let stands = found.iter().all(|powers| match breed {
        Variant::Buggy => powers.noise_left.is_none_or(|left| left > TELLING) || powers.curve.is_refuted(),
        Variant::Correct => powers.audits().iter().all(|(_, tried)| !tried.is_refuted()),
    });
    let text = if args.json { text::json(&as_json(&found, args))? } else { words(&found, args) };
    Ok(Outcome { text, ending: Ending::of(stands) })
}

fn words(found: &[Powers], args: &ZooArgs) -> String {
    let refuted = found.iter().filter(|powers| powers.curve.is_refuted()).count();
    let kind = if args.honest { "correct versions" } else { "planted bugs" };
    let rows: Vec<[String; 7]> = found.iter().map(row).collect();
    let head = ["name", "noise left", "curve", "epsilon", "replay", "trace", "bug"];
    format!(
        "{refuted} of {} {kind} refuted by the curve within {} training runs   (error probability ≤ {} per audit)\n\n{}",
        found.len(),
        grouped(args.trainings),
        nearest(args.significance, 3),
        align(head, &rows)
    )
}

fn row(powers: &Powers) -> [String; 7] {
    let [curve, epsilon, replay, trace] = powers.audits().map(|(_, tried)| match tried {
        AuditAttempt::Refuted { after } => grouped(after),
        AuditAttempt::Stood { tried } => format!("not in {}", grouped(tried)),
        AuditAttempt::Unfit { .. } => "not applicable".to_owned(),
    });
    let left = powers.noise_left.map_or_else(|| "–".to_owned(), |left| nearest(left, 2));
    [powers.name.to_owned(), left, curve, epsilon, replay, trace, powers.what.to_owned()]
}

fn as_json(found: &[Powers], args: &ZooArgs) -> Value {
    let one = |powers: &Powers| {
        let audits = powers.audits().map(|(audit, tried)| match tried {
            AuditAttempt::Refuted { after } => {
                json!({"audit": audit, "verdict": "refuted", "after": after, "why": null})
            }
            AuditAttempt::Stood { tried } => {
                json!({"audit": audit, "verdict": "not-refuted", "after": tried, "why": null})
            }
            AuditAttempt::Unfit { why } => {
                json!({"audit": audit, "verdict": "unfit", "after": null, "why": why})
            }
        });
        json!({"name": powers.name, "what": powers.what, "noise_left": powers.noise_left, "audits": audits})
    };
    json!({
        "schema": "veracity.zoo-powers/1",
        "breed": if args.honest { "honest" } else { "planted" },
        "significance": args.significance,
        "seed": args.seed,
        "trainings": args.trainings,
        "bugs": found.iter().map(one).collect::<Vec<_>>(),
    })
}
