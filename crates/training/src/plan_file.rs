//! One grammar for plans. A plan says at its top which datasets must look alike (`adjacency`) and who is protected (`unit`), and then
//! either lists mechanisms, one `[[mechanism]]` each, or describes a training in `[data]`, `[model]`, `[training]` and `[privacy]`.

use crate::{Protection, TrainingPlan};
use std::path::Path;
use veracity_account::claims::{Subject, plan};
use veracity_core::{Error, Refusal};

/// The sections of a training.
const TRAINING: [&str; 4] = ["data", "model", "training", "privacy"];
/// The section of a list of mechanisms.
const MECHANISM: &str = "mechanism";

/// A plan of either kind.
#[derive(Debug, Clone, PartialEq)]
pub enum PlanFile {
    /// Mechanisms, composed.
    Mechanisms(Subject),
    /// A training.
    Training(Box<TrainingPlan>),
}

impl PlanFile {
    /// Reads a plan. Relative paths in it start at `folder`. Never panics, whatever the text.
    ///
    /// # Errors
    /// Refuses text that is no plan, and names the line.
    pub fn parse(text: &str, folder: &Path) -> Result<PlanFile, Refusal> {
        let table: toml::Table =
            toml::from_str(text).map_err(|error| plan::refuse(text, error.span(), error.message()))?;
        let lists = table.contains_key(MECHANISM);
        let trains = TRAINING.iter().any(|section| table.contains_key(*section));
        match (lists, trains) {
            (true, false) => Ok(PlanFile::Mechanisms(plan::parse(text)?)),
            (false, true) => Ok(PlanFile::Training(Box::new(TrainingPlan::parse(text, folder)?))),
            (true, true) => Err(Refusal::invalid(
                "the plan lists mechanisms and describes a training run; use either [[mechanism]], or [data], [model], [training] \
                 and [privacy]",
            )),
            (false, false) => Err(Refusal::invalid(
                "the plan has no section; add [[mechanism]], or [data], [model], [training] and [privacy]",
            )),
        }
    }

    /// The mechanism of the plan, with its adjacency and unit. Only the number of training records is used.
    ///
    /// # Errors
    ///
    /// Refuses a training run without privacy or whose records cannot be read, and a budget that no noise is certified for.
    pub fn subject(&self) -> Result<Subject, Error> {
        match self {
            PlanFile::Mechanisms(subject) => Ok(subject.clone()),
            PlanFile::Training(plan) => {
                let prepared = plan.prepare_training(&plan.records()?, Protection::Private)?;
                prepared.subject().cloned().ok_or_else(no_budget)
            }
        }
    }
}

pub(crate) fn no_budget() -> Error {
    Error::invalid("the plan has no privacy budget; add epsilon and delta to [privacy]")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::TrainingPlan;
    use veracity_core::Mechanism;

    const LIST: &str = "unit = \"person\"\n[[mechanism]]\nkind = \"gaussian\"\nnoise_multiplier = 3\n";
    const TRAIN: &str = "[data]\nformat = \"digits\"\n[[model.layer]]\nkind = \"linear\"\noutputs = 10\n\
         [training]\nbatch_size = 256\nsteps = 5\nlearning_rate = 1\n[privacy]\nnoise_multiplier = 2\ndelta = 1e-5\n";

    #[test]
    fn a_plan_is_of_one_kind_or_the_other() {
        let read = |text: &str| PlanFile::parse(text, Path::new(""));
        assert!(matches!(read(LIST), Ok(PlanFile::Mechanisms(_))));
        assert!(matches!(read(TRAIN), Ok(PlanFile::Training(_))));
        for (text, why) in [
            (format!("{TRAIN}{}", &LIST[16..]), "lists mechanisms and describes a training"),
            ("unit = \"person\"\n".to_owned(), "has no section"),
            ("[data\n".to_owned(), "plan line 1"),
        ] {
            let refused = read(&text).unwrap_err().to_string();
            assert!(refused.contains(why) && !refused.contains('\n'), "{refused}");
        }
        let refused = TrainingPlan::parse(LIST, Path::new("")).unwrap_err().to_string();
        assert!(refused.contains("lists mechanisms"), "{refused}");
    }

    /// Five steps at rate 256/1438, as the trainer would be charged.
    #[test]
    fn a_training_is_accounted_as_it_is_run() {
        let subject = PlanFile::parse(TRAIN, Path::new("")).unwrap().subject().unwrap();
        let Mechanism::Repeated { times, mechanism } = subject.mechanism else { panic!() };
        let Mechanism::PoissonSampled { rate, .. } = *mechanism else { panic!() };
        assert_eq!((times.get(), rate.get()), (5, 256.0 / 1438.0));
    }
}
