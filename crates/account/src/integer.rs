//! Noise on whole numbers: what each method reads of one distribution, in one place.
//!
//! [`IntegerNoise::losses`] lists the privacy losses of an answer that moves by a whole number. The exact and pld methods and the
//! approximations read that list; the other functions give the closed forms that theorems know, and nothing where there is none.

use crate::{rdp::curve::log_exp_m1, single::OUTWARD};
use veracity_core::Refusal;
use veracity_core::numerics::{logspace, twofold::Twofold};

/// A distribution of noise on whole numbers: symmetric, and falling away from 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum IntegerNoise {
    /// P(x) ∝ exp(−x²/2σ²).
    Gaussian {
        /// Its σ.
        sigma: f64,
    },
    /// P(x) ∝ exp(−|x|/b).
    Laplace {
        /// Its scale b.
        scale: f64,
    },
    /// The difference of two independent Poisson variables of mean v/2: P(x) = e^{−v} I_|x|(v).
    ///
    /// Poisson probabilities are log-concave, and so is what they convolve to: P(x)² ≥ P(x − 1) P(x + 1). Hence P(x)/P(x − s) is
    /// monotone in x for every s, the most powerful tests of a shift are half-lines, and a larger shift has more powerful ones: the
    /// shift by the whole sensitivity is the worst pair. No closed form of its Rényi divergence is used, nor a ρ.
    Skellam {
        /// Its variance v.
        variance: f64,
    },
}

/// Which outcomes are listed: those that one dataset or either of them shows with a probability above 1e-330.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shown {
    ByFirst,
    ByEither,
}

/// The logarithm of an outcome's probability under the first dataset, and the loss there.
pub(crate) type Loss = (f64, f64);

/// The largest shift whose losses are listed.
const LARGEST_SHIFT: u64 = 1_000_000;

impl IntegerNoise {
    /// The name of the kind of mechanism that adds it.
    pub fn kind(&self) -> &'static str {
        match self {
            IntegerNoise::Gaussian { .. } => "discrete-gaussian",
            IntegerNoise::Laplace { .. } => "discrete-laplace",
            IntegerNoise::Skellam { .. } => "skellam",
        }
    }

    /// The largest loss, where there is one: the pure ε of one use, not rounded.
    ///
    /// # Reference  [GhoshRoughgardenSundararajan09] (discrete Laplace)
    pub(crate) fn largest_loss(&self, shift: u64) -> Option<f64> {
        match self {
            IntegerNoise::Laplace { scale } => Some(shift as f64 / scale),
            IntegerNoise::Gaussian { .. } | IntegerNoise::Skellam { .. } => None,
        }
    }

    /// The ρ for which one use is ρ-zCDP, not rounded, where a theorem gives one.
    ///
    /// # Reference  [CanonneKamathSteinke20] Theorem 4 (discrete Gaussian); [BunSteinke16] Proposition 1.4 (pure ε: ε²/2)
    pub(crate) fn rho(&self, shift: u64) -> Option<f64> {
        match self {
            IntegerNoise::Gaussian { sigma } => Some(0.5 * (shift as f64 / sigma).powi(2)),
            IntegerNoise::Laplace { .. } => {
                self.largest_loss(shift).map(|epsilon| 0.5 * (epsilon * OUTWARD) * (epsilon * OUTWARD))
            }
            IntegerNoise::Skellam { .. } => None,
        }
    }

    /// The Rényi divergence of one use, where a theorem gives it or an upper bound.
    ///
    /// # Reference  [CanonneKamathSteinke20] Theorem 4 (discrete Gaussian); a direct sum (discrete Laplace)
    pub(crate) fn divergence(&self, shift: u64, order: f64) -> Option<f64> {
        match self {
            IntegerNoise::Gaussian { sigma } => Some(0.5 * order * (shift as f64 / sigma).powi(2)),
            IntegerNoise::Laplace { scale } => Some(laplace_divergence(*scale, shift as f64, order)),
            IntegerNoise::Skellam { .. } => None,
        }
    }

    /// The μ² of a Gaussian that leaks about as much: twice the mean of the loss. No bound.
    pub(crate) fn square(&self, shift: u64) -> f64 {
        match self {
            IntegerNoise::Gaussian { sigma } => (shift as f64 / sigma).powi(2),
            IntegerNoise::Skellam { variance } => (shift as f64).powi(2) / variance,
            IntegerNoise::Laplace { scale } => {
                let shift = shift as f64 / scale;
                2.0 * (shift + (-shift).exp_m1())
            }
        }
    }

    /// The spacing of the lattice that the losses lie on, if they do.
    pub(crate) fn spacing(&self, shift: u64) -> Option<f64> {
        match self {
            IntegerNoise::Gaussian { sigma } => Some(shift as f64 / (sigma * sigma)),
            IntegerNoise::Laplace { scale } => Some(2.0 / scale),
            IntegerNoise::Skellam { .. } => None,
        }
    }

    /// Whether the two datasets have no outcome in common that either shows with a probability above 1e-330.
    pub(crate) fn is_apart(&self, shift: u64) -> bool {
        match self {
            IntegerNoise::Gaussian { sigma } => shift as f64 > 2.0 * gaussian_reach(*sigma) as f64,
            IntegerNoise::Skellam { variance } => shift > 2 * skellam_reach(*variance),
            IntegerNoise::Laplace { .. } => false,
        }
    }

    /// The losses of an answer that moves by `shift`: log P(x) and log P(x)/P(x − shift) for each outcome x.
    ///
    /// # Errors     Refuses shifts and noise whose losses are too many to list
    /// # Promise    What the list lacks has a probability below 1e-330 under the datasets of `shown`; nothing, for noise whose
    /// losses are bounded
    /// # Numerics   A log-probability errs by 12 + 4|log P| units of round-off, a loss by four of itself
    pub(crate) fn losses(&self, shift: u64, shown: Shown) -> Result<Vec<Loss>, Refusal> {
        if shift > LARGEST_SHIFT {
            return Err(Refusal::out_of_range("sensitivity", shift, "at most 10^6 for discrete noise"));
        }
        match self {
            IntegerNoise::Laplace { scale } => Ok(laplace_losses(*scale, shift)),
            IntegerNoise::Gaussian { sigma } => gaussian_losses(*sigma, shift, shown),
            IntegerNoise::Skellam { variance } => skellam_losses(*variance, shift, shown),
        }
    }
}

