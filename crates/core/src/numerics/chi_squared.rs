//! The chi-square law: how little it is, from the safe side.
//!
//! With d degrees of freedom, half of it is a gamma variable of shape d/2. Its lower tail is a point of Loader's form times a
//! series of positive terms; each carries a bound on its rounding, which is added.

use crate::numerics::{
    UNIT,
    binomial::{deviance, stirling_series},
};
use std::f64::consts::PI;

/// Shapes below this have their Γ multiplied out.
const SMALL: f64 = 16.0;

/// log P[X ≤ x] for X chi-square with so many degrees of freedom, from above.
///
/// # Promise    Never below the truth; 0 from the mean on, where the chance is more than a half
/// # Reference  \[DidonatoMorris86\] (the series of the lower tail); \[Loader00\] for the factor before it
/// # Numerics   Above by less than 1e-11 up to 10^7 degrees, with 1e-14 of its size and 1e-15 for each unit below the mean
///
/// # Examples
///
/// ```
/// use veracity_core::numerics::chi_squared::log_lower_tail;
///
/// // With two degrees it is exponential: P[X ≤ x] = 1 − e^(−x/2).
/// let truth = (-(-0.05f64).exp_m1()).ln();
/// let ours = log_lower_tail(2, 0.1);
/// assert!(ours >= truth && ours - truth < 1e-13);
/// ```
pub fn log_lower_tail(degrees: u64, x: f64) -> f64 {
    let (shape, half) = (0.5 * degrees as f64, 0.5 * x);
    // Written so that a NaN, and no degree at all, refute nothing.
    if !(half < shape) {
        return 0.0;
    }
    if half <= 0.0 {
        return f64::NEG_INFINITY;
    }
    let front = log_front(degrees, shape, half);
    let (mut term, mut sum, mut terms) = (1.0, 1.0, 1.0);
    loop {
        let ratio = half / (shape + terms);
        term *= ratio;
        sum += term;
        terms += 1.0;
        // Ratios fall, so what is left is at most a geometric series.
        let left = term * ratio / (1.0 - ratio);
        if left <= UNIT * sum {
            sum += left;
            break;
        }
    }
    // A term after m ratios is off by at most 3m units, the sum by as many units again as it has terms.
    (front + sum.ln() + 8.0 * UNIT * (terms + 4.0)).min(0.0)
}

/// log of y^a e^(−y)/Γ(a + 1) from above, for a whole number of halves a and 0 < y < a.
fn log_front(degrees: u64, shape: f64, half: f64) -> f64 {
    let (value, size) = if shape < SMALL {
        let (power, gamma) = (shape * half.ln(), gamma_of_next(degrees).ln());
        (power - half - gamma, power.abs() + half + gamma.abs())
    } else {
        let (distance, width) = (deviance(shape, half), 0.5 * (2.0 * PI * shape).ln());
        (-distance - width - stirling_series(shape), (shape - half) + 2.0 * distance + width)
    };
    value + UNIT * (8.0 * size + 200.0)
}

/// Γ(d/2 + 1): a product of whole numbers, or of halves and √π.
fn gamma_of_next(degrees: u64) -> f64 {
    let factors = (1..=degrees).filter(|j| (degrees - j).is_multiple_of(2));
    let product: f64 = factors.map(|j| 0.5 * j as f64).product();
    if degrees.is_multiple_of(2) { product } else { product * PI.sqrt() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// # mpmath 1.3, 60 digits: log(gammainc(d/2, 0, x/2, regularized=True)), from 10^6 degrees on by its series
    const GOLDEN: [(u64, f64, f64); 17] = [
        (1, 1e-6, -7.133_546_798_293_52),
        (1, 0.5, -0.652_965_625_676_331_2),
        (2, 0.01, -5.300_816_324_881_587),
        (3, 1e-300, -1_037.487_695_488_633_3),
        (7, 0.25, -9.828_756_925_619_512),
        (24, 8.5, -6.492_885_162_267_551),
        (31, 2.0, -30.215_468_633_550_05),
        (32, 16.0, -4.799_846_430_179_631),
        (33, 20.5, -3.125_033_421_494_747_7),
        (48, 24.0, -6.520_536_166_375_253),
        (100, 60.0, -7.563_815_824_707_173),
        (1000, 800.0, -14.025_074_101_550_945),
        (1000, 999.5, -0.690_178_477_714_364_1),
        (20_001, 19_500.0, -5.146_310_052_161_383),
        (1_000_000, 993_000.0, -14.862_804_265_764_302),
        (10_000_000, 9_990_000.0, -4.369_771_485_854_391_5),
        (10_000_000, 2_500_000.0, -3_181_480.149_330_254_6),
    ];

    #[test]
    fn tails_are_never_below_the_truth_and_hardly_above() {
        for (degrees, x, truth) in GOLDEN {
            let ours = log_lower_tail(degrees, x);
            assert!(ours >= truth - 1e-16 * truth.abs(), "{degrees} {x}: {ours} {truth}");
            // Rounding grows with how far the mean is away: 8 units for each degree.
            let most = 1e-11 + 1e-14 * truth.abs() + 1e-15 * (degrees as f64 - x);
            assert!(ours - truth <= most, "{degrees} {x}: {ours} {truth}");
        }
    }

    #[test]
    fn even_degrees_meet_the_sum_of_poisson_chances() {
        // Twin: half of it is at most y when a Poisson process of mean y has d/2 points or more.
        for (degrees, x) in [(2u64, 0.5f64), (8, 2.0), (20, 11.0), (60, 41.0), (90, 89.0)] {
            let y = 0.5 * x;
            let mut chance = (-y).exp();
            let mut upper = 0.0;
            for k in 1..400u64 {
                chance *= y / k as f64;
                upper += if k >= degrees / 2 { chance } else { 0.0 };
            }
            let ours = log_lower_tail(degrees, x).exp();
            assert!((ours / upper - 1.0).abs() < 1e-12, "{degrees} {x}: {ours} {upper}");
        }
    }

    #[test]
    fn the_ends_refute_nothing_or_everything() {
        assert_eq!((log_lower_tail(10, 10.0), log_lower_tail(10, f64::INFINITY)), (0.0, 0.0));
        assert_eq!((log_lower_tail(10, f64::NAN), log_lower_tail(0, 0.0)), (0.0, 0.0));
        assert_eq!(log_lower_tail(10, 0.0), f64::NEG_INFINITY);
    }
}
