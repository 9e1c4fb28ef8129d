//! A subject ready to be audited: its trials, its claim, and its description for reports.

use crate::{AuditClaim, DeviceNote, IdealGame, Method, Trials, planned_method, protocol::rounds_of};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use veracity_audit::{AuditSubject, Choice, Failure, World};
use veracity_core::{Adjacency, Claim, Count, Delta, Epsilon, Error, Refusal, Upper};
use veracity_train::device::Device;
use veracity_training::PreparedRun;

/// Which part of the canaries of one run is guessed, half of it at each end.
const GUESSED: f64 = 0.2;

/// What an audit is of.
pub struct Case {
    /// Where its trials come from.
    pub(crate) trials_from: TrialSource,
    /// Its description and settings.
    pub(crate) note: SubjectNote,
    /// Its claim.
    pub(crate) claim: AuditClaim,
    /// Its upper bound, if the accountant has one.
    pub(crate) proved: Option<Upper<Epsilon>>,
    /// How many trials it is meant for.
    pub(crate) trials: Count,
    /// The seed of their randomness.
    pub(crate) seed: u64,
    /// How many canaries each trial has.
    pub(crate) canaries: u32,
    /// How many records of the claim separate the worlds of one canary.
    pub(crate) group: Count,
    /// Whether all canaries of a trial are guessed at once, by their rank among each other.
    pub(crate) is_one_run: bool,
    /// Whether a trial is expensive, so that an audit should stop early.
    pub(crate) is_costly: bool,
    /// What an attacker plays who sees every step of a training with many canaries, where it is one: the method is planned by it.
    pub(crate) ideal_game: Option<IdealGame>,
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
    pub(crate) fn on(mut self, device: Option<&dyn Device>, prepared: &PreparedRun) -> Result<Brief, Error> {
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
            "an audit of one run guesses all canaries together; use the bound one-run and a threshold ends:PART",
        ));
    }
    if method.group() < group {
        return Err(Refusal::invalid(format!(
            "group-size is {}, expected at least {}, the number of records in which the two datasets differ",
            method.group().get(),
            group.get()
        )));
    }
    Ok(())
}

/// Where trials come from.
pub(crate) enum TrialSource {
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
    /// use veracity_auditing::{AuditDone, AuditSettings, AuditSubject, Case, Failure, World, audit};
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
    /// let AuditDone::Judged { audited, .. } = audit(&case, &AuditSettings::default())? else { panic!() };
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

    /// A function, which is called with whether the canary is included and the number of the trial, and returns a score that is higher if
    /// the canary seems to be included. Its claim is `epsilon` at δ = 0, when one record is added or removed.
    ///
    /// # Errors
    /// Refuses an ε out of range and no trials.
    pub fn of_function(
        description: &str,
        epsilon: f64,
        trials: u64,
        function: impl Fn(bool, u64) -> f64 + Send + Sync + 'static,
    ) -> Result<Case, Refusal> {
        struct Function<F>(F);
        impl<F: Fn(bool, u64) -> f64 + Sync> AuditSubject for Function<F> {
            fn run(&self, trial: u64, worlds: &[World]) -> Result<Vec<f64>, Failure> {
                Ok(worlds.iter().map(|world| (self.0)(*world == World::In, trial)).collect())
            }
        }
        let epsilon = Upper(Epsilon::new(epsilon)?);
        let claim = Claim { epsilon, delta: Delta::ZERO, adjacency: Adjacency::AddRemove };
        Ok(Case::of_code(description, Function(function), claim, Count::new(trials)?, 1))
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
            ideal_game: None,
        }
    }

    fn code_note(description: &str) -> SubjectNote {
        SubjectNote {
            kind: Case::CODE.to_owned(),
            description: description.to_owned(),
            attack: "the score that the function returns".to_owned(),
            access: "chosen by the function".to_owned(),
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
            ideal_game: None,
        }
    }

    /// The method where none is asked for: bets that end early where a trial is costly, else a threshold chosen on half of the
    /// trials; guesses at both ends of the ranking where a run has many canaries, and those that show most in the ideal game where
    /// there is one.
    ///
    /// # Errors
    /// A significance that is none.
    pub fn usual_method(&self, significance: f64) -> Result<Method, Refusal> {
        Ok(match (self.is_one_run, self.canaries, self.ideal_game) {
            (true, ..) => Method::ManyCanaries { guessed: Some(GUESSED) },
            (false, 1, _) if self.is_costly => self.sequential(),
            (false, 1, _) => Method::Threshold { choice: Choice::Split, group: self.group },
            (false, _, None) => Method::ManyCanaries { guessed: None },
            (false, canaries, Some(game)) => {
                let canaries = Count::new(u64::from(canaries))?;
                planned_method(game, self.trials, canaries, self.claim.point.delta, significance)?
            }
        })
    }

    /// The description and settings of the subject.
    pub fn note(&self) -> &SubjectNote {
        &self.note
    }

    /// What runs its trials, where they are run here.
    pub fn subject(&self) -> Option<&dyn AuditSubject> {
        match &self.trials_from {
            TrialSource::Run(subject) => Some(subject.as_ref()),
            TrialSource::Recorded(_) | TrialSource::Brought => None,
        }
    }

    /// The method that may stop at any time: a betting test.
    pub fn sequential(&self) -> Method {
        Method::Sequential { group: self.group, rounds: rounds_of(&self.note) }
    }

    /// Refuses a method that would not hold for these scores.
    pub(crate) fn check_method(&self, method: Method) -> Result<(), Refusal> {
        check_method(self.is_one_run, self.group, method)
    }
}

