//! Where to start looking: a composition as one Gaussian, or as the sum of its largest losses. Nothing here is a bound.

use crate::{Composition, Neighbours, Part, gdp};
use veracity_core::{Delta, Epsilon};

/// Whether a composition seems to be within (ε, δ).
pub(super) fn within(epsilon: Epsilon, delta: Delta) -> impl Fn(&Composition) -> bool {
    let mu = if delta.get() > 0.0 { gdp::mu_at(epsilon, delta) } else { 0.0 };
    move |composition| {
        let total = |of: fn(&Part) -> f64| -> f64 {
            composition.parts.iter().map(|(part, times)| times.as_f64() * of(part)).sum()
        };
        total(square) <= mu * mu || total(largest) <= epsilon.get()
    }
}

/// The μ² of a Gaussian that leaks about as much: twice the mean of the loss.
fn square(part: &Part) -> f64 {
    let coin = |epsilon: f64| 2.0 * epsilon * (0.5 * epsilon).tanh();
    match part {
        Part::Gaussian { mu } => mu * mu,
        Part::Laplace { epsilon } => 2.0 * (epsilon + (-epsilon).exp_m1()),
        Part::Integer { noise, shift } => noise.square(*shift),
        Part::RandomizedResponse { .. } => coin(largest(part)),
        Part::BoundedRange { epsilon } => 0.25 * epsilon * epsilon,
        Part::Approximate { epsilon, .. } => coin(*epsilon),
        Part::Zcdp { rho } => 2.0 * rho,
        Part::Rdp { curve } => {
            curve.points().iter().map(|(order, value)| 2.0 * value / order).fold(f64::INFINITY, f64::min)
        }
        Part::PoissonSampled { rate, part, neighbours } => {
            let contributions = match neighbours {
                Neighbours::Present => 1.0,
                Neighbours::Replaced => 2.0,
            };
            contributions * sampled(*rate, square(part))
        }
        Part::FixedSizeSampled { rate, part } => sampled(*rate, square(part)),
        Part::Mixture { shifts } => {
            let mean: f64 = shifts.iter().map(|(chance, shift)| chance * shift).sum();
            let widest = shifts.iter().map(|(_, shift)| shift * shift).fold(0.0, f64::max);
            mean * mean * (1.0 + widest.min(700.0).exp_m1() / widest.max(1e-300))
        }
        Part::Allocated { batches, mu } => batches.as_f64() * sampled(1.0 / batches.as_f64(), mu * mu),
        Part::Listed { losses } => {
            2.0 * losses.first().finite().iter().map(|(loss, mass)| loss * mass).sum::<f64>().max(0.0)
        }
        Part::BestOf { run, .. } => {
            2.0 * run.parts.iter().map(|(part, times)| times.as_f64() * square(part)).sum::<f64>()
        }
        Part::Either { usual, .. } => square(usual),
        Part::AtMost(part) => square(part),
    }
}

/// # Reference  [BuDongLongSu20] Theorem 5, held below the leak without sampling
fn sampled(rate: f64, square: f64) -> f64 {
    square.min(rate * rate * square.min(700.0).exp_m1())
}

/// The largest loss of one use.
fn largest(part: &Part) -> f64 {
    let rarely = |rate: f64, loss: f64| (rate * loss.exp_m1()).ln_1p();
    match part {
        Part::Gaussian { mu } if *mu == 0.0 => 0.0,
        Part::Gaussian { .. }
        | Part::Zcdp { .. }
        | Part::Rdp { .. }
        | Part::Mixture { .. }
        | Part::Allocated { .. }
        | Part::Either { .. }
        | Part::BestOf { .. } => f64::INFINITY,
        Part::Listed { losses } => losses.first().finite().last().map_or(0.0, |(loss, _)| *loss),
        Part::AtMost(part) => largest(part),
        Part::Laplace { epsilon } | Part::BoundedRange { epsilon } | Part::Approximate { epsilon, .. } => {
            *epsilon
        }
        Part::Integer { noise, shift } => noise.largest_loss(*shift).unwrap_or(f64::INFINITY),
        Part::RandomizedResponse { buckets, noise, .. } => {
            (f64::from(*buckets) * (1.0 - noise) / noise).ln_1p()
        }
        Part::PoissonSampled { rate, part, .. } | Part::FixedSizeSampled { rate, part } => {
            rarely(*rate, largest(part))
        }
    }
}
