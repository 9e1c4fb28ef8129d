//! Private answers from files: a question about a column and a budget become an answer with its error bar and its claim.
//!
//! A [`ReleaseRequest`] says what is asked and what it may cost; [`prepare`] finds the least noise within that, before any data are
//! seen; [`PreparedRelease::release`] answers. [`release`] is the whole job, from the file to the claim on disk. [`collecting`] does the
//! same for local privacy, where each person randomises their own answer. A [`session::Session`] answers many questions within one
//! budget, each chosen in view of the answers before it.
//!
//! ```
//! use veracity_core::{Adjacency, Epsilon};
//! use veracity_mechanisms::{Question, Statistic};
//! use veracity_statistics::{ReleaseRequest, ReleaseSettings, Table, release};
//!
//! let folder = std::env::temp_dir().join(format!("veracity-statistics-{}", std::process::id()));
//! std::fs::create_dir_all(&folder).unwrap();
//! std::fs::write(folder.join("people.csv"), "age\n41\n18\n67\n").unwrap();
//!
//! let question = Question { statistic: Statistic::Count, adjacency: Adjacency::AddRemove };
//! let request = ReleaseRequest::new(question, None, Epsilon::new(1.0)?);
//! let settings = ReleaseSettings { claim: Some(folder.join("claim.json")), ..ReleaseSettings::default() };
//! let done = release(&request, &Table::new(folder.join("people.csv")), &settings)?;
//! // Three rows and noise; what that costs is on disk.
//! assert!((done.released.release.cells[0].value - 3.0).abs() < 100.0 && done.claim.exists());
//! # std::fs::remove_dir_all(&folder).unwrap();
//! # Ok::<(), veracity_core::Error>(())
//! ```

#![warn(clippy::missing_errors_doc)]

mod answer_note;
pub mod claim_place;
pub mod collecting;
pub mod columns;
mod job;
mod least_noise;
mod persons;
mod prepared;
pub mod session;
pub mod sql;

pub use answer_note::provenance;
pub use claim_place::ClaimPlace;
pub use job::{
    ReleaseDone, ReleaseSettings, Table, noise_kind, preview, release, release_forecast, release_paid,
};
pub use persons::{BoundedRows, Persons};
pub use prepared::{PreparedRelease, ReleaseRequest, ReleaseWithClaim, USUAL_ROWS, prepare};
