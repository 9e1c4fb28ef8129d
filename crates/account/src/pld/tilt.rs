//! Where to look: the exponential tilt that puts the mass of a composition where the answer is, and the window around it.
//!
//! Nothing here needs to be exact: any tilt and any window give valid bounds, good ones give narrow ones.

use super::discretize::{GridLaw, ends};
use super::tails::Law;

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

impl Tilt {
    /// The same window with a tilt that a grid of this spacing can bear: weights of neighbours differ by at most e^30.
    pub fn eased(self, spacing: f64) -> Tilt {
        let c = self.c.min(30.0 / spacing);
        Tilt { c, below: self.below.min(0.5 * c), ..self }
    }
}

/// −log of what may lie outside the window, on either side, under the tilted law.
pub(super) const OUTSIDE: f64 = 42.0;

/// Points of a sketch, on each of its two scales.
const SKETCH_CELLS: usize = 1024;

/// A loss law as a short list of losses and masses, by rising loss: close to the law, but no bound.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sketch(Vec<(f64, f64)>);

impl Sketch {
    /// Cuts the law finely in its bulk and coarsely to its ends.
    pub fn new(law: &Law, top: f64, bottom: f64) -> Sketch {
        let chunk = law.atoms.len().div_ceil(2 * SKETCH_CELLS).max(1);
        let mut points: Vec<(f64, f64)> = Vec::new();
        for atoms in law.atoms.chunks(chunk) {
            let mass: f64 = atoms.iter().map(|atom| atom.mass).sum();
            points.push((atoms.iter().map(|atom| atom.loss * atom.mass).sum::<f64>() / mass, mass));
        }
        if let Some(smooth) = &law.smooth {
            let mut cuts: Vec<f64> = Vec::new();
            for (low, high) in [ends(law, top, bottom), ends(law, 0.01, 0.01)] {
                let step = (high - low) / SKETCH_CELLS as f64;
                cuts.extend((0..=SKETCH_CELLS).map(|i| low + i as f64 * step));
            }
            cuts.sort_by(f64::total_cmp);
            let tails: Vec<_> = cuts.iter().map(|&loss| smooth.above(loss)).collect();
            for (cut, tail) in cuts.windows(2).zip(tails.windows(2)) {
                let (p, q) = (tail[0].p - tail[1].p, tail[0].q - tail[1].q);
                let loss = (p / q).ln();
                points.push((if loss.is_nan() { cut[1] } else { loss.clamp(cut[0], cut[1]) }, p));
            }
        }
        points.retain(|point| point.1 > 0.0);
        points.sort_by(|x, y| x.0.total_cmp(&y.0));
        Sketch(points)
    }

    /// The least and the largest loss.
    fn ends(&self) -> (f64, f64) {
        let ends = self.0.first().zip(self.0.last());
        ends.map_or((0.0, 0.0), |(first, last)| (first.0, last.0))
    }

    fn log_moment(&self, c: f64) -> f64 {
        let largest = self.0.iter().map(|(l, w)| c * l + w.ln()).fold(f64::NEG_INFINITY, f64::max);
        largest + self.0.iter().map(|(l, w)| w * (c * l - largest).exp()).sum::<f64>().ln()
    }
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
pub(super) fn choose(laws: &[(Sketch, f64)], target: Target) -> Tilt {
    let cumulant = |c: f64| -> f64 { laws.iter().map(|(law, times)| times * law.log_moment(c)).sum() };
    let widest = laws.iter().map(|(law, _)| law.ends().1 - law.ends().0).fold(1e-12, f64::max);
    let bound = |c: f64, epsilon: f64| cumulant(c) + log_kappa(c) - c * epsilon;
    let mut epsilon = match target {
        Target::Epsilon(epsilon) => epsilon,
        Target::Delta(delta) => {
            let inverse = |x: f64| (bound(x.exp(), 0.0) - delta.ln()) / x.exp();
            inverse(least(-12.0, 25.0, inverse))
        }
    };
    epsilon = epsilon.max(0.0);
    // A law spans at most a transform: beyond this tilt the weights of neighbouring cells would be too unlike.
    let c = least(-12.0, 25.0, |x| bound(x.exp(), epsilon)).exp().min(1e5 / widest);
    let at_c = cumulant(c);
    let high_of = |x: f64| (cumulant(c + x.exp()) - at_c + OUTSIDE) / x.exp();
    let low_of = |x: f64| (cumulant(c - x.exp()) - at_c + OUTSIDE) / x.exp();
    let (up, down) = (least(-12.0, 30.0, high_of), least(-12.0, 30.0, low_of));
    let most: f64 = laws.iter().map(|(law, times)| times * law.ends().1).sum();
    let least_of_all: f64 = laws.iter().map(|(law, times)| times * law.ends().0).sum();
    let high = high_of(up).min(most).max(epsilon.min(most));
    let low = (-low_of(down)).max(least_of_all).min(epsilon).min(high);
    // Rounding down takes the dominated law a little below the support of the true one.
    let low = low - 0.05 * (high - low);
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
