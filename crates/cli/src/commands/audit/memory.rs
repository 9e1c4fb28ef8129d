//! An audit whose trials are not kept: what is left is a report.

use super::{REPORT, jobs, printing, progress};
use crate::{Outcome, args::AuditArgs};
use std::{fs, path::Path};
use veracity::{
    Refusal,
    auditing::{self, Case, Failure, Observation, Progress, Terms, observe},
    report::html,
    saving::{refuse_foreign_file, replace},
};

/// Where the report goes.
const FOLDER: &str = "out-audit";
/// Trials of each thread between two looks at the clock.
const PORTION: usize = 50;

/// Runs all trials without keeping them; what is left is a report. With more failures than `max_failures` there is no verdict.
pub fn run(args: &AuditArgs, case: &Case, terms: Terms, max_failures: u64) -> Result<Outcome, Refusal> {
    let path = Path::new(FOLDER).join(REPORT);
    fs::create_dir_all(FOLDER).map_err(|error| {
        Refusal::Invalid(format!("{FOLDER} cannot be made here, expected --out DIR ({error})"))
    })?;
    refuse_foreign_file("report", &path, html::is_page)?;
    let trials: Vec<u64> = (0..terms.trials.get()).collect();
    let jobs = jobs(args)?;
    let mut seen: Vec<Observation> = Vec::new();
    progress::shown(args.progress, |watch| {
        let mut now = Progress { done: 0, of: terms.trials.get(), failed: 0 };
        for portion in trials.chunks(PORTION * jobs) {
            for outcome in observe(case.subject.as_ref(), terms.seed, portion, jobs) {
                now.done += 1;
                if let Some(failure) = outcome.failure {
                    now.failed += 1;
                    check_failure_limit(now, max_failures, &failure)?;
                }
                seen.extend(outcome.observations);
            }
            // Nobody need watch.
            let _ = watch.send(now);
        }
        Ok(())
    })?;
    let audited = auditing::examine(case.note.clone(), case.claim, case.proved, terms, &seen)?;
    let page = auditing::page(&audited, &seen, Vec::new())?;
    replace("report", &path, page.render().as_bytes(), html::is_page)?;
    printing::verdict(&audited, printing::Kept::Report(&path), (args.json, &args.junit, &args.sarif))
}

/// Refuses an audit of which too many trials failed, and names the last reason.
fn check_failure_limit(now: Progress, max_failures: u64, failure: &Failure) -> Result<(), Refusal> {
    if now.failed <= max_failures {
        return Ok(());
    }
    Err(Refusal::Invalid(format!(
        "{} trials failed, expected at most {max_failures} of {}: {failure}",
        now.failed, now.of
    )))
}
