//! A verdict as text, as JSON, and as JUnit and SARIF files.

use super::ci::{self, AuditOutcome, AuditReport};
use crate::{Ending, Outcome, console::painted, text};
use std::path::{Path, PathBuf};
use veracity::{
    AuditDone, Case, Error, Verdict,
    auditing::{
        AuditProtocol, AuditResult, InsufficientPower, MethodNote, Retention, Trials,
        certificate::{self, Number},
        journal::REPORT,
    },
    decimal::{grouped, up},
    saving::replace,
    words,
};

/// Whether to print JSON, and where to write JUnit and SARIF files.
#[derive(Clone, Copy)]
pub struct Output<'a> {
    /// Print one JSON object.
    pub is_json: bool,
    /// The JUnit file.
    pub junit: &'a Option<PathBuf>,
    /// The SARIF file.
    pub sarif: &'a Option<PathBuf>,
    /// The file that the result is shown at [default: the report].
    pub about: Option<&'a Path>,
}

impl Output<'_> {
    /// Writes the JUnit and SARIF files, in place of those of an earlier audit, which would mislead.
    pub fn write_files(&self, report: AuditReport<'_>, kept: &Retention) -> Result<(), Error> {
        if let Some(path) = self.junit {
            replace("junit", path, ci::junit(report).as_bytes(), ci::is_junit)?;
        }
        if let Some(path) = self.sarif {
            let place = ci::place(self.about, kept);
            replace("sarif", path, ci::sarif(report, &place)?.as_bytes(), ci::is_sarif)?;
        }
        Ok(())
    }
}

/// An audit that did not start, because its trials cannot detect what they must.
pub fn too_little(
    case: &Case,
    planned: InsufficientPower,
    kept: &Retention,
    output: Output,
) -> Result<Outcome, Error> {
    let InsufficientPower { trials, require, needed } = planned;
    let line = format!(
        "INCONCLUSIVE: {} trials cannot detect noise at {require}× the declared level. Run about {} trials.",
        grouped(trials),
        grouped(needed)
    );
    output.write_files(
        AuditReport { note: case.note(), outcome: AuditOutcome::CannotTell, line: &line },
        kept,
    )?;
    let text = match output.is_json {
        true => text::json(&serde_json::json!({
            "schema": "veracity.audit-plan/1",
            "verdict": "inconclusive",
            "require": require,
            "trials": trials,
            "trials_needed": needed,
            "subject": case.note(),
        }))?,
        false => painted(&format!("{line}\n")),
    };
    Ok(Outcome { text, ending: Ending::CannotTell })
}

/// The result of an audit; also writes the JUnit and SARIF files.
pub fn done(done: &AuditDone, kept: &Retention, output: Output) -> Result<Outcome, Error> {
    match done {
        AuditDone::Judged { audited, earlier_looks, .. } => verdict(audited, *earlier_looks, kept, output),
        AuditDone::Share { protocol, trials } => {
            let Retention::Everything(folder, _) = kept else {
                return Err(Error::invalid("--out is missing, expected a folder for the shard"));
            };
            share(output.is_json, folder, protocol, trials)
        }
    }
}

fn verdict(audited: &AuditResult, earlier: u64, kept: &Retention, output: Output) -> Result<Outcome, Error> {
    let line = words::headline(audited);
    output.write_files(
        AuditReport { note: &audited.note, outcome: AuditOutcome::from(&audited.verdict), line: &line },
        kept,
    )?;
    let text = match output.is_json {
        true => json(audited, earlier, kept)?,
        false => painted(&(words::audit(audited) + &evidence(kept) + &peeking(audited, earlier))),
    };
    let ending = match audited.verdict {
        Verdict::Refuted { .. } => Ending::Falls,
        Verdict::NotRefuted { .. } => Ending::Stands,
        Verdict::CannotTell { .. } => Ending::CannotTell,
    };
    Ok(Outcome { text, ending })
}

