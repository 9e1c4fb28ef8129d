//! Data files become records: CSV, NPY, NPZ and IDX, plain or gzipped, and Parquet behind a feature, into one [`Table`] of features and labels.
//!
//! A file is opened as a bounded [`source`](Limits), its format is parsed strictly, its numbers are scaled by bounds that the
//! plan declares, and what comes out is plain vectors. Nothing about preprocessing is learned from the data: bounds, categories
//! and classes are public, so it costs no privacy.
//!
//! A file that is malformed (ragged rows, labels out of range, features that are not numbers) is refused in one line that names
//! the file and the place but never a value. Such a refusal depends on the data and is outside of any guarantee: a training set
//! is checked before anything is released from it.

mod archive;
mod array;
#[cfg(feature = "parquet")]
mod columnar;
mod comma;
mod idx;
mod npy;
mod scale;
mod source;
mod table;

pub use archive::read_npz;
pub use array::{Array, Numbers};
#[cfg(feature = "parquet")]
pub use columnar::read_parquet;
pub use comma::{Cells, Column, Header, LabelColumn, Layout, Unknown, read_csv};
pub use idx::read_idx;
pub use npy::read_npy;
pub use scale::{Onto, Scale};
pub use source::Limits;
pub use table::{LabelKind, Labels, Table, assemble};
