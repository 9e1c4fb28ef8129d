//! How far integer noise strays: the half-width that holds with a given chance.

use veracity_noise::Noise;
use veracity_numerics::normal;

/// A t with P(|X| > t) ≤ `miss`, at most one above the smallest.
///
/// # Promise    Never below the smallest such t
/// # Reference  [CanonneKamathSteinke20] for both laws; the tail of the discrete Gaussian is at most that of the normal
/// law, since its normaliser is at least σ√2π (Poisson summation) and Σ_{x>t} e^{−x²/2σ²} ≤ ∫_t^∞
/// # Numerics   Pushed outward by a relative 1e-12
pub(crate) fn half_width(noise: Noise, miss: f64) -> f64 {
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
