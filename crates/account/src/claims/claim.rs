//! A claim as a file: what is promised, to whom, by which mechanism, how it was computed and what it leaves out.

use crate::best::Prepared;
use crate::claims::{
    Answer, Choice, Delta, Finding, Method, PersonsNote, PrivacyProfile, Refusal, ReleaseNote, Standing,
    Subject, Target,
    accounting::answer as ask,
    files::Interval,
    profile::Point,
    release_note::{Digest, DigestOf, Provenance, hex},
    spec::MechanismSpec,
};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use veracity_core::printable;

/// The schema of the files that this module writes.
pub const SCHEMA: &str = "veracity.claim/2";
/// The schema before answers, times and digests were noted; still read.
const OLDER: &str = "veracity.claim/1";
/// Points of the profile that are written down.
pub(crate) const POINTS: usize = 33;
/// The versions whose claims are read, this one last.
const VERSIONS: [&str; 1] = ["0.1.0"];

/// What a claim about a description leaves to whoever runs it. A release draws its own noise, and answers for it.
const NOT_DRAWN: &str = "whether the program draws the noise that it describes: floating-point samplers differ from the exact distributions";

/// What a claim does not speak of. A reader must not have to guess.
const NOT_COVERED: [&str; 5] = [
    "side channels: running time, memory, errors, logs",
    "other releases from the same data, including hyper-parameter search and earlier runs",
    "choices made by looking at the data: clip norms, bounds, architectures, what to publish",
    "the size of the dataset and other values that are treated as public",
    "people whose records belong to more than one unit, beyond what group privacy covers",
];

/// What is promised, in a form that `veracity verify` recomputes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClaimFile {
    /// [`SCHEMA`], or that of an earlier version.
    pub schema: String,
    /// The promise in words.
    pub definition: String,
    /// The ε, from both sides.
    pub epsilon: Interval,
    /// The δ that goes with it.
    pub delta: f64,
    /// δ at other values of ε.
    pub profile: Vec<ProfilePoint>,
    /// Whose data one record is.
    pub unit: String,
    /// How rows are bounded by whose they are, where that is not one record each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persons: Option<PersonsNote>,
    /// Which datasets are adjacent.
    pub adjacency: String,
    /// What is done to the data.
    pub mechanism: MechanismSpec,
    /// How the numbers were found.
    pub method: MethodNote,
    /// In which arithmetic.
    pub arithmetic: Arithmetic,
    /// By which programs.
    pub versions: Versions,
    /// What the claim does not speak of.
    pub not_covered: Vec<String>,
    /// What was released, where something was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release: Option<ReleaseNote>,
}

/// δ at one ε.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProfilePoint {
    /// The ε.
    pub epsilon: f64,
    /// The δ, from both sides.
    pub delta: Interval,
}

/// The method and what its number is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MethodNote {
    /// Its name.
    pub name: String,
    /// Whether it bounds from both sides or from above.
    pub standing: String,
    /// How far apart the two bounds of ε are, where there are two.
    pub relative_width: Option<f64>,
}

/// The arithmetic behind the numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arithmetic {
    /// The kind of numbers.
    pub numbers: String,
    /// The way they are rounded.
    pub rounding: String,
    /// The errors that the bounds contain.
    pub included: Vec<String>,
}

/// The programs behind the numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Versions {
    /// This library.
    pub veracity: String,
}

impl ClaimFile {
    /// Writes an answer down. Approximations are refused: a claim is a promise.
    ///
    /// # Errors
    /// Refuses an answer that is no bound, and a subject without a profile.
    pub fn new(subject: &Subject, answer: &Answer) -> Result<ClaimFile, Refusal> {
        let prepared = Prepared::new(&subject.question());
        let promise = Promised::of(&prepared, answer)?;
        let points = PrivacyProfile::of(&prepared, POINTS)?.points;
        Ok(ClaimFile::written(subject, promise, points.into_iter().map(ProfilePoint::from).collect()))
    }

