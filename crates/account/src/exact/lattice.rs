//! δ(ε) when all losses lie on one lattice: the transform is periodic, one period is summed exactly and nothing is
//! cut off.
//!
//! With losses on O + gℤ and N nodes per period the sum is δ(ε) plus the same aliases as on any contour, for the
//! period Ng. The payoff enters by its lattice transform, a difference of two geometric series.

use super::composed::{Composed, Saddle, tilt_all};
use super::contour::{Value, accumulate, at_least_zero};
use super::modulus::Modulus;
use super::placement::{Placement, Scheme, high_alias};
use super::points::Fineness;
use num_complex::Complex64;
use std::f64::consts::PI;
use veracity_core::numerics::UNIT;

/// The most nodes in a period.
const MOST_NODES: usize = 1 << 21;

/// Node values over one period.
#[derive(Debug)]
pub(super) struct LatticeSum {
    c: f64,
    spacing: f64,
    offset: f64,
    step: f64,
    nodes: Vec<Node>,
    log_scale: f64,
    log_scale_error: f64,
    high_alias: (f64, f64),
    low_alias: f64,
    /// Σ (|value|·y): how much a rounding of the phase can matter.
    phase_error: f64,
}

#[derive(Debug)]
struct Node {
    /// Transform of the losses, times 1/N or 2/N.
    value: Complex64,
    /// At least by how much the value may be off.
    lost: f64,
    /// 1/(1 − e^{−zg}) and 1/(1 − e^{−(z+1)g}).
    first: Complex64,
    second: Complex64,
}

impl LatticeSum {
    /// Sums over the lattice `offset` + `spacing`·ℤ for ε near the saddle's.
    pub(super) fn draw(
        composed: &Composed,
        saddle: &Saddle,
        offset: f64,
        spacing: f64,
    ) -> Option<LatticeSum> {
        let tolerance = (1e-9 * (saddle.c * saddle.epsilon.abs()).max(1e-2)).min(1e-7);
        let Placement { c, period, .. } = Placement::best(composed, saddle, tolerance, Scheme::Quick)?;
        let wanted = saddle.log_delta + tolerance.ln();
        let (period, _) = high_alias(composed, saddle, c, period, wanted)?;
        let count = ((period / spacing).ceil() as usize).max(16).next_power_of_two();
        if count > MOST_NODES {
            return None;
        }
        let period = spacing * count as f64;
        let (_, high_alias) = high_alias(composed, saddle, c, period, wanted)?;
        let step = 2.0 * PI / period;
        let half = count / 2;
        let mut exponents = vec![Complex64::new(0.0, 0.0); half + 1];
        let mut errors = vec![0.0; half + 1];
        let (mut log_scale, mut log_scale_error) = (0.0, 0.0);
        for (part, times) in &tilt_all(composed, c, step * half as f64, 0.0)? {
            let (k, k_error) = part.log_mgf();
            log_scale += times * k;
            log_scale_error += times * k_error + 4.0 * UNIT * (times * k).abs();
            accumulate(part.transform(step, half, Fineness::Full), *times, &mut exponents, &mut errors);
        }
        let mut sum = LatticeSum {
            c,
            spacing,
            offset,
            step,
            nodes: Vec::with_capacity(half + 1),
            log_scale,
            log_scale_error,
            high_alias,
            low_alias: 1.0 / (c * period).exp_m1(),
            phase_error: 0.0,
        };
        sum.set_nodes(&exponents, &errors, count);
        Some(sum)
    }

    fn set_nodes(&mut self, exponents: &[Complex64], errors: &[f64], count: usize) {
        for (k, (exponent, error)) in exponents.iter().zip(errors).enumerate() {
            let z = Complex64::new(self.c, k as f64 * self.step);
            let alone = k == 0 || 2 * k == count;
            let value = exponent.exp() * (if alone { 1.0 } else { 2.0 } / count as f64);
            let geometric = |z: Complex64| 1.0 / (1.0 - (-z * self.spacing).exp());
            let relative =
                (error + UNIT * (32.0 + 4.0 * exponent.modulus() + 4.0 / (self.c * self.spacing))).exp_m1();
            // A node whose relative error is not small counts as error altogether.
            let (value, lost) = if relative < 0.5 {
                (value, value.modulus() * relative)
            } else {
                (Complex64::new(0.0, 0.0), 2.0 / count as f64 * (exponent.re + error).min(0.0).exp())
            };
            self.phase_error += value.modulus() * z.im;
            self.nodes.push(Node { value, lost, first: geometric(z), second: geometric(z + 1.0) });
        }
    }

    /// δ at ε, from both sides.
    ///
    /// # Promise  lower ≤ δ(ε) ≤ upper
    pub(super) fn value_at(&self, epsilon: f64) -> Value {
        // The least lattice point above ε.
        let index = ((epsilon - self.offset) / self.spacing).floor() + 1.0;
        let point = self.offset + index * self.spacing;
        let decay = (epsilon - point).exp();
        let (mut sum, mut slope, mut error) = (0.0, 0.0, 0.0);
        for (k, node) in self.nodes.iter().enumerate() {
            // On the lattice the phase of a point is a whole multiple of 2π/N beyond that of the offset.
            let phase = Complex64::from_polar(1.0, -(k as f64 * self.step) * point);
            let turned = node.value * phase;
            let falling = decay * (turned * node.second).re;
            sum += (turned * node.first).re - falling;
            slope -= falling;
            let kernel = node.first.modulus() + decay * node.second.modulus();
            error += kernel * (node.lost + 64.0 * UNIT * node.value.modulus());
        }
        let largest =
            self.nodes.first().map_or(0.0, |node| node.first.modulus() + decay * node.second.modulus());
        let position = 8.0 * UNIT * (self.offset.abs() + point.abs() + epsilon.abs() + self.spacing);
        error += self.phase_error * position * largest;
        let scale = (self.log_scale - self.c * point).exp();
        let spread =
            self.log_scale_error + (self.c + 1.0) * position + 8.0 * UNIT * (4.0 + self.log_scale.abs());
        let relative = spread.exp_m1();
        let (above, below) = (scale * (1.0 + relative), scale * (1.0 - relative).max(0.0));
        let (d, log_bound) = self.high_alias;
        let aliases = (log_bound - d * epsilon).exp() + self.low_alias;
        let upper = above * at_least_zero(sum + error);
        Value {
            lower: (below * (sum - error) - aliases).max(0.0),
            middle: scale * sum,
            // What is not a number bounds nothing.
            upper: if upper.is_nan() { 1.0 } else { upper.min(1.0) },
            slope: scale * slope,
            noise: above * error,
        }
    }
}
