//! A release or a training paid by a ledger: charged before data are read, its answer kept before it is shown.

use crate::{
    args::{AnswerArgs, ChargeArgs},
    text,
};
use serde_json::{Value, json};
use std::path::PathBuf;
use veracity::{
    Error, Subject,
    ledger::{Ledger, Request, RequestId, Reservation, Reserved, Rule},
    query::NoiseKind,
};

/// What the ledger said.
pub enum Charged {
    /// No ledger was named: nothing is charged.
    Unasked,
    /// It is charged, on disk.
    New(Box<Ledger>, Reservation),
    /// It was answered before; the answer, as it was printed then.
    Known {
        /// For people, and for scripts.
        printed: Printed,
        /// Which entry, of which file.
        from: (u64, PathBuf),
    },
}

/// An answer in both forms, whichever is asked for later.
pub struct Printed {
    /// For people.
    pub words: String,
    /// For scripts.
    pub object: Value,
    /// What it is the answer of, beside what the ledger knows of the question: a digest.
    pub of: Option<String>,
}

/// Whether a job begins, or goes on with the noise that it drew before.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Beginning {
    /// It begins.
    Fresh,
    /// It goes on.
    Resumed,
}

/// What is asked of the ledger that the flags name.
pub struct Purchase {
    ledger: Box<Ledger>,
    path: PathBuf,
    request: Request,
}

impl Purchase {
    /// A subject as the ledger is asked for it; nothing where no ledger is named.
    pub fn new(
        args: &ChargeArgs,
        subject: &Subject,
        (dataset, what): (&str, &str),
    ) -> Result<Option<Purchase>, Error> {
        let Some(path) = &args.ledger else { return Ok(None) };
        let ledger = Ledger::open(path)?;
        let terms = ledger.terms();
        if !terms.dataset.is_empty() && terms.dataset != dataset {
            return Err(Error::invalid(format!(
                "dataset is {dataset}, expected {}, which the ledger is of; say --dataset {0} if it is the same",
                terms.dataset
            )));
        }
        let request = Request {
            id: args.request_id.as_deref().map(RequestId::new).transpose()?,
            analyst: args.analyst.clone(),
            unit: Some(subject.unit.clone()),
            question: subject.question(),
            what: what.chars().map(|c| if c.is_control() { ' ' } else { c }).collect(),
        };
        Ok(Some(Purchase { ledger: Box::new(ledger), path: path.clone(), request }))
    }

    /// The answer that was given before under this request id, if it was; nothing is charged.
    pub fn recall(&self) -> Result<Option<Charged>, Error> {
        let known = self.ledger.recall(self.request.clone())?;
        known.map(|(answer, entry)| self.known(&answer, entry)).transpose()
    }

    /// Charges it.
    pub fn charge(self, beginning: Beginning) -> Result<Charged, Error> {
        let request = self.request.clone();
        let reserved = match beginning {
            Beginning::Fresh => self.ledger.reserve(request)?,
            Beginning::Resumed => self.ledger.resume(request)?,
        };
        match reserved {
            Reserved::New(reservation) => Ok(Charged::New(self.ledger, reservation)),
            Reserved::Known { answer, entry } => self.known(&answer, entry),
        }
    }

    fn known(&self, answer: &str, entry: u64) -> Result<Charged, Error> {
        let kept: Option<Value> = serde_json::from_str(answer).ok();
        let read = kept.and_then(|kept| {
            Some(Printed {
                words: kept["words"].as_str()?.to_owned(),
                object: kept.get("object")?.clone(),
                of: kept["of"].as_str().map(str::to_owned),
            })
        });
        let printed = read.ok_or_else(|| {
            Error::invalid("request id was answered by another program, expected a new request id")
        })?;
        Ok(Charged::Known { printed, from: (entry, self.path.clone()) })
    }
}

/// Charges a subject to the ledger that the flags name, if they name one.
pub fn charge(
    args: &ChargeArgs,
    subject: &Subject,
    what: (&str, &str),
    beginning: Beginning,
) -> Result<Charged, Error> {
    match Purchase::new(args, subject, what)? {
        None => Ok(Charged::Unasked),
        Some(purchase) => purchase.charge(beginning),
    }
}

/// The noise that was asked for. Nobody said, it is added, and a ledger pays that adds up μ²: then what costs it least.
pub fn noise(args: &AnswerArgs, is_added: bool) -> Result<Option<NoiseKind>, Error> {
    let Some(path) = &args.charge.ledger else { return Ok(args.noise) };
    if args.noise.is_some() || !(args.delta > 0.0) || !is_added {
        return Ok(args.noise);
    }
    let is_exact = matches!(Ledger::open(path)?.terms().rule, Rule::Gaussian { .. });
    Ok(is_exact.then_some(NoiseKind::Gaussian))
}

impl Charged {
    /// Keeps the answer, if it was paid by a ledger. It is on disk before it is shown.
    pub fn keep(self, printed: &Printed) -> Result<(), Error> {
        match self {
            Charged::New(ledger, reservation) => {
                let kept = json!({ "words": printed.words, "object": printed.object, "of": printed.of });
                ledger.commit(reservation, &kept.to_string())
            }
            Charged::Unasked | Charged::Known { .. } => Ok(()),
        }
    }

    /// Notes that there will be no answer. What was charged stays charged.
    pub fn forgo(self) {
        if let Charged::New(ledger, reservation) = self {
            // The job has failed, and says why; that this is not noted makes no difference to what is charged.
            let _ = ledger.abandon(reservation);
        }
    }
}

impl Printed {
    /// Refuses an answer of something else: a request id stands for one question about one thing.
    pub fn must_be_of(&self, digest: &str, what: &str) -> Result<(), Error> {
        match self.of.as_deref() {
            Some(of) if of != digest => Err(Error::invalid(format!(
                "request id was answered with another {what}, expected a new request id"
            ))),
            _ => Ok(()),
        }
    }

    /// In the form that is asked for.
    pub fn text(&self, is_json: bool) -> Result<String, Error> {
        if is_json { text::json(&self.object) } else { Ok(self.words.clone()) }
    }

    /// The same, of an answer that was given before.
    pub fn text_again(&self, is_json: bool, from: &(u64, PathBuf)) -> Result<String, Error> {
        let again =
            format!("answered before, as entry {} of {}: not charged again\n", from.0, from.1.display());
        Ok(self.text(is_json)? + if is_json { "" } else { &again })
    }
}
