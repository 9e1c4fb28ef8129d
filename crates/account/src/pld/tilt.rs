//! Where to look: the exponential tilt that puts the mass of a composition where the answer is, and the window around it.
//!
//! Nothing here needs to be exact: any tilt and any window give valid bounds, good ones give narrow ones.

use super::discretize::GridLaw;

/// What is asked of a composition.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Target {
    /// ε at this δ.
    Delta(f64),
    /// δ at this ε.
    Epsilon(f64),
}

/// The tilt and the window of a composition, and the tilts that bound what lies outside the window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Tilt {
    /// Masses are weighted by e^{c · loss}.
    pub c: f64,
    /// The window starts here.
    pub low: f64,
    /// The window ends here.
    pub high: f64,
    /// The tilt of the Chernoff bound below the window.
    pub below: f64,
    /// The tilt of the Chernoff bound above the window.
    pub above: f64,
    /// log of a rough upper estimate of the δ in question.
    pub log_delta: f64,
}

/// −log of what may lie outside the window, on either side, under the tilted law.
const OUTSIDE: f64 = 42.0;

/// Σ T_j log Σ w e^{c l}.
pub(super) fn cumulant(laws: &[(GridLaw, f64)], c: f64) -> f64 {
    laws.iter().map(|(law, times)| times * log_moment(law, c)).sum()
}

/// log Σ w e^{c l} of one law.
pub(super) fn log_moment(law: &GridLaw, c: f64) -> f64 {
    // Empty cells are left out: their exponent may lie far above all others.
    let present = || law.masses.iter().enumerate().filter(|(_, w)| **w > 0.0);
    let largest = present().map(|(i, w)| c * law.grid.loss(i) + w.ln()).fold(f64::NEG_INFINITY, f64::max);
    if largest == f64::NEG_INFINITY {
        return largest;
    }
    let sum: f64 = present().map(|(i, w)| w * (c * law.grid.loss(i) - largest).exp()).sum();
    largest + sum.ln()
}

/// log of max over s of e^{−cs}(1 − e^{−s}), which is c^c/(1+c)^{1+c}.
pub(super) fn log_kappa(c: f64) -> f64 {
    c * c.ln() - (1.0 + c) * (1.0 + c).ln()
}

/// Chooses the tilt that minimises Chernoff's bound on what is asked, and a window that holds the tilted law.
///
/// # Reference  δ(ε) ≤ κ(c) e^{K(c) − cε} for every c > 0, solved for ε when δ is given
pub(super) fn choose(laws: &[(GridLaw, f64)], target: Target) -> Tilt {
    let bound = |c: f64, epsilon: f64| cumulant(laws, c) + log_kappa(c) - c * epsilon;
    let mut epsilon = match target {
        Target::Epsilon(epsilon) => epsilon,
        Target::Delta(delta) => {
            let inverse = |x: f64| (bound(x.exp(), 0.0) - delta.ln()) / x.exp();
            inverse(least(-12.0, 25.0, inverse))
        }
    };
    epsilon = epsilon.max(0.0);
    let c = least(-12.0, 25.0, |x| bound(x.exp(), epsilon)).exp();
    let at_c = cumulant(laws, c);
    let high_of = |x: f64| (cumulant(laws, c + x.exp()) - at_c + OUTSIDE) / x.exp();
    let low_of = |x: f64| (cumulant(laws, c - x.exp()) - at_c + OUTSIDE) / x.exp();
    let (up, down) = (least(-12.0, 30.0, high_of), least(-12.0, 30.0, low_of));
    let support = |end: fn(&GridLaw) -> f64| laws.iter().map(|(law, times)| times * end(law)).sum::<f64>();
    let most = support(|law| law.grid.loss(law.grid.cells));
    let least_of_all = support(|law| law.grid.loss(0));
    let high = high_of(up).min(most).max(epsilon.min(most));
    let low = (-low_of(down)).max(least_of_all).min(epsilon).min(high);
    Tilt { c, low, high, below: c - down.exp(), above: c + up.exp(), log_delta: bound(c, epsilon).min(0.0) }
}

/// Where a function with one valley is least: a coarse walk, then golden sections.
fn least(low: f64, high: f64, f: impl Fn(f64) -> f64) -> f64 {
    let steps = 36;
    let at = |i: i32| low + (high - low) * f64::from(i) / f64::from(steps);
    let values: Vec<f64> = (0..=steps).map(|i| f(at(i))).collect();
    let best = (0..=steps).min_by(|&i, &j| values[i as usize].total_cmp(&values[j as usize])).unwrap_or(0);
    let (mut a, mut b) = (at((best - 1).max(0)), at((best + 1).min(steps)));
    let golden = 0.5 * (5f64.sqrt() - 1.0);
    for _ in 0..16 {
        let (x, y) = (b - golden * (b - a), a + golden * (b - a));
        if f(x) <= f(y) { b = y } else { a = x }
    }
    0.5 * (a + b)
}
