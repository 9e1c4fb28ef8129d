//! Stages that are one stage to the outside, perhaps with a skip around them. What goes through them, forward and back, is
//! kept between the calls, for all examples of a micro-batch one after another, as each stage wants it.

use super::{Stage, Trace, stack::Stack};
use crate::Shape;
use veracity_noise::Stream;

/// What is added to what comes out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Skip {
    /// Nothing.
    None,
    /// What went in.
    Input,
}

/// Keeps the output of every stage, the gradient by every output but the last, and what each stage keeps.
#[derive(Debug)]
pub(super) struct Chain {
    stack: Stack,
    skip: Skip,
}

/// What is kept, taken apart.
struct Parts<'a> {
    values: Vec<&'a mut [f32]>,
    gradients: Vec<&'a mut [f32]>,
    kept: Vec<&'a mut [f32]>,
}

impl Chain {
    /// # Assumes  The stack is not empty; with a skip, its output has the shape of its input
    pub(super) fn new(stack: Stack, skip: Skip) -> Chain {
        Chain { stack, skip }
    }

    fn last(&self) -> usize {
        self.stack.stages.len() - 1
    }

    /// Numbers for each example in the output of a stage.
    fn size(&self, stage: usize) -> usize {
        self.stack.shapes[stage + 1].size()
    }

    fn parts<'a>(&self, kept: &'a mut [f32], count: usize) -> Parts<'a> {
        let mut rest = kept;
        let mut cut = |size: usize| {
            let (part, after) = std::mem::take(&mut rest).split_at_mut(count * size);
            rest = after;
            part
        };
        Parts {
            values: (0..=self.last()).map(|stage| cut(self.size(stage))).collect(),
            gradients: (0..self.last()).map(|stage| cut(self.size(stage))).collect(),
            kept: self.stack.stages.iter().map(|stage| cut(stage.kept())).collect(),
        }
    }
}

/// What went through a stage within.
fn inner<'a>(
    stage: usize,
    count: usize,
    input: &'a [f32],
    values: &'a [&mut [f32]],
    kept: &'a mut [f32],
) -> Trace<'a> {
    let input = if stage == 0 { input } else { &*values[stage - 1] };
    Trace { count, input, output: &*values[stage], kept }
}

impl Stage for Chain {
    fn output(&self) -> Shape {
        self.stack.output()
    }

    fn parameters(&self) -> usize {
        self.stack.parameters()
    }

    fn leaves(&self) -> usize {
        self.stack.leaves()
    }

    fn adds_together(&self) -> bool {
        self.stack.adds_together()
    }

    fn initialise(&self, parameters: &mut [f32], rng: &mut Stream) {
        self.stack.initialise(parameters, rng);
    }

    fn kept(&self) -> usize {
        let kept = self.stack.stages.iter().map(|stage| stage.kept()).sum::<usize>();
        (0..=self.last()).map(|stage| self.size(stage)).sum::<usize>()
            + (0..self.last()).map(|stage| self.size(stage)).sum::<usize>()
            + kept
    }

    fn keeps_gradients(&self) -> bool {
        true
    }

    fn silence(&self, kept: &mut [f32], count: usize, example: usize) {
        let parts = self.parts(kept, count);
        for row in parts.values.into_iter().chain(parts.gradients) {
            let size = row.len() / count;
            row[example * size..][..size].fill(0.0);
        }
        for (stage, kept) in self.stack.stages.iter().zip(parts.kept) {
            stage.silence(kept, count, example);
        }
    }

    fn forward(&self, parameters: &[f32], count: usize, input: &[f32], output: &mut [f32], kept: &mut [f32]) {
        let mut parts = self.parts(kept, count);
        for (at, stage) in self.stack.stages.iter().enumerate() {
            let (before, after) = parts.values.split_at_mut(at);
            let input = before.last().map_or(input, |input| &**input);
            let parameters = &parameters[self.stack.places[at].clone()];
            stage.forward(parameters, count, input, after[0], parts.kept[at]);
        }
        output.copy_from_slice(parts.values[self.last()]);
        if self.skip == Skip::Input {
            output.iter_mut().zip(input).for_each(|(y, x)| *y += x);
        }
    }

    fn backward(&self, parameters: &[f32], trace: Trace<'_>, dy: &[f32], dx: &mut [f32]) {
        let mut parts = self.parts(trace.kept, trace.count);
        for (at, stage) in self.stack.stages.iter().enumerate().rev() {
            let (before, after) = parts.gradients.split_at_mut(at);
            let gradient = after.first().map_or(dy, |gradient| &**gradient);
            let target = before.last_mut().map_or(&mut *dx, |target| &mut **target);
            let trace = inner(at, trace.count, trace.input, &parts.values, parts.kept[at]);
            stage.backward(&parameters[self.stack.places[at].clone()], trace, gradient, target);
        }
        if self.skip == Skip::Input {
            dx.iter_mut().zip(dy).for_each(|(dx, dy)| *dx += dy);
        }
    }

    fn square_norms(&self, trace: Trace<'_>, dy: &[f32], norms: &mut [f32]) {
        let mut parts = self.parts(trace.kept, trace.count);
        for (at, stage) in self.stack.stages.iter().enumerate() {
            let gradient = parts.gradients.get(at).map_or(dy, |gradient| &**gradient);
            let trace = inner(at, trace.count, trace.input, &parts.values, parts.kept[at]);
            stage.square_norms(trace, gradient, norms);
        }
    }

    fn clipped_sum(&self, trace: Trace<'_>, dy: &mut [f32], factors: &[f32], sum: &mut [f32]) {
        let mut parts = self.parts(trace.kept, trace.count);
        for (at, stage) in self.stack.stages.iter().enumerate() {
            let gradient = parts.gradients.get_mut(at).map_or(&mut *dy, |gradient| &mut **gradient);
            let trace = inner(at, trace.count, trace.input, &parts.values, parts.kept[at]);
            stage.clipped_sum(trace, gradient, factors, &mut sum[self.stack.places[at].clone()]);
        }
    }
}
