//! The Rényi divergence of one use of each part at one order.

use super::{sampled, selection::Selection};
use crate::{
    Neighbours, Part,
    single::{self, OUTWARD},
};
use veracity_core::Refusal;
use veracity_core::numerics::logspace;

/// The divergence of one use at `order`, the larger of both directions.
///
/// # Promise    Never below the true divergence
/// # Reference  [Mironov17] Propositions 5 to 7 (randomized response, Laplace, Gaussian); [BunSteinke16] (zCDP);
/// [CanonneKamathSteinke20] Theorem 4 (discrete Gaussian); [CesarRogers21] Lemma 3.4 (bounded range);
/// [KairouzOhViswanath15] (randomized response is the worst pure mechanism)
/// # Assumes    order > 1
/// # Numerics   Rounded up; each formula states its slack
pub(crate) fn divergence(part: &Part, order: f64) -> Result<f64, Refusal> {
    let bound = match part {
        Part::Gaussian { mu } => 0.5 * order * mu * mu,
        Part::Zcdp { rho } => order * rho,
        Part::Rdp { curve } => curve.at(order),
        Part::Laplace { epsilon } => laplace(*epsilon, order),
        Part::Integer { noise, shift } => noise
            .divergence(*shift, order)
            .ok_or_else(|| Refusal::no_theorem(noise.kind(), "method rdp", "use method exact or pld"))?,
        Part::BoundedRange { epsilon } => 0.125 * order * epsilon * epsilon,
        Part::RandomizedResponse { buckets, noise, neighbours: Neighbours::Replaced } => {
            replaced_response(*buckets, *noise, order)
        }
        Part::RandomizedResponse { buckets, noise, neighbours: Neighbours::Present } => {
            blank_response(*buckets, 1.0 - noise, noise.ln(), order)
        }
        Part::Approximate { delta, .. } if *delta == 0.0 => f64::INFINITY,
        Part::Approximate { .. } => {
            return Err(Refusal::no_theorem(
                single::name(part),
                "method rdp",
                "use method exact or optimal, which accept a declared delta",
            ));
        }
        Part::PoissonSampled { rate, part, neighbours } => sampled::poisson(*rate, part, *neighbours, order)?,
        Part::FixedSizeSampled { rate, part } => sampled::fixed_size(*rate, part, order)?,
        Part::AtMost(part) => divergence(part, order)?,
        Part::BestOf { runs, run } => Selection::new(*runs, run)?.divergence(order)?,
        Part::Mixture { .. } | Part::Allocated { .. } | Part::Listed { .. } | Part::Either { .. } => {
            return Err(Refusal::no_theorem(single::name(part), "method rdp", "use method exact or pld"));
        }
    };
    Ok((bound * OUTWARD).min(pure(single::pure_part(part), order)))
}

/// The divergence of binary randomized response, the worst of all pure ε mechanisms:
/// (log cosh((α − ½) ε) − log cosh(ε/2)) / (α − 1).
///
/// # Promise    Never below the divergence of any ε-differentially private mechanism, and at most ε
/// # Reference  [Mironov17] Proposition 5 with [KairouzOhViswanath15] Theorem 2.5
/// # Numerics   With h = (α − 1) ε the ratio of cosines is 1 + 2 sinh²(h/2) + tanh(ε/2) sinh h: only positive terms,
/// so the relative error is a few ulp, and it is rounded up
pub(crate) fn pure(epsilon: f64, order: f64) -> f64 {
    if epsilon.is_infinite() {
        return epsilon;
    }
    let h = (order - 1.0) * epsilon;
    let log_moment = if h > 40.0 {
        h - (-epsilon).exp().ln_1p()
    } else {
        (2.0 * (0.5 * h).sinh().powi(2) + (0.5 * epsilon).tanh() * h.sinh()).ln_1p()
    };
    (log_moment / (order - 1.0) * OUTWARD).min(epsilon)
}

/// log(α/(2α−1) e^{(α−1)ε} + (α−1)/(2α−1) e^{−αε}) / (α − 1).
///
/// # Promise    Never below the true divergence
/// # Reference  [Mironov17] Proposition 6
/// # Numerics   Absolute slack of 16 ulp of the exponents; `divergence` takes the pure curve where that dominates
fn laplace(epsilon: f64, order: f64) -> f64 {
    let less_one = order - 1.0;
    let span = 2.0 * order - 1.0;
    let up = (order / span).ln() + less_one * epsilon;
    let down = (less_one / span).ln() - order * epsilon;
    let slack = 16.0 * f64::EPSILON * (1.0 + less_one * epsilon);
    (logspace::log_add(up, down) + slack) / less_one
}

/// log(e^x − 1) for x > 0.
pub(crate) fn log_exp_m1(x: f64) -> f64 {
    if x > 40.0 { x + (-(-x).exp()).ln_1p() } else { x.exp_m1().ln() }
}

