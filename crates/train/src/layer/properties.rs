//! Properties of every layer: gradients are those of finite differences, norms and clipped
//! sums those of micro-batches of one, silenced examples add exactly nothing, and no example knows of another.

use super::{Layer, Stage, Trace};
use crate::Shape;
use veracity_noise::{Entropy, Purpose, Stream};

const COUNT: usize = 4;

/// Every layer, on shapes that take each of its ways.
fn all() -> Vec<(Shape, Layer)> {
    let image = |channels, height, width| Shape::Image { channels, height, width };
    let sequence = |length, width| Shape::Sequence { length, width };
    let conv = |channels, kernel, stride, padding| Layer::Conv2d { channels, kernel, stride, padding };
    let block = |layers: &[Layer]| Layer::Residual { layers: layers.to_vec() };
    vec![
        (Shape::Flat(7), Layer::Linear { outputs: 5 }),
        (sequence(9, 3), Layer::Linear { outputs: 4 }),
        (sequence(2, 6), Layer::Linear { outputs: 5 }),
        (image(2, 7, 6), conv(3, 3, 1, 1)),
        (image(1, 9, 10), conv(2, 4, 2, 0)),
        (image(2, 8, 8), conv(3, 8, 2, 3)),
        (image(2, 9, 9), conv(2, 6, 3, 2)),
        (image(3, 5, 5), conv(2, 1, 2, 0)),
        (image(6, 4, 3), conv(5, 3, 1, 0)),
        (image(5, 5, 5), conv(4, 3, 2, 0)),
        (image(2, 5, 6), Layer::MaxPool { kernel: 2, stride: 1 }),
        (image(2, 7, 7), Layer::MaxPool { kernel: 3, stride: 2 }),
        (image(2, 5, 6), Layer::AveragePool { kernel: 2, stride: 1 }),
        (image(2, 7, 7), Layer::AveragePool { kernel: 2, stride: 3 }),
        (Shape::Flat(40), Layer::Relu),
        (image(2, 3, 3), Layer::Tanh),
        (Shape::Flat(40), Layer::Gelu),
        (image(2, 3, 4), Layer::Flatten),
        (image(6, 3, 4), Layer::GroupNorm { groups: 3 }),
        (Shape::Flat(12), Layer::GroupNorm { groups: 2 }),
        (Shape::Flat(12), Layer::LayerNorm),
        (sequence(5, 6), Layer::LayerNorm),
        (sequence(8, 1), Layer::Embedding { tokens: 5, width: 3 }),
        (sequence(4, 6), Layer::Attention { heads: 2 }),
        (sequence(3, 4), Layer::Attention { heads: 1 }),
        (Shape::Flat(6), block(&[Layer::Linear { outputs: 8 }, Layer::Tanh, Layer::Linear { outputs: 6 }])),
        (image(4, 4, 4), block(&[conv(4, 3, 1, 1), Layer::GroupNorm { groups: 2 }, block(&[Layer::Tanh])])),
        (sequence(4, 4), block(&[Layer::LayerNorm, Layer::Attention { heads: 2 }])),
    ]
}

/// One micro-batch through one stage.
struct Run {
    count: usize,
    input: Vec<f32>,
    output: Vec<f32>,
    kept: Vec<f32>,
    dy: Vec<f32>,
    dx: Vec<f32>,
}

impl Run {
    fn new(stage: &dyn Stage, parameters: &[f32], input: Vec<f32>, dy: Vec<f32>) -> Run {
        let size = stage.output().size();
        let count = dy.len() / size;
        let mut run = Run {
            count,
            output: vec![f32::NAN; count * size],
            // What was there before must not matter.
            kept: vec![f32::NAN; count * stage.kept()],
            dx: vec![f32::NAN; input.len()],
            input,
            dy,
        };
        stage.forward(parameters, count, &run.input, &mut run.output, &mut run.kept);
        let trace = Trace { count, input: &run.input, output: &run.output, kept: &mut run.kept };
        stage.backward(parameters, trace, &run.dy, &mut run.dx);
        run
    }

    fn square_norms(&mut self, stage: &dyn Stage) -> Vec<f32> {
        let mut norms = vec![0.0; self.count];
        let trace =
            Trace { count: self.count, input: &self.input, output: &self.output, kept: &mut self.kept };
        stage.square_norms(trace, &self.dy, &mut norms);
        norms
    }

