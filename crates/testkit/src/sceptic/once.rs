//! One use in closed form: the hockey-stick divergence of Gaussians, Laplaces and their sampled versions.

use super::double_double::Dd;
use super::law::{Situation, Use};
use super::normal_tail::log_tail;
use super::truth::Truth;

/// log_tail errs by less than this beside 1 and beside itself.
const TAIL_ERROR: f64 = 2e-27;

/// δ(ε) of N(μ, 1) against N(0, 1), any real ε and μ > 0.
pub fn gaussian(mu: Dd, epsilon: Dd) -> Truth {
    if mu.hi == 0.0 {
        return shrunk(epsilon);
    }
    let a = epsilon / mu - mu.scaled(-1);
    difference(log_tail(a), epsilon + log_tail(a + mu), mu)
}

/// 1 − e^ε where that is positive: the two datasets look alike.
fn shrunk(epsilon: Dd) -> Truth {
    if epsilon.hi >= 0.0 { Truth::NOTHING } else { Truth::around((-epsilon.expm1()).ln(), 1e-29) }
}

/// e^a − e^b for two logarithms of tails, a > b.
fn difference(a: Dd, b: Dd, mu: Dd) -> Truth {
    let gap = b - a;
    let size = 1.0 + a.hi.abs() + b.hi.abs() + mu.hi * mu.hi;
    let error = TAIL_ERROR * size;
    if gap.hi > -4.0 * error {
        let high = a + Dd::new((4.0 * error - gap.hi).abs() + 8.0 * error).ln();
        return Truth { log_low: Dd::NEG_INFINITY, log_high: high };
    }
    let relative = 2.0 * error / (-gap.hi).min(1.0) + error;
    Truth::around(a + (-gap.expm1()).ln(), relative)
}

/// δ(ε) of one use, any real ε; none where outcomes are to be listed instead.
pub fn once(law: &Use, epsilon: Dd) -> Option<Truth> {
    match law {
        Use::Gaussian { mu } => Some(gaussian(*mu, epsilon)),
        Use::Laplace { shift } => Some(laplace(*shift, epsilon)),
        Use::SampledGaussian { rate, mu, situation: Situation::Replace } => {
            Some(replaced(*rate, *mu, epsilon))
        }
        Use::SampledGaussian { rate, mu, situation } => {
            Some(sampled(*rate, *situation, epsilon, |inner| gaussian(*mu, inner)))
        }
        Use::SampledLaplace { rate, shift, situation } => {
            Some(sampled(*rate, *situation, epsilon, |inner| laplace(*shift, inner)))
        }
        Use::Atoms(_) | Use::Lattice { .. } => None,
    }
}

/// δ(ε) of one Laplace mechanism, any real ε.
fn laplace(shift: Dd, epsilon: Dd) -> Truth {
    if epsilon >= shift {
        return Truth::NOTHING;
    }
    if epsilon <= -shift {
        return shrunk(epsilon);
    }
    Truth::around((-(epsilon - shift).scaled(-1).expm1()).ln(), 1e-29)
}

/// A symmetric pair on a Poisson batch, from its own profile.
///
/// With odds = 1 + (e^ε − 1)/q: q δ(log odds) for a removed record. With odds = 1 − (1 − e^{−ε})/q: e^ε q odds δ(−log odds)
/// for an added one.
fn sampled(rate: Dd, situation: Situation, epsilon: Dd, profile: impl Fn(Dd) -> Truth) -> Truth {
    let scaled = |truth: Truth, log: Dd| Truth {
        log_low: truth.log_low + log - Dd::new(1e-28),
        log_high: truth.log_high + log + Dd::new(1e-28),
    };
    match situation {
        Situation::Remove | Situation::Replace => {
            let growth = epsilon.expm1() / rate;
            if growth.hi <= -1.0 {
                return shrunk(epsilon); // below the least loss log(1 − q)
            }
            let inner = if epsilon.hi > 600.0 { epsilon - rate.ln() } else { growth.ln_1p() };
            scaled(profile(inner), rate.ln())
        }
        Situation::Add => {
            let left = rate + (-epsilon).expm1();
            if left.hi <= 0.0 {
                return Truth::NOTHING;
            }
            let log_odds = (left / rate).ln();
            // The difference errs by a unit of its parts; the profile is convex in e^ε, so its slope is at most 1.
            let truth = profile(-log_odds);
            let blur = 1e-30 * rate.hi / left.hi;
            let more = scaled(truth, epsilon + left.ln());
            Truth { log_low: more.log_low - Dd::new(blur), log_high: more.log_high + Dd::new(blur) }
        }
    }
}

