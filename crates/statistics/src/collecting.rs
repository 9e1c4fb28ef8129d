//! Local privacy from a column to reports, and from reports to what each of them promises.

use crate::answer_note;
use std::{
    fs::File,
    io::{self, BufReader, Read},
    path::Path,
};
use veracity_account::claims::release_note::LOCAL;
use veracity_account::claims::{Choice, ClaimFile, ReleaseNote, Subject, Target, account};
use veracity_core::{Adjacency, Delta, Epsilon, Error, Mechanism, PrivacyUnit, Refusal};
use veracity_mechanisms::Column;
use veracity_mechanisms::local::{Domain, Estimates, MeanEstimate, Reader, Report, Survey};
use veracity_noise::{Origin, Stream, exact};
use veracity_tables::Notation;

/// What one report costs the person who sends it.
///
/// # Errors
/// Refuses a protocol whose mechanism has no number.
pub fn mechanism(survey: &Survey) -> Result<Mechanism, Refusal> {
    match survey {
        Survey::Frequency { protocol, .. } => protocol.mechanism(),
        Survey::Mean(mean) => Ok(mean.mechanism()),
    }
}

/// The promise of one report, as a claim.
///
/// # Errors
/// Returns the refusal of the accountant.
pub fn claim(survey: &Survey, origin: Origin) -> Result<ClaimFile, Error> {
    let subject = Subject {
        mechanism: mechanism(survey)?,
        // Everyone reports; only what they report can change.
        adjacency: Adjacency::ReplaceOne,
        unit: PrivacyUnit::new("report")?,
    };
    let answer = account(&subject, Target::Delta(Delta::new(0.0)?), Choice::Best)?;
    let statistic = format!("{LOCAL}, protocol {}", survey.name());
    let note = ReleaseNote::new(&statistic, (origin, origin.is_releasable()), Vec::new());
    Ok(ClaimFile::new(&subject, &answer)?
        .with_release(ReleaseNote { time: Some(answer_note::now()?), ..note }))
}

/// Checks that a survey asks for no more than a client is willing to give. The server wrote the survey, and the client need not
/// trust it.
///
/// # Errors
/// Refuses a survey whose ε is larger.
pub fn consent(survey: &Survey, at_most: Epsilon) -> Result<(), Refusal> {
    if survey.epsilon() <= at_most {
        Ok(())
    } else {
        Err(Refusal::invalid(format!(
            "the survey asks for epsilon {}, but you allow at most {at_most}; nothing was reported",
            survey.epsilon()
        )))
    }
}

/// The longest answer that is looked at: far longer than any category.
const LONGEST_ANSWER: u64 = 1 << 20;

