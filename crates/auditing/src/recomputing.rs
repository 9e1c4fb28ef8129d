//! Verification of a certificate against the trials in its folder and the subject that its settings describe.
//!
//! The counts, bounds and verdict are recomputed from the trials. For subjects of Veracity, the description, the claimed mechanism, the
//! upper bound, the valid methods and, on demand, some of the trials are recomputed too. The rest is listed as not known.

use crate::{
    AuditProtocol, Brief, ClaimNote, DeviceNote, SubjectNote,
    case::check_method,
    certificate::{Certificate, Number, certify},
    journal,
    origin::{Origin, RebuiltSubject},
    rerun, sha256,
    signature::PublicKey,
};
use serde::Serialize;
use serde_json::Value;
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};
use veracity_account::claims::{Choice, Subject, Target, account, verification::ROUNDING};
use veracity_core::{Count, Error, PrivacyUnit, decimal::grouped};
use veracity_training::TrainingPlan;

/// One statement of a certificate, and what was found in its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Statement {
    /// Which.
    pub what: String,
    /// As stated.
    pub stated: String,
    /// As recomputed.
    pub found: String,
    /// Whether they agree.
    pub holds: bool,
}

impl Statement {
    /// Words, which must be the same.
    pub(crate) fn words(what: &str, stated: impl Into<String>, found: impl Into<String>) -> Statement {
        let (stated, found) = (stated.into(), found.into());
        Statement { holds: stated == found, what: what.to_owned(), stated, found }
    }

    /// What must be the same as it is written.
    fn written<T: Serialize>(what: &str, stated: &T, found: &T) -> Result<Statement, Error> {
        Ok(Statement::words(what, written(stated)?, written(found)?))
    }

    /// Numbers, which may be a hair of rounding apart.
    fn numbers(what: &str, stated: f64, found: f64) -> Statement {
        let slack = ROUNDING * found.abs().max(1.0);
        let holds = stated == found || (stated - found).abs() <= slack;
        Statement { what: what.to_owned(), stated: format!("{stated:?}"), found: format!("{found:?}"), holds }
    }
}

/// What is asked of a verification beyond the certificate and the files beside it.
#[derive(Debug, Default)]
pub struct VerifyOptions {
    /// How many trials to run again.
    pub rerun: Option<Count>,
    /// The plan of the training, with the places of its files, which a certificate does not have.
    pub plan: Option<TrainingPlan>,
    /// The command that was audited, stated by whoever verifies: none is run because a certificate names it.
    pub command: Option<CommandAgain>,
    /// The key by which it must be signed.
    pub key: Option<PublicKey>,
}

impl VerifyOptions {
    /// Nothing beyond the certificate.
    pub const NONE: VerifyOptions = VerifyOptions { rerun: None, plan: None, command: None, key: None };
}

/// A command that may be run again, and the files of its two worlds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandAgain {
    /// Its line, which must be that of the certificate.
    pub line: String,
    /// The records and the canary, where it has any.
    pub data: Option<(PathBuf, PathBuf)>,
}

/// A certificate and every statement of it that was recomputed.
#[derive(Debug, Clone, PartialEq)]
pub struct Recomputation {
    /// As read.
    pub certificate: Certificate,
    /// The checks; the signature and the hash of the trials first.
    pub statements: Vec<Statement>,
    /// How many trials there are.
    pub trials: u64,
    /// How many trials were run again.
    pub rerun: u64,
    /// What is not known all the same.
    pub unknown: Vec<String>,
}

impl Recomputation {
    /// The first statement that does not hold.
    pub fn failure(&self) -> Option<&Statement> {
        self.statements.iter().find(|statement| !statement.holds)
    }
}

