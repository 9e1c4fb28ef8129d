//! The subject that the settings of a certificate describe, where it is one of ours.

use crate::{
    Attack, AttackRequest, AuditProtocol, Brief, CanaryKind, Case, DeviceNote, SubjectNote, TrainingAudit,
    recomputing::{CommandAgain, VerifyOptions},
    subjects::{
        command, mechanism, one_run, prepared_training::PreparedTraining, recorded, trained_model, training,
    },
};
use serde::de::DeserializeOwned;
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use veracity_account::claims::{Subject, spec::MechanismSpec};
use veracity_core::{Adjacency, Count, Delta, Epsilon, Error, Mechanism, PrivacyUnit};
use veracity_train::{device::Device, integer::IntegerReference};
use veracity_training::TrainingPlan;

/// What a subject is made of.
pub(crate) enum Origin {
    /// A mechanism, run by our own samplers.
    Mechanism { subject: Subject, added: f64 },
    /// The training of a plan, and where it was run.
    Training { plan: Box<TrainingPlan>, attack: Attack, device: Option<DeviceNote> },
    /// One training of a plan with many canaries, and where it was run.
    OneRun { plan: Box<TrainingPlan>, canary: CanaryKind, canaries: u32, device: Option<DeviceNote> },
    /// A command that was passed to the verification too.
    Command(command::Spec),
    /// A subject outside of Veracity, with the reason.
    Elsewhere(&'static str),
}

/// What was made of a subject again.
pub(crate) enum RebuiltSubject {
    /// All that is said and proved of it.
    Whole(Box<Brief>),
    /// Its words; its records are not here.
    Words(Box<SubjectNote>),
    /// Nothing of a plan of which an ε alone is claimed: its records are not here, so neither is what the accountant proves of it.
    Unproved,
    /// Nothing, for a reason.
    Nothing(&'static str),
}

impl Origin {
    /// Whether there are subjects of this kind.
    pub(crate) fn is_known(kind: &str) -> bool {
        [mechanism::KIND, training::KIND, one_run::KIND].contains(&kind) || elsewhere(kind).is_some()
    }

    /// Reads the settings of a subject. A plan that is given says where its files are, and must be the same otherwise; so must a
    /// command.
    pub(crate) fn of(note: &SubjectNote, demands: &VerifyOptions) -> Result<Origin, Error> {
        let given = demands.plan.as_ref();
        if demands.command.is_some() && note.kind != command::KIND {
            return Err(Error::invalid(
                "a command is given, but the certificate is not of an audit of a command",
            ));
        }
        if given.is_some() && ![training::KIND, one_run::KIND].contains(&note.kind.as_str()) {
            return Err(Error::invalid(
                "a plan is given, but the certificate is not of an audit of a training plan",
            ));
        }
        match note.kind.as_str() {
            mechanism::KIND => {
                let spec: MechanismSpec = setting(note, "mechanism")?;
                let subject = Subject {
                    mechanism: Mechanism::try_from(&spec)?,
                    adjacency: setting::<String>(note, "adjacency")?.parse::<Adjacency>()?,
                    unit: PrivacyUnit::default(),
                };
                Ok(Origin::Mechanism { subject, added: setting(note, "noise_added")? })
            }
            training::KIND => {
                let plan = Box::new(plan(note, given)?);
                let device = DeviceNote::stated_in(note)?;
                Ok(Origin::Training { plan, attack: setting(note, "attack")?, device })
            }
            one_run::KIND => {
                let plan = Box::new(plan(note, given)?);
                let (canary, canaries) = (setting(note, "canary")?, setting(note, "canaries")?);
                Ok(Origin::OneRun { plan, canary, canaries, device: DeviceNote::stated_in(note)? })
            }
            kind => match &demands.command {
                Some(again) => Ok(Origin::Command(command_again(note, again)?)),
                None => elsewhere(kind).map(Origin::Elsewhere).ok_or_else(|| {
                    Error::invalid("unknown kind of subject, expected training, one-run, mechanism, command, scores, model or code")
                }),
            },
        }
    }

