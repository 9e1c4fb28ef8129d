//! Convolution, ReLU and max-pool fused into one stage.
//!
//! What passes between them stays place by place, channels side by side, as tiles make it, in memory that one example after
//! another is lent; only what comes out is transposed. Which number of its window was largest is kept: with it, gradients find their
//! way back without what the layers in between have seen. The bits are those of the three stages one after another.

use super::{Stage, Trace, conv2d::Conv2d, scratch, sums, transpose::transpose, window::Window};
use crate::{
    Layer, Shape,
    product::Matrix,
    vectors::{dispatch, vectorize},
};
use pulp::{Simd, WithSimd};
use veracity_core::Refusal;
use veracity_noise::Stream;

/// Says that none of the numbers in a window was positive.
const NONE: f32 = -1.0;
/// Windows and numbers in them beyond which a list of them would be long.
const MOST_SIGHTS: usize = 1 << 20;
/// Numbers that are held in registers while their windows are looked through.
const HELD: usize = 16;

/// Keeps what the convolution keeps, and for each place and channel which number of its window was largest.
#[derive(Debug)]
pub(super) struct ConvReluPool {
    conv: Conv2d,
    pool: Window,
    /// [`Window::offsets`], with channels side by side.
    offsets: Vec<usize>,
    /// For each place of the convolution the windows that see it.
    windows: Vec<Vec<Sight>>,
}

/// A window that sees a number.
#[derive(Debug, Clone, Copy)]
struct Sight {
    /// Where its largest numbers are, channels side by side.
    at: usize,
    /// Which of its numbers is seen.
    number: f32,
}

impl ConvReluPool {
    /// How many layers it is made of.
    pub(super) const LAYERS: usize = 3;

    /// The first three of these layers as one, where that is what they are and tiles can be made of them.
    pub(super) fn new(input: Shape, layers: &[Layer]) -> Result<Option<ConvReluPool>, Refusal> {
        let [
            Layer::Conv2d { channels, kernel, stride, padding },
            Layer::Relu,
            Layer::MaxPool { kernel: side, stride: step },
            ..,
        ] = layers
        else {
            return Ok(None);
        };
        let conv = Conv2d::new(input, *channels, *kernel, *stride, *padding)?;
        let pool = Window::new("max-pool", conv.output(), *side, *step, 0)?;
        if !conv.has_tiles() || pool.places() * side * side > MOST_SIGHTS {
            return Ok(None);
        }
        let offsets = pool.offsets().map(|offset| offset * channels).collect();
        Ok(Some(ConvReluPool { conv, pool, offsets, windows: windows(&pool) }))
    }

    fn output_size(&self) -> usize {
        self.pool.channels * self.pool.places()
    }

    /// What the convolution keeps of one example, and which numbers were largest.
    fn kept_of<'a>(&self, kept: &'a mut [f32], example: usize) -> (&'a mut [f32], &'a mut [f32]) {
        kept[example * self.kept()..][..self.kept()].split_at_mut(self.conv.kept())
    }

    /// Lends the gradient by the convolution's outputs to `work`, places × channels.
    fn give_back<T>(&self, dy: &[f32], which: &[f32], work: impl FnOnce(&mut [f32]) -> T) -> T {
        let sizes = [self.output_size(), self.conv.output().size()];
        scratch::lend(sizes, |[given, gradients]| {
            transpose(dy, self.pool.places(), given);
            dispatch(GiveBack { windows: &self.windows, given, which, gradients });
            work(gradients)
        })
    }

    /// Of one example, the largest positive number at each place, or zero, and which it was.
    fn take_largest(&self, by_place: &[f32], best: &mut [f32], which: &mut [f32]) {
        vectorize(
            #[inline(always)]
            || {
                let run = run(&self.pool);
                let runs = best.chunks_exact_mut(run).zip(which.chunks_exact_mut(run));
                for ((best, which), start) in runs.enumerate().map(|(at, runs)| (runs, start(&self.pool, at)))
                {
                    let (best, which) = (best.as_chunks_mut::<HELD>().0, which.as_chunks_mut::<HELD>().0);
                    for ((best, which), start) in best.iter_mut().zip(which).zip((start..).step_by(HELD)) {
                        (*best, *which) = largest(&self.offsets, &by_place[start..]);
                    }
                }
            },
        );
    }

    fn matrix<'a>(&self, gradients: &'a [f32]) -> Matrix<'a> {
        Matrix::new(gradients, self.pool.height * self.pool.width, self.pool.channels)
    }
}

impl Stage for ConvReluPool {
    fn output(&self) -> Shape {
        self.pool.output(self.pool.channels)
    }

    fn parameters(&self) -> usize {
        self.conv.parameters()
    }

    fn kept(&self) -> usize {
        self.conv.kept() + self.output_size()
    }

