//! The default answer: exact where it certifies, else the tightest certified bound of the other methods.
//!
//! A [`Prepared`] question asks the exact profile first. Where that refuses, every other method that bounds is asked and the
//! least upper end is kept, with the largest lower end that any of them shows. Where exact answers but leaves its two ends far
//! apart, the grid is asked too and the two intervals are intersected. The answer names its method, and why exact is not it.

use crate::{Method, Profile, Question};
use std::cell::OnceCell;
use veracity_core::{Bracket, Delta, Epsilon, Finding, Refusal, Upper};

/// Methods that bound, other than exact, the sharpest first.
const OTHERS: [Method; 6] =
    [Method::Pld, Method::Gdp, Method::Rdp, Method::Zcdp, Method::Optimal, Method::Basic];
/// Ends of an exact interval that are further apart than this, relatively, are worth a second opinion.
const WIDE: f64 = 1e-3;
/// Ends that are this close are not wide, whatever they are relative to.
const CLOSE: f64 = 1e-12;

/// A δ of which nobody asks for more than that it is no smaller.
const LARGE: f64 = 0.5;

/// The tightest certified answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Best<T> {
    /// The bounds.
    pub finding: Finding<T>,
    /// The method that gave the upper end.
    pub method: Method,
    /// Why that is not exact alone.
    pub fallback: Option<Refusal>,
}

/// The ε at `delta` by the best method.
///
/// # Promise  As the method that is named; the least upper end of all that were asked
///
/// # Errors
/// Refuses where no method that bounds has an answer, and where two certified methods contradict each other.
///
/// # Examples
///
/// Where exact has no theorem the answer says so, and by which method it is:
///
/// ```
/// use veracity_account::{Method, Question, best};
/// use veracity_core::{Adjacency, Delta, Mechanism, RdpCurve};
///
/// let mechanism = Mechanism::Rdp { curve: RdpCurve::new(vec![(2.0, 0.01), (16.0, 0.08), (64.0, 0.32)])? };
/// let question = Question { mechanism, adjacency: Adjacency::AddRemove };
/// let answer = best::epsilon_at(&question, Delta::new(1e-6)?)?;
/// assert_ne!(answer.method, Method::Exact);
/// assert!(answer.fallback.is_some() && answer.finding.upper().is_some());
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
pub fn epsilon_at(question: &Question, delta: Delta) -> Result<Best<Epsilon>, Refusal> {
    Prepared::new(question).epsilon_at(delta)
}

/// The δ at `epsilon` by the best method.
///
/// # Promise  As [`epsilon_at`]
///
/// # Errors
/// As [`epsilon_at`], and where δ is 1 to within rounding.
pub fn delta_at(question: &Question, epsilon: Epsilon) -> Result<Best<Delta>, Refusal> {
    Prepared::new(question).delta_at(epsilon)
}

/// A question whose exact profile is prepared once, when it is first needed, and asked many times.
///
/// # Examples
///
/// ```
/// use veracity_account::{Question, best::Prepared};
/// use veracity_core::{Adjacency, Count, Delta, Mechanism, NoiseMultiplier, SamplingRate};
///
/// let plan = Mechanism::sampled_gaussian(SamplingRate::new(0.02)?, NoiseMultiplier::new(1.2)?, Count::new(500)?);
/// let prepared = Prepared::new(&Question { mechanism: plan, adjacency: Adjacency::AddRemove });
/// let mut before = f64::INFINITY;
/// for delta in [1e-8, 1e-6, 1e-4] {
///     let upper = prepared.epsilon_at(Delta::new(delta)?)?.finding.upper();
///     let epsilon = upper.map_or(f64::INFINITY, |upper| upper.0.get());
///     // A larger δ goes with a smaller ε.
///     assert!(epsilon < before);
///     before = epsilon;
/// }
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
#[derive(Debug, Clone)]
pub struct Prepared {
    question: Question,
    profile: OnceCell<Result<Profile, Refusal>>,
    /// Up to this ε, δ is shown to be large.
    vacuous: OnceCell<Option<Epsilon>>,
}

