//! A verdict as text, as JSON, and in the files that were asked for.

use super::ci::{self, CameTo, Told};
use crate::{Ending, Outcome, console::painted, text};
use std::path::{Path, PathBuf};
use veracity::{
    AuditDone, Case, Error, Verdict,
    auditing::{
        AuditProtocol, Audited, Keep, MethodNote, Trials,
        certificate::{self, Number},
        journal::REPORT,
    },
    report::decimal::up,
    saving::replace,
    words,
};

/// Whether JSON is wanted, and where JUnit and SARIF go.
#[derive(Clone, Copy)]
pub struct Output<'a> {
    /// One JSON object.
    pub is_json: bool,
    /// A test case for machines.
    pub junit: &'a Option<PathBuf>,
    /// A result for machines.
    pub sarif: &'a Option<PathBuf>,
    /// The file that the result is shown at [default: the report].
    pub about: Option<&'a Path>,
}

impl Output<'_> {
    /// Writes what an audit came to where machines look for it. What is there of an earlier audit would mislead.
    pub fn tell(&self, told: Told<'_>, kept: &Keep) -> Result<(), Error> {
        if let Some(path) = self.junit {
            replace("junit", path, ci::junit(told).as_bytes(), ci::is_junit)?;
        }
        if let Some(path) = self.sarif {
            let place = ci::place(self.about, kept);
            replace("sarif", path, ci::sarif(told, &place)?.as_bytes(), ci::is_sarif)?;
        }
        Ok(())
    }
}

/// Says that an audit was not begun, since so many trials cannot catch what they must.
pub fn too_little(case: &Case, planned: TooLittle, kept: &Keep, output: Output) -> Result<Outcome, Error> {
    let TooLittle { trials, require, needed } = planned;
    let line = format!(
        "NOT ABLE TO TELL: {trials} trials do not catch noise of {require} of the declared; about {needed} do"
    );
    output.tell(Told { note: &case.note, came_to: CameTo::CannotTell, line: &line }, kept)?;
    let text = match output.is_json {
        true => text::json(&serde_json::json!({
            "schema": "veracity.audit-plan/1",
            "verdict": "cannot-tell",
            "require": require,
            "trials": trials,
            "trials_needed": needed,
            "subject": case.note,
        }))?,
        false => painted(&format!("{line}\n")),
    };
    Ok(Outcome { text, ending: Ending::CannotTell })
}

/// A plan that cannot catch what it must.
#[derive(Debug, Clone, Copy)]
pub struct TooLittle {
    /// The trials that were planned.
    pub trials: u64,
    /// The part of the declared noise that must be caught.
    pub require: f64,
    /// About how many trials catch it.
    pub needed: u64,
}

/// Says how an audit ended, and writes it where machines look for it.
pub fn done(done: &AuditDone, kept: &Keep, output: Output) -> Result<Outcome, Error> {
    match done {
        AuditDone::Judged { audited, earlier_looks, .. } => verdict(audited, *earlier_looks, kept, output),
        AuditDone::Share { protocol, trials } => {
            let Keep::Everything(folder, _) = kept else {
                return Err(Error::invalid("--out is missing, expected a folder for the share"));
            };
            share(output.is_json, folder, protocol, trials)
        }
    }
}

fn verdict(audited: &Audited, earlier: u64, kept: &Keep, output: Output) -> Result<Outcome, Error> {
    let line = words::headline(audited);
    output.tell(Told { note: &audited.note, came_to: CameTo::from(&audited.verdict), line: &line }, kept)?;
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

/// Says what a share holds, which is no verdict.
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
            "{here} of {} trials in {}, {failed} failed; no verdict before the others are there\n\
             veracity audit merge DIR… --out DIR puts shares together\n",
            protocol.trials,
            folder.display()
        )
    })
}

/// Where the evidence is.
fn evidence(kept: &Keep) -> String {
    match kept {
        Keep::Everything(folder, _) => {
            let path = folder.join(certificate::FILE);
            format!(
                "evidence {0}; veracity verify {0} recomputes it\nreport   {1}\n",
                path.display(),
                folder.join(REPORT).display()
            )
        }
        Keep::Report(folder) => {
            format!("report   {}   (--out DIR keeps the trials too)\n", folder.join(REPORT).display())
        }
        Keep::Nothing => String::new(),
    }
}

/// What a second look costs.
fn peeking(audited: &Audited, earlier: u64) -> String {
    if earlier == 0 {
        return String::new();
    }
    let level = audited.evidence.significance;
    format!(
        "looks    before this one, {} of this subject and claim, by other flags or seeds: together they err with chance ≤ {}%\n",
        if earlier == 1 {
            "another audit was judged in this folder".to_owned()
        } else {
            format!("{earlier} other audits were judged in this folder")
        },
        up((100.0 * level * (earlier + 1) as f64).min(100.0), 4)
    )
}

fn json(audited: &Audited, earlier: u64, kept: &Keep) -> Result<String, Error> {
    let shown = &audited.evidence.shown;
    let method = MethodNote::of(audited.terms.method);
    let (certificate, report) = match kept {
        Keep::Everything(folder, _) => (Some(folder.join(certificate::FILE)), Some(folder.join(REPORT))),
        Keep::Report(folder) => (None, Some(folder.join(REPORT))),
        Keep::Nothing => (None, None),
    };
    let shown_path = |path: Option<PathBuf>| path.map(|path| path.display().to_string());
    text::json(&serde_json::json!({
        "schema": "veracity.audit/3",
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
        "counted": certificate::CountedNote::from(&audited.evidence.counted),
        "curve": audited.against.as_ref().map(certificate::CurveNote::from),
        "catches_noise_below": audited.caught.and_then(|caught| caught.noise_below),
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
