//! The ledger itself: reserve → release → commit.

use crate::{
    Hash, Request, Reservation, Reserved, Terms, amounts,
    answering::Answering,
    checked::CheckedChain,
    price::Price,
    request::{CheckedRequest, is_same_unit, other_unit, unit_from},
    rows::{self, Row},
    store::{self, OpenFile},
};
use rusqlite::Connection;
use std::{
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};
use veracity_account::filter::{Amounts, Budget, Filter, Kind};
use veracity_core::files::since_1970;
use veracity_core::{Error, Refusal};

/// The longest answer that is kept, in bytes.
const LONGEST_ANSWER: usize = 1 << 26;

/// One budget in one file. It may be shared among threads, and the file among processes; no two of them can overdraw it.
#[derive(Debug)]
pub struct Ledger {
    path: PathBuf,
    handle: Mutex<Handle>,
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

/// The file, and what is known of it.
#[derive(Debug)]
pub(crate) struct Handle {
    pub opened: OpenFile,
    /// The chain when it was checked last.
    pub checked: Option<CheckedChain>,
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
    ///
    /// # Errors
    /// Refuses terms out of range, a name that is taken, and a place that cannot be written.
    pub fn create(path: &Path, terms: Terms) -> Result<Ledger, Error> {
        terms.check()?;
        let limits: Vec<Amounts> = terms.filters()?.iter().map(|filter| filter.limit().clone()).collect();
        let text = terms.written(since_1970()?.as_secs())?;
        let limits = limits.iter().map(amounts::written).collect::<Vec<_>>().join("\n");
        store::create(path, &text, &limits, first_link(&text, &limits).bytes())?;
        Ledger::open(path)
    }

