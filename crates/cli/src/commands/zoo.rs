//! `veracity zoo`: audits every planted bug, and prints the audit that detected it, with its trials and seconds.

mod powers;

use crate::{
    Ending, Outcome,
    args::ZooArgs,
    console::Console,
    meaning::clean,
    progress::{self, ProgressEvent, Step},
    text,
};
use serde_json::{Value, json};
use veracity::{
    Error, Significance,
    decimal::{down, grouped, nearest, up},
    words::table::align,
    zoo::{Exhibit, Terms, Variant, Visit, VisitOutcome, exhibits, visit},
};

/// Audits planted bugs, all of which should be refuted, or their correct versions, none of which should; exit code 1 otherwise.
pub fn run(args: &ZooArgs, console: Console) -> Result<Outcome, Error> {
    Significance::new(args.significance)?;
    let breed = if args.honest { Variant::Correct } else { Variant::Buggy };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let terms = Terms { seed: args.seed, significance: args.significance, threads };
    let chosen = chosen(exhibits(args.seed)?, &args.names)?;
    if args.powers {
        return powers::run(&chosen, breed, terms, args, console);
    }
    let of = chosen.len() as u64;
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
    let visits: Vec<Visit> = progress::shown(console, args.progress, told, |watch| {
        let all = (1..).zip(&chosen).map(|(done, exhibit)| {
            let found = visit(exhibit, breed, terms);
            // A closed display is ignored.
            let _ = watch.send((done, exhibit.name));
            found
        });
        all.collect()
    })?;
    let stands = visits.iter().all(|visit| visit.is_refuted() == (breed == Variant::Buggy));
    let text = if args.json { text::json(&as_json(&visits, args))? } else { words(&visits, args) };
    Ok(Outcome { text, ending: Ending::of(stands) })
}

/// Those that are named, in the order of the zoo; all of them when none is.
fn chosen(all: Vec<Exhibit>, names: &[String]) -> Result<Vec<Exhibit>, Error> {
    if let Some(unknown) = names.iter().find(|name| all.iter().all(|exhibit| exhibit.name != **name)) {
        let meant = veracity::nearest(unknown, all.iter().map(|exhibit| exhibit.name));
        let meant = meant.map_or(String::new(), |name| format!("; did you mean {name}?"));
        let shown = clean(unknown);
        return Err(Error::invalid(format!("unknown bug {shown}; `veracity zoo` lists all names{meant}")));
    }
    Ok(all
        .into_iter()
        .filter(|exhibit| names.is_empty() || names.iter().any(|name| name == exhibit.name))
        .collect())
}

fn words(visits: &[Visit], args: &ZooArgs) -> String {
    let refuted = visits.iter().filter(|visit| visit.is_refuted()).count();
    let seconds: f64 = visits.iter().map(|visit| visit.took.as_secs_f64()).sum();
    let kind = if args.honest { "correct versions" } else { "planted bugs" };
    let rows: Vec<[String; 7]> = visits.iter().map(row).collect();
    // The longest column is last, because a terminal may wrap it.
    let (audit, bug) = if args.honest { ("audit", "bug that is fixed") } else { ("detected by", "bug") };
    let head = ["name", audit, "lower bound", "claim", "trials", "seconds", bug];
    format!(
        "{refuted} of {} {kind} refuted in {} s   (error probability ≤ {} each)\n\n{}",
        visits.len(),
        nearest(seconds, 3),
        nearest(args.significance, 3),
        align(head, &rows)
    )
}

fn row(visit: &Visit) -> [String; 7] {
    let shown = match &visit.found {
        VisitOutcome::Bound(_) => {
            let shown = visit.shown().map_or_else(String::new, |shown| down(shown.0.get(), 3));
            if visit.is_refuted() { format!("≥ {shown}") } else { format!("≥ {shown}, not refuted") }
        }
        VisitOutcome::Fault(_) => "fault found".to_owned(),
        VisitOutcome::NoFault { used } => format!("no fault, {}% used", nearest(100.0 * used, 3)),
    };
    [
        visit.name.to_owned(),
        visit.audit.to_owned(),
        shown,
        up(visit.claim.epsilon.0.get(), 4),
        grouped(visit.trials),
        format!("{:.2}", visit.took.as_secs_f64()),
        visit.what.to_owned(),
    ]
}

fn as_json(visits: &[Visit], args: &ZooArgs) -> Value {
    let one = |visit: &Visit| {
        let fault = match &visit.found {
            VisitOutcome::Fault(fault) => Some(fault),
            VisitOutcome::Bound(_) | VisitOutcome::NoFault { .. } => None,
        };
        json!({
            "name": visit.name,
            "what": visit.what,
            "verdict": if visit.is_refuted() { "refuted" } else { "not-refuted" },
            "audit": visit.audit,
            "epsilon_lower": visit.shown().map(|shown| shown.0.get()),
            "fault": fault,
            "claim": {
                "epsilon": visit.claim.epsilon.0.get(),
                "delta": visit.claim.delta.get(),
                "adjacency": visit.claim.adjacency.name(),
            },
            "trials": visit.trials,
            "seconds": visit.took.as_secs_f64(),
        })
    };
    json!({
        "schema": "veracity.zoo/1",
        "breed": if args.honest { "honest" } else { "planted" },
        "significance": args.significance,
        "seed": args.seed,
        "bugs": visits.iter().map(one).collect::<Vec<_>>(),
    })
}
