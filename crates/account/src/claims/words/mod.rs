//! Formats results as text, the same for every interface: first the answer, then its conditions, then its method.
//!
//! Each kind of result becomes a struct of strings, which a page can lay out. `Display` joins them into the text that the command line
//! prints. Bounds are rounded to their safe side here.

pub mod answer;
pub mod calibration;
pub mod comparison;
mod confirmation;
mod explanation;
pub mod table;

pub use confirmation::{confirmation, one_line};
pub use explanation::{ExplanationWords, explanation};
