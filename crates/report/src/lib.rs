//! Guarantees, verdicts and curves as people read them: text and pictures.
//!
//! [`decimal`] rounds numbers to their safe side and [`table`] lines them up. A drawing such as [`curve`], [`chart`], [`bars`],
//! [`histogram`] or [`sandwich`] becomes a [`picture::Picture`], a plain list of marks, which [`svg`] and [`png`] each turn
//! into a file. [`privacy`] draws what the accountant says of a subject. [`html`] puts words, tables and pictures on a page that is one file.
//!
//! An ε that lies between 1.946 and 1.9723, as text and as a picture:
//!
//! ```
//! use veracity_report::{decimal, png, sandwich, svg};
//!
//! let (seen, proved) = (1.946, 1.9723);
//! // Printed bounds are still bounds: the lower one goes down, the upper one up.
//! assert_eq!((decimal::down(seen, 3), decimal::up(proved, 3)), ("1.94".into(), "1.98".into()));
//!
//! let picture = sandwich::draw(&sandwich::Sandwich {
//!     description: "epsilon between what was seen and what is proved".into(),
//!     quantity: "epsilon".into(),
//!     lower: (seen, "seen".into()),
//!     upper: Some((proved, "proved".into())),
//!     claimed: None,
//! });
//! assert!(svg::is_ours(svg::render(&picture).as_bytes()));
//! assert!(png::render(&picture).is_some_and(|file| png::is_ours(&file)));
//! ```

pub use veracity_claims::words::table;
pub use veracity_core::decimal;

pub mod axis;
pub mod bars;
pub mod chart;
pub mod curve;
pub mod font;
mod frame;
pub mod histogram;
pub mod html;
mod markup;
pub mod picture;
pub mod png;
pub mod privacy;
pub mod sandwich;
pub mod svg;
