//! `veracity audit --scores`: trials that someone else has run.

use super::{command::claim, judge, max_failures, method, printing};
use crate::{Outcome, args::AuditArgs};
use std::path::Path;
use veracity::{
    Refusal,
    auditing::{ClaimNote, Journal, ORDER_SCHEMA, Opening, Order, VERSION, certificate, recorded},
};

/// Judges recorded scores.
pub fn run(args: &AuditArgs, file: &Path) -> Result<Outcome, Refusal> {
    let claim = claim(args)?;
    let recorded = recorded::read(file, args.seed)?;
    let order = Order {
        schema: ORDER_SCHEMA.to_owned(),
        subject: recorded.note,
        claim: ClaimNote::from(&claim),
        proved: None,
        method: method(args, "clopper-pearson", 1)?,
        significance: args.significance,
        trials: recorded.count,
        canaries: 1,
        seed: args.seed,
        max_failures: max_failures(args, recorded.count)?,
        version: VERSION.to_owned(),
    };
    let output = (args.json, &args.junit, &args.sarif);
    let Some(folder) = &args.out else {
        let (audited, _) = certificate::certify(&order, &recorded.trials)?;
        return printing::verdict(&audited, printing::Kept::Nothing, output);
    };
    let opening = if args.resume { Opening::Resume } else { Opening::Fresh };
    let mut journal = Journal::open(folder, &order, opening)?;
    journal.take(recorded.trials)?;
    judge(journal, output)
}