/// The audited subject as in a certificate. Two audits with the same note and seed run the same trials.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SubjectNote {
    /// The kind of subject: `training`, `one-run`, `mechanism`, `command`, `scores`, `model`, `code`.
    pub kind: String,
    /// The subject in one line.
    pub description: String,
    /// The attack in one line.
    pub attack: String,
    /// The access of the attacker, such as `every step` or `final model`.
    pub access: String,
    /// Every setting that the score of a trial depends on, except its number and the seed.
    #[serde(deserialize_with = "each_once")]
    pub settings: BTreeMap<String, Value>,
}

/// Reads settings, and refuses a duplicate name.
fn each_once<'de, D: serde::Deserializer<'de>>(from: D) -> Result<BTreeMap<String, Value>, D::Error> {
    struct Settings;
    impl<'de> serde::de::Visitor<'de> for Settings {
        type Value = BTreeMap<String, Value>;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("an object whose names come once")
        }

        fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut settings = BTreeMap::new();
            while let Some((name, value)) = map.next_entry::<String, Value>()? {
                if settings.insert(name, value).is_some() {
                    return Err(serde::de::Error::custom("a setting is stated twice"));
                }
            }
            Ok(settings)
        }
    }
    from.deserialize_map(Settings)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AuditSettings, Observation, Record, World, audit};
    use veracity_audit::Failure;
    use veracity_core::{Adjacency, Claim, Delta};

    #[test]
    fn a_setting_that_is_stated_twice_is_refused() {
        let note = |settings: &str| {
            let text = format!(
                r#"{{"kind":"command","description":"a","attack":"b","access":"c","settings":{settings}}}"#
            );
            serde_json::from_str::<SubjectNote>(&text)
        };
        assert!(note(r#"{"command":"a","timeout":1}"#).is_ok());
        assert!(note(r#"{"command":"a","command":"b"}"#).is_err());
    }

    /// Whoever guesses "in" is right about canaries that are all in, and shows nothing.
    #[test]
    fn worlds_that_no_coin_gave_are_refused_whatever_they_are_called() {
        struct Silent;
        impl AuditSubject for Silent {
            fn run(&self, _trial: u64, _worlds: &[World]) -> Result<Vec<f64>, Failure> {
                Err(Failure::Run("nothing is run".into()))
            }
        }
        let claim = Claim {
            epsilon: Upper(Epsilon::new(1.0).unwrap()),
            delta: Delta::new(1e-5).unwrap(),
            adjacency: Adjacency::AddRemove,
        };
        let refusal = |case: &Case| audit(case, &AuditSettings::default()).unwrap_err().to_string();
        let recorded = |trials: u64, is_in: fn(u32) -> bool| {
            let mut all = Trials::default();
            for (trial, canary) in (0..trials).flat_map(|trial| (0..100).map(move |canary| (trial, canary))) {
                let world = if is_in(canary) { World::In } else { World::Out };
                let observation = Observation { trial, canary, world, score: Some(f64::from(canary)) };
                all.add(Record { observation, failure: String::new(), attempts: 1 }).unwrap();
            }
            all
        };
        for kind in ["scores", "model"] {
            let mut case = Case {
                trials_from: TrialSource::Recorded(recorded(1, |_| true)),
                canaries: 100,
                is_one_run: true,
                ..Case::of_code("recorded", Silent, claim, Count::ONE, 1)
            };
            case.note.kind = kind.to_owned();
            assert!(
                refusal(&case).starts_with("100 of 100 canaries are included"),
                "{kind}: {}",
                refusal(&case)
            );
            case.trials_from = TrialSource::Recorded(recorded(1, |canary| canary % 2 == 0));
            audit(&case, &AuditSettings::default()).unwrap();
            // Where a quarter of the trials chooses, all is guessed "in", and all of it would be right.
            case.trials_from = TrialSource::Recorded(recorded(8, |_| true));
            (case.is_one_run, case.trials) = (false, Count::new(8).unwrap());
            assert!(
                refusal(&case).starts_with("800 of 800 canaries are included"),
                "{kind}: {}",
                refusal(&case)
            );
        }
    }
}
