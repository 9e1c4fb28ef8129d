//! An audit from its subject to its verdict, in one call; and the shares of one, put together.

use crate::{
    AuditProtocol, Audited, Case, Caught, ClaimNote, MOST_TRIALS, Method, MethodNote, Opening, Progress,
    Shard, TrialSource, Trials,
    certificate::{self, certify_seen},
    conduct,
    conduct::Watching,
    examine_seen, examine_trials,
    journal::{self, Journal, REPORT},
    looks, page, plan_trials, planning,
    protocol::{SCHEMA, VERSION},
    signature::{self, SigningKey},
};
use std::{
    fs,
    path::{Path, PathBuf},
    sync::mpsc::Sender,
    thread::available_parallelism,
    time::Duration,
};
use veracity_core::{Count, Error};
use veracity_files::saving::{refuse_foreign_file, replace};
use veracity_report::html;

/// How a case is attacked, beside what it fixes itself. All of it is settled before the first trial.
#[derive(Debug, Clone, PartialEq)]
pub struct AuditSettings {
    /// How scores become a bound [default: the usual one of the case].
    pub method: Option<Method>,
    /// The chance of error to spend.
    pub significance: f64,
    /// Run as many trials as fit into this time, instead of as many as the case says.
    pub budget: Option<Duration>,
    /// With more failed trials than these there is no verdict [default: a tenth of them].
    pub max_failures: Option<u64>,
    /// How often a failed trial is tried again. Any retry lowers what the verdict rests on.
    pub retries: u32,
    /// Whether trials that failed earlier are tried again when an audit is resumed.
    pub retry_failed: bool,
    /// The part of the declared noise that must be caught: without that the audit says that it cannot tell.
    pub require: Option<f64>,
    /// How many trials are run at once [default: as many as there are cores].
    pub jobs: Option<Count>,
    /// Which share of the trials is run here.
    pub shard: Shard,
    /// What is kept of them.
    pub keep: Keep,
    /// What the certificate is signed by, where one is kept.
    pub sign: Option<SigningKey>,
}

/// What is kept of an audit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Keep {
    /// Nothing: the verdict is returned.
    Nothing,
    /// A page, in this folder.
    Report(PathBuf),
    /// Every trial as it ends, and in the end a certificate and a page, in this folder.
    Everything(PathBuf, Opening),
}

impl Default for AuditSettings {
    fn default() -> AuditSettings {
        AuditSettings {
            method: None,
            significance: 0.01,
            budget: None,
            max_failures: None,
            retries: 0,
            retry_failed: false,
            require: None,
            jobs: None,
            shard: Shard::WHOLE,
            keep: Keep::Nothing,
            sign: None,
        }
    }
}

/// How an audit ended.
#[derive(Debug, Clone, PartialEq)]
pub enum AuditDone {
    /// All trials are there.
    Judged {
        /// The verdict and what it rests on.
        audited: Box<Audited>,
        /// The trials.
        trials: Trials,
        /// How many audits by other orders were judged in the same folder on this subject and claim before.
        earlier_looks: u64,
    },
    /// Trials of other shares are missing: no verdict yet.
    Share {
        /// What was fixed beforehand.
        protocol: Box<AuditProtocol>,
        /// The trials that are there.
        trials: Trials,
    },
}

/// Attacks a claim: fixes everything, runs the trials that are missing, judges, and keeps what is to be kept. Whoever holds the
/// other end of `watch` may follow.
pub fn audit(
    case: &Case,
    settings: &AuditSettings,
    watch: Option<&Sender<Progress>>,
) -> Result<AuditDone, Error> {
    let protocol = protocol(case, settings)?;
    let mut journal = open(&protocol, &settings.keep)?;
    match &case.trials_from {
        TrialSource::Recorded(trials) => journal.take(trials.clone())?,
        TrialSource::Run(subject) => {
            if settings.retry_failed {
                journal.retry_failed();
            }
            conduct(subject.as_ref(), &mut journal, settings.shard, jobs(settings), watch)?;
        }
        TrialSource::Brought => {
            return Err(Error::invalid(
                "the trials are run elsewhere, expected them to be brought one by one",
            ));
        }
    }
    if !journal.missing(Shard::WHOLE).is_empty() {
        return Ok(AuditDone::Share { protocol: Box::new(protocol), trials: journal.settle(&[])? });
    }
    judge(journal, &settings.keep, settings.sign.as_ref())
}

/// The journal of what is to be kept.
pub(crate) fn open(protocol: &AuditProtocol, keep: &Keep) -> Result<Journal, Error> {
    match keep {
        Keep::Everything(folder, opening) => Journal::open(folder, protocol, *opening),
        Keep::Report(folder) => {
            // A folder that cannot be written should not cost an hour of trials.
            check_report(folder)?;
            Journal::in_memory(protocol)
        }
        Keep::Nothing => Journal::in_memory(protocol),
    }
}

/// Puts the shares of an audit together in a folder of its own, and judges.
pub fn merge(shares: &[PathBuf], out: &Path) -> Result<AuditDone, Error> {
    merge_signed(shares, out, None)
}

/// The same, and signs the certificate.
pub fn merge_signed(shares: &[PathBuf], out: &Path, sign: Option<&SigningKey>) -> Result<AuditDone, Error> {
    let (protocol, trials) = journal::merge(shares)?;
    // The same merge again is the same whole; another audit there is refused.
    let mut journal = Journal::open(out, &protocol, Opening::Resume)?;
    journal.take(trials)?;
    // A test that ends as soon as it knows ends there in shares too: they ran more than one run would have.
    if let Some(mut watching) = Watching::new(&journal, Shard::WHOLE)? {
        watching.has_fallen(&mut journal)?;
    }
    judge(journal, &Keep::Everything(out.to_owned(), Opening::Resume), sign)
}