    /// All that a claim says of a promise and a profile. Claims are written by this alone, and compared with what it writes.
    pub(crate) fn written(subject: &Subject, promise: Promised, profile: Vec<ProfilePoint>) -> ClaimFile {
        let standing = match promise.epsilon.lower {
            Some(_) => Standing::TwoSided,
            None => Standing::UpperBound,
        };
        ClaimFile {
            schema: SCHEMA.to_owned(),
            definition: definition(subject),
            delta: promise.delta.get(),
            profile,
            unit: subject.unit.name().to_owned(),
            persons: None,
            adjacency: subject.adjacency.name().to_owned(),
            mechanism: MechanismSpec::from(&subject.mechanism),
            method: MethodNote {
                name: promise.method.name().to_owned(),
                standing: standing.describe().to_owned(),
                relative_width: promise.epsilon.relative_width(),
            },
            epsilon: promise.epsilon,
            arithmetic: Arithmetic {
                numbers: "IEEE 754 binary64".to_owned(),
                rounding: "each bound is widened by the error bound of its computation".to_owned(),
                included: ["truncation", "discretization or quadrature", "round-off"]
                    .map(str::to_owned)
                    .into(),
            },
            versions: Versions { veracity: env!("CARGO_PKG_VERSION").to_owned() },
            not_covered: not_covered(None).map(str::to_owned).collect(),
            release: None,
        }
    }

    /// The same claim for an answer that was released with noise of our own.
    pub fn with_release(mut self, release: ReleaseNote) -> ClaimFile {
        self.not_covered = not_covered(Some(&release)).map(str::to_owned).collect();
        self.release = Some(release);
        self
    }

    /// The same claim where rows were bounded by whose they are.
    pub fn with_persons(mut self, persons: PersonsNote) -> ClaimFile {
        self.definition += &persons.sentence(&self.unit);
        self.persons = Some(persons);
        self
    }

    /// The same claim, tied to the model that was trained from these data.
    pub fn of_model(mut self, sha256: String, provenance: &Provenance) -> ClaimFile {
        let tie = |note: ReleaseNote| ReleaseNote {
            digest: Some(Digest { of: DigestOf::Model, sha256 }),
            ..note.with_provenance(provenance)
        };
        self.release = self.release.map(tie);
        self
    }

    /// Whether a file is a claim.
    pub fn is_one(bytes: &[u8]) -> bool {
        std::str::from_utf8(bytes).is_ok_and(|text| ClaimFile::parse(text).is_ok())
    }

    /// The digest of the model that it is about, if it is about one.
    pub fn model(&self) -> Option<&str> {
        let digest = self.release.as_ref()?.digest.as_ref()?;
        (digest.of == DigestOf::Model).then_some(digest.sha256.as_str())
    }

    /// The version that wrote it, where that is an earlier one, or the schema of one.
    pub fn earlier(&self) -> Option<&str> {
        match self.schema.as_str() {
            OLDER => Some(OLDER),
            _ => {
                Some(self.versions.veracity.as_str()).filter(|version| *version != env!("CARGO_PKG_VERSION"))
            }
        }
    }

    /// What makes it this claim and no other, however its file is laid out.
    ///
    /// # Errors
    /// As [`ClaimFile::to_json`].
    pub fn identity(&self) -> Result<String, Refusal> {
        let mut hash = Sha256::new();
        hash.update(self.to_json()?.as_bytes());
        Ok(hex(hash))
    }

    /// Reads a claim. Never panics, whatever the text.
    ///
    /// # Errors
    /// Refuses text that is no claim, an unknown schema, and a release note that contradicts itself.
    pub fn parse(text: &str) -> Result<ClaimFile, Refusal> {
        let claim: ClaimFile = serde_json::from_str(text).map_err(|error| {
            let why = printable(&error.to_string(), 240);
            Refusal::Invalid(format!("claim is not valid {SCHEMA} JSON: {why}"))
        })?;
        let version = match claim.schema.as_str() {
            SCHEMA => 2,
            OLDER => 1,
            other => {
                let found = printable(other, 80);
                return Err(Refusal::out_of_range("schema", found, "veracity.claim/2, or the earlier /1"));
            }
        };
        if let Some(release) = &claim.release {
            release.check(version)?;
        }
        Ok(claim)
    }

