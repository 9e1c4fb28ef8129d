//! The Edgeworth expansion of the total loss: the limit theorem with its skewness and kurtosis put back. An approximation
//! from either side, never a bound.

use super::law::{Cumulants, Seen, cumulants, law};
use crate::{Composition, Question, expand, single};
use veracity_core::numerics::{normal, root};
use veracity_core::{Delta, Epsilon, Finding, Refusal};

/// ε at `delta` by the second-order expansion.
///
/// # Promise    None: the truth may be larger
/// # Reference  \[WangGaoZhangShenSu22\] Section 3 (arXiv 2206.04236): δ = P(L > ε) − e^ε Q(L > ε), both tails expanded
/// # Numerics   About 1e-9; where the expansion is not monotone, one of its crossings
pub(crate) fn edgeworth_epsilon_at(question: &Question, delta: Delta) -> Result<Finding<Epsilon>, Refusal> {
    let totals = totals(question)?;
    let delta = delta.get();
    let within = |epsilon: f64| delta_of(&totals, epsilon) <= delta;
    if within(0.0) {
        return Ok(Finding::Approximation(Epsilon::ZERO));
    }
    let mut top = totals.iter().map(|total| total.seen[0] + total.seen[1].sqrt()).fold(1.0, f64::max);
    while !within(top) {
        top *= 1.5;
        if top > 1e6 && delta == 0.0 || top.is_infinite() {
            return Err(Refusal::NotCertified(
                "the edgeworth expansion has no finite epsilon at this delta; use a larger delta".into(),
            ));
        }
    }
    let epsilon = root::bisect(top, 0.0, 1e-12, within).holds;
    Ok(Finding::Approximation(Epsilon::new(epsilon)?))
}

/// δ at `epsilon` by the second-order expansion.
///
/// # Promise    None: the truth may be larger
/// # Reference  As [`edgeworth_epsilon_at`]
/// # Numerics   About 1e-12 of the expansion; clamped to [0, 1)
pub(crate) fn edgeworth_delta_at(question: &Question, epsilon: Epsilon) -> Result<Finding<Delta>, Refusal> {
    let delta = delta_of(&totals(question)?, epsilon.get());
    Ok(Finding::Approximation(single::below_one(delta)?))
}

/// Cumulants of the total loss under the law that is seen, and under the other.
struct Total {
    seen: Cumulants,
    other: Cumulants,
}

/// One total for each alternative and direction.
fn totals(question: &Question) -> Result<Vec<Total>, Refusal> {
    let mut all = Vec::new();
    for composition in expand::expand(&question.mechanism, question.adjacency)? {
        all.push(total(&composition, Seen::With, Seen::Without)?);
        all.push(total(&composition, Seen::Without, Seen::With)?);
    }
    Ok(all)
}

fn total(composition: &Composition, seen: Seen, other: Seen) -> Result<Total, Refusal> {
    let mut total = Total { seen: [0.0; 4], other: [0.0; 4] };
    for (part, count) in &composition.parts {
        let (one, two) = match part.gaussian_shift() {
            Some(mu) => ([0.5 * mu * mu, mu * mu, 0.0, 0.0], [-0.5 * mu * mu, mu * mu, 0.0, 0.0]),
            None => {
                let points = law(part, "method edgeworth")?;
                (cumulants(&points, seen, seen), cumulants(&points, seen, other))
            }
        };
        for i in 0..4 {
            total.seen[i] += count.as_f64() * one[i];
            total.other[i] += count.as_f64() * two[i];
        }
    }
    Ok(total)
}

/// The largest δ over alternatives and directions.
fn delta_of(totals: &[Total], epsilon: f64) -> f64 {
    let one = |total: &Total| {
        let lost = tail(&total.other, epsilon).max(0.0);
        // e^ε may overflow where the tail has vanished.
        let lost = if lost == 0.0 { 0.0 } else { (epsilon + lost.ln()).exp() };
        tail(&total.seen, epsilon) - lost
    };
    totals.iter().map(one).fold(0.0, f64::max).min(1.0)
}

/// The chance that a sum with these cumulants exceeds x, to second order.
///
/// # Reference  [Hall92] Equation (2.17), with probabilists' Hermite polynomials
fn tail(cumulants: &Cumulants, x: f64) -> f64 {
    let [mean, variance, third, fourth] = *cumulants;
    if variance <= 0.0 {
        return if mean > x { 1.0 } else { 0.0 };
    }
    let deviation = variance.sqrt();
    let z = (x - mean) / deviation;
    let skewness = third / (variance * deviation);
    let kurtosis = fourth / (variance * variance);
    let hermite2 = z * z - 1.0;
    let hermite3 = z * (z * z - 3.0);
    let hermite5 = z * (z.powi(4) - 10.0 * z * z + 15.0);
    let correction =
        skewness / 6.0 * hermite2 + kurtosis / 24.0 * hermite3 + skewness.powi(2) / 72.0 * hermite5;
    let density = normal::density(z);
    normal::cdf(-z) + if density == 0.0 { 0.0 } else { density * correction }
}
