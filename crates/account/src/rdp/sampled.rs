//! Rényi divergences of sampled parts: whole orders by the binomial theorem, orders between by a series (Gaussian noise)
//! or by convexity (all others).

use super::{
    curve::{self, log_exp_m1},
    series,
};
use crate::{Neighbours, Part, single};
use veracity_core::Refusal;
use veracity_core::numerics::logspace;

/// The largest order that is summed; beyond it the divergence without sampling stands in.
const MOST: f64 = 2048.0;
/// The largest order between whole ones for which the series is summed.
const MOST_SERIES: f64 = 128.0;

/// The divergence of a part on a Poisson batch.
///
/// With P, Q the pair of the part, removal is (1 − q) Q + q P against Q, and its moment at a whole order α is
/// Σ C(α, l) (1 − q)^{α−l} q^l E_Q[(P/Q)^l]. Where some reflection exchanges P and Q, removal costs at least as much as
/// addition: with r = P/Q, A = 1 − q + q r and C = 1 − q + q/r, the difference of the moments is the Q-mean of half of
/// √A sinh(b ln A) − r √C sinh(b ln 1/C), up to a factor 2, b = α − ½. At b = ½ it vanishes for every r; A C ≥ 1; and
/// sinh(b x)/sinh(x/2) rises with x, so for b ≥ ½ it is not negative.
///
/// # Promise    Never below the true divergence, both directions
/// # Reference  [MironovTalwarZhang19] Theorem 5 and Section 3.3; [ZhuWang19] Theorem 6; [ZhuDongWang22] Theorem 11
/// # Assumes    `part` is for one contribution that is there or not
/// # Numerics   Rounded up
pub(crate) fn poisson(rate: f64, part: &Part, neighbours: Neighbours, order: f64) -> Result<f64, Refusal> {
    if neighbours == Neighbours::Replaced {
        return Err(Refusal::no_theorem(
            format!("poisson-sampled {} with a replaced record", single::name(part)),
            "method rdp",
            "use add-remove or zero-out, or method exact",
        ));
    }
    match part {
        Part::Gaussian { mu } => Ok(poisson_gaussian(rate, *mu, order)),
        Part::Laplace { .. } | Part::Integer { .. } => {
            let unsampled = curve::divergence(part, order)?;
            if order > MOST {
                return Ok(unsampled);
            }
            let log_moments = log_moments(part, order)?;
            let sampled = between_whole(order, |n| binomial_moment(rate, n, |l| log_moments[l as usize]));
            Ok(sampled.min(unsampled))
        }
        // The mixture is again a response, one that tells the truth less often.
        Part::RandomizedResponse { buckets, noise, .. } => {
            let truth = rate * (1.0 - noise);
            Ok(curve::blank_response(*buckets, truth, (-truth).ln_1p(), order))
        }
        _ => Err(Refusal::no_theorem(
            format!("poisson-sampled {}", single::name(part)),
            "method rdp",
            "sample a gaussian, laplace or declared pure mechanism",
        )),
    }
}

/// (l − 1) D_l of a part for l up to the whole order at or above `order`.
fn log_moments(part: &Part, order: f64) -> Result<Vec<f64>, Refusal> {
    let mut moments = vec![0.0, 0.0];
    for l in 2..=order.ceil() as u32 {
        let l = f64::from(l);
        moments.push((l - 1.0) * curve::divergence(part, l)? * single::OUTWARD);
    }
    Ok(moments)
}

/// The divergence of Gaussian noise on a Poisson batch.
///
/// # Promise    Never below the true divergence, both directions
/// # Reference  [MironovTalwarZhang19] Theorem 4, Section 3.3
/// # Numerics   Rounded up; see `binomial_moment` and `series`
pub(crate) fn poisson_gaussian(rate: f64, mu: f64, order: f64) -> f64 {
    let square = mu * mu * single::OUTWARD;
    let unsampled = 0.5 * order * square;
    if order > MOST {
        return unsampled;
    }
    let whole = |n: u64| binomial_moment(rate, n, |l| 0.5 * (l * (l - 1)) as f64 * square);
    let chord = between_whole(order, whole).min(unsampled);
    if order.fract() == 0.0 || order > MOST_SERIES {
        return chord;
    }
    chord.min(series::log_moment(rate, mu * single::OUTWARD, order) / (order - 1.0))
}

