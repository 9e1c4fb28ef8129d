//! The ledger itself: reserve → release → commit.

use crate::{
    Hash, Request, Reservation, Reserved, Terms, amounts,
    price::Price,
    request::{Asked, is_same_unit, other_unit, unit_from},
    rows::{self, Row},
    store,
};
use rusqlite::Connection;
use std::{
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};
use veracity_account::filter::{Amounts, Budget, Filter, Kind};
use veracity_core::{Error, Refusal};
use veracity_files::since_1970;

/// The longest answer that is kept, in bytes.
const LONGEST_ANSWER: usize = 1 << 26;

/// One budget in one file. It may be shared among threads, and the file among processes; no two of them can overdraw it.
#[derive(Debug)]
pub struct Ledger {
    path: PathBuf,
    connection: Mutex<Connection>,
    terms: Terms,
    created: u64,
    /// Of the whole, then of each analyst.
    kinds: Vec<(Kind, Budget)>,
    limits: Vec<Amounts>,
    /// The first link of the chain.
    first: Hash,
    /// Where it was opened: a forked copy would use the same file handle.
    process: u32,
}

/// What becomes of a request that was charged before and has no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unanswered {
    /// Noise may have been drawn for it, so it is not drawn again.
    Refused,
    /// Who asks goes on with the noise that was drawn.
    Resumed,
}

impl Ledger {
    /// Makes a ledger in a new file. The exact accountant prices the budget here, once.
    pub fn create(path: &Path, terms: Terms) -> Result<Ledger, Error> {
        terms.check()?;
        let limits: Vec<Amounts> = terms.filters()?.iter().map(|filter| filter.limit().clone()).collect();
        let text = terms.written(since_1970()?.as_secs())?;
        let limits = limits.iter().map(amounts::written).collect::<Vec<_>>().join("\n");
        store::create(path, &text, &limits, first_link(&text, &limits).bytes())?;
        Ledger::open(path)
    }