impl Prepared {
    /// Nothing is computed yet.
    pub fn new(question: &Question) -> Prepared {
        Prepared { question: question.clone(), profile: OnceCell::new(), vacuous: OnceCell::new() }
    }

    /// What is asked about.
    pub fn question(&self) -> &Question {
        &self.question
    }

    /// The exact profile, or why there is none.
    ///
    /// # Errors
    /// Refuses a mechanism without a dominating pair.
    pub fn exact(&self) -> Result<&Profile, Refusal> {
        self.profile.get_or_init(|| Profile::new(&self.question)).as_ref().map_err(Refusal::clone)
    }

    /// The ε at `delta`.
    ///
    /// # Errors
    /// Refuses where no method that bounds has an answer, and where two certified methods contradict each other.
    pub fn epsilon_at(&self, delta: Delta) -> Result<Best<Epsilon>, Refusal> {
        let exact = self.exact_epsilon_at(delta);
        tightest(exact, Epsilon::get, |method| crate::epsilon_at(&self.question, delta, method))
    }

    /// The δ at `epsilon`.
    ///
    /// # Errors
    /// As [`epsilon_at`], and where δ is 1 to within rounding.
    pub fn delta_at(&self, epsilon: Epsilon) -> Result<Best<Delta>, Refusal> {
        let exact = self.exact_delta_at(epsilon);
        tightest(exact, Delta::get, |method| crate::delta_at(&self.question, epsilon, method))
    }

    /// The ε at `delta` by `method`.
    ///
    /// # Errors
    /// As the method.
    pub fn epsilon_by(&self, method: Method, delta: Delta) -> Result<Finding<Epsilon>, Refusal> {
        match method {
            Method::Exact => self.exact_epsilon_at(delta),
            other => crate::epsilon_at(&self.question, delta, other),
        }
    }

    /// The δ at `epsilon` by `method`.
    ///
    /// # Errors
    /// As the method.
    pub fn delta_by(&self, method: Method, epsilon: Epsilon) -> Result<Finding<Delta>, Refusal> {
        match method {
            Method::Exact => self.exact_delta_at(epsilon),
            other => crate::delta_at(&self.question, epsilon, other),
        }
    }

    /// The δ at `epsilon` by exact, for one of many points of a curve.
    ///
    /// # Errors
    /// As [`Prepared::delta_by`] with [`Method::Exact`].
    pub fn exact_on_curve(&self, epsilon: Epsilon) -> Result<Finding<Delta>, Refusal> {
        self.exact_delta(epsilon, Profile::delta_on_curve)
    }

    fn exact_epsilon_at(&self, delta: Delta) -> Result<Finding<Epsilon>, Refusal> {
        let profile = self.exact()?;
        profile.epsilon_at(delta).map(|found| profile.finding(found))
    }

    fn exact_delta_at(&self, epsilon: Epsilon) -> Result<Finding<Delta>, Refusal> {
        self.exact_delta(epsilon, Profile::delta_at)
    }

    /// As the profile says, but for the one refusal that is an answer: that nobody is protected.
    fn exact_delta(
        &self,
        epsilon: Epsilon,
        ask: impl Fn(&Profile, Epsilon) -> Result<Bracket<Delta>, Refusal>,
    ) -> Result<Finding<Delta>, Refusal> {
        let profile = self.exact()?;
        match ask(profile, epsilon) {
            Err(Refusal::NotCertified(why)) if self.protects_nobody(profile, epsilon) => {
                Err(Refusal::NoProtection(why))
            }
            found => found.map(|found| profile.finding(found)),
        }
    }

    /// Whether δ at `epsilon` is shown to be large: at an ε no larger than the least that goes with a δ of a half.
    fn protects_nobody(&self, profile: &Profile, epsilon: Epsilon) -> bool {
        let least = || Delta::new(LARGE).and_then(|delta| profile.epsilon_at(delta)).ok();
        let until = self.vacuous.get_or_init(|| least().map(|found| found.lower.0));
        until.is_some_and(|until| until >= epsilon)
    }
}

