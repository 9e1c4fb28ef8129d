//! A stack of layers with its shapes checked and its parameters laid out one after another.

use crate::{Layer, Shape, layer::Stage};
use std::ops::Range;
use veracity_core::Refusal;
use veracity_noise::Stream;

/// Layers that fit one on another.
#[derive(Debug)]
pub struct Network {
    input: Shape,
    layers: Vec<Layer>,
    stages: Vec<Box<dyn Stage>>,
    /// The shape before each stage, and after the last.
    shapes: Vec<Shape>,
    /// Where each stage's parameters are.
    places: Vec<Range<usize>>,
}

impl Network {
    /// The most parameters.
    pub const MOST: usize = 1 << 30;

    /// Checks that each layer can take what the one before gives.
    pub fn new(input: Shape, layers: Vec<Layer>) -> Result<Network, Refusal> {
        if layers.is_empty() {
            return Err(Refusal::out_of_range("layers", 0, "at least one layer"));
        }
        let (mut stages, mut shapes, mut places) = (Vec::new(), vec![input], Vec::new());
        let (mut shape, mut end) = (input, 0usize);
        for layer in &layers {
            let stage = layer.stage(shape)?;
            shape = stage.output();
            let start = end;
            end += stage.parameters();
            if end > Network::MOST {
                return Err(Refusal::out_of_range("parameters", end, "at most 2^30"));
            }
            places.push(start..end);
            shapes.push(shape);
            stages.push(stage);
        }
        Ok(Network { input, layers, stages, shapes, places })
    }

    /// What goes in.
    pub fn input(&self) -> Shape {
        self.input
    }

    /// What comes out.
    pub fn output(&self) -> Shape {
        self.shapes[self.shapes.len() - 1]
    }

    /// The layers as planned.
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// How many parameters all layers have together.
    pub fn parameters(&self) -> usize {
        self.places.last().map_or(0, |place| place.end)
    }

    /// Random initial parameters.
    pub fn initialise(&self, rng: &mut Stream) -> Vec<f32> {
        let mut parameters = vec![0.0; self.parameters()];
        for (stage, place) in self.stages.iter().zip(&self.places) {
            stage.initialise(&mut parameters[place.clone()], rng);
        }
        parameters
    }

    pub(crate) fn stages(&self) -> &[Box<dyn Stage>] {
        &self.stages
    }

    pub(crate) fn shapes(&self) -> &[Shape] {
        &self.shapes
    }

    pub(crate) fn places(&self) -> &[Range<usize>] {
        &self.places
    }
}
