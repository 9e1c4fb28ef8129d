//! One budget of one dataset in one durable file: charged before anything is released, and never overdrawn.
//!
//! A [`Ledger`] is made once for its [`Terms`]. Whoever wants to release something describes it in a [`Request`] and asks
//! [`Ledger::reserve`], which writes the charge to disk before it returns; then noise may be drawn; then [`Ledger::commit`] keeps the
//! answer, so that the same request id gets the same answer again and is charged once. A crash anywhere leaves at least as much
//! recorded as was released.
//!
//! Which charge still fits is decided by the filters of [`veracity_account::filter`], which are sound for analysts who choose each
//! question in view of the answers. To compose everything so far exactly and compare with the budget is *not* sound then;
//! [`Status::composed`] shows it as information only.
//!
//! ```
//! use veracity_account::{Question, filter::Budget};
//! use veracity_core::{Adjacency, Delta, Epsilon, Mechanism, NoiseMultiplier};
//! use veracity_ledger::{Ledger, Request, RequestId, Reserved, Terms};
//!
//! # let folder = std::env::temp_dir().join(format!("veracity-ledger-doc-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder).unwrap();
//! let path = folder.join("year.ledger");
//! let budget = Budget { epsilon: Epsilon::new(3.0)?, delta: Delta::new(1e-6)? };
//! let ledger = Ledger::create(&path, Terms::new(budget)?)?;
//!
//! let mechanism = Mechanism::Gaussian { noise_multiplier: NoiseMultiplier::new(8.0)? };
//! let question = Question { mechanism, adjacency: Adjacency::AddRemove };
//! let request = Request { id: Some(RequestId::new("monday-1")?), ..Request::new(question, "mean of hours") };
//!
//! let Reserved::New(reservation) = ledger.reserve(request.clone())? else { unreachable!() };
//! // The charge is on disk: now noise may be drawn.
//! ledger.commit(reservation, r#"{"answer": 40.2}"#)?;
//!
//! // Asked again, by the same id: the same answer, and no charge.
//! let Reserved::Known { answer, .. } = ledger.reserve(request)? else { unreachable!() };
//! assert_eq!(answer, r#"{"answer": 40.2}"#);
//! assert_eq!(ledger.status()?.reserved, 1);
//! assert!(ledger.verify(None)?.holds());
//! # std::fs::remove_dir_all(&folder).unwrap();
//! # Ok::<(), veracity_core::Error>(())
//! ```

mod amounts;
mod chain;
mod history;
mod ledger;
mod place;
mod price;
mod record;
mod request;
mod rows;
mod status;
mod store;
mod terms;
mod verify;

pub use chain::Hash;
pub use history::Entry;
pub use ledger::Ledger;
pub use record::{Charge, Event, Record};
pub use request::{Request, RequestId, Reservation, Reserved};
pub use status::{AnalystStatus, Composed, NOT_THE_RULE, Share, Status};
pub use terms::{Rule, Terms};
pub use verify::{Fault, Verified};
