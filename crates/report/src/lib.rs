//! Guarantees, verdicts and curves as people read them: text and pictures.
//!
//! [`decimal`] rounds numbers to their safe side and [`table`] lines them up.

pub mod decimal;
pub mod table;
