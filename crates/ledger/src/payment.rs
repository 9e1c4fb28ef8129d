//! One paid job, in the order that keeps the budget (`tests/paying.rs`): recall → check → reserve → run → store.
//!
//! [`pay`] does all of it. A [`Payment`] is the same in steps, for a caller that cannot hand over its job as a closure, such as Python.

use crate::{Forecast, Ledger, Request, RequestId, Reservation, Reserved, Rule};
use serde_json::{Value, json};
use std::{
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};
use veracity_account::claims::Subject;
use veracity_core::{Error, printable};

/// A ledger that pays for jobs, and who asks.
#[derive(Debug, Clone)]
pub struct Payer {
    /// The budget.
    pub ledger: Arc<Ledger>,
    /// By which a request can be asked again.
    pub id: Option<RequestId>,
    /// Who asks, where the ledger has caps for analysts.
    pub analyst: Option<String>,
    /// The line for people in the history of the ledger, instead of the job's own.
    pub what: Option<String>,
}

/// What becomes of a charge whose job fails, or failed before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attempt {
    /// The job draws new noise each time: a charge whose job failed is abandoned.
    Once,
    /// The job can go on later: a charge whose job failed stays open.
    Resumable,
    /// The job goes on, with the noise that it drew before: a charge that is open is not made again.
    Resumed,
}

/// An answer in both forms that are printed; a ledger keeps both.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct KeptAnswer {
    /// For people.
    pub words: String,
    /// For scripts.
    pub object: Value,
}

/// A job that is done: now, or before under the same request id.
#[derive(Debug)]
#[must_use]
pub enum Paid<T> {
    /// It was done now; where a ledger paid for it, its answer is on disk.
    New {
        /// The result.
        done: T,
        /// The same as it is printed.
        answer: KeptAnswer,
    },
    /// It was answered before. Nothing was run, and nothing was charged.
    Known {
        /// The answer as it was printed then.
        answer: KeptAnswer,
        /// The number of its entry.
        entry: u64,
        /// In which ledger.
        ledger: PathBuf,
    },
}

/// A request to a ledger, and its state: requested, then charged or known, then over.
#[derive(Debug)]
pub struct Payment {
    ledger: Arc<Ledger>,
    request: Request,
    attempt: Attempt,
    /// The SHA-256 of what else must be the same when the answer is asked for again, and what that is.
    of: Option<(String, &'static str)>,
    state: Mutex<State>,
}

#[derive(Debug)]
enum State {
    /// Nothing is charged.
    Requested,
    /// It is charged, on disk.
    Reserved(Reservation),
    /// It was answered before: the answer, and the number of its entry.
    Known(String, u64),
    /// Its job has ended.
    Over(u64),
}

impl Payer {
    /// A ledger that pays for requests without an id, of no analyst.
    pub fn new(ledger: Ledger) -> Payer {
        Payer { ledger: Arc::new(ledger), id: None, analyst: None, what: None }
    }

    /// Whether Gaussian noise costs least: the rule adds up μ², which is exact for it.
    pub fn prefers_gaussian(&self) -> bool {
        matches!(self.ledger.terms().rule, Rule::Gaussian { .. } | Rule::Union { .. })
    }

    /// A payment for what is done to a dataset. Nothing is charged yet.
    ///
    /// # Errors
    ///
    /// Refuses a dataset that is not the ledger's.
    pub fn payment(&self, subject: &Subject, dataset: Option<&str>, what: &str) -> Result<Payment, Error> {
        let of = &self.ledger.terms().dataset;
        if let Some(dataset) = dataset.filter(|dataset| !of.is_empty() && of != dataset) {
            let dataset = printable(dataset, 200);
            return Err(Error::invalid(format!(
                "dataset is {dataset}, but the ledger is for {of}; if it is the same data, set dataset to \
                 {of}"
            )));
        }
        let what = self.what.as_deref().unwrap_or(what);
        let request = Request {
            id: self.id.clone(),
            analyst: self.analyst.clone(),
            unit: Some(subject.unit.clone()),
            question: subject.question(),
            what: printable(what, usize::MAX),
        };
        Ok(Payment {
            ledger: Arc::clone(&self.ledger),
            request,
            attempt: Attempt::Once,
            of: None,
            state: Mutex::new(State::Requested),
        })
    }
}

impl Payment {
    /// The same for a job that can be resumed, or is.
    #[must_use]
    pub fn with_attempt(self, attempt: Attempt) -> Payment {
        Payment { attempt, ..self }
    }

    /// The same, of something beside the question that must not have changed when the answer is asked for again: its SHA-256, and
    /// what it is called.
    #[must_use]
    pub fn of(self, digest: &str, what: &'static str) -> Payment {
        Payment { of: Some((digest.to_owned(), what)), ..self }
    }

    /// Looks for an answer that was kept under the request id; whether there is one. Nothing is charged.
    ///
    /// # Errors
    ///
    /// Refuses what [`Ledger::recall`] refuses.
    pub fn recall(&self) -> Result<bool, Error> {
        let mut state = self.state();
        if let (State::Requested, Some((answer, entry))) =
            (&*state, self.ledger.recall(self.request.clone())?)
        {
            *state = State::Known(answer, entry);
        }
        Ok(matches!(*state, State::Known(..)))
    }

    /// What it would cost, and how many such requests would fit. Nothing is charged.
    ///
    /// # Errors
    ///
    /// Refuses what [`Ledger::forecast`] refuses.
    pub fn forecast(&self) -> Result<Forecast, Error> {
        self.ledger.forecast(self.request.clone())
    }

