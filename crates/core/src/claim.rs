//! A claim, and the comparison of its upper bound with the lower bound of an audit.

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

/// Verdict of an audit. There is no "passed".
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Verdict {
    /// The claim is false, up to the significance that was spent.
    Refuted {
        /// The lower bound on ε.
        shown: Lower<Epsilon>,
    },
    /// The evidence is compatible with the claim.
    NotRefuted {
        /// The lower bound on ε.
        shown: Lower<Epsilon>,
        /// The largest lower bound that this much evidence could give.
        ceiling: Epsilon,
    },
    /// Inconclusive: this much evidence could not have refuted the claim, whatever the true ε is.
    CannotTell {
        /// The lower bound on ε.
        shown: Lower<Epsilon>,
        /// The largest lower bound that this much evidence could give.
        ceiling: Epsilon,
    },
}

impl Verdict {
    /// The lower bound on ε.
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
            Verdict::CannotTell { .. } => "inconclusive",
        }
    }
}

/// Compares a lower bound with a claim.
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
