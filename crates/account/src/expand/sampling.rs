//! Batches: what a mechanism on part of the records becomes, for each way to draw the batch.

use super::{Composition, Neighbours, Part, alternatives, single};
use crate::single::{OUTWARD, amplified};
use veracity_core::{Adjacency, Count, Mechanism, Refusal, SamplingRate};
use veracity_numerics::binomial;

/// The largest group whose records are counted in a batch one by one.
const LARGEST_GROUP: u64 = 4096;

/// A batch that each record enters independently.
///
/// # Reference  [ZhuDongWang22] Theorem 11 (add-remove: dominating pairs pass through Poisson sampling);
/// [Schuchardt24] for a replaced record and Gaussian noise, and for groups
pub(super) fn poisson(
    rate: f64,
    inner: &Mechanism,
    adjacency: Adjacency,
    group: Count,
) -> Result<Part, Refusal> {
    if rate == 1.0 {
        return single(inner, adjacency, group);
    }
    if group != Count::ONE {
        return poisson_group(rate, inner, adjacency, group);
    }
    if matches!(inner, Mechanism::RandomizedResponse { .. }) {
        return poisson_response(rate, inner, adjacency);
    }
    if adjacency == Adjacency::ReplaceOne {
        return poisson_replaced(rate, inner);
    }
    let part = single(inner, Adjacency::AddRemove, group)?;
    match part {
        // The range of losses is all that is known: its pure ε.
        Part::BoundedRange { epsilon } => Ok(declared_at_most(amplified(rate, epsilon), 0.0)),
        Part::Gaussian { .. }
        | Part::Laplace { .. }
        | Part::DiscreteGaussian { .. }
        | Part::DiscreteLaplace { .. }
        | Part::RandomizedResponse { .. }
        | Part::Approximate { .. } => {
            Ok(Part::PoissonSampled { rate, part: Box::new(part), neighbours: Neighbours::Present })
        }
        Part::Zcdp { .. }
        | Part::Rdp { .. }
        | Part::PoissonSampled { .. }
        | Part::FixedSizeSampled { .. }
        | Part::Mixture { .. }
        | Part::Allocated { .. }
        | Part::Listed { .. }
        | Part::BestOf { .. }
        | Part::Either { .. }
        | Part::AtMost(_) => Err(Refusal::no_theorem(
            format!("poisson-sampled {}", inner.kind()),
            adjacency,
            "sample a gaussian, laplace or declared (epsilon, delta) mechanism",
        )),
    }
}

/// Randomized response on a batch: whoever is in it answers, and a blank answers at random.
fn poisson_response(rate: f64, inner: &Mechanism, adjacency: Adjacency) -> Result<Part, Refusal> {
    match adjacency {
        Adjacency::ZeroOut => {
            let part = Box::new(single(inner, adjacency, Count::ONE)?);
            Ok(Part::PoissonSampled { rate, part, neighbours: Neighbours::Present })
        }
        Adjacency::AddRemove | Adjacency::ReplaceOne => {
            Err(Refusal::no_theorem("poisson-sampled randomized-response", adjacency, "use zero-out"))
        }
    }
}

/// A record that is replaced by another. For Gaussian noise the worst pair is known; for other noise, what the batch shows
/// with either record is at most as far from what it shows without one as the two records are from each other, so joint
/// convexity gives the pair of a fixed-size batch.
///
/// # Reference  [Schuchardt24] (Gaussian); [BalleBartheGaboardi18] Theorem 2: H(P' ‖ Q') = q H(P₁ ‖ (1−β)A + βP₂) is at most
/// q times the larger of H(P₁ ‖ A) and H(P₁ ‖ P₂)
fn poisson_replaced(rate: f64, inner: &Mechanism) -> Result<Part, Refusal> {
    if let Part::Gaussian { mu } = single(inner, Adjacency::AddRemove, Count::ONE)? {
        let part = Box::new(Part::Gaussian { mu });
        return Ok(Part::PoissonSampled { rate, part, neighbours: Neighbours::Replaced });
    }
    match single(inner, Adjacency::ReplaceOne, Count::ONE)? {
        part @ (Part::Laplace { .. } | Part::DiscreteLaplace { .. } | Part::DiscreteGaussian { .. }) => {
            Ok(Part::FixedSizeSampled { rate, part: Box::new(part) })
        }
        // A declaration for replaced records says nothing about a batch without one.
        _ => Err(Refusal::no_theorem(
            format!("poisson-sampled {}", inner.kind()),
            Adjacency::ReplaceOne,
            "use add-remove or zero-out, or fixed-size sampling",
        )),
    }
}

