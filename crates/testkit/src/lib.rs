//! What tests lean on: golden numbers from outside the project, and slow, obvious twins of fast routines. Dev only.
//!
//! `golden` reads the CSV files that `golden/make_truth.py` wrote; `twin` enumerates what can be enumerated.

pub mod golden;
pub mod twin;
