//! The exact accountant: certified two-sided privacy profiles, at a cost that does not grow with the number of uses.
//!
//! A question is multiplied out into alternatives, each alternative into its directions (record added, record
//! removed), each direction into a closed form, a lattice sum or a contour integral. The worst one is the answer.

mod atoms;
mod composed;
mod contour;
mod cumulants;
mod direction;
mod distribution;
mod ellipse;
mod gathered;
mod gaussian;
mod hockey_stick;
mod largest;
mod lattice;
mod line;
mod majorant;
mod modulus;
mod one_jump;
mod pairs;
mod partition;
mod placement;
mod points;
mod rare;
mod refine;
mod sampled;
mod smooth_step;
mod truncation;

use crate::{Composition, Part, Question};
use direction::Direction;
use veracity_core::{Bracket, Delta, Epsilon, Finding, Refusal};

/// ε at δ, from both sides.
///
/// # Errors
/// Refuses a δ at which ε is infinite, and what no line certifies.
pub fn epsilon_at(question: &Question, delta: Delta) -> Result<Finding<Epsilon>, Refusal> {
    let profile = Profile::new(question)?;
    profile.epsilon_at(delta).map(|found| profile.finding(found))
}

/// δ at ε, from both sides.
///
/// # Errors
/// Refuses where δ is 1 to within rounding.
pub fn delta_at(question: &Question, epsilon: Epsilon) -> Result<Finding<Delta>, Refusal> {
    let profile = Profile::new(question)?;
    profile.delta_at(epsilon).map(|found| profile.finding(found))
}

/// The privacy profile δ(ε) of a question, certified from both sides; built once, asked many times.
///
/// # Examples
///
/// ```
/// use veracity_account::{Profile, Question};
/// use veracity_core::{Adjacency, Count, Delta, Mechanism, NoiseMultiplier, SamplingRate};
///
/// let plan = Mechanism::sampled_gaussian(SamplingRate::new(0.001)?, NoiseMultiplier::new(0.8)?, Count::new(100_000)?);
/// let profile = Profile::new(&Question { mechanism: plan, adjacency: Adjacency::AddRemove })?;
/// let epsilon = profile.epsilon_at(Delta::new(1e-6)?)?;
/// let (lower, upper) = (epsilon.lower.0.get(), epsilon.upper.0.get());
/// assert!(lower <= upper && upper - lower < 1e-3 * upper);
/// // Back again: the δ at the upper end is at most what was asked, up to rounding.
/// assert!(profile.delta_at(epsilon.upper.0)?.lower.0.get() <= 1e-6);
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
#[derive(Debug, Clone)]
pub struct Profile {
    directions: Vec<Direction>,
    /// Whether some mechanism that fits the question leaks as much: else there is no lower end.
    attained: bool,
}

impl Profile {
    /// Prepares the profile, or refuses what has no dominating pair.
    ///
    /// # Errors
    /// Refuses what has no dominating pair.
    pub fn new(question: &Question) -> Result<Profile, Refusal> {
        Profile::of(&crate::expand::expand(&question.mechanism, question.adjacency)?)
    }

    /// The worst profile of some alternatives.
    pub(crate) fn of(alternatives: &[Composition]) -> Result<Profile, Refusal> {
        let mut directions: Vec<Direction> = Vec::new();
        let mut attained = true;
        for composition in alternatives {
            attained &= composition.parts.iter().all(|(part, _)| !matches!(part, Part::AtMost(_)));
            for direction in Direction::of(composition)? {
                if !directions.contains(&direction) {
                    directions.push(direction);
                }
            }
        }
        Ok(Profile { directions, attained })
    }

    /// Whether the lower ends are bounds on the question too. Else they are zero.
    pub fn is_attained(&self) -> bool {
        self.attained
    }

    /// What was found, with a lower end only where there is one.
    pub(crate) fn finding<T>(&self, found: Bracket<T>) -> Finding<T> {
        if self.attained { Finding::Bracket(found) } else { Finding::Upper(found.upper) }
    }

    /// The lower end of what leaks, from that of the pairs that dominate it.
    fn lower_end(&self, lower: f64) -> f64 {
        if self.attained { lower } else { 0.0 }
    }

    /// The ε that goes with `delta`.
    ///
    /// # Errors
    /// Refuses a δ at which ε is infinite, and what no line certifies.
    pub fn epsilon_at(&self, delta: Delta) -> Result<Bracket<Epsilon>, Refusal> {
        let mut worst = (0.0f64, 0.0f64);
        for direction in &self.directions {
            let (lower, upper) = in_order(direction.epsilon_at(delta.get(), worst.0)?)?;
            worst = (worst.0.max(lower), worst.1.max(upper));
        }
        Ok(Bracket::new(Epsilon::new(self.lower_end(worst.0))?, Epsilon::new(worst.1)?))
    }

    /// The δ that goes with `epsilon`.
    ///
    /// # Errors
    /// Refuses where δ is 1 to within rounding.
    pub fn delta_at(&self, epsilon: Epsilon) -> Result<Bracket<Delta>, Refusal> {
        self.worst_delta(epsilon, Direction::delta_at)
    }

    /// The same for one of many points of a curve: to two parts in 10^5, and faster, since the points share their lines.
    ///
    /// # Errors
    /// As [`Profile::delta_at`].
    pub fn delta_on_curve(&self, epsilon: Epsilon) -> Result<Bracket<Delta>, Refusal> {
        self.worst_delta(epsilon, Direction::delta_on_curve)
    }

    fn worst_delta(
        &self,
        epsilon: Epsilon,
        of: impl Fn(&Direction, f64) -> Result<(f64, f64), Refusal>,
    ) -> Result<Bracket<Delta>, Refusal> {
        let mut worst = (0.0f64, 0.0f64);
        for direction in &self.directions {
            let (lower, upper) = in_order(of(direction, epsilon.get())?)?;
            worst = (worst.0.max(lower), worst.1.max(upper));
        }
        if worst.1 >= 1.0 - f64::EPSILON {
            return Err(Refusal::NotCertified(format!(
                "delta at epsilon {epsilon} is 1 to within rounding, which is no protection; use a larger epsilon"
            )));
        }
        Ok(Bracket::new(Delta::new(self.lower_end(worst.0))?, Delta::new(worst.1)?))
    }
}

/// Sides that cross disprove an error bound: better no answer than a wrong one.
fn in_order((lower, upper): (f64, f64)) -> Result<(f64, f64), Refusal> {
    if lower <= upper {
        return Ok((lower, upper));
    }
    Err(Refusal::Contradiction(format!(
        "the lower bound exceeds the upper bound ({lower} > {upper}); this is a bug, please report it and use \
         method pld or rdp"
    )))
}