/// The contents of a shard, which has no verdict.
fn share(is_json: bool, folder: &Path, protocol: &AuditProtocol, trials: &Trials) -> Result<Outcome, Error> {
    let canaries = protocol.canaries as usize;
    let (here, failed) = (trials.observations().len() / canaries, trials.failures());
    Outcome::done(if is_json {
        text::json(&serde_json::json!({
            "schema": "veracity.share/1",
            "out": folder.display().to_string(),
            "trials": here,
            "of": protocol.trials,
            "failures": failed,
        }))?
    } else {
        format!(
            "{} of {} trials in {}, {} failed. Run the other shards, then merge them for a verdict:\n\
             veracity audit merge DIR… --out DIR\n",
            grouped(here as u64),
            grouped(protocol.trials),
            folder.display(),
            grouped(failed)
        )
    })
}

/// The files that are kept.
fn evidence(kept: &Retention) -> String {
    match kept {
        Retention::Everything(folder, _) => {
            let path = folder.join(certificate::FILE);
            let certificate = format!("{0}   (recompute it with veracity verify {0})", path.display());
            words::row("certificate", &certificate)
                + &words::row("report", &folder.join(REPORT).display().to_string())
        }
        Retention::Report(folder) => {
            let report = format!("{}   (use --out DIR to keep the trials)", folder.join(REPORT).display());
            words::row("report", &report)
        }
        Retention::Nothing => String::new(),
    }
}

/// The error probability of several audits of one claim together.
fn peeking(audited: &AuditResult, earlier: u64) -> String {
    if earlier == 0 {
        return String::new();
    }
    let level = audited.evidence.significance;
    let plural = if earlier == 1 { "" } else { "s" };
    let looks = format!(
        "{earlier} earlier audit{plural} of this subject and claim in this folder, with other flags or seeds   (error probability of all \
         together ≤ {}%)",
        up((100.0 * level * (earlier + 1) as f64).min(100.0), 4)
    );
    words::row("looks", &looks)
}

fn json(audited: &AuditResult, earlier: u64, kept: &Retention) -> Result<String, Error> {
    let shown = &audited.evidence.shown;
    let method = MethodNote::of(audited.terms.method);
    let (certificate, report) = match kept {
        Retention::Everything(folder, _) => (Some(folder.join(certificate::FILE)), Some(folder.join(REPORT))),
        Retention::Report(folder) => (None, Some(folder.join(REPORT))),
        Retention::Nothing => (None, None),
    };
    let shown_path = |path: Option<PathBuf>| path.map(|path| path.display().to_string());
    text::json(&serde_json::json!({
        "schema": "veracity.audit/4",
        "verdict": audited.verdict.name(),
        "epsilon_lower": Number(shown.epsilon.0.get()),
        "epsilon": {
            "lower": Number(shown.epsilon.0.get()),
            "upper": audited.proved.map(|proved| Number(proved.0.get())),
        },
        "ceiling": Number(shown.ceiling.get()),
        "basis": shown.basis.name(),
        "significance": audited.evidence.significance,
        "claim": {
            "epsilon": audited.claim.epsilon.0.get(),
            "delta": audited.claim.delta.get(),
            "adjacency": audited.claim.adjacency.name(),
        },
        "adjacency": audited.claim.adjacency.name(),
        "method": method,
        "counted": certificate::CountNote::from(&audited.evidence.counted),
        "curve": audited.against.as_ref().map(certificate::CurveNote::from),
        "catches_noise_below": audited.power.and_then(|power| power.detects_noise_below),
        "trials": audited.terms.trials.get(),
        "failures": audited.failures,
        "failed": certificate::FailedNote::from(audited.failed),
        "retried": audited.was_retried,
        "earlier_looks": earlier,
        "seed": audited.terms.seed,
        "subject": audited.note,
        "certificate": shown_path(certificate),
        "report": shown_path(report),
    }))
}
