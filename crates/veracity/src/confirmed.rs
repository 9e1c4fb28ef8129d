//! A certificate that was checked again, in words. Claims have theirs in the room of claims.

use crate::{
    auditing::{bound::Basis, certificate::Recomputed},
    words::one_line,
};
use veracity_report::decimal::{down, nearest};

/// What a bound rests on that is no theorem about every mechanism, since such a one refutes nothing.
fn basis(recomputed: &Recomputed) -> String {
    let stated = &recomputed.certificate;
    if stated.basis == Basis::Proved.name() {
        return String::new();
    }
    let fell = stated.curve.as_ref().is_some_and(|curve| curve.fell.is_some());
    let falls = if fell { ", though the claimed curve falls by these trials" } else { "" };
    format!("rests on: {}, so that nothing is refuted{falls}\n", one_line(&stated.basis))
}

/// Whether a certificate holds, what it says, and what nobody can know.
pub fn certificate(recomputed: &Recomputed) -> String {
    let stated = &recomputed.certificate;
    match recomputed.failure() {
        Some(one) => {
            format!(
                "does not hold: {}, stated {}; found {}\n",
                one.what,
                one_line(&one.stated),
                one_line(&one.found)
            )
        }
        None => format!(
            "confirmed: {}, epsilon ≥ {} at delta {} shown, {} claimed   ({}; {})\n\
             recomputed from {} trials; {} statements checked\n{}{}",
            stated.verdict,
            down(stated.epsilon_lower.0, 9),
            nearest(stated.claim.delta, 17),
            nearest(stated.claim.epsilon, 17),
            stated.claim.adjacency,
            stated.method.bound,
            recomputed.trials,
            recomputed.statements.len(),
            basis(recomputed),
            unknown(recomputed),
        ),
    }
}

/// What was run again, and what nobody can know.
fn unknown(recomputed: &Recomputed) -> String {
    let again = match recomputed.rerun {
        0 => String::new(),
        ran => format!(
            "{ran} trials, drawn at random, run again: the same to the bit; of trials of which a tenth was invented they would have \
             told with chance {}\n",
            down(1.0 - 0.9_f64.powi(i32::try_from(ran).unwrap_or(i32::MAX)), 3)
        ),
    };
    let lines = recomputed.unknown.iter().map(|line| format!("not known: {}\n", one_line(line)));
    again + &lines.collect::<String>()
}
