//! `veracity audit --model`: a model from another trainer, trained with canaries.

use super::claim;
use crate::args::AuditArgs;
use std::path::Path;
use veracity::{Case, Error};

/// A model and its canaries.
pub fn case(args: &AuditArgs, model: &Path) -> Result<Case, Error> {
    let Some(canaries) = &args.canaries_file else {
        return Err(Error::invalid("--model needs --canaries-file"));
    };
    Case::trained_model(model, canaries, claim::of(args)?, args.seed)
}
