//! What a guarantee means for the people whose data it is, in numbers that each stand for a true sentence.

use crate::claims::{
    Adjacency, Choice, Count, Delta, Mechanism, Method, PrivacyProfile, PrivacyUnit, Probability, Refusal,
    Subject, Target, Upper, account, accounting::answer,
};
use crate::{best::Prepared, expand::group_promise, tradeoff};

/// The false-positive rates at which the strongest attack is described.
const FALSE_POSITIVE_RATES: [f64; 3] = [0.001, 0.01, 0.1];
/// The groups that are described.
const GROUP_SIZES: [u32; 2] = [2, 5];
/// Points of the profile that attacks are bounded with.
const POINTS: usize = 201;

/// An (ε, δ) that holds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Promise {
    /// The ε.
    pub epsilon: f64,
    /// The δ.
    pub delta: f64,
}

/// The strongest attack that wrongly accuses at one rate.
#[derive(Debug, Clone, PartialEq)]
pub struct AtRate {
    /// How often it accuses someone who is not in the data.
    pub false_positive_rate: f64,
    /// How often, at most, it finds someone who is.
    pub true_positive_rate: f64,
    /// Each prior, and what it becomes at most when the attack points at someone.
    pub posteriors: Vec<(f64, f64)>,
}

/// What several people who act together are promised.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Group {
    /// How many.
    pub size: u32,
    /// Their (ε, δ), or nothing.
    pub promise: Option<Promise>,
    /// The method, or `None` for the rule that follows from any (ε, δ).
    pub method: Option<Method>,
}

/// A guarantee, spelled out.
#[derive(Debug, Clone, PartialEq)]
pub struct Explanation {
    /// The (ε, δ) it starts from.
    pub promise: Promise,
    /// Which datasets look alike, where known.
    pub adjacency: Option<Adjacency>,
    /// Whose data one record is.
    pub unit: PrivacyUnit,
    /// The method behind the profile; `None` when only (ε, δ) was given.
    pub method: Option<Method>,
    /// e^ε.
    pub odds: f64,
    /// The largest true-positive rate minus false-positive rate.
    pub advantage: f64,
    /// The strongest attack at several false-positive rates.
    pub attacks: Vec<AtRate>,
    /// Groups that act together.
    pub groups: Vec<Group>,
}

/// Spells out what a subject promises, from its whole profile.
///
/// # Errors
/// Refuses what the accountant cannot bound.
pub fn explain(subject: &Subject, target: Target, priors: &[Probability]) -> Result<Explanation, Refusal> {
    let prepared = Prepared::new(&subject.question());
    let answer = answer(&prepared, target, Choice::Best)?;
    let (Some(epsilon), Some(delta)) = (answer.epsilon.upper(), answer.delta.upper()) else {
        return Err(Refusal::NotCertified(format!(
            "method {} gives no bound; use one that does",
            answer.method
        )));
    };
    let promise = Promise { epsilon: epsilon.0.get(), delta: delta.0.get() };
    let profile = PrivacyProfile::of(&prepared, POINTS)?;
    let mut pairs: Vec<(f64, f64)> =
        profile.points.iter().map(|point| (point.epsilon, point.upper)).collect();
    pairs.push((promise.epsilon, promise.delta));
    let groups = GROUP_SIZES.iter().map(|&size| group_of(subject, promise, size)).collect();
    Ok(Explanation {
        adjacency: Some(subject.adjacency),
        unit: subject.unit.clone(),
        method: Some(answer.method),
        groups,
        ..spell_out(promise, &pairs, priors)?
    })
}

/// Spells out what an (ε, δ) promises when nothing else is known.
///
/// # Errors
/// Refuses a promise that is no (ε, δ).
pub fn explain_promise(
    promise: Promise,
    unit: PrivacyUnit,
    priors: &[Probability],
) -> Result<Explanation, Refusal> {
    Ok(Explanation { unit, ..spell_out(promise, &[(promise.epsilon, promise.delta)], priors)? })
}

