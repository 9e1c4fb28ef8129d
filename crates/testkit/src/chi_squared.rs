//! The χ² law, and the test of a sample against a law on cells.
//!
//! Tails come from the incomplete gamma function: its series below the mean, its continued fraction above, both times one
//! prefactor that is computed without cancellation; so a p-value of 1e-300 is as good as one of 0.3.

use std::f64::consts::PI;
use veracity_core::numerics::root;

/// How well counts fit a law.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fit {
    /// Σ (observed − expected)²/expected over the pooled cells.
    pub statistic: f64,
    /// The number of pooled cells, less one.
    pub degrees: u32,
    /// The chance of a statistic as large or larger.
    pub p_value: f64,
}

/// Compares counts with the probabilities of their cells. Neighbouring cells are pooled until `least` counts are expected
/// in each: the χ² law is that of the statistic only in the limit, and 25 are enough for tails around 1e-6.
///
/// # Assumes  One probability for each count, together 1
pub fn goodness_of_fit(observed: &[u64], probabilities: &[f64], least: f64) -> Fit {
    assert_eq!(observed.len(), probabilities.len(), "one probability for each count");
    let whole: f64 = probabilities.iter().sum();
    assert!((whole - 1.0).abs() < 1e-9, "probabilities add up to {whole}");
    let n = observed.iter().sum::<u64>() as f64;
    let mut pooled: Vec<(f64, f64)> = Vec::new();
    let (mut count, mut expected) = (0.0, 0.0);
    for (seen, p) in observed.iter().zip(probabilities) {
        count += *seen as f64;
        expected += n * p;
        if expected >= least {
            pooled.push((count, expected));
            (count, expected) = (0.0, 0.0);
        }
    }
    // What is left over goes with the last.
    let last = pooled.last_mut().expect("more draws than `least`");
    *last = (last.0 + count, last.1 + expected);
    let statistic = pooled.iter().map(|(count, expected)| (count - expected).powi(2) / expected).sum();
    let degrees = pooled.len() as u32 - 1;
    Fit { statistic, degrees, p_value: upper_tail(degrees, statistic) }
}

/// An interval in which a χ² variable lies with probability `level`, with the same probability on either side.
///
/// Of n normal draws the sum of squares about their mean, divided by their variance, is such a variable with n − 1 degrees.
pub fn interval(degrees: u32, level: f64) -> (f64, f64) {
    assert!(degrees >= 1 && level > 0.0 && level < 1.0);
    let side = 0.5 * (1.0 - level);
    let mean = f64::from(degrees);
    // Beyond 50 deviations and 1000 there is less than 1e-200, at any number of degrees.
    let far = mean + 1000.0 + 50.0 * (2.0 * mean).sqrt();
    let lower = root::bisect(0.0, mean, 0.0, |x| lower_tail(degrees, x) <= side);
    let upper = root::bisect(far, mean, 0.0, |x| upper_tail(degrees, x) <= side);
    (lower.holds, upper.holds)
}

/// P[X ≥ x] for a χ² variable. With no degrees of freedom it is 0 for certain.
///
/// # Numerics  Relative error below 1e-12 up to 10^5 degrees, however small the tail, for x above the mean
pub fn upper_tail(degrees: u32, x: f64) -> f64 {
    match (degrees, x > 0.0) {
        (_, false) => 1.0,
        (0, true) => 0.0,
        _ if x < f64::from(degrees) + 2.0 => 1.0 - series(degrees, x),
        _ => fraction(degrees, x),
    }
}

/// P[X ≤ x] for a χ² variable, as accurate below the mean as [`upper_tail`] is above.
pub fn lower_tail(degrees: u32, x: f64) -> f64 {
    match (degrees, x > 0.0) {
        (_, false) => 0.0,
        (0, true) => 1.0,
        _ if x < f64::from(degrees) + 2.0 => series(degrees, x),
        _ => 1.0 - fraction(degrees, x),
    }
}

/// The lower tail: with a half of the degrees and y half of x, y^a e^−y/Γ(a+1) times 1 + y/(a+1) + y²/(a+1)(a+2) + …
fn series(degrees: u32, x: f64) -> f64 {
    let (a, y) = (0.5 * f64::from(degrees), 0.5 * x);
    let (mut term, mut sum, mut k) = (1.0, 1.0, a);
    while term > sum * 1e-17 {
        k += 1.0;
        term *= y / k;
        sum += term;
    }
    prefactor(degrees, y) * sum
}

/// The upper tail: y^a e^−y/Γ(a) times the continued fraction 1/(y+1−a − 1(1−a)/(y+3−a − 2(2−a)/(y+5−a − …))), by
/// Lentz's method.
fn fraction(degrees: u32, x: f64) -> f64 {
    let (a, y) = (0.5 * f64::from(degrees), 0.5 * x);
    let mut b = y + 1.0 - a;
    let (mut c, mut d) = (f64::MAX, 1.0 / b);
    let mut value = d;
    for i in 1..1_000_000 {
        let numerator = -f64::from(i) * (f64::from(i) - a);
        b += 2.0;
        d = 1.0 / (numerator * d + b);
        c = b + numerator / c;
        let factor = c * d;
        value *= factor;
        if (factor - 1.0).abs() < 1e-16 {
            break;
        }
    }
    a * prefactor(degrees, y) * value
}

