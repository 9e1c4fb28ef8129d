//! A mechanism under an adjacency, as flat compositions of parts. Repetition, parallel parts, groups, sampling and adjacency are
//! resolved here, so that methods do not handle them. `tests/small_populations.rs` compares the result with brute force.
//!
//! The result is a list of alternatives. A record lies in one of several parallel parts (or in two, when it may be
//! replaced), so what leaks is the worst over the alternatives.

mod dominance;
mod part;
mod sampling;

use crate::integer::IntegerNoise;
pub use part::{Composition, Neighbours, Part};
use veracity_core::{Adjacency, Count, Mechanism, Refusal};

/// The most alternatives that parallel parts may multiply out to.
const MOST_ALTERNATIVES: usize = 4096;

/// Multiplies a mechanism out. The worst of the alternatives is what leaks.
///
/// # Promise  Each alternative dominates what adjacent datasets in its situation can show.
///
/// # Errors
/// Refuses combinations of mechanism and adjacency without a theorem.
///
/// # Examples
///
/// ```
/// use veracity_account::{Part, expand::expand};
/// use veracity_core::{Adjacency, Count, Mechanism, NoiseMultiplier};
///
/// let sum = Mechanism::Gaussian { noise_multiplier: NoiseMultiplier::new(2.0)? };
/// let regions = Mechanism::Parallel(vec![sum.clone(), sum]).repeated(Count::new(3)?);
/// for composition in expand(&regions, Adjacency::AddRemove)? {
///     // A record is in one region: three uses, never six.
///     assert_eq!(composition.parts, [(Part::Gaussian { mu: 0.5 }, Count::new(3)?)]);
/// }
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
pub fn expand(mechanism: &Mechanism, adjacency: Adjacency) -> Result<Vec<Composition>, Refusal> {
    alternatives(mechanism, adjacency, Count::ONE)
}

fn alternatives(
    mechanism: &Mechanism,
    adjacency: Adjacency,
    group: Count,
) -> Result<Vec<Composition>, Refusal> {
    match mechanism {
        Mechanism::Repeated { times, mechanism } => {
            let mut once = alternatives(mechanism, adjacency, group)?;
            for composition in &mut once {
                for (_, uses) in &mut composition.parts {
                    *uses = uses.times(*times)?;
                }
            }
            Ok(once)
        }
        Mechanism::Composed(mechanisms) => {
            if mechanisms.is_empty() {
                return Err(Refusal::out_of_range("composition", "empty", "at least one mechanism"));
            }
            let mut all = vec![Composition { parts: Vec::new() }];
            for next in mechanisms {
                let options = alternatives(next, adjacency, group)?;
                match (all.as_mut_slice(), options.as_slice()) {
                    // A plan without a choice grows in place.
                    ([one], [next]) => one.append(next)?,
                    _ => all = product(&all, &options)?,
                }
            }
            Ok(all)
        }
        Mechanism::Parallel(mechanisms) => parallel(mechanisms, adjacency, group),
        Mechanism::Group { size, mechanism } => alternatives(mechanism, adjacency, group.times(*size)?),
        Mechanism::BestOf { runs, mechanism } => {
            let options = alternatives(mechanism, adjacency, group)?;
            let best = |run| Composition { parts: vec![(Part::BestOf { runs: *runs, run }, Count::ONE)] };
            Ok(options.into_iter().map(best).collect())
        }
        Mechanism::Matrix { strategy, participation, noise_multiplier } => {
            let parts = crate::matrix::parts(strategy, *participation, *noise_multiplier, adjacency, group)?;
            Ok(vec![Composition { parts }])
        }
        // A record sees one part of every other kind, which `single` makes of it or refuses.
        _ => {
            let part = single(mechanism, adjacency, group)?;
            Ok(vec![Composition { parts: vec![(part, Count::ONE)] }])
        }
    }
}

/// All ways to choose one composition of each list and do them after each other.
fn product(firsts: &[Composition], seconds: &[Composition]) -> Result<Vec<Composition>, Refusal> {
    if firsts.len() * seconds.len() > MOST_ALTERNATIVES {
        return Err(Refusal::NotCertified(format!(
            "parallel parts multiply out to more than {MOST_ALTERNATIVES} alternatives; account for them one by one"
        )));
    }
    let mut all: Vec<Composition> = Vec::new();
    for first in firsts {
        for second in seconds {
            dominance::keep_worst(&mut all, first.then(second)?);
        }
    }
    Ok(all)
}

