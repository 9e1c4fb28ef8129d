//! Exponential mechanisms one after another, each chosen in view of the answers before it: the most that they can leak.
//!
//! The losses of an exponential mechanism lie in an interval of length ε₀. Write V_k(ε) for the largest δ at ε of k such
//! mechanisms. As a function of z = e^ε it is a supremum of hockey-stick divergences, so it is convex and falling. After
//! a first answer of loss L what is left to show is V_{k−1}(ε − L), convex in e^{−L}, and e^{−L} has mean 1 and lies
//! between e^{−t} and e^{ε₀−t} for some t. So the two ends are the worst, and
//!
//! V_k(ε) = sup over 0 ≤ t ≤ ε₀ of p V_{k−1}(ε − t) + (1 − p) V_{k−1}(ε − t + ε₀),  p = (1 − e^{t−ε₀})/(1 − e^{−ε₀}),
//!
//! with V_0 = (1 − e^ε)₊. Each t is an exponential mechanism, so the recursion is attained. `once` has the closed forms,
//! `table` goes down the recursion from both sides, and this file reads the answers off the last table.

mod once;
mod table;

use crate::{Composition, Part, rdp::convert};
use once::{Fixed, once};
use table::Tables;
use veracity_core::numerics::root;
use veracity_core::{Bracket, Count, Delta, Epsilon, Refusal};

/// The most uses that the recursion goes through.
const MOST_USES: u64 = 8192;
/// The largest range that it is made for; e^ε₀ must be far from the largest float.
const LARGEST_RANGE: f64 = 200.0;

/// The range and number of uses, where a composition consists of equal ranges and nothing else.
pub(crate) fn only(composition: &Composition) -> Option<(f64, Count)> {
    match composition.parts.as_slice() {
        [(Part::BoundedRange { epsilon }, uses)] => Some((*epsilon, *uses)),
        _ => None,
    }
}

/// δ at `epsilon` of `uses` adaptively chosen mechanisms of range `range`.
///
/// # Promise    The truth lies in the bracket, and exponential mechanisms attain it
/// # Reference  \[DongDurfeeRogers20\] Section 6 (adaptive), Section 5 (not adaptive); \[DurfeeRogers19\] (bounded range)
/// # Assumes    range ≥ 0; the losses of each mechanism differ by at most `range`, whatever was answered before
/// # Numerics   See `table`; about half a second at most, and narrower for fewer uses
///
/// # Errors
/// Refuses ranges above 200, more than 8192 uses, and what it cannot certify.
pub fn delta_at(range: f64, uses: Count, epsilon: Epsilon) -> Result<Bracket<Delta>, Refusal> {
    let epsilon = epsilon.get();
    if epsilon >= largest(range, uses) {
        return Ok(Bracket::new(Delta::new(0.0)?, Delta::new(0.0)?));
    }
    let fixed = Fixed::new(range, uses).delta_below(epsilon);
    let worst = Worst::new(range, uses, fixed)?;
    let lower = worst.delta_below(epsilon).max(fixed);
    let converted = convert::delta_at(epsilon, convert::ORDERS, |order| Ok(order * rho(range, uses)))?;
    let upper = worst.delta_above(epsilon).min(converted);
    Ok(Bracket::new(Delta::new(lower)?, crate::single::below_one(upper)?))
}

/// ε at `delta` of `uses` adaptively chosen mechanisms of range `range`.
///
/// # Promise    The truth lies in the bracket, and exponential mechanisms attain it
/// # Reference  As [`delta_at`]
/// # Numerics   As [`delta_at`]; bisection to 1e-12 keeps the side it evaluated
///
/// # Errors
/// As [`delta_at`].
pub fn epsilon_at(range: f64, uses: Count, delta: Delta) -> Result<Bracket<Epsilon>, Refusal> {
    let (delta, largest) = (delta.get(), largest(range, uses));
    if delta == 0.0 || range == 0.0 {
        // No δ means the sum of the ranges, which one t = ε₀ after another comes as near to as one likes.
        return Ok(Bracket::new(
            Epsilon::new(uses.as_f64() * range * (1.0 - 4.0 * f64::EPSILON))?,
            Epsilon::new(largest)?,
        ));
    }
    let worst = Worst::new(range, uses, delta)?;
    let fixed = Fixed::new(range, uses);
    let within = |epsilon: f64| epsilon >= largest || worst.delta_above(epsilon) <= delta;
    let beyond = |epsilon: f64| worst.delta_below(epsilon) > delta || fixed.delta_below(epsilon) > delta;
    let upper = if within(0.0) { 0.0 } else { root::bisect(largest, 0.0, 1e-12, within).holds };
    let upper = upper.min(convert::epsilon_at(delta, convert::ORDERS, |order| Ok(order * rho(range, uses)))?);
    let lower = if beyond(0.0) { root::bisect(0.0, upper, 1e-12, beyond).holds } else { 0.0 };
    Ok(Bracket::new(Epsilon::new(lower)?, Epsilon::new(upper)?))
}

/// The sum of the ranges, rounded up: no loss exceeds it.
fn largest(range: f64, uses: Count) -> f64 {
    uses.as_f64() * range * crate::single::OUTWARD
}

/// The ρ of all uses, rounded up. Where many uses leave a coarse grid, its bound can be the better one.
///
/// # Reference  [CesarRogers21] Lemma 3.4: ε₀²/8 each
fn rho(range: f64, uses: Count) -> f64 {
    0.125 * range * range * uses.as_f64() * crate::single::OUTWARD
}

/// The profile of the worst mechanisms: in closed form for one use, else by the tables for one use less and a last step, else
/// the little that holds of any.
enum Worst {
    Once(f64),
    Tables(Tables),
    /// Too many uses for a grid that would say anything.
    Unknown,
}

impl Worst {
    /// Prepares the profile for δ not far below `delta`.
    fn new(range: f64, uses: Count, delta: f64) -> Result<Worst, Refusal> {
        if uses == Count::ONE {
            return Ok(Worst::Once(range));
        }
        if uses.get() > MOST_USES {
            return Err(Refusal::NotCertified(format!(
                "optimal composition of {} exponential mechanisms, more than 8192; use method zcdp or rdp",
                uses.get()
            )));
        }
        if range > LARGEST_RANGE {
            return Err(Refusal::NotCertified(format!(
                "optimal composition of exponential mechanisms of epsilon {range}, more than 200; use method basic"
            )));
        }
        Ok(Tables::new(range, uses.get(), delta).map_or(Worst::Unknown, Worst::Tables))
    }

    fn delta_above(&self, epsilon: f64) -> f64 {
        let epsilon = epsilon * (1.0 - 8.0 * f64::EPSILON);
        match self {
            Worst::Once(range) => once(*range, epsilon) * (1.0 + 1e-14),
            Worst::Tables(tables) => tables.last_above(epsilon),
            Worst::Unknown => 1.0,
        }
    }

    fn delta_below(&self, epsilon: f64) -> f64 {
        let epsilon = epsilon * (1.0 + 8.0 * f64::EPSILON);
        match self {
            Worst::Once(range) => once(*range, epsilon) * (1.0 - 1e-14),
            Worst::Tables(tables) => tables.last_below(epsilon),
            Worst::Unknown => 0.0,
        }
    }
}
