//! The largest number in a sliding window, channel by channel. Of equal ones the first counts.

use super::{Stage, Trace, window::Window};
use crate::Shape;
use veracity_core::Refusal;

/// Keeps, for each output, which number of the window it was.
#[derive(Debug)]
pub(super) struct MaxPool {
    window: Window,
}

impl MaxPool {
    pub(super) fn new(input: Shape, kernel: usize, stride: usize) -> Result<MaxPool, Refusal> {
        Ok(MaxPool { window: Window::new("max-pool", input, kernel, stride, 0)? })
    }
}

impl Stage for MaxPool {
    fn output(&self) -> Shape {
        self.window.output(self.window.channels)
    }

    fn kept(&self) -> usize {
        self.output().size()
    }

    fn forward(&self, _: &[f32], _: usize, input: &[f32], output: &mut [f32], kept: &mut [f32]) {
        let window = &self.window;
        let rows = output.chunks_exact_mut(window.along).zip(kept.chunks_exact_mut(window.along));
        for ((best, which), start) in rows.zip(window.row_starts()) {
            for (number, offset) in window.offsets().enumerate() {
                let seen = &input[start + offset..];
                // The stride is told apart here so that the usual loop is over neighbours.
                if window.stride == 1 {
                    take_larger(best, which, seen.iter(), number);
                } else {
                    take_larger(best, which, seen.iter().step_by(window.stride), number);
                }
            }
        }
    }

    fn backward(&self, _: &[f32], trace: Trace<'_>, output_gradient: &[f32], input_gradient: &mut [f32]) {
        let window = &self.window;
        input_gradient.fill(0.0);
        let rows = output_gradient.chunks_exact(window.along).zip(trace.kept.chunks_exact(window.along));
        for ((gradients, which), start) in rows.zip(window.row_starts()) {
            for (number, offset) in window.offsets().enumerate() {
                let target = &mut input_gradient[start + offset..];
                if window.stride == 1 {
                    give_back(target.iter_mut(), gradients, which, number);
                } else {
                    give_back(target.iter_mut().step_by(window.stride), gradients, which, number);
                }
            }
        }
    }
}

fn take_larger<'a>(best: &mut [f32], which: &mut [f32], seen: impl Iterator<Item = &'a f32>, number: usize) {
    for ((best, which), x) in best.iter_mut().zip(which).zip(seen) {
        // What is not a number stays, so that its example is found out and left out.
        let larger = number == 0 || *x > *best || x.is_nan();
        *best = if larger { *x } else { *best };
        *which = if larger { number as f32 } else { *which };
    }
}

fn give_back<'a>(target: impl Iterator<Item = &'a mut f32>, gradients: &[f32], which: &[f32], number: usize) {
    for ((target, gradient), which) in target.zip(gradients).zip(which) {
        *target += if *which == number as f32 { *gradient } else { 0.0 };
    }
}
