//! The numbers of a claim, recomputed: ε at its δ by the method that it names, and the profile by the best one.

use super::{Check, ROUNDING, Stated};
use crate::best::Prepared;
use crate::claims::{
    Answer, Choice, ClaimFile, Delta, Epsilon, Method, Question, Refusal, Target,
    accounting::answer,
    claim::{POINTS, ProfilePoint},
    files::Interval,
    profile::{Curve, Point},
};
use std::{
    cell::{OnceCell, RefCell},
    cmp::Ordering,
};
use veracity_core::decimal;

/// How far, relatively, the end of a profile may lie from where it is found now. Each of its δ is recomputed at its own ε.
const REACH: f64 = 1e-6;
/// The most answers that are kept.
const MOST_KEPT: usize = 256;

/// What is recomputed for one mechanism under one adjacency, each number when it is first asked for.
#[derive(Debug)]
pub(super) struct Numbers {
    prepared: Prepared,
    profile: OnceCell<Result<Profile, Refusal>>,
    answers: RefCell<Vec<Asked>>,
}

/// A question, who was to answer it, and what came of it.
type Asked = (Target, Choice, Result<Answer, Refusal>);

/// The profile as it would be written now.
#[derive(Debug)]
struct Profile {
    points: Vec<Point>,
    farthest: f64,
}

impl Numbers {
    /// Nothing is computed yet.
    pub(super) fn new(question: &Question) -> Numbers {
        let prepared = Prepared::new(question);
        Numbers { prepared, profile: OnceCell::new(), answers: RefCell::default() }
    }

    /// The numbers of a claim, those of ε first; where these do not hold, no others.
    pub(super) fn checks(&self, claim: &ClaimFile, method: Method) -> Result<Vec<Check>, Refusal> {
        let mut checks = Vec::from(self.promise(claim, method)?);
        checks.extend(width(claim));
        // Whose promise does not hold has nothing else to lose, and profiles take longer.
        if checks.iter().all(|check| check.holds) {
            checks.extend(self.profile(&claim.profile)?);
        }
        Ok(checks)
    }

    /// The ε of a claim, from both sides: by its method alone, and where that is not enough as the best of all methods.
    fn promise(&self, claim: &ClaimFile, method: Method) -> Result<[Check; 2], Refusal> {
        let alone = self.judge(claim, (method, &[Choice::Only(method)]));
        match &alone {
            Ok(checks) if checks.iter().all(|check| check.holds) => alone,
            Ok(_) | Err(_) => self.judge(claim, (method, &[Choice::Only(method), Choice::Best])),
        }
    }

    fn judge(&self, claim: &ClaimFile, by: (Method, &[Choice])) -> Result<[Check; 2], Refusal> {
        let delta = Delta::new(claim.delta)?;
        let claimed = finite(&claim.epsilon, "epsilon.upper")?;
        let found: Vec<Answer> = self.found(Target::Delta(delta), by).collect();
        let uppers = found.iter().filter_map(|answer| answer.epsilon.upper()).map(|upper| upper.0.get());
        let lowers = found.iter().filter_map(|answer| answer.epsilon.lower()).map(|lower| lower.0.get());
        let (upper, lower) = (uppers.min_by(f64::total_cmp), lowers.max_by(f64::total_cmp));
        let enough = upper.is_some_and(|upper| claimed * (1.0 + ROUNDING) >= upper);
        let holds = enough || self.certifies(Epsilon::new(claimed)?, delta, by);
        // Where δ was asked at an ε, that is what is certified, and ε at this δ need not be known.
        let upper = match upper {
            Some(upper) => upper,
            None if holds => claimed,
            None => return Err(self.refusal(delta, by.0)),
        };
        let what = format!("epsilon at delta {}", decimal::nearest(delta.get(), 17));
        let may_lack = found.is_empty() || found.iter().any(|answer| answer.epsilon.lower().is_none());
        let below = lower_end(&what, claim.epsilon.lower, (lower, upper), may_lack);
        Ok([Check { what, stated: Stated::Upper, claimed, lower, upper, holds }, below])
    }

    /// Whether the method shows that δ at this ε is no more than is claimed: the same promise, asked the other way round.
    fn certifies(&self, epsilon: Epsilon, delta: Delta, by: (Method, &[Choice])) -> bool {
        self.found(Target::Epsilon(epsilon), by)
            .filter_map(|answer| answer.delta.upper())
            .any(|upper| upper.0.get() <= delta.get() * (1.0 + ROUNDING))
    }

    /// Why a method gives no bound.
    fn refusal(&self, delta: Delta, method: Method) -> Refusal {
        match self.prepared.epsilon_by(method, delta) {
            Err(refusal) => refusal,
            Ok(_) => Refusal::NotCertified(format!("method {method} gives no bound at delta {delta}")),
        }
    }

