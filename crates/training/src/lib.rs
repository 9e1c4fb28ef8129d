//! Private training by a plan file: records → plan → noise for the budget → steps → a model and its claim.
//!
//! A [`TrainingPlan`] is read from TOML; [`train`] is the whole job. Its steps by themselves: [`TrainingPlan::records`] reads the data,
//! [`TrainingPlan::prepare`] finds the least noise within the budget and gives a plan that both drives the run and is what the
//! accountant reads. A [`Model`] is what is handed over: weights and all that is needed to use them.
//!
//! A training set that is malformed (labels out of range, ragged rows, features that are not numbers, a class without an
//! example) is refused in one line before the first step. That refusal depends on the data and is outside of the guarantee.
//!
//! ```
//! use veracity_training::{TrainSettings, TrainingPlan, train};
//!
//! // The built-in digits; from a seed, to repeat it, which makes the model one for tests.
//! let settings = TrainSettings { seed: Some(1), ..TrainSettings::default() };
//! let done = train(&TrainingPlan::digits()?, &settings, None)?;
//! let cost = done.cost.expect("the plan has a budget");
//! assert!(cost.answer.epsilon.upper().is_some_and(|epsilon| epsilon.0.get() <= 3.0));
//! assert!(!done.model.card.for_release);
//! # Ok::<(), veracity_core::Error>(())
//! ```

#![warn(clippy::missing_errors_doc)]

mod chain;
mod checkpoint;
mod convex;
mod elsewhere;
mod evaluation;
mod features;
mod init;
mod job;
mod learning;
mod mean;
mod model;
mod out_folder;
mod page;
mod people;
mod plan_change;
mod plan_file;
mod prepared;
mod private_bounds;
pub mod run_key;
mod settings;
mod sources;
mod tensors;
mod training_plan;

pub use chain::Statistics;
use checkpoint::{Checkpoint, SavedRun};
pub use convex::ConvexSpec;
use convex::PreparedConvex;
pub use elsewhere::{ModelElsewhere, RunElsewhere};
pub use evaluation::{Prediction, Score, evaluate, predict, probabilities};
pub use init::initial_plan;
pub use job::{Steps, TrainEvent, TrainSettings, TrainingDone, Watch, train, train_paid};
use learning::Learning;
pub use model::{Model, ModelCard, SCHEMA as MODEL_SCHEMA};
pub use out_folder::{CLAIM, Entry, FolderStatus, MODEL, REPORT};
use out_folder::{OutFolder, OutputSizes, STATISTICS};
use page::page;
pub use plan_change::PlanChange;
pub use plan_file::PlanFile;
pub use prepared::{Cost, PreparedRun, PreprocessedRecords, PrivacyCost, Protection};
pub use private_bounds::PrivateBoundsSpec;
pub use settings::{PrivacySpec, TrainingSpec};
pub use sources::{Classes, ColumnSpec, DataSpec, Part, Spellings, Wanted};
pub use training_plan::{ModelSpec, PlanSections, TrainingPlan};
pub use veracity_train as models;
pub use veracity_train::{
    Averaging, Clipping, Dataset, Draws, Initial, Labels, Layer, Loss, Network, Optimiser, Plan, Privacy,
    Run, Sampling, Schedule, Shape, State, TrainedModel, Unit,
    features::{Feature, Features},
};
