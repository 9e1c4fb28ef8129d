//! What can be audited, one file each: training plans from within or by their last model, many canaries in one run, our own
//! mechanisms, any command, scores that someone recorded, a model that someone trained. Each becomes a [`Case`](crate::Case).

mod background;
pub mod command;
mod final_model;
pub mod interrupt;
mod laws;
pub(crate) mod mechanism;
mod neighbours;
mod noise_call;
pub(crate) mod one_run;
mod planned_part;
mod planted_choice;
mod planting;
pub(crate) mod prepared_training;
mod principal;
mod process;
pub mod recorded;
pub mod trained_model;
mod trainer;
pub(crate) mod training;
mod training_audit;
mod white_box;
mod worker;

pub use final_model::{FinalModel, PlantedCanaries, Scoring};
pub use planned_part::{IdealGame, planned_method, planned_part, planned_runs};
pub use planting::CanaryKind;
pub use training::{Attack, Start, default_plan};
pub use training_audit::{AttackRequest, TrainingAudit};
pub use white_box::WhiteBox;
