//! A release from a question to an answer whose claim is on disk, in one call; and what it would cost, without a look at a row.

use crate::{
    ClaimPlace, Prepared, ReleaseRequest, Released,
    columns::{self, Form, Kind, Limits, Request, Source},
    prepare, provenance,
};
use std::path::{Path, PathBuf};
use veracity_core::Error;
use veracity_noise::{Entropy, Key, NoiseStream, Purpose};
use veracity_query::Column;

/// A file, and how it is written.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// Where it is; `-` is standard input.
    pub path: PathBuf,
    /// How it is written, where it is text.
    pub form: Form,
}

impl Table {
    /// A file that is written as most are.
    pub fn new(path: impl Into<PathBuf>) -> Table {
        Table { path: path.into(), form: Form::default() }
    }

    fn open(&self) -> Result<Source, Error> {
        Source::at(&self.path, &Limits::default())
    }

    /// The column that a request asks about, as it is read for it.
    pub fn column(&self, request: &ReleaseRequest) -> Result<Column, Error> {
        Ok(columns::read(&self.open()?, &columns_of(request, self.form))?.column)
    }
}

/// Where the claim goes and what is in it, beside what follows from the request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReleaseSettings {
    /// A new file, or a folder in which the claim gets a name of its own [default: the current folder].
    pub claim: Option<PathBuf>,
    /// What the data are called in the claim [default: the name of the file].
    pub dataset: Option<String>,
    /// Draw from a seed, to repeat a test: the answer is then not for release.
    pub seed: Option<u64>,
}

/// An answer, and all that goes with it.
#[derive(Debug, Clone)]
pub struct ReleaseDone {
    /// What was prepared before any data were seen.
    pub prepared: Prepared,
    /// The answer and its claim.
    pub released: Released,
    /// Where the claim is.
    pub claim: PathBuf,
}

/// Answers a question about a table. The claim is on disk before the answer is returned.
pub fn release(
    request: &ReleaseRequest,
    table: &Table,
    settings: &ReleaseSettings,
) -> Result<ReleaseDone, Error> {
    let prepared = prepare(request)?;
    // Before the data are opened: a claim that cannot be written is no reason to read them.
    let column = request.column.as_deref();
    let place = ClaimPlace::find(settings.claim.as_deref(), request.question.statistic.name(), column)?;
    let provenance = provenance(&settings.dataset.clone().unwrap_or_else(|| file_name(&table.path)))?;
    let entropy = settings.seed.map_or_else(Entropy::system, |seed| Ok(Entropy::seeded(seed)))?;
    let read = columns::read(&table.open()?, &columns_of(request, table.form))?;
    let mut rng = NoiseStream::new(entropy.stream(Purpose::Noise, Key::default()));
    let named = (&provenance, column);
    let released = match (&prepared.persons, &read.persons) {
        (Some(persons), Some(of)) => {
            prepared.release_bounded(&persons.bound(&read.column, of, &entropy)?, named, &mut rng)?
        }
        (Some(_), None) | (None, _) => prepared.release(&read.column, named, &mut rng)?,
    };
    let claim = place.write(&released.claim)?;
    Ok(ReleaseDone { prepared, released, claim })
}

/// What a release would cost and how far off it would be: the file is checked to have the columns, and no row is read.
pub fn preview(request: &ReleaseRequest, table: &Table) -> Result<Prepared, Error> {
    let prepared = prepare(request)?;
    columns::check(&table.open()?, &columns_of(request, table.form))?;
    Ok(prepared)
}

/// What a request asks of a file.
fn columns_of(request: &ReleaseRequest, form: Form) -> Request<'_> {
    Request {
        column: request.column.as_deref(),
        kind: if request.question.statistic.reads_numbers() { Kind::Numbers } else { Kind::Texts },
        person: request.persons.as_ref().map(|persons| persons.column.as_str()),
        form,
    }
}

/// The name of a file without its folder; what has none, such as `.`, is refused by its path when it is opened.
fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}
