//! `veracity audit --one-run [PLAN]`: one training, many canaries.

use super::{on_device, training_plan};
use crate::{args::AuditArgs, meaning};
use veracity::{Case, Epsilon, Error, auditing::CanaryKind, spec::Whole};

/// One training with many canaries.
pub fn case(args: &AuditArgs) -> Result<Case, Error> {
    let canaries = args
        .canaries
        .map(|many| Whole(many).count("canaries").map(|many| many.get() as usize))
        .transpose()?;
    let claimed = args.claim_epsilon.map(Epsilon::new).transpose()?;
    let trials = Whole(args.trials.unwrap_or(1.0)).count("trials")?;
    let (plan, kind) = (training_plan(args)?, kind(args)?);
    on_device(args, |device| Case::one_run_on(device, &plan, kind, canaries, claimed, args.seed, trials))
}

fn kind(args: &AuditArgs) -> Result<CanaryKind, Error> {
    let Some(name) = args.canary.as_deref().map(|name| name.to_string_lossy()) else {
        return Ok(CanaryKind::Mislabelled);
    };
    CanaryKind::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| {
        let expected = "member, mislabelled, blank, checkerboard or backdoor with --one-run";
        Error::out_of_range("canary", meaning::clean(&name), expected)
    })
}