/// A group whose records enter the batch independently of each other: a binomial number of shifts.
///
/// # Promise    Every way in which the group's records can contribute is dominated by all of them pointing the same way
/// # Reference  [Schuchardt24] (groups in Poisson batches); [ChoquetteChooEtAl24] for mixtures of Gaussians
/// # Numerics   Each chance has a relative error of a few units a record, or 1e-12 for large groups, which the methods that
/// read them add to both sides
fn poisson_group(rate: f64, inner: &Mechanism, adjacency: Adjacency, group: Count) -> Result<Part, Refusal> {
    let refused = |remedy: &str| {
        Err(Refusal::no_theorem(format!("poisson-sampled {} of a group", inner.kind()), adjacency, remedy))
    };
    if adjacency == Adjacency::ReplaceOne {
        return refused("use add-remove or zero-out");
    }
    let Part::Gaussian { mu } = single(inner, Adjacency::AddRemove, Count::ONE)? else {
        return refused("sample a gaussian mechanism, or use a group of one");
    };
    let size = group.get();
    if size > LARGEST_GROUP {
        return refused("use a group of at most 4096");
    }
    Ok(Part::Mixture { shifts: binomial_shifts(size, rate, mu) })
}

/// Shifts i·μ with the chances of a binomial number i of `size`.
fn binomial_shifts(size: u64, rate: f64, mu: f64) -> Vec<(f64, f64)> {
    let shift = |i: u64| i as f64 * mu;
    let none = (size as f64 * (-rate).ln_1p()).exp();
    if size < 512 && none > 1e-250 {
        // p_{i+1} = p_i (n − i)/(i + 1) · q/(1 − q).
        let next = |&(i, chance): &(u64, f64)| {
            let odds = (size - i) as f64 / (i + 1) as f64 * (rate / (1.0 - rate));
            (i < size).then_some((i + 1, chance * odds))
        };
        let chances = std::iter::successors(Some((0, none)), next);
        return chances.filter(|(_, chance)| *chance > 0.0).map(|(i, chance)| (chance, shift(i))).collect();
    }
    let chance = |i: u64| binomial::log_probability(size, i, rate).exp();
    (0..=size).map(|i| (chance(i), shift(i))).filter(|shift| shift.0 > 0.0).collect()
}

