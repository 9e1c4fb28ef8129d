//! Repeated trials: a subject of Veracity with its seed gives bit-identical scores on every CPU.
//!
//! Trials of a device are repeated on the CPU in the integer arithmetic of the device, and are bit-identical too.

use crate::{
    AuditProtocol, DeviceNote, Statement, TrialSource, Trials, VERSION, interrupt, origin::Origin,
    recomputing::VerifyOptions, subjects::command,
};
use std::{collections::BTreeMap, thread::available_parallelism};
use veracity_audit::{Failure, Observation, observe};
use veracity_core::{Count, Error};
use veracity_noise::{Entropy, Key, Purpose, exact::uniform_below};

/// Refuses what cannot be run again, before anything else is looked at.
pub(crate) fn must_be_possible(protocol: &AuditProtocol, demands: &VerifyOptions) -> Result<(), Error> {
    if protocol.version != VERSION {
        return Err(Error::invalid(format!(
            "trials cannot be repeated: another version ran them and may have drawn them differently; use that version instead of {VERSION}"
        )));
    }
    Origin::of(&protocol.subject, demands)?.must_run()
}

/// Runs trials again that are drawn by the system's entropy, and compares their scores to the bit. Says how many they were.
pub(crate) fn rerun(
    protocol: &AuditProtocol,
    trials: &Trials,
    demands: &VerifyOptions,
    wanted: Count,
) -> Result<(Statement, u64), Error> {
    let _scratch = Scratch;
    let case = Origin::of(&protocol.subject, demands)?.case(protocol)?;
    let TrialSource::Run(subject) = &case.trials_from else {
        return Err(Error::invalid("trials cannot be repeated: they were recorded"));
    };
    let stated: BTreeMap<(u64, u32), Observation> =
        trials.observations().into_iter().map(|told| ((told.trial, told.canary), told)).collect();
    let mut all: Vec<u64> = stated.keys().map(|(trial, _)| *trial).collect();
    all.dedup();
    let drawn = draw(all, wanted)?;
    let threads = available_parallelism().map_or(1, usize::from);
    let device = DeviceNote::stated_in(&protocol.subject)?;
    for outcome in observe(subject.as_ref(), protocol.seed, &drawn, threads) {
        if interrupt::is_asked() {
            return Err(Error::Interrupted("the verification was interrupted".into()));
        }
        if let Some(Failure::Machine(why)) = &outcome.failure {
            return Err(Error::invalid(format!("a trial could not be repeated: {why}")));
        }
        for told in &outcome.observations {
            let known = stated.get(&(told.trial, told.canary));
            if known.is_none_or(|known| !agree(known, told)) {
                let what = format!("trial {}, canary {}", told.trial, told.canary);
                let (stated, found) = (known.map_or("nothing".to_owned(), spell), spell(told));
                return Ok((Statement { what, stated, found, holds: false }, drawn.len() as u64));
            }
        }
    }
    // A subject of ours does not fail now and then.
    let is_ours = demands.command.is_none();
    if let Some(trial) = drawn.iter().find(|trial| is_ours && trials.attempts(**trial) > 1) {
        let what = format!("trial {trial}");
        let (stated, found) = ("failed at first, and was retried", "runs without a failure");
        let statement = Statement { what, stated: stated.into(), found: found.into(), holds: false };
        return Ok((statement, drawn.len() as u64));
    }
    let how = device.map_or("", |_| " in integer arithmetic on the CPU");
    let same = format!("the scores of {} trials{how}", drawn.len());
    Ok((Statement::words("rerun", same.clone(), same), drawn.len() as u64))
}

/// The folder of commands that are run again; gone when dropped.
struct Scratch;

impl Drop for Scratch {
    fn drop(&mut self) {
        // There is none where no command was run.
        let _ = std::fs::remove_dir_all(command::scratch());
    }
}

/// Whether one observation is another.
fn agree(stated: &Observation, found: &Observation) -> bool {
    stated.world == found.world && stated.score.map(f64::to_bits) == found.score.map(f64::to_bits)
}

fn spell(told: &Observation) -> String {
    told.score.map_or_else(|| "no score".to_owned(), |score| format!("a score of {score:?}"))
}

/// A uniform random sample of the trials, which cannot be predicted; all trials if there are no more.
fn draw(mut all: Vec<u64>, wanted: Count) -> Result<Vec<u64>, Error> {
    let mut rng = Entropy::system()?.stream(Purpose::Canary, Key::default());
    let wanted = all.len().min(usize::try_from(wanted.get()).unwrap_or(usize::MAX));
    for at in 0..wanted {
        let other = at + uniform_below((all.len() - at) as u128, &mut rng) as usize;
        all.swap(at, other);
    }
    all.truncate(wanted);
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trials_are_drawn_without_repetition_and_others_each_time() {
        let all: Vec<u64> = (0..1000).collect();
        let draw = |wanted| draw(all.clone(), Count::new(wanted).unwrap()).unwrap();
        let mut one = draw(50);
        // Two draws of 50 in 1000 are equal with probability 10^-85.
        assert_ne!(one, draw(50));
        one.sort_unstable();
        one.dedup();
        assert_eq!(one.len(), 50);
        let mut whole = draw(5000);
        whole.sort_unstable();
        assert_eq!(whole, all);
    }
}
