//! All integration tests of this crate, as one program.
#![allow(clippy::unwrap_used)] // A test that cannot go on should stop there.

mod audit_evidence;
mod audit_subjects;
mod audit_worker;
mod batching;
mod bound;
mod calibrate;
mod claims;
mod cli_reference;
mod contradictory_claims;
mod devices;
mod door;
mod doors;
mod forged_certificates;
mod formats;
mod gates;
mod habits;
mod hostile_sums;
mod ledger;
mod local;
mod main_job;
mod no_place;
mod one_call;
mod plan_words;
mod plans;
mod query;
mod query_files;
#[cfg(unix)]
mod read_once;
mod reading;
mod release;
mod release_ties;
mod snapshots;
mod strategies;
mod train;
mod train_claims;
mod train_people;
mod train_report;
mod train_resume;
mod zoo;
