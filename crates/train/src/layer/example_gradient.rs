//! One example's gradient, written out: made when its norm is asked for, kept until it is added up.
//!
//! What is kept is a mark, which says whether the gradient has been made, and the gradient. An example that was zeroed has
//! no mark; its gradient is made again, from zeros.

use super::sums::{add_scaled, square};

/// Numbers kept for an example whose gradient has so many entries.
pub(super) fn kept(parameters: usize) -> usize {
    1 + parameters
}

/// Forgets the gradient of the examples before; for `forward`.
pub(super) fn forget(kept: &mut [f32]) {
    kept[0] = 0.0;
}

/// Writes the gradient with `make`, over what was there, keeps it and returns its squared norm.
pub(super) fn measure(kept: &mut [f32], make: impl FnOnce(&mut [f32])) -> f32 {
    let (mark, gradient) = kept.split_at_mut(1);
    make(gradient);
    mark[0] = 1.0;
    square(gradient)
}

/// Adds `factor` × the gradient to `sum`; it is made with `make` unless it is there.
pub(super) fn add(kept: &mut [f32], factor: f32, sum: &mut [f32], make: impl FnOnce(&mut [f32])) {
    // Zero times infinity is not zero.
    if factor == 0.0 {
        return;
    }
    let (mark, gradient) = kept.split_at_mut(1);
    if mark[0] == 0.0 {
        make(gradient);
    }
    add_scaled(sum, factor, gradient);
}
