//! A random linear term in an objective: how it is drawn, and why the minimiser is private.
//!
//! Let w* minimise Σℓ(w) + Λ‖w‖²/2 + ⟨b, w⟩. Then b = −(Σ∇ℓ(w*) + Λw*), a one-to-one map that is Lipschitz both ways, so the
//! density of w* is that of b there, times the determinant of H = Σ∇²ℓ + ΛI, for almost every w* (which covers the Huber
//! losses, that bend at corners only). For datasets that differ by one record:
//!
//! - Adding a record multiplies the determinant by 1 + ∇²ℓ's one eigenvalue in the metric of H: between 1 and 1 + bend/Λ. A
//!   replacement is a removal and an addition, so the ratio is at most that too. The published analysis has its square.
//! - b moves by one record's gradient, at most `pull`, or 2 `pull` for a replacement. Laplace noise pays √d of that for pure ε.
//!   For Gaussian noise, the gradient is slope × row: its direction is fixed and only its length depends on w*, hence on b.
//!   So the loss is at most log(1 + bend/Λ) + a|N| + a²/2 with N normal and a = pull/σ, which gives δ in closed form; for
//!   a replacement it is the larger of two such, with rows' sum and difference, and a = 2 pull/σ.

use veracity_core::numerics::{normal, root};
use veracity_core::{Adjacency, Refusal};
use veracity_noise::{Bits, Ratio, Stream, exact, vector};

/// How far integers of the vector sampler are from 2^20 × a normal, with room for one multiplication.
pub(super) const GAUSSIAN_ROUNDING: f64 = 0.58;
/// How often it is not, at most, for one number.
pub(super) const GAUSSIAN_FAILURE: f64 = 3.4e-24; // 2^-78, rounded up

/// Noise for a linear term, drawn within a known distance of a real random vector.
pub(super) enum LinearNoise {
    /// Every coordinate within half a `step` of a Laplace variable of `scale` steps.
    Laplace { scale: Ratio, step: f64 },
    /// Every coordinate within [`GAUSSIAN_ROUNDING`] steps of a normal of 2^20 steps, but for [`GAUSSIAN_FAILURE`].
    Gaussian { step: f64 },
}

impl LinearNoise {
    pub fn draw(&self, length: usize, stream: &mut Stream) -> Vec<f64> {
        match self {
            LinearNoise::Laplace { scale, step } => {
                (0..length).map(|_| half_laplace(*scale, stream) * step).collect()
            }
            LinearNoise::Gaussian { step } => {
                let mut normals = vec![0; length];
                vector::fill(&mut normals, stream);
                normals.into_iter().map(|k| f64::from(k) * step).collect()
            }
        }
    }
}

/// A number within ½ of a real Laplace variable of this scale.
///
/// The whole part of such a variable's magnitude is geometric, which is the law of an integer Laplace that is not negative.
///
/// # Numerics  Exact below 2^52; the scale is below 2^34, so nobody will see more
fn half_laplace(scale: Ratio, stream: &mut Stream) -> f64 {
    let whole = loop {
        let k = exact::discrete_laplace(scale, stream);
        if k >= 0 {
            break k;
        }
    };
    let magnitude = whole as f64 + 0.5;
    if stream.bits(1) == 1 { -magnitude } else { magnitude }
}

/// The δ at ε of a privacy loss that is at most a|N| + a²/2, N normal; of the largest of two such for a replacement.
///
/// E(1 − e^(ε − loss))₊ = 2 ∫ φ(x)(1 − e^(ε − ax − a²/2)) dx from t = max(0, ε/a − a/2), and φ(x)e^(−ax − a²/2) = φ(x + a).
///
/// # Promise   An upper bound
/// # Numerics  Both terms are good to some ulp; what cancels is within 1e-6 of the result for every a that is asked for
pub(super) fn delta_of_linear_term(epsilon: f64, a: f64, adjacency: Adjacency) -> f64 {
    let sides = 2.0 * f64::from(adjacency.contributions());
    let t = (epsilon / a - 0.5 * a).max(0.0);
    sides * (normal::cdf(-t) - libm::exp(epsilon) * normal::cdf(-t - a)).max(0.0) * (1.0 + 1e-6)
}