    fn clipped_sum(&mut self, stage: &dyn Stage, factors: &[f32]) -> Vec<f32> {
        let mut sum = vec![0.0; stage.parameters()];
        let trace =
            Trace { count: self.count, input: &self.input, output: &self.output, kept: &mut self.kept };
        stage.clipped_sum(trace, &mut self.dy, factors, &mut sum);
        sum
    }

    /// As a pass does it.
    fn silence(&mut self, stage: &dyn Stage, example: usize) {
        let count = self.count;
        for row in [&mut self.input, &mut self.output, &mut self.dy, &mut self.dx] {
            let size = row.len() / count;
            row[example * size..][..size].fill(0.0);
        }
        stage.silence(&mut self.kept, count, example);
    }
}

pub(super) fn rng(seed: u64) -> Stream {
    Entropy::seeded(seed).family(Purpose::Init, 0, 0).stream(0)
}

pub(super) fn uniform(rng: &mut Stream) -> f32 {
    (rng.word() >> 40) as f32 / (1u64 << 24) as f32
}

/// Random inputs, no two of one example nearer to each other, or to zero, than 1/size: kinks are not stepped over.
fn inputs(shape: Shape, layer: &Layer, count: usize, rng: &mut Stream) -> Vec<f32> {
    let size = shape.size();
    let mut all = Vec::new();
    for _ in 0..count {
        let mut row: Vec<f32> = match layer {
            Layer::Embedding { tokens, .. } => (0..size).map(|i| (i * i % tokens) as f32).collect(),
            _ => (0..size).map(|i| (2.0 * i as f32 + 1.0) / size as f32 - 1.0 + 0.25 / size as f32).collect(),
        };
        for i in (1..size).rev() {
            row.swap(i, (rng.word() % (i as u64 + 1)) as usize);
        }
        all.extend(row);
    }
    all
}

/// A stage with random parameters, inputs and output gradients.
fn setting(shape: Shape, layer: &Layer, seed: u64) -> (Box<dyn Stage>, Vec<f32>, Vec<f32>, Vec<f32>) {
    let mut rng = rng(seed);
    let stage = layer.stage(shape).unwrap();
    let mut parameters = vec![f32::NAN; stage.parameters()];
    stage.initialise(&mut parameters, &mut rng);
    parameters.iter_mut().for_each(|p| *p += 0.2 * (uniform(&mut rng) - 0.5));
    let input = inputs(shape, layer, COUNT, &mut rng);
    let gradient = (0..COUNT * stage.output().size()).map(|_| uniform(&mut rng) - 0.5).collect();
    (stage, parameters, input, gradient)
}

fn row(values: &[f32], count: usize, example: usize) -> Vec<f32> {
    let size = values.len() / count;
    values[example * size..][..size].to_vec()
}

fn length(row: &[f32]) -> f64 {
    row.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt()
}

fn distance(left: &[f32], right: &[f32]) -> f64 {
    assert_eq!(left.len(), right.len());
    left.iter().zip(right).map(|(x, y)| (f64::from(*x) - f64::from(*y)).powi(2)).sum::<f64>().sqrt()
}

/// One example's gradient, all by itself and without norms.
fn alone(stage: &dyn Stage, parameters: &[f32], input: &[f32], gradient: &[f32], example: usize) -> Vec<f32> {
    let mut run = Run::new(stage, parameters, row(input, COUNT, example), row(gradient, COUNT, example));
    run.clipped_sum(stage, &[1.0])
}

/// Fourth-order differences of Σ gradient × output.
fn differences(values: &[f32], mut loss: impl FnMut(&[f32]) -> f64) -> Vec<f32> {
    let step = 1.0 / 256.0;
    let mut at = |index: usize, move_by: f32| {
        let mut moved = values.to_vec();
        moved[index] += move_by;
        // The step as it came out in floats.
        (loss(&moved), f64::from(moved[index]) - f64::from(values[index]))
    };
    let slope = |(up, right): (f64, f64), (down, left): (f64, f64)| (up - down) / (right - left);
    (0..values.len())
        .map(|i| {
            let near = slope(at(i, step), at(i, -step));
            let far = slope(at(i, 2.0 * step), at(i, -2.0 * step));
            ((4.0 * near - far) / 3.0) as f32
        })
        .collect()
}

