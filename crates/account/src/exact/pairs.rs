//! From a part to the law of its privacy loss: the dominating pair of each mechanism, in each direction.

use super::atoms;
use super::gaussian;
use super::law::Law;
use super::sampled::{SampledGaussian, Situation};
use crate::expand::{Neighbours, Part};
use veracity_core::Refusal;

/// In which dataset the record is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    PresentFirst,
    AbsentFirst,
}

/// A dominating pair, by the law of its privacy loss.
pub(super) enum Pair {
    /// N(μ, 1) against N(0, 1): all of these compose to one of them.
    Gaussian { mu: f64 },
    /// Any other law of finite losses, the probability that the loss is infinite, and the largest finite loss.
    Losses { law: Law, infinite: f64, largest: f64 },
}

impl Pair {
    fn finite(law: Law) -> Pair {
        let largest = law.largest();
        Pair::Losses { law, infinite: 0.0, largest }
    }

    /// A law of atoms that stands for one without a largest loss: what its finite list lacks cannot be seen in `f64`.
    fn unbounded(law: Law) -> Pair {
        Pair::Losses { law, infinite: 0.0, largest: f64::INFINITY }
    }
}

/// The dominating pair of one use of `part`, or a refusal that names the method that knows it.
///
/// # Promise  The pair dominates the part: composition keeps that
/// # Reference  [ZhuDongWang22] Definition 7 and Theorem 10
pub(super) fn pair(part: &Part, order: Order) -> Result<Pair, Refusal> {
    match part {
        Part::Gaussian { mu } => Ok(Pair::Gaussian { mu: *mu }),
        Part::Approximate { epsilon, delta } => {
            Ok(Pair::Losses { law: atoms::two_point(*epsilon).law(), infinite: *delta, largest: *epsilon })
        }
        Part::Laplace { epsilon } => Ok(Pair::finite(Law::Laplace { epsilon: *epsilon })),
        Part::RandomizedResponse { buckets, noise, neighbours } => {
            Ok(Pair::finite(atoms::randomized_response(*buckets, *noise, *neighbours, order).law()))
        }
        Part::DiscreteLaplace { scale, shift } => {
            atoms::discrete_laplace(*scale, *shift).map(|listed| Pair::finite(listed.law()))
        }
        Part::DiscreteGaussian { sigma, shift } => {
            atoms::discrete_gaussian_law(*sigma, *shift).map(Pair::unbounded)
        }
        Part::PoissonSampled { rate, part, neighbours } => {
            if let Part::Approximate { epsilon, delta } = **part {
                return Ok(atoms::sampled_declared(*rate, epsilon, delta, order));
            }
            let law = sampled(*rate, part, *neighbours, order)?;
            let endless = matches!(**part, Part::DiscreteGaussian { .. });
            Ok(if endless { Pair::unbounded(law) } else { Pair::finite(law) })
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
        Part::Gaussian { .. }
        | Part::Approximate { .. }
        | Part::Laplace { .. }
        | Part::DiscreteLaplace { .. }
        | Part::DiscreteGaussian { .. } => true,
        Part::RandomizedResponse { neighbours, .. } => *neighbours == Neighbours::Replaced,
        // What is declared is told apart by who is there.
        Part::PoissonSampled { neighbours, part, .. } => {
            *neighbours == Neighbours::Replaced && !matches!(**part, Part::Approximate { .. })
        }
        Part::AtMost(part) => is_symmetric(part),
        Part::BoundedRange { .. }
        | Part::Zcdp { .. }
        | Part::Rdp { .. }
        | Part::FixedSizeSampled { .. }
        | Part::Listed { .. }
        | Part::Mixture { .. }
        | Part::Allocated { .. }
        | Part::Either { .. }
        | Part::BestOf { .. } => false,
    }
}

fn no_pair(culprit: &str, methods: &str) -> Refusal {
    Refusal::no_theorem(culprit, "method exact", format!("use method {methods}"))
}

/// A part on a Poisson batch: the pair ((1−q)Q + qP, Q), or its reverse.
fn sampled(rate: f64, part: &Part, neighbours: Neighbours, order: Order) -> Result<Law, Refusal> {
    let situation = match (neighbours, order) {
        (Neighbours::Replaced, _) => Situation::Replace,
        (Neighbours::Present, Order::PresentFirst) => Situation::Remove,
        (Neighbours::Present, Order::AbsentFirst) => Situation::Add,
    };
    match part {
        Part::Gaussian { mu } => Ok(Law::Sampled(SampledGaussian::new(rate, *mu, situation))),
        Part::Laplace { .. } => Err(no_pair("poisson-sampled laplace", "pld")),
        Part::DiscreteLaplace { scale, shift } => {
            Ok(atoms::discrete_laplace(*scale, *shift)?.sampled(rate, situation))
        }
        Part::DiscreteGaussian { sigma, shift } => {
            Ok(atoms::discrete_gaussian(*sigma, *shift)?.sampled(rate, situation))
        }
        Part::RandomizedResponse { buckets, noise, neighbours } => {
            let inner = atoms::randomized_response(*buckets, *noise, *neighbours, Order::PresentFirst);
            Ok(inner.sampled(rate, situation))
        }
        Part::BoundedRange { .. }
        | Part::Approximate { .. }
        | Part::Zcdp { .. }
        | Part::Rdp { .. }
        | Part::PoissonSampled { .. }
        | Part::FixedSizeSampled { .. }
        | Part::Mixture { .. }
        | Part::Allocated { .. }
        | Part::Listed { .. }
        | Part::BestOf { .. }
        | Part::Either { .. }
        | Part::AtMost(_) => Err(no_pair("this sampled mechanism", "rdp")),
    }
}

/// δ(ε) of one use of one law, in closed form.
pub(super) fn once(law: &Law, epsilon: f64) -> (f64, f64) {
    match law {
        Law::Laplace { epsilon: total } => gaussian::laplace_delta(*total, epsilon),
        Law::Sampled(step) => gaussian::sampled_delta(step, epsilon),
        Law::Atoms { atoms, .. } => atoms::delta(atoms, epsilon),
    }
}