/// The largest a with at most this δ at this ε.
pub(super) fn largest_shift(epsilon: f64, delta: f64, adjacency: Adjacency) -> Result<f64, Refusal> {
    let enough = |a: f64| delta_of_linear_term(epsilon, a, adjacency) <= delta;
    let (least, most) = (1e-6, 1e3);
    if !enough(least) || enough(most) {
        return Err(Refusal::out_of_range(
            "delta",
            delta,
            "a delta between 0 and 1 for which noise can be found; use a larger delta or epsilon",
        ));
    }
    Ok(root::bisect(least, most, 1e-9, enough).holds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use veracity_noise::{Entropy, Key, Purpose};
    use veracity_testkit::chi_squared;

    #[test]
    fn the_delta_of_a_linear_term_is_that_of_its_integral_and_not_below() {
        // mpmath 1.4.1, 30 digits: quad(lambda x: 2*npdf(x)*(1-exp(e-a*x-a*a/2)), [t, t+1, t+3, t+10, t+40])
        // with t = max(0, e/a-a/2)
        let golden = [
            (1.0, 0.25, 5.848_544_209_712_814e-6),
            (0.1, 0.5, 0.318_026_570_130_800_76),
            (3.0, 1.0, 0.003_074_370_738_801_909_7),
            (0.02, 2.0, 0.953_580_569_801_364_1),
        ];
        for (epsilon, a, truth) in golden {
            let ours = delta_of_linear_term(epsilon, a, Adjacency::AddRemove);
            assert!(truth <= ours && ours <= truth * (1.0 + 2e-6), "{epsilon} {a}: {ours}");
            let found = largest_shift(epsilon, ours, Adjacency::ZeroOut).unwrap();
            assert!(found <= a * (1.0 + 1e-12) && found > 0.999_999 * a, "{epsilon} {a}: {found}");
        }
        assert!(largest_shift(1.0, 0.0, Adjacency::AddRemove).is_ok_and(|a| a < 0.1));
        assert!(largest_shift(1.0, 5.0, Adjacency::AddRemove).is_err());
    }

    /// Level 1e-6, seed 5; the twin expects the law of a scale that is wrong by a tenth.
    #[test]
    fn the_linear_term_is_a_rounded_laplace_variable() {
        let (scale, draws) = (3.0_f64, 200_000);
        let mut stream = Entropy::seeded(5).stream(Purpose::Noise, Key::default());
        let mut counts = vec![0; 60];
        for _ in 0..draws {
            let x = half_laplace(Ratio::new(3, 1).unwrap(), &mut stream);
            // Cells of the real line between whole numbers, from −30 to 30; the ends take the rest.
            counts[(x.floor() as i64 + 30).clamp(0, 59) as usize] += 1;
        }
        let upto = |scale: f64, x: f64| {
            if x < 0.0 { 0.5 * (x / scale).exp() } else { 1.0 - 0.5 * (-x / scale).exp() }
        };
        let law = |scale: f64| -> Vec<f64> {
            let edge = |i: i32| match i {
                0 => 0.0,
                60 => 1.0,
                _ => upto(scale, f64::from(i - 30)),
            };
            (0..60).map(|i| edge(i + 1) - edge(i)).collect()
        };
        assert!(chi_squared::goodness_of_fit(&counts, &law(scale), 5.0).p_value > 1e-6);
        assert!(chi_squared::goodness_of_fit(&counts, &law(1.1 * scale), 5.0).p_value < 1e-6);
    }

    #[test]
    fn a_replaced_record_changes_a_determinant_by_one_factor_only() {
        let mut stream = Entropy::seeded(9).stream(Purpose::Split, Key::default());
        let mut number = || (stream.bits(20) as f64 / f64::from(1 << 19)) - 1.0;
        let (bend, penalty, mut largest) = (0.5, 0.8, 0.0_f64);
        for round in 0..2000 {
            // A few records of norm 1, then one and its replacement.
            let rows: Vec<[f64; 3]> = (0..round % 3 + 2)
                .map(|_| {
                    let x = [number(), number(), number()];
                    let norm = x.iter().map(|x| x * x).sum::<f64>().sqrt();
                    x.map(|x| x / norm)
                })
                .collect();
            let shared = &rows[2..];
            let ratio =
                determinant(&rows[0], shared, bend, penalty) / determinant(&rows[1], shared, 0.0, penalty);
            assert!(ratio <= 1.0 + bend / penalty + 1e-12);
            let both =
                determinant(&rows[0], shared, bend, penalty) / determinant(&rows[1], shared, bend, penalty);
            assert!(both <= 1.0 + bend / penalty + 1e-12);
            largest = largest.max(ratio);
        }
        assert!(largest > 0.999 * (1.0 + bend / penalty), "{largest}: the factor is met, not only kept");
    }

    /// det(ΛI + Σ ½ row rowᵀ + bend · last lastᵀ) in three dimensions.
    fn determinant(last: &[f64; 3], shared: &[[f64; 3]], bend: f64, penalty: f64) -> f64 {
        let entry = |i: usize, j: usize| {
            let diagonal = if i == j { penalty } else { 0.0 };
            diagonal + shared.iter().map(|x| 0.5 * x[i] * x[j]).sum::<f64>() + bend * last[i] * last[j]
        };
        let minor = |i: usize, j: usize| entry(1, i) * entry(2, j) - entry(1, j) * entry(2, i);
        entry(0, 0) * minor(1, 2) - entry(0, 1) * minor(0, 2) + entry(0, 2) * minor(0, 1)
    }
}
