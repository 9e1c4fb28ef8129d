//! Batches: what a mechanism on part of the records becomes, for each way to draw the batch.

use super::{Composition, Neighbours, Part, alternatives, declared_kind, single};
use crate::single::{OUTWARD, amplified};
use veracity_core::numerics::binomial;
use veracity_core::{Adjacency, Count, Mechanism, Refusal, SamplingRate};

/// The largest group whose records are counted in a batch one by one.
const LARGEST_GROUP: u64 = 4096;

/// A batch that each record enters independently.
///
/// # Promise    A declared guarantee holds for every mechanism that keeps it. Under add-remove it compares the batch with and
/// without the record, which is all that the theorem needs. Under replace-one and zero-out it compares two batches that both
/// have a record in this place. It says nothing about the batch without one, so sampling lowers only δ, see [`told`]
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
    if adjacency != Adjacency::AddRemove && !is_additive(inner) {
        return told(rate, inner, adjacency);
    }
    if adjacency == Adjacency::ReplaceOne {
        return poisson_replaced(rate, inner);
    }
    let part = single(inner, Adjacency::AddRemove, group)?;
    match part {
        // The range of losses is all that is known: its pure ε.
        Part::BoundedRange { epsilon } => Ok(declared_at_most(amplified(rate, epsilon), 0.0)),
        Part::Gaussian { .. } | Part::Laplace { .. } | Part::Integer { .. } | Part::Approximate { .. } => {
            Ok(Part::PoissonSampled { rate, part: Box::new(part), neighbours: Neighbours::Present })
        }
        _ => Err(unsampled(inner, adjacency)),
    }
}

/// Whether noise is added to a sum over the batch, so that a blank record and one that is not there look alike, and all
/// contributions are shifts of the same noise. Declared guarantees and randomized response imply neither.
fn is_additive(inner: &Mechanism) -> bool {
    !matches!(inner, Mechanism::RandomizedResponse { .. }) && declared_kind(inner).is_none()
}

/// The shift of Gaussian noise that is added to a sum, for one contribution; or of a declared μ-GDP mechanism where only
/// batches with and without the record are compared.
///
/// # Errors
/// For other mechanisms, and for declared ones under zero-out and replace-one
fn gaussian_shift(inner: &Mechanism, adjacency: Adjacency, what: &str) -> Result<f64, Refusal> {
    if adjacency != Adjacency::AddRemove && !is_additive(inner) {
        return Err(Refusal::no_theorem(
            format!("{what} of declared or reported {}", inner.kind()),
            adjacency,
            "use add-remove, or a gaussian mechanism",
        ));
    }
    single(inner, Adjacency::AddRemove, Count::ONE)?.gaussian_shift().ok_or_else(|| {
        Refusal::no_theorem(format!("{what} of {}", inner.kind()), adjacency, "sample a gaussian mechanism")
    })
}

/// A mechanism of which nothing is known but how it compares two records in the same place of a batch. With probability
/// `rate` it compares the two, else it shows the same for both. Some mechanism that keeps the guarantee attains this: one
/// that also publishes the exact size of the batch.
///
/// # Promise    H((1−q)A + qP₁ ‖ (1−q)A + qP₂) is at most q H(P₁ ‖ P₂), whatever A is
/// # Reference  Joint convexity of H
fn told(rate: f64, inner: &Mechanism, adjacency: Adjacency) -> Result<Part, Refusal> {
    let part = single(inner, adjacency, Count::ONE)?;
    let known = matches!(
        part,
        Part::Gaussian { .. }
            | Part::Approximate { .. }
            | Part::BoundedRange { .. }
            | Part::RandomizedResponse { .. }
    );
    if !known {
        return Err(unsampled(inner, adjacency));
    }
    let nothing = Box::new(Part::Gaussian { mu: 0.0 });
    Ok(Part::Either { chance: rate, rare: Box::new(part), usual: nothing })
}

fn unsampled(inner: &Mechanism, adjacency: Adjacency) -> Refusal {
    Refusal::no_theorem(
        format!("poisson-sampled {}", inner.kind()),
        adjacency,
        "sample a gaussian, laplace or declared (epsilon, delta) mechanism",
    )
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
        part @ (Part::Laplace { .. } | Part::Integer { .. }) => {
            Ok(Part::FixedSizeSampled { rate, part: Box::new(part) })
        }
        _ => Err(unsampled(inner, Adjacency::ReplaceOne)),
    }
}

