//! Slow reference implementations of layers, in double precision, straight from the definitions.

use super::Layer;
use crate::Shape;
use veracity_noise::{Entropy, Purpose};

/// Numbers that look random.
fn numbers(count: usize, seed: u64) -> Vec<f32> {
    let mut rng = Entropy::seeded(seed).family(Purpose::Init, 0, 0).stream(0);
    (0..count).map(|_| (rng.word() >> 40) as f32 / (1u64 << 23) as f32 - 1.0).collect()
}

/// Runs a layer on two examples and compares it with its reference implementation, which gets parameters and one example.
fn compare(layer: &Layer, shape: Shape, twin: impl Fn(&[f64], &[f64]) -> Vec<f64>) {
    let stage = layer.stage(shape).unwrap();
    let (parameters, input) = (numbers(stage.parameters(), 1), numbers(2 * shape.size(), 2));
    let size = stage.output().size();
    let (mut output, mut kept) = (vec![0.0; 2 * size], vec![0.0; 2 * stage.kept()]);
    stage.forward(&parameters, 2, &input, &mut output, &mut kept);
    let wide = |row: &[f32]| row.iter().copied().map(f64::from).collect::<Vec<_>>();
    for (input, output) in input.chunks_exact(shape.size()).zip(output.chunks_exact(size)) {
        let truth = twin(&wide(&parameters), &wide(input));
        assert_eq!(truth.len(), output.len());
        let off = truth.iter().zip(output).map(|(x, y)| (x - f64::from(*y)).abs()).fold(0.0, f64::max);
        assert!(off < 2e-5, "{layer:?} on {shape}: off by {off}");
    }
}

const CHANNELS: usize = 3;
const HEIGHT: usize = 9;
const WIDTH: usize = 8;
const IMAGE: Shape = Shape::Image { channels: CHANNELS, height: HEIGHT, width: WIDTH };

/// What a window at (down, along) sees, in one channel, zeros outside.
fn seen(image: &[f64], channel: usize, corner: (isize, isize), kernel: usize) -> Vec<f64> {
    let mut all = Vec::new();
    for y in 0..kernel as isize {
        for x in 0..kernel as isize {
            let (y, x) = (corner.0 + y, corner.1 + x);
            let inside = (0..HEIGHT as isize).contains(&y) && (0..WIDTH as isize).contains(&x);
            let at = channel * HEIGHT * WIDTH + y.max(0) as usize * WIDTH + x.max(0) as usize;
            all.push(if inside { image[at] } else { 0.0 });
        }
    }
    all
}

/// All corners at which a window stops, row by row.
fn corners(kernel: usize, stride: usize, padding: usize) -> Vec<(isize, isize)> {
    let last = |side: usize| (side + 2 * padding - kernel) as isize;
    let mut all = Vec::new();
    for y in (0..=last(HEIGHT)).step_by(stride) {
        for x in (0..=last(WIDTH)).step_by(stride) {
            all.push((y - padding as isize, x - padding as isize));
        }
    }
    all
}

#[test]
fn convolutions_are_weighted_sums_of_what_the_window_sees() {
    for (kernel, stride, padding) in
        [(3, 1, 1), (3, 1, 0), (2, 1, 1), (4, 2, 1), (5, 3, 2), (6, 2, 5), (1, 1, 0)]
    {
        let outputs = 4;
        let layer = Layer::Conv2d { channels: outputs, kernel, stride, padding };
        compare(&layer, IMAGE, |parameters, image| {
            let (weights, biases) = parameters.split_at(outputs * CHANNELS * kernel * kernel);
            let mut all = Vec::new();
            for output in 0..outputs {
                for corner in corners(kernel, stride, padding) {
                    let sees = (0..CHANNELS).flat_map(|channel| seen(image, channel, corner, kernel));
                    let weights = &weights[output * CHANNELS * kernel * kernel..];
                    all.push(biases[output] + sees.zip(weights).map(|(x, w)| x * w).sum::<f64>());
                }
            }
            all
        });
    }
}

