//! The claim of the flags: a claim.json, a mechanism with its flags, or an ε alone.

use crate::{args::AuditArgs, meaning};
use std::path::Path;
use veracity::{
    Adjacency, ClaimFile, Count, Delta, Epsilon, Error, Mechanism, NoiseMultiplier, SamplingRate, Subject,
    Upper,
    auditing::{AuditClaim, Claim},
    read_text,
    spec::Whole,
};

/// What is claimed of a subject that says nothing of itself.
pub fn of(args: &AuditArgs) -> Result<AuditClaim, Error> {
    match &args.claim {
        Some(file) if file.ends_with(".json") => of_file(args, Path::new(file)),
        Some(kind) => of_subject(args, &meaning::subject(kind, &args.declared)?),
        None if args.claim_noise_multiplier.is_some() => of_subject(args, &of_noise(args)?),
        None => Ok(of_epsilon(args)?.into()),
    }
}

/// A claim that was handed over.
fn of_file(args: &AuditArgs, path: &Path) -> Result<AuditClaim, Error> {
    let given =
        [("--claim-epsilon", args.claim_epsilon.is_some()), ("--claim-delta", args.claim_delta.is_some())];
    if let Some((flag, _)) = given.into_iter().find(|(_, given)| *given) {
        return Err(Error::invalid(format!(
            "{flag} cannot be used with a claim file, which already defines it"
        )));
    }
    meaning::refuse_mechanism(&args.declared, "leave them out, because the claim has its own")?;
    Ok(AuditClaim::of_file(&ClaimFile::parse(&read_text("claim", path)?)?)?)
}

/// Gaussian noise, on Poisson batches where a rate is given.
fn of_noise(args: &AuditArgs) -> Result<Subject, Error> {
    let noise_multiplier = NoiseMultiplier::new(args.claim_noise_multiplier.unwrap_or_default())?;
    let steps = args.claim_steps.map_or(Ok(Count::ONE), |steps| Whole(steps).count("claim-steps"))?;
    let mechanism = match args.claim_sampling_rate {
        Some(rate) => Mechanism::sampled_gaussian(SamplingRate::new(rate)?, noise_multiplier, steps),
        None => Mechanism::Gaussian { noise_multiplier }.repeated(steps),
    };
    let subject = Subject::new(mechanism);
    Ok(Subject { adjacency: args.declared.adjacency.unwrap_or(subject.adjacency), ..subject })
}

fn of_subject(args: &AuditArgs, subject: &Subject) -> Result<AuditClaim, Error> {
    let claimed = args.claim_epsilon.map(Epsilon::new).transpose()?;
    Ok(AuditClaim::of_subject(subject, Delta::new(args.claim_delta.unwrap_or(1e-5))?, claimed)?)
}

fn of_epsilon(args: &AuditArgs) -> Result<Claim, Error> {
    let Some(epsilon) = args.claim_epsilon else {
        return Err(Error::invalid(
            "no claim is given; set --claim claim.json, --claim KIND with its flags, or --claim-epsilon",
        ));
    };
    if !epsilon.is_finite() {
        return Err(Error::out_of_range("claim-epsilon", epsilon, "a finite number ≥ 0"));
    }
    Ok(Claim {
        epsilon: Upper(Epsilon::new(epsilon)?),
        delta: Delta::new(args.claim_delta.unwrap_or(1e-5))?,
        adjacency: args.declared.adjacency.unwrap_or(Adjacency::AddRemove),
    })
}
