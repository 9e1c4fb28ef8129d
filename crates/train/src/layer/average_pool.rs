//! The mean of what a sliding window sees, channel by channel.

use super::{Stage, Trace, window::Window};
use crate::Shape;
use veracity_core::Refusal;

#[derive(Debug)]
pub(super) struct AveragePool {
    window: Window,
}

impl AveragePool {
    pub(super) fn new(input: Shape, kernel: usize, stride: usize) -> Result<AveragePool, Refusal> {
        Ok(AveragePool { window: Window::new("average-pool", input, kernel, stride, 0)? })
    }

    fn share(&self) -> f32 {
        1.0 / (self.window.kernel * self.window.kernel) as f32
    }
}

impl Stage for AveragePool {
    fn output(&self) -> Shape {
        self.window.output(self.window.channels)
    }

    fn forward(&self, _: &[f32], _: usize, input: &[f32], output: &mut [f32], _: &mut [f32]) {
        let window = &self.window;
        for (means, start) in output.chunks_exact_mut(window.along).zip(window.row_starts()) {
            means.fill(0.0);
            for offset in window.offsets() {
                let seen = input[start + offset..].iter().step_by(window.stride);
                means.iter_mut().zip(seen).for_each(|(mean, x)| *mean += x);
            }
            means.iter_mut().for_each(|mean| *mean *= self.share());
        }
    }

    fn backward(&self, _: &[f32], _: Trace<'_>, dy: &[f32], dx: &mut [f32]) {
        let window = &self.window;
        dx.fill(0.0);
        for (gradients, start) in dy.chunks_exact(window.along).zip(window.row_starts()) {
            for offset in window.offsets() {
                let target = dx[start + offset..].iter_mut().step_by(window.stride);
                target.zip(gradients).for_each(|(target, gradient)| *target += self.share() * gradient);
            }
        }
    }
}
