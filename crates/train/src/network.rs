//! A stack of layers with its shapes checked and its parameters laid out one after another.

use crate::{
    Layer, Shape,
    layer::{Stack, Stage},
};
use std::{ops::Range, sync::Arc};
use veracity_core::Refusal;
use veracity_noise::Stream;

/// Floats that a micro-batch may move through: twice what a core's second-level cache holds, since half of them are not
/// needed again on the way back.
const CACHED: usize = 1 << 19;

/// Layers that fit one on another.
///
/// # Examples
///
/// ```
/// use veracity_train::{Layer, Network, Shape};
///
/// let image = Shape::Image { channels: 1, height: 28, width: 28 };
/// let layers = vec![Layer::Flatten, Layer::Linear { outputs: 32 }, Layer::Relu, Layer::Linear { outputs: 10 }];
/// let network = Network::new(image, layers)?;
/// assert_eq!(network.parameters(), 784 * 32 + 32 + 32 * 10 + 10);
/// assert_eq!(network.output(), Shape::Flat(10));
/// // A layer that would mix examples is refused, with what to use instead.
/// let refusal = Layer::refusal("BatchNorm2d").map(|refusal| refusal.to_string());
/// assert!(refusal.is_some_and(|line| line.contains("group-norm")));
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
#[derive(Debug, Clone)]
pub struct Network {
    layers: Vec<Layer>,
    /// Nothing in it changes, so clones share it.
    stack: Arc<Stack>,
}

impl Network {
    /// The most parameters.
    pub const MOST: usize = 1 << 30;

