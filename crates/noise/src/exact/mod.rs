//! Exact samplers of integers with rational parameters: no floating point decides an output.
//!
//! Each is one file: a uniform number, a coin of a given bias, integer Laplace and integer Gaussian noise.

mod bernoulli;
mod gaussian;
mod laplace;
mod uniform;

pub use bernoulli::{bernoulli, bernoulli_exp};
pub use gaussian::discrete_gaussian;
pub use laplace::discrete_laplace;
pub use uniform::{shuffle, uniform_below};
