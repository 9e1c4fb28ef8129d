//! The bound for Gaussian mechanisms: two error rates give a μ, and μ gives ε at any δ.
//!
//! It is much stronger than what assumes nothing, and it means nothing for a mechanism of another kind.

use super::{Basis, LowerBound, at_least_zero, clopper_pearson::ErrorRates, profile};
use crate::Counts;
use veracity_core::numerics::{UNIT, normal};
use veracity_core::{Delta, Epsilon, GdpMu, Lower, Significance};

/// An ε that the truth does not fall below if the two worlds are those of a Gaussian mechanism.
///
/// # Promise    Above the truth with chance at most the significance, if the mechanism's trade-off curve is Gaussian.
/// # Reference  \[NasrEtAl23\] (μ from two limits); \[BalleWang18\] (ε of a μ)
/// # Assumes    Independent trials; the threshold is fixed or comes from other trials
/// # Numerics   Rounded down. At δ = 0 any μ above zero means an infinite ε
///
/// # Examples
///
/// The same counts show more, if the mechanism may be taken for a Gaussian:
///
/// ```
/// use veracity_audit::{Counts, bound::{Basis, clopper_pearson, gdp}};
/// use veracity_core::{Count, Delta, Significance};
///
/// let counts = Counts { true_positives: 400, false_negatives: 100, false_positives: 80, true_negatives: 420 };
/// let delta = Delta::new(1e-5)?;
/// let gaussian = gdp::bound(counts, delta, Significance::new(0.05)?);
/// let proved = clopper_pearson::bound(counts, delta, Count::ONE, Significance::new(0.05)?);
/// assert!(gaussian.epsilon.0.get() > 3.0 * proved.epsilon.0.get());
/// assert!(gaussian.basis == Basis::IfGaussian && !gaussian.basis.may_refute());
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
pub fn bound(counts: Counts, delta: Delta, significance: Significance) -> LowerBound {
    let level = significance.spend();
    let shown = |counts| epsilon(mu_of(ErrorRates::limits(counts, level)), delta).0;
    LowerBound {
        epsilon: Lower(shown(counts)),
        ceiling: shown(counts.perfect_attack()),
        basis: Basis::IfGaussian,
    }
}

/// The μ behind [`bound`], for a caller who knows how it composes: μ of one step and the accountant give ε of a training.
///
/// # Promise    As [`bound`]
pub fn mu(counts: Counts, significance: Significance) -> Lower<GdpMu> {
    mu_of(ErrorRates::limits(counts, significance.spend()))
}

/// What a μ that was shown says of ε.
///
/// # Numerics  Rounded down
pub fn epsilon(mu: Lower<GdpMu>, delta: Delta) -> Lower<Epsilon> {
    Lower(at_least_zero(profile::epsilon_at_least(mu.0.get(), delta.get())))
}

/// μ = Φ⁻¹(1 − FPR) − Φ⁻¹(FNR) with both rates at their upper limits, or zero.
///
/// Never |μ|: where the limits add up to more than one they show nothing, and the larger the limits, the larger |μ|.
pub(crate) fn mu_of(rates: ErrorRates) -> Lower<GdpMu> {
    let (alarms, misses) = (rates.false_positive, rates.false_negative);
    if !(alarms + misses < 1.0) || alarms <= 0.0 || misses <= 0.0 {
        return Lower(zero());
    }
    let (first, second) = (normal::quantile(alarms), normal::quantile(misses));
    // A quantile errs by 1e-14 of its probability, over the density there, which is at least p·max(1, |z|)/2.
    let error = |z: f64| 4e-14 + 8.0 * UNIT * z.abs();
    let mu = -first - second - error(first) - error(second);
    Lower(GdpMu::new(mu).unwrap_or(zero()))
}

fn zero() -> GdpMu {
    GdpMu::new(0.0).expect("zero is a legal mu")
}
