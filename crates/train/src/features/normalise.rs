//! Maps that bring the features of one example to one size, by that example's own statistics.

use super::{Map, Scratch};
use crate::Shape;
use veracity_core::Refusal;

/// What keeps constant groups at zero.
const EPSILON: f32 = 1e-5;

/// # Reference  [WuHe18]; on scattering features [TramerBoneh21]
pub(super) struct GroupNorm {
    shape: Shape,
    group: usize,
}

impl GroupNorm {
    pub(super) fn new(shape: Shape, groups: usize) -> Result<GroupNorm, Refusal> {
        let channels = match shape {
            Shape::Image { channels, .. } => channels,
            Shape::Flat(size) => size,
            Shape::Sequence { length, .. } => length,
        };
        if groups == 0 || channels % groups != 0 {
            return Err(Refusal::out_of_range("groups", groups, "a divisor of the number of channels"));
        }
        Ok(GroupNorm { shape, group: shape.size() / groups })
    }
}

impl Map for GroupNorm {
    fn output(&self) -> Shape {
        self.shape
    }

    fn map(&self, input: &[f32], output: &mut [f32], _: &mut Scratch) {
        let groups = input.chunks_exact(self.group).zip(output.chunks_exact_mut(self.group));
        for (from, to) in groups {
            let count = self.group as f32;
            let mean = from.iter().sum::<f32>() / count;
            let variance = from.iter().map(|x| (x - mean) * (x - mean)).sum::<f32>() / count;
            let scale = 1.0 / (variance + EPSILON).sqrt();
            for (x, y) in from.iter().zip(to) {
                *y = (x - mean) * scale;
            }
        }
    }
}

/// |x|^p with the sign of x: evens out features of very different sizes.
pub(super) struct Power {
    shape: Shape,
    exponent: f32,
}

impl Power {
    pub(super) fn new(shape: Shape, exponent: f32) -> Result<Power, Refusal> {
        if !(exponent > 0.0 && exponent <= 4.0) {
            return Err(Refusal::out_of_range("exponent", exponent, "0 < exponent ≤ 4"));
        }
        Ok(Power { shape, exponent })
    }
}

impl Map for Power {
    fn output(&self) -> Shape {
        self.shape
    }

    fn map(&self, input: &[f32], output: &mut [f32], _: &mut Scratch) {
        for (x, y) in input.iter().zip(output) {
            *y = libm::copysignf(libm::powf(x.abs(), self.exponent), *x);
        }
    }
}

/// Every example gets the same norm; one that is all zeros stays so.
pub(super) struct UnitNorm {
    shape: Shape,
    norm: f32,
}

impl UnitNorm {
    pub(super) fn new(shape: Shape, norm: f32) -> Result<UnitNorm, Refusal> {
        if !(norm > 0.0 && norm <= 1e6) {
            return Err(Refusal::out_of_range("norm", norm, "0 < norm ≤ 1e6"));
        }
        Ok(UnitNorm { shape, norm })
    }
}

impl Map for UnitNorm {
    fn output(&self) -> Shape {
        self.shape
    }

    fn map(&self, input: &[f32], output: &mut [f32], _: &mut Scratch) {
        let square: f64 = input.iter().map(|x| f64::from(*x) * f64::from(*x)).sum();
        let scale = if square > 0.0 { f64::from(self.norm) / square.sqrt() } else { 0.0 };
        for (x, y) in input.iter().zip(output) {
            *y = (f64::from(*x) * scale) as f32;
        }
    }
}
