//! A plan whose records were read and whose noise was calibrated, once for everything that an audit asks of them.

use crate::{AuditClaim, sha256};
use serde_json::Value;
use std::collections::BTreeMap;
use veracity_core::{Epsilon, Error, Upper};
use veracity_train::{Dataset, Labels};
use veracity_training::{Cost, PreparedRun, Protection, TrainingPlan};

/// A plan, its records, and the run that it describes.
#[derive(Debug)]
pub(crate) struct PreparedTraining {
    pub(super) plan: TrainingPlan,
    pub(super) records: Dataset,
    pub(super) run: PreparedRun,
}

impl PreparedTraining {
    /// Reads the records of a plan, and calibrates its noise.
    pub(crate) fn new(plan: TrainingPlan) -> Result<PreparedTraining, Error> {
        #[cfg(test)]
        counting::note();
        let records = plan.records()?;
        let run = plan.prepare(&records, Protection::Private)?;
        Ok(PreparedTraining { plan, records, run })
    }

    /// What it proves of itself, and the claim: `claimed`, or what the accountant proves.
    pub(super) fn stakes(&self, claimed: Option<Epsilon>) -> Result<Stakes, Error> {
        let Some(cost) = self.run.cost.clone() else {
            return Err(Error::invalid("training without noise has no claim to audit"));
        };
        if !cost.charges.is_empty() {
            return Err(Error::invalid(
                "the plan learns means or bounds of its records before the first step, but an audit attacks only the steps; remove them from \
                 the plan",
            ));
        }
        let proved = cost.answer.epsilon.upper();
        let claim = AuditClaim::of_proof(&cost.subject, cost.delta, proved, claimed)?.ok_or_else(|| {
            Error::invalid("the accountant has no upper bound for this plan; claim an epsilon")
        })?;
        Ok(Stakes { cost, proved, claim })
    }

    /// The settings of every audit of it: shares of an audit, and what resumes it, must have the same.
    pub(super) fn settings(&self) -> Result<BTreeMap<String, Value>, Error> {
        Ok(BTreeMap::from([
            ("plan".to_owned(), super::training::plan_value(&self.plan)?),
            ("records".to_owned(), self.records.len().into()),
            ("records_sha256".to_owned(), records_sha256(&self.records).into()),
        ]))
    }
}

/// What a prepared training proves of itself, and what is claimed of it.
pub(super) struct Stakes {
    pub(super) cost: Cost,
    pub(super) proved: Option<Upper<Epsilon>>,
    pub(super) claim: AuditClaim,
}

/// SHA-256 of records, features and labels: shares of an audit, and what takes it up again, must be of the same.
pub(super) fn records_sha256(records: &Dataset) -> String {
    let mut bytes = (records.width() as u64).to_le_bytes().to_vec();
    bytes.extend((0..records.len()).flat_map(|at| records.row(at)).flat_map(|x| x.to_le_bytes()));
    match records.labels() {
        Labels::Classes { of, .. } => bytes.extend(of.iter().flat_map(|class| class.to_le_bytes())),
        Labels::Values(values) => bytes.extend(values.iter().flat_map(|value| value.to_le_bytes())),
    }
    sha256(&[&bytes])
}

/// How often a thread has prepared a training.
#[cfg(test)]
pub(crate) mod counting {
    use std::cell::Cell;

    thread_local!(static PREPARED: Cell<u64> = const { Cell::new(0) });

    pub(super) fn note() {
        PREPARED.set(PREPARED.get() + 1);
    }

    /// So often since it was last asked.
    pub(crate) fn take() -> u64 {
        PREPARED.take()
    }
}
