//! What a claim notes of one release: what was asked of which data, when, with which noise, and what was answered.
//!
//! Nothing in a note is about the records but the answer, which has its noise: no number of rows, no hash of the data, no
//! path. A digest ties the note to the model that it is about, or holds the answer together with what was asked.

use crate::claims::{Refusal, moment, spec::Whole};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use veracity_core::Origin;
use veracity_core::{is_invisible, printable};

/// The statistic of a model's claim.
pub const MODEL: &str = "parameters of a trained model";
/// How the statistic of a local report's claim begins.
pub const LOCAL: &str = "local report";
/// The longest name of a dataset.
const LONGEST_NAME: usize = 255;

/// One release. No seed and no datum is in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReleaseNote {
    /// What was released.
    pub statistic: String,
    /// The column it is of, where it is of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<String>,
    /// What was asked beside the column: bounds, rank, bins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<Parameters>,
    /// What the data are called: the name of their file, without its folder, or a name that was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dataset: Option<String>,
    /// When, in UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    /// Where the randomness came from: `system` or `seeded`.
    pub entropy: String,
    /// Whether the answer may be published: never with a seed.
    pub for_release: bool,
    /// Every noise call.
    pub noise: Vec<NoiseNote>,
    /// The answer, with its noise: one number, or one for each bin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Vec<AnswerNote>>,
    /// What the claim is tied to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
}

/// One noise call of a release.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoiseNote {
    /// What it protects.
    pub place: String,
    /// The sampler, an exact one.
    pub sampler: String,
    /// Answers are multiples of this; it does not depend on data.
    pub granularity: f64,
    /// How far one record can move the answer, in multiples of the granularity.
    pub sensitivity: Whole,
    /// The scale of the noise, in multiples of the granularity.
    pub scale: f64,
}

/// What was asked of a column beside its name; all of it is public.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// What no value is below.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lower: Option<f64>,
    /// What no value is above.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upper: Option<f64>,
    /// Which quantile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<f64>,
    /// How many bins of equal width.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bins: Option<u32>,
    /// The categories.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub categories: Option<Vec<String>>,
}

/// One number of an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnswerNote {
    /// The bin, in a histogram.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bin: Option<String>,
    /// The number.
    pub value: f64,
    /// With chance at least 95 % over the noise, the truth is within this of it.
    pub error_bar: f64,
    /// For a quantile, by how many records its rank may be off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank_error: Option<f64>,
}

/// SHA-256 of what a claim is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Digest {
    /// What it is of.
    pub of: DigestOf,
    /// The digest, in hexadecimal.
    pub sha256: String,
}

/// What a digest is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DigestOf {
    /// Question and answer, as they are written in the claim.
    Answer,
    /// The tensors of a model, whatever else is in its file.
    Model,
}

/// Which data a release is from, and when it was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provenance {
    dataset: String,
    time: String,
}

impl Provenance {
    /// Data of this name, asked at a moment. It is that of the question: that of the answer would tell how long it took.
    ///
    /// # Errors
    /// Refuses a time that is not UTC in this form, and a name as [`named`] does.
    pub fn at(dataset: &str, time: String) -> Result<Provenance, Refusal> {
        if moment::is_moment(&time) {
            return Ok(Provenance { dataset: named(dataset)?, time });
        }
        Err(refuse("time is not valid; write UTC such as 2026-01-31T12:00:00.000000000Z"))
    }
}

/// The name of a dataset, as claims compare it.
///
/// # Errors
/// Refuses names that are empty, too long or not visible.
pub fn named(dataset: &str) -> Result<String, Refusal> {
    let hidden = |letter: char| letter.is_control() || is_invisible(letter);
    let fits = !dataset.trim().is_empty() && dataset.len() <= LONGEST_NAME && !dataset.chars().any(hidden);
    if fits {
        return Ok(dataset.to_owned());
    }
    let shown = printable(dataset, 60);
    Err(Refusal::out_of_range(
        "dataset",
        shown,
        "a name of 1 to 255 bytes on one line, without invisible characters",
    ))
}

