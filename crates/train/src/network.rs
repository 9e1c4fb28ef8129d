//! A stack of layers with its shapes checked and its parameters laid out one after another.

use crate::{
    Layer, Shape,
    layer::{Stack, Stage},
};
use std::ops::Range;
use veracity_core::Refusal;
use veracity_noise::Stream;

/// Floats that a micro-batch may move through: about what a core's second-level cache holds.
const CACHED: usize = 1 << 18;

/// Layers that fit one on another.
#[derive(Debug)]
pub struct Network {
    layers: Vec<Layer>,
    stack: Stack,
}

impl Network {
    /// The most parameters.
    pub const MOST: usize = 1 << 30;

    /// Checks that each layer can take what the one before gives.
    pub fn new(input: Shape, layers: Vec<Layer>) -> Result<Network, Refusal> {
        let stack = Stack::of_layers(input, &layers)?;
        Ok(Network { layers, stack })
    }

    /// What goes in.
    pub fn input(&self) -> Shape {
        self.stack.shapes[0]
    }

    /// What comes out.
    pub fn output(&self) -> Shape {
        self.stack.output()
    }

    /// The layers as planned.
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// How many parameters all layers have together.
    pub fn parameters(&self) -> usize {
        self.stack.parameters()
    }

    /// Random initial parameters.
    pub fn initialise(&self, rng: &mut Stream) -> Vec<f32> {
        let mut parameters = vec![0.0; self.parameters()];
        self.stack.initialise(&mut parameters, rng);
        parameters
    }

    /// How many examples should pass through together: as many as the cache holds, but enough that their numbers outweigh
    /// the parameters, which every micro-batch passes over once. A power of two from 8 to 128; it follows from the layers
    /// alone, so that bits do not depend on the machine.
    pub fn micro_batch(&self) -> usize {
        let values: usize = self.stack.shapes.iter().map(|shape| 2 * shape.size()).sum();
        let kept: usize = self.stack.stages.iter().map(|stage| stage.kept()).sum();
        let each = values + kept;
        (CACHED.max(self.parameters()) / each).clamp(8, 128).next_power_of_two()
    }

    pub(crate) fn stages(&self) -> &[Box<dyn Stage>] {
        &self.stack.stages
    }

    pub(crate) fn shapes(&self) -> &[Shape] {
        &self.stack.shapes
    }

    pub(crate) fn places(&self) -> &[Range<usize>] {
        &self.stack.places
    }
}