    /// What a method finds in each way that it is asked.
    fn found<'a>(
        &'a self,
        target: Target,
        (method, choices): (Method, &'a [Choice]),
    ) -> impl Iterator<Item = Answer> + 'a {
        let asked = choices.iter().filter_map(move |choice| self.ask(target, *choice).ok());
        asked.filter(move |answer| answer.method == method)
    }

    /// One answer, computed once.
    fn ask(&self, target: Target, choice: Choice) -> Result<Answer, Refusal> {
        let mut answers = self.answers.borrow_mut();
        if let Some((_, _, known)) = answers.iter().find(|asked| (asked.0, asked.1) == (target, choice)) {
            return known.clone();
        }
        let found = answer(&self.prepared, target, choice);
        if answers.len() == MOST_KEPT {
            answers.drain(..1);
        }
        answers.push((target, choice, found.clone()));
        found
    }

    /// The points of a profile: their ε must be those of the grid, their δ what is found there.
    fn profile(&self, stated: &[ProfilePoint]) -> Result<Vec<Check>, Refusal> {
        let expected = self.profile.get_or_init(|| {
            let curve = Curve::new(&self.prepared)?;
            Ok(Profile { points: curve.points(POINTS)?, farthest: curve.farthest() })
        });
        let expected = expected.as_ref().map_err(Refusal::clone)?;
        if let Some(fault) = expected.fault(stated) {
            return Ok(vec![fault]);
        }
        let same = |(stated, known): (&ProfilePoint, &Point)| stated.epsilon == known.epsilon;
        let is_same = stated.iter().zip(&expected.points).all(same);
        let curve = if is_same { None } else { Some(Curve::new(&self.prepared)?) };
        let mut checks = Vec::new();
        for (stated, known) in stated.iter().zip(&expected.points) {
            let found = match &curve {
                None => *known,
                Some(curve) => curve.at(stated.epsilon)?,
            };
            let what = format!("delta at epsilon {}", decimal::nearest(stated.epsilon, 17));
            let claimed = Delta::new(finite(&stated.delta, "delta.upper")?)?.get();
            let Point { lower, upper, .. } = found;
            let holds = claimed * (1.0 + ROUNDING) >= upper;
            checks.push(Check { what: what.clone(), stated: Stated::Upper, claimed, lower, upper, holds });
            checks.push(lower_end(&what, stated.delta.lower, (lower, upper), lower.is_none()));
        }
        Ok(checks)
    }
}

impl Profile {
    /// The first ε of a profile that is not where it is found now. All of them may be longer or shorter by a hair.
    fn fault(&self, stated: &[ProfilePoint]) -> Option<Check> {
        let differs = |what: String, claimed: f64, found: f64| Check {
            what,
            stated: Stated::Value,
            claimed,
            lower: Some(found),
            upper: found,
            holds: false,
        };
        let (many, known) = (stated.len(), self.points.len());
        if many != known {
            return Some(differs("number of points in the profile".into(), many as f64, known as f64));
        }
        let last = stated.last().map_or(self.farthest, |point| point.epsilon);
        let scale = last / self.farthest;
        let scale = if (scale - 1.0).abs() <= REACH { scale } else { 1.0 };
        let places = stated.iter().zip(&self.points).enumerate();
        let mut wrong = places.filter(|(_, (stated, known))| {
            let apart = (stated.epsilon - scale * known.epsilon).abs();
            // What is not a number is not near.
            !matches!(apart.partial_cmp(&(ROUNDING * self.farthest)), Some(Ordering::Less | Ordering::Equal))
        });
        let (place, (stated, known)) = wrong.next()?;
        Some(differs(format!("epsilon at point {} of the profile", place + 1), stated.epsilon, known.epsilon))
    }
}

/// Checks the lower bound of an interval, or that there may be none.
fn lower_end(what: &str, stated: Option<f64>, found: (Option<f64>, f64), may_lack: bool) -> Check {
    let (lower, upper) = found;
    let holds = match (stated, lower) {
        // Nothing is shown, which is always true.
        (None, _) => may_lack,
        (Some(claimed), Some(shown)) => claimed >= 0.0 && claimed <= shown * (1.0 + ROUNDING),
        (Some(_), None) => false,
    };
    let (what, claimed) = (format!("lower bound of {what}"), stated.unwrap_or(f64::NAN));
    Check { what, stated: Stated::Lower, claimed, lower, upper, holds }
}

/// The width that is stated must be that of the interval beside it, to the last bit: both are in the same file.
fn width(claim: &ClaimFile) -> Option<Check> {
    let (claimed, expected) = (claim.method.relative_width, claim.epsilon.relative_width());
    if claimed == expected {
        return None;
    }
    Some(Check {
        what: "relative width of epsilon".into(),
        stated: Stated::Value,
        claimed: claimed.unwrap_or(f64::NAN),
        lower: expected,
        upper: expected.unwrap_or(f64::NAN),
        holds: false,
    })
}

fn finite(interval: &Interval, name: &'static str) -> Result<f64, Refusal> {
    match interval.upper {
        Some(upper) if upper >= 0.0 && upper.is_finite() => Ok(upper),
        Some(upper) => Err(Refusal::out_of_range(name, upper, "a finite number ≥ 0")),
        None => Err(Refusal::out_of_range(name, "missing", "a number")),
    }
}
