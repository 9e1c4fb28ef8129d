//! What is claimed of a mechanism, as text that others can check: specs and plans, answers, calibration, claims, verification.
//!
//! A [`Subject`] says what is done to whose data; [`account`] answers what it can leak, [`calibration`] finds the noise for a
//! budget, [`explain`] puts the answer in words, [`ClaimFile`] writes it down and [`verify`] checks it again. Nothing here draws
//! noise, reads a clock or opens a font, so that all of it also runs in a browser.
//!
//! ```
//! use veracity_account::claims::{Choice, ClaimFile, Subject, Target, account, verify};
//! use veracity_core::{Delta, Mechanism, NoiseMultiplier};
//!
//! let subject = Subject::new(Mechanism::Gaussian { noise_multiplier: NoiseMultiplier::new(1.0)? });
//! let answer = account(&subject, Target::Delta(Delta::new(1e-5)?), Choice::Best)?;
//! let claim = ClaimFile::new(&subject, &answer)?.to_json()?;
//! assert!(verify(&claim)?.stands());
//! # Ok::<(), veracity_core::Refusal>(())
//! ```

mod accounting;
pub mod batching;
pub mod calibration;
mod check_noise_note;
mod claim;
mod composing;
pub mod events;
mod explanation;
mod files;
pub mod kinds;
mod large_delta;
pub mod moment;
mod nearest;
mod persons_note;
pub mod plan;
mod profile;
pub mod recognition;
pub mod release_note;
pub mod strategy;
mod subject;
pub mod verification;
pub mod words;

pub use accounting::{Accounting, Answer, Choice, Row, Target, account, account_quickly, compare};
pub use claim::{ClaimFile, SCHEMA as CLAIM_SCHEMA};
pub use composing::{Composed, compose};
pub use explanation::{AtRate, Explanation, Group, Promise, explain, explain_promise};
pub use files::{AnswerFile, CalibrationFile, CompareFile, ExplanationFile, Interval, RowFile};
pub use large_delta::large_delta_warning;
pub use nearest::nearest;
pub use persons_note::PersonsNote;
pub use profile::{Point, PrivacyProfile};
pub use release_note::{AnswerNote, Digest, DigestOf, NoiseNote, Parameters, Provenance, ReleaseNote};
pub use subject::Subject;
pub use verification::{Check, Confirmation, Stated, Tie, Verifier, verify};

pub use crate::{Method, Question};
pub use veracity_core::spec;
pub use veracity_core::{
    Adjacency, Bracket, Count, Delta, Epsilon, Error, Finding, Lower, Mechanism, NoiseMultiplier,
    PrivacyUnit, Probability, Refusal, SamplingRate, Standing, Upper,
};
