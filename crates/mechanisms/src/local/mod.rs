//! Local privacy: each person randomises their own answer before it leaves them; estimators undo the noise on average.
//!
//! A [`Domain`] says what may be answered and a [`Protocol`] how an answer is randomised. The client calls
//! [`Protocol::encode`] and sends a [`Report`]; the server puts reports into a [`Tally`] of whole numbers, and
//! [`Tally::estimate`] gives [`Estimates`] with standard errors. [`Mean`] does the same for a number. A [`Survey`] is what
//! client and server agree on, written as the first of the JSON lines that carry the reports. [`plan`] says which protocol
//! has the least variance, and what a trusted curator would have had at the same ε.
//!
//! Every claim is per report: whatever the person's value, any report is at most e^ε times likelier than under any other
//! value. So the adjacency is replace-one. No floating point decides what a client sends.
//!
//! Ten thousand people say which of three browsers they use, each under ε = 1:
//!
//! ```
//! use veracity_core::Epsilon;
//! use veracity_mechanisms::local::{Confidence, Domain, Kind, Protocol};
//! use veracity_noise::{Entropy, Key, Purpose};
//!
//! let domain = Domain::categories(vec!["fox".into(), "owl".into(), "elk".into()])?;
//! let protocol = Protocol::new(Kind::RandomizedResponse, &domain, Epsilon::new(1.0)?, 0)?;
//! // On a client: system entropy. Here: a seed, so that the figures stay the same.
//! let mut bits = Entropy::seeded(1).stream(Purpose::Report, Key::default());
//! let owl = domain.place("owl")?;
//! let people = (0..10_000).map(|i| if i % 10 < 7 { owl } else { 0 });
//! let reports: Vec<_> = people.map(|value| protocol.encode(value, &mut bits)).collect::<Result<_, _>>()?;
//!
//! // On the server.
//! let mut tally = protocol.tally();
//! tally.absorb(&reports)?;
//! let interval = tally.estimate().values[owl as usize].interval(Confidence::new(0.999)?);
//! assert!(interval.low < 7_000.0 && 7_000.0 < interval.high);
//! # Ok::<(), veracity_core::Refusal>(())
//! ```

mod bit_row;
mod chances;
mod coin;
mod columns;
mod domain;
mod estimate;
mod format;
mod hadamard;
mod hashing;
mod mean;
mod odds;
mod plan;
mod protocol;
mod rappor;
mod reader;
mod response;
pub mod simplex;
mod sketch;
mod tabulation;
mod tally;
mod unary;
mod walsh;

pub use bit_row::BitRow;
pub use chances::Chances;
pub use coin::Coin;
pub use domain::Domain;
pub use estimate::{Confidence, Estimate, Estimates, Interval, MeanEstimate};
pub use format::{SCHEMA, Survey};
pub use hadamard::Hadamard;
pub use hashing::LocalHashing;
pub use mean::{Mean, MeanTally, ReportShape};
pub use odds::Odds;
pub use plan::{Central, Plan, Row, plan};
pub use protocol::{Kind, Protocol, Report};
pub use rappor::{Memo, Rappor, RapporSettings};
pub use reader::Reader;
pub use response::RandomizedResponse;
pub use sketch::{CellNoise, Sketch};
pub use tally::Tally;
pub use unary::{Unary, UnaryKind};