/// Recomputes a certificate from the `trials.csv` and `order.json` in its folder: hash, order, subject, threshold, counts, bound
/// and verdict. What the options ask for is checked too.
///
/// # Errors
/// Files that cannot be read, or options that do not go with the certificate.
pub fn recompute(text: &str, folder: &Path, demands: &VerifyOptions) -> Result<Recomputation, Error> {
    let stated = Certificate::parse(text)?;
    let protocol = stated.protocol();
    if demands.plan.is_some() || demands.command.is_some() {
        Origin::of(&protocol.subject, demands)?;
    }
    if demands.rerun.is_some() {
        rerun::must_be_possible(&protocol, demands)?;
    }
    let path = folder.join(journal::TRIALS);
    let bytes = journal::read_bytes(&path)?.ok_or_else(|| {
        Error::invalid(format!("{} is missing; put the trials next to their certificate", path.display()))
    })?;
    let mut found = Recomputation {
        certificate: stated,
        statements: Vec::new(),
        trials: 0,
        rerun: 0,
        unknown: Vec::new(),
    };
    found.statements.extend(demands.key.as_ref().map(|key| key.check(text, folder)));
    let hash = Statement::words("trials_sha256", &found.certificate.trials_sha256, sha256(&[&bytes]));
    found.statements.push(hash);
    if found.failure().is_some() {
        // What follows from other trials says nothing of these.
        return Ok(found);
    }
    found.statements.push(order(folder, &protocol)?);
    subject(&protocol, demands, &mut found)?;
    let trials = journal::parse_trials(&path, bytes)?;
    match certify(&protocol, &trials) {
        Ok((_, again)) => {
            let statements = follows(&found.certificate, &again)?;
            found.statements.extend(statements);
        }
        // The trials are those that were sealed, and there is no verdict from them as stated.
        Err(refusal) => found.statements.push(Statement::words("order", "a verdict", refusal.to_string())),
    }
    if let (Some(wanted), None) = (demands.rerun, found.failure()) {
        let (statement, ran) = rerun::rerun(&protocol, &trials, demands, wanted)?;
        found.statements.push(statement);
        found.rerun = ran;
    }
    let there = trials.observations().iter().filter(|told| told.canary == 0).count() as u64;
    found.trials = there;
    found.unknown.extend(unknown(found.rerun, there));
    if let Ok(Some(device)) = DeviceNote::stated_in(&protocol.subject) {
        found.unknown.push(format!("where the models were trained: the certificate states {}", device.name));
    }
    if demands.key.is_none() {
        found.unknown.push("who wrote it: no key was given to verify a signature".to_owned());
    }
    Ok(found)
}

/// What recomputing cannot show about any audit.
fn unknown(rerun: u64, trials: u64) -> Vec<String> {
    let not_run = match trials.saturating_sub(rerun) {
        0 => None,
        left if rerun == 0 => {
            Some(format!("whether the {} trials were really run: none was repeated", grouped(left)))
        }
        left => Some(format!("whether the other {} trials were really run", grouped(left))),
    };
    let always = [
        "whether claim, method, seed and number of trials were fixed before the first score was seen"
            .to_owned(),
        "whether other audits were run before this one and discarded".to_owned(),
    ];
    not_run.into_iter().chain(always).collect()
}

/// What was fixed before the first trial lies beside the trials, and is what the certificate states.
fn order(folder: &Path, protocol: &AuditProtocol) -> Result<Statement, Error> {
    let same = "what order.json has";
    let found = match journal::read_protocol(folder)? {
        None => "no order.json next to it".to_owned(),
        Some(ordered) => {
            ordered.difference(protocol).map_or_else(|| same.to_owned(), |what| format!("another {what}"))
        }
    };
    Ok(Statement::words("order", same, found))
}

/// What follows from the trials.
fn follows(stated: &Certificate, found: &Certificate) -> Result<Vec<Statement>, Error> {
    let number = |what, stated: Number, found: Number| Statement::numbers(what, stated.0, found.0);
    Ok(vec![
        // Lines in another order, or twice, are the same trials and not the same file.
        Statement::words("trials_sha256", &stated.trials_sha256, &found.trials_sha256),
        Statement::written("failures", &stated.failures, &found.failures)?,
        Statement::written("failed", &stated.failed, &found.failed)?,
        Statement::written("counted", &stated.counted, &found.counted)?,
        Statement::written("curve", &stated.curve, &found.curve)?,
        Statement::written("catches_noise_below", &stated.catches_noise_below, &found.catches_noise_below)?,
        number("epsilon_lower", stated.epsilon_lower, found.epsilon_lower),
        number("ceiling", stated.ceiling, found.ceiling),
        Statement::words("basis", &stated.basis, &found.basis),
        Statement::words("verdict", &stated.verdict, &found.verdict),
    ])
}

