//! White-box audits of our own training on the built-in digits: how much of what is proved does an attack show?
//!
//! `cargo xtask reproduce white-box` runs it. Each row is one audit: canaries that own one parameter each, in every step of
//! every training, scores added up over the steps. "Proved" assumes nothing of the mechanism; "if Gaussian" takes what canaries tell
//! for independent and Gaussian, which it is where all records are in every batch and only nearly is where batches are drawn.

use std::{path::Path, time::Instant};
use veracity::{
    AuditDone, AuditSettings, Count, Error, audit,
    auditing::{Attack, AuditClaim, Choice, Method, Terms, TrainingAudit, examine},
    training::TrainingPlan,
};

/// The built-in digits that are trained on.
const RECORDS: u64 = 1438;
const CANARIES: usize = 20;
const TRAININGS: u64 = 20_000;
const SIGNIFICANCE: f64 = 0.05;

fn main() {
    let asked = std::env::args().nth(1).map(|word| word.parse::<u64>());
    let result = match asked {
        None => table(TRAININGS),
        Some(Ok(trainings)) => table(trainings),
        Some(Err(_)) => Err(Error::invalid("trainings is no whole number")),
    };
    if let Err(refusal) = result {
        eprintln!("white_box: {refusal}");
        std::process::exit(2);
    }
}

fn table(trainings: u64) -> Result<(), Error> {
    println!(
        "| upper bound on ε | batches | steps | training runs | lower bound, no assumption | ratio | lower bound, if Gaussian | ratio | seconds |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for epsilon in [1.0, 4.0, 10.0] {
        for (batch, steps) in [(RECORDS, 20), (RECORDS / 2, 20)] {
            row(epsilon, batch, steps, trainings)?;
        }
    }
    Ok(())
}

fn row(epsilon: f64, batch: u64, steps: u64, trainings: u64) -> Result<(), Error> {
    let text = format!(
        "[data]\nformat = \"digits\"\n[[model.layer]]\nkind = \"linear\"\noutputs = 10\n\
         [training]\nbatch_size = {batch}\nsteps = {steps}\nlearning_rate = 1.0\n\
         [privacy]\nepsilon = {epsilon}\ndelta = 1e-5\n"
    );
    let plan = TrainingPlan::parse(&text, Path::new(""))?;
    let trials = Count::new(trainings)?;
    let how = Attack::WhiteBox { canaries: CANARIES, copies: 1 };
    let case = TrainingAudit::of(plan).attack(how).trials(trials).case()?;
    let start = Instant::now();
    let method = Some(Method::ManyCanaries { guessed: None });
    let settings = AuditSettings { method, significance: SIGNIFICANCE, ..AuditSettings::default() };
    let AuditDone::Judged { audited, trials, .. } = audit(&case, &settings)? else {
        return Err(Error::invalid("trials are missing"));
    };
    // With all records in every step a score is their number of steps, or nothing, and noise: the middle is known beforehand.
    let choice = if batch == RECORDS { Choice::Fixed(steps as f64 / 2.0) } else { Choice::Split };
    let claim = AuditClaim { point: audited.claim, mechanism: audited.mechanism.clone() };
    let gaussian = Terms { method: Method::Gaussian { choice }, ..audited.terms };
    let gaussian = examine(audited.note.clone(), &claim, audited.proved, gaussian, &trials.observations())?;
    let proved = audited.proved.map_or(f64::INFINITY, |proved| proved.0.get());
    let [any, bell] = [&*audited, &gaussian].map(|audited| audited.evidence.shown.epsilon.0.get());
    let batches = if batch == RECORDS { "all records".to_owned() } else { format!("{batch} of {RECORDS}") };
    println!(
        "| {proved:.3} | {batches} | {steps} | {trainings} | {any:.3} | {:.0}% | {bell:.3} | {:.0}% | {:.0} |",
        100.0 * any / proved,
        100.0 * bell / proved,
        start.elapsed().as_secs_f64()
    );
    Ok(())
}
