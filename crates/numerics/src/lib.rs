//! Mathematics that knows nothing of privacy: log-space arithmetic, the normal law, roots, exact binomial tails, sums in
//! two floats and certified quadrature. Each function states its relative error, so that callers can push their bounds
//! outward.

pub mod beta;
pub mod binomial;
pub mod fft;
pub mod legendre;
pub mod logspace;
pub mod normal;
pub mod root;
pub mod twofold;

/// The unit round-off of `f64`: one correctly rounded operation errs by at most this, relatively.
pub const UNIT: f64 = f64::EPSILON / 2.0;
