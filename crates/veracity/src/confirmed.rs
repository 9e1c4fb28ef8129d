//! The result of verifying a certificate, as text. The crate of the accountant has the text for claims.

use crate::{
    auditing::{bound::Basis, certificate::Recomputation},
    words::one_line,
};
use veracity_core::decimal::{down, grouped, nearest};

/// The assumption of a lower bound that is not valid for every mechanism. Such a bound refutes nothing.
fn basis(recomputed: &Recomputation) -> String {
    let stated = &recomputed.certificate;
    if stated.basis == Basis::Proved.name() {
        return String::new();
    }
    let fell = stated.curve.as_ref().is_some_and(|curve| curve.fell.is_some());
    let violated = if fell { ", although these trials violate the claimed curve" } else { "" };
    format!("assumed: {}, so the claim is not refuted{violated}\n", one_line(&stated.basis))
}

/// Whether a certificate is valid, its content, and what a verification cannot know.
pub fn certificate(recomputed: &Recomputation) -> String {
    let stated = &recomputed.certificate;
    match recomputed.failure() {
        Some(one) => {
            format!(
                "invalid: {}, stated {}; found {}\n",
                one.what,
                one_line(&one.stated),
                one_line(&one.found)
            )
        }
        None => format!(
            "valid: {}, ε ≥ {} observed, ε ≤ {} claimed at δ = {}   ({}; {})\n\
             recomputed from {} trials; {} statements checked\n{}{}",
            stated.verdict,
            down(stated.epsilon_lower.0, 9),
            nearest(stated.claim.epsilon, 17),
            nearest(stated.claim.delta, 17),
            stated.claim.adjacency,
            stated.method.bound,
            grouped(recomputed.trials),
            recomputed.statements.len(),
            basis(recomputed),
            unknown(recomputed),
        ),
    }
}

/// The repeated trials, and what a verification cannot know.
fn unknown(recomputed: &Recomputation) -> String {
    let again = match recomputed.rerun {
        0 => String::new(),
        ran => format!(
            "re-ran {} randomly chosen trials: bit-identical. Had 10% of the trials been fabricated, this check would have found one \
             with probability {}\n",
            grouped(ran),
            down(1.0 - 0.9_f64.powi(i32::try_from(ran).unwrap_or(i32::MAX)), 3)
        ),
    };
    let lines = recomputed.unknown.iter().map(|line| format!("not known: {}\n", one_line(line)));
    again + &lines.collect::<String>()
}
