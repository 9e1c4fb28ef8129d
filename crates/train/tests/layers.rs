//! Layers as a plan sees them: what fits, what is refused and how, and that networks of them learn.

use veracity_core::{ClipNorm, Count, NoiseMultiplier, Refusal};
use veracity_noise::Entropy;
use veracity_train::*;

const IMAGE: Shape = Shape::Image { channels: 6, height: 8, width: 7 };
const SEQUENCE: Shape = Shape::Sequence { length: 5, width: 6 };

fn refusal(input: Shape, layer: Layer) -> String {
    Network::new(input, vec![layer]).expect_err("this layer does not fit").to_string()
}

fn conv(channels: usize, kernel: usize, stride: usize, padding: usize) -> Layer {
    Layer::Conv2d { channels, kernel, stride, padding }
}

#[test]
fn shapes_follow_from_the_layers() {
    let network = Network::new(
        Shape::Image { channels: 1, height: 28, width: 28 },
        vec![
            conv(16, 8, 2, 3),
            Layer::Relu,
            Layer::MaxPool { kernel: 2, stride: 1 },
            conv(32, 4, 2, 0),
            Layer::Relu,
            Layer::MaxPool { kernel: 2, stride: 1 },
            Layer::Flatten,
            Layer::Linear { outputs: 32 },
            Layer::Relu,
            Layer::Linear { outputs: 10 },
        ],
    )
    .unwrap();
    assert_eq!(network.output(), Shape::Flat(10));
    assert_eq!(network.parameters(), 16 * 65 + 32 * 257 + 32 * 513 + 10 * 33);
    assert_eq!(network.micro_batch(), 13);
}

#[test]
fn what_does_not_fit_is_refused_in_one_line_that_says_what_would() {
    let cases = [
        (IMAGE, conv(4, 9, 1, 0), "kernel is 9, expected 1 ≤ kernel ≤ 7"),
        (IMAGE, conv(4, 0, 1, 0), "kernel is 0, expected 1 ≤ kernel ≤ 7"),
        (IMAGE, conv(4, 3, 0, 0), "stride is 0, expected 1 ≤ stride ≤ 8"),
        (IMAGE, conv(4, 3, 1, 3), "padding is 3, expected less than the kernel"),
        (IMAGE, conv(0, 3, 1, 1), "channels is 0, expected 1 ≤ channels"),
        (IMAGE, conv(4, usize::MAX, 1, 0), "expected 1 ≤ kernel ≤ 7"),
        (IMAGE, conv(4, usize::MAX, 1, usize::MAX - 1), "padding is"),
        (Shape::Image { channels: 1, height: 1 << 14, width: 1 << 14 }, conv(1, 3, 1, 1), "at most 2^30"),
        (Shape::Image { channels: 1 << 20, height: 1, width: 1 }, conv(1, 4000, 1, 3999), "at most 2^30"),
        (
            SEQUENCE,
            conv(4, 3, 1, 0),
            "a conv2d layer needs an image (channels × height × width), but its input is 5×6",
        ),
        (IMAGE, Layer::MaxPool { kernel: 8, stride: 1 }, "kernel is 8, expected 1 ≤ kernel ≤ 7"),
        (IMAGE, Layer::AveragePool { kernel: 2, stride: 0 }, "stride is 0"),
        (Shape::Flat(9), Layer::MaxPool { kernel: 2, stride: 1 }, "needs an image"),
        (IMAGE, Layer::GroupNorm { groups: 4 }, "groups is 4, expected a divisor of the 6 channels"),
        (IMAGE, Layer::GroupNorm { groups: 0 }, "groups is 0, expected a divisor"),
        (Shape::Flat(6), Layer::GroupNorm { groups: 6 }, "needs at least two numbers"),
        (SEQUENCE, Layer::GroupNorm { groups: 2 }, "use layer-norm for sequences"),
        (IMAGE, Layer::LayerNorm, "use group-norm for images"),
        (Shape::Flat(1), Layer::LayerNorm, "width is 1, expected at least 2"),
        (SEQUENCE, Layer::Attention { heads: 4 }, "heads is 4, expected a divisor of the width 6"),
        (SEQUENCE, Layer::Attention { heads: 0 }, "heads is 0, expected a divisor"),
        (IMAGE, Layer::Attention { heads: 2 }, "needs a sequence"),
        (SEQUENCE, Layer::Embedding { tokens: 9, width: 4 }, "needs a sequence with one number"),
        (Shape::Sequence { length: 5, width: 1 }, Layer::Embedding { tokens: 0, width: 4 }, "tokens is 0"),
        (Shape::Sequence { length: 5, width: 1 }, Layer::Embedding { tokens: 9, width: 0 }, "width is 0"),
        (IMAGE, Layer::Linear { outputs: 3 }, "put a flatten layer before it"),
        (SEQUENCE, Layer::Linear { outputs: 0 }, "outputs is 0"),
        (Shape::Flat(0), Layer::Relu, "shape is 0, expected 1 to 2^28 numbers"),
        (Shape::Image { channels: 0, height: 3, width: 3 }, Layer::Relu, "shape is 0×3×3"),
        (Shape::Flat(usize::MAX), Layer::Flatten, "expected 1 to 2^28 numbers"),
        (Shape::Sequence { length: 1 << 40, width: 1 << 40 }, Layer::LayerNorm, "expected 1 to 2^28"),
        (
            Shape::Sequence { length: 1 << 15, width: 1 << 10 },
            Layer::Attention { heads: 1024 },
            "at most 2^30",
        ),
        (Shape::Flat(1 << 24), Layer::Linear { outputs: 1 << 24 }, "parameters is"),
        (IMAGE, Layer::Residual { layers: vec![conv(5, 3, 1, 1)] }, "needs the same shape"),
        (IMAGE, Layer::Residual { layers: vec![] }, "layers is 0, expected at least one layer"),
        (IMAGE, Layer::Residual { layers: vec![Layer::GroupNorm { groups: 5 }] }, "groups is 5"),
    ];
    for (shape, layer, expected) in cases {
        let name = format!("{layer:?}");
        let said = refusal(shape, layer);
        assert!(said.contains(expected), "{name}: {said}");
        assert!(!said.contains('\n') && !said.ends_with('.'), "{said}");
    }
    assert!(Network::new(Shape::Flat(3), vec![]).is_err());
}

