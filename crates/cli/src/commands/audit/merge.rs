//! `veracity audit merge`: the shares of an audit become the whole.

use super::judge;
use crate::{Outcome, args::MergeArgs};
use veracity::{
    Refusal,
    auditing::{Journal, Opening, journal},
};

/// Puts shares together and judges.
pub fn run(args: &MergeArgs) -> Result<Outcome, Refusal> {
    let (order, trials) = journal::merge(&args.folders)?;
    // The same merge again is the same whole; another audit there is refused.
    let mut journal = Journal::open(&args.out, &order, Opening::Resume)?;
    journal.take(trials)?;
    judge(journal, (args.json, &args.junit, &args.sarif))
}
