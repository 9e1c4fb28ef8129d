//! What the likelihood ratio of a sampled Gaussian does on the Bernstein ellipse around a quadrature panel.

use super::sampled::SampledGaussian;

/// Bernstein ellipse used for the error bound: a panel of half-width η is surrounded by an ellipse with half-axes
/// 2.125 η and 1.875 η.
pub(super) const RHO: f64 = 4.0;
pub(super) const REACH: f64 = 0.5 * (RHO + 1.0 / RHO);
pub(super) const RISE: f64 = 0.5 * (RHO - 1.0 / RHO);

/// What log A does on the ellipse around a panel.
#[derive(Default)]
pub(super) struct Ellipse {
    /// Whether A has no zero near it.
    pub regular: bool,
    /// Slope of log A at the centre.
    pub slope: f64,
    /// log A(w) − log A(centre) − slope·(w − centre) is at most this on the real part, and at least −this in modulus.
    pub bend: f64,
    /// |Im log A| is at most this.
    pub argument: f64,
}

impl Ellipse {
    pub(super) fn around(step: &SampledGaussian, centre: f64, half: f64) -> Ellipse {
        let (left, right) = (centre - REACH * half, centre + REACH * half);
        let rise = RISE * half;
        let slope = step.slope(centre);
        // log A is convex: its distance from the tangent is largest at an end.
        let tangent = |w: f64| step.log_ratio(w) - step.log_ratio(centre) - slope * (w - centre);
        let above = tangent(left).max(tangent(right)).max(0.0);
        let odds = step.rate / (1.0 - step.rate);
        let (low_odds, high_odds) = (odds * left.exp(), odds * right.exp());
        // Near the zero of A: |A(x+iθ)|² = A(x)² (1 − 2p(1−p)(1 − cos θ)); tan arg A = o sin θ/(1 + o cos θ) ≤ o θ
        // while cos θ ≥ 0, and arg A ≤ θ always.
        let (mut regular, mut below, mut argument) = (false, f64::INFINITY, f64::INFINITY);
        if rise <= 2.4 {
            let logistic = |w: f64| step.slope(w) * (1.0 - step.slope(w));
            let straddles = low_odds < 1.0 && high_odds > 1.0;
            let worst = if straddles { 0.25 } else { logistic(left).max(logistic(right)) };
            let loss = 2.0 * worst * (1.0 - rise.cos());
            regular = loss < 0.9;
            below = -0.5 * (-loss.min(0.9)).ln_1p();
            argument = if rise <= 1.5 { rise * high_odds.min(1.0) } else { rise };
        }
        // Far from it, on either side, A is 1 − q or q e^w up to a small factor, for any θ.
        let far = if high_odds <= 0.15 {
            Some((high_odds, 0.0))
        } else if 1.0 / low_odds <= 0.15 {
            Some((1.0 / low_odds, rise))
        } else {
            None
        };
        if let Some((small, turn)) = far {
            regular = true;
            below = below.min(small - (-small).ln_1p());
            argument = argument.min(turn + 1.01 * small);
        }
        Ellipse { regular, slope, bend: above.max(below), argument }
    }
}
