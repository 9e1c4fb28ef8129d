//! The zoo as a table of powers: the whole of docs/zoo.md.
//!
//! `cargo xtask reproduce zoo` runs it: every planted bug and every honest twin by the same audits, which are not told what they face.

use veracity::{
    Count, Error,
    report::decimal::nearest,
    zoo::{Breed, Powers, Terms, Tried, exhibits, powers},
};

const TRAININGS: u64 = 10_000;
const SIGNIFICANCE: f64 = 1e-3;
const SEED: u64 = 1;

fn main() {
    if let Err(error) = page() {
        eprintln!("zoo: {error}");
        std::process::exit(2);
    }
}

fn page() -> Result<(), Error> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let terms = Terms { seed: SEED, significance: SIGNIFICANCE, threads };
    let most = Count::new(TRAININGS)?;
    let all = exhibits(SEED)?;
    let of =
        |breed| all.iter().map(|exhibit| powers(exhibit, breed, terms, most)).collect::<Result<Vec<_>, _>>();
    let (bugs, twins) = (of(Breed::Planted)?, of(Breed::Honest)?);
    let fell = |of: fn(&Powers) -> Tried| bugs.iter().filter(|bug| of(bug).is_refuted()).count();
    let fallen_twins = twins.iter().flat_map(Powers::audits).filter(|(_, tried)| tried.is_refuted()).count();
    let survivors: Vec<&str> = bugs
        .iter()
        .filter(|bug| bug.audits().iter().all(|(_, tried)| !tried.is_refuted()))
        .map(|bug| bug.name)
        .collect();
    println!(
        "# Planted bugs by generic audits\n\n\
         Written by `cargo xtask reproduce zoo`, seeded: {} planted bugs, each by the same four audits, none of which is told what it \
         faces. *curve*: bets against the whole curve of the claimed mechanism, in trainings; *epsilon*: the same against its (ε, δ) alone; \
         *replay*: pairs of datasets until a sum moves farther than declared, or control flow or noise gives itself away; *trace*: recorded \
         runs until the noise is not what is declared. At most {TRAININGS} trainings; chance of error ≤ {SIGNIFICANCE} for each audit of each \
         exhibit. *Noise left* is the part of the claimed noise that a bug leaves, where it is of that kind. What can be replayed is attacked \
         by replays of itself; of the rest, scores are what its attacker reads off what is published, and only the audit is generic.\n\n\
         Refuted: {} by curve, {} by epsilon, {} by replay, {} by trace. By none of the four: {}. Of the honest twins under the same audits, \
         {fallen_twins} of {} verdicts refute.\n\n\
         | bug | noise left | curve | epsilon | replay | trace |\n|---|---|---|---|---|---|",
        bugs.len(),
        fell(|bug| bug.curve),
        fell(|bug| bug.epsilon),
        fell(|bug| bug.replay),
        fell(|bug| bug.trace),
        if survivors.is_empty() { "none".to_owned() } else { survivors.join(", ") },
        twins
            .iter()
            .flat_map(Powers::audits)
            .filter(|(_, tried)| !matches!(tried, Tried::Unfit { .. }))
            .count(),
    );
    for bug in &bugs {
        let left = bug.noise_left.map_or("–".to_owned(), |left| nearest(left, 2));
        let figures = bug.audits().map(|(_, tried)| figure(tried));
        println!("| {}: {} | {left} | {} |", bug.name, bug.what, figures.join(" | "));
    }
    println!("\n– : cannot be applied, since the noise goes through no call that can be replayed.");
    Ok(())
}

fn figure(tried: Tried) -> String {
    match tried {
        Tried::Refuted { after } => after.to_string(),
        Tried::Stood { tried } => format!("not in {tried}"),
        Tried::Unfit { .. } => "–".to_owned(),
    }
}
