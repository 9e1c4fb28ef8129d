//! Batches that are made to move a clipped sum by more than is accounted, and how far they do.
//!
//! A [`Setting`] is a network with its loss, labels and starting parameters; [`Craft`] says what its records are like. Everything
//! is replayed: one step on all records, and the same step without one of them, or with another in its place.

#![allow(dead_code)] // Each test file uses the part that it needs.

use veracity_core::{Adjacency, ClipNorm, Count};
use veracity_noise::{Entropy, Key, Purpose, Stream};
use veracity_testkit::shifted_ramp;
use veracity_testkit::short;
use veracity_train::{replay::replay, *};

pub const CLIP: f64 = 1.0;
pub const NOISE: f64 = 1.0;

/// What the records of a batch are like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Craft {
    /// A ramp and what sums swallow after it, made for sums of equal stretches of a batch: see [`shifted_ramp`].
    Shifted,
    /// The first half adds up to a little more than a power of two, and the rest are 0.49 units in the last place of that, which
    /// a sum swallows or rounds to half a unit.
    Swallowed,
    /// As swallowed, with a ramp of another length, so that sums of a shard end at other places.
    Ramp,
    /// All alike, and longer than the clip norm.
    Alike,
    /// Each is the opposite of the one before.
    Cancelling,
    /// Numbers that are not normal.
    Denormal,
    /// Norms within a rounding of the clip norm.
    AtTheClip,
    /// Anything, of all sizes.
    Random,
}

pub const CRAFTS: [Craft; 8] = [
    Craft::Shifted,
    Craft::Swallowed,
    Craft::Ramp,
    Craft::Alike,
    Craft::Cancelling,
    Craft::Denormal,
    Craft::AtTheClip,
    Craft::Random,
];

pub struct Setting {
    pub name: &'static str,
    pub input: Shape,
    pub layers: Vec<Layer>,
    pub loss: Loss,
    /// The largest batch that it is tried with.
    pub most: usize,
}

pub fn dice(seed: u64) -> Stream {
    Entropy::seeded(seed).stream(Purpose::Attack, Key::default())
}

fn uniform(rng: &mut Stream) -> f32 {
    (rng.word() >> 40) as f32 / (1u64 << 23) as f32 - 1.0
}

/// Every layer kind and loss; the first are cheap enough for the largest batches.
pub fn settings() -> Vec<Setting> {
    let conv = |channels, kernel| Layer::Conv2d { channels, kernel, stride: 1, padding: 0 };
    let out = |outputs| Layer::Linear { outputs };
    let image = |channels, side| Shape::Image { channels, height: side, width: side };
    let sequence = |length, width| Shape::Sequence { length, width };
    let squared = |name, input, layers, most| Setting { name, input, layers, loss: Loss::Squared, most };
    let attend = Layer::Residual { layers: vec![Layer::LayerNorm, Layer::Attention { heads: 2 }] };
    vec![
        squared("linear, squared", Shape::Flat(1), vec![out(1)], 1 << 18),
        Setting {
            name: "linear, logistic",
            input: Shape::Flat(3),
            layers: vec![out(1)],
            loss: Loss::Logistic,
            most: 1 << 18,
        },
        Setting {
            name: "linear, softmax",
            input: Shape::Flat(4),
            layers: vec![out(3)],
            loss: Loss::SoftmaxCrossEntropy,
            most: 1 << 16,
        },
        Setting {
            name: "linear, huber",
            input: Shape::Flat(2),
            layers: vec![out(1)],
            loss: Loss::Huber { delta: 0.5 },
            most: 1 << 16,
        },
        squared("relu, wide", Shape::Flat(40), vec![out(24), Layer::Relu, out(1)], 2048),
        squared("tanh", Shape::Flat(9), vec![out(5), Layer::Tanh, out(1)], 2048),
        squared("gelu", Shape::Flat(9), vec![out(20), Layer::Gelu, out(1)], 2048),
        squared("layer norm", Shape::Flat(6), vec![Layer::LayerNorm, out(1)], 2048),
        squared("group norm", Shape::Flat(6), vec![Layer::GroupNorm { groups: 2 }, out(1)], 2048),
        squared(
            "conv2d, max pool",
            image(1, 6),
            vec![conv(4, 2), Layer::Relu, Layer::MaxPool { kernel: 2, stride: 2 }, Layer::Flatten, out(1)],
            600,
        ),
        squared(
            "conv2d by Gram matrices, average pool",
            image(8, 4),
            vec![conv(24, 3), Layer::AveragePool { kernel: 2, stride: 1 }, Layer::Flatten, out(1)],
            600,
        ),
        squared(
            "embedding",
            sequence(5, 1),
            vec![Layer::Embedding { tokens: 4, width: 3 }, Layer::Flatten, out(1)],
            600,
        ),
        squared("residual attention", sequence(3, 4), vec![attend, Layer::Flatten, out(1)], 600),
        squared("linear at places", sequence(3, 20), vec![out(20), Layer::Flatten, out(1)], 600),
    ]
}

