//! From a noisy gradient to new parameters. Everything here is post-processing.

/// How parameters follow the gradient.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Optimiser {
    /// Against the gradient, with momentum.
    Sgd {
        /// How much of the last direction is kept: 0 for none.
        momentum: f32,
    },
}

/// The learning rate over the steps of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Schedule {
    /// Always the same.
    Constant {
        /// The rate.
        rate: f32,
    },
}

impl Schedule {
    /// The rate at a step of so many.
    pub fn rate(self, _step: u64, _steps: u64) -> f32 {
        match self {
            Schedule::Constant { rate } => rate,
        }
    }
}

/// What an optimiser remembers.
#[derive(Debug, Clone)]
pub(crate) struct Memory {
    momentum: Vec<f32>,
}

impl Optimiser {
    pub(crate) fn memory(self, parameters: usize) -> Memory {
        let momentum = match self {
            Optimiser::Sgd { momentum } if momentum != 0.0 => vec![0.0; parameters],
            Optimiser::Sgd { .. } => Vec::new(),
        };
        Memory { momentum }
    }

    /// One step along `sum` × `scale`, the mean gradient.
    pub(crate) fn step(
        self,
        parameters: &mut [f32],
        sum: &[f32],
        scale: f32,
        rate: f32,
        memory: &mut Memory,
    ) {
        match self {
            Optimiser::Sgd { momentum } if momentum != 0.0 => {
                for ((w, g), m) in parameters.iter_mut().zip(sum).zip(&mut memory.momentum) {
                    *m = momentum * *m + scale * g;
                    *w -= rate * *m;
                }
            }
            Optimiser::Sgd { .. } => {
                for (w, g) in parameters.iter_mut().zip(sum) {
                    *w -= rate * scale * g;
                }
            }
        }
    }
}
