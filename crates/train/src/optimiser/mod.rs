//! From a noisy gradient to new parameters. Everything here is post-processing.

mod averaging;
mod schedule;

pub use averaging::Averaging;
pub use schedule::Schedule;

use crate::{private::Target, vectors::vectorize};
use veracity_core::Refusal;

/// How parameters follow the gradient.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Optimiser {
    /// Against the gradient, with momentum.
    Sgd {
        /// How much of the last direction is kept: 0 for none.
        momentum: f32,
    },
    /// As with momentum, looking one step ahead.
    Nesterov {
        /// How much of the last direction is kept.
        momentum: f32,
    },
    /// Each coordinate by its own scale, means corrected for starting at zero.
    ///
    /// # Reference  \[KingmaBa15\]
    Adam {
        /// How much of the mean gradient is kept.
        beta1: f32,
        /// How much of the mean squared gradient is kept.
        beta2: f32,
        /// What keeps small scales from blowing up.
        epsilon: f32,
    },
}

impl Default for Optimiser {
    /// Plain gradient descent.
    fn default() -> Optimiser {
        Optimiser::Sgd { momentum: 0.0 }
    }
}

/// What an optimiser remembers: directions and, for some, squares.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Memory {
    pub first: Vec<f32>,
    pub second: Vec<f32>,
}

/// Some parameters side by side, with what is remembered of them.
#[derive(Debug)]
pub(crate) struct Block<'a> {
    parameters: &'a mut [f32],
    first: &'a mut [f32],
    second: &'a mut [f32],
}

impl<'a> Block<'a> {
    /// All parameters.
    pub(crate) fn all(parameters: &'a mut [f32], memory: &'a mut Memory) -> Block<'a> {
        Block { parameters, first: &mut memory.first, second: &mut memory.second }
    }
}

impl Target for Block<'_> {
    fn split(self, at: usize) -> (Self, Self) {
        let (parameters, others) = self.parameters.split_at_mut(at);
        let (first, other_first) = split_memory(self.first, at);
        let (second, other_second) = split_memory(self.second, at);
        let others = Block { parameters: others, first: other_first, second: other_second };
        (Block { parameters, first, second }, others)
    }
}

/// What is not remembered is empty in both.
fn split_memory(memory: &mut [f32], at: usize) -> (&mut [f32], &mut [f32]) {
    if memory.is_empty() { (&mut [], &mut []) } else { memory.split_at_mut(at) }
}

/// One step's numbers beside the gradient.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stride {
    /// What makes up for means that began at zero, as [`Optimiser::corrections`] has it.
    pub corrections: [f32; 2],
    /// What makes a mean of the sum: one over the planned batch size, since the realised one is private.
    pub scale: f32,
    /// The learning rate.
    pub rate: f32,
    /// The weight decay.
    pub decay: f32,
}