    /// Charges it, once, on disk; whether it is new, so that noise may be drawn.
    ///
    /// # Errors
    ///
    /// Refuses what [`Ledger::reserve`] refuses, and a payment that was charged before.
    pub fn charge(&self) -> Result<bool, Error> {
        let mut state = self.state();
        if !matches!(*state, State::Requested) {
            return Err(Error::invalid("the request was already charged; make a new one"));
        }
        let request = self.request.clone();
        let reserved = match self.attempt {
            Attempt::Once | Attempt::Resumable => self.ledger.reserve(request)?,
            Attempt::Resumed => self.ledger.resume(request)?,
        };
        *state = match reserved {
            Reserved::New(reservation) => State::Reserved(reservation),
            Reserved::Known { answer, entry } => State::Known(answer, entry),
        };
        Ok(matches!(*state, State::Reserved(_)))
    }

    /// Keeps the answer, one JSON value. It is on disk when this returns.
    ///
    /// # Errors
    ///
    /// Refuses what [`Ledger::commit`] refuses, and a payment that is not charged.
    pub fn keep(&self, answer: &str) -> Result<(), Error> {
        self.ledger.commit(self.take()?, answer)
    }

    /// Notes that the job failed. It stays charged: noise may have been drawn. One that can be resumed stays open.
    ///
    /// # Errors
    ///
    /// Refuses what [`Ledger::abandon`] refuses, and a payment that is not charged.
    pub fn fail(&self) -> Result<(), Error> {
        let reservation = self.take()?;
        match self.attempt {
            Attempt::Once => self.ledger.abandon(reservation),
            Attempt::Resumable | Attempt::Resumed => Ok(()),
        }
    }

    /// The answer that was kept before, as JSON, once it was found.
    pub fn known(&self) -> Option<String> {
        match &*self.state() {
            State::Known(answer, _) => Some(answer.clone()),
            State::Requested | State::Reserved(_) | State::Over(_) => None,
        }
    }

    /// The number of its entry, once it has one.
    pub fn entry(&self) -> Option<u64> {
        match &*self.state() {
            State::Requested => None,
            State::Reserved(reservation) => Some(reservation.entry()),
            State::Known(_, entry) | State::Over(entry) => Some(*entry),
        }
    }

    /// Its reservation, which is not handed out again.
    fn take(&self) -> Result<Reservation, Error> {
        let mut state = self.state();
        let entry = match &*state {
            State::Reserved(reservation) => reservation.entry(),
            State::Requested | State::Known(..) | State::Over(_) => return Err(not_open()),
        };
        match std::mem::replace(&mut *state, State::Over(entry)) {
            State::Reserved(reservation) => Ok(reservation),
            State::Requested | State::Known(..) | State::Over(_) => Err(not_open()),
        }
    }

    /// The answer as it is kept.
    fn written(&self, answer: &KeptAnswer) -> String {
        let of = self.of.as_ref().map(|(digest, _)| digest);
        json!({ "words": answer.words, "object": answer.object, "of": of }).to_string()
    }

    /// The answer that was found, if it is one of [`pay`], and of the same thing.
    fn read<T>(&self) -> Result<Paid<T>, Error> {
        let kept: Option<Value> = self.known().and_then(|answer| serde_json::from_str(&answer).ok());
        let read = kept.as_ref().and_then(|kept| {
            Some(KeptAnswer {
                words: kept["words"].as_str()?.to_owned(),
                object: kept.get("object")?.clone(),
            })
        });
        let (Some(kept), Some(answer), Some(entry)) = (&kept, read, self.entry()) else {
            return Err(Error::invalid("request ID was answered by another program; use a new request ID"));
        };
        if let (Some(before), Some((digest, what))) = (kept["of"].as_str(), &self.of)
            && before != digest
        {
            return Err(Error::invalid(format!(
                "request ID was answered with another {what}; use a new request ID"
            )));
        }
        Ok(Paid::Known { answer, entry, ledger: self.ledger.path().to_owned() })
    }

    /// A state is whole at all times: a thread that held it and panicked had changed it, or had not.
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn not_open() -> Error {
    Error::invalid("the request is not open; only a request that was just charged can be answered")
}

/// Does a job that a ledger pays for, or one that costs nothing.
///
/// `check` refuses whatever can be refused without a charge; `job` gets what it prepared, reads the data and draws the noise. An answer
/// that was kept under the request id is returned before either is called. The charge is on disk before `job` is called, and the
/// answer before this returns. A job that fails, panics or is killed stays charged.
///
/// # Promise  All answers together are private within the ledger's budget, if no `check` depends on the data beyond what is public
///
/// # Errors
///
/// Returns the errors of the ledger, of `check` and of `job`.
pub fn pay<P, T>(
    payment: Option<Payment>,
    check: impl FnOnce() -> Result<P, Error>,
    job: impl FnOnce(P) -> Result<(T, KeptAnswer), Error>,
) -> Result<Paid<T>, Error> {
    let Some(payment) = payment else {
        let (done, answer) = job(check()?)?;
        return Ok(Paid::New { done, answer });
    };
    if payment.recall()? {
        return payment.read();
    }
    let checked = check()?;
    if !payment.charge()? {
        // Another process answered it meanwhile.
        return payment.read();
    }
    match job(checked) {
        Ok((done, answer)) => {
            payment.keep(&payment.written(&answer))?;
            Ok(Paid::New { done, answer })
        }
        Err(error) => {
            // The error of the job is the one to report. Whether it is noted makes no difference to what is charged.
            let _ = payment.fail();
            Err(error)
        }
    }
}
