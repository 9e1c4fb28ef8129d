//! The privacy profile δ(ε) at enough points to draw it, to write it down and to see what attacks it allows.
//!
//! A [`Curve`] is prepared once and gives δ at any ε: exactly, or by the tightest other method. The points of a
//! [`PrivacyProfile`] lie on one grid, from ε = 0 to where δ passes below 1e-10.

use crate::best::Prepared;
use crate::claims::{Adjacency, Delta, Epsilon, Finding, Method, Refusal, Subject};

/// The profile is followed down to this δ.
const LEAST_DELTA: f64 = 1e-10;
/// Where each point takes a transform of its own, only so many are computed; between them the profile is bounded by chords.
const NODES: usize = 9;
/// Covers the rounding of a chord.
const OUTWARD: f64 = 1.0 + 64.0 * f64::EPSILON;

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
    /// `count` points from ε = 0 to where δ passes below 1e-10; exact, or an upper bound where exact does not answer.
    ///
    /// # Errors
    /// Refuses a subject without a bound on δ.
    pub fn new(subject: &Subject, count: usize) -> Result<PrivacyProfile, Refusal> {
        PrivacyProfile::of(&Prepared::new(&subject.question()), count)
    }

    /// The same of a question that was prepared.
    pub(crate) fn of(prepared: &Prepared, count: usize) -> Result<PrivacyProfile, Refusal> {
        let curve = Curve::new(prepared)?;
        let points = curve.points(count)?;
        Ok(PrivacyProfile { points, method: curve.method, adjacency: prepared.question().adjacency })
    }

    /// The same points closer together at small ε, where most guesses of an attacker land, and the end of the profile.
    ///
    /// # Errors
    /// As [`PrivacyProfile::new`].
    pub fn near_zero(subject: &Subject, count: usize) -> Result<PrivacyProfile, Refusal> {
        let prepared = Prepared::new(&subject.question());
        let curve = Curve::new(&prepared)?;
        let steps = count.max(2) - 1;
        let share = |index: usize| (index as f64 / steps as f64).powf(1.5);
        let points = curve.points_at((0..=steps).map(|index| curve.farthest * share(index)))?;
        Ok(PrivacyProfile { points, method: curve.method, adjacency: subject.adjacency })
    }
}

/// A profile that can be asked at any ε.
pub(crate) struct Curve<'a> {
    prepared: &'a Prepared,
    method: Method,
    farthest: f64,
    nodes: Vec<(f64, f64)>,
}

impl Curve<'_> {
    /// Chooses the method and the ε at which the profile ends.
    pub(crate) fn new(prepared: &Prepared) -> Result<Curve<'_>, Refusal> {
        let (method, farthest) = match farthest(|delta| exact_end(prepared, delta)) {
            Ok(epsilon) => (Method::Exact, epsilon),
            Err(refusal) => {
                let best = |delta| {
                    let best = prepared.epsilon_at(delta)?;
                    Ok((best.method, end(&best.finding)?))
                };
                farthest(best).map_err(|_| refusal)?
            }
        };
        // A mechanism that leaks nothing still gets an axis.
        let farthest = if farthest.is_finite() && farthest > 0.0 { farthest } else { 1.0 };
        let mut curve = Curve { prepared, method, farthest, nodes: Vec::new() };
        if method == Method::Pld {
            curve.nodes = curve.nodes();
        }
        Ok(curve)
    }

    /// The points of the grid at which a δ below 1 is certified, by rising ε.
    pub(crate) fn points(&self, count: usize) -> Result<Vec<Point>, Refusal> {
        self.points_at(grid(self.farthest, count))
    }

    fn points_at(&self, epsilons: impl IntoIterator<Item = f64>) -> Result<Vec<Point>, Refusal> {
        let mut points = Vec::new();
        for epsilon in epsilons {
            match self.at(epsilon) {
                Ok(point) => points.push(point),
                // Where δ is 1 to within rounding there is nothing to promise, and the point is left out.
                Err(Refusal::NoProtection(_)) => {}
                Err(refusal) => return Err(refusal),
            }
        }
        if points.is_empty() {
            return Err(Refusal::NotCertified("no delta below 1 is certified; use more noise".into()));
        }
        Ok(points)
    }

    /// The ε at which the profile ends.
    pub(crate) fn farthest(&self) -> f64 {
        self.farthest
    }

    /// δ at one ε.
    pub(crate) fn at(&self, epsilon: f64) -> Result<Point, Refusal> {
        if !self.nodes.is_empty() {
            return self.between_nodes(epsilon);
        }
        let asked = Epsilon::new(epsilon)?;
        let found = match self.method {
            Method::Exact => self.prepared.exact_on_curve(asked),
            other => self.prepared.delta_by(other, asked),
        };
        let found = match found {
            Err(refusal @ (Refusal::NoProtection(_) | Refusal::Contradiction(_))) => return Err(refusal),
            Err(_) => match self.prepared.delta_at(asked) {
                Ok(best) => best.finding,
                Err(refusal) => return Err(self.vacuous(refusal)),
            },
            Ok(found) => found,
        };
        Ok(point(epsilon, &found))
    }

    /// Methods that bound from above only cannot show that δ is large; where all of them know no δ below 1, that is what they say.
    fn vacuous(&self, refusal: Refusal) -> Refusal {
        match refusal {
            Refusal::NotCertified(why) if self.method != Method::Exact => Refusal::NoProtection(why),
            other => other,
        }
    }

    /// A few points of a method that is slow.
    fn nodes(&self) -> Vec<(f64, f64)> {
        let known = grid(self.farthest, NODES).into_iter().filter_map(|epsilon| {
            let found = self.prepared.delta_by(self.method, Epsilon::new(epsilon).ok()?).ok()?;
            Some((epsilon, found.upper()?.0.get()))
        });
        known.collect()
    }

    /// δ falls, and is convex in e^ε, so that a chord between two bounds is a bound; a quick method may know a better one.
    fn between_nodes(&self, epsilon: f64) -> Result<Point, Refusal> {
        let asked = Epsilon::new(epsilon)?;
        let quick = self.prepared.delta_by(Method::Rdp, asked).ok().and_then(|found| found.upper());
        let before = self.nodes.iter().rfind(|node| node.0 <= epsilon);
        let after = self.nodes.iter().find(|node| node.0 >= epsilon);
        let chord = match (before, after) {
            (Some(&(_, high)), None) => Some(high),
            (Some(&(left, high)), Some(&(right, low))) if left < right => {
                let share = (epsilon - right).exp_m1() / (left - right).exp_m1();
                Some((low + share * (high - low)) * OUTWARD)
            }
            (Some(&(_, high)), Some(_)) => Some(high),
            (None, _) => None,
        };
        let upper = quick.map(|upper| upper.0.get()).into_iter().chain(chord).min_by(f64::total_cmp);
        match upper.filter(|upper| *upper < 1.0) {
            Some(upper) => Ok(Point { epsilon, lower: None, upper }),
            None => Err(Refusal::NoProtection(format!("no delta below 1 is certified at epsilon {epsilon}"))),
        }
    }
}

