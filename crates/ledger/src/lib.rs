//! One budget of one dataset in one durable file: charged before anything is released, and not overdrawn by
//! processes that die or run at once (`tests/kills.rs`).
//!
//! A [`Ledger`] is made once for its [`Terms`]. A [`Payer`] makes a [`Payment`] for a job, and [`pay`] does the job: an answer that was
//! kept under the request id is returned; otherwise the charge is written to disk, then the job runs, then its answer is stored. A crash
//! anywhere leaves at least as much recorded as was released. [`Ledger::reserve`] and [`Ledger::commit`] are the steps below it.
//!
//! Which charge still fits is decided by the filters of [`veracity_account::filter`], which are sound for analysts who choose each
//! question in view of the answers. To compose everything so far exactly and compare with the budget is *not* sound then;
//! [`Status::composed`] shows it as information only.
//!
//! ```
//! use veracity_account::{claims::Subject, filter::Budget};
//! use veracity_core::{Delta, Epsilon, Mechanism, NoiseMultiplier};
//! use veracity_ledger::{KeptAnswer, Ledger, Paid, Payer, RequestId, Terms, pay};
//!
//! # let folder = std::env::temp_dir().join(format!("veracity-ledger-doc-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder).unwrap();
//! let path = folder.join("year.ledger");
//! let budget = Budget { epsilon: Epsilon::new(3.0)?, delta: Delta::new(1e-6)? };
//! let ledger = Ledger::create(&path, Terms::new(budget)?)?;
//! let payer = Payer { id: Some(RequestId::new("monday-1")?), ..Payer::new(ledger) };
//!
//! let subject = Subject::new(Mechanism::Gaussian { noise_multiplier: NoiseMultiplier::new(8.0)? });
//! let mean = || {
//!     let payment = payer.payment(&subject, None, "mean of hours")?;
//!     pay(Some(payment), || Ok(()), |()| {
//!         // The charge is on disk: now data may be read and noise drawn.
//!         Ok((40.2, KeptAnswer { words: "mean of hours: 40.2".into(), object: 40.2.into() }))
//!     })
//! };
//! assert!(matches!(mean()?, Paid::New { .. }));
//!
//! // Asked again, by the same id: the same answer, and no charge.
//! let Paid::Known { answer, .. } = mean()? else { unreachable!() };
//! assert_eq!(answer.object, 40.2);
//! assert_eq!(payer.ledger.status()?.reserved, 1);
//! assert!(payer.ledger.verify(None)?.holds());
//! # std::fs::remove_dir_all(&folder).unwrap();
//! # Ok::<(), veracity_core::Error>(())
//! ```

#![warn(clippy::missing_errors_doc)]

mod amounts;
mod answering;
mod chain;
mod checked;
mod exact;
mod forecast;
mod history;
mod ledger;
mod payment;
mod place;
mod presence;
mod price;
mod record;
mod request;
mod rows;
mod status;
mod store;
mod terms;
mod verify;

pub use chain::Hash;
pub use forecast::Forecast;
pub use history::Entry;
pub use ledger::Ledger;
pub use payment::{Attempt, KeptAnswer, Paid, Payer, Payment, pay};
pub use record::{Charge, Event, Record};
pub use request::{Request, RequestId, Reservation, Reserved};
pub use status::{AnalystStatus, Composed, NOT_THE_RULE, Share, Status};
pub use terms::{Rule, Terms};
pub use verify::{Fault, LedgerVerification};