/// A group whose records enter the batch independently of each other: a binomial number of shifts.
///
/// # Promise    Every way in which the group's records can contribute is dominated by all of them pointing the same way. For
/// a declared μ-GDP mechanism, i records are iμ-GDP against none of them; the most powerful tests of all these Gaussians are
/// the same half-lines, so no test does better against the mixture
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
    let mu = gaussian_shift(inner, adjacency, "poisson-sampled groups")?;
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
        return match adjacency {
            Adjacency::ReplaceOne | Adjacency::ZeroOut => single(inner, adjacency, group),
            Adjacency::AddRemove => Err(Refusal::Invalid(format!(
                "batch is {} of a population of {}: no such batch exists with one record fewer; use a smaller batch, \
                 replace-one or zero-out",
                batch.get(),
                population.get()
            ))),
        };
    }
    if group != Count::ONE {
        return Err(Refusal::no_theorem("fixed-size sampling", "group privacy", "use a group of one"));
    }
    let rate = (batch.as_f64() / population.as_f64()).next_up().min(1f64.next_down());
    // Batches have one size, so a record that comes takes the place of another one. A guarantee that was declared for added
    // records covers that in two steps.
    let part = match adjacency {
        Adjacency::AddRemove => single(inner, adjacency, Count::new(2)?)?,
        Adjacency::ReplaceOne | Adjacency::ZeroOut => single(inner, Adjacency::ReplaceOne, group)?,
    };
    let known = matches!(part, Part::Gaussian { .. } | Part::Laplace { .. } | Part::Integer { .. });
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
            | Part::Integer { .. }
            | Part::RandomizedResponse { .. }
            | Part::Zcdp { .. }
            | Part::Rdp { .. }) => Ok(Part::FixedSizeSampled { rate, part: Box::new(part) }),
            _ => Err(Refusal::no_theorem(
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
/// is a plain Poisson batch. Given N ≥ `most`, the batch is full with or without the record, which is in it with a probability
/// of at most the rate and stands in the place of another one: two of the batches that it can make differ in one place, by two
/// contributions. So an added record shows at most the pair of a Poisson batch with twice the shift, and a replaced or
/// blanked one that of a batch of fixed size. The probability of a full batch is rounded up. That is safe because a full batch,
/// at the same rate and with twice the shift, dominates a plain one
/// # Reference  [Ganesh25] for the mechanism; [BalleBartheGaboardi18] Theorem 2 for a full batch: H(P ‖ Q) with
/// P = (1−a)A + aP₁, Q = (1−a)A + aQ₁ is at most a times the larger of H(P₁ ‖ A) and H(P₁ ‖ Q₁). That the record is in the batch no
/// more often than in a plain one is *not* enough: A lies two contributions from P₁
/// # Assumes    Under add-remove the datasets have at most `population` records besides those that are added
pub(super) fn truncated_poisson(
    rate: SamplingRate,
    (most, population): (Count, Count),
    inner: &Mechanism,
    adjacency: Adjacency,
    group: Count,
) -> Result<Part, Refusal> {
    // Nothing is ever dropped from the larger dataset, which under add-remove has the group besides the population.
    let added = if adjacency == Adjacency::AddRemove { group.get() } else { 0 };
    if most.get() >= population.get().saturating_add(added) {
        return poisson(rate.get(), inner, adjacency, group);
    }
    let mu = gaussian_shift(inner, adjacency, "truncated poisson batches")?;
    if group != Count::ONE {
        return Err(Refusal::no_theorem("truncated poisson batches", "group privacy", "use a group of one"));
    }
    let rate = rate.get();
    let present = |rate: f64, mu: f64| Part::PoissonSampled {
        rate,
        part: Box::new(Part::Gaussian { mu }),
        neighbours: Neighbours::Present,
    };
    let fixed = |rate: f64| Part::FixedSizeSampled { rate, part: Box::new(Part::Gaussian { mu: 2.0 * mu }) };
    if rate == 1.0 && adjacency != Adjacency::AddRemove {
        // Every record is drawn, so this is a batch of fixed size. Under add-remove a smaller dataset would make the share larger.
        let share = (most.as_f64() / population.as_f64()).next_up();
        let part = if share >= 1.0 { Part::Gaussian { mu: 2.0 * mu } } else { fixed(share) };
        return Ok(Part::AtMost(Box::new(part)));
    }
    let (full, plain) = match adjacency {
        Adjacency::AddRemove => (present(rate, 2.0 * mu), present(rate, mu)),
        Adjacency::ZeroOut => (fixed(rate), present(rate, mu)),
        Adjacency::ReplaceOne => {
            let part = Box::new(Part::Gaussian { mu });
            (fixed(rate), Part::PoissonSampled { rate, part, neighbours: Neighbours::Replaced })
        }
    };
    let log_full = binomial::log_upper_tail(population.get(), most.get(), rate);
    let chance = (log_full.exp() * (1.0 + 1e-9)).min(1.0);
    let either = Part::Either { chance, rare: Box::new(full), usual: Box::new(plain) };
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
    let mu = gaussian_shift(inner, adjacency, "random allocation")?;
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
            "use zero-out or replace-one, because adding a record moves others to other batches",
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
            "compose gaussians inside, or sample each mechanism separately",
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
