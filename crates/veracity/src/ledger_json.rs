//! A ledger as JSON, the same from every door: where it stands, what was asked of it, and whether it holds.

use crate::{
    filter::Amounts,
    ledger::{Entry, Ledger, LedgerVerification, NOT_THE_RULE, Share, Status},
    moment,
    spec::MechanismSpec,
};
use serde_json::{Value, json};

/// What no verification can know.
pub const UNKNOWN: [&str; 2] = [
    "whether records were removed from the end or an old copy of the file was restored; noting the head \
     hash elsewhere detects that",
    "whether noise was drawn as each mechanism states, once per reservation",
];

/// Where a ledger stands, as `veracity.ledger/2`.
pub fn status(ledger: &Ledger, status: &Status) -> Value {
    let terms = ledger.terms();
    let analysts: Vec<Value> = status
        .analysts
        .iter()
        .map(|analyst| {
            json!({
                "name": analyst.name,
                "cap": { "epsilon": analyst.cap.epsilon.get(), "delta": analyst.cap.delta.get() },
                "spent": share_json(&analyst.spent),
                "remaining": share_json(&analyst.remaining),
            })
        })
        .collect();
    json!({
        "schema": "veracity.ledger/2",
        "file": ledger.path().display().to_string(),
        "created": moment::written(ledger.created(), 0),
        "dataset": (!terms.dataset.is_empty()).then_some(&terms.dataset),
        "adjacency": terms.adjacency.name(),
        "unit": terms.unit.name(),
        "rule": terms.rule.name(),
        "budget": { "epsilon": terms.budget.epsilon.get(), "delta": terms.budget.delta.get() },
        "spent": share_json(&status.spent),
        "remaining": share_json(&status.remaining),
        "entries": status.reserved,
        "answered": status.answered,
        "abandoned": status.abandoned,
        "analysts": analysts,
        "composed": {
            "epsilon": status.composed.epsilon,
            "reason": status.composed.reason,
            "note": NOT_THE_RULE,
        },
        "head": status.head.to_string(),
    })
}

fn share_json(share: &Share) -> Value {
    json!({
        "epsilon": share.epsilon,
        "delta": share.delta,
        "sum": share.sum,
        "limit": share.limit,
        "delta_pool": share.delta_pool,
        "delta_limit": share.delta_limit,
        "slots": share.slots,
        "pure": (share.pure_limit > 0.0 && share.pure.is_finite()).then_some(share.pure),
        "pure_limit": (share.pure_limit > 0.0).then_some(share.pure_limit),
        "fraction": share.fraction,
    })
}

/// An entry, as `veracity.ledger-history/1` has it.
pub fn entry(entry: &Entry) -> Value {
    let charge = &entry.charge;
    json!({
        "number": entry.number,
        "moment": moment::written(entry.moment, 0),
        "request": charge.id.as_ref().map(|id| id.name()),
        "analyst": charge.analyst,
        "what": charge.what,
        "state": entry.state,
        "adjacency": charge.question.adjacency.name(),
        "mechanism": MechanismSpec::from(&charge.question.mechanism),
        "charged_as": charge.charged.as_ref().map(MechanismSpec::from),
        "cost": amounts_json(&charge.cost),
        "spent": amounts_json(&entry.spent),
    })
}

fn amounts_json(amounts: &Amounts) -> Value {
    json!({ "sum": amounts.sum, "delta": amounts.delta, "slots": amounts.slots })
}

/// Whether a ledger holds, as `veracity.ledger-verify/1`.
pub fn verified(verified: &LedgerVerification) -> Value {
    let faults: Vec<Value> =
        verified.faults.iter().map(|fault| json!({ "record": fault.record, "what": fault.what })).collect();
    let known = usize::from(verified.noted_at.is_some());
    json!({
        "schema": "veracity.ledger-verify/1",
        "verdict": if verified.holds() { "confirmed" } else { "does-not-hold" },
        "records": verified.records,
        "reserved": verified.reserved,
        "answered": verified.answered,
        "head": verified.head.to_string(),
        "noted_at": verified.noted_at,
        "faults": faults,
        "unknown": UNKNOWN[known..],
    })
}
