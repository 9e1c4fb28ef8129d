//! A release from a question to an answer whose claim is on disk, in one call; and what it would cost, without a look at a row.

use crate::{
    ClaimPlace, PreparedRelease, ReleaseRequest, ReleaseWithClaim,
    columns::{self, Form, Kind, Limits, Request, Source},
    prepare, provenance,
};
use std::path::{Path, PathBuf};
use veracity_account::claims::Provenance;
use veracity_core::{Adjacency, Count, Delta, Error};
use veracity_ledger::{Forecast, KeptAnswer, Paid, Payer, Payment, pay};
use veracity_mechanisms::{Column, NoiseKind};
use veracity_noise::{Entropy, Key, NoiseStream, Purpose};

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
    ///
    /// # Errors
    /// Refuses a file that cannot be read or has no such column.
    pub fn column(&self, request: &ReleaseRequest) -> Result<Column, Error> {
        Ok(columns::read(&self.open()?, &columns_of(request, self.form))?.column)
    }
}

/// Where the claim goes and what is in it, beside what follows from the request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReleaseSettings {
    /// A new file, or a folder in which the claim gets a name of its own [default: the current folder].
    pub claim: Option<PathBuf>,
    /// What the data are called in the claim [default: the name of the file, or of the first table of a query].
    pub dataset: Option<String>,
    /// Draw from a seed, to repeat a test: the answer is then not for release.
    pub seed: Option<u64>,
}

/// An answer, and all that goes with it.
#[derive(Debug, Clone)]
pub struct ReleaseDone {
    /// What was prepared before any data were seen.
    pub prepared: PreparedRelease,
    /// The answer and its claim.
    pub released: ReleaseWithClaim,
    /// Where the claim is.
    pub claim: PathBuf,
    /// How many rows there are, where that is public: under replace-one and zero-out.
    pub public_rows: Option<Count>,
}

/// A release of which everything is fixed, and no row was read.
struct ReadyRelease<'a> {
    request: &'a ReleaseRequest,
    table: &'a Table,
    prepared: PreparedRelease,
    place: ClaimPlace,
    provenance: Provenance,
    entropy: Entropy,
}

/// Answers a question about a table. The claim is on disk before the answer is returned.
///
/// # Errors
///
/// Refuses a question without noise for its budget, a claim without a place, and a table that does not have the columns.
pub fn release(
    request: &ReleaseRequest,
    table: &Table,
    settings: &ReleaseSettings,
) -> Result<ReleaseDone, Error> {
    ReadyRelease::new(request, table, settings, prepare(request)?)?.answer()
}

/// The same, paid by a ledger where one is given, and printed by `print`, whose text the ledger keeps.
///
/// That the table has the columns, and that the claim can be written, is checked before the charge.
///
/// # Errors
///
/// The errors of [`release`], of the ledger and of `print`.
pub fn release_paid(
    request: &ReleaseRequest,
    table: &Table,
    settings: &ReleaseSettings,
    payer: Option<&Payer>,
    print: impl FnOnce(&ReleaseDone) -> Result<KeptAnswer, Error>,
) -> Result<Paid<ReleaseDone>, Error> {
    let prepared = prepare(request)?;
    let payment = payer.map(|payer| payment_for(payer, request, &prepared, table, settings)).transpose()?;
    let is_charged = payment.is_some();
    let check = || {
        let ready = ReadyRelease::new(request, table, settings, prepared)?;
        if is_charged {
            ready.place.must_have_room()?;
            // Standard input is read once.
            if table.path != Path::new("-") {
                columns::check(&table.open()?, &columns_of(request, table.form))?;
            }
        }
        Ok(ready)
    };
    pay(payment, check, |ready| {
        let done = ready.answer()?;
        let answer = print(&done)?;
        Ok((done, answer))
    })
}

/// What a release would cost the ledger that pays for it. Nothing is charged, and no row is read.
///
/// # Errors
///
/// Refuses what the ledger would refuse.
pub fn release_forecast(
    request: &ReleaseRequest,
    table: &Table,
    settings: &ReleaseSettings,
    payer: &Payer,
) -> Result<Forecast, Error> {
    payment_for(payer, request, &prepare(request)?, table, settings)?.forecast()
}

/// The request of a release to a ledger.
fn payment_for(
    payer: &Payer,
    request: &ReleaseRequest,
    prepared: &PreparedRelease,
    table: &Table,
    settings: &ReleaseSettings,
) -> Result<Payment, Error> {
    let statistic = request.question.statistic.name();
    let what =
        request.column.as_ref().map_or(statistic.to_owned(), |column| format!("{statistic} of {column}"));
    let dataset = settings.dataset.clone().unwrap_or_else(|| file_name(&table.path));
    payer.payment(&prepared.subject, Some(&dataset), &what)
}

/// The kind of noise that is asked for, or else, where noise is added, the one that costs the payer least.
pub fn noise_kind(
    asked: Option<NoiseKind>,
    delta: Delta,
    is_added: bool,
    payer: Option<&Payer>,
) -> Option<NoiseKind> {
    let is_gaussian = is_added && delta.get() > 0.0 && payer.is_some_and(Payer::prefers_gaussian);
    asked.or(is_gaussian.then_some(NoiseKind::Gaussian))
}

impl<'a> ReadyRelease<'a> {
    fn new(
        request: &'a ReleaseRequest,
        table: &'a Table,
        settings: &ReleaseSettings,
        prepared: PreparedRelease,
    ) -> Result<ReadyRelease<'a>, Error> {
        let statistic = request.question.statistic.name();
        let place = ClaimPlace::find(settings.claim.as_deref(), statistic, request.column.as_deref())?;
        let provenance = provenance(&settings.dataset.clone().unwrap_or_else(|| file_name(&table.path)))?;
        let entropy = settings.seed.map_or_else(Entropy::system, |seed| Ok(Entropy::seeded(seed)))?;
        Ok(ReadyRelease { request, table, prepared, place, provenance, entropy })
    }

    /// Reads the rows, adds noise and writes the claim.
    fn answer(self) -> Result<ReleaseDone, Error> {
        let ReadyRelease { request, table, prepared, place, provenance, entropy } = self;
        let read = columns::read(&table.open()?, &columns_of(request, table.form))?;
        let mut rng = NoiseStream::new(entropy.stream(Purpose::Noise, Key::default()));
        let named = (&provenance, request.column.as_deref());
        let released = match (&prepared.persons, &read.persons) {
            (Some(persons), Some(of)) => {
                prepared.release_bounded(&persons.bound(&read.column, of, &entropy)?, named, &mut rng)?
            }
            (Some(_), None) | (None, _) => prepared.release(&read.column, named, &mut rng)?,
        };
        let claim = place.write(&released.claim)?;
        let is_public = request.question.adjacency != Adjacency::AddRemove;
        let public_rows = is_public.then(|| Count::new(read.column.rows() as u64).ok()).flatten();
        Ok(ReleaseDone { prepared, released, claim, public_rows })
    }
}

/// What a release would cost and how far off it would be: the file is checked to have the columns, and no row is read.
///
/// # Errors
/// Refuses a question without noise for its budget, and a file without the columns.
pub fn preview(request: &ReleaseRequest, table: &Table) -> Result<PreparedRelease, Error> {
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
