//! The moment of a Poisson-sampled Gaussian at an order between whole ones, as an alternating series with a known tail.

use veracity_core::numerics::normal;

/// The most terms summed; what is left of an alternating series is below the next term.
const MOST_TERMS: u32 = 4000;

/// log E[(1 − q + q e^{μz − μ²/2})^α] for standard normal z.
///
/// Split at the z₀ where both summands are equal, each half is a binomial series, and with Mills' ratio M and
/// s = μ/2 + log(1/q − 1)/μ the moment is (1 − q)^α φ(s) Σ C(α, i) (M(iμ − s) + M(s − (α − i)μ)).
/// Beyond i = α the signs alternate and the terms fall, so the rest is at most the next term.
///
/// # Promise    Never below the truth
/// # Reference  [MironovTalwarZhang19] Section 3.3; their erfc is written as Mills' ratio
/// # Numerics   Each term is widened by 16 ulp of every logarithm in it; the rest is added
pub(crate) fn log_moment(rate: f64, mu: f64, order: f64) -> f64 {
    let split = Split::new(rate, mu, order);
    let mut terms: Vec<Term> = Vec::new();
    let (mut log_binomial, mut sign, mut largest): (f64, f64, f64) = (0.0, 1.0, f64::NEG_INFINITY);
    for i in 0..MOST_TERMS {
        let i = f64::from(i);
        let rounding = 1.0 + (1.0 + i) * (1.0 + log_binomial.abs());
        for (log, size) in [split.left(i), split.right(i)] {
            let log = log_binomial + log;
            largest = largest.max(log);
            terms.push(Term { log, sign, slack: 16.0 * f64::EPSILON * (size + rounding) });
        }
        let last = &terms[terms.len() - 2..];
        if i > order && last.iter().all(|term| term.log < largest - 42.0) {
            break;
        }
        let factor = (order - i) / (i + 1.0);
        sign *= factor.signum();
        log_binomial += factor.abs().ln();
    }
    let scaled = |term: &Term| (term.log - largest).exp();
    // Small terms first, and each addition is charged for its own rounding.
    let (mut sum, mut rounding): (f64, f64) = (0.0, 0.0);
    for term in terms.iter().rev() {
        sum += (term.sign + term.slack) * scaled(term);
        rounding += f64::EPSILON * (sum.abs() + scaled(term));
    }
    // The next term of each half is below the last one that was counted.
    let rest: f64 = terms.iter().rev().take(2).map(scaled).sum();
    let total = sum + rest + rounding;
    largest + total.ln() + 8.0 * f64::EPSILON * (1.0 + largest.abs())
}

/// One term by its logarithm, its sign, and how far rounding may have moved it, relatively.
struct Term {
    log: f64,
    sign: f64,
    slack: f64,
}

/// What all terms share.
struct Split {
    mu: f64,
    order: f64,
    enter: f64,
    stay: f64,
    /// The split point in standard deviations.
    point: f64,
    /// log of (1 − q)^α φ(s).
    scale: f64,
}

impl Split {
    fn new(rate: f64, mu: f64, order: f64) -> Split {
        let (enter, stay) = (rate.ln(), (-rate).ln_1p());
        let point = 0.5 * mu + (stay - enter) / mu;
        let scale = order * stay - 0.5 * point * point - 0.5 * (2.0 * std::f64::consts::PI).ln();
        Split { mu, order, enter, stay, point, scale }
    }

    /// The logarithm of the i-th term left of the split, without its binomial, and the size of what was added up.
    fn left(&self, i: f64) -> (f64, f64) {
        self.term(i, i * self.mu - self.point)
    }

    /// The same right of the split, where the other summand is the larger.
    fn right(&self, i: f64) -> (f64, f64) {
        self.term(self.order - i, self.point - (self.order - i) * self.mu)
    }

    /// q^j (1 − q)^{α−j} e^{j(j−1)μ²/2} Φ(−x). Deep in the tail this is huge times tiny, and Mills' ratio is used.
    fn term(&self, j: f64, x: f64) -> (f64, f64) {
        let shifted = j.abs() * self.mu + self.point.abs();
        if x > -1.0 {
            let log = normal::mills(x).ln();
            return (self.scale + log, self.scale.abs() + log.abs() + shifted);
        }
        let growth = 0.5 * j * (j - 1.0) * self.mu * self.mu;
        let weight = j * self.enter + (self.order - j) * self.stay;
        let tail = normal::log_cdf(-x);
        (
            growth + weight + tail,
            growth.abs() + (j * self.enter).abs() + (self.order * self.stay).abs() + shifted,
        )
    }
}
