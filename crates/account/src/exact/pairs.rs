//! From a part to the distribution of its privacy loss: the dominating pair of each mechanism, in each direction.

use super::atoms;
use super::distribution::Distribution;
use super::gaussian;
use super::sampled::{SampledGaussian, Situation};
use crate::expand::{Neighbours, Part};
use veracity_core::Refusal;

/// In which dataset the record is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    PresentFirst,
    AbsentFirst,
}

/// A dominating pair, by the distribution of its privacy loss.
pub(super) enum Pair {
    /// N(μ, 1) against N(0, 1): all of these compose to one of them.
    Gaussian { mu: f64 },
    /// Any other distribution of finite losses, the probability that the loss is infinite, and the largest finite loss.
    Losses { distribution: Distribution, infinite: f64, largest: f64 },
}

impl Pair {
    fn finite(distribution: Distribution) -> Pair {
        let largest = distribution.largest();
        Pair::Losses { distribution, infinite: 0.0, largest }
    }

    /// A distribution of atoms that stands for one without a largest loss: what its finite list lacks cannot be seen in `f64`.
    fn unbounded(distribution: Distribution) -> Pair {
        Pair::Losses { distribution, infinite: 0.0, largest: f64::INFINITY }
    }
}

/// The dominating pair of one use of `part`, or a refusal that names the method that knows it.
///
/// # Promise  The pair dominates the part: composition keeps that
/// # Reference  [ZhuDongWang22] Definition 7 and Theorem 10
pub(super) fn pair(part: &Part, order: Order) -> Result<Pair, Refusal> {
    match part {
        Part::Gaussian { mu } => Ok(Pair::Gaussian { mu: *mu }),
        Part::Approximate { epsilon, delta } => Ok(Pair::Losses {
            distribution: atoms::two_point(*epsilon).distribution(),
            infinite: *delta,
            largest: *epsilon,
        }),
        Part::Laplace { epsilon } => Ok(Pair::finite(Distribution::Laplace { epsilon: *epsilon })),
        Part::RandomizedResponse { buckets, noise, neighbours } => {
            Ok(Pair::finite(atoms::randomized_response(*buckets, *noise, *neighbours, order).distribution()))
        }
        Part::Integer { noise, shift } => {
            let distribution = atoms::integer_law(*noise, *shift)?;
            Ok(if noise.largest_loss(*shift).is_some() {
                Pair::finite(distribution)
            } else {
                Pair::unbounded(distribution)
            })
        }
        Part::PoissonSampled { rate, part, neighbours } => {
            if let Part::Approximate { epsilon, delta } = **part {
                return Ok(atoms::sampled_declared(*rate, epsilon, delta, order));
            }
            let distribution = sampled(*rate, part, *neighbours, order)?;
            let endless = match &**part {
                Part::Integer { noise, shift } => noise.largest_loss(*shift).is_none(),
                // Every other part that can be sampled here has a largest loss, or is a Gaussian that knows it has none.
                _ => false,
            };
            Ok(if endless { Pair::unbounded(distribution) } else { Pair::finite(distribution) })
        }
        Part::BoundedRange { .. } => Err(no_pair("the exponential mechanism", "zcdp or rdp")),
        Part::Zcdp { .. } => Err(no_pair("declared zcdp", "zcdp or rdp")),
        Part::Rdp { .. } => Err(no_pair("a declared rdp curve", "rdp")),
        Part::FixedSizeSampled { .. } => Err(no_pair("fixed-size sampling", "rdp or pld")),
        Part::AtMost(part) => pair(part, order),
        Part::Listed { losses } => atoms::declared_list(losses, order),
        Part::Mixture { .. } | Part::Allocated { .. } | Part::Either { .. } => {
            Err(no_pair(&crate::single::name(part), "pld"))
        }
        Part::BestOf { .. } => Err(no_pair(&crate::single::name(part), "rdp")),
    }
}

/// Whether a part shows the same losses in both directions, so that one of them need not be looked at.
pub(super) fn is_symmetric(part: &Part) -> bool {
    match part {
        Part::Gaussian { .. } | Part::Approximate { .. } | Part::Laplace { .. } | Part::Integer { .. } => {
            true
        }
        Part::RandomizedResponse { neighbours, .. } => *neighbours == Neighbours::Replaced,
        // What is declared is told apart by who is there.
        Part::PoissonSampled { neighbours, part, .. } => {
            *neighbours == Neighbours::Replaced && !matches!(**part, Part::Approximate { .. })
        }
        Part::AtMost(part) => is_symmetric(part),
        _ => false,
    }
}

fn no_pair(culprit: &str, methods: &str) -> Refusal {
    Refusal::no_theorem(culprit, "method exact", format!("use method {methods}"))
}

/// A part on a Poisson batch: the pair ((1−q)Q + qP, Q), or its reverse.
fn sampled(rate: f64, part: &Part, neighbours: Neighbours, order: Order) -> Result<Distribution, Refusal> {
    let situation = match (neighbours, order) {
        (Neighbours::Replaced, _) => Situation::Replace,
        (Neighbours::Present, Order::PresentFirst) => Situation::Remove,
        (Neighbours::Present, Order::AbsentFirst) => Situation::Add,
    };
    match part {
        Part::Gaussian { mu } => Ok(Distribution::Sampled(SampledGaussian::new(rate, *mu, situation))),
        Part::Laplace { .. } => Err(no_pair("poisson-sampled laplace", "pld")),
        Part::Integer { noise, shift } => Ok(atoms::integer(*noise, *shift)?.sampled(rate, situation)),
        Part::RandomizedResponse { buckets, noise, neighbours } => {
            let inner = atoms::randomized_response(*buckets, *noise, *neighbours, Order::PresentFirst);
            Ok(inner.sampled(rate, situation))
        }
        _ => Err(no_pair("this sampled mechanism", "rdp")),
    }
}

/// δ(ε) of one use of one distribution, in closed form.
pub(super) fn once(distribution: &Distribution, epsilon: f64) -> (f64, f64) {
    match distribution {
        Distribution::Laplace { epsilon: total } => gaussian::laplace_delta(*total, epsilon),
        Distribution::Sampled(step) => gaussian::sampled_delta(step, epsilon),
        Distribution::Atoms { atoms, .. } => atoms::delta(atoms, epsilon),
    }
}
