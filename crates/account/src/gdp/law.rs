//! The privacy loss of one use as a list of weighted points: exact for discrete parts, quadrature nodes for others.
//! Only approximations read it.

use crate::{Neighbours, Part, integer::Shown, single};
use veracity_core::Refusal;
use veracity_core::numerics::{legendre, logspace, normal};

/// Standard deviations beyond which a normal weighs nothing.
const FAR: f64 = 12.0;

/// A place where the log-ratio of P to Q is `loss`, and what P and Q weigh there.
#[derive(Debug, Clone, Copy)]
pub(super) struct Point {
    pub(super) loss: f64,
    pub(super) p: f64,
    pub(super) q: f64,
}

/// Which of the two laws the attacker sees; the loss is the log-ratio of the one seen to the other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Seen {
    With,
    Without,
}

/// The first four cumulants of a loss.
pub(super) type Cumulants = [f64; 4];

/// The points of a part: P with the record, Q without it.
pub(super) fn law(part: &Part, method: &'static str) -> Result<Vec<Point>, Refusal> {
    match part {
        Part::Gaussian { mu } => Ok(gaussian(|z| (normal::density(z - mu), normal::density(z)), 0.0, *mu)),
        Part::Laplace { epsilon } => Ok(laplace(*epsilon)),
        Part::Integer { noise, shift } => {
            let point = |(log, loss): (f64, f64)| Point { loss, p: log.exp(), q: (log - loss).exp() };
            Ok(noise.losses(*shift, Shown::ByEither)?.into_iter().map(point).collect())
        }
        Part::RandomizedResponse { buckets, noise, neighbours } => {
            Ok(response(*buckets, *noise, *neighbours))
        }
        Part::PoissonSampled { rate, part, neighbours: Neighbours::Present } => {
            Ok(law(part, method)?.into_iter().map(|point| mixed(*rate, point)).collect())
        }
        Part::PoissonSampled { rate, part, neighbours: Neighbours::Replaced } => {
            match part.gaussian_shift() {
                Some(mu) => {
                    let mix = |z: f64, centre: f64| {
                        (1.0 - rate) * normal::density(z) + rate * normal::density(z - centre)
                    };
                    Ok(gaussian(|z| (mix(z, mu), mix(z, -mu)), -mu, mu))
                }
                None => Err(refusal(part, method)),
            }
        }
        _ => Err(refusal(part, method)),
    }
}

fn refusal(part: &Part, method: &'static str) -> Refusal {
    Refusal::no_theorem(single::name(part), method, "use method exact or rdp")
}

/// Cumulants of the loss that the attacker sees, under the law of `weigher`.
pub(super) fn cumulants(points: &[Point], seen: Seen, weigher: Seen) -> Cumulants {
    let sign = if seen == Seen::With { 1.0 } else { -1.0 };
    let weighed = || {
        points.iter().map(|point| (sign * point.loss, if weigher == Seen::With { point.p } else { point.q }))
    };
    let mean: f64 = weighed().map(|(loss, weight)| weight * loss).sum();
    let central =
        |power: i32| weighed().map(|(loss, weight)| weight * (loss - mean).powi(power)).sum::<f64>();
    let variance = central(2);
    [mean, variance, central(3), central(4) - 3.0 * variance * variance]
}

/// What sampling makes of a point: P becomes (1 − q) Q + q P.
fn mixed(rate: f64, point: Point) -> Point {
    Point {
        loss: logspace::log_add((-rate).ln_1p(), rate.ln() + point.loss),
        p: (1.0 - rate) * point.q + rate * point.p,
        q: point.q,
    }
}

/// Quadrature between the outermost centres, and far beyond them. Panels resolve both a unit and the slope of the loss.
fn gaussian(densities: impl Fn(f64) -> (f64, f64), first: f64, last: f64) -> Vec<Point> {
    let (from, to) = (first - FAR, last + FAR);
    let width = 1.0 / (1.0 + 0.5 * (last - first));
    let panels = ((to - from) / width).ceil().min(8192.0);
    quadrature(from, to, panels, |z| {
        let (p, q) = densities(z);
        (if p > 0.0 && q > 0.0 { (p / q).ln() } else { 0.0 }, p, q)
    })
}