    /// Checks that each layer can take what the one before gives.
    ///
    /// # Errors
    /// Refuses layers that do not fit, and more than [`Network::MOST`] parameters.
    pub fn new(input: Shape, layers: Vec<Layer>) -> Result<Network, Refusal> {
        let stack = Stack::of_network(input, &layers)?;
        Ok(Network { layers, stack: Arc::new(stack) })
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

    /// The most examples that should pass through together: as many as the cache holds, but enough that their numbers
    /// outweigh the parameters, which every micro-batch passes over once. It follows from the layers alone, so that bits do
    /// not depend on the machine.
    pub fn micro_batch(&self) -> usize {
        (CACHED.max(self.parameters()) / self.stack.moved).clamp(8, 192)
    }

    /// How many layers have parameters, those within others counted one by one.
    pub(crate) fn leaves(&self) -> usize {
        self.stack.leaves()
    }

    /// Whether all layers add up the terms of examples before they add them to a sum.
    pub(crate) fn adds_together(&self) -> bool {
        self.stack.adds_together()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clip::Clip;
    use crate::{Clipping, Loss, loss::Label, pass::Pass};
    use veracity_noise::{Entropy, Purpose};

    const CLASSES: usize = 3;

    /// A network of images with every kind of layer that takes them, and one of tokens; a chain comes first in one.
    fn networks() -> Vec<Network> {
        let conv = |channels, kernel| Layer::Conv2d { channels, kernel, stride: 1, padding: 1 };
        let images = vec![
            Layer::Residual { layers: vec![conv(4, 3), Layer::Tanh, conv(2, 3)] },
            conv(4, 2),
            Layer::GroupNorm { groups: 2 },
            Layer::Relu,
            Layer::MaxPool { kernel: 2, stride: 1 },
            Layer::AveragePool { kernel: 2, stride: 2 },
            Layer::Flatten,
            Layer::Linear { outputs: CLASSES },
        ];
        let attend = Layer::Residual { layers: vec![Layer::LayerNorm, Layer::Attention { heads: 2 }] };
        let tokens = vec![
            Layer::Embedding { tokens: 6, width: 4 },
            attend,
            Layer::Linear { outputs: 3 },
            Layer::Gelu,
            Layer::Flatten,
            Layer::Linear { outputs: CLASSES },
        ];
        vec![
            Network::new(Shape::Image { channels: 2, height: 6, width: 5 }, images).unwrap(),
            Network::new(Shape::Sequence { length: 5, width: 1 }, tokens).unwrap(),
        ]
    }

    /// The clipped sum of these examples, all in one micro-batch.
    fn clipped_sum(network: &Network, parameters: &[f32], rows: &[&[f32]], clip: f32) -> Vec<f32> {
        let mut pass = Pass::new(network, rows.len());
        let width = network.input().size();
        for (target, row) in pass.input(network, rows.len()).chunks_exact_mut(width).zip(rows) {
            target.copy_from_slice(row);
        }
        pass.forward(network, parameters, rows.len());
        let labels = (0..rows.len()).map(|row| Label::Class((rows[row][0].to_bits() % 3).min(2)));
        pass.backward(network, parameters, Loss::SoftmaxCrossEntropy, labels, rows.len());
        let mut sum = vec![0.0; network.parameters()];
        pass.clipped_sum(network, &Clip::new(&Clipping::Flat, network, clip), rows.len(), &mut sum);
        sum
    }

    fn length(row: &[f32]) -> f64 {
        row.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt()
    }

    /// A network with its parameters and some examples.
    fn settings() -> Vec<(Network, Vec<f32>, Vec<Vec<f32>>)> {
        let setting = |network: Network| {
            let mut rng = Entropy::seeded(5).family(Purpose::Init, 0, 0).stream(0);
            let parameters = network.initialise(&mut rng);
            let image = matches!(network.input(), Shape::Image { .. });
            let mut number = || match image {
                true => (rng.word() >> 40) as f32 / (1u64 << 23) as f32 - 1.0,
                false => (rng.word() % 6) as f32,
            };
            let size = network.input().size();
            let rows = (0..5).map(|_| (0..size).map(|_| number()).collect()).collect();
            (network, parameters, rows)
        };
        networks().into_iter().map(setting).collect()
    }

    #[test]
    fn a_batch_adds_what_its_examples_add_alone_each_at_most_the_clip_norm() {
        for (network, parameters, rows) in settings() {
            for clip in [f32::INFINITY, 0.5] {
                let all: Vec<&[f32]> = rows.iter().map(Vec::as_slice).collect();
                let together = clipped_sum(&network, &parameters, &all, clip);
                let mut apart = vec![0.0; together.len()];
                for row in &all {
                    let alone = clipped_sum(&network, &parameters, &[row], clip);
                    assert!(length(&alone) <= f64::from(clip) * (1.0 + 1e-5), "{}", length(&alone));
                    assert!(clip.is_infinite() || length(&alone) > 0.499, "clipping does something here");
                    apart.iter_mut().zip(&alone).for_each(|(sum, x)| *sum += x);
                }
                let off: Vec<f32> = together.iter().zip(&apart).map(|(x, y)| x - y).collect();
                assert!(length(&off) <= 1e-5 * length(&apart), "{} {}", length(&off), length(&apart));
            }
        }
    }

    #[test]
    fn an_example_that_overflows_adds_nothing() {
        let (network, parameters, rows) = settings().swap_remove(0);
        let bad = vec![3e38; rows[0].len()];
        let alone = clipped_sum(&network, &parameters, &[&bad], 1.0);
        assert!(alone.iter().all(|x| *x == 0.0));
        let with = clipped_sum(&network, &parameters, &[&rows[0], &bad, &rows[1]], 1.0);
        let zero = vec![f32::MAX; rows[0].len()];
        let other = clipped_sum(&network, &parameters, &[&rows[0], &zero, &rows[1]], 1.0);
        assert_eq!(with, other);
        assert!(with.iter().all(|x| x.is_finite()) && length(&with) > 0.0);
    }

    #[test]
    fn micro_batches_fit_the_cache() {
        let flat = |inputs, hidden| {
            let layers = vec![Layer::Linear { outputs: hidden }, Layer::Relu, Layer::Linear { outputs: 10 }];
            Network::new(Shape::Flat(inputs), layers).unwrap().micro_batch()
        };
        assert_eq!((flat(784, 256), flat(64, 10), flat(100_000, 16)), (192, 192, 8));
        assert!(networks().iter().all(|network| (8..=192).contains(&network.micro_batch())));
    }
}