    /// The file's text.
    ///
    /// # Errors
    /// Refuses a claim that JSON cannot hold, such as one with an infinite number.
    pub fn to_json(&self) -> Result<String, Refusal> {
        serde_json::to_string_pretty(self)
            .map(|text| text + "\n")
            .map_err(|error| Refusal::Invalid(format!("claim cannot be written: {error}")))
    }
}

/// What is promised at which δ, and by which method.
#[derive(Debug, Clone)]
pub(crate) struct Promised {
    /// The ε at that δ, from one side or both.
    pub epsilon: Interval,
    /// The δ.
    pub delta: Delta,
    /// The method.
    pub method: Method,
}

impl Promised {
    /// What an answer promises. Where δ was asked at an ε, the promise is that ε at the upper end of δ; its lower end is what is
    /// certified at the δ that is written, and not the ε that was asked.
    fn of(prepared: &Prepared, answer: &Answer) -> Result<Promised, Refusal> {
        let method = answer.method;
        if let (Finding::Approximation(_), _) | (_, Finding::Approximation(_)) =
            (answer.epsilon, answer.delta)
        {
            return Err(Refusal::out_of_range(
                "method",
                method,
                "a method that gives an upper bound, because a claim is a guarantee",
            ));
        }
        match answer.target {
            Target::Delta(delta) => {
                Ok(Promised { epsilon: Interval::of_epsilon(&answer.epsilon), delta, method })
            }
            Target::Epsilon(epsilon) => {
                let delta = answer.delta.upper().map_or(Delta::new(0.0), |delta| Ok(delta.0))?;
                let shown = match ask(prepared, Target::Delta(delta), Choice::Only(method)) {
                    Err(refusal @ Refusal::Contradiction(_)) => return Err(refusal),
                    shown => shown.ok(),
                };
                let lower = shown.and_then(|found| found.epsilon.lower()).map(|lower| lower.0.get());
                if lower.is_some_and(|lower| lower > epsilon.get()) {
                    return Err(Refusal::Contradiction(format!(
                        "epsilon at delta {delta} contradicts delta at epsilon {epsilon}; this is a bug, please report it"
                    )));
                }
                let epsilon = Interval { lower, upper: Some(epsilon.get()), ..Interval::default() };
                Ok(Promised { epsilon, delta, method })
            }
        }
    }
}

/// Whether this program knows what a version wrote.
pub(crate) fn is_known(version: &str) -> bool {
    VERSIONS.contains(&version)
}

impl From<Point> for ProfilePoint {
    fn from(point: Point) -> ProfilePoint {
        let delta = Interval { lower: point.lower, upper: Some(point.upper), ..Interval::default() };
        ProfilePoint { epsilon: point.epsilon, delta }
    }
}

/// What a claim must say it does not speak of.
pub(crate) fn not_covered(release: Option<&ReleaseNote>) -> impl Iterator<Item = &'static str> {
    release.is_none().then_some(NOT_DRAWN).into_iter().chain(NOT_COVERED)
}

/// The guarantee in words, as it is written to the file and printed.
pub(crate) fn definition(subject: &Subject) -> String {
    let unit = subject.unit.name();
    let differ = match subject.adjacency {
        crate::claims::Adjacency::AddRemove => format!("one of which has one {unit} that the other lacks"),
        crate::claims::Adjacency::ReplaceOne => format!("that differ in the value of one {unit}"),
        crate::claims::Adjacency::ZeroOut => format!("one of which has one {unit} replaced by a blank"),
    };
    format!(
        "For any two datasets {differ}, and for any set of outcomes: the probability of an outcome in the set \
         on one dataset is at most exp(epsilon.upper) times the probability on the other, plus delta."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_version_is_the_last_that_is_known() {
        assert_eq!(VERSIONS.last(), Some(&env!("CARGO_PKG_VERSION")));
    }
}
