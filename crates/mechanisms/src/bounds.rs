//! Declared bounds: what every number of a column is clamped to, chosen without looking at the data.

use veracity_core::Refusal;

/// A declared range of values.
///
/// # Examples
///
/// ```
/// use veracity_mechanisms::Bounds;
///
/// let ages = Bounds::new(0.0, 120.0)?;
/// assert_eq!((ages.clamp(980.0), ages.clamp(f64::NEG_INFINITY)), (120.0, 0.0));
/// assert!(Bounds::new(120.0, 0.0).is_err());
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds {
    lower: f64,
    upper: f64,
}

impl Bounds {
    /// The largest magnitude of a bound, and one over the least width: squares and sums of many rows stay finite floats.
    const MOST: f64 = 1e100;

    /// Checks that both are numbers within ±1e100, and the upper one is larger by at least 1e-100.
    ///
    /// # Errors
    /// Refuses other numbers.
    pub fn new(lower: f64, upper: f64) -> Result<Bounds, Refusal> {
        let within = |x: f64| (-Bounds::MOST..=Bounds::MOST).contains(&x);
        if within(lower) && within(upper) && upper - lower >= 1.0 / Bounds::MOST {
            Ok(Bounds { lower, upper })
        } else {
            Err(Refusal::out_of_range(
                "bounds",
                format!("{lower}..{upper}"),
                "lower < upper, within ±1e100, at least 1e-100 apart",
            ))
        }
    }

    /// The lower bound.
    pub fn lower(self) -> f64 {
        self.lower
    }

    /// The upper bound.
    pub fn upper(self) -> f64 {
        self.upper
    }

    /// Upper minus lower.
    pub fn width(self) -> f64 {
        self.upper - self.lower
    }

    /// The larger magnitude of the two.
    pub fn magnitude(self) -> f64 {
        self.lower.abs().max(self.upper.abs())
    }

    /// The nearest number within the bounds. Infinities go to a bound.
    ///
    /// # Assumes  `x` is a number
    pub fn clamp(self, x: f64) -> f64 {
        x.clamp(self.lower, self.upper)
    }

    /// How far the truth can be from a value within the bounds.
    pub(crate) fn reach(self, value: f64) -> f64 {
        (value - self.lower).max(self.upper - value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_that_bound_nothing_are_refused() {
        let inf = f64::INFINITY;
        for (lower, upper) in
            [(1.0, 1.0), (2.0, 1.0), (f64::NAN, 1.0), (0.0, f64::NAN), (-inf, 0.0), (0.0, inf), (0.0, 1e-300)]
        {
            assert!(Bounds::new(lower, upper).is_err(), "{lower} {upper}");
        }
        assert_eq!(
            Bounds::new(3.0, 1.0).unwrap_err().to_string(),
            "bounds is 3..1, expected lower < upper, within ±1e100, at least 1e-100 apart"
        );
    }
}