impl ReleaseNote {
    /// A release of system or seeded noise, of which nothing else is known yet.
    pub fn new(statistic: &str, (origin, for_release): (Origin, bool), noise: Vec<NoiseNote>) -> ReleaseNote {
        ReleaseNote {
            statistic: statistic.to_owned(),
            column: None,
            parameters: None,
            dataset: None,
            time: None,
            entropy: origin.name().to_owned(),
            for_release,
            noise,
            answer: None,
            digest: None,
        }
    }

    /// Notes which data it is from, and when it was asked for.
    pub fn with_provenance(mut self, provenance: &Provenance) -> ReleaseNote {
        self.dataset = Some(provenance.dataset.clone());
        self.time = Some(provenance.time.clone());
        self
    }

    /// Notes what was asked of a column and what was answered, and seals both.
    pub fn with_answer(
        mut self,
        column: Option<&str>,
        parameters: Option<Parameters>,
        answer: Vec<AnswerNote>,
    ) -> ReleaseNote {
        self.column = column.map(str::to_owned);
        self.parameters = parameters;
        self.answer = Some(answer);
        self.digest = Some(Digest { of: DigestOf::Answer, sha256: self.sealed() });
        self
    }

    /// SHA-256 of question and answer, as written in the claim.
    pub fn sealed(&self) -> String {
        // Field by field and in this order: how the file is laid out does not matter.
        let written = serde_json::json!([
            self.statistic, self.column, self.parameters, self.dataset, self.time, self.answer,
        ]);
        let mut hash = Sha256::new();
        hash.update(b"veracity.answer/1\n");
        hash.update(written.to_string().as_bytes());
        hex(hash)
    }

    /// Refuses what contradicts itself.
    ///
    /// # Errors
    /// Refuses a note that contradicts itself or its schema.
    pub fn check(&self, version: u32) -> Result<(), Refusal> {
        let origin = [Origin::System, Origin::Seeded]
            .into_iter()
            .find(|origin| origin.name() == self.entropy)
            .ok_or(Refusal::out_of_range("entropy", "an unknown value", "system or seeded"))?;
        if self.for_release && !origin.is_releasable() {
            return Err(Refusal::out_of_range("for_release", true, "false, unless entropy is system"));
        }
        if version == 1 {
            let bare = ReleaseNote {
                noise: Vec::new(),
                ..ReleaseNote::new(&self.statistic, (origin, self.for_release), Vec::new())
            };
            let mine = ReleaseNote { noise: Vec::new(), ..self.clone() };
            return if bare == mine {
                Ok(())
            } else {
                Err(refuse("release has fields of schema veracity.claim/2, but the claim has another schema"))
            };
        }
        if !self.time.as_deref().is_some_and(moment::is_moment) {
            return Err(refuse(
                "time is missing or not valid; write UTC such as 2026-01-31T12:00:00.000000000Z",
            ));
        }
        if let Some(dataset) = &self.dataset {
            named(dataset)?;
        }
        match (&self.answer, self.digest.as_ref().map(|digest| digest.of)) {
            (Some(_), Some(DigestOf::Answer)) => Ok(()),
            (None, Some(DigestOf::Model)) if self.statistic == MODEL => Ok(()),
            (None, None) if self.statistic.starts_with(LOCAL) => Ok(()),
            _ => Err(refuse(
                "digest does not match the statistic; it must be of the model for parameters of a trained model, and of the answer otherwise",
            )),
        }
    }
}

fn refuse(why: &str) -> Refusal {
    Refusal::Invalid(why.to_owned())
}

/// A digest in hexadecimal.
pub fn hex(hash: Sha256) -> String {
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_data_have_no_invisible_characters() {
        for name in ["visits\u{200b}.csv", "\u{202e}visits.csv", "visits\u{feff}.csv", "a\nb", " "] {
            assert!(named(name).is_err(), "{name:?}");
        }
        for name in ["visits.csv", "Besuche in Köln.csv", "来院.csv"] {
            assert!(named(name).is_ok(), "{name}");
        }
    }
}