/// log Σ C(n, l) (1 − q)^{n−l} q^l e^{m_l}, where m_0 = m_1 = 0. As the weights sum to one it is
/// log(1 + Σ_{l≥2} C(n, l) (1 − q)^{n−l} q^l (e^{m_l} − 1)), which has no cancellation.
///
/// # Promise    Never below the truth
/// # Reference  [MironovTalwarZhang19] Section 3.3; [ZhuWang19] Theorem 6
/// # Numerics   Each summand's logarithm is raised by 4e-15 of its log-gamma terms and 16 ulp of its other terms
fn binomial_moment(rate: f64, n: u64, moment: impl Fn(u64) -> f64) -> f64 {
    let size = n as f64;
    let (enter, stay) = (rate.ln(), (-rate).ln_1p());
    let gamma_slack = 4e-15 * (1.0 + libm_log_factorial(size));
    let terms: Vec<f64> = (2..=n)
        .map(|l| {
            let l_real = l as f64;
            let weight = (size - l_real) * stay + l_real * enter;
            let exponent = moment(l);
            let slack = gamma_slack + 16.0 * f64::EPSILON * (1.0 + exponent - weight);
            logspace::log_binomial(size, l_real) + weight + log_exp_m1(exponent) + slack
        })
        .collect();
    softplus(logspace::log_sum(&terms)) * single::OUTWARD
}

/// log n!, the size that the error of a log-binomial is relative to.
fn libm_log_factorial(n: f64) -> f64 {
    if n < 2.0 { 0.0 } else { n * n.ln() - n + 0.5 * (7.0 * n).ln() }
}

/// log(1 + e^x).
fn softplus(x: f64) -> f64 {
    if x > 40.0 { x + (-x).exp() } else { x.exp().ln_1p() }
}

/// The divergence at any order from (n − 1) D_n at whole orders: log E[(P/Q)^α] is convex in α and zero at 1, so the
/// chord lies above it.
fn between_whole(order: f64, whole: impl Fn(u64) -> f64) -> f64 {
    let below = order.floor();
    let part = order - below;
    let at_below = if below < 2.0 { 0.0 } else { whole(below as u64) };
    let at_above = if part == 0.0 { 0.0 } else { whole(below as u64 + 1) };
    ((1.0 - part) * at_below + part * at_above) / (order - 1.0) * single::OUTWARD
}

/// The divergence of a part on a batch of fixed size, where one record is replaced.
///
/// # Promise    Never below the true divergence
/// # Reference  [WangBalleKasiviswanathan19] Theorem 9: whole orders ≥ 2, sampling without replacement, replace-one
/// # Assumes    `part` is for a replaced record, so its two contributions are already in it
/// # Numerics   Rounded up as `binomial_moment`
pub(crate) fn fixed_size(rate: f64, part: &Part, order: f64) -> Result<f64, Refusal> {
    let unsampled = curve::divergence(part, order)?;
    if order > MOST {
        return Ok(unsampled);
    }
    let moments = log_moments(part, order)?;
    let largest = match single::declared(part) {
        Some((epsilon, 0.0)) => epsilon,
        Some(_) | None => f64::INFINITY,
    };
    let whole = |n: u64| {
        let size = n as f64;
        let gamma_slack = 4e-15 * (1.0 + libm_log_factorial(size));
        let terms: Vec<f64> = (2..=n)
            .map(|l| {
                let chance = l as f64 * rate.ln();
                let factor = log_factor(l, moments[l as usize], largest);
                let slack = gamma_slack + 16.0 * f64::EPSILON * (1.0 + moments[l as usize] - chance);
                logspace::log_binomial(size, l as f64) + chance + factor + slack
            })
            .collect();
        softplus(logspace::log_sum(&terms)) * single::OUTWARD
    };
    Ok(between_whole(order, whole).min(unsampled))
}