/// The outcomes to list, where noise shows those up to `reach` from its centre.
fn outcomes(reach: i64, shift: u64, shown: Shown) -> impl Iterator<Item = i64> {
    let second = match shown {
        Shown::ByFirst => None,
        Shown::ByEither => Some((reach + 1).max(shift as i64 - reach)..=reach + shift as i64),
    };
    (-reach..=reach).chain(second.into_iter().flatten())
}

/// The loss is (|x − shift| − |x|)/b: all outcomes at or above the centre have one, and all at or below the moved one.
fn laplace_losses(scale: f64, shift: u64) -> Vec<Loss> {
    let d = shift as f64;
    let log_norm = (0.5 / scale).tanh().ln();
    let log_edge = -(1.0 + (-1.0 / scale).exp()).ln();
    let between = (1..shift).map(|x| {
        let x = x as f64;
        (log_norm - x / scale, (d - 2.0 * x) / scale)
    });
    [(log_edge, d / scale), (log_edge - d / scale, -d / scale)].into_iter().chain(between).collect()
}

/// The Rényi divergence of discrete Laplace noise.
///
/// # Promise    Never below the true divergence
/// # Reference  A direct sum; P(x) = tanh(1/2b) e^{−|x|/b}
/// # Numerics   Absolute slack of 32 ulp of the exponents; the caller takes the pure curve where that dominates
fn laplace_divergence(scale: f64, shift: f64, order: f64) -> f64 {
    let less_one = order - 1.0;
    let rate = 1.0 / scale;
    let epsilon = shift * rate;
    let end = -(-rate).exp().ln_1p();
    let growth = (2.0 * order - 1.0) * rate;
    let between = if shift > 1.0 {
        (0.5 * rate).tanh().ln() - order * epsilon + growth + log_exp_m1(growth * (shift - 1.0))
            - log_exp_m1(growth)
    } else {
        f64::NEG_INFINITY
    };
    let log_moment = logspace::log_sum(&[end - order * epsilon, end + less_one * epsilon, between]);
    let slack = 32.0 * f64::EPSILON * (1.0 + 2.0 * order * epsilon + growth + rate.ln().abs());
    (log_moment + slack) / less_one
}

