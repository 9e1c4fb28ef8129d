//! The privacy profile δ(ε) at enough points to draw it, to write it down and to see what attacks it allows.

use crate::{Adjacency, Delta, Epsilon, Method, Refusal, Subject, Target, accounting::without_exact};
use veracity_account::Profile;

/// The profile is followed down to this δ.
const LEAST_DELTA: f64 = 1e-10;

/// δ at one ε, from both sides where both are known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// The ε.
    pub epsilon: f64,
    /// The true δ is at least this, where a bound is known.
    pub lower: Option<f64>,
    /// The true δ is at most this.
    pub upper: f64,
}

/// Points of a privacy profile by rising ε, the first at ε = 0 or where δ falls below 1.
#[derive(Debug, Clone, PartialEq)]
pub struct PrivacyProfile {
    /// The points.
    pub points: Vec<Point>,
    /// The method that found them.
    pub method: Method,
    /// The adjacency they hold under.
    pub adjacency: Adjacency,
}

impl PrivacyProfile {
    /// `count` points from ε = 0 to where δ passes below 1e-10; exact, or an upper bound where exact has no theorem.
    pub fn new(subject: &Subject, count: usize) -> Result<PrivacyProfile, Refusal> {
        let source = Source::new(subject)?;
        let farthest = source.farthest()?;
        let steps = count.max(2) - 1;
        let found = (0..=steps).map(|index| {
            // Closer together at the far end, where the profile of a pure mechanism drops to zero.
            let share = (std::f64::consts::FRAC_PI_2 * index as f64 / steps as f64).sin();
            source.at(farthest * share)
        });
        // Where δ is 1 to within rounding there is nothing to promise, and the point is left out.
        let points: Vec<Point> =
            found.filter(|point| !matches!(point, Err(Refusal::NoAnswer(_)))).collect::<Result<_, _>>()?;
        if points.is_empty() {
            return Err(Refusal::NoAnswer("no delta below 1 was certified, expected more noise".into()));
        }
        Ok(PrivacyProfile { points, method: source.method(), adjacency: subject.adjacency })
    }
}

/// Where points come from: prepared once where the exact accountant can, asked one by one elsewhere.
enum Source<'a> {
    Exact(Profile),
    Other(&'a Subject),
}

impl Source<'_> {
    fn new(subject: &Subject) -> Result<Source<'_>, Refusal> {
        match Profile::new(&subject.question()) {
            Ok(profile) => Ok(Source::Exact(profile)),
            Err(refusal @ Refusal::NoTheorem { .. }) => {
                let known = without_exact(&subject.question(), Target::Delta(Delta::new(LEAST_DELTA)?));
                known.map(|_| Source::Other(subject)).ok_or(refusal)
            }
            Err(refusal) => Err(refusal),
        }
    }

    fn method(&self) -> Method {
        match self {
            Source::Exact(_) => Method::Exact,
            Source::Other(_) => Method::Rdp,
        }
    }

    fn at(&self, epsilon: f64) -> Result<Point, Refusal> {
        let asked = Epsilon::new(epsilon)?;
        let (lower, upper) = match self {
            Source::Exact(profile) => {
                let bracket = profile.delta_at(asked)?;
                (Some(bracket.lower.0.get()), bracket.upper.0.get())
            }
            Source::Other(subject) => {
                let found = without_exact(&subject.question(), Target::Epsilon(asked))
                    .ok_or_else(|| Refusal::NoAnswer("no bound on delta is known at this epsilon".into()))?;
                let (lower, upper) = (found.delta.lower(), found.delta.upper());
                (lower.map(|bound| bound.0.get()), upper.map_or(1.0, |bound| bound.0.get()))
            }
        };
        Ok(Point { epsilon, lower, upper })
    }

    /// The ε at which the picture ends.
    fn farthest(&self) -> Result<f64, Refusal> {
        let least = Delta::new(LEAST_DELTA)?;
        let epsilon = match self {
            Source::Exact(profile) => farthest(profile)?,
            Source::Other(subject) => without_exact(&subject.question(), Target::Delta(least))
                .and_then(|answer| answer.epsilon.upper())
                .map_or(f64::INFINITY, |epsilon| epsilon.0.get()),
        };
        // A mechanism that leaks nothing still gets an axis.
        Ok(if epsilon.is_finite() && epsilon > 0.0 { epsilon } else { 1.0 })
    }
}

/// Where an exact profile passes below the least δ. One of a declared mechanism that may fail outright never does: it is
/// followed to the first power of ten that it reaches.
fn farthest(profile: &Profile) -> Result<f64, Refusal> {
    let mut refusal = None;
    for power in [-10, -9, -8, -7, -6, -5, -4, -3, -2, -1] {
        match profile.epsilon_at(Delta::new(10f64.powi(power).max(LEAST_DELTA))?) {
            Ok(found) => return Ok(found.upper.0.get()),
            Err(Refusal::NoAnswer(why)) => refusal = refusal.or(Some(Refusal::NoAnswer(why))),
            Err(other) => return Err(other),
        }
    }
    Err(refusal.unwrap_or_else(|| Refusal::NoAnswer("no delta was asked".into())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Mechanism;

    #[test]
    fn a_mechanism_that_may_fail_outright_has_a_profile_down_to_its_delta() {
        let (epsilon, delta) = (Epsilon::new(1.0).unwrap(), Delta::new(2e-6).unwrap());
        let subject = Subject::new(Mechanism::Approximate { epsilon, delta });
        let profile = PrivacyProfile::new(&subject, 9).unwrap();
        let last = profile.points.last().unwrap();
        assert!(last.epsilon <= 1.0 && last.epsilon > 0.99 && last.upper >= 2e-6, "{last:?}");
        assert!(last.upper <= 1.1e-5, "{last:?}");
    }
}