/// A record that is added, removed or blanked lies in one part; one that is replaced can leave one part and enter
/// another, which then see an added or removed record each.
fn parallel(
    mechanisms: &[Mechanism],
    adjacency: Adjacency,
    group: Count,
) -> Result<Vec<Composition>, Refusal> {
    if mechanisms.is_empty() {
        return Err(Refusal::out_of_range("parallel parts", "none", "at least one mechanism"));
    }
    if group != Count::ONE {
        return Err(Refusal::no_theorem(
            "parallel parts",
            "group privacy",
            "put the group inside each part, or account for the parts as a composition",
        ));
    }
    let mut all = Vec::new();
    for mechanism in mechanisms {
        for option in alternatives(mechanism, adjacency, group)? {
            dominance::keep_worst(&mut all, option);
        }
    }
    if adjacency == Adjacency::ReplaceOne && mechanisms.len() > 1 {
        // A declaration for replaced records says nothing about a record that comes or goes.
        if let Some(kind) = mechanisms.iter().find_map(declared_kind) {
            return Err(Refusal::no_theorem(
                format!("declared {kind} on parallel parts"),
                adjacency,
                "use add-remove or zero-out, or account for the parts as a composition",
            ));
        }
        let mut moved: Vec<Vec<Composition>> = Vec::new();
        for mechanism in mechanisms {
            moved.push(alternatives(mechanism, Adjacency::AddRemove, group)?);
        }
        // One part loses the record while the other gains it; parts for which that differs have no direction here.
        let sampled = |part: &Part| {
            matches!(
                part,
                Part::PoissonSampled { .. }
                    | Part::Mixture { .. }
                    | Part::Allocated { .. }
                    | Part::BestOf { .. }
                    | Part::Either { .. }
                    | Part::AtMost(_)
            )
        };
        if moved.iter().flatten().flat_map(|option| &option.parts).any(|(part, _)| sampled(part)) {
            return Err(Refusal::no_theorem(
                "poisson-sampled mechanisms on parallel parts",
                adjacency,
                "use add-remove or zero-out",
            ));
        }
        for (i, left) in moved.iter().enumerate() {
            for entered in &moved[i + 1..] {
                for option in product(left, entered)? {
                    dominance::keep_worst(&mut all, option);
                }
            }
        }
    }
    if all.len() > MOST_ALTERNATIVES {
        return Err(Refusal::NotCertified(format!(
            "parallel parts multiply out to more than {MOST_ALTERNATIVES} alternatives; account for them one by one"
        )));
    }
    Ok(all)
}

/// The kind of a mechanism that is known by what was declared of it, or has one inside.
fn declared_kind(mechanism: &Mechanism) -> Option<&'static str> {
    match mechanism.is_declared() {
        true => Some(mechanism.kind()),
        false => mechanism.inside().iter().find_map(declared_kind),
    }
}

