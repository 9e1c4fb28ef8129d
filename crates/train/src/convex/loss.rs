//! Convex losses of a score: their value, slope and curvature, and the constants that privacy rests on.

use super::features::UNIT;
use veracity_core::{ClipNorm, Refusal};

/// Half the width of the curved part of a Huber hinge.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Softness(f64);

impl Softness {
    /// Checks that 1e-3 ≤ softness ≤ 1.
    ///
    /// # Errors
    /// Refuses other numbers.
    pub fn new(h: f64) -> Result<Softness, Refusal> {
        if (1e-3..=1.0).contains(&h) {
            Ok(Softness(h))
        } else {
            Err(Refusal::out_of_range("softness", h, "1e-3 ≤ softness ≤ 1"))
        }
    }

    /// The number itself.
    pub fn get(self) -> f64 {
        self.0
    }
}

/// A convex loss ℓ(score, target), with a slope that is bounded and Lipschitz in the score.
///
/// As a function of weights, its gradient is slope × row and its Hessian, where it exists, curvature × row rowᵀ: of rank
/// one, with norms at most [`slope_bound`](ConvexLoss::slope_bound) × B and
/// [`curvature_bound`](ConvexLoss::curvature_bound) × B² for rows of norm at most B.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ConvexLoss {
    /// log(1 + e^−z) with z = target × score, targets ±1.
    Logistic,
    /// The hinge of a support vector machine with its corner rounded: 0 for z > 1 + h, (1 + h − z)²/4h within h of 1, and
    /// 1 − z below.
    HuberSvm {
        /// The h of the formula.
        softness: Softness,
    },
    /// Half the squared residual, and linear for residuals beyond a bound. Plain squares have no bounded slope, and so no
    /// guarantee for weights that noise may make large; see [`ConvexLoss::ridge`] for a bound that changes nothing.
    Squared {
        /// Labels beyond ± this are taken as this.
        labels: ClipNorm,
        /// Residuals up to this are squared.
        residual: ClipNorm,
    },
}

impl ConvexLoss {
    /// Squares for ridge regression, with a bound on residuals that the minimiser never meets.
    ///
    /// With Λ = λN and at most N records of labels up to Y, Λ‖w‖²/2 ≤ NY²/2 at the minimiser, so that residuals are at most
    /// Y + B‖w‖ ≤ Y(1 + B/√λ). This is loose: a smaller residual bound means less noise.
    ///
    /// # Errors
    /// Refuses bounds whose residual bound is not finite.
    pub fn ridge(labels: ClipNorm, bound: ClipNorm, strength: f64) -> Result<ConvexLoss, Refusal> {
        let residual = ClipNorm::new(labels.get() * (1.0 + bound.get() / strength.sqrt()) * (1.0 + 1e-12))?;
        Ok(ConvexLoss::Squared { labels, residual })
    }

    /// The largest absolute slope: the Lipschitz constant in the score.
    pub fn slope_bound(self) -> f64 {
        match self {
            ConvexLoss::Logistic | ConvexLoss::HuberSvm { .. } => 1.0,
            ConvexLoss::Squared { residual, .. } => residual.get(),
        }
    }

    /// The largest curvature: the Lipschitz constant of the slope.
    pub fn curvature_bound(self) -> f64 {
        match self {
            ConvexLoss::Logistic => 0.25,
            ConvexLoss::HuberSvm { softness } => 0.5 / softness.get(),
            ConvexLoss::Squared { .. } => 1.0,
        }
    }

    /// How far a computed slope is from the true one at the same score.
    ///
    /// # Numerics  `exp` within 2u and a few operations; the division by 2h magnifies what 1 + h − z loses
    pub(super) fn slope_error(self) -> f64 {
        8.0 * UNIT * (self.slope_bound() + self.curvature_bound())
    }

    /// The target as the loss wants it: a label is bounded here and not elsewhere.
    pub(super) fn target(self, label: f64) -> f64 {
        match self {
            ConvexLoss::Logistic | ConvexLoss::HuberSvm { .. } => label,
            ConvexLoss::Squared { labels, .. } => label.clamp(-labels.get(), labels.get()),
        }
    }

    /// ℓ(score, target).
    pub fn value(self, score: f64, target: f64) -> f64 {
        match self {
            ConvexLoss::Logistic => {
                let z = target * score;
                libm::log1p(libm::exp(-z.abs())) + (-z).max(0.0)
            }
            ConvexLoss::HuberSvm { softness: Softness(h) } => {
                let z = target * score;
                if z > 1.0 + h {
                    0.0
                } else if z < 1.0 - h {
                    1.0 - z
                } else {
                    (1.0 + h - z) * (1.0 + h - z) / (4.0 * h)
                }
            }
            ConvexLoss::Squared { residual, .. } => {
                let (r, t) = ((score - target).abs(), residual.get());
                if r <= t { 0.5 * r * r } else { t * (r - 0.5 * t) }
            }
        }
    }

