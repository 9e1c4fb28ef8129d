//! Everything that is asked of an audit of a training, and the case that comes of it: the plan is read, and its noise calibrated, once.

use super::{
    one_run,
    planted_choice::best_canary,
    prepared_training::PreparedTraining,
    training::{self, Attack, Start},
};
use crate::{CanaryKind, Case, Scoring};
use std::sync::Arc;
use veracity_core::{Count, Epsilon, Error, Refusal};
use veracity_train::device::Device;
use veracity_training::TrainingPlan;

/// The attack that is asked for; what is `None` is chosen before any trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum AttackRequest {
    /// Canaries that own one parameter each; the attacker sees every step.
    WhiteBox {
        /// How many canaries [default: as many as are hardly louder for one another than alone].
        canaries: Option<usize>,
        /// How many records each of them is.
        copies: usize,
    },
    /// A planted record; the attacker is given the last model.
    FinalModel {
        /// Which record [default: the one that tells the worlds apart best in a few trainings of its own].
        canary: Option<CanaryKind>,
        /// How many copies of it.
        copies: usize,
        /// How the model's answer is scored.
        scoring: Scoring,
        /// Where training starts.
        start: Start,
    },
    /// Many planted records in one training, each in or out by a coin of its own; the attacker is given the last model.
    ///
    /// # Reference  [SteinkeNasrJagielski23], black box
    OneRun {
        /// Of which kind.
        canary: CanaryKind,
        /// How many of them [default: 1000, if there are twice as many records].
        canaries: Option<usize>,
    },
}

impl Default for AttackRequest {
    fn default() -> AttackRequest {
        AttackRequest::WhiteBox { canaries: None, copies: 1 }
    }
}

impl From<Attack> for AttackRequest {
    fn from(attack: Attack) -> AttackRequest {
        match attack {
            Attack::WhiteBox { canaries, copies } => {
                AttackRequest::WhiteBox { canaries: Some(canaries), copies }
            }
            Attack::FinalModel { canary, copies, scoring, start } => {
                AttackRequest::FinalModel { canary: Some(canary), copies, scoring, start }
            }
        }
    }
}

impl AttackRequest {
    /// Trials where nobody says how many: less than a minute on two cores.
    fn usual_trials(self) -> Result<Count, Refusal> {
        Count::new(match self {
            // What more of them would show is next to nothing: each has many canaries.
            AttackRequest::WhiteBox { .. } => 4000,
            AttackRequest::FinalModel { .. } => 6000,
            AttackRequest::OneRun { .. } => 1,
        })
    }
}

/// Where models are trained.
#[derive(Debug)]
enum Place {
    Cores,
    Device(Arc<dyn Device>),
    /// A device if it can train the plan, else the cores of this machine.
    Preferably(Arc<dyn Device>),
}

/// An audit of the training that a plan describes.
///
/// ```
/// use veracity_auditing::{AttackRequest, AuditDone, AuditSettings, TrainingAudit, audit, default_plan};
/// use veracity_core::Count;
///
/// let attack = AttackRequest::WhiteBox { canaries: Some(20), copies: 1 };
/// let case = TrainingAudit::of(default_plan(&[])?).attack(attack).trials(Count::new(40)?).case()?;
/// let AuditDone::Judged { audited, .. } = audit(&case, &AuditSettings::default())? else { panic!() };
/// assert!(!audited.is_refuted());
/// # Ok::<(), veracity_core::Error>(())
/// ```
#[derive(Debug)]
pub struct TrainingAudit {
    plan: TrainingPlan,
    attack: AttackRequest,
    claimed: Option<Epsilon>,
    seed: u64,
    trials: Option<Count>,
    place: Place,
}

impl TrainingAudit {
    /// An attack on every step of a plan's training.
    pub fn of(plan: TrainingPlan) -> TrainingAudit {
        let attack = AttackRequest::default();
        TrainingAudit { plan, attack, claimed: None, seed: 1, trials: None, place: Place::Cores }
    }

    /// Attacks it in another way.
    pub fn attack(mut self, attack: impl Into<AttackRequest>) -> TrainingAudit {
        self.attack = attack.into();
        self
    }

