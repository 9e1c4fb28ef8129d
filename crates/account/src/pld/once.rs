//! A single use needs no grid: its hockey-stick divergence is a difference of tails.

use super::compose::Side;
use super::discretize::ends;
use super::tails::{FAINTEST, Law};
use veracity_core::numerics::{UNIT, root};

/// δ(ε) = P[L > ε] − e^ε Q[L > ε] + P[L = ∞].
///
/// # Promise    On `side` of the true value
/// # Reference  [BalleWang18] Theorem 5: δ(ε) = E_P (1 − e^{ε−L})₊ for every pair
/// # Numerics   The error of both tails and of the place where they are taken is pushed to `side`
pub(super) fn delta_at(law: &Law, epsilon: f64, side: Side) -> f64 {
    let sign = match side {
        Side::Upper => 1.0,
        Side::Lower => -1.0,
    };
    let law = law.on(side);
    let units = law.smooth.as_ref().map_or(32.0, |smooth| smooth.displacement());
    let epsilon = epsilon - sign * (units * UNIT * (epsilon.abs() + reach(law)) + law.displacement);
    let mut delta = law.infinite + if side == Side::Upper { law.unlisted } else { 0.0 };
    for atom in law.atoms.iter().filter(|atom| atom.loss > epsilon) {
        delta += atom.mass * -(epsilon - atom.loss).exp_m1();
    }
    // Every term so far is positive, with a few roundings each.
    delta *= 1.0 + sign * (law.atom_error + (law.atoms.len() as f64 + 8.0) * UNIT);
    if let Some(smooth) = &law.smooth {
        let (tail, ratio) = (smooth.above(epsilon), epsilon.exp());
        let known = ratio.is_finite() && tail.q >= FAINTEST;
        // Beyond the range of floats the second term is at least 0, and may make up all of the first.
        let second = match (known, side) {
            (true, _) => ratio * tail.q,
            (false, Side::Upper) => 0.0,
            (false, Side::Lower) => tail.p,
        };
        delta += (tail.p - second + sign * 2.0 * law.tail_error * (tail.p + second)).max(0.0);
    }
    delta.clamp(0.0, 1.0)
}

/// The ε of a single use, on `side`; infinite when no ε has so small a δ.
pub(super) fn epsilon_at(law: &Law, delta: f64, side: Side) -> f64 {
    let fits = |epsilon: f64| delta_at(law, epsilon, side) <= delta;
    if fits(0.0) {
        return 0.0;
    }
    let mut far = 1e-9;
    while !fits(far) {
        far *= 2.0;
        if far > 1e12 {
            return f64::INFINITY;
        }
    }
    let switch = root::bisect(far, if far > 1e-9 { 0.5 * far } else { 0.0 }, 1e-15, fits);
    match side {
        Side::Upper => switch.holds,
        Side::Lower => switch.fails,
    }
}

/// The size of the losses that matter.
fn reach(law: &Law) -> f64 {
    let (low, high) = ends(law, 1e-3, 1e-3);
    low.abs().max(high.abs())
}
