//! Scores that someone else has recorded: a CSV file with the columns `world` (in or out) and `score`, perhaps `trial`.
//!
//! Trials are the order of runs, and files are often sorted otherwise: by score, with their trials numbered afterwards. Half of the
//! scores choose a threshold at which the others are counted, so rows are put in an order that is drawn by a key of their content,
//! whatever order they come in. An empty score is a failed trial.

use crate::{
    AuditClaim, Case, SubjectNote, TrialSource,
    trials::{Record, Trials},
};
use sha2::{Digest, Sha256};
use std::{fs::File, io::Read, path::Path};
use veracity_audit::{Observation, World};
use veracity_core::{Count, Error};
use veracity_noise::Entropy;
use veracity_noise::{Key, Purpose};

/// The kind of these subjects.
pub const KIND: &str = "scores";
/// The longest file.
const LONGEST: u64 = 1 << 30;

/// Scores, and what is known of where they come from.
#[derive(Debug)]
pub(crate) struct Recorded {
    /// For the protocol and the certificate.
    pub note: SubjectNote,
    /// The scores as trials, numbered from 0 without gaps.
    pub trials: Trials,
    /// How many there are.
    pub count: u64,
}

impl Case {
    /// Scores in a file, one row for each trial.
    ///
    /// # Errors
    /// A file that cannot be read, or one whose scores are none.
    pub fn scores(path: &Path, claim: impl Into<AuditClaim>, seed: u64) -> Result<Case, Error> {
        let Recorded { note, trials, count } = read(path)?;
        Ok(Case {
            trials_from: TrialSource::Recorded(trials),
            note,
            claim: claim.into(),
            proved: None,
            trials: Count::new(count)?,
            seed,
            canaries: 1,
            group: Count::ONE,
            is_one_run: false,
            is_costly: false,
            ideal_game: None,
        })
    }
}

/// Reads a file of scores.
pub(crate) fn read(path: &Path) -> Result<Recorded, Error> {
    let refuse = |why: String| Error::file("scores", path, why);
    let unreadable = |error: std::io::Error| Error::unreadable("scores", path, error);
    let mut bytes = Vec::new();
    File::open(path).map_err(unreadable)?.take(LONGEST + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > LONGEST {
        return Err(refuse("at most 1 GiB".into()));
    }
    parse(&bytes).map_err(refuse)
}

/// One row: its trial's number where it has one, its world and its score.
type Row = (Option<u64>, World, Option<f64>);

fn parse(bytes: &[u8]) -> Result<Recorded, String> {
    let mut rows = rows(bytes)?;
    if rows.len() < 4 {
        return Err(format!("at least 4 rows, found {}", rows.len()));
    }
    if rows[0].0.is_some() {
        rows.sort_by_key(|row| row.0);
        if rows.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            return Err("each trial once, found one twice".into());
        }
    }
    shuffle_by_content(&mut rows, |(_, world, score)| {
        let bits = score.map_or([0xff; 8], |score| score.to_bits().to_be_bytes());
        [&[u8::from(*world == World::In)][..], &bits].concat()
    });
    let mut trials = Trials::default();
    for (trial, (_, world, score)) in rows.iter().enumerate() {
        let observation = Observation { trial: trial as u64, canary: 0, world: *world, score: *score };
        let failure = if score.is_some() { String::new() } else { "no score was recorded".to_owned() };
        trials.add(Record { observation, failure, attempts: 1 }).map_err(|refusal| refusal.to_string())?;
    }
    let settings = [("sha256", crate::sha256(&[bytes])), ("rows", rows.len().to_string())];
    let note = SubjectNote {
        kind: KIND.to_owned(),
        description: "recorded scores".to_owned(),
        attack: "recorded scores".to_owned(),
        access: "not known".to_owned(),
        settings: settings.into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect(),
    };
    Ok(Recorded { note, trials, count: rows.len() as u64 })
}