    /// The ε that is claimed [default: what the accountant proves].
    pub fn claimed(mut self, claimed: impl Into<Option<Epsilon>>) -> TrainingAudit {
        self.claimed = claimed.into();
        self
    }

    /// What the trials' randomness is drawn from [default: 1].
    pub fn seed(mut self, seed: u64) -> TrainingAudit {
        self.seed = seed;
        self
    }

    /// How many trials [default: those of the attack].
    pub fn trials(mut self, trials: impl Into<Option<Count>>) -> TrainingAudit {
        self.trials = trials.into();
        self
    }

    /// Trains the models on a device, if one is given. A plan that it cannot train is refused before any model is trained.
    pub fn device(mut self, device: Option<Arc<dyn Device>>) -> TrainingAudit {
        self.place = device.map_or(Place::Cores, Place::Device);
        self
    }

    /// Trains the models on a device, if one is given and it can train the plan, else on the cores of this machine.
    pub fn preferred_device(mut self, device: Option<Arc<dyn Device>>) -> TrainingAudit {
        self.place = device.map_or(Place::Cores, Place::Preferably);
        self
    }

    /// Reads the records, calibrates the noise, chooses what was left open, and makes the case.
    ///
    /// # Errors
    /// A plan without noise, records that cannot be read, or an attack that does not go with the plan.
    pub fn case(self) -> Result<Case, Error> {
        let trials = self.trials.map_or_else(|| self.attack.usual_trials(), Ok)?;
        let (claimed, seed) = (self.claimed, self.seed);
        let training = PreparedTraining::new(self.plan)?;
        let attack = match self.attack {
            AttackRequest::OneRun { canary, canaries } => {
                let case = |device| one_run::case(&training, canary, canaries, claimed, seed, trials, device);
                return self.place.make(case);
            }
            AttackRequest::WhiteBox { canaries, copies } => {
                let canaries = canaries.map_or_else(|| training::usual_canaries(&training), Ok)?;
                Attack::WhiteBox { canaries, copies }
            }
            AttackRequest::FinalModel { canary, copies, scoring, start } => {
                let canary =
                    canary.map_or_else(|| best_canary(&training, copies, scoring, start, seed), Ok)?;
                Attack::FinalModel { canary, copies, scoring, start }
            }
        };
        self.place.make(|device| training::case(&training, attack, claimed, seed, trials, device))
    }
}

impl Place {
    /// A case whose models are trained there.
    fn make(self, case: impl Fn(Option<Arc<dyn Device>>) -> Result<Case, Error>) -> Result<Case, Error> {
        match self {
            Place::Cores => case(None),
            Place::Device(device) => case(Some(device)),
            Place::Preferably(device) => case(Some(device)).or_else(|_| case(None)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AuditDone, AuditSettings, audit, default_plan, subjects::prepared_training::counting::take};

    /// Records are read and noise is calibrated in one place, and the default audit comes there once: for its number of canaries, its case,
    /// its method, its plan, its trials and its verdict.
    #[test]
    fn an_audit_reads_its_records_and_calibrates_its_noise_once() {
        take();
        let case =
            TrainingAudit::of(default_plan(&[]).unwrap()).trials(Count::new(4).unwrap()).case().unwrap();
        let settings = AuditSettings::default();
        let AuditDone::Judged { audited, .. } = audit(&case, &settings).unwrap() else { panic!() };
        assert!(!audited.is_refuted() && case.canaries == 300);
        assert_eq!(take(), 1);
    }

    /// So no other file of an audit's subjects may read records or calibrate noise.
    #[test]
    fn there_is_one_place_where_a_training_is_prepared() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        for file in ["subjects", "."].iter().flat_map(|part| std::fs::read_dir(folder.join(part)).unwrap()) {
            let path = file.unwrap().path();
            if path.is_dir() || path.ends_with("prepared_training.rs") || path.ends_with("training_audit.rs")
            {
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            for call in ["Protection::Private", ".records()?"] {
                assert!(!text.contains(call), "{call} in {}", path.display());
            }
        }
    }
}
