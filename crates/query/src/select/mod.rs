//! Choosing one of several candidates by whole-number scores, one mechanism per file.

mod exponential;

pub(crate) use exponential::choose;
