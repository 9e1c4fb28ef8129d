//! Σ p_i N(μ_i, 1) against N(0, 1): what a group's records, of which a random number enters a batch, can show.
//!
//! The loss l(x) = log Σ p_i e^{μ_i x − μ_i²/2} rises with x, so a tail of the loss is a tail of normals beyond one root.

use super::tails::{Direction, Masses};
use veracity_core::numerics::{UNIT, neumaier_sum, normal};

/// Shifts of a Gaussian, each with its chance.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Mixture {
    /// Chances p_i > 0 with shifts μ_i ≥ 0, at least one of them positive.
    shifts: Vec<(f64, f64)>,
}

impl Mixture {
    /// The relative error that each chance may come with.
    ///
    /// # Assumes  Binomial chances as `expand` makes them: short lists by a recurrence of a few roundings a step, long ones
    /// through logarithms
    pub fn chance_error(&self) -> f64 {
        let terms = self.shifts.len() as f64;
        if terms <= 512.0 { 8.0 * UNIT * (terms + 8.0) } else { 2e-12 }
    }

    /// Keeps the shifts that have a chance.
    pub fn new(shifts: &[(f64, f64)]) -> Mixture {
        Mixture { shifts: shifts.iter().copied().filter(|(chance, _)| *chance > 0.0).collect() }
    }

    /// P[L > l] and Q[L > l], where P has the records for `Remove` and Q for `Add`.
    ///
    /// # Promise    Tails of the exact law, up to the error of the normal tails and a displacement of l
    /// # Reference  [ChoquetteChooEtAl24]: mixtures of Gaussians dominate what a group in Poisson batches shows
    /// # Numerics   Sums are compensated, so that long mixtures round no more than short ones
    pub fn above(&self, loss: f64, direction: Direction) -> Masses {
        match direction {
            Direction::Remove => {
                let x = self.root(loss);
                Masses { p: self.sum(|mu| normal::cdf(mu - x)), q: normal::cdf(-x) }
            }
            Direction::Add => {
                let x = self.root(-loss);
                Masses { p: normal::cdf(x), q: self.sum(|mu| normal::cdf(x - mu)) }
            }
        }
    }

    /// Units of round-off of the largest loss by which the argument of a tail may be displaced.
    ///
    /// # Numerics  The exponent of the term that makes up a loss l is l + |log p_i|, from products of size up to
    /// l + μ² + |log p_i|; the root is as good as the floats beside it, which the slope μ maps to the same size
    pub fn displacement(&self) -> f64 {
        let of = |(chance, mu): &(f64, f64)| 64.0 + 16.0 * chance.ln().abs() + 32.0 * mu * mu;
        self.shifts.iter().map(of).fold(64.0, f64::max)
    }

    /// log of the chance of no shift: no loss is less.
    pub fn least_loss(&self) -> f64 {
        let none: f64 = self.shifts.iter().filter(|(_, mu)| *mu == 0.0).map(|(chance, _)| chance).sum();
        none.ln()
    }

    /// Σ p_i f(μ_i).
    fn sum(&self, f: impl Fn(f64) -> f64) -> f64 {
        neumaier_sum(self.shifts.iter().map(|(chance, mu)| chance * f(*mu)))
    }

    /// The x with l(x) = `loss`; infinite where every loss is larger, or it lies beyond the floats.
    ///
    /// # Promise    l is convex and rises, so Newton's steps from the right never pass the root; a bracket guards them
    /// against round-off
    fn root(&self, loss: f64) -> f64 {
        if loss <= self.least_loss() {
            return f64::NEG_INFINITY;
        }
        // Each term alone reaches `loss` at its own x: the least of those is right of the root.
        let alone = self.shifts.iter().filter(|(_, mu)| *mu > 0.0);
        let mut high = alone.map(|(p, mu)| (loss - p.ln()) / mu + 0.5 * mu).fold(f64::INFINITY, f64::min);
        if !high.is_finite() {
            return high;
        }
        let mut low = f64::NEG_INFINITY;
        let mut x = high;
        for _ in 0..200 {
            let (value, slope) = self.loss(x);
            if value >= loss {
                high = high.min(x)
            } else {
                low = low.max(x)
            }
            let mut next = x - (value - loss) / slope;
            if !(next > low && next <= high) {
                next = if low.is_finite() { 0.5 * (low + high) } else { high - (1.0 + high.abs()) };
            }
            if (next - x).abs() <= f64::EPSILON * x.abs() || next == x {
                return next;
            }
            x = next;
        }
        x
    }

    /// l(x) and its slope.
    fn loss(&self, x: f64) -> (f64, f64) {
        let exponent = |mu: f64| mu * (x - 0.5 * mu);
        let top = self.shifts.iter().map(|(p, mu)| p.ln() + exponent(*mu)).fold(f64::NEG_INFINITY, f64::max);
        if top > 0.5 {
            let (mut sum, mut moment) = (0.0, 0.0);
            for (p, mu) in &self.shifts {
                let weight = (p.ln() + exponent(*mu) - top).exp();
                sum += weight;
                moment += mu * weight;
            }
            return (top + sum.ln(), moment / sum);
        }
        // Near 0 the excess over 1 is what counts: the chances add up to 1.
        let (mut lift, mut moment) = (0.0, 0.0);
        for (p, mu) in &self.shifts {
            let excess = exponent(*mu).exp_m1();
            lift += p * excess;
            moment += p * mu * (excess + 1.0);
        }
        if lift <= -0.5 {
            let sum: f64 = self.shifts.iter().map(|(p, mu)| p * exponent(*mu).exp()).sum();
            return (sum.ln(), moment / sum);
        }
        (lift.ln_1p(), moment / (1.0 + lift))
    }
}
