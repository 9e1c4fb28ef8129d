//! The laws of two worlds: how scores are drawn, and δ at every ε.

use super::{Draws, composed::Composed};
use veracity_core::numerics::normal;

/// Integers farther out have less than 1e-40 of the noise.
const FAR: i32 = 250;

#[derive(Debug)]
pub(super) enum Law {
    /// The score is noise.
    Silent,
    Gaussian {
        mu: f64,
    },
    /// Noise on an answer that moves by one.
    Laplace {
        scale: f64,
    },
    /// Noise on an answer that moves by one.
    Cauchy {
        scale: f64,
    },
    /// Any law of finitely many outcomes.
    Finite(Finite),
    /// Several steps of a sampled Gaussian.
    Sampled(Composed),
    /// Says nothing but with chance `speaks`, and then a Gaussian.
    Halting {
        speaks: f64,
        mu: f64,
    },
    /// Crashes with a chance that depends on the world; else a Gaussian.
    Crashing {
        inside: f64,
        outside: f64,
        mu: f64,
    },
}

/// Outcomes with their chances in both worlds.
#[derive(Debug)]
pub(super) struct Finite {
    /// Chances with the canary and without.
    chances: Vec<(f64, f64)>,
    /// What they add up to, outcome by outcome.
    up_to: Vec<(f64, f64)>,
}

impl Law {
    /// Integer noise by the logarithm of its density, on an answer that moves by one.
    pub(super) fn integers(log_density: impl Fn(f64) -> f64) -> Law {
        let weight = |x: i32| log_density(f64::from(x)).exp();
        let total: f64 = (-FAR..=FAR).map(weight).sum();
        Finite::law((-FAR..=FAR + 1).map(|x| (weight(x - 1) / total, weight(x) / total)).collect())
    }

    /// A uniform answer with chance `coin`, else the truth; the worlds differ in the truth.
    pub(super) fn response(buckets: u32, coin: f64) -> Law {
        let other = coin / f64::from(buckets);
        let right = 1.0 - coin + other;
        let mut chances = vec![(other, other); buckets as usize];
        (chances[0], chances[1]) = ((right, other), (other, right));
        Finite::law(chances)
    }

    /// Says the world with this chance, and else nothing.
    pub(super) fn named(chance: f64) -> Law {
        Finite::law(vec![(chance, 0.0), (0.0, chance), (1.0 - chance, 1.0 - chance)])
    }

    pub(super) fn sampled(rate: f64, sigma: f64, steps: u64) -> Law {
        Law::Sampled(Composed::new(rate, sigma, steps))
    }

    pub(super) fn run(&self, is_in: bool, rng: &mut Draws) -> Option<f64> {
        let moved = f64::from(u8::from(is_in));
        Some(match self {
            Law::Silent => rng.normal(),
            Law::Gaussian { mu } => gaussian(*mu, is_in, rng),
            Law::Laplace { scale } => {
                let u = rng.uniform() - 0.5;
                let x = moved - scale * u.signum() * (1.0 - 2.0 * u.abs()).ln();
                (x.abs() - (x - 1.0).abs()) / scale
            }
            Law::Cauchy { scale } => {
                let x = moved + scale * (std::f64::consts::PI * (rng.uniform() - 0.5)).tan();
                ((scale * scale + x * x) / (scale * scale + (x - 1.0) * (x - 1.0))).ln()
            }
            Law::Finite(finite) => finite.run(is_in, rng),
            Law::Sampled(composed) => composed.run(is_in, rng),
            Law::Halting { speaks, mu } => match rng.coin(*speaks) {
                true => gaussian(*mu, is_in, rng),
                false => 0.0,
            },
            Law::Crashing { inside, outside, mu } => {
                if rng.coin(if is_in { *inside } else { *outside }) {
                    return None;
                }
                // The ratio of what did not crash comes with it.
                gaussian(*mu, is_in, rng) + ((1.0 - inside) / (1.0 - outside)).ln()
            }
        })
    }

    pub(super) fn delta_at(&self, epsilon: f64) -> f64 {
        match self {
            Law::Silent => 0.0,
            Law::Gaussian { mu } => gaussian_delta(*mu, epsilon),
            Law::Laplace { scale } => (-((epsilon - 1.0 / scale) / 2.0).exp_m1()).max(0.0),
            Law::Cauchy { scale } => cauchy_delta(*scale, epsilon),
            Law::Finite(finite) => finite.delta_at(epsilon),
            Law::Sampled(composed) => composed.delta_at(epsilon),
            Law::Halting { speaks, mu } => speaks * gaussian_delta(*mu, epsilon),
            Law::Crashing { inside, outside, mu } => {
                let one_way = |crash: f64, other: f64| {
                    let ratio = (1.0 - other) / (1.0 - crash);
                    (crash - epsilon.exp() * other).max(0.0)
                        + (1.0 - crash) * gaussian_delta(*mu, epsilon + ratio.ln())
                };
                one_way(*inside, *outside).max(one_way(*outside, *inside))
            }
        }
    }
}

impl Finite {
    fn law(chances: Vec<(f64, f64)>) -> Law {
        let mut sum = (0.0, 0.0);
        let up_to = chances.iter().map(|(inside, outside)| {
            sum = (sum.0 + inside, sum.1 + outside);
            sum
        });
        Law::Finite(Finite { up_to: up_to.collect(), chances })
    }

    fn run(&self, is_in: bool, rng: &mut Draws) -> f64 {
        let u = rng.uniform();
        let below = |sum: &(f64, f64)| if is_in { sum.0 <= u } else { sum.1 <= u };
        let at = self.up_to.partition_point(below).min(self.chances.len() - 1);
        let (inside, outside) = self.chances[at];
        (inside / outside).ln()
    }

    fn delta_at(&self, epsilon: f64) -> f64 {
        let growth = epsilon.exp();
        let one = self.chances.iter().map(|(p, q)| (p - growth * q).max(0.0)).sum::<f64>();
        let other = self.chances.iter().map(|(p, q)| (q - growth * p).max(0.0)).sum::<f64>();
        one.max(other)
    }
}

fn gaussian(mu: f64, is_in: bool, rng: &mut Draws) -> f64 {
    let x = rng.normal() + if is_in { mu } else { 0.0 };
    mu * (x - mu / 2.0)
}

/// δ at any ε, positive or not, of N(μ, 1) against N(0, 1).
pub(super) fn gaussian_delta(mu: f64, epsilon: f64) -> f64 {
    (normal::cdf(mu / 2.0 - epsilon / mu) - epsilon.exp() * normal::cdf(-mu / 2.0 - epsilon / mu)).max(0.0)
}

/// The density ratio is above e^ε between the roots of a quadratic.
fn cauchy_delta(scale: f64, epsilon: f64) -> f64 {
    let (growth, s2) = (epsilon.exp(), scale * scale);
    let cdf = |x: f64, centre: f64| ((x - centre) / scale).atan() / std::f64::consts::PI + 0.5;
    if epsilon <= 1e-12 {
        return cdf(0.5, 0.0) - cdf(0.5, 1.0);
    }
    let root = growth * growth - (growth - 1.0) * (growth * (s2 + 1.0) - s2);
    if root <= 0.0 {
        return 0.0;
    }
    let ends = [-1.0, 1.0].map(|side| (growth + side * root.sqrt()) / (growth - 1.0));
    let mass = |centre: f64| cdf(ends[1], centre) - cdf(ends[0], centre);
    (mass(1.0) - growth * mass(0.0)).max(0.0)
}