/// Randomized response whose true bucket becomes another: two buckets swap their chances, the others keep theirs.
///
/// # Promise    Never below the true divergence
/// # Reference  A direct sum: 1 + (a + b) (R − 1), where R is the moment of binary response with the same ratio
/// # Numerics   Relative error a few ulp, rounded up by the caller
fn replaced_response(buckets: u32, noise: f64, order: f64) -> f64 {
    let (truthful, other) = single::randomized_response_odds(buckets, noise);
    let epsilon = (truthful / other).ln() * OUTWARD + 32.0 * f64::EPSILON;
    let log_binary = (order - 1.0) * pure(epsilon, order);
    let both = truthful + other;
    let log_moment = if log_binary < 40.0 {
        (both * log_binary.exp_m1()).ln_1p()
    } else {
        logspace::log_add((f64::from(buckets - 2) * other).ln(), both.ln() + log_binary)
            + 8.0 * f64::EPSILON * log_binary
    };
    log_moment / (order - 1.0) * OUTWARD
}

/// Randomized response that tells the truth with chance `truth`, against a blank that reports at random; `log_other` is
/// the logarithm of 1 − truth. The larger of both directions.
///
/// # Promise    Never below the true divergence
/// # Reference  A direct sum: with ratios e^u (once) and e^v (k − 1 times) to the uniform law, the moments are
/// (e^{su} + (k − 1) e^{sv})/k at s = α and s = 1 − α
/// # Numerics   Absolute slack of 16 ulp of the summands
pub(crate) fn blank_response(buckets: u32, truth: f64, log_other: f64, order: f64) -> f64 {
    let others = f64::from(buckets - 1);
    let log_true = (others * truth).ln_1p();
    let log_moment = |s: f64| {
        let (x, y) = (s * log_true, s * log_other);
        if x.abs().max(y.abs()) < 40.0 {
            let (one, rest) = (x.exp_m1(), others * y.exp_m1());
            let slack = 16.0 * f64::EPSILON * (one.abs() + rest.abs());
            ((one + rest + slack) / (others + 1.0)).max(0.0).ln_1p()
        } else {
            let slack = 16.0 * f64::EPSILON * (x.abs() + y.abs() + others.ln_1p());
            logspace::log_add(x, others.ln() + y) - others.ln_1p() + slack
        }
    };
    log_moment(order).max(log_moment(1.0 - order)) / (order - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::IntegerNoise;

    /// # mpmath 1.4, 40 digits: D=lambda P,Q,a: log(sum(p**a*q**(1-a) for p,q in zip(P,Q)))/(a-1), the larger of D(P,Q,a)
    /// # and D(Q,P,a), on the outcomes of each response; for discrete Laplace on range(-N,N) with P=tanh(1/(2*b))*
    /// # exp(-abs(x-s)/b), N=200*b+s+50; for Laplace log(a/(2*a-1)*exp((a-1)*e)+(a-1)/(2*a-1)*exp(-a*e))/(a-1)
    #[test]
    fn curves_lie_just_above_their_definitions() {
        let response = |buckets, noise, neighbours| Part::RandomizedResponse { buckets, noise, neighbours };
        let golden = [
            (Part::Laplace { epsilon: 1.0 }, 1.5, 0.5128835112945086),
            (Part::Laplace { epsilon: 0.5 }, 12.0, 0.44085651997589717),
            (
                Part::Integer { noise: IntegerNoise::Laplace { scale: 2.0 }, shift: 3 },
                2.5,
                1.224_638_403_029_056,
            ),
            (
                Part::Integer { noise: IntegerNoise::Laplace { scale: 10.0 }, shift: 1 },
                7.0,
                0.032768632293236885,
            ),
            (response(2, 0.5, Neighbours::Replaced), 3.0, 0.956_824_643_418_545_9),
            (response(5, 0.3, Neighbours::Replaced), 1.25, 1.9923552379805774),
            (response(5, 0.3, Neighbours::Present), 2.0, 1.085189268335969),
            (response(3, 0.9, Neighbours::Present), 50.0, 0.16362176905453655),
            (Part::Approximate { epsilon: 0.7, delta: 0.0 }, 4.0, 0.568_077_648_421_076_2),
        ];
        for (part, order, truth) in golden {
            let found = divergence(&part, order).unwrap();
            assert!(truth <= found && found <= truth * (1.0 + 1e-12), "{part:?} {order}: {found} {truth}");
        }
    }

    #[test]
    fn small_losses_keep_their_scale() {
        for epsilon in [1e-9, 1e-6, 1e-3] {
            for order in [1.001, 2.0, 100.0] {
                let found = divergence(&Part::Laplace { epsilon }, order).unwrap();
                let limit = 0.5 * order * epsilon * epsilon;
                assert!(found <= limit * (1.0 + 1e-9) && found >= 0.9 * limit, "{epsilon} {order}: {found}");
            }
        }
    }
}
