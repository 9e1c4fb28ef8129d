//! How far integer noise strays: the half-width that holds with a given chance.

use veracity_core::numerics::normal;
use veracity_noise::Noise;

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

/// The chance that noise is below a whole number, from both sides.
///
/// # Promise    The truth is between the two
/// # Reference  [CanonneKamathSteinke20] for both laws. Wide Gaussian noise is not summed: Σ_{x ≥ k} e^{−x²/2σ²} is between the
/// integrals from k and from k − 1, and from σ = 64 on the normaliser is σ√2π up to a part of e^{−2π²σ²}
/// # Numerics   Pushed outward by a relative 1e-12, and by the rounding of every sum
pub fn chance_below(noise: Noise, number: i64) -> (f64, f64) {
    // Both laws are symmetric: P(X < k) = P(X ≥ 1 − k) = 1 − P(X ≥ k).
    let reaches = |least: u64| match noise {
        Noise::Laplace { scale } => laplace_reaches(scale.as_f64(), least),
        Noise::Gaussian { sigma } => gaussian_reaches(sigma.as_f64(), least),
    };
    match u64::try_from(number) {
        Ok(above) if above > 0 => {
            let (lower, upper) = reaches(above);
            ((1.0 - upper).next_down().max(0.0), (1.0 - lower).next_up().min(1.0))
        }
        _ => reaches(number.unsigned_abs() + 1),
    }
}

/// P(X ≥ k) = q^k/(1 + q) with q = e^{−1/b}, for k ≥ 1.
fn laplace_reaches(b: f64, least: u64) -> (f64, f64) {
    let chance = (-(least as f64) / b).exp() / (1.0 + (-1.0 / b).exp());
    // What has underflowed is still possible.
    (chance / OUTWARD, (chance * OUTWARD).clamp(f64::MIN_POSITIVE, 0.5))
}

/// Noise up to this wide is summed point by point.
const SUMMED: f64 = 1e5;

/// P(X ≥ k) for k ≥ 1.
fn gaussian_reaches(sigma: f64, least: u64) -> (f64, f64) {
    let normal = |from: f64| normal::cdf(-from / sigma);
    if sigma > SUMMED {
        let (near, far) = ((least - 1) as f64, least as f64);
        return (normal(far) / OUTWARD, (normal(near) * OUTWARD).clamp(f64::MIN_POSITIVE, 0.5));
    }
    let weight = |x: u64| (-0.5 * (x as f64 / sigma).powi(2)).exp();
    // Past 12σ the weights are below e^−72 of the whole.
    let far = (12.0 * sigma).ceil() as u64 + 1;
    let whole = if sigma >= 64.0 {
        sigma * (2.0 * std::f64::consts::PI).sqrt()
    } else {
        1.0 + 2.0 * (1..=far).map(weight).sum::<f64>()
    };
    let chance = (least..=far).map(weight).sum::<f64>() / whole;
    let outward = OUTWARD * (1.0 + far as f64 * f64::EPSILON);
    (chance / outward, (chance * outward + 1e-25).min(0.5))
}

/// A t with P(|Σ wᵢ Xᵢ| > t) ≤ `miss` for independent draws Xᵢ with these weights, or with weights that are no larger.
///
/// Each draw of wide noise is within some steps of a draw of the continuous distribution that has the same quantile. So the sum is
/// within Σ|wᵢ| of those steps of a sum of continuous draws. Narrow noise has the half-width of all draws at once.
///
/// # Promise    Never below the smallest such t
/// # Reference  \[Birnbaum48\]: a sum of independent symmetric unimodal variables is the less peaked the larger their weights are
/// # Numerics   Pushed outward by a relative 1e-9
pub(crate) fn combined_half_width(noise: Noise, weights: &[f64], miss: f64) -> f64 {
    let weights: Vec<f64> = weights.iter().map(|weight| weight.abs()).collect();
    let all: f64 = weights.iter().sum();
    let at_once = all * half_width(noise, miss / weights.len() as f64);
    let continuous = match noise {
        Noise::Laplace { scale } => {
            let b = scale.as_f64();
            // P(X ≥ k) = q^k/(1 + q) and P(Z ≥ z) = e^{−z/b}/2 are equal at z = k + b ln((1 + q)/2), so X is k where Z is from
            // there on, up to one more.
            let apart = 1.0 + b * (0.5 * (1.0 + (-1.0 / b).exp())).ln() * (1.0 - 1e-9);
            b * laplace_sum(&weights, miss) + all * (apart.clamp(0.5, 1.0) + 1e-9 * b)
        }
        // Σ_{x ≥ k} is between the integrals from k and from k − 1, and the normaliser is σ√2π up to 1e-1000.
        Noise::Gaussian { sigma } if sigma.as_f64() >= 64.0 => {
            let length = weights.iter().map(|weight| weight * weight).sum::<f64>().sqrt();
            -normal::quantile(miss / 2.0) * sigma.as_f64() * length * (1.0 + 1e-9) + all
        }
        Noise::Gaussian { .. } => at_once,
    };
    continuous.min(at_once)
}