    fn initialise(&self, parameters: &mut [f32], rng: &mut Stream) {
        self.conv.initialise(parameters, rng);
    }

    fn forward(&self, parameters: &[f32], _: usize, input: &[f32], output: &mut [f32], kept: &mut [f32]) {
        let transposed = self.conv.transposed_weights(parameters);
        let images = input.chunks_exact(self.conv.input_size());
        let outputs = output.chunks_exact_mut(self.output_size());
        for (example, (image, output)) in images.zip(outputs).enumerate() {
            let (kept, which) = self.kept_of(kept, example);
            self.conv.forget(kept);
            scratch::lend([self.conv.output().size(), self.output_size()], |[by_place, best]| {
                self.conv.forward_by_place(parameters, &transposed, image, by_place);
                self.take_largest(by_place, best, which);
                transpose(best, self.pool.channels, output);
            });
        }
    }

    fn backward(&self, parameters: &[f32], trace: Trace<'_>, dy: &[f32], dx: &mut [f32]) {
        let images = dx.chunks_exact_mut(self.conv.input_size());
        let given = dy.chunks_exact(self.output_size());
        for (example, (given, image)) in given.zip(images).enumerate() {
            let (_, which) = self.kept_of(trace.kept, example);
            self.give_back(given, which, |gradients| {
                self.conv.backward_one(parameters, self.matrix(gradients), image);
            });
        }
    }

    fn square_norms(&self, trace: Trace<'_>, dy: &[f32], norms: &mut [f32]) {
        let images = trace.input.chunks_exact(self.conv.input_size());
        let given = dy.chunks_exact(self.output_size());
        for (example, ((image, given), norm)) in images.zip(given).zip(norms).enumerate() {
            let (kept, which) = self.kept_of(trace.kept, example);
            *norm += self.give_back(given, which, |gradients| {
                self.conv.square_norm(image, self.matrix(gradients), kept)
            });
        }
    }

    fn clipped_sum(&self, trace: Trace<'_>, dy: &mut [f32], factors: &[f32], sum: &mut [f32]) {
        let images = trace.input.chunks_exact(self.conv.input_size());
        let given = dy.chunks_exact(self.output_size());
        for (example, ((image, given), factor)) in images.zip(given).zip(factors).enumerate() {
            let (kept, which) = self.kept_of(trace.kept, example);
            if *factor == 0.0 || self.conv.add_kept(kept, *factor, sum) {
                continue;
            }
            self.give_back(given, which, |gradients| {
                sums::scale(gradients, *factor);
                self.conv.accumulate(image, self.matrix(gradients), sum);
            });
        }
    }
}

/// The largest positive numbers of the windows that start side by side where `seen` does, and which they were.
#[inline(always)]
fn largest(offsets: &[usize], seen: &[f32]) -> ([f32; HELD], [f32; HELD]) {
    let (mut best, mut which, mut number) = ([0.0; HELD], [NONE; HELD], 0.0);
    for offset in offsets {
        let seen = &seen[*offset..][..HELD];
        for at in 0..HELD {
            let is_larger = seen[at] > best[at];
            best[at] = if is_larger { seen[at] } else { best[at] };
            which[at] = if is_larger { number } else { which[at] };
        }
        number += 1.0;
    }
    (best, which)
}

/// Each place's gradient to the number that was largest there, in the order of the window's numbers.
struct GiveBack<'a> {
    windows: &'a [Vec<Sight>],
    given: &'a [f32],
    which: &'a [f32],
    gradients: &'a mut [f32],
}

impl WithSimd for GiveBack<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let GiveBack { windows, given, which, gradients } = self;
        let (channels, zero) = (gradients.len() / windows.len(), simd.splat_f32s(0.0));
        for (gradients, windows) in gradients.chunks_exact_mut(channels).zip(windows) {
            // Channels come in sixteens, so there are whole vectors of them.
            for (vector, sum) in S::as_mut_simd_f32s(gradients).0.iter_mut().enumerate() {
                *sum = zero;
                for Sight { at, number } in windows {
                    let given = S::as_simd_f32s(&given[*at..][..channels]).0[vector];
                    let which = S::as_simd_f32s(&which[*at..][..channels]).0[vector];
                    let is_this = simd.equal_f32s(which, simd.splat_f32s(*number));
                    *sum = simd.add_f32s(*sum, simd.select_f32s(is_this, given, zero));
                }
            }
        }
    }
}

/// For each place under a pool the windows that see it, in the order of their numbers.
fn windows(pool: &Window) -> Vec<Vec<Sight>> {
    let mut windows = vec![Vec::new(); pool.height * pool.width];
    for (number, offset) in pool.offsets().enumerate() {
        for place in 0..pool.places() {
            let start = (place / pool.along * pool.width + place % pool.along) * pool.stride;
            windows[start + offset].push(Sight { at: place * pool.channels, number: number as f32 });
        }
    }
    windows
}

