//! The commands, one file each; every one has the same door: `run(&args) -> Result<Outcome, Error>`, with the console
//! where something is told beside the answer.

pub mod account;
pub mod audit;
pub mod batching;
pub mod bound;
pub mod calibrate;
pub mod completions;
pub mod curve;
pub mod evaluate;
pub mod explain;
pub mod init;
pub mod ledger;
pub mod local;
pub mod man;
pub mod predict;
pub mod query;
pub mod release;
pub mod replay;
pub mod serve;
pub mod strategy;
pub mod train;
pub mod verify;
pub mod zoo;
