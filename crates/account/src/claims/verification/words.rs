//! What a claim says beside its numbers, compared with what this version writes for the same promise.
//!
//! Every field is taken apart by name, so that one that is added to a claim and compared nowhere does not compile.

use crate::claims::{
    ClaimFile, Delta, Method, Refusal, Subject,
    claim::{Arithmetic, MethodNote, ProfilePoint, Promised, Versions, is_known},
    files::Interval,
};
use veracity_core::printable;

/// Refuses the first field that is not as written here; the method that the claim names. Numbers are compared in `numbers`, what
/// is noted of a release in `noted`.
pub(super) fn compare(claim: &ClaimFile, subject: &Subject) -> Result<Method, Refusal> {
    let method = bounding(&claim.method.name)?;
    let delta = Delta::new(claim.delta)?;
    let promise = Promised { epsilon: claim.epsilon.clone(), delta, method };
    let mut expected = ClaimFile::written(subject, promise, claim.profile.clone());
    if let Some(persons) = claim.persons.clone() {
        expected = expected.with_persons(persons);
    }
    if let Some(release) = claim.release.clone() {
        expected = expected.with_release(release);
    }
    let ClaimFile {
        schema: _, // reading refuses what is neither this schema nor the one before
        definition,
        epsilon,
        delta: _, // every check of a number is at this δ
        profile,
        unit,
        persons,
        adjacency,
        mechanism,
        method: MethodNote { name, standing, relative_width: _ }, // a number
        arithmetic: Arithmetic { numbers, rounding, included },
        versions: Versions { veracity },
        not_covered,
        release,
    } = claim;
    let same = [
        ("definition", *definition == expected.definition),
        ("unit", *unit == expected.unit),
        ("adjacency", *adjacency == expected.adjacency),
        ("mechanism", *mechanism == expected.mechanism),
        ("method.name", *name == expected.method.name),
        ("method.standing", *standing == expected.method.standing),
        ("arithmetic.numbers", *numbers == expected.arithmetic.numbers),
        ("arithmetic.rounding", *rounding == expected.arithmetic.rounding),
        ("arithmetic.included", *included == expected.arithmetic.included),
        ("not_covered", *not_covered == expected.not_covered),
    ];
    if let Some((field, _)) = same.into_iter().find(|(_, same)| !same) {
        return Err(Refusal::Invalid(format!(
            "{field} differs from the text that veracity writes for this claim; it was changed afterwards"
        )));
    }
    if !is_known(veracity) {
        let shown = printable(veracity, 40);
        return Err(Refusal::out_of_range("versions.veracity", shown, "a version that this program knows"));
    }
    if persons.is_some() && release.is_none() {
        return Err(Refusal::Invalid("persons is given without release; a claim has both or neither".into()));
    }
    is_bare("epsilon", epsilon)?;
    profile
        .iter()
        .try_for_each(|ProfilePoint { epsilon: _, delta }| is_bare("delta of the profile", delta))?;
    Ok(method)
}

/// A method by its name, which must be one that bounds.
fn bounding(name: &str) -> Result<Method, Refusal> {
    let method: Method = name.parse()?;
    if method.is_approximation() {
        return Err(Refusal::out_of_range(
            "method",
            method,
            "a method that gives an upper bound, because a claim is a guarantee",
        ));
    }
    Ok(method)
}

/// A claim has bounds, and nothing beside them.
fn is_bare(
    what: &str,
    Interval { lower: _, upper: _, approximate, reason }: &Interval,
) -> Result<(), Refusal> {
    if approximate.is_none() && reason.is_none() {
        return Ok(());
    }
    Err(Refusal::Invalid(format!(
        "{what} contains an approximation or a reason; a claim contains only bounds"
    )))
}