#[test]
fn batch_norm_is_refused_with_why_and_what_to_use() {
    for name in ["batch-norm", "BatchNorm2d", "batch_norm"] {
        let said = Layer::refusal(name).unwrap().to_string();
        assert!(said.contains("mixes the examples") && said.contains("group-norm"), "{said}");
    }
    let said = Layer::refusal("ls\ntm").unwrap().to_string();
    assert!(said.starts_with("layer is ls tm, expected linear,") && !said.contains('\n'), "{said}");
    assert!(Layer::NAMES.iter().all(|name| Layer::refusal(name).is_none()));
    assert!(Layer::NAMES.contains(&Layer::Tanh.name()) && Layer::NAMES.contains(&conv(1, 1, 1, 0).name()));
}

/// The share of the digits that a network gets right after a short private training.
fn learned(network: Network) -> Result<f64, Refusal> {
    let rows = veracity_train::DIGITS.chunks_exact(65);
    let features = rows.clone().flat_map(|row| row[1..].iter().map(|x| f32::from(*x) / 16.0)).collect();
    let of: Vec<u32> = rows.map(|row| u32::from(row[0])).collect();
    let digits = Dataset::new(features, 64, Labels::Classes { of: of.clone(), classes: 10 })?;
    let plan = Plan {
        network,
        loss: Loss::SoftmaxCrossEntropy,
        sampling: Sampling::Poisson { batch: Count::new(256)?, population: Count::new(1797)? },
        steps: Count::new(120)?,
        privacy: Privacy::Gaussian {
            noise: NoiseMultiplier::new(1.0)?,
            clip: ClipNorm::new(1.0)?,
            clipping: Clipping::Flat,
        },
        optimiser: Optimiser::Sgd { momentum: 0.0 },
        schedule: Schedule::Constant { rate: 1.0 },
        weight_decay: 0.0,
        averaging: Averaging::None,
        initial: Initial::Random { scale: 1.0 },
        unit: Unit::Record,
        views: None,
    };
    let model = cohort::train(&plan, &digits, &Entropy::seeded(7), 0, 0..1)?.swap_remove(0);
    let outputs = cohort::predict(&plan.network, &model.parameters, &digits)?;
    let best = |row: &[f32]| (0..10).max_by(|a, b| row[*a].total_cmp(&row[*b])).unwrap_or(0);
    let right = outputs.chunks_exact(10).zip(&of).filter(|(row, class)| best(row) == **class as usize);
    Ok(right.count() as f64 / of.len() as f64)
}

#[test]
fn networks_of_every_kind_learn_the_digits_with_privacy_on() {
    let image = Shape::Image { channels: 1, height: 8, width: 8 };
    let head = [Layer::Flatten, Layer::Linear { outputs: 10 }];
    let with_head = |layers: Vec<Layer>| [layers, head.to_vec()].concat();
    let convolutional = with_head(vec![
        conv(8, 3, 1, 1),
        Layer::GroupNorm { groups: 2 },
        Layer::Tanh,
        Layer::Residual { layers: vec![conv(8, 3, 1, 1), Layer::Relu, conv(8, 3, 1, 1)] },
        Layer::MaxPool { kernel: 2, stride: 2 },
    ]);
    let attentive = with_head(vec![
        Layer::Linear { outputs: 16 },
        Layer::Residual { layers: vec![Layer::LayerNorm, Layer::Attention { heads: 4 }] },
        Layer::Gelu,
    ]);
    let tokens = with_head(vec![Layer::Embedding { tokens: 17, width: 4 }]);
    let networks = [
        (image, convolutional, 0.8),
        (Shape::Sequence { length: 8, width: 8 }, attentive, 0.7),
        // Sixteenths are no tokens but for 0 and 1, which still tell digits apart.
        (Shape::Sequence { length: 64, width: 1 }, tokens, 0.4),
    ];
    for (input, layers, least) in networks {
        let right = learned(Network::new(input, layers).unwrap()).unwrap();
        assert!(right > least, "{right} of the digits right on {input}");
    }
}