/// Exact, exact and pld together, or the best of the others.
fn tightest<T: Copy + PartialOrd>(
    exact: Result<Finding<T>, Refusal>,
    number: impl Fn(T) -> f64,
    ask: impl Fn(Method) -> Result<Finding<T>, Refusal>,
) -> Result<Best<T>, Refusal> {
    match exact {
        Ok(Finding::Bracket(found)) => {
            let (lower, upper) = (number(found.lower.0), number(found.upper.0));
            let second = if is_wide(lower, upper) { unless_contradiction(ask(Method::Pld))? } else { None };
            second.map_or(Ok(alone(found)), |second| narrowed(found, second, (lower, upper)))
        }
        // What nothing need attain has no lower end, and no width.
        Ok(finding) => Ok(Best { finding, method: Method::Exact, fallback: None }),
        Err(refusal @ (Refusal::NoProtection(_) | Refusal::Contradiction(_))) => Err(refusal),
        // What none can do is best explained by the first.
        Err(refusal) => others(number, ask, &refusal)?.ok_or_else(|| of_all(refusal)),
    }
}

/// A refusal of exact where the other methods that it may name were asked in vain.
fn of_all(refusal: Refusal) -> Refusal {
    match refusal {
        Refusal::NoTheorem { culprit, setting, .. } if setting == format!("method {}", Method::Exact) => {
            Refusal::no_theorem(culprit, setting, "no other method gives a bound either")
        }
        other => other,
    }
}

/// Whether the ends of an exact interval leave something to be asked.
pub(crate) fn is_wide(lower: f64, upper: f64) -> bool {
    let width = upper - lower;
    !(width <= WIDE * upper || width <= CLOSE)
}

fn alone<T>(found: Bracket<T>) -> Best<T> {
    Best { finding: Finding::Bracket(found), method: Method::Exact, fallback: None }
}

/// What exact and another method say together.
fn narrowed<T: Copy + PartialOrd>(
    exact: Bracket<T>,
    other: Finding<T>,
    (lower, upper): (f64, f64),
) -> Result<Best<T>, Refusal> {
    let better = other.upper().filter(|other| other.0 < exact.upper.0);
    let shown = other.lower().filter(|other| other.0 > exact.lower.0);
    let bracket = Bracket { lower: shown.unwrap_or(exact.lower), upper: better.unwrap_or(exact.upper) };
    must_be_in_order(&bracket)?;
    if better.is_none() {
        return Ok(Best { finding: Finding::Bracket(bracket), method: Method::Exact, fallback: None });
    }
    let why = format!("method exact certifies only that it lies between {lower:.6e} and {upper:.6e}");
    let fallback = Some(Refusal::NotCertified(why));
    Ok(Best { finding: Finding::Bracket(bracket), method: Method::Pld, fallback })
}

/// The least upper end of the other methods, with the largest lower end; nothing where none of them bounds.
fn others<T: Copy + PartialOrd>(
    number: impl Fn(T) -> f64,
    ask: impl Fn(Method) -> Result<Finding<T>, Refusal>,
    refusal: &Refusal,
) -> Result<Option<Best<T>>, Refusal> {
    let mut best: Option<(Upper<T>, Method)> = None;
    let mut lower = None;
    for method in OTHERS {
        let Some(found) = unless_contradiction(ask(method))? else { continue };
        let Some(upper) = found.upper().filter(|upper| number(upper.0).is_finite()) else { continue };
        if best.is_none_or(|(least, _)| upper.0 < least.0) {
            best = Some((upper, method));
        }
        if let Some(shown) = found.lower().filter(|shown| lower.is_none_or(|most: T| shown.0 > most)) {
            lower = Some(shown.0);
        }
    }
    let Some((upper, method)) = best else { return Ok(None) };
    let finding = match lower {
        Some(lower) => {
            let bracket = Bracket::new(lower, upper.0);
            must_be_in_order(&bracket)?;
            Finding::Bracket(bracket)
        }
        None => Finding::Upper(upper),
    };
    Ok(Some(Best { finding, method, fallback: Some(refusal.clone()) }))
}

