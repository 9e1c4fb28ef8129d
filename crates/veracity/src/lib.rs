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

mod accounting;
pub mod auditing;
pub mod batching;
pub mod bounding;
pub mod calibration;
mod claim;
pub mod claim_place;
pub mod collecting;
mod composing;
pub mod drawing;
pub mod events;
mod explanation;
mod files;
mod inspection;
pub mod kinds;
pub mod moment;
mod noted;
mod persons;
pub mod plan;
mod profile;
pub mod reading;
mod release_note;
pub mod releasing;
pub mod replaying;
pub mod saving;
pub mod spec;
pub mod strategy;
mod subject;
pub mod training;
mod verification;
pub mod zoo;

pub use accounting::{Answer, Choice, Row, Target, account, compare};
pub use claim::{ClaimFile, SCHEMA as CLAIM_SCHEMA};
pub use composing::{Composed, compose};
pub use explanation::{AtRate, Explanation, Group, Promise, explain, explain_promise};
pub use files::{AnswerFile, CalibrationFile, CompareFile, ExplanationFile, Interval, RowFile};
pub use inspection::{Found, Inspected, inspect};
pub use persons::{Bounded, Persons, PersonsNote};
pub use profile::{Point, PrivacyProfile};
pub use release_note::{AnswerNote, Digest, DigestOf, NoiseNote, Parameters, Provenance, ReleaseNote};
pub use subject::Subject;
pub use verification::{Check, Confirmation, Stated, Tie, Verified, Verifier, verify, verify_file};

pub use veracity_account::{Method, Profile, Question, calibrate, gdp, rdp, tradeoff};
pub use veracity_core::{
    Adjacency, Bracket, Count, Delta, Epsilon, Finding, Lower, Mechanism, NoiseMultiplier, PrivacyUnit,
    Probability, Refusal, SamplingRate, Significance, Standing, Upper, Verdict,
};
pub use veracity_local as local;
pub use veracity_noise as noise;
pub use veracity_noise::{Entropy, Origin};
pub use veracity_query as query;
pub use veracity_report as report;
