//! Random initial weights.

use veracity_noise::{Stream, vector};

/// Normal weights of this variance.
pub(super) fn normal(weights: &mut [f32], variance: f64, rng: &mut Stream) {
    let mut normals = vec![0; weights.len()];
    vector::fill(&mut normals, rng);
    let scale = variance.sqrt() / f64::from(1u32 << vector::UNIT_BITS);
    for (weight, normal) in weights.iter_mut().zip(&normals) {
        *weight = (scale * f64::from(*normal)) as f32;
    }
}
