//! Guarantees, verdicts and curves as pictures and pages.
//!
//! A drawing such as [`curve`], [`chart`], [`bars`], [`histogram`] or [`sandwich`] becomes a [`picture::Picture`], a plain list of marks.
//! [`svg`] and [`png`] each turn it into a file. [`privacy`] draws what the accountant says of a subject. [`html`] puts words, tables
//! and pictures on a page that is one file.
//!
//! An ε that lies between 1.946 and 1.9723:
//!
//! ```
//! use veracity_report::{png, sandwich, svg};
//!
//! let picture = sandwich::draw(&sandwich::Sandwich {
//!     description: "epsilon between a lower and an upper bound".into(),
//!     quantity: "epsilon".into(),
//!     lower: (1.946, "lower bound".into()),
//!     upper: Some((1.9723, "upper bound".into())),
//!     claimed: None,
//! });
//! assert!(svg::is_ours(svg::render(&picture).as_bytes()));
//! assert!(png::render(&picture).is_some_and(|file| png::is_ours(&file)));
//! ```

#![warn(clippy::missing_errors_doc)]

pub mod axis;
pub mod bars;
pub mod chart;
pub mod curve;
mod frame;
pub mod histogram;
pub mod html;
mod markup;
pub mod picture;
pub mod png;
pub mod privacy;
pub mod sandwich;
pub mod svg;
