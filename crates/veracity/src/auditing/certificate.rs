//! The file of a verdict.

/// Its name in the folder of an audit.
pub const FILE: &str = "certificate.json";
