//! How many trials an audit takes against a whole claimed curve: recorded scores of Gaussian mechanisms with too little noise.
//!
//! `cargo xtask reproduce power` runs it. Each row is a claim of μ and a truth of more. Scores are drawn into files, and each file is
//! audited as `veracity audit --scores` would: the threshold is not known beforehand. *Counted* is the least number of trials a
//! world, on a ladder of tenths, at which four files of five are refuted by Clopper–Pearson at a threshold that half of the trials
//! choose; *bets* is half of the median number of trials after which bets on a running mechanism end. The figures beside them are of the
//! same test at the best threshold, known beforehand, by simulation.

use std::{fmt::Write as _, path::Path};
use veracity::{
    AuditDone, AuditSettings, Case, Count, Delta, Error, Mechanism, NoiseMultiplier, Subject, audit,
    auditing::{AuditClaim, Choice, IdealAttacker, Method, World, observe},
};

/// Claimed and true μ, and the trials a world at the best threshold.
const ROWS: [(f64, f64, u64); 6] =
    [(1.0, 2.0, 104), (1.0, 1.25, 1366), (1.0, 1.1, 8895), (0.5, 1.0, 335), (2.0, 4.0, 52), (2.0, 2.2, 2759)];
const SIGNIFICANCE: f64 = 0.01;
const FILES: u64 = 25;
/// The share of files that must be refuted.
const POWER: f64 = 0.8;
/// The bar: so many times the trials of the simulation.
const BAR: f64 = 2.5;

fn main() {
    match table() {
        Ok(true) => {}
        Ok(false) => std::process::exit(1),
        Err(refusal) => {
            eprintln!("power: {refusal}");
            std::process::exit(2);
        }
    }
}

fn table() -> Result<bool, Error> {
    let folder = std::env::temp_dir().join(format!("veracity-power-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(|error| Error::unreadable("scores", &folder, error))?;
    println!("| claimed μ | true μ | best threshold | split | ratio | betting test | ratio |");
    println!("|---|---|---|---|---|---|---|");
    let mut is_within = true;
    for (claimed, truth, simulated) in ROWS {
        let claim = AuditClaim::of_subject(
            &Subject::new(Mechanism::Gaussian { noise_multiplier: NoiseMultiplier::new(1.0 / claimed)? }),
            Delta::new(1e-5)?,
            None,
        )?;
        let counted = counted(&folder, &claim, truth, simulated)?;
        let bets = bets(&claim, truth, simulated)?;
        let ratio = |trials: u64| trials as f64 / simulated as f64;
        is_within &= ratio(counted) <= BAR && ratio(bets) <= BAR;
        println!(
            "| {claimed} | {truth} | {simulated} | {counted} | {:.2} | {bets} | {:.2} |",
            ratio(counted),
            ratio(bets)
        );
    }
    let _ = std::fs::remove_dir_all(folder);
    Ok(is_within)
}

/// The least number of trials a world at which enough files are refuted.
fn counted(folder: &Path, claim: &AuditClaim, truth: f64, simulated: u64) -> Result<u64, Error> {
    let method = Method::Threshold { choice: Choice::Split, group: Count::ONE };
    for tenth in 10..=40 {
        let each = simulated * tenth / 10;
        let mut refuted = 0;
        for file in 0..FILES {
            refuted += u64::from(audited(folder, claim, truth, each, file, method)?.is_some());
        }
        if refuted as f64 >= POWER * FILES as f64 {
            return Ok(each);
        }
    }
    Ok(simulated * 5)
}

/// Half of the median number of trials after which bets have refuted the claim of a mechanism that is run.
fn bets(claim: &AuditClaim, truth: f64, simulated: u64) -> Result<u64, Error> {
    let noise = NoiseMultiplier::new(1.0 / truth)?;
    let honest = IdealAttacker::honest(veracity::SamplingRate::new(1.0)?, noise, Count::ONE);
    let mut trials = Vec::new();
    for seed in 1000..1000 + FILES {
        let subject = IdealAttacker { seed, ..honest };
        let case = Case::of_code("a Gaussian", subject, claim.clone(), Count::new(8 * simulated)?, seed);
        let method = Some(case.sequential());
        let settings = AuditSettings { method, significance: SIGNIFICANCE, ..AuditSettings::default() };
        let AuditDone::Judged { audited, .. } = audit(&case, &settings)? else {
            return Err(Error::invalid("trials are missing"));
        };
        trials.push(if audited.is_refuted() { audited.terms.trials.get() } else { u64::MAX });
    }
    trials.sort_unstable();
    Ok(trials[trials.len() / 2].div_ceil(2))
}

/// Audits one file; if the claim falls, the trials of a world that it took.
fn audited(
    folder: &Path,
    claim: &AuditClaim,
    truth: f64,
    each: u64,
    file: u64,
    method: Method,
) -> Result<Option<u64>, Error> {
    let path = folder.join("scores.csv");
    std::fs::write(&path, scores(truth, each, file)?)
        .map_err(|error| Error::unreadable("scores", &path, error))?;
    let case = Case::scores(&path, claim.clone(), 1)?;
    let settings =
        AuditSettings { method: Some(method), significance: SIGNIFICANCE, ..AuditSettings::default() };
    let AuditDone::Judged { audited, .. } = audit(&case, &settings)? else {
        return Err(Error::invalid("trials are missing"));
    };
    Ok(audited.is_refuted().then_some(each))
}

/// As many scores of either world, sorted: the order of a file must not matter.
fn scores(truth: f64, each: u64, file: u64) -> Result<String, Error> {
    let noise = NoiseMultiplier::new(1.0 / truth)?;
    let subject = IdealAttacker {
        seed: file,
        ..IdealAttacker::honest(veracity::SamplingRate::new(1.0)?, noise, Count::ONE)
    };
    let (mut ins, mut outs) = (Vec::new(), Vec::new());
    let mut trial = 0;
    while (ins.len().min(outs.len()) as u64) < each {
        for outcome in observe(&subject, file, &(trial..trial + 4096).collect::<Vec<_>>(), 1) {
            for told in outcome.observations {
                let scores = if told.world == World::In { &mut ins } else { &mut outs };
                scores.extend(told.score);
            }
        }
        trial += 4096;
    }
    let mut text = String::from("world,score\n");
    for (world, scores) in [("in", ins), ("out", outs)] {
        let mut scores: Vec<f64> = scores.into_iter().take(each as usize).collect();
        scores.sort_by(f64::total_cmp);
        for score in scores {
            let _ = writeln!(text, "{world},{score:?}");
        }
    }
    Ok(text)
}
