//! `veracity audit --mechanism`: the samplers of Veracity against the upper bound of the accountant.

use crate::{args::AuditArgs, meaning};
use veracity::{
    Case, Delta, Epsilon, Error,
    kinds::{FLAGS, Flag},
};

/// A mechanism, run by our own samplers.
pub fn case(args: &AuditArgs, kind: &str) -> Result<Case, Error> {
    if args.declared.unit.is_some() {
        return Err(Error::invalid(
            "--unit cannot be used here: an audit compares datasets that differ in one record",
        ));
    }
    let subject = meaning::subject(kind, &args.declared)?;
    let claimed = args.claim_epsilon.map(Epsilon::new).transpose()?;
    let delta = Delta::new(args.claim_delta.unwrap_or(1e-5))?;
    let trials = super::trials(args, Case::MECHANISM_TRIALS)?;
    Ok(Case::mechanism(&subject, added(args)?, claimed, delta, args.seed, trials)?)
}

/// The noise that is added, as a part of what is declared.
fn added(args: &AuditArgs) -> Result<f64, Error> {
    let Some(added) = args.noise_added else { return Ok(1.0) };
    let flags = &args.declared;
    let is_noise = |flag: &&Flag| flag.solved == Some("noise") || flag.field == "noise_parameter";
    let declared = FLAGS.iter().filter(is_noise).find_map(|flag| flags.numbers.get(flag.field));
    let Some(declared) = declared else {
        return Err(Error::invalid(
            "--noise-added needs the declared noise: --noise-multiplier, --sigma, --scale or --noise-parameter",
        ));
    };
    if !(added > 0.0 && added.is_finite()) {
        return Err(Error::out_of_range("noise-added", added, "a finite number > 0"));
    }
    Ok(added / declared)
}
