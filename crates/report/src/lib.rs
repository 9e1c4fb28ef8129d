//! Guarantees, verdicts and curves as people read them: text and pictures.
//!
//! [`decimal`] rounds numbers to their safe side and [`table`] lines them up. A drawing such as [`curve`] becomes a
//! [`picture::Picture`], a plain list of marks, which [`svg`] and [`png`] each turn into a file.

pub mod axis;
pub mod curve;
pub mod decimal;
pub mod font;
pub mod picture;
pub mod png;
pub mod svg;
pub mod table;
