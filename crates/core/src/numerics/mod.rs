//! Mathematics that knows nothing of privacy: log-space arithmetic, the normal law, roots, exact binomial tails, the chi-square
//! law from its safe side, sums in two floats and certified quadrature. Each function states its relative error, so that
//! callers can push their bounds outward.
//!
//! An attacker is right 95 times out of 100. What is the accuracy of the attack at least, at a significance of 5 %?
//!
//! ```
//! use veracity_core::numerics::{binomial, normal};
//!
//! let exact = binomial::lower_limit(95, 100, 0.05);
//! // The limit is the p at which 95 or more hits out of 100 have probability 5 %, rounded down.
//! assert!((binomial::log_upper_tail(100, 95, exact).exp() - 0.05).abs() < 1e-9);
//!
//! // The normal approximation promises more than is known.
//! let approximate = 0.95 + normal::quantile(0.05) * (0.95f64 * 0.05 / 100.0).sqrt();
//! assert!(exact < approximate);
//! ```

pub mod beta;
pub mod binomial;
pub mod chi_squared;
pub mod fft;
pub mod legendre;
pub mod logspace;
mod neumaier;
pub mod normal;
pub mod root;
pub mod twofold;

pub use neumaier::{NeumaierSum, neumaier_sum};

/// The unit round-off of `f64`: one correctly rounded operation errs by at most this, relatively.
pub const UNIT: f64 = f64::EPSILON / 2.0;
