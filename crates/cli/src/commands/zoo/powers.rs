//! `veracity zoo --powers`: the same audits for every bug, and what each of them takes.

use crate::{
    Ending, Outcome,
    args::ZooArgs,
    console::Console,
    progress::{self, Step, Told},
    text,
};
use serde_json::{Value, json};
use veracity::{
    Count, Error,
    report::{decimal::nearest, table::align},
    zoo::{Breed, Exhibit, Powers, Terms, Tried, powers},
};

/// The most noise that a bug may leave for the curve to have to refute it.
const TELLING: f64 = 0.8;

/// Tries all generic audits; exit code 1 where a bug that leaves little noise stands, or a twin falls.
pub(super) fn run(
    chosen: &[Exhibit],
    breed: Breed,
    terms: Terms,
    args: &ZooArgs,
    console: Console,
) -> Result<Outcome, Error> {
    let (of, most) = (chosen.len() as u64, Count::new(args.trainings)?);
    let told = |(done, name): (u64, &str)| {
        let more = format!(", {name}");
        Told::Step(Step { what: if args.honest { "twin" } else { "bug" }, done, of, speed: None, more })
    };
    let found: Vec<Powers> = progress::shown(console, args.progress, told, |watch| {
        let all = (1..).zip(chosen).map(|(done, exhibit)| {
            let found = powers(exhibit, breed, terms, most);
            // Nobody need watch.
            let _ = watch.send((done, exhibit.name));
            found
        });
        all.collect()
    })?;
    let stands = found.iter().all(|powers| match breed {
        Breed::Planted => powers.noise_left.is_none_or(|left| left > TELLING) || powers.curve.is_refuted(),
        Breed::Honest => powers.audits().iter().all(|(_, tried)| !tried.is_refuted()),
    });
    let text = if args.json { text::json(&as_json(&found, args))? } else { words(&found, args) };
    Ok(Outcome { text, ending: Ending::of(stands) })
}

fn words(found: &[Powers], args: &ZooArgs) -> String {
    let refuted = found.iter().filter(|powers| powers.curve.is_refuted()).count();
    let kind = if args.honest { "honest twins" } else { "planted bugs" };
    let rows: Vec<[String; 7]> = found.iter().map(row).collect();
    let head = ["name", "noise left", "curve", "epsilon", "replay", "trace", "what"];
    format!(
        "{refuted} of {} {kind} fall to the curve within {} trainings   (chance of error ≤ {} for each audit of each)\n\n{}",
        found.len(),
        args.trainings,
        nearest(args.significance, 3),
        align(head, &rows)
    )
}

fn row(powers: &Powers) -> [String; 7] {
    let [curve, epsilon, replay, trace] = powers.audits().map(|(_, tried)| match tried {
        Tried::Refuted { after } => after.to_string(),
        Tried::Stood { tried } => format!("not in {tried}"),
        Tried::Unfit { .. } => "cannot be".to_owned(),
    });
    let left = powers.noise_left.map_or_else(|| "–".to_owned(), |left| nearest(left, 2));
    [powers.name.to_owned(), left, curve, epsilon, replay, trace, powers.what.to_owned()]
}

fn as_json(found: &[Powers], args: &ZooArgs) -> Value {
    let one = |powers: &Powers| {
        let audits = powers.audits().map(|(audit, tried)| match tried {
            Tried::Refuted { after } => {
                json!({"audit": audit, "verdict": "refuted", "after": after, "why": null})
            }
            Tried::Stood { tried } => {
                json!({"audit": audit, "verdict": "not-refuted", "after": tried, "why": null})
            }
            Tried::Unfit { why } => json!({"audit": audit, "verdict": "unfit", "after": null, "why": why}),
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
