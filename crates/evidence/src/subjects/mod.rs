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
mod planting;
mod principal;
mod process;
pub mod recorded;
pub mod trained_model;
mod trainer;
pub(crate) mod training;
mod white_box;
mod worker;

pub use final_model::{FinalModel, Planted, Scoring};
pub use planned_part::{IdealGame, planned_part, planned_part_of_runs};
pub use planting::CanaryKind;
pub use training::{
    Attack, Start, best_canary, default_plan, default_plan_with, planned_canaries, planned_method,
};
pub use white_box::WhiteBox;