    /// Opens a ledger. Its terms and limits are read, and taken for what they say only if their hash is theirs.
    pub fn open(path: &Path) -> Result<Ledger, Error> {
        let connection = store::open(path)?;
        let (text, limits, hash): (String, String, Vec<u8>) = connection
            .query_row("SELECT text, limits, hash FROM terms", [], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?))
            })
            .map_err(|error| store::failed(path, error))?;
        let damaged = |why: &str| Error::damaged(path, Error::invalid(why));
        let first = first_link(&text, &limits);
        if first.bytes() != hash {
            return Err(damaged("the terms were changed after they were written; nothing is charged"));
        }
        let (terms, created) = Terms::read(&text).map_err(|refusal| Error::damaged(path, refusal))?;
        let limits: Option<Vec<Amounts>> = limits.split('\n').map(amounts::read).collect();
        let kinds = terms.kinds()?;
        let limits = limits.filter(|limits| limits.len() == kinds.len());
        let limits = limits.ok_or_else(|| damaged("the limits are not as a ledger writes them"))?;
        Ok(Ledger {
            path: path.to_owned(),
            connection: Mutex::new(connection),
            terms,
            created,
            kinds,
            limits,
            first,
            process: std::process::id(),
        })
    }

    /// Charges a request and writes that to disk, or refuses and leaves no trace. What was answered before under the same id
    /// is handed out again and not charged.
    ///
    /// # Promise    All answers together are private within the budget, however each request was chosen from earlier answers
    /// # Assumes    Noise is drawn once for each reservation, after it was made, as the question says
    /// # Reference  The theorems of [`veracity_account::filter`]
    pub fn reserve(&self, request: Request) -> Result<Reserved, Error> {
        self.enter(request, Unanswered::Refused)
    }

    /// As [`Ledger::reserve`], for a job that goes on where it was interrupted: a request that was charged and not answered is
    /// handed out again and not charged again.
    ///
    /// # Assumes    The job ends in the same bits as if it had not been interrupted: it draws no noise anew
    pub fn resume(&self, request: Request) -> Result<Reserved, Error> {
        if request.id.is_none() {
            return Err(Error::invalid("request id is missing, expected that of the job that is resumed"));
        }
        self.enter(request, Unanswered::Resumed)
    }

    /// The answer that was kept under the id of a request, with the number of its entry; nothing where there is none yet. Nothing
    /// is charged.
    pub fn recall(&self, request: Request) -> Result<Option<(String, u64)>, Error> {
        let asked = Asked::new(request, &self.terms)?;
        let connection = self.connection()?;
        match self.known(&connection, &asked, Unanswered::Resumed)? {
            Some(Reserved::Known { answer, entry }) => Ok(Some((answer, entry))),
            Some(Reserved::New(_)) | None => Ok(None),
        }
    }

    /// Keeps the answer of a reservation, so that its id gets it again.
    pub fn commit(&self, reservation: Reservation, answer: &str) -> Result<(), Error> {
        if answer.len() > LONGEST_ANSWER {
            return Err(Error::out_of_range("answer", format!("{} bytes", answer.len()), "at most 64 MiB"));
        }
        serde_json::from_str::<serde::de::IgnoredAny>(answer)
            .map_err(|_| Error::out_of_range("answer", "something else", "one JSON value"))?;
        self.end(reservation, "answered", Some(answer))
    }

    /// Notes that a reservation will have no answer. It stays charged: noise may have been drawn, and what was seen of it is not
    /// taken back.
    pub fn abandon(&self, reservation: Reservation) -> Result<(), Error> {
        self.end(reservation, "abandoned", None)
    }

    /// What was fixed when it was made.
    pub fn terms(&self) -> &Terms {
        &self.terms
    }

    /// When it was made, in seconds since 1970 began.
    pub fn created(&self) -> u64 {
        self.created
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn first(&self) -> Hash {
        self.first
    }

    pub(crate) fn limits(&self) -> &[Amounts] {
        &self.limits
    }

    /// The file, for one reader or writer of this process at a time.
    pub(crate) fn connection(&self) -> Result<MutexGuard<'_, Connection>, Error> {
        if std::process::id() != self.process {
            return Err(Error::invalid(
                "ledger is of another process, which forked; expected one that was opened here",
            ));
        }
        // Whoever held it and panicked left a transaction that is rolled back, or a whole one.
        Ok(self.connection.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The filter of the whole (0) or of an analyst (1 and on), with what was spent of it.
    pub(crate) fn filter(&self, which: usize, spent: Amounts) -> Result<Filter, Refusal> {
        let (kind, budget) = self.kinds[which].clone();
        Filter::restore(kind, budget, self.terms.adjacency, self.limits[which].clone(), spent)
    }

    /// A filter of which nothing is spent.
    pub(crate) fn fresh(&self, which: usize) -> Result<Filter, Refusal> {
        self.filter(which, amounts::nothing(&self.limits[which]))
    }

    pub(crate) fn failed(&self, error: rusqlite::Error) -> Error {
        store::failed(&self.path, error)
    }

    pub(crate) fn damaged(&self, number: i64) -> Error {
        let why = format!("record {number} is not what was written; nothing is charged, verify the ledger");
        Error::damaged(&self.path, Error::invalid(why))
    }

    fn enter(&self, request: Request, unanswered: Unanswered) -> Result<Reserved, Error> {
        let asked = Asked::new(request, &self.terms)?;
        let connection = self.connection()?;
        // First without the lock: what is known needs no price, and a price may take a while.
        if let Some(known) = self.known(&connection, &asked, unanswered)? {
            return Ok(known);
        }
        let whole = self.fresh(0)?;
        let share = asked.analyst.map(|at| self.fresh(at + 1)).transpose()?;
        let price = Price::of(&self.terms, &asked.question, &whole, share.as_ref())?;

        let writing = store::begin(&connection, &self.path)?;
        // Another process may have asked the same meanwhile.
        if let Some(known) = self.known(&writing, &asked, unanswered)? {
            return Ok(known);
        }
        let entry = self.charge(&writing, &asked, &price)?;
        writing.commit().map_err(|error| self.failed(error))?;
        Ok(Reserved::New(Reservation { entry, ledger: self.first }))
    }

    /// Writes a charge that fits. Nothing is on disk before the caller commits.
    fn charge(&self, to: &Connection, asked: &Asked, price: &Price) -> Result<u64, Error> {
        let failed = |error| self.failed(error);
        let (number, previous, spent) = self.tail(to)?;
        self.must_be_of_unit(to, asked)?;
        let mut whole = self.filter(0, spent)?;
        let mut share = None;
        if let (Some(at), Some(name)) = (asked.analyst, &asked.analyst_name) {
            let spent = match rows::last_of(to, name).map_err(failed)? {
                None => amounts::nothing(&self.limits[at + 1]),
                Some(row) => {
                    self.must_follow(to, &row)?;
                    let spent = row.share_spent.as_deref().and_then(amounts::read);
                    spent.ok_or_else(|| self.damaged(row.number))?
                }
            };
            share = Some(self.filter(at + 1, spent)?);
        }
        let (cost, share_cost) = price.take(&mut whole, share.as_mut())?;
        let charged = price.charged.as_ref().map(serde_json::to_string).transpose();
        let row = Row {
            number,
            kind: "reserved".to_owned(),
            moment: self.now()?,
            request: asked.id.as_ref().map(|id| id.name().to_owned()),
            analyst: asked.analyst_name.clone(),
            question: Some(asked.question_text.clone()),
            charged: charged
                .map_err(|error| Error::invalid(format!("what is charged cannot be written ({error})")))?,
            what: Some(asked.what.clone()),
            cost: Some(amounts::written(&cost)),
            spent: amounts::written(whole.spent()),
            share_cost: share_cost.as_ref().map(amounts::written),
            share_spent: share.as_ref().map(|share| amounts::written(share.spent())),
            ..Row::default()
        };
        row.append(to, previous).map_err(failed)?;
        u64::try_from(number).map_err(|_| self.damaged(number))
    }

    /// Where the terms name no unit, all requests protect what the first one did: charges for rows and for people do not add up.
    fn must_be_of_unit(&self, to: &Connection, asked: &Asked) -> Result<(), Error> {
        if !self.terms.is_any_unit() {
            return Ok(());
        }
        let unit = asked.unit.as_ref().ok_or_else(|| {
            Error::invalid(
                "unit is missing, expected what the request protects as one: the ledger names none",
            )
        })?;
        let Some(first) = rows::numbered(to, 1).map_err(|error| self.failed(error))? else { return Ok(()) };
        let first = first.question.as_deref().and_then(unit_from).ok_or_else(|| self.damaged(1))?;
        if is_same_unit(unit, &first) {
            return Ok(());
        }
        Err(other_unit(unit, &first, "which the first request of the ledger protected").into())
    }

    /// What is known of a request by its id: its answer; nothing where it is new. What cannot be told again is refused.
    fn known(
        &self,
        from: &Connection,
        asked: &Asked,
        unanswered: Unanswered,
    ) -> Result<Option<Reserved>, Error> {
        let failed = |error| self.failed(error);
        let Some(id) = &asked.id else { return Ok(None) };
        let Some(row) = rows::requested(from, id).map_err(failed)? else { return Ok(None) };
        self.must_follow(from, &row)?;
        let same = row.question.as_deref() == Some(&asked.question_text)
            && row.what.as_deref() == Some(&asked.what)
            && row.analyst == asked.analyst_name;
        if !same {
            return Err(Error::invalid(
                "request id was used for another question, expected a new request id",
            ));
        }
        let entry = u64::try_from(row.number).map_err(|_| self.damaged(row.number))?;
        match rows::ending(from, row.number).map_err(failed)? {
            Some(ending) => {
                self.must_follow(from, &ending)?;
                match ending.answer {
                    Some(answer) => Ok(Some(Reserved::Known { answer, entry })),
                    None => Err(Error::invalid(
                        "request id is of a request that was abandoned and stays charged; take a new request id",
                    )),
                }
            }
            None if unanswered == Unanswered::Resumed => {
                Ok(Some(Reserved::New(Reservation { entry, ledger: self.first })))
            }
            None => Err(Error::invalid(
                "request id is of a request that was charged and never answered: noise may have been drawn, and it stays \
                 charged; take a new request id",
            )),
        }
    }

    fn end(&self, reservation: Reservation, kind: &str, answer: Option<&str>) -> Result<(), Error> {
        if reservation.ledger != self.first {
            return Err(Error::invalid("reservation is of another ledger, expected one of this"));
        }
        let failed = |error| self.failed(error);
        let of = i64::try_from(reservation.entry).map_err(|_| Error::invalid("reservation has no entry"))?;
        let connection = self.connection()?;
        let writing = store::begin(&connection, &self.path)?;
        let reserved = rows::numbered(&writing, of).map_err(failed)?;
        if reserved.is_none_or(|row| row.kind != "reserved") {
            return Err(Error::invalid("reservation is not in the ledger, expected one that it made"));
        }
        if rows::ending(&writing, of).map_err(failed)?.is_some() {
            return Err(Error::invalid(
                "reservation was answered or abandoned before, expected one that is open",
            ));
        }
        let (number, previous, spent) = self.tail(&writing)?;
        let row = Row {
            number,
            kind: kind.to_owned(),
            moment: self.now()?,
            spent: amounts::written(&spent),
            reservation: Some(of),
            answer: answer.map(str::to_owned),
            ..Row::default()
        };
        row.append(&writing, previous).map_err(failed)?;
        writing.commit().map_err(failed)
    }

    /// The number of the next record, the hash before it, and what was spent so far.
    fn tail(&self, from: &Connection) -> Result<(i64, Hash, Amounts), Error> {
        match rows::last(from).map_err(|error| self.failed(error))? {
            None => Ok((1, self.first, amounts::nothing(&self.limits[0]))),
            Some(row) => {
                let hash = self.must_follow(from, &row)?;
                let spent = row.spent().ok_or_else(|| self.damaged(row.number))?;
                Ok((row.number.checked_add(1).ok_or_else(|| self.damaged(row.number))?, hash, spent))
            }
        }
    }

    /// Refuses a row that is not the one that was written after the row before it; hands out its hash.
    fn must_follow(&self, from: &Connection, row: &Row) -> Result<Hash, Error> {
        let previous = match row.number {
            1 => Some(self.first),
            number => rows::numbered(from, number.wrapping_sub(1))
                .map_err(|error| self.failed(error))?
                .and_then(|row| Hash::from_bytes(&row.hash)),
        };
        match (previous, Hash::from_bytes(&row.hash)) {
            (Some(previous), Some(hash)) if row.follows(previous) => Ok(hash),
            _ => Err(self.damaged(row.number)),
        }
    }

    fn now(&self) -> Result<i64, Error> {
        i64::try_from(since_1970()?.as_secs()).map_err(|_| Error::invalid("the clock is beyond all years"))
    }
}

/// The first link of the chain, from the terms and what they were priced at.
pub(crate) fn first_link(text: &str, limits: &str) -> Hash {
    Hash::first(&[Some(text.as_bytes()), Some(limits.as_bytes())])
}