/// A batch of fixed size, drawn without replacement.
///
/// # Reference  [ZhuDongWang22] Theorem 11: with a pair for replaced records, ((1−γ)Q + γP, Q) and (P, (1−γ)P + γQ) for a
/// record that is removed or added, both attained where all other records contribute the opposite; [BalleBartheGaboardi18]
/// Theorem 9 (declared guarantees); [WangBalleKasiviswanathan19] (Rényi)
pub(super) fn fixed_size(
    batch: Count,
    population: Count,
    inner: &Mechanism,
    adjacency: Adjacency,
    group: Count,
) -> Result<Part, Refusal> {
    if batch > population {
        return Err(Refusal::out_of_range("batch", batch.get(), "batch ≤ population"));
    }
    if batch == population {
        return single(inner, adjacency, group);
    }
    if group != Count::ONE {
        return Err(Refusal::no_theorem("fixed-size sampling", "group privacy", "use a group of one"));
    }
    let rate = batch.as_f64() / population.as_f64();
    let part = single(inner, Adjacency::ReplaceOne, group)?;
    let known = matches!(
        part,
        Part::Gaussian { .. }
            | Part::Laplace { .. }
            | Part::DiscreteGaussian { .. }
            | Part::DiscreteLaplace { .. }
    );
    match adjacency {
        // One record more makes one of the batch give way: inside the batch a record is replaced.
        Adjacency::AddRemove if known => {
            Ok(Part::PoissonSampled { rate, part: Box::new(part), neighbours: Neighbours::Present })
        }
        Adjacency::AddRemove | Adjacency::ZeroOut => Err(Refusal::no_theorem(
            format!("fixed-size-sampled {}", inner.kind()),
            adjacency,
            if adjacency == Adjacency::AddRemove {
                "use replace-one"
            } else {
                "use replace-one or add-remove"
            },
        )),
        Adjacency::ReplaceOne => match part {
            Part::Approximate { epsilon, delta } => {
                Ok(declared_at_most(amplified(rate, epsilon), rate * delta * OUTWARD))
            }
            Part::BoundedRange { epsilon } => Ok(declared_at_most(amplified(rate, epsilon), 0.0)),
            part @ (Part::Gaussian { .. }
            | Part::Laplace { .. }
            | Part::DiscreteGaussian { .. }
            | Part::DiscreteLaplace { .. }
            | Part::RandomizedResponse { .. }
            | Part::Zcdp { .. }
            | Part::Rdp { .. }) => Ok(Part::FixedSizeSampled { rate, part: Box::new(part) }),
            Part::PoissonSampled { .. }
            | Part::FixedSizeSampled { .. }
            | Part::Mixture { .. }
            | Part::Allocated { .. }
            | Part::Listed { .. }
            | Part::BestOf { .. }
            | Part::Either { .. }
            | Part::AtMost(_) => Err(Refusal::no_theorem(
                format!("fixed-size sampling of {}", inner.kind()),
                adjacency,
                "sample once",
            )),
        },
    }
}

/// A Poisson batch of at most `most` records.
///
/// # Promise    Which records are dropped depends on no value. How many of the *other* records are drawn, N, may be told to
/// everybody: it does not depend on the record. Given N < `most`, nothing is dropped on account of the record, and the batch
/// is a plain Poisson batch. Given N ≥ `most`, the batch is full with or without the record, which is in it with a chance of
/// at most the rate and stands in the place of another one: two of the batches that it can make differ in one place, by two
/// contributions. So an added record shows at most the pair of a Poisson batch with twice the shift, and a replaced or
/// blanked one that of a batch of fixed size
/// # Reference  [Ganesh25] for the mechanism; [BalleBartheGaboardi18] Theorem 2 for a full batch: H(P ‖ Q) with
/// P = (1−a)A + aP₁, Q = (1−a)A + aQ₁ is at most a times the larger of H(P₁ ‖ A) and H(P₁ ‖ Q₁). That the record is in the batch no
/// more often than in a plain one is *not* enough: A lies two contributions from P₁
pub(super) fn truncated_poisson(
    rate: SamplingRate,
    (most, population): (Count, Count),
    inner: &Mechanism,
    adjacency: Adjacency,
    group: Count,
) -> Result<Part, Refusal> {
    if most >= population {
        return poisson(rate.get(), inner, adjacency, group);
    }
    let Part::Gaussian { mu } = single(inner, Adjacency::AddRemove, Count::ONE)? else {
        return Err(Refusal::no_theorem(
            format!("truncated-poisson-sampled {}", inner.kind()),
            adjacency,
            "sample a gaussian mechanism",
        ));
    };
    if group != Count::ONE {
        return Err(Refusal::no_theorem("truncated poisson batches", "group privacy", "use a group of one"));
    }
    let rate = rate.get();
    let sampled = |rate: f64, mu: f64, neighbours| {
        let part = Box::new(Part::Gaussian { mu });
        if rate == 1.0 { *part } else { Part::PoissonSampled { rate, part, neighbours } }
    };
    // Given N ≥ `most` others, the record is kept with a chance of most/(N + 1).
    let kept = rate * most.as_f64() / (most.as_f64() + 1.0) * OUTWARD;
    let full = Part::FixedSizeSampled { rate: kept, part: Box::new(Part::Gaussian { mu: 2.0 * mu }) };
    let (rare, usual) = match adjacency {
        Adjacency::AddRemove => {
            (sampled(kept, 2.0 * mu, Neighbours::Present), sampled(rate, mu, Neighbours::Present))
        }
        Adjacency::ZeroOut => (full, sampled(rate, mu, Neighbours::Present)),
        // With every record drawn, the others number one less than the population: never fewer than `most`.
        Adjacency::ReplaceOne if rate == 1.0 => (full.clone(), full),
        Adjacency::ReplaceOne => (full, sampled(rate, mu, Neighbours::Replaced)),
    };
    let log_full = binomial::log_upper_tail(population.get(), most.get(), rate);
    let chance = (log_full.exp() * (1.0 + 1e-9)).min(1.0);
    let either = Part::Either { chance, rare: Box::new(rare), usual: Box::new(usual) };
    Ok(Part::AtMost(Box::new(either)))
}

