//! The text output of ledger commands.

use std::path::Path;
use veracity::{
    decimal,
    ledger::{Ledger, LedgerVerification, NOT_THE_RULE, Share, Status, Terms},
    ledger_json::UNKNOWN,
    words::table::align,
};

/// Digits of numbers for people.
const DIGITS: usize = 4;

pub fn status_words(ledger: &Ledger, status: &Status) -> String {
    let terms = ledger.terms();
    let of = if terms.dataset.is_empty() { String::new() } else { format!(" of {}", terms.dataset) };
    let mut text = format!(
        "budget{of}: epsilon {} at delta {}   ({}, per {}; {})\n",
        decimal::nearest(terms.budget.epsilon.get(), 17),
        decimal::nearest(terms.budget.delta.get(), 17),
        terms.adjacency,
        match terms.unit.name() {
            Terms::ANY_UNIT => "unit of the first request",
            unit => unit,
        },
        terms.rule.name()
    );
    let sum = terms.rule.sum_name();
    text += &format!(
        "spent: {}% of the budget   {}\n",
        decimal::up(100.0 * status.spent.fraction, 3),
        pools(sum, &status.spent)
    );
    text += &format!("left: epsilon ≥ {}\n", decimal::down(status.remaining.epsilon, DIGITS));
    let open = status.reserved - status.answered - status.abandoned;
    text += &format!(
        "entries: {}, of which {} answered, {} abandoned, {open} open\n",
        status.reserved, status.answered, status.abandoned
    );
    if !status.analysts.is_empty() {
        let rows: Vec<[String; 4]> = status
            .analysts
            .iter()
            .map(|analyst| {
                [
                    analyst.name.clone(),
                    decimal::nearest(analyst.cap.epsilon.get(), 17),
                    format!("≤ {}", decimal::up(analyst.spent.epsilon, DIGITS)),
                    format!("≥ {}", decimal::down(analyst.remaining.epsilon, DIGITS)),
                ]
            })
            .collect();
        text += &format!("\n{}\n", align(["analyst", "cap", "spent", "left"], &rows));
    }
    text += &match (&status.composed.epsilon, &status.composed.reason) {
        (Some(epsilon), _) => {
            format!("composed exactly: epsilon ≤ {}   ({NOT_THE_RULE})\n", decimal::up(*epsilon, DIGITS))
        }
        (None, reason) => {
            format!("composed exactly: unknown, {}\n", reason.as_deref().unwrap_or("no reason was recorded"))
        }
    };
    text + &format!("head hash: {}\n", status.head)
}

/// The numbers that the rule adds up.
fn pools(sum: &str, share: &Share) -> String {
    let mut text =
        format!("({sum} {} of {}", decimal::up(share.sum, DIGITS), decimal::down(share.limit, DIGITS));
    if share.delta_limit > 0.0 {
        text += &format!(
            "; delta {} of {}",
            decimal::up(share.delta_pool, DIGITS),
            decimal::down(share.delta_limit, DIGITS)
        );
    }
    if share.pure_limit > 0.0 {
        let (pure, limit) = (decimal::up(share.pure, DIGITS), decimal::down(share.pure_limit, DIGITS));
        text += &match share.pure <= share.pure_limit {
            true => format!("; or the sum of epsilon {pure} of {limit}"),
            false => "; no longer by the sum of epsilon".to_owned(),
        };
    }
    if !share.slots.is_empty() {
        let used: Vec<String> = share.slots.iter().map(u64::to_string).collect();
        text += &format!("; slots {}", used.join(", "));
    }
    text + ")"
}

pub fn verified_words(path: &Path, verified: &LedgerVerification) -> String {
    let counts = format!(
        "{} records ({} charges, {} answers)",
        verified.records, verified.reserved, verified.answered
    );
    let mut text = match verified.holds() {
        true => format!("valid: {}: {counts}; hash chain, limits and charges are valid\n", path.display()),
        false => format!("invalid: {}: {counts}\n", path.display()),
    };
    for fault in &verified.faults {
        text += &match fault.record {
            Some(number) => format!("record {number}: {}\n", fault.what),
            None => format!("{}\n", fault.what),
        };
    }
    if let Some(number) = verified.noted_at {
        text += &format!("the head hash that you noted is that of record {number}\n");
    }
    if verified.noted_at.is_none() && verified.holds() {
        text += &format!("not checked: {}\n", UNKNOWN[0]);
    }
    text + &format!("head hash: {}\n", verified.head)
}