fn rows(bytes: &[u8]) -> Result<Vec<Row>, String> {
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(bytes);
    let header = reader.headers().map_err(|_| "a header with world and score".to_owned())?.clone();
    let column = |name: &str| {
        let mut found = header
            .iter()
            .enumerate()
            .filter(|(_, cell)| cell.trim_start_matches('\u{feff}').eq_ignore_ascii_case(name));
        match (found.next(), found.next()) {
            (Some((at, _)), None) => Ok(Some(at)),
            (None, _) => Ok(None),
            (Some(_), Some(_)) => Err(format!("one column {name}, found two")),
        }
    };
    let need = |name: &str| column(name)?.ok_or_else(|| format!("a column {name}, found none"));
    let (world, score, trial) = (need("world")?, need("score")?, column("trial")?);
    let mut rows = Vec::new();
    for record in reader.records() {
        let line = rows.len() + 2;
        let record = record.map_err(|_| format!("as many cells as the header has, record {line} has not"))?;
        let cell = |at: usize| record.get(at).unwrap_or_default();
        let world = match cell(world) {
            word if word.eq_ignore_ascii_case("in") => World::In,
            word if word.eq_ignore_ascii_case("out") => World::Out,
            _ => return Err(format!("world = in or out, record {line} has another")),
        };
        let score =
            match cell(score) {
                "" => None,
                text => Some(text.parse().ok().filter(|score: &f64| !score.is_nan()).ok_or_else(|| {
                    format!("a number as score or nothing, record {line} has something else")
                })?),
            };
        let number = |at: usize| {
            cell(at)
                .parse::<u64>()
                .map_err(|_| format!("a integer as trial, record {line} has something else"))
        };
        rows.push((trial.map(number).transpose()?, world, score));
    }
    Ok(rows)
}

/// Puts rows in an order that their content draws: the same rows in any order come out in the same one, which nobody chose.
///
/// Fisher–Yates, keyed by the SHA-256 of the sorted rows; every order has the same chance, but for 2^-32 of rounding.
fn shuffle_by_content<T>(rows: &mut [T], content: impl Fn(&T) -> Vec<u8>) {
    rows.sort_by_key(&content);
    let all: Vec<u8> = rows.iter().flat_map(&content).collect();
    let digest = Sha256::digest(&all);
    let key = digest.iter().take(8).fold(0u64, |key, byte| key << 8 | u64::from(*byte));
    let mut rng = Entropy::seeded(key).stream(Purpose::Split, Key::default());
    for last in (1..rows.len()).rev() {
        let chosen = ((u128::from(rng.word()) * (last as u128 + 1)) >> 64) as usize;
        rows.swap(last, chosen);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_in_one_order_whatever_order_their_file_has() {
        let text = "score, world,trial\n1.5,in,7\n-inf,out,3\n,in,12\n1e-3,out,4\n";
        let read = parse(text.as_bytes()).unwrap();
        assert_eq!((read.trials.failures(), read.count), (1, 4));
        let turned = "score, world,trial\n1e-3,out,1\n,in,2\n-inf,out,3\n1.5,in,4\n";
        assert_eq!(read.trials.to_csv(), parse(turned.as_bytes()).unwrap().trials.to_csv());
        let rows: String =
            (0..100).map(|i| format!("{},{i}\n", if i % 2 == 0 { "in" } else { "out" })).collect();
        let sorted = format!("world,score\n{rows}");
        let scores: Vec<f64> =
            parse(sorted.as_bytes()).unwrap().trials.observations().iter().filter_map(|o| o.score).collect();
        assert!(!scores.is_sorted());
    }

    #[test]
    fn hostile_files_are_refused_in_one_line_without_their_data() {
        let many = |row: &str| format!("world,score\n{}", format!("{row}\n").repeat(5));
        for bad in [
            String::new(),
            "world,score\n".into(),
            "world\nin\n".into(),
            "world,score,score\nin,1,1\n".into(),
            many("in,NaN"),
            many("in,secret"),
            many("secret,1"),
            many("in,1,2"),
            "world,score,trial\nin,1,1\nin,1,1\nin,1,2\nin,1,3\n".into(),
            "world,score,trial\nin,1,-1\nin,1,1\nin,1,2\nin,1,3\n".into(),
            "\u{0}\u{1}\n".repeat(50),
        ] {
            let refused = parse(bad.as_bytes()).unwrap_err();
            assert!(!refused.contains('\n') && !refused.contains("secret"), "{refused}");
        }
        assert!(parse(&[0xff; 100]).is_err());
    }
}
