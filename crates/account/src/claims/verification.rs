//! Checks a claim again.
//!
//! A claim is written anew from its own mechanism, adjacency, unit, δ, method and release, and compared with what it states:
//! `words` compares whatever must be equal, `numbers` what must be on the safe side, `assumed` lists what cannot be recomputed.

mod assumed;
mod numbers;
mod words;

use crate::claims::{
    Adjacency, ClaimFile, DigestOf, Mechanism, PrivacyUnit, Refusal, ReleaseNote, Subject, check_noise_note,
};
use numbers::Numbers;
use std::rc::Rc;

/// Two machines may round a transcendental function differently, in its last bit, and sums of such terms then differ by some
/// thousand such bits. A claim is not refuted by a hair of this width, relatively; nor does the hair lend anyone more than itself.
pub const ROUNDING: f64 = 1e-12;
/// The most questions that a [`Verifier`] keeps.
const MOST_KEPT: usize = 64;

/// What a number of a claim is, and so on which side of what was found it must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stated {
    /// An upper end: no smaller than the one that was found.
    Upper,
    /// A lower end: no larger than the one that was found.
    Lower,
    /// A number that follows from others: between the two, which may be one.
    Value,
}

/// One number of a claim, and what was found in its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Check {
    /// Which number, such as `epsilon at delta 1e-5`.
    pub what: String,
    /// What it is.
    pub stated: Stated,
    /// The number that is claimed; not a number where there is none.
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
    /// What the claim is about, by its digest.
    pub tie: Option<Tie>,
    /// What is taken from the claim as it stands: nobody could recompute it, and nothing here confirms it.
    pub assumed: Vec<String>,
}

/// What a claim is tied to by a digest.
#[derive(Debug, Clone, PartialEq)]
pub struct Tie {
    /// What it is: the answer, or the name of a model's file.
    pub what: String,
    /// The digest in the claim.
    pub stated: String,
    /// The digest of what was found; nothing where the model is not beside the claim.
    pub found: Option<String>,
}

impl Tie {
    /// Whether what was found is what the claim is about.
    pub fn holds(&self) -> bool {
        self.found.as_ref().is_none_or(|found| *found == self.stated)
    }
}

impl Confirmation {
    /// The first check that failed.
    pub fn failure(&self) -> Option<&Check> {
        self.checks.iter().find(|check| !check.holds)
    }

    /// The digest that is another's, if it is.
    pub fn broken(&self) -> Option<&Tie> {
        self.tie.as_ref().filter(|tie| !tie.holds())
    }

    /// Whether the claim goes with an answer whose noise someone can repeat: its numbers may hold, but for nobody's data.
    pub fn is_rehearsal(&self) -> bool {
        self.claim.release.as_ref().is_some_and(|release| !release.for_release)
    }

    /// Whether nothing is wrong with it.
    pub fn stands(&self) -> bool {
        self.failure().is_none() && self.broken().is_none() && !self.is_rehearsal()
    }

    /// Compares the claim with a model beside it.
    pub fn meets_model(&mut self, name: &str, digest: &str) {
        if let Some(tie) = &mut self.tie {
            tie.what = name.to_owned();
            tie.found = Some(digest.to_owned());
        }
    }
}

/// Recomputes what a claim file states.
///
/// A claim holds when its method certifies the promise that it states, no other number in it is on the unsafe side of what was
/// recomputed, a hair of rounding apart, and every word is the one that this version writes. A claim that promises less than
/// it could also holds. What it notes of a release must be the noise of its mechanism, and its answer the one that it was
/// written with.
///
/// # Errors
/// Refuses a claim that cannot be read, contradicts itself or cannot be recomputed. A claim that is merely wrong is a
/// [`Confirmation`] with its failures.
pub fn verify(text: &str) -> Result<Confirmation, Refusal> {
    Verifier::default().verify(text)
}

/// Checks claims one after another, and keeps what it has computed for their mechanisms.
#[derive(Debug, Default)]
pub struct Verifier {
    kept: Vec<(Mechanism, Adjacency, Rc<Numbers>)>,
}

impl Verifier {
    /// As [`verify`].
    ///
    /// # Errors
    /// Refuses a claim that cannot be read, contradicts itself or cannot be recomputed. A claim that is merely wrong is a
    /// [`Confirmation`] with its failures.
    pub fn verify(&mut self, text: &str) -> Result<Confirmation, Refusal> {
        self.recompute(ClaimFile::parse(text)?)
    }

    fn recompute(&mut self, claim: ClaimFile) -> Result<Confirmation, Refusal> {
        let subject = subject_of(&claim)?;
        let method = words::compare(&claim, &subject)?;
        let mut checks = self.numbers(&subject).checks(&claim, method)?;
        if let Some(note) = &claim.release {
            check_noise_note::compare_persons(claim.persons.as_ref(), &subject)?;
            checks.extend(check_noise_note::compare(note, &subject)?);
        }
        let tie = claim.release.as_ref().and_then(tie);
        let assumed = assumed::list(&claim, &subject);
        Ok(Confirmation { claim, checks, tie, assumed })
    }

    fn numbers(&mut self, subject: &Subject) -> Rc<Numbers> {
        let known = self.kept.iter().find(|(mechanism, adjacency, _)| {
            *mechanism == subject.mechanism && *adjacency == subject.adjacency
        });
        if let Some((_, _, numbers)) = known {
            return Rc::clone(numbers);
        }
        if self.kept.len() == MOST_KEPT {
            self.kept.remove(0);
        }
        let numbers = Rc::new(Numbers::new(&subject.question()));
        self.kept.push((subject.mechanism.clone(), subject.adjacency, Rc::clone(&numbers)));
        numbers
    }
}

/// Recomputes a claim that was read.
///
/// # Errors
/// As [`verify`].
pub fn recompute_claim(claim: ClaimFile) -> Result<Confirmation, Refusal> {
    Verifier::default().recompute(claim)
}

/// Refuses a claim that contradicts itself, without asking the accountant.
pub(crate) fn must_be_whole(claim: &ClaimFile) -> Result<(), Refusal> {
    let subject = subject_of(claim)?;
    words::compare(claim, &subject)?;
    let Some(note) = &claim.release else { return Ok(()) };
    if let Some(check) = check_noise_note::compare(note, &subject)?.iter().find(|check| !check.holds) {
        return Err(Refusal::Invalid(format!("{} does not match the mechanism and its bounds", check.what)));
    }
    match tie(note).filter(|tie| !tie.holds()) {
        Some(tie) => {
            Err(Refusal::Invalid(format!("{} is not the one that the claim was written for", tie.what)))
        }
        None => Ok(()),
    }
}

/// What a release is tied to. The model of a claim is not looked for here.
fn tie(note: &ReleaseNote) -> Option<Tie> {
    let digest = note.digest.as_ref()?;
    let (what, found) = match digest.of {
        DigestOf::Answer => ("answer", Some(note.sealed())),
        DigestOf::Model => ("model", None),
    };
    Some(Tie { what: what.to_owned(), stated: digest.sha256.clone(), found })
}

/// What a claim is about.
pub(crate) fn subject_of(claim: &ClaimFile) -> Result<Subject, Refusal> {
    Ok(Subject {
        mechanism: Mechanism::try_from(&claim.mechanism)?,
        adjacency: claim.adjacency.parse::<Adjacency>()?,
        unit: PrivacyUnit::new(&claim.unit)?,
    })
}