/// What follows from the subject: its words, its claimed mechanism, its proof, and which methods hold for it.
fn subject(
    protocol: &AuditProtocol,
    demands: &VerifyOptions,
    found: &mut Recomputation,
) -> Result<(), Error> {
    let stated = &protocol.subject;
    found.statements.push(consistent(protocol));
    let rebuilt = Origin::of(stated, demands).and_then(|origin| origin.rebuilt(protocol));
    match rebuilt {
        // Settings of which no subject of ours can be made, stated as those of one.
        Err(refusal) => {
            let what = if Origin::is_known(&stated.kind) { "subject.settings" } else { "subject.kind" };
            found.statements.push(Statement::words(what, "a subject of this kind", refusal.to_string()));
        }
        Ok(RebuiltSubject::Whole(brief)) => {
            found.statements.extend(words(stated, &brief.note)?);
            found.statements.extend(terms(protocol, &brief)?);
        }
        Ok(RebuiltSubject::Words(note)) => {
            found.statements.extend(words(stated, &note)?);
            found.statements.extend(proof(protocol));
            found.unknown.push(
                "whether the training run has the claimed mechanism and the stated records: the records are not available here".to_owned(),
            );
        }
        Ok(RebuiltSubject::Unproved) => found.unknown.push(
            "what was run and its upper bound: its records are not available here and no mechanism is claimed, so its description was \
             not checked"
                .to_owned(),
        ),
        Ok(RebuiltSubject::Nothing(why)) => {
            found.statements.extend(proof(protocol));
            found.unknown.push(format!("what was run: {why}, so its description was not checked"));
        }
    }
    Ok(())
}

/// The claimed ε is one of the claimed mechanism.
fn consistent(protocol: &AuditProtocol) -> Statement {
    let stated = format!("{:?}", protocol.claim.epsilon);
    let found = match protocol.claim.claim().and_then(|claim| claim.must_be_consistent()) {
        Ok(()) => stated.clone(),
        Err(refusal) => refusal.to_string(),
    };
    Statement::words("claim.epsilon", stated, found)
}

/// The words about a subject and its settings.
fn words(stated: &SubjectNote, found: &SubjectNote) -> Result<Vec<Statement>, Error> {
    let mut statements = vec![
        Statement::words("subject.kind", &stated.kind, &found.kind),
        Statement::words("subject.description", &stated.description, &found.description),
        Statement::words("subject.attack", &stated.attack, &found.attack),
        Statement::words("subject.access", &stated.access, &found.access),
    ];
    let names: BTreeSet<&String> = stated.settings.keys().chain(found.settings.keys()).collect();
    let shown = |value: Option<&Value>| value.map_or_else(|| Ok("nothing".to_owned()), written);
    for name in names {
        let (stated, found) = (stated.settings.get(name), found.settings.get(name));
        let what = format!("subject.settings.{name}");
        statements.push(Statement {
            holds: stated == found,
            what,
            stated: shown(stated)?,
            found: shown(found)?,
        });
    }
    Ok(statements)
}

/// The claim, the proof, and whether the method holds for the subject.
fn terms(protocol: &AuditProtocol, brief: &Brief) -> Result<Vec<Statement>, Error> {
    let (stated, found) = (&protocol.claim, ClaimNote::from(&brief.claim));
    let fits =
        protocol.method.method().and_then(|method| check_method(brief.is_one_run, brief.group, method));
    let method = written(&protocol.method)?;
    let holds = fits.is_ok();
    let fitting = fits.map_or_else(|refusal| refusal.to_string(), |()| method.clone());
    Ok(vec![
        Statement::written("claim.mechanism", &stated.mechanism, &found.mechanism)?,
        Statement::numbers("claim.delta", stated.delta, found.delta),
        Statement::words("claim.adjacency", &stated.adjacency, found.adjacency),
        proved(protocol.proved, brief.proved.map(|proved| proved.0.get())),
        Statement::written("canaries", &protocol.canaries, &brief.canaries)?,
        Statement { what: "method".to_owned(), stated: method, found: fitting, holds },
    ])
}

/// What the accountant proves of the claimed mechanism, where something is stated.
fn proof(protocol: &AuditProtocol) -> Option<Statement> {
    protocol.proved?;
    let claimed = protocol.claim.claim().ok().and_then(|claim| Some((claim.mechanism?, claim.point)));
    let found = claimed.and_then(|(mechanism, point)| {
        let subject = Subject { mechanism, adjacency: point.adjacency, unit: PrivacyUnit::default() };
        account(&subject, Target::Delta(point.delta), Choice::Best).ok()?.epsilon.upper()
    });
    Some(proved(protocol.proved, found.map(|upper| upper.0.get())))
}

/// A proof, as stated and as found: neither more nor less may be stated.
fn proved(stated: Option<f64>, found: Option<f64>) -> Statement {
    let shown =
        |proved: Option<f64>| proved.map_or_else(|| "nothing".to_owned(), |proved| format!("{proved:?}"));
    match (stated, found) {
        (Some(stated), Some(found)) => Statement::numbers("proved", stated, found),
        (stated, found) => Statement::words("proved", shown(stated), shown(found)),
    }
}

fn written<T: Serialize + ?Sized>(part: &T) -> Result<String, Error> {
    serde_json::to_string(part)
        .map_err(|error| Error::invalid(format!("a statement cannot be written: {error}")))
}
