//! `veracity audit --mechanism`: what our own samplers draw, against what the accountant proves of it.

use crate::{args::AuditArgs, meaning};
use veracity::{Case, Delta, Epsilon, Error, spec::Whole};

/// Runs that take some seconds.
const TRIALS: f64 = 1e6;

/// A mechanism, run by our own samplers.
pub fn case(args: &AuditArgs, kind: &str) -> Result<Case, Error> {
    if args.declared.unit.is_some() {
        return Err(Error::invalid("--unit is given, expected none: an audit speaks of one record"));
    }
    let subject = meaning::subject(kind, &args.declared)?;
    let claimed = args.claim_epsilon.map(Epsilon::new).transpose()?;
    let delta = Delta::new(args.claim_delta.unwrap_or(1e-5))?;
    let trials = Whole(args.trials.unwrap_or(TRIALS)).count("trials")?;
    Ok(Case::mechanism(&subject, added(args)?, claimed, delta, args.seed, trials)?)
}

/// The noise that is added, as a part of what is declared.
fn added(args: &AuditArgs) -> Result<f64, Error> {
    let Some(added) = args.noise_added else { return Ok(1.0) };
    let flags = &args.declared;
    let declared = [flags.noise_multiplier, flags.sigma, flags.scale, flags.noise_parameter];
    let Some(declared) = declared.into_iter().flatten().next() else {
        return Err(Error::invalid(
            "--noise-added is given without declared noise, expected --noise-multiplier, --sigma, --scale or \
             --noise-parameter",
        ));
    };
    if !(added > 0.0 && added.is_finite()) {
        return Err(Error::out_of_range("noise-added", added, "a finite number > 0"));
    }
    Ok(added / declared)
}