    /// What is said and proved of the subject, as far as that can be told here.
    pub(crate) fn rebuilt(&self, protocol: &AuditProtocol) -> Result<RebuiltSubject, Error> {
        let claimed = Some(Epsilon::new(protocol.claim.epsilon)?);
        let whole = |brief| Ok(RebuiltSubject::Whole(Box::new(brief)));
        match self {
            Origin::Mechanism { subject, added } => {
                whole(mechanism::brief(subject, *added, claimed, Delta::new(protocol.claim.delta)?)?)
            }
            Origin::Training { plan, attack, device } if has_records(plan) => {
                let training = PreparedTraining::new(plan.as_ref().clone())?;
                let mut brief = training::brief(&training, *attack, claimed)?;
                state(device, &mut brief.note);
                whole(brief)
            }
            Origin::OneRun { plan, canary, canaries, device } if has_records(plan) => {
                let training = PreparedTraining::new(plan.as_ref().clone())?;
                let mut brief = one_run::brief(&training, *canary, Some(*canaries as usize), claimed)?;
                state(device, &mut brief.note);
                whole(brief)
            }
            Origin::Training { plan, attack, device } => match claimed_subject(plan, protocol)? {
                Some(subject) => {
                    let mut note = training::note(&subject, *attack, plan_settings(plan, protocol)?)?;
                    state(device, &mut note);
                    Ok(RebuiltSubject::Words(Box::new(note)))
                }
                None => Ok(RebuiltSubject::Unproved),
            },
            Origin::OneRun { plan, canary, canaries, device } => match claimed_subject(plan, protocol)? {
                Some(subject) => {
                    let settings = plan_settings(plan, protocol)?;
                    let mut note = one_run::note(&subject, *canary, *canaries as usize, settings);
                    state(device, &mut note);
                    Ok(RebuiltSubject::Words(Box::new(note)))
                }
                None => Ok(RebuiltSubject::Unproved),
            },
            Origin::Command(spec) => {
                let case = command_case(spec, protocol)?;
                let Case { note, claim, proved, canaries, group, is_one_run, .. } = case;
                whole(Brief { note, claim, proved, canaries, group, is_one_run })
            }
            Origin::Elsewhere(why) => Ok(RebuiltSubject::Nothing(why)),
        }
    }

    /// Refuses what cannot be run here.
    pub(crate) fn must_run(&self) -> Result<(), Error> {
        match self {
            Origin::Training { plan, .. } | Origin::OneRun { plan, .. } if !has_records(plan) => {
                Err(refuse("the certificate does not contain the path of the records; pass the plan"))
            }
            Origin::Mechanism { .. }
            | Origin::Training { .. }
            | Origin::OneRun { .. }
            | Origin::Command(_) => Ok(()),
            Origin::Elsewhere(why) => Err(refuse(why)),
        }
    }

