//! What tests lean on: golden numbers from outside the project, and slow, obvious twins of fast routines. Dev only.
//!
//! `golden` reads the CSV files that `golden/make_truth.py` wrote; `twin` and `enumerate` go through what can be
//! enumerated: outcomes, and strings of random bits. `lattice` has the laws of integer noise as formulas; `chi_squared`,
//! `binomial` and `kolmogorov` say how surprising a sample of a law is.
//! `patterns` goes through the participations of strategy matrices; `shifted_ramp` makes numbers that float sums stumble over.
//! `json_schema` holds files against the schemas of `docs/schemas`.
//! `known` has mechanisms whose leak is known exactly, for audits to be held against.
//! `short` has short constructors and a random generator.
//! `sceptic` asks the accountant random questions and knows the answers by other roads.
//! `short` has one-line constructors of checked values, and seeded dice.

pub mod binomial;
pub mod chi_squared;
pub mod enumerate;
pub mod golden;
pub mod json_schema;
pub mod known;
pub mod kolmogorov;
pub mod lattice;
pub mod patterns;
pub mod sceptic;
mod shifted_ramp;
pub mod short;
pub mod twin;

pub use shifted_ramp::shifted_ramp;
