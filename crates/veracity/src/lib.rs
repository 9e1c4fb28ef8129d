//! Differential privacy that can be checked: the facade that wires the rooms together.
//!
//! A [`Subject`] says what is done to whose data; [`account`] answers what it can leak, [`calibration`] finds the noise
//! for a budget, [`explain`] puts the answer in words, [`ClaimFile`] writes it down and [`verify`] checks it again.
//! [`compose`] adds claims up, [`inspect`] checks a folder of claims and models.
//!
//! ```
//! use veracity::{Choice, Delta, Mechanism, NoiseMultiplier, Subject, Target, account};
//!
//! let subject = Subject::new(Mechanism::Gaussian { noise_multiplier: NoiseMultiplier::new(1.0)? });
//! let answer = account(&subject, Target::Delta(Delta::new(1e-5)?), Choice::Best)?;
//! assert!(answer.epsilon.upper().is_some_and(|epsilon| (epsilon.0.get() - 4.377).abs() < 1e-3));
//! # Ok::<(), veracity::Refusal>(())
//! ```

mod answer_note;
pub mod auditing;
pub mod claim_place;
pub mod collecting;
pub mod drawing;
mod inspection;
pub mod lower_bounds;
mod persons;
pub mod reading;
pub mod releasing;
pub mod replaying;
pub mod saving;
pub mod training;
mod verify_file;
pub mod zoo;

pub use answer_note::provenance;
pub use inspection::{Found, Inspected, inspect};
pub use persons::{Bounded, Persons};
pub use verify_file::{Verified, verify_file};

pub use veracity_account::{Method, Profile, Question, calibrate, gdp, rdp, tradeoff};
pub use veracity_claims::{
    Answer, AnswerFile, AnswerNote, AtRate, CLAIM_SCHEMA, CalibrationFile, Check, Choice, ClaimFile,
    CompareFile, Composed, Confirmation, Digest, DigestOf, Explanation, ExplanationFile, Group, Interval,
    NoiseNote, Parameters, PersonsNote, Point, PrivacyProfile, Promise, Provenance, ReleaseNote, Row,
    RowFile, Stated, Subject, Target, Tie, Verifier, account, batching, calibration, compare, compose,
    events, explain, explain_promise, kinds, plan, spec, strategy, verify,
};
pub use veracity_core::{
    Adjacency, Bracket, Count, Delta, Epsilon, Finding, Lower, Mechanism, NoiseMultiplier, PrivacyUnit,
    Probability, Refusal, SamplingRate, Significance, Standing, Upper, Verdict,
};
pub use veracity_local as local;
pub use veracity_noise as noise;
pub use veracity_noise::{Entropy, Origin};
pub use veracity_query as query;
pub use veracity_report as report;