fn spell_out(promise: Promise, pairs: &[(f64, f64)], priors: &[Probability]) -> Result<Explanation, Refusal> {
    let attacks = FALSE_POSITIVE_RATES.iter().map(|&rate| strongest(pairs, Probability::new(rate)?, priors));
    let groups = GROUP_SIZES.map(|size| generic_group(promise, size));
    Ok(Explanation {
        promise,
        adjacency: None,
        unit: PrivacyUnit::default(),
        method: None,
        odds: promise.epsilon.exp(),
        advantage: tradeoff::advantage_through(pairs).0.get(),
        attacks: attacks.collect::<Result<_, _>>()?,
        groups: groups.into(),
    })
}

/// The strongest attack at one false-positive rate.
fn strongest(pairs: &[(f64, f64)], rate: Probability, priors: &[Probability]) -> Result<AtRate, Refusal> {
    let missed = tradeoff::tradeoff_through(rate, pairs).0.get();
    let hits = Upper(Probability::new(1.0 - missed)?);
    let posteriors =
        priors.iter().map(|&prior| (prior.get(), tradeoff::suspicion(prior, hits, rate).0.get())).collect();
    Ok(AtRate { false_positive_rate: rate.get(), true_positive_rate: hits.0.get(), posteriors })
}

/// The group's own ε at the same δ where a theorem gives it, else what follows from (ε, δ) alone, at a larger δ.
fn group_of(subject: &Subject, promise: Promise, size: u32) -> Group {
    let own = own_group(subject, promise.delta, size).ok();
    own.unwrap_or_else(|| generic_group(promise, size))
}

/// The least ε of a group at `delta` that a method certifies. The grid takes longest, and is asked where the others have no
/// theorem: groups in Poisson batches are one case.
fn own_group(subject: &Subject, delta: f64, size: u32) -> Result<Group, Refusal> {
    let records = Count::new(u64::from(size))?;
    let mechanism = Mechanism::Group { size: records, mechanism: Box::new(subject.mechanism.clone()) };
    let subject = Subject { mechanism, ..subject.clone() };
    let target = Target::Delta(Delta::new(delta)?);
    let ask = |method| {
        let answer = account(&subject, target, Choice::Only(method)).ok()?;
        Some((answer.epsilon.upper()?.0.get(), method))
    };
    let quick = [Method::Exact, Method::Rdp, Method::Zcdp].into_iter().filter_map(ask);
    let least = quick.min_by(|one, other| one.0.total_cmp(&other.0)).or_else(|| ask(Method::Pld));
    let Some((epsilon, method)) = least else {
        return Err(Refusal::NotCertified(
            "no method gives a bound for the group; explain a group of one".into(),
        ));
    };
    Ok(Group { size, promise: Some(Promise { epsilon, delta }), method: Some(method) })
}

fn generic_group(promise: Promise, size: u32) -> Group {
    let grown =
        Count::new(u64::from(size)).ok().and_then(|size| group_promise(promise.epsilon, promise.delta, size));
    Group { size, promise: grown.map(|(epsilon, delta)| Promise { epsilon, delta }), method: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::{NoiseMultiplier, SamplingRate};

    /// A group in Poisson batches has an accountant of its own: its ε is at the claim's δ, not at one that grew.
    #[test]
    fn groups_in_batches_are_explained_at_the_claimed_delta() -> Result<(), Refusal> {
        let mechanism = Mechanism::sampled_gaussian(
            SamplingRate::new(0.01)?,
            NoiseMultiplier::new(1.0)?,
            Count::new(300)?,
        );
        let subject = Subject::new(mechanism.clone());
        let target = Target::Delta(Delta::new(1e-5)?);
        let explanation = explain(&subject, target, &[])?;
        for group in explanation.groups {
            let grouped = Mechanism::Group {
                size: Count::new(u64::from(group.size))?,
                mechanism: Box::new(mechanism.clone()),
            };
            let certified =
                account(&Subject { mechanism: grouped, ..subject.clone() }, target, Choice::Best)?;
            let upper = certified.epsilon.upper().map(|upper| upper.0.get());
            assert_eq!(group.promise.map(|promise| promise.delta), Some(1e-5));
            assert_eq!(
                (group.promise.map(|promise| promise.epsilon), group.method),
                (upper, Some(Method::Pld))
            );
        }
        Ok(())
    }
}
