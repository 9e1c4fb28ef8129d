//! The μ for which a part is μ-GDP: exact where its trade-off curve is known, refused where no bound is.
//!
//! A pair is μ-GDP when its trade-off curve f lies above G_μ(α) = Φ(Φ⁻¹(1 − α) − μ). Both are convex, so where f is made of
//! straight pieces it is enough that G_μ ≤ f at their ends: μ = max Φ⁻¹(1 − α) − Φ⁻¹(β) over the corners (α, β).

use crate::{
    IntegerNoise, Part,
    single::{self, OUTWARD},
};
use veracity_core::Refusal;
use veracity_core::numerics::{logspace, normal};

/// The mass of discrete Gaussian noise beyond the points that are looked at, at most.
pub(super) const TAIL: f64 = 1e-100;
/// How many σ are looked at: e^{−22²/2} < 1e-105.
const DEVIATIONS: f64 = 22.0;
/// The most points that are looked at.
const MOST_POINTS: f64 = 2e6;

/// A μ and a δ: the part is dominated by N(0, 1) against N(μ, 1) with a mechanism that tells all with probability δ.
///
/// # Promise    The part is dominated by that pair
/// # Reference  [DongRothSu22] Proposition 2.12 and Lemma 2.9; the corners of each curve as stated
/// # Numerics   Rounded up
pub(super) fn mu(part: &Part) -> Result<(f64, f64), Refusal> {
    match part {
        Part::Gaussian { mu } => Ok((mu * OUTWARD, 0.0)),
        Part::Integer { noise: IntegerNoise::Gaussian { sigma }, shift } => {
            Ok((discrete(*sigma, *shift)?, TAIL))
        }
        Part::Laplace { epsilon } => Ok((laplace(*epsilon), 0.0)),
        Part::BoundedRange { epsilon } => Ok((pure(0.5 * epsilon), 0.0)),
        Part::AtMost(part) => mu(part),
        _ => match single::declared(part) {
            Some((epsilon, delta)) => Ok((pure(epsilon), delta)),
            None => Err(Refusal::no_theorem(
                single::name(part),
                "a filter by mu",
                "use a filter by rdp or zcdp, or a product with a slot for this mechanism",
            )),
        },
    }
}

/// Randomized response of this ε, which dominates every pure mechanism, has one corner: 2 Φ⁻¹(e^ε/(1 + e^ε)).
///
/// A mechanism of bounded range ε is two points with odds ratio e^ε: logits a and a − ε. With N = Φ⁻¹ ∘ logistic its μ is
/// N(a) − N(a − ε). N' = Φ Φ̄/φ at N falls with |a|, so a = ε/2 is the worst, which is the pure mechanism of ε/2.
fn pure(epsilon: f64) -> f64 {
    if epsilon > 700.0 {
        return f64::INFINITY;
    }
    if epsilon == 0.0 {
        return 0.0;
    }
    // Φ⁻¹ near ½ keeps an absolute error, which is charged.
    -2.0 * normal::quantile(1.0 / (1.0 + epsilon.exp())) * (1.0 + 1e-13) + 1e-13
}

/// Laplace noise: its curve has α β = e^{−ε}/4 between two straight pieces. With h(a) = Φ⁻¹(1 − e^{−a}/2), whose slope is
/// Mills' ratio at h and falls, the μ at α = e^{−a}/2 is h(a) + h(ε − a), largest at a = ε/2.
fn laplace(epsilon: f64) -> f64 {
    if epsilon > 700.0 {
        return f64::INFINITY;
    }
    if epsilon == 0.0 {
        return 0.0;
    }
    -2.0 * normal::quantile(0.5 * (-0.5 * epsilon).exp()) * (1.0 + 1e-13) + 1e-13
}