/// One epoch over batches to which records are dealt independently.
///
/// # Reference  [ChuaEtAl25] (balls and bins), [FeldmanShenfeld25]: the pair is a Gaussian vector with one coordinate moved.
/// Records that enter several batches of an epoch have no mechanism here: their bounds are loose ([FeldmanShenfeld25]) or drawn
pub(super) fn random_allocation(
    batches: Count,
    inner: &Mechanism,
    adjacency: Adjacency,
    group: Count,
) -> Result<Part, Refusal> {
    if batches == Count::ONE {
        return single(inner, adjacency, group);
    }
    let Part::Gaussian { mu } = single(inner, Adjacency::AddRemove, Count::ONE)? else {
        return Err(Refusal::no_theorem(
            format!("random allocation of {}", inner.kind()),
            adjacency,
            "allocate a gaussian mechanism",
        ));
    };
    if group != Count::ONE || adjacency == Adjacency::ReplaceOne {
        let setting = if group == Count::ONE { adjacency.name() } else { "group privacy" };
        return Err(Refusal::no_theorem(
            "random allocation",
            setting,
            "use add-remove or zero-out, and no group",
        ));
    }
    Ok(Part::Allocated { batches, mu })
}

/// One epoch over the batches of a shuffled dataset. Whatever the order, a record is in one batch: the epoch leaks at most
/// as much as one use. How much less is not known.
///
/// # Reference  [ChuaEtAl24] Theorem 4.2 for what is known from below, see `shuffled::least_delta`
pub(super) fn shuffled(
    batches: Count,
    inner: &Mechanism,
    adjacency: Adjacency,
    group: Count,
) -> Result<Part, Refusal> {
    if batches == Count::ONE {
        return single(inner, adjacency, group);
    }
    if adjacency == Adjacency::AddRemove {
        return Err(Refusal::no_theorem(
            "shuffled batches",
            adjacency,
            "use zero-out or replace-one: a record more moves others to another batch",
        ));
    }
    if group != Count::ONE {
        return Err(Refusal::no_theorem("shuffled batches", "group privacy", "use a group of one"));
    }
    Ok(Part::AtMost(Box::new(single(inner, adjacency, group)?)))
}

/// Several mechanisms on one batch: Gaussians, such as a gradient and the count that adapts its clip norm, are one Gaussian.
pub(super) fn inner(mechanism: &Mechanism, adjacency: Adjacency, group: Count) -> Result<Part, Refusal> {
    let options = alternatives(mechanism, adjacency, group)?;
    let refused = || {
        Refusal::no_theorem(
            format!("{} inside sampling", mechanism.kind()),
            "sampling",
            "put gaussians inside, or sample each on its own",
        )
    };
    let [composition] = options.as_slice() else { return Err(refused()) };
    match composition.parts.as_slice() {
        [(part, Count::ONE)] => Ok(part.clone()),
        _ => gaussian(composition).ok_or_else(refused),
    }
}

/// The one Gaussian that a composition of Gaussians is.
///
/// # Numerics  The sum of squares is rounded up by an ulp for each part
fn gaussian(composition: &Composition) -> Option<Part> {
    let mut square = 0.0;
    for (part, times) in &composition.parts {
        let Part::Gaussian { mu } = part else { return None };
        square += times.as_f64() * mu * mu;
    }
    let up = 1.0 + (composition.parts.len() + 4) as f64 * f64::EPSILON;
    Some(Part::Gaussian { mu: square.sqrt() * up })
}

fn declared_at_most(epsilon: f64, delta: f64) -> Part {
    Part::AtMost(Box::new(Part::Approximate { epsilon, delta }))
}
