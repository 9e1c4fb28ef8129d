//! Planted bugs: mistakes that private code really makes, each of which the audits must refute.
//!
//! [`exhibits`] gives all of them. An [`Exhibit`] says what is claimed, and holds a [`Specimen`] that breaks the claim beside
//! its honest twin, the same code without the mistake. A specimen is attacked by running it in two worlds many times, or is
//! recorded on a dataset and replayed on an adjacent one; what can be replayed can also be attacked, always in the same way
//! ([`WhiteBox`]). What the claim is worth in ε the caller asks an accountant.
//!
//! Every bug that is replayed has a fault, with its place, and its twin has none:
//!
//! ```
//! use veracity_auditing::zoo::planted::{Specimen, exhibits};
//!
//! let all = exhibits(1)?;
//! let exhibit = all.iter().find(|exhibit| exhibit.name == "noise-reused").expect("it is on show");
//! println!("{}, claimed to be {}", exhibit.what, exhibit.claimed.kind());
//! for (specimen, is_planted) in [(&exhibit.specimen, true), (&exhibit.twin, false)] {
//!     let Specimen::Replays(replays) = specimen else { unreachable!("this one is replayed") };
//!     let fault = replays.replay(0)?.fault;
//!     assert_eq!(fault.map(|fault| fault.kind()), is_planted.then_some("noise-reused"));
//! }
//! # Ok::<(), veracity_core::Refusal>(())
//! ```

mod exhibit;
mod exhibits;
mod together;
pub mod trainer;
mod white_box;

pub use exhibit::{Exhibit, Replays, Runs, Specimen};
pub use exhibits::exhibits;
pub use together::AllOrNone;
pub use white_box::WhiteBox;
