//! Roots of monotone functions of one variable, by bracketing: a hard function costs time, not correctness.

/// The end points of an interval on which `f` changes from true to false.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Switch {
    /// The last point seen where the predicate holds.
    pub holds: f64,
    /// The first point seen where it does not.
    pub fails: f64,
}

/// Narrows an interval whose ends differ on the predicate until it is `relative` wide or two neighbouring floats.
///
/// # Promise  `holds` was evaluated true and `fails` false, whatever the predicate does in between.
///
/// # Examples
///
/// ```
/// use veracity_core::numerics::root::bisect;
///
/// let switch = bisect(1.0, 2.0, 0.0, |x| x * x <= 2.0);
/// assert!(switch.holds * switch.holds <= 2.0 && switch.fails * switch.fails > 2.0);
/// // A width of 0 asks for two neighbouring floats.
/// assert_eq!(switch.holds.next_up(), switch.fails);
/// ```
pub fn bisect(mut holds: f64, mut fails: f64, relative: f64, predicate: impl Fn(f64) -> bool) -> Switch {
    for _ in 0..200 {
        let middle = 0.5 * (holds + fails);
        let width = (fails - holds).abs();
        if width <= relative * middle.abs() || middle == holds || middle == fails {
            break;
        }
        if predicate(middle) { holds = middle } else { fails = middle }
    }
    Switch { holds, fails }
}

/// The point where the increasing function `f` crosses zero between `low` and `high` (Illinois variant of false position).
///
/// # Numerics  Stops at relative width `relative`; `f(low) ≤ 0 ≤ f(high)` is the caller's duty.
///
/// # Examples
///
/// ```
/// use veracity_core::numerics::root::crossing;
///
/// let root = crossing(0.0, 2.0, 1e-14, |x| x.exp() - 3.0);
/// assert!((root - 3f64.ln()).abs() < 1e-13);
/// ```
pub fn crossing(mut low: f64, mut high: f64, relative: f64, f: impl Fn(f64) -> f64) -> f64 {
    let (mut at_low, mut at_high) = (f(low), f(high));
    for _ in 0..200 {
        if (high - low).abs() <= relative * low.abs().max(high.abs()) {
            break;
        }
        let mut middle = low - at_low * (high - low) / (at_high - at_low);
        if !(middle > low && middle < high) {
            middle = 0.5 * (low + high);
        }
        if middle <= low || middle >= high {
            break;
        }
        let value = f(middle);
        if value == 0.0 {
            return middle;
        }
        if value < 0.0 {
            (low, at_low) = (middle, value);
            at_high *= 0.5;
        } else {
            (high, at_high) = (middle, value);
            at_low *= 0.5;
        }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_find_the_square_root_of_two() {
        let switch = bisect(1.0, 2.0, 0.0, |x| x * x <= 2.0);
        assert!(switch.holds * switch.holds <= 2.0 && switch.fails * switch.fails > 2.0);
        assert!((crossing(0.0, 100.0, 1e-15, |x| x * x - 2.0) - 2f64.sqrt()).abs() < 1e-14);
    }
}