/// The loss is (shift² − 2·shift·x)/2σ².
fn gaussian_losses(sigma: f64, shift: u64, shown: Shown) -> Result<Vec<Loss>, Refusal> {
    if sigma > 1e4 {
        return Err(Refusal::out_of_range(
            "sigma",
            sigma,
            "sigma ≤ 1e4 and sensitivity ≤ 10^6 for discrete noise; for larger ones use method zcdp or rdp",
        ));
    }
    let d = shift as f64;
    let log_norm = log_theta(sigma);
    let loss = |x: i64| {
        let x = x as f64;
        let log_weight = -0.5 * (x / sigma) * (x / sigma);
        (log_weight - log_norm, (0.5 * d * d - d * x) / (sigma * sigma))
    };
    Ok(outcomes(gaussian_reach(sigma), shift, shown).map(loss).collect())
}

/// Beyond 39 σ the mass is below 1e-330, under either dataset.
fn gaussian_reach(sigma: f64) -> i64 {
    (39.0 * sigma).ceil() as i64 + 1
}

/// The logarithm of Σ e^{−x²/2σ²} over all whole x.
///
/// # Numerics  A few ulp. Poisson summation makes it σ√(2π) (1 + 2 Σ_{k≥1} e^{−2π²σ²k²}): from σ = 2 on the rest is below
/// 1e-33. For smaller σ the terms are added up from the smallest to the largest, and there are fewer than 80 to each side
fn log_theta(sigma: f64) -> f64 {
    if sigma >= 2.0 {
        return sigma.ln() + 0.918_938_533_204_672_8;
    }
    let weight = |x: i64| (-0.5 * (x as f64 / sigma).powi(2)).exp();
    let one_side: f64 = (1..=gaussian_reach(sigma)).rev().map(weight).sum();
    (2.0 * one_side).ln_1p()
}

/// The loss at x is log I_|x|(v) − log I_|x − shift|(v).
///
/// # Numerics   Probabilities are relative to that of 0, as products of ratios in two floats, so that a loss keeps its relative
/// accuracy also where noise is wide and the loss tiny. The logarithm of P(0) is that of their sum: what is beyond 2^-500 of it
/// is nothing. The list errs as `losses` states, which the exact method and pld charge to both sides
fn skellam_losses(variance: f64, shift: u64, shown: Shown) -> Result<Vec<Loss>, Refusal> {
    if variance > 1e8 {
        return Err(Refusal::out_of_range("variance", variance, "variance ≤ 1e8 and sensitivity ≤ 10^6"));
    }
    let reach = skellam_reach(variance);
    let weights = skellam_weights(variance, (reach + shift) as usize);
    let near = weights.iter().skip(1).take_while(|weight| weight.blocks == 0);
    let one_side = near.fold(Twofold::ZERO, |sum, weight| sum.plus(weight.rest));
    let log_norm = Twofold::from(1.0).plus(one_side.times(2.0)).ln();
    let loss = |x: i64| {
        let (first, second) =
            (weights[x.unsigned_abs() as usize], weights[x.abs_diff(shift as i64) as usize]);
        (first.ln() - log_norm, first.over(second).ln())
    };
    Ok(outcomes(reach as i64, shift, shown).map(loss).collect())
}

/// How far from 0 outcomes are listed: P(|X| > t) ≤ 2 exp(√(t² + v²) − v − t asinh(t/v)), the bound of Chernoff for
/// E e^{θX} = e^{v(cosh θ − 1)}, which is below 1e-330 there.
fn skellam_reach(variance: f64) -> u64 {
    let exponent = |t: f64| t * (t / variance).asinh() - t * t / (t.hypot(variance) + variance);
    let mut reach = 1.0;
    while exponent(reach) < 762.0 {
        reach = (reach * 1.01).ceil() + 1.0;
    }
    reach as u64
}

/// A positive number as `rest` · 2^(−500 · `blocks`).
#[derive(Clone, Copy)]
struct Weight {
    rest: Twofold,
    blocks: i32,
}

/// 2^-500.
const BLOCK: f64 = f64::from_bits((1023 - 500) << 52);

