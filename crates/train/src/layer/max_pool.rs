//! The largest number in a sliding window, channel by channel. Of equal ones the first counts.
//!
//! With stride 1 a channel is one long run: the window is compared at every number, also where it would stand across the
//! right edge, and those are skipped when rows are copied out. That costs a few comparisons and saves all the short loops.

use super::{Stage, Trace, scratch, window::Window};
use crate::Shape;
use pulp::{Arch, Simd, WithSimd};
use veracity_core::Refusal;

/// Keeps, for each place the window was compared at, which of its numbers was largest.
#[derive(Debug)]
pub(super) struct MaxPool {
    window: Window,
}

impl MaxPool {
    pub(super) fn new(input: Shape, kernel: usize, stride: usize) -> Result<MaxPool, Refusal> {
        Ok(MaxPool { window: Window::new("max-pool", input, kernel, stride, 0)? })
    }

    /// Places at which the window is compared, in one channel, and how many there are from one row to the next.
    fn compared(&self) -> (usize, usize) {
        let Window { width, stride, down, along, .. } = self.window;
        if stride == 1 { ((down - 1) * width + along, width) } else { (down * along, along) }
    }

    fn plane(&self) -> usize {
        self.window.height * self.window.width
    }
}

impl Stage for MaxPool {
    fn output(&self) -> Shape {
        self.window.output(self.window.channels)
    }

    fn kept(&self) -> usize {
        self.window.channels * self.compared().0
    }

    fn forward(&self, _: &[f32], _: usize, input: &[f32], output: &mut [f32], kept: &mut [f32]) {
        let window = &self.window;
        let (compared, pitch) = self.compared();
        let planes = input.chunks_exact(self.plane()).zip(output.chunks_exact_mut(window.places()));
        scratch::lend([compared], |[best]| {
            for ((plane, output), which) in planes.zip(kept.chunks_exact_mut(compared)) {
                Arch::new().dispatch(TakeLargest { window, plane, best, which });
                for (row, best) in output.chunks_exact_mut(window.along).zip(best.chunks(pitch)) {
                    row.copy_from_slice(&best[..window.along]);
                }
            }
        });
    }

    fn backward(&self, _: &[f32], trace: Trace<'_>, output_gradient: &[f32], input_gradient: &mut [f32]) {
        let window = &self.window;
        let (compared, pitch) = self.compared();
        let planes = output_gradient.chunks_exact(window.places());
        let planes = planes.zip(input_gradient.chunks_exact_mut(self.plane()));
        scratch::lend([compared], |[gradients]| {
            gradients.fill(0.0);
            for ((given, plane), which) in planes.zip(trace.kept.chunks_exact(compared)) {
                for (row, gradients) in given.chunks_exact(window.along).zip(gradients.chunks_mut(pitch)) {
                    gradients[..window.along].copy_from_slice(row);
                }
                Arch::new().dispatch(GiveBack { window, plane, gradients, which });
            }
        });
    }
}

/// Of one channel, the largest number at each place, and which it was.
struct TakeLargest<'a> {
    window: &'a Window,
    plane: &'a [f32],
    best: &'a mut [f32],
    which: &'a mut [f32],
}

impl WithSimd for TakeLargest<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let TakeLargest { window, plane, best, which } = self;
        which.fill(0.0);
        for (number, offset) in window.offsets().enumerate() {
            let number = number as f32;
            if window.stride == 1 {
                let seen = &plane[offset..][..best.len()];
                if number == 0.0 {
                    best.copy_from_slice(seen);
                }
                for ((best, which), x) in best.iter_mut().zip(&mut *which).zip(seen) {
                    (*best, *which) = larger((*best, *which), (*x, number));
                }
                continue;
            }
            let rows = best.chunks_exact_mut(window.along).zip(which.chunks_exact_mut(window.along));
            for ((best, which), start) in rows.zip(window.row_starts()) {
                let seen = plane[start + offset..].iter().step_by(window.stride);
                for ((best, which), x) in best.iter_mut().zip(which).zip(seen) {
                    let before = if number == 0.0 { *x } else { *best };
                    (*best, *which) = larger((before, *which), (*x, number));
                }
            }
        }
    }
}

/// Each place's gradient to the number that was largest there.
struct GiveBack<'a> {
    window: &'a Window,
    plane: &'a mut [f32],
    gradients: &'a [f32],
    which: &'a [f32],
}

impl WithSimd for GiveBack<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let GiveBack { window, plane, gradients, which } = self;
        plane.fill(0.0);
        for (number, offset) in window.offsets().enumerate() {
            let number = number as f32;
            if window.stride == 1 {
                let target = &mut plane[offset..][..gradients.len()];
                for ((target, gradient), which) in target.iter_mut().zip(gradients).zip(which) {
                    *target += if *which == number { *gradient } else { 0.0 };
                }
                continue;
            }
            let rows = gradients.chunks_exact(window.along).zip(which.chunks_exact(window.along));
            for ((gradients, which), start) in rows.zip(window.row_starts()) {
                let target = plane[start + offset..].iter_mut().step_by(window.stride);
                for ((target, gradient), which) in target.zip(gradients).zip(which) {
                    *target += if *which == number { *gradient } else { 0.0 };
                }
            }
        }
    }
}

/// The larger of two numbers, with its place in the window; the first of equals. Written so that what is not a number
/// counts as larger and stays: its example is found out and left out.
#[inline(always)]
fn larger(best: (f32, f32), new: (f32, f32)) -> (f32, f32) {
    let keep = new.0 <= best.0 || best.0.is_nan();
    (if keep { best.0 } else { new.0 }, if keep { best.1 } else { new.1 })
}
