//! An audit whose trials are not kept: what is left is a report.

use super::{REPORT, jobs, printing, progress};
use crate::{Outcome, args::AuditArgs, text};
use std::{fs, path::Path};
use veracity::{
    Refusal,
    auditing::{self, Case, Observation, Progress, Terms, observe},
};

/// Where the report goes.
const FOLDER: &str = "out-audit";
/// Trials of each thread between two looks at the clock.
const PORTION: usize = 50;

/// Runs all trials without keeping them; what is left is a report.
pub fn run(args: &AuditArgs, case: &Case, terms: Terms) -> Result<Outcome, Refusal> {
    let path = Path::new(FOLDER).join(REPORT);
    fs::create_dir_all(FOLDER).map_err(|error| {
        Refusal::NoAnswer(format!("{FOLDER} cannot be made here, expected --out DIR ({error})"))
    })?;
    let trials: Vec<u64> = (0..terms.trials.get()).collect();
    let jobs = jobs(args)?;
    let mut seen: Vec<Observation> = Vec::new();
    progress::shown(args.progress, |watch| {
        let mut now = Progress { done: 0, of: terms.trials.get(), failed: 0 };
        for portion in trials.chunks(PORTION * jobs) {
            for outcome in observe(case.subject.as_ref(), terms.seed, portion, jobs) {
                now.done += 1;
                now.failed += u64::from(outcome.failure.is_some());
                seen.extend(outcome.observations);
            }
            // Nobody need watch.
            let _ = watch.send(now);
        }
        Ok(())
    })?;
    let audited = auditing::examine(case.note.clone(), case.claim, case.proved, terms, &seen)?;
    let page = auditing::page(&audited, &seen, Vec::new())?;
    text::write_file("report", &path, page.render().as_bytes())?;
    printing::verdict(&audited, printing::Kept::Report(&path), (args.json, &args.junit, &args.sarif))
}