/// One Poisson step in which the record is replaced by its opposite, in units of the noise:
/// q T(x − μ) − (e^ε − 1)(1 − q) T(x) − e^ε q T(x + μ), with T the normal tail and x where the loss is ε.
fn replaced(rate: Dd, mu: Dd, epsilon: Dd) -> Truth {
    if epsilon.hi < 0.0 {
        // The pair is its own mirror image: δ(ε) = 1 − e^ε + e^ε δ(−ε).
        return replaced(rate, mu, -epsilon).with_failure(epsilon);
    }
    let x = threshold(rate, mu, epsilon);
    let log_rate = rate.ln();
    let first = log_rate + log_tail(x - mu);
    let second = if epsilon.hi > 0.0 {
        let log_growth = if epsilon.hi > 300.0 { epsilon } else { epsilon.expm1().ln() };
        log_growth + (Dd::ONE - rate).ln() + log_tail(x)
    } else {
        Dd::NEG_INFINITY
    };
    let third = epsilon + log_rate + log_tail(x + mu);
    let value = -(third - first).expm1() - (second - first).exp();
    let size = 1.0 + first.hi.abs() + third.hi.abs() + epsilon.hi + mu.hi * mu.hi;
    Truth::of_value(value, 8.0 * TAIL_ERROR * size, first)
}

/// Where the loss of a replaced record is ε. What x lacks matters only to second order.
fn threshold(rate: Dd, mu: Dd, epsilon: Dd) -> Dd {
    let log_ratio = |w: Dd| {
        if w.hi > 600.0 { w + rate.ln() } else { (rate * w.expm1()).ln_1p() }
    };
    let half = (mu * mu).scaled(-1);
    let loss = |x: Dd| log_ratio(mu * x - half) - log_ratio(-mu * x - half) - epsilon;
    let (mut low, mut high) = (Dd::ZERO, Dd::ONE);
    while loss(high).hi < 0.0 && high.hi < 1e300 {
        low = high;
        high = high.scaled(1);
    }
    for _ in 0..110 {
        let middle = (low + high).scaled(-1);
        if loss(middle).hi < 0.0 {
            low = middle
        } else {
            high = middle
        }
        if (high - low).hi <= 1e-31 * high.hi {
            break;
        }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agrees(found: Truth, truth: f64) {
        assert!(found.width() < 1e-12, "{}", found.describe());
        let log = (found.log_low - Dd::new(truth).ln()).hi.abs();
        assert!(log < 4e-16, "{} {truth}", found.describe());
    }

    /// # mpmath 1.3, 60 digits: closed forms as in the doc comments above
    #[test]
    fn closed_forms_meet_mpmath() {
        let d = Dd::new;
        // sampled Gaussian, σ 20068.226490089794, rate 0.0005053503822160496, added or removed, at 0
        let (rate, mu) = (d(0.0005053503822160496), Dd::ONE / d(20068.226490089794));
        for situation in [Situation::Remove, Situation::Add] {
            agrees(
                once(&Use::SampledGaussian { rate, mu, situation }, d(0.0)).unwrap(),
                1.004_601_148_794_620_5e-8,
            );
        }
        // Gaussian, σ 216749.6152197478, 181542 times, at 0
        let mu = d(181_542.0).sqrt() / d(216749.6152197478);
        agrees(gaussian(mu, d(0.0)), 0.000_784_224_161_507_907_3);
        // replaced, σ 1.312316138242045: below the floats
        let (rate, mu) = (d(0.0027838681765687307), Dd::ONE / d(1.312316138242045));
        let tiny = Use::SampledGaussian { rate, mu, situation: Situation::Replace };
        assert!(once(&tiny, d(27.31562447223534)).unwrap().describe().starts_with("5.0918970316"));
    }
}