    /// The derivative of ℓ by the score.
    pub fn slope(self, score: f64, target: f64) -> f64 {
        match self {
            ConvexLoss::Logistic => -target * chance(-target * score),
            ConvexLoss::HuberSvm { softness: Softness(h) } => {
                let z = target * score;
                -target * ((1.0 + h - z) / (2.0 * h)).clamp(0.0, 1.0)
            }
            ConvexLoss::Squared { residual, .. } => (score - target).clamp(-residual.get(), residual.get()),
        }
    }

    /// The second derivative of ℓ by the score; at the joints of a piecewise loss, that of one side.
    pub fn curvature(self, score: f64, target: f64) -> f64 {
        match self {
            ConvexLoss::Logistic => {
                let p = chance(score);
                p * chance(-score)
            }
            ConvexLoss::HuberSvm { softness: Softness(h) } => {
                if (1.0 - target * score).abs() <= h {
                    0.5 / h
                } else {
                    0.0
                }
            }
            ConvexLoss::Squared { residual, .. } => {
                if (score - target).abs() <= residual.get() {
                    1.0
                } else {
                    0.0
                }
            }
        }
    }
}

/// 1/(1 + e^−x), without overflow and with its relative accuracy at both ends.
fn chance(x: f64) -> f64 {
    let e = libm::exp(-x.abs());
    if x >= 0.0 { 1.0 / (1.0 + e) } else { e / (1.0 + e) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn losses() -> Vec<ConvexLoss> {
        let clip = |x| ClipNorm::new(x).unwrap();
        let mut losses: Vec<ConvexLoss> =
            [0.01, 0.5, 1.0].map(|h| ConvexLoss::HuberSvm { softness: Softness::new(h).unwrap() }).to_vec();
        losses.push(ConvexLoss::Logistic);
        losses.push(ConvexLoss::Squared { labels: clip(1.0), residual: clip(1.5) });
        losses
    }

    /// Scores from −6 to 6 in steps of 2^-10, and both targets.
    fn dense() -> impl Iterator<Item = (f64, f64)> {
        (-6144..=6144).flat_map(|i| [-1.0, 1.0].map(|target| (f64::from(i) / 1024.0, target)))
    }

    #[test]
    fn slopes_and_curvatures_keep_their_bounds_and_reach_them() {
        for loss in losses() {
            let (mut steepest, mut sharpest) = (0.0_f64, 0.0_f64);
            for (score, target) in dense() {
                steepest = steepest.max(loss.slope(score, target).abs());
                sharpest = sharpest.max(loss.curvature(score, target));
            }
            let (slope, curvature) = (loss.slope_bound(), loss.curvature_bound());
            assert!(steepest <= slope && sharpest <= curvature, "{loss:?}");
            // Any smaller constant is wrong: these are the least ones.
            assert!(
                steepest > 0.99 * slope && sharpest > 0.999 * curvature,
                "{loss:?} {steepest} {sharpest}"
            );
        }
    }

    #[test]
    fn slopes_are_those_of_the_values_and_curvatures_those_of_the_slopes() {
        for loss in losses() {
            let step = 1e-6;
            for (score, target) in dense() {
                let by_value =
                    (loss.value(score + step, target) - loss.value(score - step, target)) / (2.0 * step);
                assert!((by_value - loss.slope(score, target)).abs() < 2e-4, "{loss:?} {score} {target}");
                let change = loss.slope(score + step, target) - loss.slope(score, target);
                // Convex: slopes never fall. Smooth: they rise by no more than the bound allows.
                assert!(change >= 0.0 && change <= loss.curvature_bound() * step * (1.0 + 1e-6) + 1e-15);
                let between = [score, score + step].map(|s| loss.curvature(s, target));
                let (low, high) = (between[0].min(between[1]), between[0].max(between[1]));
                assert!(low - 1e-3 <= change / step && change / step <= high + 1e-3, "{loss:?} {score}");
            }
        }
    }

    #[test]
    fn far_scores_neither_overflow_nor_lose_the_slope() {
        let loss = ConvexLoss::Logistic;
        assert_eq!(loss.value(-800.0, 1.0), 800.0);
        assert_eq!(loss.slope(-800.0, 1.0), -1.0);
        assert!(loss.slope(40.0, 1.0) < 0.0 && loss.value(40.0, 1.0) > 0.0);
        assert_eq!(loss.curvature(1e300, -1.0), 0.0);
    }

    #[test]
    fn a_softness_out_of_range_is_refused() {
        let refusal = Softness::new(0.0).unwrap_err().to_string();
        assert_eq!(refusal, "softness is 0, expected 1e-3 ≤ softness ≤ 1");
        assert!(Softness::new(f64::NAN).is_err() && Softness::new(1.1).is_err());
    }
}
