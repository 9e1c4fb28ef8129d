//! The function to be minimised: Σ ℓ(⟨w, row⟩, target) + Λ‖w‖²/2 + ⟨linear, w⟩, its gradient, and its Hessian times a vector.
//!
//! Rows are summed in blocks of fixed size and blocks in their order, so the bits do not depend on the number of threads.

use super::{
    features::{BoundedFeatures, UNIT},
    loss::ConvexLoss,
};
use rayon::prelude::*;

/// Rows summed one after the other. With as many blocks again, a sum of n rows has a depth of BLOCK + n/BLOCK.
const BLOCK: usize = 256;

pub(super) struct Objective<'a> {
    pub features: &'a BoundedFeatures<'a>,
    pub targets: &'a [f64],
    pub loss: ConvexLoss,
    pub penalty: f64,
    pub linear: &'a [f64],
}

/// All that is known of the objective at some weights.
pub(super) struct Point {
    pub weights: Vec<f64>,
    pub value: f64,
    /// The sum of the absolute values that make up the value: what its rounding is relative to.
    pub magnitude: f64,
    pub gradient: Vec<f64>,
    /// The curvature of each record's loss.
    pub curvatures: Vec<f64>,
}

impl Objective<'_> {
    pub fn at(&self, weights: Vec<f64>) -> Point {
        let mut curvatures = vec![0.0; self.targets.len()];
        let block = |(block, curvatures): (usize, &mut [f64])| {
            let (mut value, mut gradient) = (0.0, vec![0.0; weights.len()]);
            for (record, curvature) in (block * BLOCK..).zip(curvatures) {
                let (score, target) = (self.features.score(record, &weights), self.targets[record]);
                value += self.loss.value(score, target);
                *curvature = self.loss.curvature(score, target);
                self.features.add_row(record, self.loss.slope(score, target), &mut gradient);
            }
            (value, gradient)
        };
        let parts: Vec<(f64, Vec<f64>)> = if curvatures.len() > BLOCK {
            curvatures.par_chunks_mut(BLOCK).enumerate().map(block).collect()
        } else {
            curvatures.chunks_mut(BLOCK).enumerate().map(block).collect()
        };
        let losses: f64 = parts.iter().map(|part| part.0).sum();
        let mut gradient = sum(parts.iter().map(|part| &part.1), weights.len());
        for ((g, w), b) in gradient.iter_mut().zip(&weights).zip(self.linear) {
            *g += self.penalty * w + b;
        }
        let (square, along) = (0.5 * self.penalty * dot(&weights, &weights), dot(self.linear, &weights));
        let (value, magnitude) = (losses + square + along, losses + square + along.abs());
        Point { weights, value, magnitude, gradient, curvatures }
    }

    /// The Hessian at a point, times a direction.
    pub fn bend(&self, at: &Point, direction: &[f64]) -> Vec<f64> {
        let block = |(block, curvatures): (usize, &[f64])| {
            let mut bent = vec![0.0; direction.len()];
            for (record, curvature) in (block * BLOCK..).zip(curvatures) {
                // Most rows of a hinge do not bend.
                if *curvature > 0.0 {
                    let along = self.features.score(record, direction);
                    self.features.add_row(record, curvature * along, &mut bent);
                }
            }
            bent
        };
        let parts: Vec<Vec<f64>> = if at.curvatures.len() > BLOCK {
            at.curvatures.par_chunks(BLOCK).enumerate().map(block).collect()
        } else {
            at.curvatures.chunks(BLOCK).enumerate().map(block).collect()
        };
        let mut bent = sum(parts.iter(), direction.len());
        for (h, v) in bent.iter_mut().zip(direction) {
            *h += self.penalty * v;
        }
        bent
    }

    /// An upper bound on the norm of the true gradient at a point: that of the computed one, and what rounding may hide.
    ///
    /// # Promise   Never below the true norm; times 1/Λ, never below the distance to the minimiser
    /// # Numerics  With u = 2^-53 and B the bound of rows: a score is within 1.01(d+5)uB‖w‖, a slope within that × curvature
    /// bound + its own error, each product within 3u, a sum of n rows within its depth × u × the sum of the norms
    pub fn gradient_bound(&self, at: &Point) -> f64 {
        let (n, d) = (self.targets.len() as f64, at.weights.len() as f64);
        let b = self.features.rows().bound().get();
        let (w, linear) = (norm(&at.weights), norm(self.linear));
        let slope = self.loss.slope_bound();
        let score_error = 1.01 * (d + 5.0) * UNIT * b * w;
        let slope_error = self.loss.curvature_bound() * score_error + self.loss.slope_error();
        let depth = BLOCK as f64 + (n / BLOCK as f64).ceil() + 8.0;
        let rows = n * b * (slope_error + depth * UNIT * (slope + slope_error));
        let rest = 4.0 * UNIT * (self.penalty * w + linear + n * b * slope);
        // The factor covers the roundings of this very formula, and of the norm.
        (norm(&at.gradient) + rows + rest) * (1.01 + d * UNIT)
    }
}

fn sum<'p>(parts: impl Iterator<Item = &'p Vec<f64>>, length: usize) -> Vec<f64> {
    let mut total = vec![0.0; length];
    for part in parts {
        for (t, p) in total.iter_mut().zip(part) {
            *t += p;
        }
    }
    total
}

pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

pub(super) fn norm(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}