#[test]
fn gradients_are_those_of_finite_differences() {
    for (at, (shape, layer)) in all().into_iter().enumerate() {
        let (stage, parameters, input, gradient) = setting(shape, &layer, at as u64);
        let (input, gradient) = (row(&input, COUNT, 1), row(&gradient, COUNT, 1));
        let loss = |parameters: &[f32], input: &[f32]| {
            let (mut output, mut kept) = (vec![0.0; gradient.len()], vec![0.0; stage.kept()]);
            stage.forward(parameters, 1, input, &mut output, &mut kept);
            output.iter().zip(&gradient).map(|(y, g)| f64::from(*y) * f64::from(*g)).sum::<f64>()
        };
        let mut run = Run::new(&*stage, &parameters, input.clone(), gradient.clone());
        let name = format!("{layer:?} on {shape}");
        if !matches!(layer, Layer::Embedding { .. }) {
            let slow = differences(&input, |input| loss(&parameters, input));
            let off = distance(&run.dx, &slow) / length(&slow);
            assert!(off < 5e-4, "{name}: input gradient off by {off}");
        }
        let slow = differences(&parameters, |parameters| loss(parameters, &input));
        let fast = run.clipped_sum(&*stage, &[1.0]);
        let off = distance(&fast, &slow) / length(&slow).max(1e-30);
        assert!(off < 5e-4, "{name}: parameter gradient off by {off}");
    }
}

#[test]
fn norms_and_clipped_sums_are_those_of_micro_batches_of_one() {
    for (at, (shape, layer)) in all().into_iter().enumerate() {
        let (stage, parameters, input, gradient) = setting(shape, &layer, 100 + at as u64);
        let factors = [1.0, 0.25, 0.0, 0.7];
        let mut run = Run::new(&*stage, &parameters, input.clone(), gradient.clone());
        let norms = run.square_norms(&*stage);
        let after_norms = run.clipped_sum(&*stage, &factors);
        let without =
            Run::new(&*stage, &parameters, input.clone(), gradient.clone()).clipped_sum(&*stage, &factors);
        let mut slow = vec![0.0; stage.parameters()];
        for example in 0..COUNT {
            let own = alone(&*stage, &parameters, &input, &gradient, example);
            let ratio = f64::from(norms[example]) / length(&own).powi(2).max(1e-300);
            // Never too short; Gram forms may be too long, by what their rounding can have taken away.
            let right =
                if own.is_empty() { norms[example] == 0.0 } else { (-1e-5..1e-4).contains(&(ratio - 1.0)) };
            assert!(right, "{layer:?} on {shape}: squared norm off by {ratio}");
            slow.iter_mut().zip(&own).for_each(|(sum, g)| *sum += factors[example] * g);
        }
        for fast in [after_norms, without] {
            assert!(distance(&fast, &slow) <= 1e-5 * length(&slow), "{layer:?} on {shape}");
        }
    }
}

#[test]
fn a_silenced_example_adds_exactly_nothing_whatever_it_was() {
    let mut broken = 0;
    for (at, (shape, layer)) in all().into_iter().enumerate() {
        let (stage, parameters, input, gradient) = setting(shape, &layer, 200 + at as u64);
        let sum = |bad: f32, factor: f32, silent: bool| {
            let mut input = input.clone();
            let size = shape.size();
            input[size..2 * size].iter_mut().step_by(3).for_each(|x| *x = bad);
            let mut run = Run::new(&*stage, &parameters, input, gradient.clone());
            run.square_norms(&*stage);
            if silent {
                run.silence(&*stage, 1);
            }
            run.clipped_sum(&*stage, &[0.5, factor, 1.0, 1.0])
        };
        let bits = |sum: Vec<f32>| sum.into_iter().map(f32::to_bits).collect::<Vec<_>>();
        let clean = bits(sum(0.0, 0.0, true));
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e30] {
            assert_eq!(bits(sum(bad, 0.0, true)), clean, "{layer:?} on {shape}");
            // Zeros add nothing at any factor.
            assert_eq!(bits(sum(bad, 1.0, true)), clean, "{layer:?} on {shape}");
            // Where examples are added one by one, a factor of zero is enough.
            if !matches!(shape, Shape::Flat(_)) {
                assert_eq!(sum(bad, 0.0, false), sum(0.0, 0.0, true), "{layer:?} on {shape}");
            }
        }
        // The twin: not silenced, it is heard.
        broken += usize::from(sum(f32::NAN, 1.0, false).iter().any(|x| x.is_nan()));
    }
    assert!(broken >= 15, "{broken}");
}