/// Discrete Gaussian noise moved by a whole number s: the corners are α = 1 − F(i), β = F(i − s) with its cumulative law F,
/// so μ = max g(i) − g(i − s) with g = Φ⁻¹ ∘ F. Corners beyond 22 σ are covered by the probability `TAIL` to tell all:
/// there α or 1 − α is below it, or β is within it of 1.
///
/// # Reference  [CanonneKamathSteinke20] (the noise and its tail e^{−x²/2σ²})
/// # Numerics   F by a sum from the far tail in logarithms; each term is charged 16 ulp of absolute error of g, each
/// quantile 1e-13 of its size
fn discrete(sigma: f64, shift: u64) -> Result<f64, Refusal> {
    let half = (DEVIATIONS * sigma).ceil() + shift as f64;
    if half > MOST_POINTS || shift as f64 > 1e3 * sigma {
        return Err(Refusal::no_theorem(
            format!("discrete-gaussian of sigma {sigma} moved by {shift}"),
            "a filter by mu",
            "use a filter by zcdp",
        ));
    }
    let (half, shift) = (half as i64, shift as i64);
    // Starting where what is left out is far below the first term kept.
    let start = half + (8.0 * sigma).ceil() as i64 + 8;
    let weight = |x: i64| -0.5 * (x as f64 / sigma).powi(2);
    let mut sum = f64::NEG_INFINITY;
    let mut log_below = Vec::with_capacity(half as usize);
    for x in -start..0 {
        sum = logspace::log_add(sum, weight(x));
        if x >= -half {
            log_below.push(sum);
        }
    }
    let log_whole = logspace::log_add(0.0, sum + std::f64::consts::LN_2);
    let left: Vec<f64> = log_below.iter().map(|log| quantile_of_log(log - log_whole)).collect();
    // g(−1 − i) = −g(i).
    let g = |i: i64| if i < 0 { left[(i + half) as usize] } else { -left[(half - 1 - i) as usize] };
    let largest = (shift - half..half).map(|i| g(i) - g(i - shift)).fold(0.0, f64::max);
    let slack = 16.0 * f64::EPSILON * (start as f64 + 100.0) + 1e-13 * (DEVIATIONS + shift as f64 / sigma);
    Ok(largest * OUTWARD + slack)
}

/// The x < 0 with log Φ(x) = log p, for p < ½ of any size.
///
/// # Numerics  Newton on the concave function log Φ; absolute error about 1e-14
fn quantile_of_log(log_p: f64) -> f64 {
    let mut x = -(-2.0 * log_p).sqrt();
    for _ in 0..60 {
        let value = normal::log_cdf(x);
        let step = (value - log_p) * normal::mills(-x);
        x -= step;
        if step.abs() <= 1e-15 * x.abs().max(1e-3) {
            break;
        }
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The step of the proof for bounded range that is not algebra, on a grid: Φ Φ̄/φ falls with |x|.
    #[test]
    fn the_slope_of_normal_quantiles_of_logits_falls() {
        let slope = |x: f64| normal::cdf(x) * normal::mills(x);
        for i in 0..3000 {
            let x = 0.01 * f64::from(i);
            assert!(slope(x + 0.01) < slope(x), "{x}");
        }
    }

    /// The brute force: every odds ratio e^ε of two points, and every corner of Laplace noise.
    #[test]
    fn symmetric_corners_are_the_worst() {
        for epsilon in [0.05, 0.5, 2.0, 6.0] {
            let logistic = |a: f64| 1.0 / (1.0 + f64::exp(-a));
            let (range, noise) = (pure(0.5 * epsilon), laplace(epsilon));
            for i in 1..1000 {
                let t = epsilon * f64::from(i) / 1000.0;
                let two = normal::quantile(logistic(t)) - normal::quantile(logistic(t - epsilon));
                let h = |a: f64| -normal::quantile(0.5 * f64::exp(-a));
                assert!(two <= range && h(t) + h(epsilon - t) <= noise, "{epsilon} {t}");
            }
            assert!(noise < pure(epsilon) && range < noise, "{epsilon}");
        }
    }

    /// About 1 + 1/(24 σ²) times 1/σ for a shift of one. # mpmath 1.4, 40 digits: 2*sqrt(2)*erfinv(p0), p0 = P(0)
    #[test]
    fn discrete_noise_costs_a_little_more_than_continuous() {
        for (sigma, ratio) in [(10.0, 1.000417), (100.0, 1.0000042)] {
            let found = discrete(sigma, 1).unwrap() * sigma;
            assert!((found - ratio).abs() < 2e-6, "{sigma}: {found}");
        }
        // Several steps cost no more than each of them, and nearly as much as continuous noise.
        for (sigma, shift) in [(3.0, 5), (10.0, 40), (0.7, 1), (50.0, 1000)] {
            let (one, all) = (discrete(sigma, 1).unwrap(), discrete(sigma, shift).unwrap());
            let steps = shift as f64;
            assert!(all <= one * steps + 1e-9 && all >= 0.99 * steps / sigma, "{sigma} {shift}: {all} {one}");
        }
        assert!(discrete(1e6, 1).is_err());
    }
}
