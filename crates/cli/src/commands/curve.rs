//! `veracity curve`: pictures of what a mechanism leaks.

use crate::{Outcome, args::CurveArgs, meaning};
use veracity::Refusal;

/// Draws.
pub fn run(args: &CurveArgs) -> Result<Outcome, Refusal> {
    let _ = meaning::subject(&args.subject, &args.mechanism)?;
    Outcome::done(String::new())
}
