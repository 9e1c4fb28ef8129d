//! What is claimed of a subject: a point (ε, δ), and the mechanism behind it, whose whole curve is then the claim.
//!
//! A claim of both is one claim: its ε is at least the one that the accountant certifies for its mechanism at its δ and adjacency. A
//! smaller ε contradicts the mechanism, and is refused wherever a claim is made, read back from a file, or judged.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};
use veracity_account::claims::{
    Choice, ClaimFile, PrivacyProfile, Subject, Target, account, verification::ROUNDING,
};
use veracity_audit::{ClaimedCurve, Declared};
use veracity_core::{Claim, Delta, Epsilon, Finding, Mechanism, PrivacyUnit, Refusal, Upper, decimal};

/// Pairs (ε, δ) by which a curve is known.
const PAIRS: usize = 33;

/// A claim that is attacked.
#[derive(Debug, Clone, PartialEq)]
pub struct AuditClaim {
    /// The point that is claimed.
    pub point: Claim,
    /// The mechanism that is claimed; none where somebody states an ε and nothing else.
    pub mechanism: Option<Mechanism>,
}

impl From<Claim> for AuditClaim {
    fn from(point: Claim) -> AuditClaim {
        AuditClaim { point, mechanism: None }
    }
}

impl AuditClaim {
    /// The claim of a file that `veracity claim` or a training wrote, at its own δ.
    ///
    /// # Errors
    /// A claim without an upper bound, or with an ε below that of its mechanism.
    pub fn of_file(file: &ClaimFile) -> Result<AuditClaim, Refusal> {
        let upper = file.epsilon.upper.ok_or_else(|| {
            Refusal::invalid("the claim has no upper bound on epsilon, so it guarantees nothing")
        })?;
        let point = Claim {
            epsilon: Upper(Epsilon::new(upper)?),
            delta: Delta::new(file.delta)?,
            adjacency: file.adjacency.parse()?,
        };
        let claim = AuditClaim { point, mechanism: Some(Mechanism::try_from(&file.mechanism)?) };
        claim.must_be_consistent()?;
        Ok(claim)
    }

    /// A mechanism and the point of its curve at this δ: the ε that is claimed, or what the accountant proves.
    ///
    /// # Errors
    /// A mechanism without an upper bound, or an ε below its bound.
    pub fn of_subject(
        subject: &Subject,
        delta: Delta,
        claimed: Option<Epsilon>,
    ) -> Result<AuditClaim, Refusal> {
        let found = account(subject, Target::Delta(delta), Choice::Best)?.epsilon;
        let epsilon = claimed.map(Upper).or(found.upper()).ok_or_else(no_upper_bound)?;
        let point = Claim { epsilon, delta, adjacency: subject.adjacency };
        must_keep(&point, &found)?;
        Ok(AuditClaim { point, mechanism: Some(subject.mechanism.clone()) })
    }

    /// What is claimed of a subject of ours: the ε that is stated, or the one that is proved; nothing where there is neither.
    ///
    /// An ε below the proof is claimed alone. The audit then asks whether the subject keeps this ε; that it has its declared mechanism
    /// is not in question.
    pub(crate) fn of_proof(
        subject: &Subject,
        delta: Delta,
        proved: Option<Upper<Epsilon>>,
        claimed: Option<Epsilon>,
    ) -> Result<Option<AuditClaim>, Refusal> {
        let Some(epsilon) = claimed.map(Upper).or(proved) else { return Ok(None) };
        must_be_finite(epsilon)?;
        let keeps = proved.is_some_and(|proved| !is_below(epsilon, proved));
        let point = Claim { epsilon, delta, adjacency: subject.adjacency };
        Ok(Some(AuditClaim { point, mechanism: keeps.then(|| subject.mechanism.clone()) }))
    }

    /// Refuses a claim whose ε is below the one that the accountant certifies for its mechanism.
    pub(crate) fn must_be_consistent(&self) -> Result<(), Refusal> {
        must_be_finite(self.point.epsilon)?;
        match &self.mechanism {
            Some(mechanism) => must_keep(&self.point, &certified(mechanism, &self.point)?),
            None => Ok(()),
        }
    }

