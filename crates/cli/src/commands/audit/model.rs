//! `veracity audit --model`: a model that somebody else trained with canaries of ours.

use super::{command::claim, judge, max_failures, one_run_method, printing};
use crate::{Outcome, args::AuditArgs};
use std::path::Path;
use veracity::{
    Refusal,
    auditing::{ClaimNote, Journal, ORDER_SCHEMA, Opening, Order, VERSION, certificate, trained_model},
};

/// Asks a model about its canaries.
pub fn run(args: &AuditArgs, model: &Path, canaries: &Path) -> Result<Outcome, Refusal> {
    let (claim, method) = (claim(args)?, one_run_method(args)?);
    let scored = trained_model::score(model, canaries)?;
    let order = Order {
        schema: ORDER_SCHEMA.to_owned(),
        subject: scored.note,
        claim: ClaimNote::from(&claim),
        proved: None,
        method,
        significance: args.significance,
        trials: 1,
        canaries: scored.count as u32,
        seed: args.seed,
        max_failures: max_failures(args, 1)?,
        version: VERSION.to_owned(),
    };
    order.check()?;
    let output = (args.json, &args.junit, &args.sarif);
    let Some(folder) = &args.out else {
        let (audited, _) = certificate::certify(&order, &scored.trials)?;
        return printing::verdict(&audited, printing::Kept::Nothing, output);
    };
    let opening = if args.resume { Opening::Resume } else { Opening::Fresh };
    let mut journal = Journal::open(folder, &order, opening)?;
    journal.take(scored.trials)?;
    judge(journal, output)
}
