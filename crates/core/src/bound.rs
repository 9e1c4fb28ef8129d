//! Bounds that know their side: an [`Upper`] can be promised, a [`Lower`] can be shown, and only `judge` compares them.

use crate::decimal;
use std::fmt;

/// Significant digits of a bound that is printed without a precision.
const DIGITS: usize = 6;

/// A value that the truth does not exceed.
///
/// # Examples
///
/// Printed, it is rounded up; a precision says how many digits are significant. Bounds of one side have an order; those of
/// different sides meet in [`judge`](crate::judge) alone.
///
/// ```
/// use veracity_core::{Epsilon, Upper};
///
/// let promised = Upper(Epsilon::new(2.730_000_01)?);
/// assert_eq!(promised.to_string(), "≤ 2.73001");
/// assert_eq!(format!("{promised:.2}"), "≤ 2.8");
/// assert!(promised < Upper(Epsilon::new(3.0)?));
/// assert_eq!(promised.get().get(), 2.730_000_01);
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
///
/// ```compile_fail,E0308
/// use veracity_core::{Lower, Upper};
///
/// let nonsense = Upper(1.0) < Lower(2.0);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Upper<T>(pub T);

/// A value that the truth does not fall below.
///
/// # Examples
///
/// Printed, it is rounded down:
///
/// ```
/// use veracity_core::Lower;
///
/// assert_eq!(Lower(4.199_999_9).to_string(), "≥ 4.19999");
/// assert!(Lower(1.0) < Lower(2.0));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Lower<T>(pub T);

impl<T> Upper<T> {
    /// The value itself.
    pub fn get(self) -> T {
        self.0
    }
}

impl<T> Lower<T> {
    /// The value itself.
    pub fn get(self) -> T {
        self.0
    }
}

impl<T: Copy + Into<f64>> fmt::Display for Upper<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "≤ {}", decimal::up(self.0.into(), f.precision().unwrap_or(DIGITS)))
    }
}

impl<T: Copy + Into<f64>> fmt::Display for Lower<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "≥ {}", decimal::down(self.0.into(), f.precision().unwrap_or(DIGITS)))
    }
}

/// Both sides at once: the truth lies between them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bracket<T> {
    /// The truth is at least this.
    pub lower: Lower<T>,
    /// The truth is at most this.
    pub upper: Upper<T>,
}

impl<T> Bracket<T> {
    /// A bracket from its two ends.
    pub fn new(lower: T, upper: T) -> Self {
        Bracket { lower: Lower(lower), upper: Upper(upper) }
    }
}

/// What a method found: the variant says whether it may be promised.
///
/// # Examples
///
/// Only a bound has an upper end that may be promised:
///
/// ```
/// use veracity_core::{Bracket, Finding, Standing, Upper};
///
/// let certified = Finding::Bracket(Bracket::new(1.95, 1.97));
/// assert_eq!(certified.upper(), Some(Upper(1.97)));
///
/// let guess = Finding::Approximation(1.9);
/// assert_eq!(guess.upper(), None);
/// assert_eq!(guess.standing(), Standing::Approximation);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Finding<T> {
    /// Certified from both sides.
    Bracket(Bracket<T>),
    /// Certified from above only.
    Upper(Upper<T>),
    /// No bound: the truth may be larger. Never a guarantee.
    Approximation(T),
}

impl<T: Copy> Finding<T> {
    /// The value that may be promised, if there is one.
    pub fn upper(&self) -> Option<Upper<T>> {
        match self {
            Finding::Bracket(bracket) => Some(bracket.upper),
            Finding::Upper(upper) => Some(*upper),
            Finding::Approximation(_) => None,
        }
    }

    /// The value that the truth does not fall below, if one is known.
    pub fn lower(&self) -> Option<Lower<T>> {
        match self {
            Finding::Bracket(bracket) => Some(bracket.lower),
            Finding::Upper(_) | Finding::Approximation(_) => None,
        }
    }

    /// Whether it is a bound, and from which sides.
    pub fn standing(&self) -> Standing {
        match self {
            Finding::Bracket(_) => Standing::TwoSided,
            Finding::Upper(_) => Standing::UpperBound,
            Finding::Approximation(_) => Standing::Approximation,
        }
    }
}

/// Type of bound that a number is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// The true value lies between two certified numbers.
    TwoSided,
    /// The true value is at most this number.
    UpperBound,
    /// The true value may be above this number.
    Approximation,
}

impl Standing {
    /// Name of the type of bound.
    pub fn describe(self) -> &'static str {
        match self {
            Standing::TwoSided => "two-sided bound",
            Standing::UpperBound => "upper bound",
            Standing::Approximation => "approximation, can be below the true value",
        }
    }
}