/// One mechanism that is neither repeated nor composed.
fn single(mechanism: &Mechanism, adjacency: Adjacency, group: Count) -> Result<Part, Refusal> {
    let shift = f64::from(adjacency.contributions()) * group.as_f64();
    let integer = |noise: IntegerNoise, sensitivity: Count| -> Result<Part, Refusal> {
        let contributions = Count::new(u64::from(adjacency.contributions()) * group.get())?;
        Ok(Part::Integer { noise, shift: sensitivity.times(contributions)?.get() })
    };
    let size = group.as_f64();
    Ok(match mechanism {
        Mechanism::Gaussian { noise_multiplier } => Part::Gaussian { mu: shift / noise_multiplier.get() },
        Mechanism::Laplace { noise_multiplier } => Part::Laplace { epsilon: shift / noise_multiplier.get() },
        Mechanism::DiscreteGaussian { sigma, sensitivity } => {
            integer(IntegerNoise::Gaussian { sigma: sigma.get() }, *sensitivity)?
        }
        Mechanism::DiscreteLaplace { scale, sensitivity } => {
            integer(IntegerNoise::Laplace { scale: scale.get() }, *sensitivity)?
        }
        // [AgarwalKairouzLiu21]; that the whole shift is the worst pair is in `IntegerNoise`.
        Mechanism::Skellam { variance, sensitivity } => {
            integer(IntegerNoise::Skellam { variance: variance.get() }, *sensitivity)?
        }
        Mechanism::RandomizedResponse { buckets, noise } => {
            let neighbours = match adjacency {
                Adjacency::AddRemove => {
                    return Err(Refusal::no_theorem(
                        "randomized response",
                        adjacency,
                        "use replace-one or zero-out",
                    ));
                }
                Adjacency::ReplaceOne => Neighbours::Replaced,
                Adjacency::ZeroOut => Neighbours::Present,
            };
            if noise.get() <= 0.0 {
                return Err(Refusal::out_of_range("noise parameter", noise, "0 < noise parameter ≤ 1"));
            }
            if group != Count::ONE {
                return Err(Refusal::no_theorem(
                    "randomized response",
                    "group privacy",
                    "repeat it once per member of the group",
                ));
            }
            Part::RandomizedResponse { buckets: buckets.get(), noise: noise.get(), neighbours }
        }
        // A chain of `size` adjacent datasets: ranges, pure ε, √ρ and μ add up along it.
        Mechanism::Exponential { epsilon } => Part::BoundedRange { epsilon: size * epsilon.get() },
        Mechanism::Pure { epsilon } => group_of_approximate(epsilon.get(), 0.0, group)?,
        Mechanism::Approximate { epsilon, delta } => group_of_approximate(epsilon.get(), delta.get(), group)?,
        Mechanism::Zcdp { rho } => Part::Zcdp { rho: size * size * rho.get() },
        Mechanism::Rdp { curve } => {
            if group != Count::ONE {
                return Err(Refusal::no_theorem(
                    "a declared rdp curve", "group privacy", "declare it as zcdp",
                ));
            }
            Part::Rdp { curve: curve.clone() }
        }
        Mechanism::Gdp { mu } => Part::Gaussian { mu: size * mu.get() },
        Mechanism::PoissonSampled { rate, mechanism } => {
            sampling::poisson(rate.get(), mechanism, adjacency, group)?
        }
        Mechanism::FixedSizeSampled { batch, population, mechanism } => {
            sampling::fixed_size(*batch, *population, mechanism, adjacency, group)?
        }
        Mechanism::TruncatedPoissonSampled { rate, most, population, mechanism } => {
            sampling::truncated_poisson(*rate, (*most, *population), mechanism, adjacency, group)?
        }
        Mechanism::RandomAllocation { batches, mechanism } => {
            sampling::random_allocation(*batches, mechanism, adjacency, group)?
        }
        Mechanism::Shuffled { batches, mechanism } => {
            sampling::shuffled(*batches, mechanism, adjacency, group)?
        }
        Mechanism::Losses { losses } => {
            if group != Count::ONE {
                return Err(Refusal::no_theorem(
                    "a declared loss distribution",
                    "group privacy",
                    "use a group of one",
                ));
            }
            Part::Listed { losses: losses.clone() }
        }
        Mechanism::Repeated { .. }
        | Mechanism::Composed(_)
        | Mechanism::Parallel(_)
        | Mechanism::Group { .. }
        | Mechanism::Matrix { .. }
        | Mechanism::BestOf { .. } => sampling::inner(mechanism, adjacency, group)?,
    })
}

/// Tight group privacy of any (ε, δ): (kε, δ (e^{kε} − 1)/(e^ε − 1)), or nothing when that δ is no protection.
///
/// # Promise    Every (ε, δ)-private mechanism keeps it for groups of `size`; δ is rounded up
/// # Reference  \[Vadhan17\] Lemma 2.2; the usual k e^{kε} δ is valid but loose
///
/// # Examples
///
/// ```
/// use veracity_account::expand::group_promise;
/// use veracity_core::Count;
///
/// // A household of three: ε triples, and δ grows by 1 + e^ε + e^2ε.
/// let (epsilon, delta) = (0.5f64, 1e-6);
/// let factor = 1.0 + epsilon.exp() + (2.0 * epsilon).exp();
/// let Some((group_epsilon, group_delta)) = group_promise(epsilon, delta, Count::new(3)?) else { panic!() };
/// assert_eq!(group_epsilon, 1.5);
/// assert!(group_delta >= delta * factor * (1.0 - 1e-14) && group_delta < delta * factor * (1.0 + 1e-12));
/// // A δ of 1 or more protects nobody.
/// assert_eq!(group_promise(10.0, 1e-6, Count::new(3)?), None);
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
pub fn group_promise(epsilon: f64, delta: f64, size: Count) -> Option<(f64, f64)> {
    let k = size.as_f64();
    let factor = if epsilon == 0.0 { k } else { (k * epsilon).exp_m1() / epsilon.exp_m1() };
    let grown = if delta == 0.0 || k == 1.0 { delta } else { delta * factor * (1.0 + 8.0 * f64::EPSILON) };
    // Not a number, as for an infinite e^ε, is no promise either.
    (grown < 1.0).then_some((k * epsilon, grown))
}

fn group_of_approximate(epsilon: f64, delta: f64, size: Count) -> Result<Part, Refusal> {
    match group_promise(epsilon, delta, size) {
        Some((epsilon, delta)) if size == Count::ONE => Ok(Part::Approximate { epsilon, delta }),
        // No mechanism that keeps the declaration need leak as much to a group as the rule allows.
        Some((epsilon, delta)) => Ok(Part::AtMost(Box::new(Part::Approximate { epsilon, delta }))),
        None => Err(Refusal::NotCertified(format!(
            "delta of a group of {} is 1 or more, which is no protection; use a smaller delta or group",
            size.get()
        ))),
    }
}