/// What a method found, or nothing where it refuses; but a contradiction is never passed over.
fn unless_contradiction<T>(found: Result<T, Refusal>) -> Result<Option<T>, Refusal> {
    match found {
        Err(refusal @ Refusal::Contradiction(_)) => Err(refusal),
        found => Ok(found.ok()),
    }
}

/// Two methods that contradict each other disprove one of them: better no answer than a wrong one.
fn must_be_in_order<T: PartialOrd>(bracket: &Bracket<T>) -> Result<(), Refusal> {
    if bracket.lower.0 <= bracket.upper.0 {
        return Ok(());
    }
    Err(Refusal::Contradiction(
        "two certified methods contradict each other; this is a bug, please report it".into(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use veracity_core::{Adjacency, Mechanism};
    use veracity_testkit::short;

    fn dp_sgd(rate: f64, noise: f64, steps: u64) -> Question {
        let rate = short::rate(rate);
        let (noise, steps) = (short::noise(noise), short::count(steps));
        Question {
            mechanism: Mechanism::sampled_gaussian(rate, noise, steps),
            adjacency: Adjacency::AddRemove,
        }
    }

    fn drawn(batch: u64, noise: f64, times: u64) -> Question {
        let count = |many| short::count(many);
        let gaussian = short::gaussian(noise);
        let mechanism = Mechanism::FixedSizeSampled {
            batch: count(batch),
            population: count(10_000),
            mechanism: Box::new(gaussian),
        };
        Question { mechanism: mechanism.repeated(count(times)), adjacency: Adjacency::ReplaceOne }
    }

    /// Never above any method that bounds, never below a lower end, whichever method answers.
    #[test]
    fn the_best_answer_is_the_tightest_of_all_that_bound() {
        let questions = [dp_sgd(0.01, 1.0, 1000), dp_sgd(0.1, 3000.0, 100), drawn(100, 4.0, 10)];
        for question in &questions {
            for delta in [1e-9, 1e-5].map(short::delta) {
                let best = epsilon_at(question, delta).unwrap();
                let upper = best.finding.upper().unwrap().0.get();
                for method in Method::ALL {
                    let Ok(found) = crate::epsilon_at(question, delta, method) else { continue };
                    let other = found.upper().map_or(f64::INFINITY, |other| other.0.get());
                    // Exact stands where it is narrow: a thousandth is not worth a second opinion.
                    assert!(upper <= other * (1.0 + WIDE), "{method}: {upper} > {other}");
                    assert!(found.lower().is_none_or(|lower| lower.0.get() <= upper), "{method}");
                }
                assert_eq!(best.method == Method::Exact, best.fallback.is_none());
            }
        }
    }

    /// Where δ is all but 1 exact certifies no bound below 1. That is told from a failure by a certificate from the other side.
    #[test]
    fn a_delta_of_one_is_told_from_a_failure() {
        for (question, vacuous, useful) in [
            (dp_sgd(0.5, 0.5, 1000), [0.0, 1.0, 200.0], 700.0),
            (dp_sgd(1.0, 0.5, 1000), [0.0, 100.0, 1300.0], 2200.0),
            (dp_sgd(0.01, 1.0, 10_000_000), [0.0, 100.0, 300.0], 1000.0),
        ] {
            let prepared = Prepared::new(&question);
            for epsilon in vacuous.map(short::epsilon) {
                let refused = prepared.delta_at(epsilon).unwrap_err();
                assert!(matches!(refused, Refusal::NoProtection(_)), "{epsilon}: {refused:?}");
            }
            assert!(prepared.delta_at(short::epsilon(useful)).is_ok());
        }
        let infinite = Prepared::new(&dp_sgd(1.0, 0.3, 100)).epsilon_at(short::delta(0.0));
        assert!(!matches!(infinite, Err(Refusal::NoProtection(_))), "{infinite:?}");
    }
}
