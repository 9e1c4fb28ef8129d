//! A subject ready to be audited: what is run, what is claimed of it, and the words that a report needs.

use crate::{AuditClaim, DeviceNote, Method, Trials};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use veracity_audit::{AuditSubject, Choice};
use veracity_core::{Count, Epsilon, Error, Refusal, Upper};
use veracity_train::device::Device;
use veracity_trainer::Prepared;

/// Which part of the canaries of one run is guessed, half of it at each end.
const GUESSED: f64 = 0.2;

/// What an audit is of.
pub struct Case {
    /// Where its trials come from.
    pub trials_from: TrialSource,
    /// What it is, in words and settings.
    pub note: SubjectNote,
    /// What is claimed of it.
    pub claim: AuditClaim,
    /// What the accountant proves of it, where it can.
    pub proved: Option<Upper<Epsilon>>,
    /// How many trials it is meant for.
    pub trials: Count,
    /// What their randomness is drawn from.
    pub seed: u64,
    /// How many canaries each trial has.
    pub canaries: u32,
    /// How many records of the claim separate the worlds of one canary.
    pub group: Count,
    /// Whether all canaries of a trial are guessed at once, by their rank among each other.
    pub is_one_run: bool,
    /// Whether a trial takes long, so that an audit should end as soon as it knows.
    pub is_costly: bool,
}

/// What is said and proved of a subject of ours, before it is made ready to run: a certificate is held against it.
pub(crate) struct Brief {
    pub(crate) note: SubjectNote,
    pub(crate) claim: AuditClaim,
    pub(crate) proved: Option<Upper<Epsilon>>,
    pub(crate) canaries: u32,
    pub(crate) group: Count,
    pub(crate) is_one_run: bool,
}

impl Brief {
    /// The same on a device, which is a setting of the subject. A plan that it cannot train is refused.
    pub(crate) fn on(mut self, device: Option<&dyn Device>, prepared: &Prepared) -> Result<Brief, Error> {
        if let Some(device) = device {
            device.check(&prepared.plan)?;
            if let Some(note) = DeviceNote::of(device)? {
                note.state_in(&mut self.note);
            }
        }
        Ok(self)
    }

    /// The case of a subject that was made ready.
    pub(crate) fn case(self, subject: Box<dyn AuditSubject + Send>, trials: Count, seed: u64) -> Case {
        let Brief { note, claim, proved, group, is_one_run, .. } = self;
        Case { proved, group, is_one_run, ..Case::new(subject, note, claim, trials, seed) }
    }
}

/// Refuses a method that would not hold for scores whose worlds are so many records apart.
pub(crate) fn check_method(is_one_run: bool, group: Count, method: Method) -> Result<(), Refusal> {
    if is_one_run && !matches!(method, Method::ManyCanaries { guessed: Some(_) }) {
        return Err(Refusal::invalid(
            "canaries of one run are guessed together, expected bound one-run and threshold ends:PART",
        ));
    }
    if method.group() < group {
        return Err(Refusal::invalid(format!(
            "group-size is {}, expected at least {}: so many records separate the worlds",
            method.group().get(),
            group.get()
        )));
    }
    Ok(())
}

/// Where trials come from.
pub enum TrialSource {
    /// They are run here.
    Run(Box<dyn AuditSubject + Send>),
    /// Someone else has run them.
    Recorded(Trials),
    /// They are run elsewhere, and brought one by one to a [`Stepwise`](crate::Stepwise) audit.
    Brought,
}

impl Case {
    /// The kind of subjects that are code.
    pub(crate) const CODE: &str = "code";

    /// Any code: `subject` runs trial n in the world that it is told, and leaves a score that is the higher the more it speaks for
    /// the canary. What it is, `description` says in one line.
    ///
    /// ```
    /// use veracity_core::{Adjacency, Claim, Count, Delta, Epsilon, Upper};
    /// use veracity_evidence::{AuditDone, AuditSettings, AuditSubject, Case, Failure, World, audit};
    ///
    /// /// Tells whether the canary was in, always.
    /// struct Telltale;
    /// impl AuditSubject for Telltale {
    ///     fn run(&self, _trial: u64, worlds: &[World]) -> Result<Vec<f64>, Failure> {
    ///         Ok(worlds.iter().map(|world| if *world == World::In { 1.0 } else { 0.0 }).collect())
    ///     }
    /// }
    ///
    /// let claim = Claim {
    ///     epsilon: Upper(Epsilon::new(1.0)?),
    ///     delta: Delta::new(1e-5)?,
    ///     adjacency: Adjacency::AddRemove,
    /// };
    /// let case = Case::of_code("a telltale", Telltale, claim, Count::new(400)?, 1);
    /// let AuditDone::Judged { audited, .. } = audit(&case, &AuditSettings::default(), None)? else { panic!() };
    /// assert!(audited.is_refuted());
    /// # Ok::<(), veracity_core::Error>(())
    /// ```
    pub fn of_code(
        description: &str,
        subject: impl AuditSubject + Send + 'static,
        claim: impl Into<AuditClaim>,
        trials: Count,
        seed: u64,
    ) -> Case {
        Case::new(Box::new(subject), Case::code_note(description), claim, trials, seed)
    }

