//! The Gaussian error linear unit in its tanh form, x/2 (1 + tanh(√(2/π) (x + 0.044715 x³))), number by number. It differs
//! from the exact x Φ(x) by at most 5e-4.
//!
//! # Reference  [HendrycksGimpel16]

use super::{Stage, Trace, curves};
use crate::Shape;

/// √(2/π)
const ROOT: f32 = 0.797_884_6;
const CUBE: f32 = 0.044_715;

#[derive(Debug)]
pub(super) struct Gelu {
    shape: Shape,
}

impl Gelu {
    pub(super) fn new(shape: Shape) -> Gelu {
        Gelu { shape }
    }
}

impl Stage for Gelu {
    fn output(&self) -> Shape {
        self.shape
    }

    fn forward(&self, _: &[f32], _: usize, input: &[f32], output: &mut [f32], _: &mut [f32]) {
        curves::map(output, input, gelu);
    }

    fn backward(&self, _: &[f32], trace: Trace<'_>, output_gradient: &[f32], input_gradient: &mut [f32]) {
        curves::map(input_gradient, trace.input, derivative);
        input_gradient.iter_mut().zip(output_gradient).for_each(|(dx, dy)| *dx *= dy);
    }
}

#[inline(always)]
fn gelu(x: f32) -> f32 {
    0.5 * x * (1.0 + curves::tanh(inner(x)))
}

#[inline(always)]
fn inner(x: f32) -> f32 {
    ROOT * (x + CUBE * x * x * x)
}

/// The derivative; far out, where x³ could overflow against a factor of zero, it is that at ±10.
#[inline(always)]
fn derivative(x: f32) -> f32 {
    let x = x.clamp(-10.0, 10.0);
    let t = curves::tanh(inner(x));
    0.5 * (1.0 + t) + 0.5 * x * (1.0 - t * t) * ROOT * (1.0 + 3.0 * CUBE * x * x)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tanh_form_is_near_the_exact_one() {
        let gelu = Gelu::new(Shape::Flat(2001));
        let x: Vec<f32> = (0..2001).map(|i| i as f32 / 100.0 - 10.0).collect();
        let mut y = vec![0.0; x.len()];
        gelu.forward(&[], 1, &x, &mut y, &mut []);
        let exact = |x: f64| 0.5 * x * libm::erfc(-x / std::f64::consts::SQRT_2);
        let worst = x.iter().zip(&y).map(|(x, y)| (f64::from(*y) - exact(f64::from(*x))).abs());
        let worst = worst.fold(0.0, f64::max);
        assert!((1e-4..5e-4).contains(&worst), "{worst}");
    }
}
