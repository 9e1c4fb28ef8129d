//! A claim, and the one place where an upper bound that was promised meets a lower bound that was shown.

use crate::{Adjacency, Delta, Epsilon, Lower, Upper};

/// "This is (ε, δ)-differentially private under this adjacency."
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Claim {
    /// The ε promised.
    pub epsilon: Upper<Epsilon>,
    /// The δ that goes with it.
    pub delta: Delta,
    /// The adjacency it holds under.
    pub adjacency: Adjacency,
}

/// What an audit says of a claim. There is no "passed".
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Verdict {
    /// The claim is false, up to the significance that was spent.
    Refuted {
        /// The leak that was shown.
        shown: Lower<Epsilon>,
    },
    /// Nothing was shown against the claim.
    NotRefuted {
        /// The leak that was shown.
        shown: Lower<Epsilon>,
        /// The largest ε that this much evidence could have shown.
        ceiling: Epsilon,
    },
    /// Whatever the truth is, this much evidence could not have refuted the claim.
    CannotTell {
        /// The leak that was shown.
        shown: Lower<Epsilon>,
        /// The largest ε that this much evidence could have shown.
        ceiling: Epsilon,
    },
}

impl Verdict {
    /// The leak that was shown.
    pub fn shown(&self) -> Lower<Epsilon> {
        match self {
            Verdict::Refuted { shown }
            | Verdict::NotRefuted { shown, .. }
            | Verdict::CannotTell { shown, .. } => *shown,
        }
    }

    /// Its name in files.
    pub fn name(&self) -> &'static str {
        match self {
            Verdict::Refuted { .. } => "refuted",
            Verdict::NotRefuted { .. } => "not-refuted",
            Verdict::CannotTell { .. } => "cannot-tell",
        }
    }
}

/// Compares what was shown with what was claimed.
///
/// # Examples
///
/// ```
/// use veracity_core::{Adjacency, Claim, Delta, Epsilon, Lower, Upper, Verdict, judge};
///
/// let epsilon = Upper(Epsilon::new(2.0)?);
/// let claim = Claim { epsilon, delta: Delta::new(0.0)?, adjacency: Adjacency::AddRemove };
/// let ceiling = Epsilon::new(6.0)?;
/// // A claim of 2.0 is refuted by more than 2.0, and by nothing less.
/// assert!(matches!(judge(&claim, Lower(Epsilon::new(2.1)?), ceiling), Verdict::Refuted { .. }));
/// assert!(matches!(judge(&claim, Lower(Epsilon::new(2.0)?), ceiling), Verdict::NotRefuted { .. }));
/// // Evidence that could not have shown more than 2.0 says nothing of it.
/// assert!(matches!(judge(&claim, Lower(Epsilon::new(1.0)?), Epsilon::new(2.0)?), Verdict::CannotTell { .. }));
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
pub fn judge(claim: &Claim, shown: Lower<Epsilon>, ceiling: Epsilon) -> Verdict {
    if shown.0 > claim.epsilon.0 {
        Verdict::Refuted { shown }
    } else if ceiling > claim.epsilon.0 {
        Verdict::NotRefuted { shown, ceiling }
    } else {
        Verdict::CannotTell { shown, ceiling }
    }
}
