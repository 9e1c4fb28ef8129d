//! Private training by a plan file: records → plan → noise for the budget → steps → a model and its claim.
//!
//! A [`Recipe`] is read from TOML; [`Recipe::records`] reads its data, [`Recipe::prepare`] finds the least noise within its
//! budget and gives a plan that both drives the run and is what the accountant reads. A [`Model`] is what is handed over: weights
//! and all that is needed to use them; [`page`] is its report. [`Checkpoint`]s keep a run that may be stopped.
//!
//! A training set that is malformed (labels out of range, ragged rows, features that are not numbers, a class without an
//! example) is refused in one line before the first step. That refusal depends on the data and is outside of the guarantee.

mod chain;
mod checkpoint;
mod convex;
mod evaluation;
mod features;
mod layers;
mod learning;
mod mean;
mod model;
mod out_folder;
mod page;
mod people;
mod preparing;
mod private_bounds;
mod recipe;
mod run_key;
mod settings;
mod sources;
mod tensors;

pub use chain::Statistics;
pub use checkpoint::{Checkpoint, SavedRun};
pub use convex::{ConvexPrepared, ConvexRelease, ConvexSpec};
pub use evaluation::{Prediction, Score, evaluate, predict};
pub use features::FeatureSpec;
pub use layers::LayerSpec;
pub use learning::Learning;
pub use model::{Model, ModelCard, SCHEMA as MODEL_SCHEMA};
pub use out_folder::{CLAIM, Entry, Left, MODEL, OutFolder, REPORT, STATISTICS};
pub use page::page;
pub use preparing::{Cost, Prepared, Protection, Ready};
pub use private_bounds::PrivateBoundsSpec;
pub use recipe::{ModelSpec, Recipe};
pub use settings::{PrivacySpec, TrainingSpec};
pub use sources::{Classes, ColumnSpec, DataSpec, Part, Spellings, Wanted};
pub use veracity_train::{Dataset, Draws, Labels, Plan, Run, State, Trained};
