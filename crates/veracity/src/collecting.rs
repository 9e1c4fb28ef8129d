//! Local privacy from a column to reports, and from reports to what each of them promises.

use crate::{
    Adjacency, Choice, ClaimFile, Delta, Mechanism, PrivacyUnit, Refusal, ReleaseNote, Subject, Target,
    account, moment, release_note::LOCAL,
};
use veracity_local::{Domain, Report, Survey};
use veracity_noise::{Origin, Stream};
use veracity_query::Column;

/// What one report costs the person who sends it.
pub fn mechanism(survey: &Survey) -> Result<Mechanism, Refusal> {
    match survey {
        Survey::Frequency { protocol, .. } => protocol.mechanism(),
        Survey::Mean(mean) => Ok(mean.mechanism()),
    }
}

/// The promise of one report, as a claim.
pub fn claim(survey: &Survey, origin: Origin) -> Result<ClaimFile, Refusal> {
    let subject = Subject {
        mechanism: mechanism(survey)?,
        // Everyone reports; only what they report can change.
        adjacency: Adjacency::ReplaceOne,
        unit: PrivacyUnit::new("report")?,
    };
    let answer = account(&subject, Target::Delta(Delta::new(0.0)?), Choice::Best)?;
    let statistic = format!("{LOCAL}, protocol {}", survey.name());
    let note = ReleaseNote::new(&statistic, (origin, origin.is_releasable()), Vec::new());
    Ok(ClaimFile::new(&subject, &answer)?.with_release(ReleaseNote { time: Some(moment::now()?), ..note }))
}

/// One report for each row. A value outside the domain, or a missing one, is reported as `other`; without it nothing is
/// reported at all. Numbers outside the range are moved to its end, missing ones to its middle.
pub fn encode(
    survey: &Survey,
    column: &Column,
    other: Option<&str>,
    rng: &mut Stream,
) -> Result<Vec<Report>, Refusal> {
    match (survey, column) {
        (Survey::Frequency { domain, protocol }, Column::Texts(texts)) => {
            let other = other.map(|name| domain.place(name).map_err(|_| unknown_other())).transpose()?;
            texts.iter().map(|text| protocol.encode(place(domain, text.as_deref(), other)?, rng)).collect()
        }
        (Survey::Mean(mean), Column::Numbers(numbers)) => {
            let middle = mean.lower() + (mean.upper() - mean.lower()) / 2.0;
            numbers.iter().map(|number| mean.encode(number.unwrap_or(middle), rng)).collect()
        }
        (Survey::Frequency { .. }, Column::Numbers(_)) | (Survey::Mean(_), Column::Texts(_)) => Err(
            Refusal::out_of_range("column", "of another kind", "texts for categories, numbers for a mean"),
        ),
    }
}

fn place(domain: &Domain, text: Option<&str>, other: Option<u32>) -> Result<u32, Refusal> {
    match (text.map(|text| domain.place(text)), other) {
        (Some(Ok(place)), _) => Ok(place),
        (_, Some(other)) => Ok(other),
        (_, None) => Err(Refusal::NoAnswer(
            "a value is missing or not among the categories, expected --other with a category that stands for such; \
             nothing was reported"
                .into(),
        )),
    }
}

fn unknown_other() -> Refusal {
    Refusal::NoAnswer("--other is not among the categories, expected one of them".into())
}