/// Numbers of places that follow each other without a gap, with all their channels.
fn run(pool: &Window) -> usize {
    if pool.stride == 1 { pool.along * pool.channels } else { pool.channels }
}

/// Where the windows of the run at a place start.
fn start(pool: &Window, at: usize) -> usize {
    let (y, x) = if pool.stride == 1 { (at, 0) } else { (at / pool.along, at % pool.along) };
    (y * pool.width + x) * pool.stride * pool.channels
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layer::{Stack, properties};

    /// Outputs, gradients by the inputs, norms and clipped sums, of stages one after another, as bits.
    fn everything(stack: &Stack, input: &[f32], given: &[f32], count: usize) -> Vec<u32> {
        let last = stack.stages.len();
        let mut rng = properties::rng(3);
        let mut parameters = vec![0.0; stack.parameters()];
        stack.initialise(&mut parameters, &mut rng);
        parameters.iter_mut().for_each(|x| *x += 0.01);
        let sized = |at: usize| vec![0.0; count * stack.shapes[at].size()];
        let mut values: Vec<Vec<f32>> = (0..=last).map(sized).collect();
        let mut gradients = values.clone();
        let mut kept: Vec<Vec<f32>> =
            stack.stages.iter().map(|stage| vec![0.0; count * stage.kept()]).collect();
        values[0].copy_from_slice(input);
        gradients[last].copy_from_slice(given);
        for (at, stage) in stack.stages.iter().enumerate() {
            let (before, after) = values.split_at_mut(at + 1);
            let parameters = &parameters[stack.places[at].clone()];
            stage.forward(parameters, count, &before[at], &mut after[0], &mut kept[at]);
        }
        for (at, stage) in stack.stages.iter().enumerate().rev() {
            let (before, after) = gradients.split_at_mut(at + 1);
            let trace = Trace { count, input: &values[at], output: &values[at + 1], kept: &mut kept[at] };
            stage.backward(&parameters[stack.places[at].clone()], trace, &after[0], &mut before[at]);
        }
        let (mut norms, mut sum) = (vec![0.0; count], vec![0.0; parameters.len()]);
        let mut alone = sum.clone();
        let factors: Vec<f32> = (0..count).map(|i| 0.7 - 0.3 * i as f32).collect();
        for (at, stage) in stack.stages.iter().enumerate() {
            let (input, output, place) = (&values[at], &values[at + 1], stack.places[at].clone());
            let (given, kept) = (&mut gradients[at + 1], &mut kept[at]);
            let mut forgotten = kept.clone();
            stage.square_norms(Trace { count, input, output, kept }, given, &mut norms);
            stage.clipped_sum(Trace { count, input, output, kept }, given, &factors, &mut sum[place.clone()]);
            let trace = Trace { count, input, output, kept: &mut forgotten };
            stage.clipped_sum(trace, given, &factors, &mut alone[place]);
        }
        let all = [values[last].clone(), gradients[0].clone(), norms, sum, alone];
        all.concat().into_iter().map(f32::to_bits).collect()
    }

    #[test]
    fn three_layers_as_one_stage_have_the_bits_of_three_stages() {
        for (inputs, side, channels, [kernel, stride, padding], [pool, step]) in [
            (1, 28, 16, [8, 2, 3], [2, 1]),
            (16, 13, 32, [4, 2, 0], [2, 1]),
            (2, 11, 16, [3, 1, 1], [2, 2]),
            (3, 12, 32, [5, 1, 2], [3, 2]),
            (3, 15, 48, [5, 3, 2], [3, 1]),
            (2, 19, 16, [4, 1, 3], [4, 3]),
            (1, 21, 16, [16, 2, 5], [1, 1]),
        ] {
            let input = Shape::Image { channels: inputs, height: side, width: side + 1 };
            let layers = [
                Layer::Conv2d { channels, kernel, stride, padding },
                Layer::Relu,
                Layer::MaxPool { kernel: pool, stride: step },
            ];
            let (apart, whole) =
                (Stack::of_layers(input, &layers).unwrap(), Stack::of_network(input, &layers).unwrap());
            assert_eq!((apart.stages.len(), whole.stages.len(), apart.moved), (3, 1, whole.moved));
            let (count, mut rng) = (3, properties::rng(7));
            let mut numbers =
                |size: usize| (0..count * size).map(|_| properties::uniform(&mut rng)).collect::<Vec<_>>();
            let (mut values, given) = (numbers(input.size()), numbers(apart.output().size()));
            // What is not a number is nothing to both; an example of zeros has equals everywhere.
            values[5] = f32::NAN;
            values[2 * input.size()..].fill(0.0);
            assert!(
                everything(&apart, &values, &given, count) == everything(&whole, &values, &given, count),
                "{inputs} × {side}² → {channels}, kernel {kernel}, stride {stride}, pool {pool}, {step}"
            );
        }
    }
}
