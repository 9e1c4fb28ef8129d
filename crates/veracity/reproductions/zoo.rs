//! Detection of planted bugs as a table: the whole of docs/zoo.md.
//!
//! `cargo xtask reproduce zoo` runs it: every planted bug and every correct version by the same audits, which do not know what they face.

use veracity::{
    Count, Error,
    decimal::nearest,
    zoo::{AuditAttempt, Powers, Terms, Variant, exhibits, powers},
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
    let (bugs, twins) = (of(Variant::Buggy)?, of(Variant::Correct)?);
    let fell = |of: fn(&Powers) -> AuditAttempt| bugs.iter().filter(|bug| of(bug).is_refuted()).count();
    let fallen_twins = twins.iter().flat_map(Powers::audits).filter(|(_, tried)| tried.is_refuted()).count();
    let survivors: Vec<&str> = bugs
        .iter()
        .filter(|bug| bug.audits().iter().all(|(_, tried)| !tried.is_refuted()))
        .map(|bug| bug.name)
        .collect();
    println!(
        "# Detection of planted bugs\n\nThis page shows which planted privacy bugs the audits of Veracity detect, and after \
         how many trials. Each of the {} bugs is audited in the same four ways. The audits do not know which bug they \
         face:\n\n- *curve*: a betting test against the whole trade-off curve of the claimed mechanism. The number is the \
         training runs until refutation.\n- *epsilon*: the same test against one pair (ε, δ) of the claim.\n- *replay*: pairs \
         of neighboring datasets, until a sum moves farther than declared, or the control flow or the noise shows a fault.\n- \
         *trace*: recorded runs, until the noise differs from the declared noise.\n\nThe first two audits may use up to \
         {TRAININGS} training runs. Every audit errs with probability at most {SIGNIFICANCE}. *Noise left* is the noise of the \
         buggy program as a fraction of the claimed noise, if the bug reduces the noise. A bug that can be replayed is \
         attacked by replays of itself. For the other bugs, an attack that suits the bug computes the scores from the \
         published output, and only the audit is generic.\n\nFor example, the first row is a bug that leaves only 0.13 of the \
         claimed noise. The curve test refutes it after 38 training runs, the test of one pair after 393 and a trace after one \
         run. Ten replays do not find it, because the sums move as declared.\n\n**Result.** Refuted: {} by curve, {} by \
         epsilon, {} by replay, {} by trace. By none of the four: {}. The same audits of the correct versions (controls) \
         refute {fallen_twins} of {} verdicts.\n\n| bug | noise left | curve | epsilon | replay | trace \
         |\n|---|---|---|---|---|---|",
        bugs.len(),
        fell(|bug| bug.curve),
        fell(|bug| bug.epsilon),
        fell(|bug| bug.replay),
        fell(|bug| bug.trace),
        if survivors.is_empty() { "none".to_owned() } else { survivors.join(", ") },
        twins
            .iter()
            .flat_map(Powers::audits)
            .filter(|(_, tried)| !matches!(tried, AuditAttempt::Unfit { .. }))
            .count(),
    );
    for bug in &bugs {
        let left = bug.noise_left.map_or("–".to_owned(), |left| nearest(left, 2));
        let figures = bug.audits().map(|(_, tried)| figure(tried));
        println!("| {}: {} | {left} | {} |", bug.name, bug.what, figures.join(" | "));
    }
    println!(
        "\nA dash (–) means that the audit does not apply, because the noise goes through no call that can be replayed. Choose several audits, \
         because each finds bugs that others miss: for example, only replays and traces find `noise-reused`. `cargo xtask reproduce zoo` \
         writes this page with a fixed seed."
    );
    Ok(())
}

fn figure(tried: AuditAttempt) -> String {
    match tried {
        AuditAttempt::Refuted { after } => after.to_string(),
        AuditAttempt::Stood { tried } => format!("not in {tried}"),
        AuditAttempt::Unfit { .. } => "–".to_owned(),
    }
}
