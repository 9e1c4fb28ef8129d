//! `veracity audit --model`: a model that somebody else trained with canaries of ours.

use super::claim;
use crate::args::AuditArgs;
use std::path::Path;
use veracity::{Case, Error};

/// A model and its canaries.
pub fn case(args: &AuditArgs, model: &Path) -> Result<Case, Error> {
    let Some(canaries) = &args.canaries_file else {
        return Err(Error::invalid("--canaries-file is missing, expected it with --model"));
    };
    Case::trained_model(model, canaries, claim::of(args)?, args.seed)
}
