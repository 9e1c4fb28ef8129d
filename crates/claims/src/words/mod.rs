//! Results in words, as every door tells them: the answer first, then its conditions, then its method.
//!
//! Each kind of result is taken apart into its words, which a page lays out as it likes; put together they are the text that the
//! command line prints. Numbers are rounded to their safe side here and nowhere else.

pub mod answer;
pub mod calibration;
pub mod comparison;
mod confirmation;
mod explanation;
pub mod table;

pub use confirmation::{confirmation, one_line};
pub use explanation::{ExplanationWords, explanation};
