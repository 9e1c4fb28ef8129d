//! Differential privacy that can be checked: one door to all rooms.
//!
//! Three calls are whole jobs. [`train`] turns a plan and its data into a model, its claim and its report; [`audit`] attacks a claim
//! and says what it leaks at least; [`release`] answers a question about a table. Each takes the other end of a channel, or
//! nothing, to tell how far it is, and the command line calls exactly these.
//!
//! A [`Subject`] says what is done to whose data; [`account`] answers what it can leak, [`calibration`] finds the noise for a
//! budget, [`explain`] puts the answer in words, [`ClaimFile`] writes it down and [`verify`] checks it again. [`compose`] adds
//! claims up, [`inspect`] checks a folder of claims and models.
//!
//! ```
//! use veracity::{Choice, Delta, Mechanism, NoiseMultiplier, Subject, Target, account};
//!
//! let subject = Subject::new(Mechanism::Gaussian { noise_multiplier: NoiseMultiplier::new(1.0)? });
//! let answer = account(&subject, Target::Delta(Delta::new(1e-5)?), Choice::Best)?;
//! assert!(answer.epsilon.upper().is_some_and(|epsilon| (epsilon.0.get() - 4.377).abs() < 1e-3));
//! # Ok::<(), veracity::Refusal>(())
//! ```

mod audited;
mod confirmed;
pub mod devices;
mod inspection;
pub mod ledger_json;
mod verify_file;

/// Results in words, as every door tells them.
pub mod words {
    pub use crate::audited::{audit, headline};
    pub use crate::confirmed::certificate;
    pub use veracity_claims::words::{answer, calibration, comparison, confirmation, explanation, one_line};
}

pub use inspection::{Found, Inspected, inspect};
pub use verify_file::{Verified, verify_file, verify_file_with};

pub use veracity_account::{Method, Profile, Question, calibrate, filter, gdp, rdp, tradeoff};
pub use veracity_claims::{
    Answer, AnswerFile, AnswerNote, AtRate, CLAIM_SCHEMA, CalibrationFile, Check, Choice, ClaimFile,
    CompareFile, Composed, Confirmation, Digest, DigestOf, Explanation, ExplanationFile, Group, Interval,
    NoiseNote, Parameters, PersonsNote, Point, PrivacyProfile, Promise, Provenance, ReleaseNote, Row,
    RowFile, Stated, Subject, Target, Tie, Verifier, account, batching, calibration, compare, compose,
    events, explain, explain_promise, kinds, moment, nearest, plan, release_note, spec, strategy, verify,
};
pub use veracity_core::{
    Adjacency, Bracket, ClipNorm, Count, Delta, Epsilon, Error, ErrorKind, Finding, GdpMu, Lower, Mechanism,
    NoiseMultiplier, PrivacyUnit, Probability, Refusal, SamplingRate, Significance, Standing, Upper, Verdict,
};
pub use veracity_evidence as auditing;
pub use veracity_evidence::{AuditDone, AuditSettings, Case, audit, lower_bounds, replaying, zoo};
pub use veracity_files::{LONGEST_TEXT, read_text, saving};
pub use veracity_ledger as ledger;
pub use veracity_local as local;
pub use veracity_noise as noise;
pub use veracity_noise::{Entropy, Origin};
pub use veracity_query as query;
pub use veracity_records::writing;
pub use veracity_release as releasing;
pub use veracity_release::{
    Bounded, Persons, ReleaseDone, ReleaseRequest, ReleaseSettings, Table, claim_place, collecting,
    columns as reading, preview, provenance, release,
};
pub use veracity_report as report;
pub use veracity_report::privacy as drawing;
pub use veracity_sql as sql;
pub use veracity_trainer as training;
pub use veracity_trainer::{TrainEvent, TrainSettings, TrainingDone, TrainingPlan, train};
pub use veracity_web as web;
