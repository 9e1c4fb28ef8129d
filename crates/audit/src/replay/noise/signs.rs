//! Whether the noise of one call knows that of another: products of their residuals, against random signs.
//!
//! Symmetric noise that does not know other noise has a fair sign for every number, given its size and the other noise. So
//! Σ rₖ sₖ, with the residuals r of one call and s of the other, is a sum of ±|rₖ sₖ| by fair coins, whatever the sizes are:
//! noise that is larger than declared does no harm here.

use super::residuals::Residuals;
use veracity_core::numerics::{UNIT, root};

/// Deviations below which nothing could be refuted: the chance is worked out only beyond.
const NO_WONDER: f64 = 2.0;

/// How noise goes with other noise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct SignAgreement {
    /// Whether it has the sign of the other, rather than the opposite.
    pub(super) is_alike: bool,
    /// log of the chance that independent noise goes together as much, either way; from above.
    pub(super) log_chance: f64,
}

/// The first numbers of pairs of calls, taken together; no call is in two pairs.
pub(super) fn company(pairs: &[(&Residuals<'_>, &Residuals<'_>)]) -> SignAgreement {
    let (mut sum, mut doubt, mut squares) = (0.0, 0.0, 0.0);
    each(pairs, |product, uncertain| {
        sum += product;
        doubt += uncertain;
        squares += (product.abs() + uncertain).powi(2);
    });
    let numbers: usize = pairs.iter().map(|(one, other)| one.len().min(other.len())).sum();
    // From below: products, sizes and sums are rounded.
    let shown = sum.abs() - doubt - 4.0 * UNIT * (numbers as f64 * squares).sqrt() * (numbers as f64 + 8.0);
    let is_alike = sum > 0.0;
    let deviation = squares.sqrt();
    if !(shown > NO_WONDER * deviation) {
        return SignAgreement { is_alike, log_chance: 0.0 };
    }
    let mut sizes = Vec::with_capacity(numbers);
    each(pairs, |product, uncertain| sizes.push(product.abs() + uncertain));
    SignAgreement { is_alike, log_chance: (log_one_side(&sizes, shown, deviation) + 2f64.ln()).min(0.0) }
}

/// Calls back with every product of standardised residuals, and how far the second one's rounding may move it.
fn each(pairs: &[(&Residuals<'_>, &Residuals<'_>)], mut take: impl FnMut(f64, f64)) {
    for (one, other) in pairs {
        let scale = one.noise.scale() * other.noise.scale();
        for at in 0..one.len().min(other.len()) {
            let (first, second) = (one.added[at], other.added[at]);
            let uncertain = other.size(at) - second.abs();
            take(first * second / scale, first.abs() * uncertain / scale);
        }
    }
}

/// log P[Σ ± sizes ≥ shown] by fair signs, from above.
///
/// # Reference  Chernoff's bound with E exp(±t size) = cosh(t size); with all signs equal it is 2^(−numbers), the chance itself
fn log_one_side(sizes: &[f64], shown: f64, deviation: f64) -> f64 {
    let exponent = |rate: f64| -> f64 {
        let gained: f64 = sizes.iter().map(|size| log_cosh(rate * size)).sum();
        let paid = rate * shown;
        gained - paid + 4.0 * UNIT * (gained + paid + 1.0) * (sizes.len() as f64 + 8.0)
    };
    // For many numbers the best rate is that of a Gaussian; for few it is larger.
    let usual = shown / (deviation * deviation);
    let at = |doublings: f64| exponent(usual * 2f64.powf(doublings - 2.0));
    let falls = |doublings: f64| at(doublings + 0.05) < at(doublings);
    let (least, most) = (1.0, 14.0);
    at(match (falls(least), falls(most)) {
        (false, _) => least,
        (true, true) => most,
        (true, false) => root::bisect(least, most, 1e-2, falls).holds,
    })
}

fn log_cosh(x: f64) -> f64 {
    let x = x.abs();
    if x < 1e-3 { 0.5 * x * x } else { x + (-2.0 * x).exp().ln_1p() - std::f64::consts::LN_2 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_above_the_count_of_all_signs_and_reach_it() {
        let sizes = [0.3, 1.7, 0.9, 0.05, 2.2, 1.1, 0.4, 0.8, 1.3, 0.6, 0.2, 1.9];
        let deviation = sizes.iter().map(|x| x * x).sum::<f64>().sqrt();
        // Twin: every choice of signs.
        let chance = |shown: f64| {
            let sum = |signs: u32| -> f64 {
                (0..12).map(|k| if signs >> k & 1 == 1 { sizes[k] } else { -sizes[k] }).sum()
            };
            f64::from((0..1u32 << 12).filter(|signs| sum(*signs) >= shown - 1e-12).count() as u32) / 4096.0
        };
        for part in [0.5, 0.7, 0.9, 1.0] {
            let shown = part * sizes.iter().sum::<f64>();
            let (ours, truth) = (log_one_side(&sizes, shown, deviation).exp(), chance(shown));
            assert!(ours >= truth && ours <= 20.0 * truth, "{part}: {ours} {truth}");
        }
        let all = log_one_side(&sizes, sizes.iter().sum(), deviation);
        assert!(all >= -12.0 * 2f64.ln() && all < -11.0 * 2f64.ln(), "{all}");
    }
}
