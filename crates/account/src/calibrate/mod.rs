//! The least noise, the most steps or the largest sampling rate that keeps within a budget.
//!
//! `guess` starts close by, `search` closes in on the last setting whose certified ε is within the budget. What is
//! returned has itself been certified, so a poor guess or a poor search costs time or noise, but not privacy.

mod guess;
mod search;

use crate::{Method, Question, best};
use search::{Axis, Grain};
use std::cell::Cell;
use veracity_core::{
    Adjacency, Count, Delta, Epsilon, Finding, Mechanism, NoiseMultiplier, Refusal, SamplingRate,
};

/// Settings this close, relatively, are not told apart.
const CLOSE: f64 = 1e-7;

const NOISE: Axis = Axis { private: 1e9, revealing: 1e-6, elasticity: 1.2, grain: Grain::Relative(CLOSE) };
const STEPS: Axis =
    Axis { private: 1.0, revealing: Count::MOST as f64, elasticity: 0.6, grain: Grain::Whole };
const RATE: Axis = Axis { private: 1e-15, revealing: 1.0, elasticity: 1.0, grain: Grain::Relative(CLOSE) };

/// The smallest noise multiplier for which `family(noise)` has a certified ε ≤ `epsilon` at `delta`.
///
/// # Promise   The ε of `family` at the result was certified: exact, or by the tightest other method where exact does not answer
/// # Assumes   More noise never costs more; otherwise the promise stands but a smaller noise may do as well
/// # Numerics  Within 1e-7, relative, of a noise multiplier whose certified ε is above `epsilon`
///
/// # Errors
/// Refuses an ε of 0 and one that no noise multiplier up to 1e9 reaches, and passes on the refusals of the accountant.
///
/// # Examples
///
/// ```
/// use veracity_account::{Method, Question, calibrate, epsilon_at};
/// use veracity_core::{Adjacency, Delta, Epsilon, Mechanism};
///
/// let (epsilon, delta) = (Epsilon::new(1.0)?, Delta::new(1e-5)?);
/// let family = |noise_multiplier| Mechanism::Gaussian { noise_multiplier };
/// let noise = calibrate::noise(&family, Adjacency::AddRemove, epsilon, delta)?;
/// // Less than the textbook's √(2 ln(1.25/δ))/ε.
/// assert!(noise.get() < (2.0 * (1.25 / 1e-5f64).ln()).sqrt());
///
/// let question = Question { mechanism: family(noise), adjacency: Adjacency::AddRemove };
/// let found = epsilon_at(&question, delta, Method::Exact)?;
/// assert!(found.upper().is_some_and(|upper| upper.0 <= epsilon));
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
pub fn noise(
    family: &dyn Fn(NoiseMultiplier) -> Mechanism,
    adjacency: Adjacency,
    epsilon: Epsilon,
    delta: Delta,
) -> Result<NoiseMultiplier, Refusal> {
    least_noise(&|noise| Ok(family(noise)), adjacency, epsilon, delta)
}

/// [`least_noise`] in plain numbers, when records are added or removed.
///
/// # Errors
/// As [`noise`], and refuses an ε or a δ out of range.
///
/// # Examples
///
/// ```
/// use veracity_account::calibrate::noise_for;
/// use veracity_core::Mechanism;
///
/// let noise = noise_for(3.0, 1e-5, |noise| Mechanism::dp_sgd(0.01, noise, 1000))?;
/// assert!((0.81..0.82).contains(&noise));
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
pub fn noise_for(
    epsilon: f64,
    delta: f64,
    family: impl Fn(f64) -> Result<Mechanism, Refusal>,
) -> Result<f64, Refusal> {
    let (epsilon, delta) = (Epsilon::new(epsilon)?, Delta::new(delta)?);
    least_noise(&|noise| family(noise.get()), Adjacency::AddRemove, epsilon, delta).map(NoiseMultiplier::get)
}

/// As [`noise`], for a family that exists for some noise multipliers only; where it does not, it counts as too revealing.
///
/// # Errors
/// As [`noise`].
pub fn least_noise(
    family: &dyn Fn(NoiseMultiplier) -> Result<Mechanism, Refusal>,
    adjacency: Adjacency,
    epsilon: Epsilon,
    delta: Delta,
) -> Result<NoiseMultiplier, Refusal> {
    let budget = Budget::new(adjacency, epsilon, delta)?;
    let with = |x: f64| NoiseMultiplier::new(x).and_then(family);
    match search::last_within(&NOISE, budget.start(&NOISE, with), epsilon.get(), |x| budget.leak(with(x)?))? {
        Some(noise) => NoiseMultiplier::new(noise),
        None => Err(budget.unreachable("every noise multiplier up to 1e9")),
    }
}

/// The most uses of `mechanism` whose certified ε is ≤ `epsilon` at `delta`, at most [`Count::MOST`].
///
/// # Promise   As [`noise`]; one more use, where it can be counted, has a certified ε above `epsilon`
/// # Assumes   More uses never cost less
///
/// # Errors
/// Refuses an ε of 0 and one that a single use exceeds, and passes on the refusals of the accountant.
///
/// # Examples
///
/// ```
/// use veracity_account::calibrate;
/// use veracity_core::{Adjacency, Delta, Epsilon, Mechanism, NoiseMultiplier};
///
/// // Pure ε adds up: a release of ε = 1/4 fits four times into ε = 1 and a little.
/// let release = Mechanism::Laplace { noise_multiplier: NoiseMultiplier::new(4.0)? };
/// let budget = Epsilon::new(1.001)?;
/// let steps = calibrate::steps(&release, Adjacency::AddRemove, budget, Delta::new(0.0)?)?;
/// assert_eq!(steps.get(), 4);
/// // With a δ, more fit.
/// let steps = calibrate::steps(&release, Adjacency::AddRemove, budget, Delta::new(1e-2)?)?;
/// assert!(steps.get() > 4);
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
pub fn steps(
    mechanism: &Mechanism,
    adjacency: Adjacency,
    epsilon: Epsilon,
    delta: Delta,
) -> Result<Count, Refusal> {
    let budget = Budget::new(adjacency, epsilon, delta)?;
    // Whole and at most 10^15, so the cast is exact.
    let with = |x: f64| Count::new(x as u64).map(|times| mechanism.clone().repeated(times));
    match search::last_within(&STEPS, budget.start(&STEPS, with), epsilon.get(), |x| budget.leak(with(x)?))? {
        Some(steps) => Count::new(steps as u64),
        None => Err(budget.unreachable("even one use")),
    }
}

