//! What an attacker who sees every step makes of it, as devices compute it: in operations that are correctly rounded, one after another,
//! so that a score is the same to the bit wherever it is computed. `crates/cuda/kernels/score.cuh` is the same.

use crate::device::{Likelihoods, Worlds};

const LOG2_E: f64 = std::f64::consts::LOG2_E;
const LN2_HIGH: f64 = 0.693_147_180_369_123_8;
const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;
/// Adding it leaves the nearest whole number in the lowest bits.
const WHOLE: f64 = 6_755_399_441_055_744.0;

/// Log-likelihood ratios of each canary, added up.
#[derive(Debug, Clone)]
pub(crate) struct Scores<'a> {
    attack: &'a Likelihoods<'a>,
    steps: u64,
    tallies: Vec<Tally>,
}

/// A sum of logarithms, and a product of ordinary size whose logarithm is to be added: logarithms take time.
#[derive(Debug, Clone, Copy)]
struct Tally {
    sum: f64,
    product: f64,
}

impl<'a> Scores<'a> {
    pub(crate) fn new(attack: &'a Likelihoods<'a>, steps: u64) -> Scores<'a> {
        Scores { attack, steps, tallies: vec![Tally { sum: 0.0, product: 1.0 }; attack.parameters.len()] }
    }

    /// Hears a step: what its noisy sum is at a parameter, and along each direction.
    pub(crate) fn hear(&mut self, step: u64, at: impl Fn(u32) -> f32, along: &[f32]) {
        let attack = self.attack;
        let (count, width) = (attack.parameters.len(), attack.parameters.len() + attack.directions.len());
        let expected = &attack.expected[attack.stretch(step, self.steps) * width..][..width];
        for (canary, tally) in self.tallies.iter_mut().enumerate() {
            let (scale, per_variance) = attack.places[canary];
            let mut beyond = f64::from(at(attack.parameters[canary])) - f64::from(expected[canary]);
            for (d, along) in along.iter().enumerate() {
                let off = f64::from(*along) - f64::from(expected[count + d]);
                beyond = (-attack.taken[d * count + canary]).mul_add(off, beyond);
            }
            let seen = beyond * scale;
            match attack.worlds {
                Worlds::Apart { shift } => tally.sum = (seen - shift).mul_add(per_variance, tally.sum),
                Worlds::Mixed => tally.add_log(ratio(attack.chances, seen, per_variance)),
                Worlds::Opposed => {
                    tally.add_log(ratio(attack.chances, seen, per_variance));
                    tally.add_log(1.0 / ratio(attack.chances, -seen, per_variance));
                }
            }
        }
    }

    /// All scores, each in two parts.
    pub(crate) fn read(&self) -> Vec<f32> {
        let parts = |tally: &Tally| {
            let score = tally.sum + logarithm(tally.product);
            let high = score as f32;
            [high, (score - f64::from(high)) as f32]
        };
        self.tallies.iter().flat_map(parts).collect()
    }
}

impl Tally {
    fn add_log(&mut self, ratio: f64) {
        let is_ordinary = |x: f64| (1e-100..=1e100).contains(&x);
        if !is_ordinary(ratio) {
            self.sum += logarithm(ratio);
            return;
        }
        self.product *= ratio;
        if !is_ordinary(self.product) {
            self.sum += logarithm(self.product);
            self.product = 1.0;
        }
    }
}

/// The likelihood ratio of copies that may be in the batch over none: Σ_b P(b) exp((2bx − b²)/2σ²).
fn ratio(chances: &[f64], seen: f64, per_variance: f64) -> f64 {
    let mut ratio = chances[0];
    for (b, chance) in chances.iter().enumerate().skip(1) {
        let b = b as f64;
        let exponent = (b * seen).mul_add(per_variance, b * b * -0.5 * per_variance);
        ratio = chance.mul_add(exponential(exponent), ratio);
    }
    ratio
}

/// e^x, at most e^700 and at least e^-700.
fn exponential(x: f64) -> f64 {
    if x.is_nan() {
        return x;
    }
    let x = x.clamp(-700.0, 700.0);
    let shifted = x * LOG2_E + WHOLE;
    let n = shifted - WHOLE;
    let r = n.mul_add(-LN2_LOW, n.mul_add(-LN2_HIGH, x));
    let mut factorial = 6_227_020_800.0;
    let mut p = 1.0 / factorial;
    for k in (3..=13).rev() {
        factorial /= f64::from(k);
        p = p.mul_add(r, 1.0 / factorial);
    }
    let p = p.mul_add(r, 1.0).mul_add(r, 1.0);
    let high = ((p.to_bits() >> 32) as u32).wrapping_add((shifted.to_bits() as u32) << 20);
    f64::from_bits(u64::from(high) << 32 | p.to_bits() & 0xffff_ffff)
}

/// The logarithm of a positive number of ordinary size; what is none stays.
fn logarithm(x: f64) -> f64 {
    if x.is_nan() || x == f64::INFINITY {
        return x;
    }
    let high = (x.to_bits() >> 32) as i32;
    let exponent = (high - 0x3fe6_a09e) >> 20;
    let fraction = f64::from_bits(x.to_bits().wrapping_sub((i64::from(exponent) << 52) as u64));
    let t = fraction - 1.0;
    let s = t / (2.0 + t);
    let z = s * s;
    let series = (0..12).rev().fold(0.0, |series: f64, k| series.mul_add(z, 1.0 / f64::from(2 * k + 1)));
    f64::from(exponent).mul_add(std::f64::consts::LN_2, 2.0 * s * series)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponentials_and_logarithms_are_right_to_a_few_last_digits() {
        for i in -6990..=6990 {
            let x = f64::from(i) * 0.1003;
            let x = x.clamp(-699.9, 699.9);
            let off = (exponential(x) / x.exp() - 1.0).abs();
            assert!(off < 1e-15, "e^{x} is off by {off}");
            let y = x.exp();
            assert!((logarithm(y) - y.ln()).abs() <= 4e-16 * y.ln().abs().max(1.0), "ln {y}");
        }
        assert!(exponential(f64::NAN).is_nan() && logarithm(f64::NAN).is_nan());
        assert_eq!((exponential(1e9), exponential(-1e9)), (exponential(700.0), exponential(-700.0)));
    }
}