impl Weight {
    /// # Numerics  Relative error of four units of round-off. A ratio near 1 is one of the same block, or of the next, which
    /// a power of two moves to the same exactly
    fn ln(self) -> f64 {
        // ln 2 in two parts, of which the first has 33 bits: its product with a whole number of blocks is exact.
        const HIGH: f64 = 0.693_147_180_369_123_8;
        const LOW: f64 = 1.908_214_929_270_587_7e-10;
        let powers = -500.0 * f64::from(self.blocks);
        (powers * HIGH + self.rest.ln()) + powers * LOW
    }

    fn over(self, other: Weight) -> Weight {
        let (rest, blocks) = (self.rest.product(other.rest.reciprocal()), self.blocks - other.blocks);
        let moved = match blocks {
            1 => rest.times(BLOCK),
            -1 => rest.times(1.0 / BLOCK),
            _ => return Weight { rest, blocks },
        };
        // Only where nothing is lost at the ends of the range of floats.
        match (1e-280..1e280).contains(&moved.nearest()) {
            true => Weight { rest: moved, blocks: 0 },
            false => Weight { rest, blocks },
        }
    }
}

/// I_k(v)/I_0(v) for k from 0 to `last`.
///
/// # Reference  I_{k−1} = I_{k+1} + (2k/v) I_k, so r_k = I_{k+1}/I_k has r_{k−1} = 1/(2k/v + r_k): all terms positive, and
/// each step down multiplies the relative error of the ratio by r_{k−1} r_k < 1. It starts at an inequality of Amos (1974),
/// r_k ≥ v/(k + 1 + √((k + 1)² + v²)), so far beyond `last` that this error has gone below 2^-104
/// # Numerics   Two floats: steps accumulate less than 2^-102 √v each, products less than that times k
fn skellam_weights(variance: f64, last: usize) -> Vec<Weight> {
    let further = 40.0 / (last.max(1) as f64 / variance).asinh() + 3.0;
    let start = last + further as usize;
    let next = start as f64 + 1.0;
    let mut ratio = Twofold::from(variance / (next + next.hypot(variance)));
    let mut ratios = vec![Twofold::ZERO; last];
    for k in (0..start).rev() {
        // From r_{k+1} to r_k.
        ratio = Twofold::quotient(2.0 * (k as f64 + 1.0), variance).plus(ratio).reciprocal();
        if k < last {
            ratios[k] = ratio;
        }
    }
    let mut weight = Weight { rest: Twofold::from(1.0), blocks: 0 };
    let mut weights = vec![weight];
    for ratio in ratios {
        weight.rest = weight.rest.product(ratio);
        if weight.rest.nearest() < BLOCK {
            weight = Weight { rest: weight.rest.times(1.0 / BLOCK), blocks: weight.blocks + 1 };
        }
        weights.push(weight);
    }
    weights
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Method, Question};
    use veracity_core::{Adjacency, Count, Delta, Mechanism, NoiseMultiplier, SamplingRate};

    /// The norm by the plain sum, and by the closed form on the other side of where it is used.
    #[test]
    fn the_norm_of_integer_noise_is_that_of_the_plain_sum() {
        for sigma in [0.05, 0.3, 1.0, 1.9, 1.999, 2.0, 2.1, 7.3, 500.0] {
            let reach = gaussian_reach(sigma);
            let terms = (1..=reach).rev().map(|x| 2.0 * (-0.5 * (x as f64 / sigma).powi(2)).exp());
            let sum = terms.fold(0.0, |sum, term| sum + term) + 1.0;
            assert!((log_theta(sigma) - sum.ln()).abs() <= 1e-15 * (1.0 + sum.ln().abs()), "{sigma}");
        }
    }

    /// # mpmath 1.3, 60 digits: log(exp(-v)*besseli(x, v)), and log(besseli(x, v)/besseli(x - d, v))
    #[test]
    fn skellam_losses_are_those_of_bessel_functions() {
        let golden: [(f64, u64, i64, f64, f64); 16] = [
            (1e-6, 1, 0, -9.9999975e-07, 14.508657738524345),
            (1e-6, 1, 1, -14.508658738524094, -14.508657738524345),
            (1e-6, 2, 5, -77.3307814354031, -32.01304775060245),
            (0.25, 1, -3, -8.27617936882336, 3.466516441561972),
            (1.0, 1, 0, -0.7640856414928213, 0.8065623459980099),
            (1.0, 3, -7, -14.345995653624481, 8.66718292434856),
            (30.0, 4, 2, -2.6830914125886594, 0.0),
            (30.0, 100, 90, -101.98769624087836, -97.6934160490207),
            (30.0, 1, -200, -350.5056230555941, 2.600751093882526),
            (1e4, 1, 0, -5.524096218567699, 5.000250022919792e-05),
            (1e4, 1, 1, -5.524146221067928, -5.000250022919792e-05),
            (1e4, 7, -3000, -452.25827659746966, 2.072154289686158),
            (1e8, 1, 0, -10.129278903930855, 5.0000000250000005e-09),
            (1e8, 1, 1, -10.129278908930855, -5.0000000250000005e-09),
            (1e8, 3, -20000, -12.129278907264188, 0.0006000449989993249),
            (1e8, 1000, 400, -10.130078903934855, 0.0010000000049956667),
        ];
        for (variance, shift, x, log_mass, loss) in golden {
            let reach = skellam_reach(variance) as i64;
            let all = skellam_losses(variance, shift, Shown::ByEither).unwrap();
            let found = all[(x + reach) as usize];
            let unit = f64::EPSILON / 2.0;
            assert!(
                (found.0 - log_mass).abs() <= (12.0 + 4.0 * log_mass.abs()) * unit,
                "{variance} {x}: {found:?}"
            );
            assert!(
                (found.1 - loss).abs() <= 4.5 * loss.abs() * unit,
                "{variance} {shift} {x}: {found:?} {loss}"
            );
            let sum: f64 = all.iter().map(|(log, _)| log.exp()).sum();
            assert!((sum - 1.0).abs() < 1e-12, "{variance}: {sum}");
        }
    }
    /// The exact method and pld read the same losses by different means. The methods that have no theorem name the noise.
    #[test]
    fn skellam_noise_is_certified_by_its_losses_and_refused_elsewhere() {
        let number = |x: f64| NoiseMultiplier::new(x).unwrap();
        let skellam = |variance: f64, sensitivity: u64| Mechanism::Skellam {
            variance: number(variance),
            sensitivity: Count::new(sensitivity).unwrap(),
        };
        let times = |many: u64| Count::new(many).unwrap();
        let sampled = Mechanism::PoissonSampled {
            rate: SamplingRate::new(0.1).unwrap(),
            mechanism: Box::new(skellam(2.0, 1)),
        };
        let gaussian = Mechanism::Gaussian { noise_multiplier: number(3.0) };
        let asked = [
            (skellam(9.0, 2).repeated(times(30)), Adjacency::AddRemove),
            (skellam(9.0, 2).repeated(times(30)), Adjacency::ReplaceOne),
            (sampled.clone().repeated(times(20)), Adjacency::AddRemove),
            (sampled.repeated(times(20)), Adjacency::ZeroOut),
            (Mechanism::Composed(vec![skellam(25.0, 1).repeated(times(4)), gaussian]), Adjacency::AddRemove),
        ];
        let delta = Delta::new(1e-6).unwrap();
        for (mechanism, adjacency) in asked {
            let question = Question { mechanism, adjacency };
            let bracket = |method: Method| {
                let found = crate::epsilon_at(&question, delta, method).unwrap();
                (found.lower().unwrap().0.get(), found.upper().unwrap().0.get())
            };
            let (exact, grid) = (bracket(Method::Exact), bracket(Method::Pld));
            assert!(exact.0 <= grid.1 && grid.0 <= exact.1, "{question:?}: {exact:?} {grid:?}");
            assert!(exact.1 <= exact.0 * (1.0 + 1e-6), "{question:?}: {exact:?}");
            for method in [Method::Rdp, Method::Zcdp] {
                let refusal = crate::epsilon_at(&question, delta, method).unwrap_err().to_string();
                assert!(refusal.contains("skellam"), "{refusal}");
            }
        }
        // Wide Skellam noise is all but Gaussian noise of its variance.
        let wide = Question { mechanism: skellam(1e8, 1000), adjacency: Adjacency::AddRemove };
        let normal = Mechanism::Gaussian { noise_multiplier: number(10.0) };
        let normal = Question { mechanism: normal, adjacency: Adjacency::AddRemove };
        let [wide, normal] = [wide, normal].map(|question| {
            crate::epsilon_at(&question, delta, Method::Exact).unwrap().upper().unwrap().0.get()
        });
        assert!((wide / normal - 1.0).abs() < 1e-6, "{wide} {normal}");
    }
}