#[test]
fn no_example_knows_of_another() {
    for (at, (shape, layer)) in all().into_iter().enumerate() {
        let (stage, parameters, input, gradient) = setting(shape, &layer, 300 + at as u64);
        let mut first = Run::new(&*stage, &parameters, input.clone(), gradient.clone());
        let (mut other, mut other_gradient) = (input, gradient);
        let (size, width) = (shape.size(), stage.output().size());
        other[2 * size..3 * size].fill(f32::NAN);
        other_gradient[2 * width..3 * width].iter_mut().for_each(|g| *g *= -2.0);
        let mut second = Run::new(&*stage, &parameters, other, other_gradient);
        let norms = (first.square_norms(&*stage), second.square_norms(&*stage));
        for example in [0, 1, 3] {
            for (a, b) in [(&first.output, &second.output), (&first.dx, &second.dx), (&norms.0, &norms.1)] {
                assert_eq!(row(a, COUNT, example), row(b, COUNT, example), "{layer:?} on {shape}");
            }
        }
    }
}

/// Layers that are wide enough for every way to multiply.
fn wide() -> Vec<(Shape, Layer)> {
    let sequence = |length, width| Shape::Sequence { length, width };
    let layers = [(64, 32), (784, 64), (17, 17), (3, 40), (40, 3), (1, 33), (520, 20)];
    let mut all: Vec<(Shape, Layer)> =
        layers.map(|(inputs, outputs)| (Shape::Flat(inputs), Layer::Linear { outputs })).into();
    all.extend([
        (sequence(3, 24), Layer::Linear { outputs: 20 }),
        (sequence(1, 5), Layer::Linear { outputs: 33 }),
        (sequence(5, 24), Layer::Attention { heads: 3 }),
        (
            Shape::Image { channels: 8, height: 4, width: 4 },
            Layer::Conv2d { channels: 24, kernel: 3, stride: 1, padding: 0 },
        ),
    ]);
    all
}

#[test]
fn an_example_has_the_same_bits_alone_and_in_any_company() {
    const COMPANY: usize = 40;
    for (at, (shape, layer)) in all().into_iter().chain(wide()).enumerate() {
        let (stage, parameters, ..) = setting(shape, &layer, 400 + at as u64);
        let mut rng = rng(500 + at as u64);
        let input = inputs(shape, &layer, COMPANY, &mut rng);
        let width = stage.output().size();
        let gradient: Vec<f32> = (0..COMPANY * width).map(|_| uniform(&mut rng) - 0.5).collect();
        let some = |from: usize, count: usize| {
            let input = input[from * shape.size()..][..count * shape.size()].to_vec();
            let mut run =
                Run::new(&*stage, &parameters, input, gradient[from * width..][..count * width].to_vec());
            let norms = run.square_norms(&*stage);
            (run, norms)
        };
        let (all, norms) = some(0, COMPANY);
        for (from, count) in [(0, 1), (7, 1), (38, 2), (3, 5), (1, 8), (0, 9), (5, 16), (2, 17), (1, 33)] {
            let (part, part_norms) = some(from, count);
            let mut pairs = vec![(&part.output, &all.output), (&part.dx, &all.dx), (&part_norms, &norms)];
            // Within a chain, what is kept is not kept example by example.
            if !stage.keeps_gradients() {
                pairs.push((&part.kept, &all.kept));
            }
            for (some, all) in pairs {
                let size = all.len() / COMPANY;
                let same = some.iter().zip(&all[from * size..]).all(|(a, b)| a.to_bits() == b.to_bits());
                assert!(same, "{layer:?} on {shape}: {count} examples from {from} on");
            }
        }
    }
}