    /// The curves of the claimed mechanism, none of them computed yet.
    pub(crate) fn curves(&self) -> Option<Curves> {
        let mechanism = self.mechanism.clone()?;
        // An audit of a group of mechanisms without a scale has a curve all the same.
        let has_noise = mechanism.with_noise(1.0).is_ok();
        Some(Curves { mechanism, point: self.point, has_noise, known: Mutex::default() })
    }
}

/// The ε that the accountant certifies for a mechanism at the δ and the adjacency of a claim.
fn certified(mechanism: &Mechanism, point: &Claim) -> Result<Finding<Epsilon>, Refusal> {
    let subject =
        Subject { mechanism: mechanism.clone(), adjacency: point.adjacency, unit: PrivacyUnit::default() };
    Ok(account(&subject, Target::Delta(point.delta), Choice::Best)?.epsilon)
}

/// Refuses an ε that is not proved of the claimed mechanism. Below the lower bound it is false; between the bounds nobody can prove it.
fn must_keep(point: &Claim, found: &Finding<Epsilon>) -> Result<(), Refusal> {
    must_be_finite(point.epsilon)?;
    let upper = found.upper().ok_or_else(no_upper_bound)?;
    if !is_below(point.epsilon, upper) {
        return Ok(());
    }
    Err(Refusal::invalid(format!(
        "claim epsilon is {}, expected at least {}, which the accountant certifies for the claimed mechanism at delta {} \
         ({}); claim at least that, declare more noise, or claim an epsilon without a mechanism",
        decimal::nearest(point.epsilon.0.get(), 9),
        decimal::up(upper.0.get(), 9),
        decimal::nearest(point.delta.get(), 9),
        point.adjacency,
    )))
}

/// Whether an ε is below a certified one by more than two machines may differ in rounding.
fn is_below(stated: Upper<Epsilon>, certified: Upper<Epsilon>) -> bool {
    let (stated, certified) = (stated.0.get(), certified.0.get());
    stated < certified - ROUNDING * certified.max(1.0)
}

fn must_be_finite(epsilon: Upper<Epsilon>) -> Result<(), Refusal> {
    let epsilon = epsilon.0.get();
    match epsilon.is_finite() {
        true => Ok(()),
        false => Err(Refusal::out_of_range("claim epsilon", epsilon, "a finite number ≥ 0")),
    }
}

fn no_upper_bound() -> Refusal {
    Refusal::invalid(
        "the accountant has no upper bound for the claimed mechanism; claim an epsilon without a mechanism",
    )
}

/// A claimed mechanism with any part of its noise, as the accountant knows it. Curves take the accountant a while, so each is computed
/// once: planning, watching and judging an audit share one of these.
#[derive(Debug)]
pub(crate) struct Curves {
    mechanism: Mechanism,
    point: Claim,
    has_noise: bool,
    /// The curves that were computed, by the bits of the part.
    known: Mutex<BTreeMap<u64, ClaimedCurve>>,
}

/// The curves as the bounds ask for them.
pub(crate) fn as_declared(curves: Option<&Curves>) -> Option<&dyn Declared> {
    curves.map(|curves| curves as &dyn Declared)
}

impl Declared for Curves {
    fn with_noise(&self, part: f64) -> Result<ClaimedCurve, Refusal> {
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(curve) = known().get(&part.to_bits()) {
            return Ok(curve.clone());
        }
        let curve = self.curve(part)?;
        known().insert(part.to_bits(), curve.clone());
        Ok(curve)
    }

    fn has_noise(&self) -> bool {
        self.has_noise
    }
}