    /// Code that is not run from here: whoever runs it brings its scores to a [`Stepwise`](crate::Stepwise) audit. A trial of it is
    /// taken to be costly.
    ///
    /// `settings` are all that a score depends on besides the seed, and `group` is how many records of the claim separate the worlds.
    pub fn of_brought_scores(
        description: &str,
        settings: BTreeMap<String, Value>,
        claim: impl Into<AuditClaim>,
        trials: Count,
        seed: u64,
        group: Count,
    ) -> Case {
        Case {
            trials_from: TrialSource::Brought,
            note: SubjectNote { settings, ..Case::code_note(description) },
            claim: claim.into(),
            proved: None,
            trials,
            seed,
            canaries: 1,
            group,
            is_one_run: false,
            is_costly: true,
        }
    }

    fn code_note(description: &str) -> SubjectNote {
        SubjectNote {
            kind: Case::CODE.to_owned(),
            description: description.to_owned(),
            attack: "the score that the code leaves".to_owned(),
            access: "as the code has it".to_owned(),
            settings: BTreeMap::new(),
        }
    }

    /// A subject whose trials are run here, one record of the claim between its worlds.
    pub(crate) fn new(
        subject: Box<dyn AuditSubject + Send>,
        note: SubjectNote,
        claim: impl Into<AuditClaim>,
        trials: Count,
        seed: u64,
    ) -> Case {
        let canaries = subject.canaries() as u32;
        Case {
            trials_from: TrialSource::Run(subject),
            note,
            claim: claim.into(),
            proved: None,
            trials,
            seed,
            canaries,
            group: Count::ONE,
            is_one_run: false,
            is_costly: false,
        }
    }

    /// The method where none is asked for: bets that end early where a trial is costly, else a threshold chosen on half of the
    /// trials; guesses at both ends of the ranking where a run has many canaries.
    pub fn usual_method(&self) -> Method {
        match (self.is_one_run, self.canaries) {
            (true, _) => Method::ManyCanaries { guessed: Some(GUESSED) },
            (false, 1) if self.is_costly => Method::Sequential { group: self.group },
            (false, 1) => Method::Threshold { choice: Choice::Split, group: self.group },
            (false, _) => Method::ManyCanaries { guessed: None },
        }
    }

    /// Refuses another number of canaries than the subject has: none of its trials would be whole.
    pub(crate) fn check_canaries(&self) -> Result<(), Refusal> {
        match &self.trials_from {
            TrialSource::Run(subject) if subject.canaries() != self.canaries as usize => {
                Err(Refusal::invalid(format!(
                    "canaries is {}, expected {}: so many the subject has",
                    self.canaries,
                    subject.canaries()
                )))
            }
            TrialSource::Run(_) | TrialSource::Recorded(_) | TrialSource::Brought => Ok(()),
        }
    }

    /// Refuses a method that would not hold for these scores.
    pub(crate) fn check_method(&self, method: Method) -> Result<(), Refusal> {
        check_method(self.is_one_run, self.group, method)
    }
}

/// What was audited, as it stands in a certificate. Two audits with the same note and seed run the same trials.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SubjectNote {
    /// The kind of subject: `training`, `one-run`, `mechanism`, `command`, `scores`, `model`, `code`.
    pub kind: String,
    /// What it is, in one line.
    pub description: String,
    /// What the attacker does, in one line.
    pub attack: String,
    /// What the attacker sees: `every step`, `final model`, `black box`.
    pub access: String,
    /// Every setting that a trial's score depends on, besides its number and the seed.
    pub settings: BTreeMap<String, Value>,
}
