//! A finite list of privacy losses that dominates a mechanism, made from points of its certified profile.
//!
//! The profile δ(ε) of both directions goes in at some ε ≤ L, the first of which is 0; masses at the losses −L … L and the mass above L
//! come out. The points need not be equally far apart, so a list reaches into heavy tails with few of them.
//!
//! **Why it dominates.** Write h(z) for the larger hockey-stick divergence of the two directions at order z, so that h(e^ε) = δ(ε) for
//! ε ≥ 0 and h(z) = 1 − z + z h(1/z). It is convex, h(0) = 1, and h(z) ≤ δ(L) for z ≥ e^L. The list is
//! g(z) = δ(L) + Σ p_i (1 − z e^{−l_i})₊, which is straight between grid points. So g ≥ h everywhere if g ≥ h at the grid points and at
//! z = 0. At grid points z ≥ 1 that is checked after all rounding, and the masses are raised until it holds. The masses below zero are
//! p_{−i} = e^{−l_i} p_i and the total mass T with δ(L) is at least 1, so g(z) = T (1 − z) + z g(1/z) ≥ 1 − z + z h(1/z) = h(z) for z < 1.

use veracity_core::numerics::UNIT;

/// Losses that are multiples of a step, with their masses.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Losses {
    /// The distance of neighboring multiples. All multiples that are used are exact floats.
    pub step: f64,
    /// The multiples that have mass, and their masses under the first dataset.
    pub masses: Vec<(i64, f64)>,
    /// The mass above all of them.
    pub infinite: f64,
}

/// The most that masses are raised to cover what rounding took from them.
const MOST_RAISED: f64 = 1.0 + 1e-6;
/// Bits of a step, so that its multiples up to 2²³ are exact.
const STEP_BITS: u64 = 29;

/// A step of at least this size whose small multiples are exact floats.
pub(super) fn exact_step(at_least: f64) -> f64 {
    let dropped = 52 - STEP_BITS;
    f64::from_bits(((at_least.to_bits() >> dropped) + 1) << dropped)
}

impl Losses {
    /// The list through upper bounds on δ at multiples of a step: the first is 0, and they rise.
    ///
    /// # Promise    Dominates every mechanism of which `points` are upper bounds on the profile, with `infinite` as the mass above
    /// # Reference  The proof in [the module](self); pessimistic "connect the dots" of [Doroshenko22]
    /// # Numerics   Masses are raised by 1e-12 and more, which covers the rounding of all sums
    pub(super) fn through(points: &[(i64, f64)], step: f64) -> Option<Losses> {
        let top = points.len() - 1;
        let infinite = points[top].1;
        let losses: Vec<f64> = points.iter().map(|(k, _)| *k as f64 * step).collect();
        let bounds: Vec<f64> = points.iter().map(|(_, bound)| *bound).collect();
        let orders: Vec<f64> = losses.iter().map(|loss| loss.exp()).collect();
        let corners = lower_hull(&orders, &bounds);
        let mut masses = vec![0.0; top + 1];
        for (at, &k) in corners.iter().enumerate().skip(1) {
            let slope = |from: usize, to: usize| (bounds[to] - bounds[from]) / (orders[to] - orders[from]);
            let before = slope(corners[at - 1], k);
            let after = corners.get(at + 1).map_or(0.0, |&next| slope(k, next));
            masses[k] = (orders[k] * (after - before)).max(0.0);
        }
        let raise = shortfall(&masses, &bounds, infinite, &losses)?;
        let mut list = Vec::with_capacity(2 * top + 1);
        let mut total = infinite;
        for (at, mass) in masses.iter().enumerate().skip(1).filter(|(_, mass)| **mass > 0.0) {
            let above = mass * raise;
            let below = above * (-losses[at]).exp() * (1.0 + 16.0 * UNIT);
            total += above + below;
            let k = points[at].0;
            list.extend([(-k, below), (k, above)]);
        }
        // At least what is lacking to 1, with the rounding of the sum.
        let middle = (1.0 - total).max(0.0) + (4.0 * top as f64 + 16.0) * UNIT;
        list.push((0, middle));
        list.sort_by_key(|(k, _)| *k);
        Some(Losses { step, masses: list, infinite })
    }

    /// The largest multiple.
    pub(super) fn top(&self) -> i64 {
        self.masses.last().map_or(0, |(k, _)| *k)
    }
}

