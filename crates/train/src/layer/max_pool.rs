//! The largest number in a sliding window, channel by channel. Of equal ones the first counts.
//!
//! With stride 1 an image is one long run: the window is compared at every number, also where it would stand across an edge,
//! and those places are skipped when rows are copied out. That costs a few comparisons and saves all the short loops.

use super::{Stage, Trace, scratch, window::Window};
use crate::Shape;
use crate::vectors::vectorize;
use veracity_core::Refusal;

/// Places whose largest numbers are held in registers.
const HELD: usize = 16;

/// Keeps, for each place the window was compared at, which of its numbers was largest.
#[derive(Debug)]
pub(super) struct MaxPool {
    window: Window,
    /// [`Window::offsets`].
    offsets: Vec<usize>,
}

impl MaxPool {
    pub(super) fn new(input: Shape, kernel: usize, stride: usize) -> Result<MaxPool, Refusal> {
        let window = Window::new("max-pool", input, kernel, stride, 0)?;
        Ok(MaxPool { window, offsets: window.offsets().collect() })
    }

    fn input_size(&self) -> usize {
        self.window.channels * self.window.height * self.window.width
    }

    /// Where each row of outputs starts among the places compared.
    fn rows(&self) -> impl Iterator<Item = usize> + use<> {
        let Window { height, width, stride, down, along, .. } = self.window;
        (0..).map(
            move |row| {
                if stride == 1 { (row / down * height + row % down) * width } else { row * along }
            },
        )
    }
}

impl Stage for MaxPool {
    fn output(&self) -> Shape {
        self.window.output(self.window.channels)
    }

    fn kept(&self) -> usize {
        let Window { channels, height, width, kernel, stride, .. } = self.window;
        if stride == 1 {
            channels * height * width - (kernel - 1) * (width + 1)
        } else {
            self.output().size()
        }
    }

    fn forward(&self, _: &[f32], _: usize, input: &[f32], output: &mut [f32], kept: &mut [f32]) {
        let window = &self.window;
        let examples =
            input.chunks_exact(self.input_size()).zip(output.chunks_exact_mut(self.output().size()));
        scratch::lend([self.kept()], |[best]| {
            for ((image, output), which) in examples.zip(kept.chunks_exact_mut(best.len())) {
                take_largest(window, &self.offsets, image, best, which);
                for (row, start) in output.chunks_exact_mut(window.along).zip(self.rows()) {
                    row.copy_from_slice(&best[start..][..window.along]);
                }
            }
        });
    }

    fn backward(&self, _: &[f32], trace: Trace<'_>, dy: &[f32], dx: &mut [f32]) {
        let window = &self.window;
        let examples = dy.chunks_exact(self.output().size());
        let examples = examples.zip(dx.chunks_exact_mut(self.input_size()));
        scratch::lend([self.kept()], |[gradients]| {
            gradients.fill(0.0);
            for ((given, image), which) in examples.zip(trace.kept.chunks_exact(gradients.len())) {
                for (row, start) in given.chunks_exact(window.along).zip(self.rows()) {
                    gradients[start..][..window.along].copy_from_slice(row);
                }
                image.fill(0.0);
                give_back(window, image, gradients, which);
            }
        });
    }
}

/// Of one example, the largest number at each place, and which it was.
fn take_largest(window: &Window, offsets: &[usize], image: &[f32], best: &mut [f32], which: &mut [f32]) {
    vectorize(
        #[inline(always)]
        || {
            if window.stride == 1 {
                return take_side_by_side(offsets, image, best, which);
            }
            which.fill(0.0);
            let rows = best.chunks_exact_mut(window.along).zip(which.chunks_exact_mut(window.along));
            for ((best, which), start) in rows.zip(window.row_starts()) {
                for (number, offset) in window.offsets().enumerate() {
                    let seen = image[start + offset..].iter().step_by(window.stride);
                    for ((best, which), x) in best.iter_mut().zip(&mut *which).zip(seen) {
                        let before = if number == 0 { *x } else { *best };
                        (*best, *which) = larger((before, *which), (*x, number as f32));
                    }
                }
            }
        },
    );
}

/// With stride 1: some places at a time, which stay in registers for all numbers of the window.
#[inline(always)]
fn take_side_by_side(offsets: &[usize], image: &[f32], best: &mut [f32], which: &mut [f32]) {
    let (bests, best) = best.as_chunks_mut::<HELD>();
    let (whiches, which) = which.as_chunks_mut::<HELD>();
    let rest = bests.len() * HELD;
    for ((bests, whiches), image) in bests.iter_mut().zip(whiches).zip((0..).map(|at| &image[at * HELD..])) {
        let (mut best, mut which) = ([0.0; HELD], [0.0; HELD]);
        best.copy_from_slice(&image[..HELD]);
        for (number, offset) in offsets.iter().enumerate().skip(1) {
            let (seen, number) = (&image[*offset..][..HELD], number as f32);
            for at in 0..HELD {
                (best[at], which[at]) = larger((best[at], which[at]), (seen[at], number));
            }
        }
        (*bests, *whiches) = (best, which);
    }
    for (at, (best, which)) in (rest..).zip(best.iter_mut().zip(which)) {
        (*best, *which) = (image[at], 0.0);
        for (number, offset) in offsets.iter().enumerate().skip(1) {
            (*best, *which) = larger((*best, *which), (image[at + offset], number as f32));
        }
    }
}

/// Each place's gradient to the number that was largest there, in the order of the window's numbers.
fn give_back(window: &Window, image: &mut [f32], gradients: &[f32], which: &[f32]) {
    vectorize(
        #[inline(always)]
        || {
            for (number, offset) in window.offsets().enumerate() {
                if window.stride == 1 {
                    let target = &mut image[offset..][..gradients.len()];
                    for ((target, gradient), which) in target.iter_mut().zip(gradients).zip(which) {
                        *target += if *which == number as f32 { *gradient } else { 0.0 };
                    }
                    continue;
                }
                let rows = gradients.chunks_exact(window.along).zip(which.chunks_exact(window.along));
                for ((gradients, which), start) in rows.zip(window.row_starts()) {
                    let target = image[start + offset..].iter_mut().step_by(window.stride);
                    for ((target, gradient), which) in target.zip(gradients).zip(which) {
                        *target += if *which == number as f32 { *gradient } else { 0.0 };
                    }
                }
            }
        },
    );
}

/// The larger of two numbers, with its place in the window; the first of equals. Written so that what is not a number
/// counts as larger and stays: its example is found out and left out.
#[inline(always)]
fn larger(best: (f32, f32), new: (f32, f32)) -> (f32, f32) {
    let keep = (new.0 <= best.0) | best.0.is_nan();
    (if keep { best.0 } else { new.0 }, if keep { best.1 } else { new.1 })
}
