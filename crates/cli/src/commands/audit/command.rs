//! `veracity audit --command`: any program in any language.

use super::claim;
use crate::{args::AuditArgs, meaning::duration};
use std::path::Path;
use veracity::{Case, Count, Error, auditing::command, spec::Whole};

/// A command whose trials have their folders in `folder`.
pub fn case(args: &AuditArgs, line: &str, folder: &Path) -> Result<Case, Error> {
    let spec = command::Spec {
        line: line.to_owned(),
        data: args.data.clone().zip(args.canary.clone()),
        copies: args
            .canary_copies
            .map_or(Ok(1), |copies| Whole(copies).count("canary-copies").map(Count::get))?,
        timeout: duration("timeout", args.timeout.as_deref().unwrap_or("600s"))?,
        is_worker: args.worker,
        folder: folder.to_owned(),
    };
    let trials = super::trials(args, command::USUAL_TRIALS)?;
    command::case(spec, claim::of(args)?, trials, args.seed)
}

/// How often a failed trial is tried again.
pub fn retries(args: &AuditArgs) -> Result<u32, Error> {
    match args.retries {
        None => Ok(0),
        Some(n) if n.fract() == 0.0 && (0.0..=100.0).contains(&n) => Ok(n as u32),
        Some(n) => Err(Error::out_of_range("retries", n, "an integer, 0 ≤ retries ≤ 100")),
    }
}
