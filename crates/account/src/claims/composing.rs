//! Several claims about one dataset, composed: what all of their releases together leak.
//!
//! Each claim holds the mechanism of its release. They are composed as the entries of a plan are, so that the accountant gives
//! the same answer for claims as for a plan that lists their mechanisms. What cannot be added up is refused: other neighbours,
//! other units, other data, the same claim twice, and claims that promise nothing.

use crate::claims::{
    ClaimFile, Error, Mechanism, Method, Refusal, Subject,
    plan::MOST_MECHANISMS,
    verification::{must_be_whole, subject_of},
};
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};
use veracity_core::files::read_text;
use veracity_core::printable;

/// Claims, composed.
#[derive(Debug, Clone, PartialEq)]
pub struct Composed {
    /// What was done to whose data, all together.
    pub subject: Subject,
    /// What the data are called.
    pub dataset: Option<String>,
    /// How many claims there are.
    pub claims: usize,
}

/// Composes the claims in these files; a folder stands for all claims in it. A `dataset` that is given takes the place of the
/// names in the claims: to add up what was released from several files is always safe.
///
/// # Errors
/// Fails where a file cannot be read; refuses no claims, more than 1000, the same claim twice, claims that are no promise, and
/// claims of unlike data, unit or adjacency.
pub fn compose(places: &[PathBuf], dataset: Option<&str>) -> Result<Composed, Error> {
    let mut claims: Vec<(PathBuf, ClaimFile)> = Vec::new();
    for place in places {
        match place.is_dir() {
            true => claims.extend(in_folder(place)?),
            false => claims.push((place.clone(), read(place)?)),
        }
    }
    if claims.is_empty() || claims.len() > MOST_MECHANISMS {
        return Err(Error::out_of_range("number of claims", claims.len(), "1 to 1000"));
    }
    let mut seen = BTreeMap::new();
    for (file, claim) in &claims {
        must_count(file, claim)?;
        if let Some(first) = seen.insert(claim.identity()?, file) {
            return Err(Error::invalid(format!(
                "claim {} is the same as {}; leave one of them out",
                file.display(),
                first.display()
            )));
        }
    }
    let (first, rest) =
        claims.split_first().ok_or(Error::out_of_range("number of claims", 0, "1 to 1000"))?;
    rest.iter().try_for_each(|other| must_agree(first, other, dataset.is_some()))?;
    let subject = subject_of(&first.1)?;
    let parts = claims
        .iter()
        .map(|(_, claim)| Mechanism::try_from(&claim.mechanism))
        .collect::<Result<Vec<_>, _>>()?;
    let mechanism = match <[Mechanism; 1]>::try_from(parts) {
        Ok([only]) => only,
        Err(parts) => Mechanism::Composed(parts),
    };
    let dataset = match dataset {
        Some(name) => Some(crate::claims::release_note::named(name)?),
        None => dataset_of(&first.1).map(str::to_owned),
    };
    Ok(Composed { subject: Subject { mechanism, ..subject }, dataset, claims: claims.len() })
}

fn read(file: &Path) -> Result<ClaimFile, Error> {
    let text = read_text("claim", file)?;
    ClaimFile::parse(&text).map_err(|refusal| Error::damaged(file, refusal))
}

/// All claims of a folder. One that is damaged is not left out of the sum: it is refused.
fn in_folder(folder: &Path) -> Result<Vec<(PathBuf, ClaimFile)>, Error> {
    let unreadable = |error: std::io::Error| Error::unreadable("folder", folder, error);
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let file = entry.map_err(unreadable)?.path();
        if file.is_file() && file.extension().is_some_and(|ending| ending == "json") {
            files.push(file);
        }
    }
    files.sort();
    let mut claims = Vec::new();
    for file in files {
        match crate::claims::recognition::claim_at(&file) {
            None => {}
            Some(Ok(claim)) => claims.push((file, claim)),
            Some(Err(refusal)) => return Err(Error::damaged(&file, refusal)),
        }
    }
    if claims.is_empty() {
        let why =
            format!("{} contains no claims; give a folder with the claims of releases", folder.display());
        return Err(Error::invalid(why));
    }
    Ok(claims)
}

/// Refuses a claim that guarantees nothing, or contradicts itself. Its numbers are not recomputed: only its mechanism counts.
fn must_count(file: &Path, claim: &ClaimFile) -> Result<(), Error> {
    let refuse = |why: &str| Err(Error::file("claim", file, why));
    if claim.release.as_ref().is_some_and(|release| !release.for_release) {
        return refuse(
            "a claim for release, found one with seeded noise, which is no protection; leave it out",
        );
    }
    let method: Method =
        claim.method.name.parse().map_err(|refusal: Refusal| Error::damaged(file, refusal))?;
    let bounds = claim.epsilon.upper.is_some_and(|upper| upper.is_finite() && upper >= 0.0);
    if claim.epsilon.approximate.is_some() || !bounds || method.is_approximation() {
        return refuse("an upper bound, found an approximation, which is no guarantee; leave it out");
    }
    must_be_whole(claim).map_err(|refusal| Error::damaged(file, refusal))
}

fn must_agree(
    (first, one): &(PathBuf, ClaimFile),
    (file, other): &(PathBuf, ClaimFile),
    is_named: bool,
) -> Result<(), Error> {
    let refuse = |what: &str, one: &str, other: &str, remedy: &str| {
        Err(Error::invalid(format!(
            "claim {} has {what} {} and {} has {what} {}; {remedy}",
            first.display(),
            shown(one),
            file.display(),
            shown(other)
        )))
    };
    if one.adjacency != other.adjacency {
        return refuse("adjacency", &one.adjacency, &other.adjacency, "account for each group separately");
    }
    if one.unit != other.unit {
        return refuse("unit", &one.unit, &other.unit, "account for each group separately");
    }
    let [mine, theirs] =
        [one, other].map(|claim| claim.persons.as_ref().map(|persons| persons.column.as_str()));
    if mine != theirs {
        let [mine, theirs] = [mine, theirs].map(|column| column.unwrap_or("(none)"));
        return refuse("privacy ID column", mine, theirs, "account for each group separately");
    }
    let [mine, theirs] = [one, other].map(|claim| dataset_of(claim).unwrap_or("(none)"));
    if mine != theirs && !is_named {
        return refuse("dataset", mine, theirs, "name the dataset to treat them as one");
    }
    Ok(())
}

fn dataset_of(claim: &ClaimFile) -> Option<&str> {
    claim.release.as_ref()?.dataset.as_deref()
}

fn shown(word: &str) -> String {
    printable(word, 60)
}
