//! A release or a training paid by a ledger: charged before data are read, its answer kept before it is shown.

use crate::{args::ChargeArgs, text};
use serde_json::{Value, json};
use std::path::PathBuf;
use veracity::{
    Error, Subject,
    ledger::{Ledger, Request, RequestId, Reservation, Reserved, Rule},
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
}

/// Whether a job begins, or goes on with the noise that it drew before.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Beginning {
    /// It begins.
    Fresh,
    /// It goes on.
    Resumed,
}

/// Charges a subject to the ledger that the flags name, if they name one.
pub fn charge(
    args: &ChargeArgs,
    subject: &Subject,
    (dataset, what): (&str, &str),
    beginning: Beginning,
) -> Result<Charged, Error> {
    let Some(path) = &args.ledger else { return Ok(Charged::Unasked) };
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
    let reserved = match beginning {
        Beginning::Fresh => ledger.reserve(request)?,
        Beginning::Resumed => ledger.resume(request)?,
    };
    match reserved {
        Reserved::New(reservation) => Ok(Charged::New(Box::new(ledger), reservation)),
        Reserved::Known { answer, entry } => {
            let kept: Option<Value> = serde_json::from_str(&answer).ok();
            let read = kept.and_then(|kept| {
                Some(Printed {
                    words: kept["words"].as_str()?.to_owned(),
                    object: kept.get("object")?.clone(),
                })
            });
            let printed = read.ok_or_else(|| {
                Error::invalid("request id was answered by another program, expected a new request id")
            })?;
            Ok(Charged::Known { printed, from: (entry, path.clone()) })
        }
    }
}

/// Whether the ledger that the flags name counts Gaussian noise exactly, and other noise by more than it costs.
pub fn prefers_gaussian(args: &ChargeArgs) -> Result<bool, Error> {
    let Some(path) = &args.ledger else { return Ok(false) };
    Ok(matches!(Ledger::open(path)?.terms().rule, Rule::Gaussian { .. }))
}

impl Charged {
    /// Keeps the answer, if it was paid by a ledger. It is on disk before it is shown.
    pub fn keep(self, printed: &Printed) -> Result<(), Error> {
        match self {
            Charged::New(ledger, reservation) => {
                let kept = json!({ "words": printed.words, "object": printed.object });
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
