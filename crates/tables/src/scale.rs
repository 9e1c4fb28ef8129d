//! From declared bounds to numbers of order one. The bounds are public: they cost nothing, and they clamp.

use veracity_core::Refusal;

/// Where scaled numbers lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Onto {
    /// [0, 1].
    #[default]
    Unit,
    /// [−1, 1].
    Symmetric,
}

/// A linear map from declared bounds, with clamping.
///
/// # Examples
///
/// ```
/// use veracity_tables::{Onto, Scale};
///
/// let scale = Scale::new(0.0, 200.0, Onto::Symmetric)?;
/// assert_eq!((scale.apply(150.0), scale.apply(1e9)), (Some(0.5), Some(1.0)));
/// assert_eq!(scale.apply(f64::NAN), None);
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale {
    lower: f64,
    upper: f64,
    onto: Onto,
}

impl Scale {
    /// Grey values from 0 to 255 onto [0, 1].
    pub const GREY: Scale = Scale { lower: 0.0, upper: 255.0, onto: Onto::Unit };

    /// Checks that lower < upper, both finite.
    ///
    /// # Errors
    /// Refuses other bounds.
    pub fn new(lower: f64, upper: f64, onto: Onto) -> Result<Scale, Refusal> {
        if lower < upper && lower.is_finite() && upper.is_finite() && (upper - lower).is_finite() {
            Ok(Scale { lower, upper, onto })
        } else {
            let bounds = format!("{lower} to {upper}");
            Err(Refusal::out_of_range("bounds", bounds, "finite numbers with lower < upper"))
        }
    }

    /// The number on its new scale: infinities are clamped, and what is not a number is nothing.
    pub fn apply(self, number: f64) -> Option<f32> {
        if number.is_nan() {
            return None;
        }
        let share = (number.clamp(self.lower, self.upper) - self.lower) / (self.upper - self.lower);
        Some(match self.onto {
            Onto::Unit => share as f32,
            Onto::Symmetric => (2.0 * share - 1.0) as f32,
        })
    }
}

/// A number by its scale, or as it is where none is declared; nothing when it is not finite as a feature.
pub(crate) fn scaled(scale: Option<Scale>, number: f64) -> Option<f32> {
    match scale {
        Some(scale) => scale.apply(number),
        None => Some(number as f32).filter(|number| number.is_finite()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_clamped_and_land_on_the_declared_interval() {
        let unit = Scale::new(-10.0, 30.0, Onto::Unit).unwrap();
        let symmetric = Scale::new(-10.0, 30.0, Onto::Symmetric).unwrap();
        for (number, at) in [(-10.0, 0.0), (10.0, 0.5), (30.0, 1.0), (1e300, 1.0), (f64::NEG_INFINITY, 0.0)] {
            assert_eq!(unit.apply(number), Some(at));
            assert_eq!(symmetric.apply(number), Some(2.0 * at - 1.0));
        }
        assert_eq!(unit.apply(f64::NAN), None);
        assert_eq!(scaled(None, 1e300), None, "a number beyond f32 is no feature");
        for (lower, upper) in [(1.0, 1.0), (2.0, 1.0), (f64::NAN, 1.0), (0.0, f64::INFINITY), (-1e308, 1e308)]
        {
            assert!(Scale::new(lower, upper, Onto::Unit).is_err());
        }
    }
}
