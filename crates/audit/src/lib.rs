//! What a mechanism leaks at least: attack it many times, count, and bound ε from below.
//!
//! A [`AuditSubject`] is run with and without its canaries; an attacker scores each of them; [`observe`] runs trials, and [`show`]
//! turns the observations into a lower bound by a [`Method`] that was fixed before, at a stated significance.
//!
//! A subject declares noise of 2 and adds an eighth of it. Its claim, ε = 2 at δ = 1e-5, does not hold:
//!
//! ```
//! use veracity_audit::{Choice, IdealAttacker, Method, observe, show};
//! use veracity_core::{Adjacency, Claim, Count, Delta, Epsilon, NoiseMultiplier};
//! use veracity_core::{SamplingRate, Significance, Upper, Verdict};
//!
//! let honest = IdealAttacker::honest(SamplingRate::new(1.0)?, NoiseMultiplier::new(2.0)?, Count::ONE);
//! let subject = honest.adding(NoiseMultiplier::new(0.25)?);
//! let trials: Vec<u64> = (0..2_000).collect();
//! let outcomes = observe(&subject, 7, &trials, 1);
//! let observations: Vec<_> = outcomes.into_iter().flat_map(|outcome| outcome.observations).collect();
//!
//! let (delta, epsilon) = (Delta::new(1e-5)?, Upper(Epsilon::new(2.0)?));
//! let method = Method::Threshold { choice: Choice::Split, group: Count::ONE };
//! let evidence = show(method, &observations, delta, Significance::new(0.01)?)?;
//! let claim = Claim { epsilon, delta, adjacency: Adjacency::AddRemove };
//! assert!(matches!(evidence.judge(&claim), Verdict::Refuted { .. }));
//! # Ok::<(), veracity_core::Refusal>(())
//! ```

#![warn(clippy::missing_errors_doc)]

mod against;
pub mod bound;
mod canary;
mod claimed;
mod counts;
mod failures;
mod idealised;
mod method;
pub mod power;
pub mod replay;
mod scores;
mod subject;
pub mod threshold;
mod trial;

pub use against::{CurveTest, Declared, Refutation, is_refuted_by_bets};
pub use canary::Canary;
pub use claimed::{ClaimedCurve, Rates};
pub use counts::Counts;
pub use failures::FailuresByWorld;
pub use idealised::IdealAttacker;
pub use method::{ClaimUnderTest, CountSummary, Evidence, Judgment, Method, RunGuesses, judge, show};
pub use scores::Scores;
pub use subject::{AuditSubject, Failure, SubjectFn, UNDER_WAY, World, subject_fn, worlds};
pub use threshold::Choice;
pub use trial::{Observation, Outcome, Shard, observe, observe_many, observe_one, workers};