fn quadrature(from: f64, to: f64, panels: f64, at: impl Fn(f64) -> (f64, f64, f64)) -> Vec<Point> {
    let half = 0.5 * (to - from) / panels;
    let mut points = Vec::new();
    for panel in 0..panels as u32 {
        let centre = from + half * f64::from(2 * panel + 1);
        for (x, weight) in legendre::rule() {
            let (loss, p, q) = at(centre + half * x);
            points.push(Point { loss, p: p * weight * half, q: q * weight * half });
        }
    }
    points
}

/// Outside its two centres the loss of a Laplace is ±ε; between them it is linear.
fn laplace(epsilon: f64) -> Vec<Point> {
    let between = |x: f64| (2.0 * x - epsilon, 0.5 * (x - epsilon).exp(), 0.5 * (-x).exp());
    let mut points = quadrature(0.0, epsilon, epsilon.ceil().clamp(1.0, 4096.0), between);
    let rare = 0.5 * (-epsilon).exp();
    points.push(Point { loss: epsilon, p: 0.5, q: rare });
    points.push(Point { loss: -epsilon, p: rare, q: 0.5 });
    points
}

fn response(buckets: u32, noise: f64, neighbours: Neighbours) -> Vec<Point> {
    let (truthful, other) = single::randomized_response_odds(buckets, noise);
    let point = |p: f64, q: f64| Point { loss: (p / q).ln(), p, q };
    match neighbours {
        Neighbours::Replaced => {
            let rest = f64::from(buckets - 2) * other;
            vec![point(truthful, other), point(other, truthful), Point { loss: 0.0, p: rest, q: rest }]
        }
        Neighbours::Present => {
            let uniform = 1.0 / f64::from(buckets);
            let others = f64::from(buckets - 1);
            let rest = point(other, uniform);
            vec![point(truthful, uniform), Point { loss: rest.loss, p: rest.p * others, q: rest.q * others }]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::IntegerNoise;

    /// In closed form: the Laplace mean is ε + e^{−ε} − 1; the Gaussian's cumulants are μ²/2, μ², 0, 0
    #[test]
    fn laws_weigh_one_and_have_their_cumulants() {
        let parts = [
            Part::Gaussian { mu: 1.3 },
            Part::Laplace { epsilon: 0.1 },
            Part::Integer { noise: IntegerNoise::Laplace { scale: 3.0 }, shift: 4 },
            Part::Integer { noise: IntegerNoise::Gaussian { sigma: 2.0 }, shift: 3 },
            Part::RandomizedResponse { buckets: 4, noise: 0.3, neighbours: Neighbours::Present },
            Part::PoissonSampled {
                rate: 0.1,
                part: Box::new(Part::Gaussian { mu: 2.0 }),
                neighbours: Neighbours::Replaced,
            },
        ];
        for part in parts {
            let points = law(&part, "a test").unwrap();
            let (p, q) = points.iter().fold((0.0, 0.0), |(p, q), point| (p + point.p, q + point.q));
            assert!((p - 1.0).abs() < 1e-12 && (q - 1.0).abs() < 1e-12, "{part:?}: {p} {q}");
        }
        let found = cumulants(&law(&Part::Gaussian { mu: 1.3 }, "").unwrap(), Seen::With, Seen::With);
        for (one, truth) in found.iter().zip([0.845, 1.69, 0.0, 0.0]) {
            assert!((one - truth).abs() < 1e-10, "{found:?}");
        }
        let found = cumulants(&law(&Part::Laplace { epsilon: 0.1 }, "").unwrap(), Seen::With, Seen::With);
        assert!((found[0] - (0.1 + (-0.1f64).exp_m1())).abs() < 1e-15, "{found:?}");
    }
}