/// What an audit is to do, before its first trial: everything that is fixed, and what so many trials would catch.
pub fn plan(case: &Case, settings: &AuditSettings) -> Result<(AuditProtocol, Option<Caught>), Error> {
    let protocol = protocol(case, settings)?;
    let method = protocol.method.method()?;
    let caught = planning::caught(case, method, protocol.trials, protocol.significance)?;
    Ok((protocol, caught))
}

/// Everything that is fixed before the first trial.
pub(crate) fn protocol(case: &Case, settings: &AuditSettings) -> Result<AuditProtocol, Error> {
    if settings.sign.is_some() && !matches!(settings.keep, Keep::Everything(..)) {
        return Err(Error::invalid("a key is given to sign with, expected a folder for the certificate too"));
    }
    let method = settings.method.unwrap_or_else(|| case.usual_method());
    case.check_method(method)?;
    case.check_canaries()?;
    let trials = trials(case, settings)?;
    let protocol = AuditProtocol {
        schema: SCHEMA.to_owned(),
        subject: case.note.clone(),
        claim: ClaimNote::from(&case.claim),
        proved: case.proved.map(|proved| proved.0.get()),
        method: MethodNote::of(method),
        significance: settings.significance,
        trials,
        canaries: case.canaries,
        seed: case.seed,
        max_failures: settings.max_failures.unwrap_or(trials / 10),
        retries: settings.retries,
        require: settings.require,
        version: VERSION.to_owned(),
    };
    protocol.check()?;
    Ok(protocol)
}

/// How many trials there are: as many as the case is for, or as fit into a time. An audit that was planned for a time and is
/// resumed has those that it had.
fn trials(case: &Case, settings: &AuditSettings) -> Result<u64, Error> {
    let (budget, subject) = match (&case.trials_from, settings.budget) {
        (TrialSource::Recorded(_), Some(_)) => {
            return Err(Error::invalid("a budget is given for trials that were run already, expected none"));
        }
        (TrialSource::Brought, Some(_)) => {
            return Err(Error::invalid("a budget is given for trials that are run elsewhere, expected none"));
        }
        (TrialSource::Recorded(_), None) if settings.shard != Shard::WHOLE => {
            return Err(Error::invalid("a shard is given of trials that were run already, expected all"));
        }
        (TrialSource::Recorded(_) | TrialSource::Brought | TrialSource::Run(_), None) => {
            return Ok(case.trials.get());
        }
        (TrialSource::Run(subject), Some(budget)) => (budget, subject),
    };
    if let Keep::Everything(folder, Opening::Resume) = &settings.keep
        && let Ok((known, _)) = journal::read(folder)
    {
        return Ok(known.trials);
    }
    plan_trials(subject.as_ref(), case.seed, budget, jobs(settings), MOST_TRIALS - 1)
}

fn jobs(settings: &AuditSettings) -> usize {
    settings.jobs.map_or_else(|| available_parallelism().map_or(1, usize::from), |jobs| jobs.get() as usize)
}

/// Judges complete trials, and writes what is to be kept of them.
pub(crate) fn judge(journal: Journal, keep: &Keep, sign: Option<&SigningKey>) -> Result<AuditDone, Error> {
    let protocol = journal.protocol().clone();
    let (audited, trials) = match keep {
        Keep::Everything(..) => {
            let seen = journal.trials().observations();
            let (audited, certificate) = certify_seen(journal.protocol(), journal.trials(), &seen)?;
            let page = page(&audited, &seen, recompute())?;
            drop(seen);
            let text = certificate.to_json()?;
            let signed = sign.map(|key| key.sign(text.as_bytes())).transpose()?;
            let mut files = vec![("certificate", certificate::FILE, text), ("report", REPORT, page.render())];
            files.extend(signed.map(|signed| ("signature", signature::FILE, signed)));
            (audited, journal.settle(&files)?)
        }
        Keep::Report(folder) => {
            let seen = journal.trials().observations();
            let audited = examine_seen(journal.protocol(), journal.trials(), &seen)?;
            let page = page(&audited, &seen, Vec::new())?;
            drop(seen);
            replace("report", &folder.join(REPORT), page.render().as_bytes(), html::is_page)?;
            (audited, journal.settle(&[])?)
        }
        Keep::Nothing => (examine_trials(journal.protocol(), journal.trials())?, journal.settle(&[])?),
    };
    let earlier_looks = match keep {
        Keep::Everything(folder, _) | Keep::Report(folder) => {
            looks::note(folder, &protocol, &audited.verdict)?
        }
        Keep::Nothing => 0,
    };
    Ok(AuditDone::Judged { audited: Box::new(audited), trials, earlier_looks })
}

/// Refuses a folder in which no report can be written.
fn check_report(folder: &Path) -> Result<(), Error> {
    fs::create_dir_all(folder)
        .map_err(|error| Error::io("report", folder, "a folder that can be made", error))?;
    refuse_foreign_file("report", &folder.join(REPORT), html::is_page)
}

/// How anyone comes to the same verdict; the same for all audits, so that their pages differ in nothing but what they found.
fn recompute() -> Vec<html::Command> {
    vec![html::Command {
        says: "Recompute the verdict from the trials beside this page".to_owned(),
        line: format!("veracity verify {}", certificate::FILE),
    }]
}
