//! Activation functions: ReLU, tanh, and the Gaussian error linear unit in its tanh form, which differs from the exact x Φ(x) by at
//! most 5e-4.
//!
//! # Reference  [HendrycksGimpel16]

use super::{Stage, Trace, elementwise};
use crate::Shape;

/// √(2/π)
const ROOT: f32 = 0.797_884_6;
const CUBE: f32 = 0.044_715;

/// Which function.
#[derive(Debug, Clone, Copy)]
pub(super) enum Function {
    /// max(0, x).
    Relu,
    Tanh,
    /// x/2 (1 + tanh(√(2/π) (x + 0.044715 x³))).
    Gelu,
}

#[derive(Debug)]
pub(super) struct Activation {
    pub shape: Shape,
    pub function: Function,
}

impl Stage for Activation {
    fn output(&self) -> Shape {
        self.shape
    }

    fn forward(&self, _: &[f32], _: usize, input: &[f32], output: &mut [f32], _: &mut [f32]) {
        match self.function {
            // Not `max`, which minds which of two zeros or NaNs it gives; this is one instruction. NaN becomes 0 in both.
            Function::Relu => elementwise::map(output, input, |x| if x > 0.0 { x } else { 0.0 }),
            Function::Tanh => elementwise::map(output, input, elementwise::tanh),
            Function::Gelu => elementwise::map(output, input, gelu),
        }
    }

    fn backward(&self, _: &[f32], trace: Trace<'_>, dy: &[f32], dx: &mut [f32]) {
        match self.function {
            Function::Relu => {
                elementwise::map_pairs(dx, dy, trace.input, |dy, x| if x > 0.0 { dy } else { 0.0 });
            }
            Function::Tanh => {
                for ((dx, dy), y) in dx.iter_mut().zip(dy).zip(trace.output) {
                    *dx = dy * (1.0 - y * y);
                }
            }
            Function::Gelu => {
                elementwise::map(dx, trace.input, derivative);
                dx.iter_mut().zip(dy).for_each(|(dx, dy)| *dx *= dy);
            }
        }
    }
}

#[inline(always)]
fn gelu(x: f32) -> f32 {
    0.5 * x * (1.0 + elementwise::tanh(inner(x)))
}

#[inline(always)]
fn inner(x: f32) -> f32 {
    ROOT * (x + CUBE * x * x * x)
}

/// The derivative of [`gelu`]; far out, where x³ could overflow against a factor of zero, it is that at ±10.
#[inline(always)]
fn derivative(x: f32) -> f32 {
    let x = x.clamp(-10.0, 10.0);
    let t = elementwise::tanh(inner(x));
    0.5 * (1.0 + t) + 0.5 * x * (1.0 - t * t) * ROOT * (1.0 + 3.0 * CUBE * x * x)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tanh_form_is_near_the_exact_one() {
        let gelu = Activation { shape: Shape::Flat(2001), function: Function::Gelu };
        let x: Vec<f32> = (0..2001).map(|i| i as f32 / 100.0 - 10.0).collect();
        let mut y = vec![0.0; x.len()];
        gelu.forward(&[], 1, &x, &mut y, &mut []);
        let exact = |x: f64| 0.5 * x * libm::erfc(-x / std::f64::consts::SQRT_2);
        let worst = x.iter().zip(&y).map(|(x, y)| (f64::from(*y) - exact(f64::from(*x))).abs());
        let worst = worst.fold(0.0, f64::max);
        assert!((1e-4..5e-4).contains(&worst), "{worst}");
    }
}
