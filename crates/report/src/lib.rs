//! Guarantees, verdicts and curves as people read them: text and pictures.
//!
//! [`decimal`] rounds numbers to their safe side and [`table`] lines them up. A drawing such as [`curve`], [`chart`],
//! [`histogram`] or [`sandwich`] becomes a [`picture::Picture`], a plain list of marks, which [`svg`] and [`png`] each turn
//! into a file. [`html`] puts words, tables and pictures on a page that is one file.

pub use veracity_core::decimal;

pub mod axis;
pub mod chart;
pub mod curve;
pub mod font;
mod frame;
pub mod histogram;
pub mod html;
mod markup;
pub mod picture;
pub mod png;
pub mod sandwich;
pub mod svg;
pub mod table;