#[test]
fn pools_are_the_largest_and_the_mean_of_what_the_window_sees() {
    for (kernel, stride) in [(2, 1), (2, 2), (3, 2), (4, 3), (8, 1), (1, 1)] {
        let each = |image: &[f64], of: fn(&[f64]) -> f64| {
            let places = (0..CHANNELS).flat_map(|channel| {
                corners(kernel, stride, 0).into_iter().map(move |corner| (channel, corner))
            });
            places.map(|(channel, corner)| of(&seen(image, channel, corner, kernel))).collect()
        };
        let largest = |seen: &[f64]| seen.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mean = |seen: &[f64]| seen.iter().sum::<f64>() / seen.len() as f64;
        compare(&Layer::MaxPool { kernel, stride }, IMAGE, |_, image| each(image, largest));
        compare(&Layer::AveragePool { kernel, stride }, IMAGE, |_, image| each(image, mean));
    }
}

/// Mean 0 and variance 1.
fn normal(block: &[f64]) -> Vec<f64> {
    let mean = block.iter().sum::<f64>() / block.len() as f64;
    let variance = block.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / block.len() as f64;
    block.iter().map(|x| (x - mean) / (variance + 1e-5).sqrt()).collect()
}

#[test]
fn norms_bring_blocks_of_one_example_to_mean_zero_and_variance_one() {
    for groups in [1, 3] {
        compare(&Layer::GroupNorm { groups }, IMAGE, |parameters, image| {
            let blocks = image.chunks(image.len() / groups).flat_map(normal).collect::<Vec<_>>();
            let channel = |at: usize| at / (HEIGHT * WIDTH);
            let learned = |(at, x)| x * parameters[channel(at)] + parameters[CHANNELS + channel(at)];
            blocks.into_iter().enumerate().map(learned).collect()
        });
    }
    let width = 6;
    compare(&Layer::LayerNorm, Shape::Sequence { length: 5, width }, |parameters, places| {
        let normal = places.chunks(width).flat_map(normal).enumerate();
        normal.map(|(at, x)| x * parameters[at % width] + parameters[width + at % width]).collect()
    });
}

/// Rows of `inputs` numbers through weights, those of one output side by side, and biases.
fn linear(rows: &[f64], parameters: &[f64], inputs: usize, outputs: usize) -> Vec<f64> {
    let biases = &parameters[inputs * outputs..];
    let one = |row: &[f64], output: usize| {
        biases[output] + (0..inputs).map(|i| row[i] * parameters[output * inputs + i]).sum::<f64>()
    };
    rows.chunks(inputs).flat_map(|row| (0..outputs).map(move |output| one(row, output))).collect()
}

#[test]
fn linear_layers_on_sequences_are_linear_at_each_place() {
    let shape = Shape::Sequence { length: 5, width: 3 };
    compare(&Layer::Linear { outputs: 4 }, shape, |parameters, places| linear(places, parameters, 3, 4));
}

#[test]
fn attention_mixes_values_by_the_softmax_of_scaled_products() {
    let (length, width) = (5, 6);
    for heads in [1, 2, 3] {
        let depth = width / heads;
        compare(&Layer::Attention { heads }, Shape::Sequence { length, width }, |parameters, places| {
            let (first, last) = parameters.split_at(width * 3 * width + 3 * width);
            let all = linear(places, first, width, 3 * width);
            let part = |place: usize, which: usize, head: usize, at: usize| {
                all[place * 3 * width + which * width + head * depth + at]
            };
            let mut mixed = vec![0.0; length * width];
            for head in 0..heads {
                for place in 0..length {
                    let score = |other: usize| {
                        (0..depth).map(|at| part(place, 0, head, at) * part(other, 1, head, at)).sum::<f64>()
                    };
                    let shares: Vec<f64> =
                        (0..length).map(|other| (score(other) / (depth as f64).sqrt()).exp()).collect();
                    let total: f64 = shares.iter().sum();
                    for at in 0..depth {
                        mixed[place * width + head * depth + at] =
                            (0..length).map(|other| shares[other] / total * part(other, 2, head, at)).sum();
                    }
                }
            }
            linear(&mixed, last, width, width)
        });
    }
}

#[test]
fn tokens_get_their_rows_and_what_is_no_token_gets_zeros() {
    let stage =
        Layer::Embedding { tokens: 3, width: 2 }.stage(Shape::Sequence { length: 7, width: 1 }).unwrap();
    let table = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    let mut output = [f32::NAN; 14];
    let input = [2.0, 0.0, 3.0, -1.0, 0.5, f32::NAN, 1.0];
    stage.forward(&table, 1, &input, &mut output, &mut [0.0; 2]);
    assert_eq!(output, [5.0, 6.0, 1.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 3.0, 4.0]);
}
