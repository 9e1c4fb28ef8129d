//! An audit from its subject to its verdict, in one call; and the shares of one, put together.

use crate::{
    AuditPlan, AuditProtocol, AuditResult, Case, ClaimNote, MOST_TRIALS, Method, MethodNote, Opening,
    Progress, Shard, Stepwise, TrialSource, Trials,
    certificate::{self, Certificate},
    claim::Curves,
    conduct::{RunningTest, conduct, plan_trials},
    examine_seen,
    journal::{self, Journal, REPORT},
    looks, page, planning,
    protocol::{SCHEMA, VERSION},
    signature::{self, SigningKey},
};
use std::{
    fs,
    path::{Path, PathBuf},
    thread::available_parallelism,
    time::Duration,
};
use veracity_core::files::saving::{refuse_foreign_file, replace};
use veracity_core::{Count, Error, Refusal};
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
    pub keep: Retention,
    /// What the certificate is signed by, where one is kept.
    pub sign: Option<SigningKey>,
}

/// What is kept of an audit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Retention {
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
            keep: Retention::Nothing,
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
        audited: Box<AuditResult>,
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

impl AuditDone {
    /// The verdict of a whole audit.
    ///
    /// # Errors
    /// Refuses an audit whose other shares are missing.
    pub fn judged(self) -> Result<AuditResult, Refusal> {
        match self {
            AuditDone::Judged { audited, .. } => Ok(*audited),
            AuditDone::Share { .. } => {
                Err(Refusal::invalid("audit has trials of one share only; run and merge the other shares"))
            }
        }
    }
}

/// An audit: everything that is fixed before its first trial, made once.
///
/// ```
/// use veracity_account::claims::Subject;
/// use veracity_auditing::{Audit, AuditDone, AuditPlan, AuditSettings, Case};
/// use veracity_core::{Count, Delta, Mechanism, NoiseMultiplier};
///
/// let declared = Subject::new(Mechanism::Gaussian { noise_multiplier: NoiseMultiplier::new(1.0)? });
/// let case = Case::mechanism(&declared, 1.0, None, Delta::new(1e-5)?, 1, Count::new(20_000)?)?;
/// let settings = AuditSettings::default();
/// let audit = Audit::new(&case, &settings)?;
/// assert!(matches!(audit.plan()?, AuditPlan::Catches(below) if below > 0.8 && below < 1.0));
/// let mut done = 0;
/// let AuditDone::Judged { audited, .. } = audit.run(|now| done = now.done)? else { panic!() };
/// assert!(!audited.is_refuted() && done == 20_000);
/// # Ok::<(), veracity_core::Error>(())
/// ```
pub struct Audit<'a> {
    case: &'a Case,
    settings: &'a AuditSettings,
    protocol: AuditProtocol,
    curves: Option<Curves>,
}

impl<'a> Audit<'a> {
    /// Fixes everything. Where a budget is given, a few trials are run for their duration.
    ///
    /// # Errors
    /// Settings that do not go with the case.
    pub fn new(case: &'a Case, settings: &'a AuditSettings) -> Result<Audit<'a>, Error> {
        let protocol = protocol(case, settings)?;
        // Of the claim as it is written down: whoever verifies has no other.
        let curves = protocol.claim.claim()?.curves();
        Ok(Audit { case, settings, protocol, curves })
    }

    /// What was fixed.
    pub fn protocol(&self) -> &AuditProtocol {
        &self.protocol
    }

    /// What the trials are planned to catch, and whether that is what they must. Trials that fit into a time are run whatever they catch.
    ///
    /// # Errors
    /// A part of the noise that must be caught, where no noise is claimed.
    pub fn plan(&self) -> Result<AuditPlan, Error> {
        match self.settings.budget {
            Some(_) => Ok(AuditPlan::Unstated),
            None => planning::plan(&self.protocol, self.curves.as_ref()),
        }
    }

    /// Runs the trials that are missing, judges, and keeps what is to be kept. Calls `on_progress` as trials end.
    ///
    /// # Errors
    /// More failed trials than the protocol allows, an interruption, or files that cannot be written.
    pub fn run(self, on_progress: impl FnMut(Progress) + Send) -> Result<AuditDone, Error> {
        let Audit { case, settings, protocol, curves } = self;
        let mut journal = open(&protocol, &settings.keep)?;
        match &case.trials_from {
            TrialSource::Recorded(trials) => journal.take(trials.clone())?,
            TrialSource::Run(subject) => {
                if settings.retry_failed {
                    journal.retry_failed();
                }
                let share = (settings.shard, jobs(settings));
                conduct(subject.as_ref(), &mut journal, curves.as_ref(), share, on_progress)?;
            }
            TrialSource::Brought => {
                return Err(Error::invalid(
                    "the trials of this case run elsewhere; use the stepwise interface",
                ));
            }
        }
        if !journal.missing(Shard::WHOLE).is_empty() {
            return Ok(AuditDone::Share { protocol: Box::new(protocol), trials: journal.settle(&[])? });
        }
        judge(journal, curves.as_ref(), &settings.keep, settings.sign.as_ref())
    }

    /// Opens it for trials that are run elsewhere.
    ///
    /// # Errors
    /// Retries or a shard, which only trials that are run here have, or files that cannot be read.
    pub fn begin(self) -> Result<Stepwise, Error> {
        Stepwise::new(self.protocol, self.curves, self.settings)
    }
}

