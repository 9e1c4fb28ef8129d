//! Data files become records. Every command reads them through this crate (`cli/tests/reading.rs`).
//!
//! A [`Source`] is opened within [`Limits`], decompressed if it is compressed with gzip or zstd, and recognized by its bytes: text (CSV,
//! TSV), Parquet, NPY, NPZ or IDX. Any other file is refused in one line that names its likely format. A truncated or damaged file and
//! a file with an unclosed quote are refused too.
//!
//! [`read_columns`] gives columns as they are asked for, and never fails over a value: it is for answers about people.
//! [`read_features`] and [`assemble`] give a [`Table`] of features and labels by a plan's declarations. Preprocessing learns nothing
//! from the data: bounds, categories and classes are public, so it costs no privacy. Malformed records (ragged rows, labels out of
//! range, features that are not numbers) are refused there in one line that names the place but never a value. Such a refusal
//! depends on the data and is outside of any guarantee: check a training set before anything is released from it.
//!
//! A table with a bounded number, a category and a label:
//!
//! ```
//! use veracity_tables::{Cells, Column, Form, LabelColumn, LabelKind, Labels, Layout, Limits, Onto, Scale};
//! use veracity_tables::{Source, Unknown, read_features};
//!
//! let source = Source::in_memory("people.csv", b"age,town,sick\n30,Ulm,no\n150,Bonn,yes\n".as_slice());
//! let cells = Cells::Numbers { scale: Some(Scale::new(0.0, 120.0, Onto::Unit)?), missing: None };
//! let age = Column { name: "age".into(), cells };
//! let cells = Cells::Categories { names: vec!["Ulm".into(), "Bonn".into()], unknown: Unknown::Zeros };
//! let town = Column { name: "town".into(), cells };
//! let kind = LabelKind::Named(vec![vec!["no".into()], vec!["yes".into()]]);
//! let label = Some(LabelColumn { name: "sick".into(), kind });
//! let layout = Layout { form: Form::default(), columns: vec![age, town], label };
//!
//! let table = read_features(&source, &layout, &Limits::default())?;
//! assert_eq!(table.features, [0.25, 1.0, 0.0, 1.0, 0.0, 1.0]);
//! assert_eq!(table.labels, Some(Labels::Classes { of: vec![0, 1], classes: 2 }));
//! # Ok::<(), veracity_core::Error>(())
//! ```

#![warn(clippy::missing_errors_doc)]

mod archive;
mod array;
mod columnar;
mod columns;
mod dates;
mod encoding;
mod features;
mod form_parts;
mod format;
mod guard;
mod idx;
mod keys;
mod lines;
mod notation;
mod npy;
mod outline;
mod parts;
mod scale;
mod source;
mod table;
mod tabular;
mod text;
mod texts;
pub mod writing;
mod zstd;

pub use archive::read_npz;
pub use array::{Array, Numbers};
pub use columns::{Columns, Kind, Values, Wanted, check_columns, check_lines, read_columns};
pub use encoding::Encoding;
pub use features::{Cells, Column, LabelColumn, Layout, Unknown, read_features};
pub use form_parts::FormParts;
pub use idx::read_idx;
pub use keys::{Key, Keys};
pub use notation::Notation;
pub use npy::read_npy;
pub use outline::{HeaderLine, Outline, header_line, outline, parquet_names};
pub use parts::{Part, read_parts};
pub use scale::{Onto, Scale};
pub use source::{Limits, Source};
pub use table::{LabelKind, Labels, Table, assemble};
pub use text::{Form, Header};
pub use texts::Texts;
