//! What is claimed of a mechanism: its curve from the accountant where that knows it, else the exact one, and a point of it.

use veracity::{
    Adjacency, Choice, Delta, Epsilon, PrivacyProfile, PrivacyUnit, Refusal, Subject, Target, Upper, account,
};
use veracity_audit::{ClaimUnderTest, ClaimedCurve, Declared};
use veracity_core::Claim;
use veracity_testkit::known::Known;

/// Pairs (ε, δ) of a curve, as audits ask the accountant for.
const PAIRS: usize = 33;

/// A claim that is true.
pub struct True {
    /// Where the curve comes from.
    pub source: &'static str,
    pub point: Claim,
    curve: ClaimedCurve,
}

impl Declared for True {
    fn with_noise(&self, _: f64) -> Result<ClaimedCurve, Refusal> {
        Ok(self.curve.clone())
    }

    /// How much noise trials allow is not asked here.
    fn has_noise(&self) -> bool {
        false
    }
}

impl True {
    /// The claim with its whole curve.
    pub fn whole(&self) -> ClaimUnderTest<'_> {
        ClaimUnderTest { point: self.point, declared: Some(self) }
    }

    /// A curve by its δ at every ε, and the point at `delta`.
    pub fn exact(delta_at: impl Fn(f64) -> f64, delta: f64, epsilon: f64) -> Result<True, Refusal> {
        // Curves end where δ does, or where there is nothing left to break.
        let mut farthest = 1.0;
        while farthest < 64.0 && delta_at(farthest) > 1e-9 {
            farthest *= 1.25;
        }
        let pairs = (0..PAIRS).map(|at| {
            let epsilon = farthest * (at as f64 / (PAIRS - 1) as f64).powf(1.5);
            let delta = (delta_at(epsilon) * (1.0 + 1e-9) + 1e-13).min(1.0);
            Ok((Epsilon::new(epsilon)?, Delta::new(delta)?))
        });
        let mut pairs = pairs.collect::<Result<Vec<_>, Refusal>>()?;
        let point = point(epsilon + 1e-9, delta, Adjacency::AddRemove)?;
        pairs.push((point.epsilon.0, point.delta));
        Ok(True { source: "exact", point, curve: ClaimedCurve::new(pairs)? })
    }
}

fn point(epsilon: f64, delta: f64, adjacency: Adjacency) -> Result<Claim, Refusal> {
    Ok(Claim { epsilon: Upper(Epsilon::new(epsilon)?), delta: Delta::new(delta)?, adjacency })
}

/// What is claimed of a mechanism with one canary.
pub fn of_known(known: &Known) -> Result<True, Refusal> {
    let delta = known.deltas[0];
    let Some((mechanism, adjacency)) = known.claimed.clone() else {
        return True::exact(|epsilon| known.delta_at(epsilon), delta, known.epsilon_at(delta));
    };
    let subject = Subject { mechanism, adjacency, unit: PrivacyUnit::default() };
    let proved = account(&subject, Target::Delta(Delta::new(delta)?), Choice::Best)?.epsilon.upper();
    let epsilon = proved.ok_or_else(|| Refusal::invalid("the accountant has no upper bound"))?;
    let mut pairs = Vec::new();
    for point in PrivacyProfile::near_zero(&subject, PAIRS)?.points {
        pairs.push((Epsilon::new(point.epsilon)?, Delta::new(point.upper.min(1.0))?));
    }
    let point = Claim { epsilon, delta: Delta::new(delta)?, adjacency };
    pairs.push((epsilon.0, point.delta));
    Ok(True { source: "accountant", point, curve: ClaimedCurve::new(pairs)? })
}
