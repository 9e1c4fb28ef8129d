//! What remains when no loss is large is subtracted: it contributes nothing to δ, and all of the slow decay.
//!
//! When large losses are rare, the transform of a composition hardly falls: most of the time nothing happens. Let A be
//! the law of one step with outcomes weighted by 1 − χ, χ an analytic step from small to large losses. T uses of A never
//! (or hardly ever) reach ε, so φ^T and φ^T − φ_A^T give the same δ. The difference falls as fast as the transform of the
//! large losses, which are smooth.

use super::composed::{Composed, Saddle};
use super::law::{Law, Tilted};
use super::points::Points;
use super::sampled::SampledGaussian;

/// How many times the knee a loss counted as small can reach before it is bounded in closed form.
const FARTHEST: f64 = 12.0;

/// A composition that tells large losses from the rest.
pub(super) struct Jumps {
    pub composed: Composed,
    /// d and the logarithm of what the rest contributes to δ at most, at ε = 0: it falls like e^{−dε}.
    pub rest: (f64, f64),
}

impl Jumps {
    /// The largest knee below which the rest contributes at most `allowed` to δ(ε).
    pub(super) fn find(composed: &Composed, saddle: &Saddle, allowed: f64) -> Option<Jumps> {
        let [(Law::Sampled(step), times)] = composed.laws.as_slice() else { return None };
        if !step.has_jumps() || !(saddle.epsilon > 0.0) {
            return None;
        }
        for share in [5.0, 8.0, 13.0, 20.0, 35.0, 70.0, 200.0] {
            let knee = step.with_knee_at(saddle.epsilon / share);
            let rest = rest_at(&knee, *times, composed.gaussian, saddle.epsilon, saddle.epsilon / share);
            if (rest.1 - rest.0 * saddle.epsilon).exp() <= allowed {
                let laws = vec![(Law::Sampled(knee), *times)];
                return Some(Jumps { composed: Composed::new(laws, composed.gaussian), rest });
            }
        }
        None
    }

    /// The first point of a ladder from `start` to `limit` beyond which (1/π) ∫ T|φ_B|/y² dy is at most `allowed`, and
    /// that tail.
    pub(super) fn horizon(&self, c: f64, start: f64, limit: f64, allowed: f64) -> Option<(f64, f64)> {
        const RATIO: f64 = 1.12;
        let (points, times) = self.tilted(c, 0.0, 0.0)?;
        let gaussian = self.composed.gaussian;
        let bound = |y: f64| times * points.jump_bound(y) * (-0.5 * gaussian * y * y).exp();
        let mut ladder = Vec::new();
        let mut y = start;
        loop {
            let size = bound(y);
            if size / y <= 0.1 * allowed * std::f64::consts::PI {
                break;
            }
            ladder.push((y, size));
            y *= RATIO;
            if y > limit {
                return None;
            }
        }
        let mut tail = bound(y) / y;
        let mut last = y;
        for &(y, size) in ladder.iter().rev() {
            let longer = tail + size * (1.0 - 1.0 / RATIO) / y;
            if longer > allowed * std::f64::consts::PI {
                break;
            }
            (tail, last) = (longer, y);
        }
        Some((last, tail / std::f64::consts::PI))
    }

    /// The one law, tilted.
    fn tilted(&self, c: f64, reach: f64, negligible: f64) -> Option<(Points, f64)> {
        let (law, times) = self.composed.laws.first()?;
        match law.tilted(c, reach, negligible / times)? {
            Tilted::Points(points) => Some((points, *times)),
            Tilted::Laplace { .. } => None,
        }
    }
}

/// d and the logarithm, at ε = 0, of what T uses of the law without its large losses contribute to δ at most, by
/// Chernoff at the best of a few d.
///
/// # Numerics  Beyond 12 times the knee, x ≥ 12, an outcome keeps 1 − χ ≤ 6e^{−x²} of its weight while A^{1+d} ≤
/// e^{(1+d)(e^l − 1)x} with l the loss at the knee: what lies there is added in closed form
fn rest_at(step: &SampledGaussian, times: f64, gaussian: f64, epsilon: f64, loss: f64) -> (f64, f64) {
    let capped = SampledGaussian { cap: step.cap.min(step.knee + FARTHEST.ln()), ..*step };
    let mut least = (1.0, f64::INFINITY);
    for d in [1.5, 3.0, 5.0, 7.0].map(|multiple| multiple / loss) {
        let Some(points) = capped.tilted(d, 0.0, 0.0) else { continue };
        let beyond = 6.0 * (FARTHEST * ((1.0 + d) * loss.exp_m1() - FARTHEST)).exp();
        let small: f64 =
            points.weights.iter().zip(&points.jumps).map(|(w, jump)| w * (1.0 - jump.share)).sum();
        let small =
            small + points.jump_error + points.quadrature + beyond / points.log_mgf.exp().min(1e300) + 1e-14;
        let k = times * (points.log_mgf + points.log_mgf_error + small.ln()) + 0.5 * gaussian * d * (d + 1.0);
        let log = k - d * (1.0 / d).ln_1p() - d.ln_1p() + 1e-9;
        if log - d * epsilon < least.1 - least.0 * epsilon {
            least = (d, log);
        }
    }
    least
}