/// By how much masses must be raised so that δ(L) + Σ p_i (1 − e^{l_k − l_i})₊ is no less than the bound at each loss l_k ≥ 0.
///
/// # Numerics  As `HockeyStick`: all terms are positive, so the relative error is a few units for each step down
fn shortfall(masses: &[f64], bounds: &[f64], infinite: f64, losses: &[f64]) -> Option<f64> {
    let (mut payoff, mut running, mut raise) = (0.0, 0.0, 1.0f64);
    for k in (0..masses.len() - 1).rev() {
        let distance = losses[k + 1] - losses[k];
        running += masses[k + 1];
        payoff += running * -(-distance).exp_m1();
        running *= (-distance).exp();
        let lacking = bounds[k] - infinite;
        if lacking > 0.0 {
            raise = raise.max(lacking / payoff);
        }
    }
    let rounding = 1.0 + 1e-12 + 16.0 * masses.len() as f64 * UNIT;
    (raise <= MOST_RAISED).then_some(raise * rounding)
}

/// The corners of the lower convex hull of points, from left to right. It is above every convex function that is below the points.
fn lower_hull(x: &[f64], y: &[f64]) -> Vec<usize> {
    let mut hull: Vec<usize> = Vec::new();
    for k in 0..x.len() {
        while let [.., a, b] = hull[..] {
            if (y[b] - y[a]) * (x[k] - x[a]) < (y[k] - y[a]) * (x[b] - x[a]) {
                break;
            }
            hull.pop();
        }
        hull.push(k);
    }
    hull
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Σ p (1 − z e^{−l})₊ plus the mass above, term by term.
    fn payoff(losses: &Losses, z: f64) -> f64 {
        let term = |&(k, p): &(i64, f64)| p * (1.0 - z * (-(k as f64) * losses.step).exp()).max(0.0);
        losses.infinite + losses.masses.iter().map(term).sum::<f64>()
    }

    /// Laplace noise has δ(x) = 1 − e^{(x − ε)/2}, randomized response (e^ε − e^x)/(1 + e^ε); at every order, also between points.
    #[test]
    fn the_list_is_above_the_profile_at_every_order() {
        let epsilon = 0.3f64;
        let laplace = |x: f64| (-(0.5 * (x - epsilon)).exp_m1()).max(0.0);
        let response = |x: f64| ((epsilon.exp() - x.exp()) / (1.0 + epsilon.exp())).max(0.0);
        for (profile, slack) in [(&laplace as &dyn Fn(f64) -> f64, 1e-3), (&response, 1e-9)] {
            let even = |points: i64, stride: i64| (0..=points).map(|k| k * stride).collect::<Vec<_>>();
            let uneven = [even(20, 1), vec![23, 27, 33, 41, 50, 61, 72]].concat();
            for multiples in [even(1, 1), even(5, 1), even(24, 3), uneven] {
                let points = multiples.len() - 1;
                let step = exact_step(epsilon / multiples[points] as f64);
                let bounds: Vec<(i64, f64)> =
                    multiples.iter().map(|&k| (k, profile(k as f64 * step))).collect();
                let losses = Losses::through(&bounds, step).unwrap();
                let mut widest = 0.0f64;
                for at in -2000..=2000 {
                    let x = 2.0 * epsilon * f64::from(at) / 2000.0;
                    let z = x.exp();
                    let truth = if x >= 0.0 { profile(x) } else { 1.0 - z + z * profile(-x) };
                    let found = payoff(&losses, z);
                    assert!(found >= truth, "{points} {x}: {found} {truth}");
                    widest = widest.max(found - truth);
                }
                assert!(points == 1 || widest < slack, "{points}: {widest}");
                assert!(payoff(&losses, 0.0) >= 1.0);
            }
        }
    }

    #[test]
    fn multiples_of_a_step_are_exact() {
        for step in [0.1, 1.0 / 3.0, 1e-7, 5.0].map(exact_step) {
            for k in [3u32, 12_345, (1 << 23) - 1] {
                let product = f64::from(k) * step;
                assert_eq!(f64::from(k).mul_add(step, -product), 0.0, "{step} {k}");
            }
        }
    }

    #[test]
    fn points_that_no_profile_has_are_covered_or_refused() {
        // A bump: the hull goes below it only as far as a convex profile does.
        let step = exact_step(0.1);
        let bounds = [(0, 0.3), (1, 0.2), (2, 0.19), (3, 0.01), (4, 0.0)];
        let losses = Losses::through(&bounds, step);
        assert!(losses.is_none_or(|losses| payoff(&losses, 1.0) >= 0.3));
    }
}
