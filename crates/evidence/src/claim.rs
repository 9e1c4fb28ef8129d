//! What is claimed of a subject: a point (ε, δ), and the mechanism behind it, whose whole curve is then the claim.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};
use veracity_audit::{ClaimedCurve, Declared};
use veracity_claims::spec::MechanismSpec;
use veracity_claims::{Choice, ClaimFile, PrivacyProfile, Subject, Target, account};
use veracity_core::{Claim, Delta, Epsilon, Mechanism, PrivacyUnit, Refusal, Upper};

/// Pairs (ε, δ) by which a curve is known.
const PAIRS: usize = 33;
/// Curves that are remembered.
const REMEMBERED: usize = 4096;
/// Curves take the accountant a while, and planning, watching and judging ask for the same ones.
static KNOWN: Mutex<BTreeMap<(String, u64), ClaimedCurve>> = Mutex::new(BTreeMap::new());

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
    pub fn of_file(file: &ClaimFile) -> Result<AuditClaim, Refusal> {
        let upper = file.epsilon.upper.ok_or_else(|| {
            Refusal::invalid("the claim has no upper bound on epsilon, expected one that promises something")
        })?;
        let point = Claim {
            epsilon: Upper(Epsilon::new(upper)?),
            delta: Delta::new(file.delta)?,
            adjacency: file.adjacency.parse()?,
        };
        Ok(AuditClaim { point, mechanism: Some(Mechanism::try_from(&file.mechanism)?) })
    }

    /// A mechanism and the point of its curve at this δ: the ε that is claimed, or what the accountant proves.
    pub fn of_subject(
        subject: &Subject,
        delta: Delta,
        claimed: Option<Epsilon>,
    ) -> Result<AuditClaim, Refusal> {
        let proved = account(subject, Target::Delta(delta), Choice::Best)?.epsilon.upper();
        let epsilon = claimed.map(Upper).or(proved).ok_or_else(|| {
            Refusal::invalid("the accountant has no upper bound for the claimed mechanism; claim an epsilon")
        })?;
        let point = Claim { epsilon, delta, adjacency: subject.adjacency };
        Ok(AuditClaim { point, mechanism: Some(subject.mechanism.clone()) })
    }

    /// The curves of the claimed mechanism.
    pub(crate) fn curves(&self) -> Option<Curves> {
        let mechanism = self.mechanism.clone()?;
        // An audit of a group of mechanisms without a scale has a curve all the same.
        let has_noise = mechanism.with_noise(1.0).is_ok();
        let spec = serde_json::to_string(&MechanismSpec::from(&mechanism)).ok()?;
        let Claim { epsilon, delta, adjacency } = self.point;
        let name =
            format!("{spec} {} {} {}", adjacency.name(), epsilon.0.get().to_bits(), delta.get().to_bits());
        Some(Curves { mechanism, point: self.point, has_noise, name })
    }
}

/// A claimed mechanism with any part of its noise, as the accountant knows it.
#[derive(Debug)]
pub(crate) struct Curves {
    mechanism: Mechanism,
    point: Claim,
    has_noise: bool,
    /// What tells its curves from others.
    name: String,
}

impl Declared for Curves {
    fn with_noise(&self, part: f64) -> Result<ClaimedCurve, Refusal> {
        let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (self.name.clone(), part.to_bits());
        if let Some(curve) = known().get(&key) {
            return Ok(curve.clone());
        }
        let curve = self.curve(part)?;
        let mut known = known();
        if known.len() >= REMEMBERED {
            known.clear();
        }
        known.insert(key, curve.clone());
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
            // The point is claimed too, whoever states it.
            pairs.push((self.point.epsilon.0, self.point.delta));
        }
        ClaimedCurve::new(pairs)
    }
}
