//! Repeated Laplace mechanisms in closed form: a finite sum of incomplete gamma functions.
//!
//! The loss of n uses is n·ε₀ − 2S, where S adds up clamped exponentials: 0 with chance ½, ε₀ with chance ½e^{−ε₀}, and
//! the density ½e^{−x} between. With u = 1/(1 + s) the transform of one of them is ½(1 + u) + ½e^{−ε₀(1+s)}(1 − u), so that
//! of S is 2^{−n} Σ_j C(n, j) e^{−jε₀(1+s)} (1 + u)^{n−j} (1 − u)^j, and u^m belongs to the gamma density of order m.

use super::double_double::Dd;
use super::normal_tail::log_factorial;
use super::truth::Truth;

/// More uses cancel too many digits.
const MOST_USES: u64 = 64;

/// δ(ε) of `times` Laplace mechanisms moved by `shift` scales each; none where too many digits cancel.
pub fn repeated(shift: Dd, times: u64, epsilon: Dd) -> Option<Truth> {
    if times > MOST_USES {
        return None;
    }
    let all = shift * Dd::whole(times);
    if epsilon >= all {
        return Some(Truth::NOTHING);
    }
    // The gain (1 − e^{ε−loss})₊ is (1 − e^{−2(D − S)})₊.
    let depth = (all - epsilon).scaled(-1);
    let (mut sum, mut size) = (Dd::ZERO, 0.0);
    for j in 0..=times {
        let y = depth - shift * Dd::whole(j);
        if y.hi <= 0.0 {
            break;
        }
        let log_weight =
            log_factorial(times) - log_factorial(j) - log_factorial(times - j) - shift * Dd::whole(j);
        let weight = log_weight.exp();
        let gains = gamma_gains(times, y);
        for (coefficient, gain) in product_coefficients(times - j, j).iter().zip(gains) {
            let term = weight * *coefficient * gain;
            sum = sum + term;
            size += term.hi.abs();
        }
    }
    let log_scale = -(Dd::whole(times) * Dd::new(2.0).ln());
    let truth = Truth::of_value(sum, 1e-27 * size + 1e-300, log_scale);
    (truth.width() < 1e-12).then_some(truth)
}

/// The coefficients of (1 + u)^a (1 − u)^b.
fn product_coefficients(a: u64, b: u64) -> Vec<Dd> {
    let mut row = vec![Dd::ONE];
    for k in 0..a + b {
        let sign = if k < a { Dd::ONE } else { -Dd::ONE };
        let mut next = row.clone();
        next.push(Dd::ZERO);
        for (i, value) in row.iter().enumerate() {
            next[i + 1] = next[i + 1] + sign * *value;
        }
        row = next;
    }
    row
}

/// E[(1 − e^{−2(y − X)})₊] for X of gamma order m = 0, 1, …, n (order 0 is the constant 0).
///
/// # Numerics  ∫₀^y x^{m−1}e^{−x}/Γ(m) (1 − e^{−2(y−x)}) dx obeys g_m = g_{m+1} + …; summed here as a series with positive
/// terms instead: with x = y − v, e^{−y} ∫₀^y (y − v)^{m−1}/Γ(m) · 2 sinh(v) e^{0} dv, and v^{2k+1} integrates to
/// y^{m+2k+1}(2k+1)!/Γ(m+2k+2).
fn gamma_gains(n: u64, y: Dd) -> Vec<Dd> {
    let mut gains = vec![-(-y.scaled(1)).expm1()];
    for m in 1..=n {
        // e^{−x}(1 − e^{−2(y−x)}) = e^{−y}(e^{v} − e^{−v}) with v = y − x.
        let mut term = y * Dd::new(2.0) * y.powi(m) / factorial(m + 1);
        let mut sum = term;
        let mut k = 0.0;
        while term.hi > 1e-35 * sum.hi {
            k += 1.0;
            let below = m as f64 + 2.0 * k;
            term = term * y * y / (Dd::new(below) * Dd::new(below + 1.0));
            sum = sum + term;
        }
        gains.push(sum * (-y).exp());
    }
    gains
}

fn factorial(n: u64) -> Dd {
    (2..=n).fold(Dd::ONE, |product, k| product * Dd::whole(k))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sceptic::law::Use;
    use crate::sceptic::once;

    #[test]
    fn one_use_is_the_closed_form() {
        for (shift, epsilon) in [(0.5, 0.1), (3.0, 0.0), (1e-6, 1e-7), (20.0, 19.5)] {
            let (shift, epsilon) = (Dd::new(shift), Dd::new(epsilon));
            let closed = once::once(&Use::Laplace { shift }, epsilon).unwrap();
            let series = repeated(shift, 1, epsilon).unwrap();
            assert!((series.log_low - closed.log_low).hi.abs() < 1e-24, "{}", series.describe());
        }
    }

    #[test]
    fn the_series_meets_the_golden_rows() {
        let mut seen = 0;
        for golden in crate::golden::laplace() {
            use veracity_core::Mechanism;
            let (times, once) = match &golden.mechanism {
                Mechanism::Repeated { times, mechanism } => (times.get(), (**mechanism).clone()),
                other => (1, other.clone()),
            };
            let Mechanism::Laplace { noise_multiplier } = once else { continue };
            let contributions = Dd::new(f64::from(golden.adjacency.contributions()));
            let shift = contributions / Dd::new(noise_multiplier.get());
            let Some(truth) = repeated(shift, times, Dd::new(golden.epsilon)) else { continue };
            // The golden ε is a float: half its last place moves δ by as much at most.
            let error = (truth.log_low.exp() - Dd::new(golden.delta.get())).hi.abs();
            let allowed = 1e-13 * golden.delta.get() + 2e-16 * (1.0 + golden.epsilon);
            assert!(error < allowed, "{}: {}", golden.row, truth.describe());
            seen += 1;
        }
        assert!(seen > 5, "{seen} rows");
    }
}
