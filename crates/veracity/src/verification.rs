//! Checks a claim or a certificate again: recomputes every number that it states and says which of them hold.

use crate::{
    Adjacency, Choice, ClaimFile, Delta, Epsilon, Mechanism, Method, PrivacyUnit, Refusal, Subject, Target,
    account,
    auditing::certificate::{self, Recomputed},
    claim::{definition, not_covered},
    files::Interval,
    noted,
    plan::read_text,
};
use serde::Deserialize;
use std::path::Path;
use veracity_report::decimal;

/// Two machines may round a transcendental function differently; claims are not refuted by that.
pub(crate) const ROUNDING: f64 = 1e-12;

/// One number of a claim, and what was found in its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Check {
    /// Which number, such as `epsilon at delta 1e-5`.
    pub what: String,
    /// The bound that is claimed.
    pub claimed: f64,
    /// The lower bound that was found, where there is one.
    pub lower: Option<f64>,
    /// The upper bound that was found.
    pub upper: f64,
    /// Whether the claim stands.
    pub holds: bool,
}

/// Every check of a claim.
#[derive(Debug, Clone, PartialEq)]
pub struct Confirmation {
    /// The claim as read.
    pub claim: ClaimFile,
    /// The checks, that of ε first.
    pub checks: Vec<Check>,
}

impl Confirmation {
    /// The first check that failed.
    pub fn failure(&self) -> Option<&Check> {
        self.checks.iter().find(|check| !check.holds)
    }

    /// Whether the claim goes with an answer whose noise someone can repeat: its numbers may hold, but for nobody's data.
    pub fn is_rehearsal(&self) -> bool {
        self.claim.release.as_ref().is_some_and(|release| !release.for_release)
    }
}

/// What a file was found to be, and what came of recomputing it.
#[derive(Debug, Clone, PartialEq)]
pub enum Verified {
    /// A claim.
    Claim(Box<Confirmation>),
    /// The certificate of an audit.
    Certificate(Box<Recomputed>),
}

/// Recomputes a claim, or the certificate of an audit with the trials beside it; the file's schema says which.
pub fn verify_file(path: &Path) -> Result<Verified, Refusal> {
    let text = read_text("claim", path)?;
    let is_certificate = serde_json::from_str::<Schema>(&text)
        .is_ok_and(|named| named.schema.starts_with(certificate::SCHEMA.trim_end_matches(char::is_numeric)));
    if is_certificate {
        let folder = path.parent().unwrap_or(Path::new(""));
        return Ok(Verified::Certificate(Box::new(certificate::recompute(&text, folder)?)));
    }
    Ok(Verified::Claim(Box::new(verify(&text)?)))
}

/// The one thing that every file of ours has.
#[derive(Deserialize)]
struct Schema {
    schema: String,
}

/// Recomputes what a claim file states.
///
/// A claim holds when no number in it is on the unsafe side of what was recomputed, rounding apart. A claim that
/// promises less than it could also holds. What it notes of a release must be the noise of its mechanism.
pub fn verify(text: &str) -> Result<Confirmation, Refusal> {
    let claim = ClaimFile::parse(text)?;
    let subject = subject_of(&claim)?;
    let method: Method = claim.method.name.parse()?;
    let delta = Delta::new(claim.delta)?;
    let promised = bound(&claim.epsilon, "epsilon.upper")?;
    let persons = claim.persons.as_ref().map_or(String::new(), |persons| persons.sentence(&claim.unit));
    if claim.definition != definition(&subject) + &persons {
        return Err(Refusal::NoAnswer(
            "definition is not the one of this adjacency and unit, expected the wording that veracity writes"
                .into(),
        ));
    }
    // A limit left out is a promise that nobody computed.
    if not_covered(claim.release.as_ref()).any(|line| claim.not_covered.iter().all(|stated| stated != line)) {
        return Err(Refusal::NoAnswer("not_covered lacks a line, expected all that veracity writes".into()));
    }
    let found = account(&subject, Target::Delta(delta), Choice::Only(method))?;
    let mut checks = vec![judge(
        format!("epsilon at delta {}", decimal::nearest(delta.get(), 17)),
        &claim.epsilon,
        promised,
        (found.epsilon.lower().map(|bound| bound.0.get()), found.epsilon.upper().map(|bound| bound.0.get())),
    )?];
    for point in &claim.profile {
        let epsilon = Epsilon::new(point.epsilon)?;
        let claimed = bound(&point.delta, "delta.upper")?;
        let found = account(&subject, Target::Epsilon(epsilon), Choice::Best)?;
        let sides =
            (found.delta.lower().map(|bound| bound.0.get()), found.delta.upper().map(|bound| bound.0.get()));
        checks.push(judge(
            format!("delta at epsilon {}", decimal::nearest(point.epsilon, 17)),
            &point.delta,
            claimed,
            sides,
        )?);
    }
    if let Some(note) = &claim.release {
        noted::compare_persons(claim.persons.as_ref(), &subject)?;
        checks.extend(noted::compare(note, &subject.mechanism)?);
    }
    Ok(Confirmation { claim, checks })
}

fn subject_of(claim: &ClaimFile) -> Result<Subject, Refusal> {
    Ok(Subject {
        mechanism: Mechanism::try_from(&claim.mechanism)?,
        adjacency: claim.adjacency.parse::<Adjacency>()?,
        unit: PrivacyUnit::new(&claim.unit)?,
    })
}

fn bound(interval: &Interval, name: &'static str) -> Result<f64, Refusal> {
    match interval.upper {
        Some(upper) if upper >= 0.0 && upper.is_finite() => Ok(upper),
        Some(upper) => Err(Refusal::out_of_range(name, upper, "a finite number ≥ 0")),
        None => Err(Refusal::out_of_range(name, "missing", "a number: a claim is a promise")),
    }
}

/// Compares one claimed interval with what was found.
fn judge(
    what: String,
    stated: &Interval,
    claimed: f64,
    (lower, upper): (Option<f64>, Option<f64>),
) -> Result<Check, Refusal> {
    let Some(upper) = upper else {
        return Err(Refusal::NoAnswer(format!(
            "{what} was only approximated, expected a method that bounds"
        )));
    };
    let width = lower.map_or(0.0, |lower| upper - lower);
    let slack = width + ROUNDING * upper;
    let promised_enough =
        claimed >= upper - slack && lower.is_none_or(|lower| claimed >= lower - ROUNDING * upper);
    // A stated lower bound above the truth is as false as an upper bound below it.
    let shown_too_much = stated.lower.is_some_and(|shown| shown > upper + slack);
    Ok(Check { what, claimed, lower, upper, holds: promised_enough && !shown_too_much })
}
