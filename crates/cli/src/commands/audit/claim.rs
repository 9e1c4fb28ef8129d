//! The claim of the flags.

use crate::args::AuditArgs;
use veracity::{Adjacency, Delta, Epsilon, Error, Upper, auditing::Claim};

/// What is claimed of a subject that says nothing of itself.
pub fn of(args: &AuditArgs) -> Result<Claim, Error> {
    let Some(epsilon) = args.claim_epsilon else {
        return Err(Error::invalid(
            "--claim-epsilon is missing, expected the ε that is claimed of the subject",
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
