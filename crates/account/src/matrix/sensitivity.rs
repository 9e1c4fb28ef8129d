//! How far one record moves the combinations that a strategy publishes.

use super::{pattern::Pattern, toeplitz, tree, written};
use veracity_core::numerics::twofold::Twofold;
use veracity_core::{Participation, Refusal, Strategy};

/// The largest ‖Cu‖ over all that one record may contribute, or a number that it does not pass.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum StrategySensitivity {
    /// Some record moves them so far.
    Exact(f64),
    /// No record moves them further; whether one moves them so far is not known.
    AtMost(f64),
}

impl StrategySensitivity {
    /// The bound, in both cases.
    pub fn upper(self) -> f64 {
        match self {
            StrategySensitivity::Exact(moved) | StrategySensitivity::AtMost(moved) => moved,
        }
    }
}

/// The square of a sensitivity, and whether it is attained.
pub(super) enum Square {
    Exact(Twofold),
    AtMost(Twofold),
}

impl Square {
    fn root(self) -> StrategySensitivity {
        match self {
            Square::Exact(square) => StrategySensitivity::Exact(square.root_upper()),
            Square::AtMost(square) => StrategySensitivity::AtMost(square.root_upper()),
        }
    }
}

/// The sensitivity of a strategy, for contributions of norm at most 1 to each step a record takes part in.
///
/// # Promise    Never below the largest of ‖Σ C[:, i] u_iᵀ‖ over the patterns that `participation` allows and over vectors u_i
/// of any dimension; `Exact` is attained up to rounding
/// # Reference  \[ChoquetteChooEtAl23\] Section 2: the square is Σ (CᵀC)_ij ⟨u_i, u_j⟩ ≤ Σ |(CᵀC)_ij| over the pattern, attained
/// by equal u_i where no entry is negative
/// # Numerics   Rounded up, by at most two units of the last place where it is exact
///
/// # Errors
/// Refuses a strategy for which the participation has no bound.
///
/// # Examples
///
/// ```
/// use veracity_account::matrix::{StrategySensitivity, sensitivity};
/// use veracity_core::{Count, Participation, Strategy};
///
/// // In a tree over 8 steps, each step is in blocks of 1, 2, 4 and 8: √4.
/// let tree = Strategy::Tree { steps: Count::new(8)? };
/// let once = sensitivity(&tree, Participation::Once)?;
/// assert!(matches!(once, StrategySensitivity::Exact(_)));
/// assert!(once.upper() >= 2.0 && once.upper() < 2.0 + 1e-12);
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
pub fn sensitivity(
    strategy: &Strategy,
    participation: Participation,
) -> Result<StrategySensitivity, Refusal> {
    let steps = strategy.steps();
    let pattern = match participation {
        Participation::Once => Pattern { times: 1, separation: steps.get() },
        Participation::Separated { times, separation } => Pattern::within(steps, times, separation),
        Participation::CyclicPoisson { groups, .. } => Pattern::within(steps, steps, groups),
    };
    let square = match strategy {
        Strategy::Tree { .. } => tree::square(steps, pattern),
        Strategy::Banded { coefficients, .. } => toeplitz::square(coefficients.get(), steps, pattern),
        Strategy::Written(matrix) => written::square(matrix, pattern),
    };
    Ok(square.root())
}