/// The logarithm of what stands beside C(α, l) γ^l in the theorem.
fn log_factor(l: u64, log_moment: f64, largest: f64) -> f64 {
    let bounded = std::f64::consts::LN_2.min(l as f64 * log_exp_m1(largest));
    let usual = log_moment + bounded;
    if l == 2 { usual.min(4f64.ln() + log_exp_m1(log_moment)) } else { usual }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// # mpmath 1.4, 40 digits: r=lambda z: exp(m*z-m*m/2); t=a*m+14
    /// # log1p(quad(lambda z: npdf(z)*((1-q+q*r(z))**a-1-a*q*(r(z)-1)), linspace(-14,t,int(t+14)*2)))/(a-1)
    #[test]
    fn sampled_gaussians_match_quadrature() {
        let golden = [
            (0.004266666666666667, 1.0, 2.0, 3.127_987_686_563_184e-5),
            (0.004266666666666667, 1.0, 8.0, 1.3519337954976322e-4),
            (0.004266666666666667, 1.0, 8.5, 1.448703342064207e-4),
            (0.01, 1.6666666666666667, 1.3, 7.953_892_318_733_878e-4),
            (0.01, 1.6666666666666667, 2.5, 2.3825316123336176e-3),
            (0.01, 1.6666666666666667, 5.0, 1.1920758457700156),
            (0.3, 2.0, 1.1, 3.729_484_330_546_942e-1),
            (0.3, 2.0, 3.7, 5.750_176_825_383_261),
            (0.9, 0.5, 1.5, 1.537_166_309_586_305e-1),
            (0.9, 0.5, 10.25, 1.176800726494786),
            (0.01, 0.1, 30.0, 1.5117535386756034e-5),
            (0.6, 3.0, 40.5, 1.8172624208196145e+2),
            (0.0001, 0.05, 64.0, 8.010_132_742_723_422e-10),
        ];
        for (rate, mu, order, truth) in golden {
            let found = poisson_gaussian(rate, mu, order);
            let slack = 1e-10 * truth + 2e-14 / (order - 1.0);
            assert!(truth <= found && found <= truth + slack, "{rate} {mu} {order}: {found:e} {truth:e}");
        }
    }

    /// # mpmath 1.4, 40 digits: as above with the densities exp(-abs(x-e))/2 and exp(-abs(x))/2, on
    /// # [-60,-20,-5,0,e/2,e,e+5,e+20,e+60]
    #[test]
    fn sampled_laplace_matches_quadrature_at_whole_orders() {
        let golden = [
            (0.01, 1.0, 2.0, 8.572_629_006_841_637e-5),
            (0.1, 2.0, 5.0, 1.2726822395397008e-1),
            (0.01, 0.2, 16.0, 3.0217628499698598e-5),
            (0.2, 1.0, 3.5, 6.150_848_263_112_087e-2),
            (0.001, 4.0, 12.0, 2.498_939_455_772_905e-4),
        ];
        for (rate, epsilon, order, truth) in golden {
            let found = poisson(rate, &Part::Laplace { epsilon }, Neighbours::Present, order).unwrap();
            let loose = if f64::fract(order) == 0.0 { 1e-9 } else { 0.2 };
            assert!(
                truth <= found && found <= truth * (1.0 + loose),
                "{rate} {epsilon} {order}: {found} {truth}"
            );
        }
    }

    /// The step of the proof above that is not algebra, on a grid.
    #[test]
    fn removal_costs_at_least_as_much_as_addition() {
        for order in [1.01, 1.5, 2.0, 7.5, 30.0f64] {
            for rate in [0.001, 0.3, 0.9] {
                for log_ratio in [0.01, 0.5, 3.0, 8.0f64] {
                    let r = log_ratio.exp();
                    let psi = |t: f64| t.powf(order) - t.powf(1.0 - order);
                    let (a, c) = (1.0 - rate + rate * r, 1.0 - rate + rate / r);
                    let difference = psi(a) + r * psi(c);
                    assert!(difference >= -1e-12 * psi(a) - 1e-15, "{order} {rate} {r}: {difference}");
                }
            }
        }
    }

    #[test]
    fn a_batch_of_everyone_but_one_is_hardly_amplified() {
        let part = Part::Gaussian { mu: 0.2 };
        let found = fixed_size(0.999, &part, 4.0).unwrap();
        assert!(found <= curve::divergence(&part, 4.0).unwrap());
        let small = fixed_size(0.001, &part, 4.0).unwrap();
        assert!(small < 1e-4 * found * 4.0, "{small} {found}");
    }
}