/// Attacks a claim, in one call: see [`Audit`].
///
/// # Errors
/// Those of [`Audit::new`] and [`Audit::run`].
pub fn audit(case: &Case, settings: &AuditSettings) -> Result<AuditDone, Error> {
    Audit::new(case, settings)?.run(|_| ())
}

/// The journal of what is to be kept.
pub(crate) fn open(protocol: &AuditProtocol, keep: &Retention) -> Result<Journal, Error> {
    match keep {
        Retention::Everything(folder, opening) => Journal::open(folder, protocol, *opening),
        Retention::Report(folder) => {
            // A folder that cannot be written should not cost an hour of trials.
            check_report(folder)?;
            Journal::in_memory(protocol)
        }
        Retention::Nothing => Journal::in_memory(protocol),
    }
}

/// Puts the shares of an audit together in a folder of its own, judges, and signs the certificate where there is a key.
///
/// # Errors
/// Shares of different audits, missing trials, or files that cannot be read or written.
pub fn merge(shares: &[PathBuf], out: &Path, sign: Option<&SigningKey>) -> Result<AuditDone, Error> {
    let (protocol, trials) = journal::merge(shares)?;
    // The same merge again is the same whole; another audit there is refused.
    let mut journal = Journal::open(out, &protocol, Opening::Resume)?;
    journal.take(trials)?;
    // A test that ends as soon as it knows ends there in shares too: they ran more than one run would have.
    let curves = protocol.claim.claim()?.curves();
    if let Some(mut watching) = RunningTest::new(&journal, curves.as_ref(), Shard::WHOLE)? {
        watching.has_fallen(&mut journal)?;
    }
    judge(journal, curves.as_ref(), &Retention::Everything(out.to_owned(), Opening::Resume), sign)
}

/// Everything that is fixed before the first trial.
fn protocol(case: &Case, settings: &AuditSettings) -> Result<AuditProtocol, Error> {
    if settings.sign.is_some() && !matches!(settings.keep, Retention::Everything(..)) {
        return Err(Error::invalid("a signing key needs an output folder for the certificate"));
    }
    let method = settings.method.map_or_else(|| case.usual_method(settings.significance), Ok)?;
    case.check_method(method)?;
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
            return Err(Error::invalid("a time budget cannot be used with recorded trials"));
        }
        (TrialSource::Brought, Some(_)) => {
            return Err(Error::invalid("a time budget cannot be used with trials that run elsewhere"));
        }
        (TrialSource::Recorded(_), None) if settings.shard != Shard::WHOLE => {
            return Err(Error::invalid("recorded trials cannot be split into shards"));
        }
        (TrialSource::Recorded(_) | TrialSource::Brought | TrialSource::Run(_), None) => {
            return Ok(case.trials.get());
        }
        (TrialSource::Run(subject), Some(budget)) => (budget, subject),
    };
    if let Retention::Everything(folder, Opening::Resume) = &settings.keep
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
pub(crate) fn judge(
    journal: Journal,
    curves: Option<&Curves>,
    keep: &Retention,
    sign: Option<&SigningKey>,
) -> Result<AuditDone, Error> {
    let protocol = journal.protocol().clone();
    let seen = journal.trials().observations();
    let audited = examine_seen(&protocol, curves, journal.trials(), &seen)?;
    let trials = match keep {
        Retention::Everything(..) => {
            let certificate = Certificate::new(&protocol, journal.trials(), &audited);
            let page = page(&audited, &seen, recompute())?;
            drop(seen);
            let text = certificate.to_json()?;
            let signed = sign.map(|key| key.sign(text.as_bytes())).transpose()?;
            let mut files = vec![("certificate", certificate::FILE, text), ("report", REPORT, page.render())];
            files.extend(signed.map(|signed| ("signature", signature::FILE, signed)));
            journal.settle(&files)?
        }
        Retention::Report(folder) => {
            let page = page(&audited, &seen, Vec::new())?;
            drop(seen);
            replace("report", &folder.join(REPORT), page.render().as_bytes(), html::is_page)?;
            journal.settle(&[])?
        }
        Retention::Nothing => {
            drop(seen);
            journal.settle(&[])?
        }
    };
    let earlier_looks = match keep {
        Retention::Everything(folder, _) | Retention::Report(folder) => {
            looks::note(folder, &protocol, &audited.verdict)?
        }
        Retention::Nothing => 0,
    };
    Ok(AuditDone::Judged { audited: Box::new(audited), trials, earlier_looks })
}

/// Refuses a folder in which no report can be written.
fn check_report(folder: &Path) -> Result<(), Error> {
    fs::create_dir_all(folder).map_err(|error| Error::cannot("create", "report folder", folder, error))?;
    refuse_foreign_file("report", &folder.join(REPORT), html::is_page)
}

/// How to recompute the verdict; the same for all audits, so that their reports differ only in their results.
fn recompute() -> Vec<html::Command> {
    vec![html::Command {
        says: "Recompute the verdict from the trials in the folder of this report".to_owned(),
        line: format!("veracity verify {}", certificate::FILE),
    }]
}