/// One person's answer, which is all of the input, as a column of one row. Whatever it is, there is one row: what is no
/// number, or no text, or too long, is missing.
///
/// # Errors
/// Refuses input that cannot be read.
pub fn answer(survey: &Survey, notation: Notation, mut input: impl Read) -> Result<Column, Error> {
    let unreadable = |error: io::Error| {
        Error::invalid(format!("cannot read an answer from standard input ({})", error.kind()))
    };
    let mut bytes = Vec::new();
    input.by_ref().take(LONGEST_ANSWER + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    // To the end: where reading stops would reveal something to the sender.
    io::copy(&mut input, &mut io::sink()).map_err(unreadable)?;
    let whole = bytes.len() as u64 <= LONGEST_ANSWER;
    let text = std::str::from_utf8(&bytes).ok().filter(|_| whole).map(str::trim);
    Ok(match survey {
        Survey::Frequency { .. } => Column::Texts(vec![text.map(str::to_owned)]),
        Survey::Mean(_) => Column::from(vec![text.and_then(|text| notation.number(text))]),
    })
}

/// One report for each row, whatever is in it: a value never decides whether there is a report.
///
/// A value outside the domain, or a missing one, is reported as `other`; without it, as a category drawn uniformly, so that
/// an estimate spreads such people evenly. Numbers outside the range are moved to its end, missing ones to its middle. Each
/// of these is a step before the randomizer that looks at one value, so a report is as private as any other.
///
/// # Errors
/// Refuses a column of another kind than the survey's, and an `other` that is not in its domain.
pub fn encode(
    survey: &Survey,
    column: &Column,
    other: Option<&str>,
    rng: &mut Stream,
) -> Result<Vec<Report>, Refusal> {
    match (survey, column) {
        (Survey::Frequency { domain, protocol }, Column::Texts(texts)) => {
            let other = other.map(|name| domain.place(name).map_err(|_| unknown_other())).transpose()?;
            let place = |text: Option<&str>, rng: &mut Stream| {
                // Drawn always, so that who needed it is not seen by the clock. Below the size, so the cast is exact.
                let any = exact::uniform_below(u128::from(domain.size()), rng) as u32;
                text.and_then(|text| domain.place(text).ok()).or(other).unwrap_or(any)
            };
            texts.iter().map(|text| protocol.encode(place(text.as_deref(), rng), rng)).collect()
        }
        (Survey::Mean(mean), Column::Numbers(numbers)) => {
            let middle = mean.lower() + (mean.upper() - mean.lower()) / 2.0;
            let known = |number: f64| if number.is_nan() { middle } else { number };
            numbers.iter().map(|number| mean.encode(known(*number), rng)).collect()
        }
        (Survey::Frequency { .. }, Column::Numbers(_)) | (Survey::Mean(_), Column::Texts(_)) => {
            Err(Refusal::out_of_range(
                "column",
                "of the wrong type",
                "strings for categories, numbers for a mean",
            ))
        }
    }
}

/// The estimates from a file of reports, with the survey that they answer.
#[derive(Debug, Clone)]
pub enum Collection {
    /// How many people have each value of a domain.
    Frequencies {
        /// What was asked.
        survey: Survey,
        /// The values.
        domain: Domain,
        /// What is known of each.
        estimates: Estimates,
    },
    /// The mean of a number.
    Mean {
        /// What was asked.
        survey: Survey,
        /// The mean.
        estimate: MeanEstimate,
    },
}

/// Reports that are put into the tally at once, so that a file of any size fits into memory.
const BATCH: usize = 4096;

/// Estimates from a file of reports.
///
/// # Errors
/// Refuses a file that cannot be read, and reports that are not those of its survey.
pub fn estimate(path: &Path) -> Result<Collection, Error> {
    let mut reader = Reader::new(BufReader::new(open_reports(path)?))?;
    let survey = reader.survey().clone();
    match &survey {
        Survey::Frequency { domain, protocol } => {
            let mut tally = protocol.tally();
            absorb(&mut reader, |reports| tally.absorb(reports))?;
            let (domain, estimates) = (domain.clone(), tally.estimate());
            Ok(Collection::Frequencies { survey, domain, estimates })
        }
        Survey::Mean(mean) => {
            let mut tally = mean.tally();
            absorb(&mut reader, |reports| tally.absorb(reports))?;
            let estimate = tally.estimate()?;
            Ok(Collection::Mean { survey, estimate })
        }
    }
}

/// The survey at the head of a file of reports.
///
/// # Errors
/// Refuses a file that cannot be read or does not begin with a survey.
pub fn survey_of(path: &Path) -> Result<Survey, Error> {
    Ok(Reader::new(BufReader::new(open_reports(path)?))?.survey().clone())
}

fn open_reports(path: &Path) -> Result<File, Error> {
    let file = File::open(path).map_err(|error| Error::unreadable("report file", path, error))?;
    match file.metadata() {
        Ok(about) if about.is_dir() => Err(Error::file("file", path, "a file of reports, not a directory")),
        _ => Ok(file),
    }
}

fn absorb(
    reader: &mut Reader<BufReader<File>>,
    mut take: impl FnMut(&[Report]) -> Result<(), Refusal>,
) -> Result<(), Refusal> {
    let mut batch = Vec::with_capacity(BATCH);
    for report in reader {
        batch.push(report?);
        if batch.len() == BATCH {
            take(&batch)?;
            batch.clear();
        }
    }
    take(&batch)
}

fn unknown_other() -> Refusal {
    Refusal::invalid("other is not one of the categories; pass one of them")
}

#[cfg(test)]
mod tests {
    use super::*;
    use veracity_mechanisms::local::{Kind, Mean};
    use veracity_noise::Entropy;
    use veracity_noise::{Key, Purpose};

    fn surveys() -> Vec<Survey> {
        let epsilon = Epsilon::new(1.0).unwrap();
        let domain = || Domain::categories(["red", "green", "blue"].map(str::to_owned).to_vec()).unwrap();
        let frequencies = Kind::ALL.map(|kind| Survey::frequency(domain(), kind, epsilon, 7).unwrap());
        frequencies.into_iter().chain([Survey::Mean(Mean::new(0.0, 10.0, epsilon).unwrap())]).collect()
    }

    #[test]
    fn whatever_the_answer_is_there_is_one_report_of_one_length() {
        let huge = vec![b'9'; LONGEST_ANSWER as usize + 7];
        let answers: [&[u8]; 16] = [
            b"red", b"blue\n", b" 7.5\r\n", b"", b"\n\n", b"hunter2", b"\0", b"red\0", b"red\ngreen\n",
            b"\xff\xfe", b"\"red\"", b"\"", b"nan", b"-inf", b"1e999", &huge,
        ];
        for survey in surveys() {
            let mut rng = Entropy::seeded(1).stream(Purpose::Report, Key::default());
            let mut lengths = Vec::new();
            for answer in answers {
                let column = super::answer(&survey, Notation::default(), answer).unwrap();
                let reports = encode(&survey, &column, None, &mut rng).unwrap();
                assert_eq!(reports.len(), 1, "{}", survey.name());
                lengths.push(survey.line(&reports[0]).len());
            }
            assert!(lengths.iter().all(|length| *length == lengths[0]), "{}: {lengths:?}", survey.name());
        }
    }

    /// 30 000 reports at ε = 16, seed 2, where grr almost always reports the true place: unknown values are a third each, within six
    /// standard errors of 81.6; with `other` they are that one.
    #[test]
    fn an_unknown_value_is_any_category_alike_or_the_one_for_others() {
        let domain = Domain::categories(["red", "green", "blue"].map(str::to_owned).to_vec()).unwrap();
        let survey =
            Survey::frequency(domain, Kind::RandomizedResponse, Epsilon::new(16.0).unwrap(), 0).unwrap();
        let unknown = [Some("hunter2".to_owned()), None, Some(String::new())];
        let column = Column::Texts(unknown.into_iter().cycle().take(30_000).collect());
        let mut rng = Entropy::seeded(2).stream(Purpose::Report, Key::default());
        let mut count = |other| {
            let mut counts = [0i32; 3];
            for report in encode(&survey, &column, other, &mut rng).unwrap() {
                let Report::Value(place) = report else { panic!("grr reports a value") };
                counts[place as usize] += 1;
            }
            counts
        };
        assert!(count(None).iter().all(|count| (count - 10_000).abs() < 490), "{:?}", count(None));
        assert!(count(Some("blue"))[2] > 29_990);
        assert!(encode(&survey, &column, Some("hunter2"), &mut rng).is_err());
    }

    #[test]
    fn a_survey_above_what_a_client_allows_is_refused() {
        for survey in surveys() {
            for (most, allowed) in
                [(1.0, true), (1.0f64.next_down(), false), (0.5, false), (f64::INFINITY, true)]
            {
                assert_eq!(
                    consent(&survey, Epsilon::new(most).unwrap()).is_ok(),
                    allowed,
                    "{}",
                    survey.name()
                );
            }
        }
        let refused = consent(&surveys()[0], Epsilon::new(0.5).unwrap()).unwrap_err().to_string();
        assert_eq!(refused, "the survey asks for epsilon 1, but you allow at most 0.5; nothing was reported");
    }
}
