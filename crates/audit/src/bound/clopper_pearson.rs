//! The bound that assumes nothing: exact limits on the two error rates, then the region of rates that a claim allows.

use super::{Basis, LowerBound, at_least_zero};
use crate::Counts;
use veracity_core::numerics::{UNIT, binomial, root};
use veracity_core::{Count, Delta, Lower, Significance};

/// An ε that the truth does not fall below, from the counts at a threshold that these counts did not choose.
///
/// The two worlds differ by `group` records. An (ε, δ)-private mechanism then has, for every event and in both
/// directions, P ≤ e^{kε} P′ + δ (e^{kε} − 1)/(e^ε − 1); the bound is the least ε at which the limits allow that.
///
/// # Promise    Above the truth with chance at most the significance, whatever the mechanism.
/// # Reference  \[ClopperPearson34\]; \[KairouzOhViswanath15\] (the region of error rates); \[JagielskiUllmanOprea20\] (groups)
/// # Assumes    Independent trials; the threshold is fixed or comes from other trials
/// # Numerics   Rounded down
///
/// # Examples
///
/// ```
/// use veracity_audit::{Counts, bound::clopper_pearson};
/// use veracity_core::{Count, Delta, Significance};
/// use veracity_core::numerics::binomial;
///
/// let counts = Counts { true_positives: 480, false_negatives: 20, false_positives: 5, true_negatives: 495 };
/// let delta = Delta::new(0.0)?;
/// let shown = clopper_pearson::bound(counts, delta, Count::ONE, Significance::new(0.05)?);
/// // Half of the level for each rate: the least that was found over the most false alarms.
/// let (found, alarms) = (binomial::lower_limit(480, 500, 0.025), binomial::upper_limit(5, 500, 0.025));
/// assert!((shown.epsilon.0.get() - (found / alarms).ln()).abs() < 1e-9);
/// assert!(shown.ceiling > shown.epsilon.0);
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
pub fn bound(counts: Counts, delta: Delta, group: Count, significance: Significance) -> LowerBound {
    let level = significance.spend();
    let shown =
        |counts| at_least_zero(ErrorRates::limits(counts, level).epsilon(delta.get(), group.as_f64()));
    LowerBound {
        epsilon: Lower(shown(counts)),
        ceiling: shown(counts.perfect_attack()),
        basis: Basis::Proved,
    }
}

/// Upper limits on the false-positive and the false-negative rate that hold together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ErrorRates {
    pub(crate) false_positive: f64,
    pub(crate) false_negative: f64,
}

impl ErrorRates {
    /// Spends half the level on each error rate. Both directions of the bound read the same two limits, so they cost
    /// nothing more.
    pub(crate) fn limits(counts: Counts, level: f64) -> ErrorRates {
        ErrorRates {
            false_positive: binomial::upper_limit(counts.false_positives, counts.outs(), level / 2.0),
            false_negative: binomial::upper_limit(counts.false_negatives, counts.ins(), level / 2.0),
        }
    }

    /// The better of both directions; minus infinity or less than zero where nothing is shown.
    pub(crate) fn epsilon(&self, delta: f64, group: f64) -> f64 {
        one_way(self.false_positive, self.false_negative, delta, group)
            .max(one_way(self.false_negative, self.false_positive, delta, group))
    }
}

/// The ε with 1 − missed = e^{kε} mistaken + δ (e^{kε} − 1)/(e^ε − 1), rounded down.
fn one_way(mistaken: f64, missed: f64, delta: f64, group: f64) -> f64 {
    let seen = (1.0 - missed) * (1.0 - 2.0 * UNIT);
    if group == 1.0 || delta == 0.0 {
        let excess = seen - delta;
        let best = if excess > 0.0 { (excess / mistaken).ln() / group } else { f64::NEG_INFINITY };
        return best - 8.0 * UNIT * (1.0 + best.abs());
    }
    // The right side rises with ε, so every ε at which it is surely at most `seen` is shown.
    let allowed = |epsilon: f64| {
        let all = (group * epsilon).exp_m1();
        let slope = if epsilon == 0.0 { group } else { all / epsilon.exp_m1() };
        // exp errs by a few units and by those of its argument.
        let slack = 1.0 + UNIT * (32.0 + 8.0 * group * epsilon);
        ((all + 1.0) * mistaken + delta * slope) * slack <= seen
    };
    if !allowed(0.0) {
        return f64::NEG_INFINITY;
    }
    // There e^{kε} · mistaken passes one, and no probability does.
    let beyond = -mistaken.ln() / group + 1.0;
    root::bisect(0.0, beyond, 0.0, allowed).holds
}
