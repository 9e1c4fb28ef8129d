//! Rare large losses, counted apart.
//!
//! When a few outcomes of tiny probability have losses so large that they drive the moments, no single tilt suits
//! both them and the rest. Cut the law of one step in two, A with moderate and B with large losses: then
//! δ = Σ_k C(T, k) δ_k, where δ_k comes from T − k uses of A and k of B, and each δ_k has a contour of its own. All
//! terms are positive, and more than a few large losses hardly ever occur.

use super::composed::{Composed, Saddle};
use super::contour::{Contour, Value};
use super::law::Law;
use super::placement::Care;

/// The expected number of large losses.
const LARGE: f64 = 1e-4;

/// Contours for no large loss, one, two, …, each with the number of ways it can come about.
#[derive(Debug)]
pub(super) struct Split {
    terms: Vec<(f64, Contour)>,
    /// The probability of all that was left out.
    left_out: f64,
}

impl Split {
    /// Splits the one law of sampled steps in `capped`, from which outcomes of probability `left_out` are missing, and
    /// draws contours for ε near the one given. None where there is no such law.
    pub(super) fn draw(
        capped: &Composed,
        left_out: f64,
        epsilon: f64,
        delta: f64,
        worth: f64,
    ) -> Option<Split> {
        let (place, step, times) = only_sampled(capped)?;
        let (moderate, large) = step.split(LARGE / times);
        let expected = times * large.above_floor();
        let mut terms = Vec::new();
        let (mut ways, mut rest) = (1.0, 1.0);
        for k in 0..12 {
            let many = f64::from(k);
            let mut term = capped.clone();
            term.laws[place] = (Law::Sampled(moderate), times - many);
            if k > 0 {
                ways *= (times - many + 1.0) / many * (1.0 + 4.0 * f64::EPSILON);
                term.laws.push((Law::Sampled(large), many));
            }
            let saddle = term.saddle_for_epsilon(epsilon)?;
            // A term that Chernoff shows to be negligible is left out, whatever its contour would say.
            let bound = term.chernoff(saddle.c).map_or(1.0, |log| (log - saddle.c * epsilon).exp()) * ways;
            let next = rest * expected / (many + 1.0);
            // The bound holds at this ε only; the probability of k large losses holds everywhere.
            if rest <= 1e-9 * delta {
                break;
            }
            let care = if bound > 1e-9 * delta { Care::Sharp } else { Care::Quick };
            terms.push((ways, refined(&term, saddle, worth, care)?));
            rest = next;
        }
        Some(Split { terms, left_out: left_out + 1.1 * rest })
    }

    pub(super) fn describe(&self) -> String {
        self.terms.iter().map(|t| format!("[{} {}]", t.0, t.1.describe())).collect()
    }
    /// How many nodes it has.
    pub(super) fn nodes(&self) -> usize {
        self.terms.iter().map(|(_, contour)| contour.nodes()).sum()
    }

    /// δ at ε, from both sides.
    pub(super) fn value_at(&self, epsilon: f64) -> Value {
        let mut total = Value { lower: 0.0, middle: 0.0, upper: self.left_out, slope: 0.0, noise: 0.0 };
        for (ways, contour) in &self.terms {
            let value = contour.value_at(epsilon);
            total.lower += ways * value.lower * (1.0 - 64.0 * f64::EPSILON);
            total.middle += ways * value.middle;
            total.upper += ways * value.upper * (1.0 + 64.0 * f64::EPSILON);
            total.slope += ways * value.slope;
            total.noise += ways * value.noise;
        }
        // What is not a number bounds nothing.
        Value { upper: if total.upper.is_nan() { 1.0 } else { total.upper.min(1.0) }, ..total }
    }
}

/// A contour drawn again for the δ found on it, where that is far from what was expected.
fn refined(term: &Composed, saddle: Saddle, worth: f64, care: Care) -> Option<Contour> {
    let mut saddle = saddle;
    let mut contour = Contour::draw(term, 0.0, &saddle, worth, care)?;
    for _ in 0..3 {
        let value = contour.value_at(saddle.epsilon);
        if value.upper - value.lower <= 1e-8 * value.middle || care == Care::Quick {
            break;
        }
        let found = value.middle.max(1e-6 * value.upper).ln();
        if (found - saddle.log_delta).abs() < 0.3 {
            break;
        }
        saddle.log_delta = found;
        match Contour::draw(term, 0.0, &saddle, worth, care) {
            Some(better) => contour = better,
            None => break,
        }
    }
    Some(contour)
}

/// The place of the one law of sampled steps with many uses and no upper end.
fn only_sampled(losses: &Composed) -> Option<(usize, super::sampled::SampledGaussian, f64)> {
    let mut found = None;
    for (place, (law, times)) in losses.laws.iter().enumerate() {
        if let Law::Sampled(step) = law {
            if found.is_some() || *times < 100.0 || !step.can_split() {
                return None;
            }
            found = Some((place, *step, *times));
        }
    }
    found
}