impl Setting {
    pub fn network(&self) -> Network {
        Network::new(self.input, self.layers.clone()).unwrap()
    }

    /// A plan of one step on all records.
    pub fn plan(&self, records: usize, privacy: Privacy, sampling: fn(Count, Count) -> Sampling) -> Plan {
        let all = short::count(records as u64);
        let network = self.network();
        let mut plan = Plan::new(network, self.loss, sampling(all, all), Count::ONE, privacy)
            .with_optimiser(Optimiser::Sgd { momentum: 0.0 })
            .with_schedule(Schedule::Constant { rate: 0.1 });
        // Linear models start at zero: then a record's gradient is its label times its features.
        if self.layers.len() == 1 {
            plan.initial = Initial::At(vec![0.0; plan.network.parameters()]);
        }
        plan
    }

    /// Records of a craft.
    pub fn data(&self, craft: Craft, records: usize, seed: u64) -> Dataset {
        let mut rng = dice(seed);
        let width = self.input.size();
        let base: Vec<f32> = (0..width).map(|_| uniform(&mut rng)).collect();
        let (mut features, mut numbers) = (Vec::new(), Vec::new());
        let ramp = match craft {
            Craft::Ramp => records / 3,
            _ => records / 2,
        };
        // What half a shard comes to, and a unit in its last place.
        let top = (64 * ramp.max(1)).min(ramp.max(64)) as f32;
        let unit = f32::EPSILON * 2f32.powi(top.log2().floor() as i32);
        let shifted = if craft == Craft::Shifted { shifted_ramp(records, 0.93) } else { Vec::new() };
        for at in 0..records {
            let (x, y): (Vec<f32>, f32) = match craft {
                Craft::Swallowed | Craft::Ramp => {
                    let y = if at < ramp { -0.993 } else { 0.49 * unit };
                    (base.iter().map(|x| x * 1e-3).collect(), y)
                }
                Craft::Shifted => (vec![0.0; width], -shifted.get(at).copied().unwrap_or(0.0)),
                Craft::Alike => (base.clone(), 1e3),
                Craft::Cancelling => {
                    let sign = if at % 2 == 0 { 1.0 } else { -1.0 };
                    (base.iter().map(|x| x * (1.0 + uniform(&mut rng) * 1e-6)).collect(), sign * 50.0)
                }
                Craft::Denormal => (base.iter().map(|x| x * 1e-41).collect(), 1e-39 * uniform(&mut rng)),
                Craft::AtTheClip => {
                    let y = 0.9949 + 1e-7 * (at % 64) as f32;
                    (vec![0.0; width], if at % 5 == 0 { -y } else { y })
                }
                Craft::Random => {
                    let size = 10f32.powf(8.0 * uniform(&mut rng));
                    ((0..width).map(|_| size * uniform(&mut rng)).collect(), size * uniform(&mut rng))
                }
            };
            let is_token = matches!(self.layers[0], Layer::Embedding { .. });
            features.extend(x.iter().map(|x| if is_token { (x * 7.9).abs().floor().min(4.0) } else { *x }));
            numbers.push(y);
        }
        let labels = match self.loss {
            Loss::SoftmaxCrossEntropy => {
                let of =
                    numbers.iter().enumerate().map(|(at, y)| if *y > 0.0 { 0 } else { 1 + at as u32 % 2 });
                Labels::Classes { of: of.collect(), classes: 3 }
            }
            Loss::Logistic => {
                Labels::Classes { of: numbers.iter().map(|y| u32::from(*y > 0.0)).collect(), classes: 2 }
            }
            Loss::Squared | Loss::Huber { .. } => Labels::Values(numbers),
        };
        Dataset::new(features, width, labels).unwrap()
    }
}

pub fn poisson(batch: Count, population: Count) -> Sampling {
    Sampling::Poisson { batch, population }
}

pub fn flat() -> Privacy {
    with_clipping(Clipping::Flat)
}

pub fn with_clipping(clipping: Clipping) -> Privacy {
    Privacy::Gaussian { noise: short::noise(NOISE), clip: ClipNorm::new(CLIP).unwrap(), clipping }
}

/// How much of what is accounted a sum moves by when a record is taken away.
pub fn moved(plan: &Plan, data: &Dataset, gone: usize) -> f64 {
    let entropy = Entropy::seeded(11);
    let draws = Draws { entropy: &entropy, run: 0, trial: 0 };
    let world = World::from(data);
    let neighbour = world.without(gone).unwrap();
    replay(plan, world, neighbour, Adjacency::AddRemove, draws).unwrap().used
}

/// The largest part of what is accounted that a sum moves by, for a record in front, in the middle and at the end.
pub fn farthest(plan: &Plan, data: &Dataset) -> f64 {
    let last = data.len() - 1;
    [0, data.len() / 2, last].into_iter().map(|gone| moved(plan, data, gone)).fold(0.0, f64::max)
}