impl Optimiser {
    /// The name used in plans.
    pub fn name(self) -> &'static str {
        match self {
            Optimiser::Sgd { .. } => "sgd",
            Optimiser::Nesterov { .. } => "nesterov",
            Optimiser::Adam { .. } => "adam",
        }
    }

    pub(crate) fn check(self) -> Result<(), Refusal> {
        let kept = |name: &'static str, part: f32| {
            if (0.0..1.0).contains(&part) {
                return Ok(());
            }
            Err(Refusal::out_of_range(name, part, "0 ≤ number < 1"))
        };
        match self {
            Optimiser::Sgd { momentum } | Optimiser::Nesterov { momentum } => kept("momentum", momentum),
            Optimiser::Adam { beta1, beta2, epsilon } => {
                kept("beta1", beta1)?;
                kept("beta2", beta2)?;
                if epsilon > 0.0 && epsilon.is_finite() {
                    return Ok(());
                }
                Err(Refusal::out_of_range("adam epsilon", epsilon, "a finite number > 0"))
            }
        }
    }

    /// An empty memory for so many parameters.
    pub(crate) fn memory(self, parameters: usize) -> Memory {
        let zeros = || vec![0.0; parameters];
        match self {
            Optimiser::Sgd { momentum: 0.0 } => Memory::default(),
            Optimiser::Sgd { .. } | Optimiser::Nesterov { .. } => {
                Memory { first: zeros(), second: Vec::new() }
            }
            Optimiser::Adam { .. } => Memory { first: zeros(), second: zeros() },
        }
    }

    /// What the mean direction and the mean square of a step, counted from 0, are multiplied with: both began at zero.
    pub(crate) fn corrections(self, step: u64) -> [f32; 2] {
        let of = |beta: f32| 1.0 / (1.0 - libm::pow(f64::from(beta), (step + 1) as f64)) as f32;
        match self {
            Optimiser::Sgd { .. } | Optimiser::Nesterov { .. } => [1.0; 2],
            Optimiser::Adam { beta1, beta2, .. } => [of(beta1), of(beta2)],
        }
    }

    /// One step along `sum` × scale, the mean gradient; parameters first shrink by decay × rate.
    ///
    /// Each parameter by itself and without fused operations, so that the bits are those of any vectors.
    pub(crate) fn step(self, block: Block<'_>, sum: &[f32], stride: Stride) {
        let Block { parameters, first, second } = block;
        vectorize(
            #[inline(always)]
            || {
                let Stride { corrections: [mean, square], scale, rate, decay } = stride;
                if decay != 0.0 {
                    parameters.iter_mut().for_each(|w| *w -= rate * decay * *w);
                }
                match self {
                    Optimiser::Sgd { momentum: 0.0 } => {
                        let stretch = rate * scale;
                        for (w, g) in parameters.iter_mut().zip(sum) {
                            *w -= stretch * g;
                        }
                    }
                    Optimiser::Sgd { momentum } => {
                        for ((w, g), m) in parameters.iter_mut().zip(sum).zip(first) {
                            *m = momentum * *m + scale * g;
                            *w -= rate * *m;
                        }
                    }
                    Optimiser::Nesterov { momentum } => {
                        for ((w, g), m) in parameters.iter_mut().zip(sum).zip(first) {
                            let g = scale * g;
                            *m = momentum * *m + g;
                            *w -= rate * (g + momentum * *m);
                        }
                    }
                    Optimiser::Adam { beta1, beta2, epsilon } => {
                        let moments = first.iter_mut().zip(second);
                        for ((w, g), (m, v)) in parameters.iter_mut().zip(sum).zip(moments) {
                            let g = scale * g;
                            *m = beta1 * *m + (1.0 - beta1) * g;
                            *v = beta2 * *v + (1.0 - beta2) * g * g;
                            *w -= rate * (mean * *m) / ((square * *v).sqrt() + epsilon);
                        }
                    }
                }
            },
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three steps from 1 along sums 8, −4, 2 of batches planned at 4, at rate 0.1.
    fn path(optimiser: Optimiser, decay: f32) -> f64 {
        let (mut w, mut memory) = ([1.0f32], optimiser.memory(1));
        for (step, sum) in [8.0f32, -4.0, 2.0].into_iter().enumerate() {
            let corrections = optimiser.corrections(step as u64);
            let stride = Stride { corrections, scale: 0.25, rate: 0.1, decay };
            optimiser.step(Block::all(&mut w, &mut memory), &[sum], stride);
        }
        f64::from(w[0])
    }

    /// The same by formulas in doubles, written as their papers have them.
    fn slow(rule: impl Fn(f64, &mut (f64, f64), i32) -> f64) -> f64 {
        let (mut w, mut memory) = (1.0, (0.0, 0.0));
        for (t, g) in [2.0, -1.0, 0.5].into_iter().enumerate() {
            w -= 0.1 * rule(g, &mut memory, t as i32 + 1);
        }
        w
    }

    #[test]
    fn every_optimiser_follows_its_formula() {
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-6, "{a} {b}");
        near(path(Optimiser::Sgd { momentum: 0.0 }, 0.0), slow(|g, _, _| g));
        let heavy = |g: f64, m: &mut (f64, f64), _: i32| {
            m.0 = 0.9 * m.0 + g;
            m.0
        };
        near(path(Optimiser::Sgd { momentum: 0.9 }, 0.0), slow(heavy));
        let ahead = |g: f64, m: &mut (f64, f64), _: i32| {
            m.0 = 0.9 * m.0 + g;
            g + 0.9 * m.0
        };
        near(path(Optimiser::Nesterov { momentum: 0.9 }, 0.0), slow(ahead));
        let adam = |g: f64, m: &mut (f64, f64), t: i32| {
            *m = (0.9 * m.0 + 0.1 * g, 0.99 * m.1 + 0.01 * g * g);
            (m.0 / (1.0 - 0.9f64.powi(t))) / ((m.1 / (1.0 - 0.99f64.powi(t))).sqrt() + 1e-3)
        };
        near(path(Optimiser::Adam { beta1: 0.9, beta2: 0.99, epsilon: 1e-3 }, 0.0), slow(adam));
        // Decay: each step first shrinks by 0.1 × 0.5.
        let shrunk = [2.0, -1.0, 0.5].into_iter().fold(1.0, |w, g| w * 0.95 - 0.1 * g);
        near(path(Optimiser::Sgd { momentum: 0.0 }, 0.5), shrunk);
    }

    #[test]
    fn numbers_out_of_range_are_refused() {
        for bad in [-0.1, 1.0, f32::NAN] {
            assert!(Optimiser::Sgd { momentum: bad }.check().is_err());
            assert!(Optimiser::Nesterov { momentum: bad }.check().is_err());
            assert!(Optimiser::Adam { beta1: bad, beta2: 0.9, epsilon: 1e-8 }.check().is_err());
            assert!(Optimiser::Adam { beta1: 0.9, beta2: bad, epsilon: 1e-8 }.check().is_err());
        }
        assert!(Optimiser::Adam { beta1: 0.9, beta2: 0.9, epsilon: 0.0 }.check().is_err());
    }
}
