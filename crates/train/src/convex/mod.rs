//! Convex models with noise on the answer or on the question: logistic regression, linear SVM and ridge regression.
//!
//! A [`Dataset`](crate::Dataset) becomes [`BoundedFeatures`], those with a [`ConvexLoss`] and a [`Regularisation`] become a
//! [`Problem`], and a problem is released by [`output_perturbation`] (minimise, then add noise to the weights) or by
//! [`objective_perturbation`] (add a random linear term, minimise, add a little more noise). A [`ReleasedModel`] model carries
//! the [`Mechanism`](veracity_core::Mechanism) that the accountant reads and the adjacency it holds under.
//!
//! Both rest on theorems about exact minimisers of functions with bounded gradients. Nothing of that is trusted here: rows
//! are bounded by [`BoundedFeatures`], labels by the loss, and the distance of computed weights to the minimiser by a
//! gradient bound that includes rounding. What is released are integers on a public grid.
//!
//! More than two classes are learnt one against the rest: as many problems as classes, on the same records. Noise on weights
//! sees them as one long vector; noise on objectives divides its budget among them.

mod features;
mod grid;
mod linear_term;
mod loss;
mod model;
mod objective;
mod objective_perturbation;
mod output_perturbation;
mod problem;
mod solver;

pub use features::{BoundedFeatures, Intercept, Manner, RowBound};
pub use loss::{ConvexLoss, Softness};
pub use model::{LinearModel, ReleasedModel};
pub use objective_perturbation::{ObjectiveNoise, objective_perturbation};
pub use output_perturbation::{OutputNoise, output_perturbation};
pub use problem::{Problem, Regularisation};
