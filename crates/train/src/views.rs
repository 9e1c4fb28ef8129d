//! Several views of one example: its gradient is the mean over them, taken before clipping.

use std::fmt;

/// Makes views of an example, such as shifted or mirrored images.
///
/// A view is a function of one record, the step and its own number, so the mean gradient over an example's views belongs to
/// that record alone, and clipping it bounds the record's contribution as ever. There is no cost in privacy.
///
/// # Reference  [DeBerradaHayesSmithBalle22]
pub trait Views: fmt::Debug + Send + Sync {
    /// How many views an example has.
    fn count(&self) -> usize;

    /// Writes view `which` of an example for a step. The same arguments always give the same view.
    fn write(&self, step: u64, which: usize, features: &[f32], view: &mut [f32]);
}