/// y^a e^−y/Γ(a+1) for a half of the degrees.
fn prefactor(degrees: u32, y: f64) -> f64 {
    let a = 0.5 * f64::from(degrees);
    if degrees < 40 {
        // Γ(a+1) = a (a−1) … down to Γ(1) = 1 or Γ(1/2) = √π.
        let steps = (0..degrees.div_ceil(2)).map(|i| a - f64::from(i));
        let gamma = steps.product::<f64>() * if degrees % 2 == 1 { PI.sqrt() } else { 1.0 };
        return (a * y.ln() - y).exp() / gamma;
    }
    // Stirling: Γ(a+1) = √(2πa) (a/e)^a e^s, so that what is left is (y/a) e^(1−y/a) to the power a.
    let u = 1.0 / (a * a);
    let s = (1.0 / 12.0 - u * (1.0 / 360.0 - u * (1.0 / 1260.0 - u / 1680.0))) / a;
    let away = (y - a) / a;
    (-a * (away - away.ln_1p()) - s).exp() / (2.0 * PI * a).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// mpmath 1.3, 30 digits: gammainc(mpf(k)/2, mpf(x)/2, inf, regularized=True)
    const UPPER: [(u32, f64, f64); 13] = [
        (1, 0.001, 0.974_772_879_369_960_4),
        (1, 60.0, 9.485_737_571_073_848e-15),
        (2, 1.0, 0.606_530_659_712_633_4),
        (3, 1400.0, 2.945_619_361_016_309e-303),
        (5, 5.0, 0.415_880_186_995_507_94),
        (10, 30.0, 0.000_856_641_210_775_300_4),
        (10, 200.0, 1.613_930_533_697_730_5e-37),
        (99, 99.0, 0.481_096_912_408_263_9),
        (99, 250.0, 4.844_312_411_385_372e-15),
        (1000, 1000.0, 0.494_052_853_829_239_64),
        (1000, 1500.0, 1.045_464_038_597_965_7e-22),
        (99_999, 101_000.0, 0.012_794_947_728_403_34),
        (100_000, 99_000.0, 0.987_521_684_361_917_2),
    ];

    #[test]
    fn tails_meet_outside_numbers_far_out_too() {
        for (degrees, x, truth) in UPPER {
            let ours = upper_tail(degrees, x);
            assert!((ours / truth - 1.0).abs() < 1e-12, "{degrees} {x}: {ours} {truth}");
            assert!((lower_tail(degrees, x) + ours - 1.0).abs() < 1e-15);
        }
        assert_eq!((upper_tail(3, 0.0), lower_tail(3, -1.0), upper_tail(0, 1.0)), (1.0, 0.0, 0.0));
    }

    /// scipy 1.17.1: chi2.ppf((1-level)/2, degrees), chi2.isf((1-level)/2, degrees)
    #[test]
    fn intervals_meet_outside_numbers() {
        for (degrees, level, lower, upper) in [
            (1, 0.999, 3.926_991_331_029_24e-7, 12.115_665_146_397_175),
            (9, 0.999, 0.971_699_448_957_840_6, 29.665_808_103_596_138),
            (99, 0.95, 73.361_080_191_283_68, 128.421_988_643_840_3),
            (999, 0.999, 858.435_084_628_346, 1_152.664_266_945_430_2),
            (99_999, 0.999, 98_533.987_628_392_13, 101_477.115_752_526_05),
        ] {
            let ours = interval(degrees, level);
            assert!((ours.0 / lower - 1.0).abs() < 1e-10, "{degrees}: {ours:?}");
            assert!((ours.1 / upper - 1.0).abs() < 1e-10, "{degrees}: {ours:?}");
        }
    }

    /// scipy 1.17.1: chisquare([18, 22, 30, 30], [25, 25, 25, 25]) gives 4.32 and 0.228 918 864 336 105 17;
    /// chisquare([18, 82], [50, 50]) gives 40.96 and 1.553 769 516 341 963e-10
    #[test]
    fn a_fit_is_that_of_the_pooled_cells() {
        let fit = goodness_of_fit(&[18, 22, 30, 30], &[0.25; 4], 25.0);
        assert!((fit.statistic - 4.32).abs() < 1e-12 && fit.degrees == 3, "{fit:?}");
        assert!((fit.p_value - 0.228_918_864_336_105_17).abs() < 1e-14, "{fit:?}");
        // Cells of 10, 30 and 60 expected counts: the first goes with the second.
        let fit = goodness_of_fit(&[18, 22, 60], &[0.1, 0.3, 0.6], 25.0);
        assert_eq!((fit.statistic, fit.degrees, fit.p_value), (0.0, 1, 1.0));
        // A tail of too few goes with the last.
        let fit = goodness_of_fit(&[18, 80, 2], &[0.5, 0.49, 0.01], 25.0);
        assert_eq!(fit.degrees, 1);
        assert!(
            (fit.statistic - 40.96).abs() < 1e-12
                && (fit.p_value / 1.553_769_516_341_963e-10 - 1.0).abs() < 1e-12,
            "{fit:?}"
        );
    }
}