/// The t with P(|Σ wᵢ Zᵢ| > t) = `miss` for continuous Laplace draws of scale 1 and weights wᵢ ≥ 0, or up to 0.3% more for four of them and 5% for six.
///
/// With different weights the probability is Σᵢ cᵢ e^{−t/wᵢ}, cᵢ = Π_{j ≠ i} wᵢ²/(wᵢ² − wⱼ²). Weights that are nearly equal are moved
/// apart, upward: otherwise the cᵢ would cancel. With five or more they are moved farther apart, because more factors cancel.
fn laplace_sum(weights: &[f64], miss: f64) -> f64 {
    let apart = if weights.len() <= 4 { 1.0 + 1e-3 } else { 1.0 + 1e-2 };
    let largest = weights.iter().copied().fold(0.0, f64::max);
    if largest == 0.0 {
        return 0.0;
    }
    let mut weights: Vec<f64> = weights.iter().map(|weight| weight.max(1e-6 * largest)).collect();
    weights.sort_by(f64::total_cmp);
    for at in 1..weights.len() {
        weights[at] = weights[at].max(weights[at - 1] * apart);
    }
    let beyond = |t: f64| -> f64 {
        let share = |i: usize| {
            let ratio = |other: f64| 1.0 / (1.0 - (other / weights[i]).powi(2));
            let others = weights.iter().enumerate().filter(|(j, _)| *j != i);
            others.map(|(_, other)| ratio(*other)).product::<f64>()
        };
        (0..weights.len()).map(|i| share(i) * (-t / weights[i]).exp()).sum()
    };
    // All of them at once.
    let count = weights.len() as f64;
    let (mut low, mut high) = (0.0, -(miss / count).ln() * weights.iter().sum::<f64>() * OUTWARD);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if beyond(middle) > miss { low = middle } else { high = middle }
    }
    high * (1.0 + 1e-9)
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
    #![allow(clippy::unwrap_used)]
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

    /// # mpmath 1.3, 30 digits: exp(-k/b)/(1 + exp(-1/b)), and nsum(lambda x: exp(-x*x/(2*s*s)), [k, inf]) over the same from -inf,
    /// for P(X >= k); below 1 - k there is as much.
    #[test]
    fn chances_are_between_their_sides() {
        for (noise, number, truth) in CHANCES {
            let noise = match noise {
                ("laplace", scale) => Noise::Laplace { scale: ratio(scale) },
                (_, sigma) => Noise::Gaussian { sigma: ratio(sigma) },
            };
            for (number, truth) in [(1 - number, truth), (number, 1.0 - truth)] {
                let (lower, upper) = chance_below(noise, number);
                // The golden numbers have 17 digits.
                assert!(
                    lower <= truth * (1.0 + 1e-15) && truth <= upper * (1.0 + 1e-15),
                    "{noise:?} {number}"
                );
                assert!(
                    upper - lower <= 1e-9 * truth + 5e-6 * f64::from(number.abs() > 100_000),
                    "{noise:?} {number}"
                );
            }
        }
        // Chances of all that is below rise by the chance of one number, and are certain far out.
        let narrow = Noise::Gaussian { sigma: ratio(2.5) };
        assert!((-40..40).all(|k| chance_below(narrow, k).1 <= chance_below(narrow, k + 1).1));
        assert!(chance_below(narrow, 100).1 == 1.0 && chance_below(narrow, -100).0 <= 1e-300);
    }

    /// By summing over all triples of integers: the probability beyond the half-width is at most the one asked for, also with smaller
    /// weights. Control: nine tenths of it is not enough, or two steps less.
    #[test]
    fn half_widths_of_weighted_sums_hold_and_are_not_much_too_wide() {
        let distributions: [(Noise, f64, i32); 3] = [
            (Noise::Laplace { scale: ratio(30.0) }, 30.0, 400),
            (Noise::Laplace { scale: ratio(2.5) }, 2.5, 40),
            (Noise::Gaussian { sigma: ratio(70.0) }, 70.0, 420),
        ];
        for (noise, scale, far) in distributions {
            let density = |x: i32| match noise {
                Noise::Laplace { .. } => (-f64::from(x.abs()) / scale).exp(),
                Noise::Gaussian { .. } => (-0.5 * (f64::from(x) / scale).powi(2)).exp(),
            };
            let law: Vec<f64> = (-far..=far).map(density).collect();
            let whole: f64 = law.iter().sum();
            let mut cumulative = vec![0.0];
            law.iter().for_each(|p| cumulative.push(cumulative[cumulative.len() - 1] + p / whole));
            // P(X ≤ x).
            let below = |x: f64| {
                cumulative[(x.floor().clamp(f64::from(-far - 1), f64::from(far)) as i32 + far + 1) as usize]
            };
            // The last weight is the largest: P(|s + w X| > t) from its cumulative probabilities.
            let beyond = |weights: &[f64], t: f64| {
                let last = weights[weights.len() - 1];
                let outside = |s: f64| {
                    let (low, high) = ((-t - s) / last, (t - s) / last);
                    below((low - 1e-12).ceil() - 1.0) + 1.0 - below(high + 1e-12)
                };
                let pairs =
                    |weight: f64| law.iter().zip(-far..=far).map(move |(p, x)| (p, weight * f64::from(x)));
                match weights {
                    [one, _] => pairs(*one).map(|(p, x)| p / whole * outside(x)).sum::<f64>(),
                    [one, two, _] => pairs(*one)
                        .map(|(p, x)| {
                            p / whole * pairs(*two).map(|(q, y)| q / whole * outside(x + y)).sum::<f64>()
                        })
                        .sum(),
                    _ => unreachable!(),
                }
            };
            let all: [&[f64]; 7] = [
                &[0.0, 1.0],
                &[0.2, 0.8],
                &[0.5, 0.5],
                &[0.3, 0.7],
                &[0.4, 0.5, 0.6],
                &[0.1, 0.1, 0.9],
                &[1.0, 1.0, 1.0],
            ];
            for weights in all {
                let t = combined_half_width(noise, weights, 0.05);
                let smaller: Vec<f64> = weights.iter().map(|weight| 0.9 * weight).collect();
                assert!(
                    beyond(weights, t) <= 0.05 && beyond(&smaller, t) <= 0.05,
                    "{noise:?} {weights:?}: {t}"
                );
                let tight = (0.9 * t).min(t - 2.0 * weights.iter().sum::<f64>());
                assert!(beyond(weights, tight) > 0.05, "{noise:?} {weights:?}: {t}");
            }
        }
    }

    /// # mpmath 1.3, 30 digits: findroot of (u^2 exp(-t/u) - v^2 exp(-t/v))/(u^2 - v^2) = miss, and of (1 + t) exp(-2t) = miss
    #[test]
    fn sums_of_continuous_laplace_draws_have_the_tails_of_the_formula() {
        for (off_middle, miss, exact) in GOLDEN {
            let found = laplace_sum(&[0.5 - off_middle, 0.5 + off_middle], miss);
            assert!(exact <= found && found <= exact * (1.0 + 2e-3), "{off_middle} {miss}: {found}");
        }
        assert_eq!(laplace_sum(&[0.0, 0.0], 0.05), 0.0);
    }

    const GOLDEN: [(f64, f64, f64); 5] = [
        (0.0, 0.05, 2.05650164035982),
        (0.1, 0.05, 2.101966568150785),
        (0.3, 0.05, 2.448211485795908),
        (0.45, 0.001, 6.565002745571619),
        (0.5, 0.05, 2.995732273553991),
    ];

    const CHANCES: [((&str, f64), i64, f64); 11] = [
        (("laplace", 1.0), 3, 0.03639726343516549),
        (("laplace", 2.5), 1, 0.401312339887548),
        (("laplace", 2.5), 40, 6.73734204330192e-8),
        (("laplace", 28.5), 31, 0.17144778750428943),
        (("laplace", 1000.0), 2500, 0.04106302055989527),
        (("gaussian", 0.5), 1, 0.10671464647902605),
        (("gaussian", 2.5), 6, 0.013387724223448426),
        (("gaussian", 40.0), 31, 0.22287489795456888),
        (("gaussian", 100.0), 150, 0.06745640821915705),
        (("gaussian", 5000.0), 9000, 0.035938214602456843),
        (("gaussian", 200000.0), 300001, 0.06680687747527364),
    ];

    fn ratio(x: f64) -> Ratio {
        Ratio::at_least(x).unwrap()
    }
}
