//! Differential privacy that can be checked: certified upper bounds, private training and answers, measured lower bounds.
//!
//! ```
//! use veracity::prelude::*;
//!
//! let run = Mechanism::dp_sgd(0.01, 1.0, 1000)?;
//! println!("{}", run.epsilon(1e-5)?);
//! # Ok::<(), Error>(())
//! ```
//!
//! Three calls do whole jobs. [`train`] turns a plan and its data into a model, its claim and its report. [`audit`] attacks a claim
//! and reports a lower bound on ε. [`release`] answers a question about a table. [`training::train_paid`], [`releasing::release_paid`] and
//! [`sql::query_paid`] are the same jobs, paid by a ledger; the command line calls these.
//!
//! A [`Subject`] says what is done to whose data. [`account`] bounds what it reveals, [`calibration`] finds the noise for a
//! budget, [`explain`] puts the answer in words, [`ClaimFile`] writes it down and [`verify`] checks it again. [`compose`] adds
//! claims up, and [`inspect`] checks a folder of claims and models.
//!
//! [`Error`] is the error of every program that uses this crate. What only computes fails with a [`Refusal`], which `?` turns into one.

#![warn(clippy::missing_errors_doc)]

mod audited;
mod confirmed;
pub mod devices;
mod inspection;
pub mod ledger_json;
mod verify_file;

/// Results as text, shared by the command line, Python and the web page.
pub mod words {
    pub use crate::audited::{audit, headline, row};
    pub use crate::confirmed::certificate;
    pub use veracity_account::claims::words::{
        answer, calibration, comparison, confirmation, explanation, one_line, table,
    };
}

/// What a first program needs: `use veracity::prelude::*`.
pub mod prelude {
    pub use crate::{
        Accounting, Adjacency, Answer, AuditDone, AuditSettings, Case, ClaimFile, Count, Delta, Epsilon,
        Error, Mechanism, NoiseMultiplier, PrivacyUnit, ReleaseRequest, ReleaseSettings, SamplingRate,
        Subject, Table, TrainSettings, TrainingPlan, account, audit, noise_for, preview, release, train,
        verify, words,
    };
}

pub use inspection::{FileContents, Inspection, inspect};
pub use verify_file::{VerifiedFile, verify_file, verify_file_with};

pub use veracity_account::calibrate::noise_for;
pub use veracity_account::claims::{
    Accounting, Answer, AnswerFile, AnswerNote, AtRate, CLAIM_SCHEMA, CalibrationFile, Check, Choice,
    ClaimFile, CompareFile, Composed, Confirmation, Digest, DigestOf, Explanation, ExplanationFile, Group,
    Interval, NoiseNote, Parameters, PersonsNote, Point, PrivacyProfile, Promise, Provenance, ReleaseNote,
    Row, RowFile, Stated, Subject, Target, Tie, Verifier, account, account_quickly, batching, calibration,
    compare, compose, events, explain, explain_promise, kinds, large_delta_warning, moment, nearest, plan,
    release_note, spec, strategy, verify,
};
pub use veracity_account::{Method, Profile, Question, calibrate, filter, gdp, rdp, tradeoff};
pub use veracity_auditing as auditing;
pub use veracity_auditing::{AuditDone, AuditSettings, Case, audit, lower_bounds, replaying, zoo};
pub use veracity_core::files::{LONGEST_TEXT, read_text, saving};
pub use veracity_core::{
    Adjacency, Bracket, ClipNorm, Count, Delta, Epsilon, Error, ErrorKind, Finding, GdpMu, Lower, Mechanism,
    NoiseMultiplier, PrivacyUnit, Probability, Refusal, SamplingRate, Significance, Standing, Upper, Verdict,
    decimal, printable,
};
pub use veracity_ledger as ledger;
pub use veracity_mechanisms as query;
pub use veracity_mechanisms::local;
pub use veracity_noise as noise;
pub use veracity_noise::{Entropy, Origin};
pub use veracity_report as report;
pub use veracity_report::privacy as drawing;
pub use veracity_statistics as releasing;
pub use veracity_statistics::sql;
pub use veracity_statistics::{
    BoundedRows, Persons, ReleaseDone, ReleaseRequest, ReleaseSettings, Table, claim_place, collecting,
    columns as reading, preview, provenance, release,
};
pub use veracity_tables::writing;
pub use veracity_training as training;
pub use veracity_training::{TrainEvent, TrainSettings, TrainingDone, TrainingPlan, train};
pub use veracity_web as web;
