//! How far integer noise strays: the half-width that holds with a given chance.

use veracity_noise::Noise;
use veracity_numerics::normal;

/// A t with P(|X| > t) ≤ `miss`, at most one above the smallest.
///
/// # Promise    Never below the smallest such t
/// # Reference  [CanonneKamathSteinke20] for both laws; the tail of the discrete Gaussian is at most that of the normal
/// law, since its normaliser is at least σ√2π (Poisson summation) and Σ_{x>t} e^{−x²/2σ²} ≤ ∫_t^∞
/// # Numerics   Pushed outward by a relative 1e-12
///
/// # Assumes  `miss` ≥ 1e-24: narrow Gaussian noise is summed no farther than 12 deviations
pub fn half_width(noise: Noise, miss: f64) -> f64 {
    match noise {
        Noise::Laplace { scale } => laplace(scale.as_f64(), miss),
        Noise::Gaussian { sigma } => gaussian(sigma.as_f64(), miss),
    }
}

/// P(|X| > t) = 2 e^{−(t+1)/b}/(1 + e^{−1/b}).
fn laplace(b: f64, miss: f64) -> f64 {
    let beyond = b * (2.0 / (miss * (1.0 + (-1.0 / b).exp()))).ln() * OUTWARD;
    (beyond.ceil() - 1.0).max(0.0)
}

fn gaussian(sigma: f64, miss: f64) -> f64 {
    // Sums for narrow noise, where the bound by the normal law would cost a whole step.
    if sigma >= 64.0 { (-normal::quantile(miss / 2.0) * sigma * OUTWARD).ceil() } else { summed(sigma, miss) }
}

fn summed(sigma: f64, miss: f64) -> f64 {
    let weight = |x: u32| (-0.5 * (f64::from(x) / sigma).powi(2)).exp();
    // Past 12σ the weights are below e^−72 of the whole.
    let far = (12.0 * sigma).ceil() as u32 + 1;
    let whole = 1.0 + 2.0 * (1..=far).map(weight).sum::<f64>();
    let mut tail = 1e-25 * whole;
    for t in (0..far).rev() {
        let wider = tail + 2.0 * weight(t + 1);
        if wider * OUTWARD > miss * whole {
            return f64::from(t + 1);
        }
        tail = wider;
    }
    0.0
}

const OUTWARD: f64 = 1.0 + 1e-12;

#[cfg(test)]
mod tests {
    use super::*;
    use veracity_noise::Ratio;

    /// # mpmath 1.3, 30 digits: the smallest t with 2 exp(-(t+1)/b)/(1 + exp(-1/b)) <= miss, and with
    /// 1 - sum(exp(-x*x/(2*s*s)), |x| <= t)/sum(exp(-x*x/(2*s*s))) <= miss
    #[test]
    fn half_widths_are_the_smallest_or_one_more() {
        let laplace = [
            (0.05, [(0.2, 0.0), (0.5, 1.0), (1.0, 3.0), (2.5, 7.0), (128.0, 383.0), (1e5, 299_573.0)]),
            (0.025, [(0.2, 0.0), (0.5, 2.0), (1.0, 4.0), (2.5, 9.0), (128.0, 472.0), (1e5, 368_888.0)]),
            (0.001, [(0.2, 1.0), (0.5, 3.0), (1.0, 7.0), (2.5, 17.0), (128.0, 884.0), (1e5, 690_776.0)]),
        ];
        let gaussian = [
            (0.05, [(0.1, 0.0), (0.5, 1.0), (1.0, 2.0), (2.5, 5.0), (40.0, 78.0), (1000.0, 1960.0)]),
            (0.025, [(0.1, 0.0), (0.5, 1.0), (1.0, 2.0), (2.5, 6.0), (40.0, 90.0), (1000.0, 2241.0)]),
            (0.001, [(0.3, 1.0), (0.5, 1.0), (1.0, 3.0), (2.5, 8.0), (40.0, 132.0), (1000.0, 3291.0)]),
        ];
        let holds = |found: f64, smallest: f64| smallest <= found && found <= smallest + 1.0;
        let ratio = |x: f64| Ratio::at_least(x).unwrap();
        for ((miss, laplaces), (_, gaussians)) in laplace.into_iter().zip(gaussian) {
            for (scale, smallest) in laplaces {
                let found = half_width(Noise::Laplace { scale: ratio(scale) }, miss);
                assert!(holds(found, smallest), "laplace {scale} {miss}: {found}");
            }
            for (sigma, smallest) in gaussians {
                let found = half_width(Noise::Gaussian { sigma: ratio(sigma) }, miss);
                assert!(holds(found, smallest), "gaussian {sigma} {miss}: {found}");
            }
        }
        // Narrow noise is summed, so not even one step is lost.
        assert_eq!(half_width(Noise::Gaussian { sigma: ratio(2.5) }, 0.05), 5.0);
        assert_eq!(half_width(Noise::Laplace { scale: ratio(2.5) }, 0.05), 7.0);
    }
}