/// The ε of a profile: closer together at the far end, where that of a pure mechanism drops to zero.
pub(crate) fn grid(farthest: f64, count: usize) -> Vec<f64> {
    let steps = count.max(2) - 1;
    let share = |index: usize| (std::f64::consts::FRAC_PI_2 * index as f64 / steps as f64).sin();
    (0..=steps).map(|index| farthest * share(index)).collect()
}

fn point(epsilon: f64, found: &Finding<Delta>) -> Point {
    let upper = found.upper().map_or(1.0, |bound| bound.0.get());
    Point { epsilon, lower: found.lower().map(|bound| bound.0.get()), upper }
}

fn end(found: &Finding<Epsilon>) -> Result<f64, Refusal> {
    let bound = found.upper().map(|upper| upper.0.get()).filter(|upper| upper.is_finite());
    bound.ok_or_else(|| Refusal::NotCertified("epsilon is infinite; use a larger delta".into()))
}

/// Where an exact profile passes below `delta`; where that is not sharp, by the best method.
fn exact_end(prepared: &Prepared, delta: Delta) -> Result<f64, Refusal> {
    prepared.epsilon_by(Method::Exact, delta)?;
    end(&prepared.epsilon_at(delta)?.finding)
}

/// Where a profile passes below the least δ. One of a declared mechanism that may fail outright never does: it is
/// followed to the first power of ten that it reaches.
fn farthest<T>(at: impl Fn(Delta) -> Result<T, Refusal>) -> Result<T, Refusal> {
    let mut refusal = None;
    for power in [-10, -9, -8, -7, -6, -5, -4, -3, -2, -1] {
        match at(Delta::new(10f64.powi(power).max(LEAST_DELTA))?) {
            Ok(found) => return Ok(found),
            Err(Refusal::NotCertified(why)) => refusal = refusal.or(Some(Refusal::NotCertified(why))),
            Err(other) => return Err(other),
        }
    }
    Err(refusal.unwrap_or_else(|| Refusal::NotCertified("internal error: no delta was computed".into())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::Mechanism;
    use veracity_testkit::short;

    #[test]
    fn a_mechanism_that_may_fail_outright_has_a_profile_down_to_its_delta() {
        let (epsilon, delta) = (short::epsilon(1.0), short::delta(2e-6));
        let subject = Subject::new(Mechanism::Approximate { epsilon, delta });
        let profile = PrivacyProfile::new(&subject, 9).unwrap();
        let last = profile.points.last().unwrap();
        assert!(last.epsilon <= 1.0 && last.epsilon > 0.99 && last.upper >= 2e-6, "{last:?}");
        assert!(last.upper <= 1.1e-5, "{last:?}");
    }
}