/// The largest sampling rate for which `family(rate)` has a certified ε ≤ `epsilon` at `delta`.
///
/// # Promise   As [`noise`]
/// # Assumes   A larger batch never costs less
/// # Numerics  Within 1e-7, relative, of a rate whose certified ε is above `epsilon`
///
/// # Errors
/// Refuses an ε of 0 and one that every rate exceeds, and passes on the refusals of the accountant.
///
/// # Examples
///
/// ```
/// use veracity_account::calibrate;
/// use veracity_core::{Adjacency, Count, Delta, Epsilon, Mechanism, NoiseMultiplier};
///
/// let (noise, steps) = (NoiseMultiplier::new(1.0)?, Count::new(1_000)?);
/// let family = |rate| Mechanism::sampled_gaussian(rate, noise, steps);
/// let delta = Delta::new(1e-5)?;
/// let rate = calibrate::sampling_rate(&family, Adjacency::AddRemove, Epsilon::new(2.0)?, delta)?;
/// let smaller = calibrate::sampling_rate(&family, Adjacency::AddRemove, Epsilon::new(1.0)?, delta)?;
/// assert!(smaller < rate && rate.get() < 0.1);
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
pub fn sampling_rate(
    family: &dyn Fn(SamplingRate) -> Mechanism,
    adjacency: Adjacency,
    epsilon: Epsilon,
    delta: Delta,
) -> Result<SamplingRate, Refusal> {
    let budget = Budget::new(adjacency, epsilon, delta)?;
    let with = |x: f64| SamplingRate::new(x).map(family);
    let leak = |x: f64| budget.leak(with(x)?);
    // Without sampling more is exact than with it, so the largest rate may do where a smaller one does not.
    if leak(RATE.revealing).is_ok_and(|leak| leak <= epsilon.get()) {
        return SamplingRate::new(RATE.revealing);
    }
    match search::last_within(&RATE, budget.start(&RATE, with), epsilon.get(), leak)? {
        Some(rate) => SamplingRate::new(rate),
        None => Err(budget.unreachable("every sampling rate down to 1e-15")),
    }
}

/// What must be kept within.
struct Budget {
    adjacency: Adjacency,
    epsilon: Epsilon,
    delta: Delta,
    /// The method that answered last.
    method: Cell<Method>,
}

impl Budget {
    fn new(adjacency: Adjacency, epsilon: Epsilon, delta: Delta) -> Result<Budget, Refusal> {
        if epsilon.get() == 0.0 || epsilon.get().is_infinite() {
            return Err(Refusal::out_of_range("epsilon", epsilon, "a finite number > 0 to calibrate to"));
        }
        Ok(Budget { adjacency, epsilon, delta, method: Cell::new(Method::Exact) })
    }

    /// The certified ε of a mechanism, by the method that answered before while it answers.
    fn leak(&self, mechanism: Mechanism) -> Result<f64, Refusal> {
        let question = Question { mechanism, adjacency: self.adjacency };
        let upper = |found: &Finding<Epsilon>| found.upper().map_or(f64::INFINITY, |upper| upper.0.get());
        match crate::epsilon_at(&question, self.delta, self.method.get()) {
            Ok(found) if !self.is_open(&found) => Ok(upper(&found)),
            // All methods are slow together: they are asked anew only where the one chosen cannot decide.
            Ok(_) | Err(_) => {
                let best = best::epsilon_at(&question, self.delta)?;
                self.method.set(best.method);
                Ok(upper(&best.finding))
            }
        }
    }

    /// Whether an interval is wide and has the budget within it: another method may still show that it is kept.
    fn is_open(&self, found: &Finding<Epsilon>) -> bool {
        let Finding::Bracket(bracket) = found else { return false };
        let (lower, upper) = (bracket.lower.0, bracket.upper.0);
        self.method.get() == Method::Exact
            && best::is_wide(lower.get(), upper.get())
            && lower <= self.epsilon
            && upper > self.epsilon
    }

    fn start(&self, axis: &Axis, with: impl Fn(f64) -> Result<Mechanism, Refusal>) -> f64 {
        let seems_within = guess::within(self.epsilon, self.delta);
        axis.last(|x| {
            with(x)
                .and_then(|mechanism| crate::expand::expand(&mechanism, self.adjacency))
                .is_ok_and(|alternatives| alternatives.iter().all(&seems_within))
        })
    }

    fn unreachable(&self, culprit: &str) -> Refusal {
        let Budget { epsilon, delta, .. } = self;
        Refusal::OverBudget(format!(
            "{culprit} leaks more than epsilon {epsilon:?} at delta {delta:?}; use a larger epsilon or delta",
            epsilon = epsilon.get(),
            delta = delta.get(),
        ))
    }
}
