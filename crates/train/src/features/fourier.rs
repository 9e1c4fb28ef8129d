//! Random Fourier features: cosines of random projections, whose products approximate a Gaussian kernel.

use super::{Map, Scratch};
use crate::Shape;
use std::f64::consts::PI;
use veracity_core::Refusal;
use veracity_noise::{Bits, Stream, vector};

/// # Reference  [RahimiRecht07]
pub(super) struct Fourier {
    count: usize,
    /// One row of `count` frequencies for each input.
    frequencies: Vec<f32>,
    phases: Vec<f32>,
    scale: f32,
}

impl Fourier {
    pub(super) fn new(
        input: Shape,
        count: usize,
        bandwidth: f32,
        rng: &mut Stream,
    ) -> Result<Fourier, Refusal> {
        if count == 0 || count.saturating_mul(input.size()) > 1 << 30 {
            return Err(Refusal::out_of_range("count", count, "1 ≤ count and count × inputs ≤ 2^30"));
        }
        if !(bandwidth > 1e-6 && bandwidth < 1e6) {
            return Err(Refusal::out_of_range("bandwidth", bandwidth, "1e-6 < bandwidth < 1e6"));
        }
        let frequencies = normals(count * input.size(), 1.0 / f64::from(bandwidth), rng);
        let phases = (0..count).map(|_| (rng.bits(32) as f64 / 2f64.powi(32) * 2.0 * PI) as f32).collect();
        Ok(Fourier { count, frequencies, phases, scale: (2.0 / count as f32).sqrt() })
    }
}

/// Normals of mean 0 and the given standard deviation.
pub(super) fn normals(count: usize, deviation: f64, rng: &mut Stream) -> Vec<f32> {
    let mut integers = vec![0; count];
    vector::fill(&mut integers, rng);
    let scale = deviation / f64::from(1u32 << vector::UNIT_BITS);
    integers.into_iter().map(|integer| (scale * f64::from(integer)) as f32).collect()
}

impl Map for Fourier {
    fn output(&self) -> Shape {
        Shape::Flat(self.count)
    }

    fn map(&self, input: &[f32], output: &mut [f32], _: &mut Scratch) {
        output.copy_from_slice(&self.phases);
        // One example at a time, so that no bit depends on which others there are.
        for (x, frequencies) in input.iter().zip(self.frequencies.chunks_exact(self.count)) {
            for (sum, frequency) in output.iter_mut().zip(frequencies) {
                *sum += x * frequency;
            }
        }
        for value in output {
            *value = self.scale * libm::cosf(*value);
        }
    }
}
