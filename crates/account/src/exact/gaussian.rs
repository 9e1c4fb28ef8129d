//! Closed forms for one use: the Gaussian, the sampled Gaussian and the Laplace mechanism.

use super::sampled::{SampledGaussian, Situation};
use veracity_core::numerics::{UNIT, legendre, normal, root};

/// δ(ε) of N(μ, 1) against N(0, 1), any real ε: Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ), from both sides.
///
/// # Reference  [BalleWang18] Theorem 8
/// # Numerics  Written as φ(a)(m(a) − m(a+μ)) with Mills' ratio m, so that tiny values keep their digits
pub(super) fn delta(mu: f64, epsilon: f64) -> (f64, f64) {
    if mu == 0.0 {
        let exact = (-epsilon.exp_m1()).max(0.0);
        return (exact * (1.0 - 4.0 * UNIT), exact * (1.0 + 4.0 * UNIT));
    }
    let a = epsilon / mu - 0.5 * mu;
    if a < -5.0 {
        // Both terms are plain probabilities here, and the first is close to 1.
        let (first, second) = (normal::cdf(-a), (epsilon + normal::log_cdf(-a - mu)).exp());
        let error = 64.0 * UNIT * (first + (1.0 + epsilon.abs() + mu * mu) * second);
        return ((first - second - error).max(0.0), (first - second + error).min(1.0));
    }
    let (near, far) = (normal::mills(a), normal::mills(a + mu));
    let difference = near - far;
    // The rounding of a turns into a relative error a·|δa| of the density and enters both ratios alike.
    // and, since dδ/da = −φ(a) with μ fixed, by 1/(m(a) − m(a+μ)) relatively.
    let size = a.abs() + mu + (epsilon / mu).abs();
    let relative = UNIT * (32.0 + 48.0 * near / difference + 8.0 * a.abs() * size + 8.0 * size / difference);
    let value = normal::density(a) * difference;
    if !(relative < 0.5) || value < 1e-303 {
        // Deep in the tail only an upper bound is needed: m(a) − m(a+μ) ≤ μ·m(a)/max(a,1) loosely.
        return (0.0, normal::density(a) * near * 1.01 + f64::MIN_POSITIVE);
    }
    (value * (1.0 - relative), value * (1.0 + relative))
}

/// δ(ε) of one Poisson-sampled Gaussian step: an event w > t or w < t decides, and any t shows at most δ.
///
/// # Promise    lower ≤ δ(ε) ≤ upper
/// # Reference  With x the deciding outcome in standard deviations and D = Φ(x) − Φ(x − μ):
/// q D − (e^ε − 1)Φ(−x) for a removed record, e^ε q D − (e^ε − 1)Φ(x − μ) for an added one, turned around
/// # Numerics   At the best x the slope in x is zero: an error of x costs its square
pub(super) fn sampled_delta(step: &SampledGaussian, epsilon: f64) -> (f64, f64) {
    let (q, mu) = (step.rate, step.s);
    let growth = epsilon.exp_m1();
    let (x, first, second, wobble) = match step.situation {
        Situation::Remove => {
            if epsilon > 600.0 {
                return far_removed(step, epsilon);
            }
            let w = (growth / q).ln_1p();
            let x = w / mu + 0.5 * mu;
            // e^ε may be large where the tail is below the least float: only their product is formed.
            let second = if x < 30.0 {
                growth * normal::cdf(-x)
            } else {
                let log_growth = if epsilon > 30.0 { epsilon } else { growth.ln() };
                (log_growth + normal::log_cdf(-x)).exp()
            };
            (x, q * between(x - mu, mu), second, UNIT)
        }
        Situation::Add => {
            let excess = (-epsilon).exp_m1() / q;
            if excess <= -1.0 {
                return (0.0, 0.0);
            }
            let x = excess.ln_1p() / mu + 0.5 * mu;
            // 1 + excess is a difference of numbers of size 1.
            (x, epsilon.exp() * q * between(x - mu, mu), growth * normal::cdf(x), UNIT / (1.0 + excess))
        }
        Situation::Replace => return replaced_delta(step, epsilon),
    };
    let size = first + second;
    let moved = 8.0 * wobble * (1.0 + x.abs() + 1.0 / mu);
    let error = size * (UNIT * (64.0 + 8.0 * x * x + 8.0 * epsilon) + (1.0 + x * x) * moved * moved);
    ((first - second - error).max(0.0), first - second + error)
}

/// A removed record far out, where e^ε is not a number any more: q δ_G(w*).
fn far_removed(step: &SampledGaussian, epsilon: f64) -> (f64, f64) {
    let (q, mu) = (step.rate, step.s);
    let at = epsilon - q.ln();
    let (lower, upper) = delta(mu, at);
    let slack = 1.0 + 16.0 * UNIT * (1.0 + at.abs() * (1.0 + at.abs() / (mu * mu) + 1.0));
    (q * lower / slack, q * upper * slack)
}

/// Φ(from + width) − Φ(from), to a few ulp of itself also where the width is small.
pub(super) fn between(from: f64, width: f64) -> f64 {
    if width > 0.5 {
        let to = from + width;
        return if from > 0.0 {
            normal::cdf(-from) - normal::cdf(-to)
        } else {
            normal::cdf(to) - normal::cdf(from)
        };
    }
    let half = 0.5 * width;
    legendre::rule().iter().map(|(x, weight)| half * weight * normal::density(from + half * (1.0 + x))).sum()
}

/// One step in which the record is replaced by its opposite: P[L > ε] − e^ε Q[L > ε] with L rising in the output.
fn replaced_delta(step: &SampledGaussian, epsilon: f64) -> (f64, f64) {
    let (q, s) = (step.rate, step.s);
    let ratio = |x: f64| {
        // x in units of σ: w = s x − s²/2 for A, −s x − s²/2 for B.
        let log = |w: f64| if w > 600.0 { w + q.ln() } else { (q * w.exp_m1()).ln_1p() };
        log(s * x - 0.5 * s * s) - log(-s * x - 0.5 * s * s) - epsilon
    };
    let mut high = 1.0;
    while ratio(high) < 0.0 && high < 1e8 {
        high *= 2.0;
    }
    let x = root::crossing(-1e-9, high, 1e-15, ratio);
    // e^ε meets tails that shrink as fast: only their products are formed.
    let log_growth = if epsilon > 30.0 { epsilon } else { epsilon.exp_m1().ln() };
    let present = q * normal::cdf(s - x);
    let neither = ((-q).ln_1p() + log_growth + normal::log_cdf(-x)).exp();
    let opposite = (q.ln() + epsilon + normal::log_cdf(-s - x)).exp();
    let value = present - neither - opposite;
    // Being off by dx costs only to second order; what cancels is bounded absolutely.
    let size = present + neither + opposite;
    let error = UNIT * (64.0 + 16.0 * x * x + 8.0 * epsilon) * size
        + if epsilon > 30.0 { 1e-13 * neither } else { 0.0 };
    ((value - error).max(0.0), value + error)
}

/// δ(ε) of one Laplace mechanism moved by `total` scales: 1 − e^{(ε − total)/2} below `total`.
pub(super) fn laplace_delta(total: f64, epsilon: f64) -> (f64, f64) {
    // The largest loss is itself rounded.
    let blur = 8.0 * UNIT * total;
    if epsilon >= total + blur {
        return (0.0, 0.0);
    }
    let exact = -(0.5 * (epsilon - total).min(0.0)).exp_m1();
    let error = 8.0 * UNIT * exact + blur;
    ((exact - error).max(0.0), (exact + error).min(1.0))
}
