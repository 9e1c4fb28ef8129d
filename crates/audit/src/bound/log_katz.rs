//! The logarithm of a ratio of rates by the law of large numbers: quick, customary, and not a proof.

use super::{Basis, LowerBound, at_least_zero};
use crate::Counts;
use veracity_core::numerics::normal;
use veracity_core::{Delta, Lower, Significance};

/// About the ε that the truth does not fall below, when all counts are large.
///
/// Each direction spends half the level. Where the published form has no δ, this one moves the rate by δ and takes the
/// variance of log(p̂ − δ) by the delta method.
///
/// # Promise    None for small counts: it then errs more often than stated, or shows less than it could.
/// # Reference  \[LuEtAl22\]; \[KatzEtAl78\]
/// # Assumes    Independent trials; the threshold is fixed or comes from other trials; large counts
pub fn bound(counts: Counts, delta: Delta, significance: Significance) -> LowerBound {
    let quantile = normal::quantile(significance.spend() / 2.0);
    let one_way = |counts| log_ratio(counts, delta.get(), quantile);
    let shown = one_way(counts).max(one_way(counts.mirrored()));
    let best = counts.perfect_attack();
    let ceiling = most(best, one_way, quantile).max(most(best.mirrored(), one_way, quantile)).max(shown);
    LowerBound {
        epsilon: Lower(at_least_zero(shown)),
        ceiling: at_least_zero(ceiling),
        basis: Basis::Approximate,
    }
}

/// The most that any number of false alarms shows. It is not none: the standard error of few alarms outweighs them, and
/// the two balance near z²/4.
fn most(perfect_attack: Counts, one_way: impl Fn(Counts) -> f64, quantile: f64) -> f64 {
    let last = (quantile * quantile) as u64 + 1;
    let shown = (0..=last.min(perfect_attack.true_negatives)).map(|alarms| {
        let true_negatives = perfect_attack.true_negatives - alarms;
        one_way(Counts { false_positives: alarms, true_negatives, ..perfect_attack })
    });
    shown.fold(f64::NEG_INFINITY, f64::max)
}

/// log((TPR − δ)/FPR) less so many standard errors; minus infinity where nothing can be said.
fn log_ratio(counts: Counts, delta: f64, quantile: f64) -> f64 {
    let (ins, outs) = (counts.ins() as f64, counts.outs() as f64);
    let (mut found, mut alarms) = (counts.true_positives as f64, counts.false_positives as f64);
    if found == 0.0 || outs == 0.0 {
        return f64::NEG_INFINITY;
    }
    // A rate of zero, or two rates of one, would have no standard error.
    if alarms == 0.0 {
        alarms = 0.5;
    }
    if found == ins && alarms == outs {
        (found, alarms) = (found - 0.5, alarms - 0.5);
    }
    let (tpr, fpr) = (found / ins, alarms / outs);
    let excess = tpr - delta;
    if !(excess > 0.0) {
        return f64::NEG_INFINITY;
    }
    let variance = tpr * (1.0 - tpr) / (ins * excess * excess) + (1.0 - fpr) / alarms;
    (excess / fpr).ln() + quantile * variance.sqrt()
}
