//! Stages one on another: shapes that fit, parameters laid out one after another.

use super::{Stage, conv_relu_pool::ConvReluPool};
use crate::{Layer, Network, Shape};
use std::ops::Range;
use veracity_core::Refusal;
use veracity_noise::Stream;

/// The most numbers that may be kept of one example.
const MOST_KEPT: usize = 1 << 30;

/// Stages that fit.
#[derive(Debug)]
pub(crate) struct Stack {
    pub stages: Vec<Box<dyn Stage>>,
    /// The shape before each stage, and after the last.
    pub shapes: Vec<Shape>,
    /// Where each stage's parameters are.
    pub places: Vec<Range<usize>>,
    /// Numbers of one example that layers pass on, forward and back, and keep: of each layer as if it were a stage of its own.
    pub moved: usize,
}

impl Stack {
    /// Checks that each layer can take what the one before gives.
    pub(crate) fn of_layers(input: Shape, layers: &[Layer]) -> Result<Stack, Refusal> {
        if layers.is_empty() {
            return Err(Refusal::out_of_range("layers", 0, "at least one layer"));
        }
        let mut stack = Stack::on(input)?;
        for layer in layers {
            stack.push(layer.stage(stack.output())?)?;
        }
        Ok(stack)
    }

    /// The same, with layers that are faster as one stage made into one. Bits are the same.
    pub(crate) fn of_network(input: Shape, layers: &[Layer]) -> Result<Stack, Refusal> {
        let apart = Stack::of_layers(input, layers)?;
        let mut stack = Stack::on(input)?;
        let mut at = 0;
        while at < layers.len() {
            at += match ConvReluPool::new(stack.output(), &layers[at..])? {
                Some(pooled) => {
                    stack.push(Box::new(pooled))?;
                    ConvReluPool::LAYERS
                }
                None => {
                    stack.push(layers[at].stage(stack.output())?)?;
                    1
                }
            };
        }
        Ok(Stack { moved: apart.moved, ..stack })
    }

    /// No stages yet.
    pub(super) fn on(input: Shape) -> Result<Stack, Refusal> {
        let shapes = vec![input.checked()?];
        Ok(Stack { stages: Vec::new(), shapes, places: Vec::new(), moved: 2 * input.size() })
    }

    /// Puts a stage on top.
    pub(super) fn push(&mut self, stage: Box<dyn Stage>) -> Result<(), Refusal> {
        let start = self.parameters();
        let end = start.saturating_add(stage.parameters());
        if end > Network::MOST {
            return Err(Refusal::out_of_range("parameters", end, "at most 2^30"));
        }
        if stage.kept() > MOST_KEPT {
            return Err(Refusal::out_of_range("numbers stored per example", stage.kept(), "at most 2^30"));
        }
        self.shapes.push(stage.output().checked()?);
        self.moved += 2 * stage.output().size() + stage.kept();
        self.places.push(start..end);
        self.stages.push(stage);
        Ok(())
    }

    pub(crate) fn output(&self) -> Shape {
        self.shapes[self.shapes.len() - 1]
    }

    pub(crate) fn parameters(&self) -> usize {
        self.places.last().map_or(0, |place| place.end)
    }

    /// How many stages have parameters, those within others counted one by one.
    pub(crate) fn leaves(&self) -> usize {
        self.stages.iter().map(|stage| stage.leaves()).sum()
    }

    /// Whether all stages add up the terms of examples before they add them to a sum.
    pub(crate) fn adds_together(&self) -> bool {
        self.stages.iter().all(|stage| stage.adds_together())
    }

    pub(crate) fn initialise(&self, parameters: &mut [f32], rng: &mut Stream) {
        for (stage, place) in self.stages.iter().zip(&self.places) {
            stage.initialise(&mut parameters[place.clone()], rng);
        }
    }
}