    /// Opens a ledger. Its terms and limits are read, and taken for what they say only if their hash is theirs.
    ///
    /// # Errors
    /// Refuses a file that is not a ledger, was changed, or lies where it could be spent twice.
    pub fn open(path: &Path) -> Result<Ledger, Error> {
        let opened = store::open(path)?;
        let (text, limits, hash): (String, String, Vec<u8>) = opened
            .connection
            .query_row("SELECT text, limits, hash FROM terms", [], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?))
            })
            .map_err(|error| store::failed(path, error))?;
        let damaged = |why: &str| Error::damaged(path, Error::invalid(why));
        let first = first_link(&text, &limits);
        if first.bytes() != hash {
            return Err(damaged(
                "the settings were changed after the ledger was created; nothing is charged",
            ));
        }
        let (terms, created) = Terms::read(&text).map_err(|refusal| Error::damaged(path, refusal))?;
        let limits: Option<Vec<Amounts>> = limits.split('\n').map(amounts::read).collect();
        let kinds = terms.kinds()?;
        let limits = limits.filter(|limits| limits.len() == kinds.len());
        let limits = limits.ok_or_else(|| damaged("the limits do not have the format of a ledger"))?;
        Ok(Ledger {
            path: path.to_owned(),
            handle: Mutex::new(Handle { opened, checked: None }),
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
    ///
    /// # Errors
    /// Refuses a request that exceeds the budget, one whose id was used for another question or has no answer, and a damaged chain.
    pub fn reserve(&self, request: Request) -> Result<Reserved, Error> {
        self.enter(request, Unanswered::Refused)
    }

    /// As [`Ledger::reserve`], for a job that goes on where it was interrupted: a request that was charged and not answered is
    /// handed out again and not charged again.
    ///
    /// # Assumes    The job ends in the same bits as if it had not been interrupted: it draws no noise again
    ///
    /// # Errors
    /// Refuses a request without an id, and what [`Ledger::reserve`] refuses.
    pub fn resume(&self, request: Request) -> Result<Reserved, Error> {
        if request.id.is_none() {
            return Err(Error::invalid("request ID is missing; pass the request ID of the job to resume"));
        }
        self.enter(request, Unanswered::Resumed)
    }

    /// The answer that was kept under the id of a request, with the number of its entry; nothing where there is none yet. Nothing
    /// is charged.
    ///
    /// # Errors
    /// Refuses an id that was used for another question or is of an abandoned request.
    pub fn recall(&self, request: Request) -> Result<Option<(String, u64)>, Error> {
        let asked = CheckedRequest::new(request, &self.terms)?;
        let handle = self.handle()?;
        match self.known(&handle.opened.connection, &asked)? {
            RequestState::Answered { answer, entry } => Ok(Some((answer, entry))),
            RequestState::Unanswered { .. } | RequestState::New => Ok(None),
        }
    }

    /// Keeps the answer of a reservation, so that its id gets it again.
    ///
    /// # Errors
    /// Refuses an answer that is too long or not one JSON value, and a reservation that is not open.
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
    ///
    /// # Errors
    /// Refuses a reservation that is not open.
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
    pub(crate) fn handle(&self) -> Result<MutexGuard<'_, Handle>, Error> {
        if std::process::id() != self.process {
            return Err(Error::invalid(
                "the ledger was opened before this process was forked; open it again in this process",
            ));
        }
        // A thread that held it and panicked left a transaction that is rolled back, or a whole one.
        Ok(self.handle.lock().unwrap_or_else(PoisonError::into_inner))
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
        let why = format!(
            "record {number} was changed after it was written; nothing is charged; verify the ledger"
        );
        Error::damaged(&self.path, Error::invalid(why))
    }

    fn enter(&self, request: Request, unanswered: Unanswered) -> Result<Reserved, Error> {
        let asked = CheckedRequest::new(request, &self.terms)?;
        let mut handle = self.handle()?;
        let Handle { opened, checked } = &mut *handle;
        // First without the lock: an answer needs no price, and a price may take a while.
        let price = match self.known(&opened.connection, &asked)? {
            RequestState::Answered { answer, entry } => return Ok(Reserved::Known { answer, entry }),
            RequestState::Unanswered { .. } => None,
            RequestState::New => Some(self.price(&asked)?),
        };
        let writing = store::begin(&opened.connection, &self.path)?;
        let all = self.checked(&writing, checked)?;
        // Another process may have asked the same meanwhile, or have answered it.
        match (self.known(&writing, &asked)?, price) {
            (RequestState::Answered { answer, entry }, _) => Ok(Reserved::Known { answer, entry }),
            (RequestState::Unanswered { entry }, _) => {
                // While this process may write, no other can record an answer: a free lock says that none will.
                let answering = Answering::begin(&opened.file, entry)?.ok_or_else(is_being_answered)?;
                match unanswered {
                    Unanswered::Resumed => Ok(self.reserved(entry, Some(answering))),
                    Unanswered::Refused => Err(never_answered()),
                }
            }
            // Records never go, so that one that was there is there.
            (RequestState::New, None) => Err(self.damaged(all.number)),
            (RequestState::New, Some(price)) => {
                let after = self.charge(&writing, &asked, &price, all)?;
                let entry = u64::try_from(after.number).map_err(|_| self.damaged(after.number))?;
                let answering = match &asked.id {
                    None => None,
                    Some(_) => Some(Answering::begin(&opened.file, entry)?.ok_or_else(is_being_answered)?),
                };
                *checked = None;
                writing
                    .commit()
                    .and_then(|()| store::settle(&opened.connection))
                    .map_err(|error| self.failed(error))?;
                *checked = Some(after);
                Ok(self.reserved(entry, answering))
            }
        }
    }

    fn reserved(&self, entry: u64, answering: Option<Answering>) -> Reserved {
        Reserved::New(Reservation { entry, ledger: self.first, answering })
    }

    fn price(&self, asked: &CheckedRequest) -> Result<Price, Refusal> {
        Price::of(self, &asked.question, asked.analyst)
    }

    /// Writes a charge that fits; the chain with it. Nothing is on disk before the caller commits.
    fn charge(
        &self,
        to: &Connection,
        asked: &CheckedRequest,
        price: &Price,
        mut all: CheckedChain,
    ) -> Result<CheckedChain, Error> {
        self.must_be_of_unit(to, asked)?;
        let (whole, shares) = all.meters.split_at_mut(1);
        let mut share = asked.analyst.map(|at| &mut shares[at]);
        let (cost, share_cost) = price.take(self, &mut whole[0], share.as_deref_mut())?;
        let charged = price.charged.as_ref().map(serde_json::to_string).transpose();
        let row = Row {
            number: all.number.checked_add(1).ok_or_else(|| self.damaged(all.number))?,
            kind: "reserved".to_owned(),
            moment: self.now()?,
            request: asked.id.as_ref().map(|id| id.name().to_owned()),
            analyst: asked.analyst_name.clone(),
            question: Some(asked.question_text.clone()),
            charged: charged
                .map_err(|error| Error::invalid(format!("cannot write the charged mechanism ({error})")))?,
            what: Some(asked.what.clone()),
            cost: Some(amounts::written(&cost)),
            spent: amounts::written(&whole[0].spent()),
            share_cost: share_cost.as_ref().map(amounts::written),
            share_spent: share.map(|share| amounts::written(&share.spent())),
            ..Row::default()
        };
        all.number = row.number;
        all.hash = row.append(to, all.hash).map_err(|error| self.failed(error))?;
        Ok(all)
    }

    /// Where the terms name no unit, all requests protect what the first one did: charges for rows and for people do not add up.
    pub(crate) fn must_be_of_unit(&self, to: &Connection, asked: &CheckedRequest) -> Result<(), Error> {
        if !self.terms.is_any_unit() {
            return Ok(());
        }
        let unit = asked.unit.as_ref().ok_or_else(|| {
            Error::invalid("the privacy unit is missing; name it, because the ledger does not fix one")
        })?;
        let Some(first) = rows::numbered(to, 1).map_err(|error| self.failed(error))? else { return Ok(()) };
        let first = first.question.as_deref().and_then(unit_from).ok_or_else(|| self.damaged(1))?;
        if is_same_unit(unit, &first) {
            return Ok(());
        }
        Err(other_unit(unit, &first, "the unit of the first request of this ledger").into())
    }

    /// What is known of a request by its id. A request that is not the one of its id is refused.
    pub(crate) fn known(&self, from: &Connection, asked: &CheckedRequest) -> Result<RequestState, Error> {
        let failed = |error| self.failed(error);
        let Some(id) = &asked.id else { return Ok(RequestState::New) };
        let Some(row) = rows::requested(from, id).map_err(failed)? else { return Ok(RequestState::New) };
        self.must_follow(from, &row)?;
        let same = row.question.as_deref() == Some(&asked.question_text)
            && row.what.as_deref() == Some(&asked.what)
            && row.analyst == asked.analyst_name;
        if !same {
            return Err(Error::invalid(
                "request ID was already used for another query; use a new request ID",
            ));
        }
        let entry = u64::try_from(row.number).map_err(|_| self.damaged(row.number))?;
        let Some(ending) = rows::ending(from, row.number).map_err(failed)? else {
            return Ok(RequestState::Unanswered { entry });
        };
        self.must_follow(from, &ending)?;
        match ending.answer {
            Some(answer) => Ok(RequestState::Answered { answer, entry }),
            None => Err(Error::invalid(
                "request ID belongs to an abandoned request, which stays charged; retry with a new request \
                 ID",
            )),
        }
    }

    fn end(&self, reservation: Reservation, kind: &str, answer: Option<&str>) -> Result<(), Error> {
        if reservation.ledger != self.first {
            return Err(Error::invalid(
                "the reservation belongs to another ledger; pass it to the ledger that made it",
            ));
        }
        let failed = |error| self.failed(error);
        let of =
            i64::try_from(reservation.entry).map_err(|_| Error::invalid("the reservation has no entry"))?;
        let mut handle = self.handle()?;
        let Handle { opened, checked } = &mut *handle;
        let writing = store::begin(&opened.connection, &self.path)?;
        let mut all = self.checked(&writing, checked)?;
        let reserved = rows::numbered(&writing, of).map_err(failed)?;
        if reserved.is_none_or(|row| row.kind != "reserved") {
            return Err(Error::invalid("the reservation is not in this ledger"));
        }
        if rows::ending(&writing, of).map_err(failed)?.is_some() {
            return Err(Error::invalid("the reservation is closed: it was already answered or abandoned"));
        }
        let row = Row {
            number: all.number.checked_add(1).ok_or_else(|| self.damaged(all.number))?,
            kind: kind.to_owned(),
            moment: self.now()?,
            spent: amounts::written(&all.meters[0].spent()),
            reservation: Some(of),
            answer: answer.map(str::to_owned),
            ..Row::default()
        };
        all.number = row.number;
        all.hash = row.append(&writing, all.hash).map_err(failed)?;
        *checked = None;
        writing.commit().map_err(failed)?;
        *checked = Some(all);
        drop(handle);
        // Until its answer is there, others see that it is being answered.
        drop(reservation.answering);
        Ok(())
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
        i64::try_from(since_1970()?.as_secs())
            .map_err(|_| Error::invalid("the system clock shows a date that cannot be stored; correct it"))
    }
}

/// What is known of a request by its id.
pub(crate) enum RequestState {
    /// Nothing.
    New,
    /// It is charged, and has no answer.
    Unanswered { entry: u64 },
    /// Its answer.
    Answered { answer: String, entry: u64 },
}

fn is_being_answered() -> Error {
    Error::invalid(
        "another process is answering this request ID right now; try again later with the same request ID, \
         which is charged only once",
    )
}

fn never_answered() -> Error {
    Error::invalid(
        "request ID was charged but never answered (the earlier process probably crashed); the charge \
         stays, because noise may already have been drawn; retry with a new request ID",
    )
}

/// The first link of the chain, from the terms and what they were priced at.
pub(crate) fn first_link(text: &str, limits: &str) -> Hash {
    Hash::first(&[Some(text.as_bytes()), Some(limits.as_bytes())])
}