impl Curves {
    fn curve(&self, part: f64) -> Result<ClaimedCurve, Refusal> {
        let mechanism = if part == 1.0 { self.mechanism.clone() } else { self.mechanism.with_noise(part)? };
        let subject = Subject { mechanism, adjacency: self.point.adjacency, unit: PrivacyUnit::default() };
        let points = match PrivacyProfile::near_zero(&subject, PAIRS) {
            Ok(profile) => profile.points,
            // Noise so small that nothing is promised is a curve too; a claim without a curve is refused.
            Err(Refusal::NotCertified(_) | Refusal::NoProtection(_)) if part < 1.0 => Vec::new(),
            Err(refusal) => return Err(refusal),
        };
        let mut pairs = Vec::new();
        for point in points {
            pairs.push((Epsilon::new(point.epsilon)?, Delta::new(point.upper.min(1.0))?));
        }
        if part == 1.0 {
            // The point is claimed too, and must be one of this mechanism, wherever the claim was read.
            must_keep(&self.point, &certified(&self.mechanism, &self.point)?)?;
            pairs.push((self.point.epsilon.0, self.point.delta));
        }
        ClaimedCurve::new(pairs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use veracity_core::{Adjacency, NoiseMultiplier};

    /// ε of the Gaussian mechanism with noise multiplier 1 at δ = 1e-5 (Balle and Wang 2018, Theorem 8), by mpmath at 30 digits.
    const ADD_REMOVE: f64 = 4.37717809568122;
    /// The same where a record is replaced: noise multiplier 1/2.
    const REPLACE_ONE: f64 = 9.9972561464343;

    fn claim(epsilon: f64, adjacency: Adjacency, has_mechanism: bool) -> AuditClaim {
        let mechanism = Mechanism::Gaussian { noise_multiplier: NoiseMultiplier::new(1.0).unwrap() };
        let point = Claim {
            epsilon: Upper(Epsilon::new(epsilon).unwrap()),
            delta: Delta::new(1e-5).unwrap(),
            adjacency,
        };
        AuditClaim { point, mechanism: has_mechanism.then_some(mechanism) }
    }

    #[test]
    fn a_claim_below_its_own_mechanism_has_no_curve() {
        for (truth, adjacency) in [(ADD_REMOVE, Adjacency::AddRemove), (REPLACE_ONE, Adjacency::ReplaceOne)] {
            for (part, holds) in
                [(0.0, false), (0.5, false), (1.0 - 1e-7, false), (1.0 + 1e-7, true), (2.0, true)]
            {
                let claim = claim(truth * part, adjacency, true);
                assert_eq!(claim.must_be_consistent().is_ok(), holds, "{part} {adjacency}");
                assert_eq!(claim.curves().unwrap().with_noise(1.0).is_ok(), holds, "{part} {adjacency}");
            }
        }
        // An ε alone contradicts nothing; one without an end is no claim.
        assert!(claim(0.1, Adjacency::AddRemove, false).must_be_consistent().is_ok());
        assert!(claim(f64::INFINITY, Adjacency::AddRemove, true).must_be_consistent().is_err());
        assert!(claim(f64::INFINITY, Adjacency::AddRemove, false).must_be_consistent().is_err());
    }

    #[test]
    fn an_epsilon_below_the_proof_is_claimed_without_the_mechanism() {
        let honest = claim(ADD_REMOVE, Adjacency::AddRemove, true);
        let subject = Subject::new(honest.mechanism.unwrap());
        let delta = honest.point.delta;
        let proved = account(&subject, Target::Delta(delta), Choice::Best).unwrap().epsilon.upper();
        let of = |claimed: Option<f64>| {
            let claimed = claimed.map(|epsilon| Epsilon::new(epsilon).unwrap());
            AuditClaim::of_proof(&subject, delta, proved, claimed)
                .map(|claim| claim.unwrap().mechanism.is_some())
        };
        assert_eq!((of(None), of(Some(5.0)), of(Some(3.0))), (Ok(true), Ok(true), Ok(false)));
        assert!(of(Some(f64::INFINITY)).is_err());
        assert_eq!(AuditClaim::of_proof(&subject, delta, None, None), Ok(None));
    }
}