    /// The subject, ready to run on the cores of this machine, wherever it was run.
    pub(crate) fn case(&self, protocol: &AuditProtocol) -> Result<Case, Error> {
        self.must_run()?;
        let claimed = Some(Epsilon::new(protocol.claim.epsilon)?);
        let (seed, trials) = (protocol.seed, Count::new(protocol.trials)?);
        let again = |plan: &TrainingPlan, attack: AttackRequest, device| {
            let audit = TrainingAudit::of(plan.clone()).attack(attack).claimed(claimed);
            audit.seed(seed).trials(trials).device(twin(device)).case()
        };
        match self {
            Origin::Mechanism { subject, added } => {
                let delta = Delta::new(protocol.claim.delta)?;
                Ok(Case::mechanism(subject, *added, claimed, delta, seed, trials)?)
            }
            Origin::Training { plan, attack, device } => again(plan, (*attack).into(), device),
            Origin::OneRun { plan, canary, canaries, device } => {
                let canaries = Some(*canaries as usize);
                again(plan, AttackRequest::OneRun { canary: *canary, canaries }, device)
            }
            Origin::Command(spec) => command_case(spec, protocol),
            Origin::Elsewhere(why) => Err(refuse(why)),
        }
    }
}

/// How a command was run, by the settings of its certificate, with the line and the files of whoever verifies.
fn command_again(note: &SubjectNote, again: &CommandAgain) -> Result<command::Spec, Error> {
    if setting::<String>(note, "command")? != again.line {
        return Err(Error::invalid("the command differs from that of the certificate"));
    }
    if note.settings.contains_key("data_sha256") && again.data.is_none() {
        return Err(Error::invalid("the audited command read data; pass the data and canary files too"));
    }
    let timeout: f64 = setting(note, "timeout_seconds")?;
    Ok(command::Spec {
        line: again.line.clone(),
        data: again.data.clone(),
        copies: setting(note, "canary_copies")?,
        timeout: Duration::try_from_secs_f64(timeout)
            .map_err(|_| Error::out_of_range("timeout_seconds", timeout, "a time of at least 0 s"))?,
        is_worker: note.settings.contains_key("worker"),
        folder: command::scratch(),
    })
}

fn command_case(spec: &command::Spec, protocol: &AuditProtocol) -> Result<Case, Error> {
    command::case(spec.clone(), protocol.claim.claim()?, Count::new(protocol.trials)?, protocol.seed)
}

/// States the device of the trials as the certificate does: the trials do not show it.
fn state(device: &Option<DeviceNote>, note: &mut SubjectNote) {
    device.iter().for_each(|device| device.state_in(note));
}

/// The arithmetic of a device, on these cores.
fn twin(device: &Option<DeviceNote>) -> Option<Arc<dyn Device>> {
    device.as_ref().map(|_| Arc::new(IntegerReference) as Arc<dyn Device>)
}

fn refuse(why: &str) -> Error {
    Error::invalid(format!("trials cannot be repeated: {why}"))
}

/// Why a subject is not ours.
fn elsewhere(kind: &str) -> Option<&'static str> {
    match kind {
        recorded::KIND => Some("the scores were recorded elsewhere"),
        trained_model::KIND => Some("the model was trained elsewhere"),
        command::KIND => Some("the audit ran a command, which was not given to this verification"),
        Case::CODE => Some("the audit ran code outside of Veracity"),
        _ => None,
    }
}

/// The plan of a certificate, with the places of its files where one is given.
fn plan(note: &SubjectNote, given: Option<&TrainingPlan>) -> Result<TrainingPlan, Error> {
    let stated: serde_json::Value = setting(note, "plan")?;
    if let Some(given) = given {
        return match training::plan_value(given)? == stated {
            true => Ok(given.clone()),
            false => Err(Error::invalid("the plan differs from that of the certificate")),
        };
    }
    let plan = training::plan_of(&stated)?;
    // A certificate that names a file of whoever verifies it is not one of ours.
    if training::plan_value(&plan)? != stated {
        return Err(Error::invalid("the plan in the certificate is not in the form that veracity writes"));
    }
    Ok(plan)
}

/// Whether it is known where a plan's records are.
fn has_records(plan: &TrainingPlan) -> bool {
    plan.data().path().is_none_or(|path| !path.as_os_str().is_empty())
}

/// The subject of a plan whose records are not here, by the mechanism that is claimed of it.
fn claimed_subject(plan: &TrainingPlan, protocol: &AuditProtocol) -> Result<Option<Subject>, Error> {
    Ok(protocol.claim.claim()?.mechanism.map(|mechanism| plan.subject_of(mechanism)))
}

/// The settings of a plan whose records are not here.
fn plan_settings(
    plan: &TrainingPlan,
    protocol: &AuditProtocol,
) -> Result<BTreeMap<String, serde_json::Value>, Error> {
    let note = &protocol.subject;
    Ok(BTreeMap::from([
        ("plan".to_owned(), training::plan_value(plan)?),
        ("records".to_owned(), setting::<u64>(note, "records")?.into()),
        ("records_sha256".to_owned(), setting::<String>(note, "records_sha256")?.into()),
    ]))
}

fn setting<T: DeserializeOwned>(note: &SubjectNote, name: &str) -> Result<T, Error> {
    let Some(value) = note.settings.get(name) else {
        return Err(Error::invalid(format!("settings have no {name}, which this kind of subject needs")));
    };
    T::deserialize(value).map_err(|error| {
        Error::invalid(format!("{name} in the settings is not in the form that veracity writes ({error})"))
    })
}
