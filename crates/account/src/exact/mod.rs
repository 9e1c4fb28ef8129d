//! The exact accountant: certified two-sided privacy profiles, at a cost that does not grow with the number of uses.
//!
//! A question is multiplied out into alternatives, each alternative into its directions (record added, record
//! removed), each direction into a closed form, a lattice sum or a contour integral. The worst one is the answer.

mod composed;
mod contour;
mod direction;
mod ellipse;
mod gaussian;
mod horizon;
mod jumps;
mod lattice;
mod law;
mod line;
mod pairs;
mod placement;
mod points;
mod sampled;
mod scout;
mod split;
mod top;

use crate::Question;
use direction::Direction;
use veracity_core::{Bracket, Delta, Epsilon, Finding, Refusal};

/// ε at δ, from both sides.
pub fn epsilon_at(question: &Question, delta: Delta) -> Result<Finding<Epsilon>, Refusal> {
    Profile::new(question)?.epsilon_at(delta).map(Finding::Bracket)
}

/// δ at ε, from both sides.
pub fn delta_at(question: &Question, epsilon: Epsilon) -> Result<Finding<Delta>, Refusal> {
    Profile::new(question)?.delta_at(epsilon).map(Finding::Bracket)
}

/// The privacy profile δ(ε) of a question, certified from both sides; built once, asked many times.
#[derive(Debug, Clone)]
pub struct Profile {
    directions: Vec<Direction>,
}

impl Profile {
    /// Prepares the profile, or refuses what has no dominating pair.
    pub fn new(question: &Question) -> Result<Profile, Refusal> {
        let mut directions: Vec<Direction> = Vec::new();
        for composition in crate::expand::expand(&question.mechanism, question.adjacency)? {
            for direction in Direction::of(&composition)? {
                if !directions.contains(&direction) {
                    directions.push(direction);
                }
            }
        }
        Ok(Profile { directions })
    }

    /// The ε that goes with `delta`.
    pub fn epsilon_at(&self, delta: Delta) -> Result<Bracket<Epsilon>, Refusal> {
        let mut worst = (0.0f64, 0.0f64);
        for direction in &self.directions {
            let (lower, upper) = in_order(direction.epsilon_at(delta.get(), worst.0)?)?;
            worst = (worst.0.max(lower), worst.1.max(upper));
        }
        Ok(Bracket::new(Epsilon::new(worst.0)?, Epsilon::new(worst.1)?))
    }

    /// The δ that goes with `epsilon`.
    pub fn delta_at(&self, epsilon: Epsilon) -> Result<Bracket<Delta>, Refusal> {
        let mut worst = (0.0f64, 0.0f64);
        for direction in &self.directions {
            let (lower, upper) = in_order(direction.delta_at(epsilon.get())?)?;
            worst = (worst.0.max(lower), worst.1.max(upper));
        }
        if worst.1 >= 1.0 - f64::EPSILON {
            return Err(Refusal::NoAnswer(format!(
                "delta at epsilon {epsilon} is 1 to within rounding, which is no protection; ask a larger epsilon"
            )));
        }
        Ok(Bracket::new(Delta::new(worst.0)?, Delta::new(worst.1)?))
    }
}

/// Sides that cross disprove an error bound: better no answer than a wrong one.
fn in_order((lower, upper): (f64, f64)) -> Result<(f64, f64), Refusal> {
    if lower <= upper {
        return Ok((lower, upper));
    }
    Err(Refusal::NoAnswer(format!(
        "the certified sides cross ({lower} > {upper}), which must not happen; please report the question, and use \
         --method pld or rdp"
    )))
}
