//! How much noise, on which grid, and how long a contribution may be so that nothing is left uncounted.

use super::laplace::LaplaceGrid;
use veracity_core::{ClipNorm, Count, NoiseMultiplier, Refusal};
use veracity_noise::{Distance, Stream, vector, vector::Grid};

/// Noise for one kind of sum.
#[derive(Debug, Clone, Copy)]
pub struct Calibrated {
    law: Law,
    room: f32,
    clip: f64,
}

#[derive(Debug, Clone, Copy)]
enum Law {
    Gaussian(Grid),
    Laplace(LaplaceGrid),
}

/// The least norm that gradients are clipped to.
const LEAST_ROOM: f32 = 5e-7;
/// Clip norms between which nothing that floats leave out decides: below, squares vanish; above, they or the sum of a batch
/// could be infinite, and what is infinite no longer moves by what a record adds.
pub(crate) const CLIP_NORMS: std::ops::RangeInclusive<f64> = 1e-6..=1e15;

impl Calibrated {
    /// Gaussian noise of standard deviation `noise` × `clip` on a vector of so many parameters.
    ///
    /// # Promise  A sum in which one record moves at most [`Calibrated::room`] in ℓ2 moves at most `clip` once it is a float
    /// and on the grid, as far as the allowance for float sums covers the rounding of its additions
    pub fn gaussian(
        noise: NoiseMultiplier,
        clip: ClipNorm,
        parameters: usize,
        batch: Count,
    ) -> Result<Calibrated, Refusal> {
        let grid = Grid::new(noise.get() * clip.get())?;
        let room = clip.get() * (1.0 - float_slack(batch)) - grid.extra_l2(parameters);
        Calibrated::checked(Law::Gaussian(grid), room, clip.get(), noise)
    }

    /// Laplace noise of scale `noise` × `clip`; the same promise in ℓ1.
    pub fn laplace(
        noise: NoiseMultiplier,
        clip: ClipNorm,
        parameters: usize,
        batch: Count,
    ) -> Result<Calibrated, Refusal> {
        let grid = LaplaceGrid::new(noise.get() * clip.get())?;
        let room = clip.get() * (1.0 - float_slack(batch)) - grid.extra_l1(parameters);
        Calibrated::checked(Law::Laplace(grid), room, clip.get(), noise)
    }

    /// Gaussian noise on a balance, which is a whole number and moves by 1 exactly: the noise is widened by what the
    /// rounding to its grid can add.
    pub(crate) fn balance(noise: NoiseMultiplier) -> Result<Calibrated, Refusal> {
        // One grid step more, of 2^-20 standard deviations; twice that for the rounding of these lines.
        let widened = noise.get() / (1.0 - noise.get() * 2f64.powi(-19));
        if !(widened > 0.0 && noise.get() < 1e5) {
            return Err(Refusal::out_of_range("count noise", noise, "less than 1e5"));
        }
        Ok(Calibrated { law: Law::Gaussian(Grid::new(widened)?), room: 1.0, clip: widened / noise.get() })
    }

    fn checked(law: Law, room: f64, clip: f64, noise: NoiseMultiplier) -> Result<Calibrated, Refusal> {
        // Rounded down: a float nearest to `room` could be longer.
        let room = (room * (1.0 - f64::from(f32::EPSILON))) as f32;
        if room.is_finite() && f64::from(room) > 0.5 * clip {
            // Squares of floats below 2.6e-23 are zero: a much smaller norm could not be told from none.
            return if room >= LEAST_ROOM && clip <= *CLIP_NORMS.end() {
                Ok(Calibrated { law, room, clip })
            } else {
                Err(Refusal::out_of_range("clip norm", clip, "1e-6 ≤ clip norm ≤ 1e15"))
            };
        }
        Err(Refusal::out_of_range(
            "noise multiplier",
            noise,
            "less noise, fewer parameters or smaller batches: rounding would use up half of the clip norm",
        ))
    }

    /// The norm to which one record's gradient is clipped.
    pub fn room(&self) -> f32 {
        self.room
    }

    /// The norm that is accounted: no record moves the sum by more once it is on the grid.
    pub fn clip(&self) -> f64 {
        self.clip
    }

    /// What every released coordinate is a multiple of.
    pub fn granularity(&self) -> f64 {
        match self.law {
            Law::Gaussian(grid) => grid.granularity(),
            Law::Laplace(grid) => grid.granularity(),
        }
    }

    /// Adds noise to a block.
    pub(super) fn add(&self, values: &mut [f32], rng: &mut Stream) {
        match self.law {
            Law::Gaussian(grid) => grid.add_noise(values, rng),
            Law::Laplace(grid) => {
                for value in values {
                    *value = grid.value(grid.steps(*value).saturating_add(grid.noise(rng)));
                }
            }
        }
    }

    /// The grid of Gaussian noise, which can be drawn by itself; nothing for other noise.
    pub(super) fn gaussian_grid(&self) -> Option<Grid> {
        match self.law {
            Law::Gaussian(grid) => Some(grid),
            Law::Laplace(_) => None,
        }
    }

    /// The place of a value on the grid, as noise is added to it.
    pub(super) fn steps(&self, value: f32) -> i128 {
        match self.law {
            Law::Gaussian(grid) => grid.steps(value) as i128,
            Law::Laplace(grid) => grid.steps(value),
        }
    }

    /// The float of a place on the grid.
    pub(super) fn value(&self, steps: i128) -> f32 {
        match self.law {
            Law::Gaussian(grid) => (grid.granularity() * steps as f64) as f32,
            Law::Laplace(grid) => grid.value(steps),
        }
    }

    /// The same noise as [`Calibrated::add`] draws for a block of this length, by itself.
    pub(super) fn noise(&self, length: usize, rng: &mut Stream) -> Vec<i128> {
        match self.law {
            Law::Gaussian(_) => {
                let mut normals = vec![0; length];
                vector::fill(&mut normals, rng);
                normals.into_iter().map(i128::from).collect()
            }
            Law::Laplace(grid) => (0..length).map(|_| grid.noise(rng)).collect(),
        }
    }

    /// How far the sum can move, in steps of the grid, for so many contributions.
    pub(super) fn distance(&self, contributions: u32) -> Distance {
        let steps = f64::from(contributions) * self.clip / self.granularity();
        match self.law {
            Law::Gaussian(_) => Distance::L2Squared((steps * steps) as u128),
            Law::Laplace(_) => Distance::L1(steps as u128),
        }
    }
}

/// Which part of the clip norm is left for the rounding of float sums and norms.
///
/// Norms are within a relative 1e-5. A record more puts those after it into other micro-batches, so every coordinate of the
/// sum may round otherwise: by some units in the last place of what can be as long as all contributions together. The hardest
/// case known are gradients that all point one way and whose digits round one way time after time: for batches of 64 to 32,561
/// the movement was found at up to 2.9·batch·2^-24 beyond the clip norm, as long as micro-batches keep their size (where they
/// did not, 50·batch·2^-24). This leaves 16·batch·2^-24. It is a margin that replays check, not a proof: the worst case that
/// theory allows, with every rounding against us, is larger.
fn float_slack(batch: Count) -> f64 {
    2e-5 + batch.as_f64() * 2f64.powi(-20)
}

#[cfg(test)]
mod tests {
    use super::*;
    use veracity_noise::{Entropy, Purpose};

    #[test]
    fn noise_by_itself_is_the_noise_that_is_added() {
        let (noise, clip) = (NoiseMultiplier::new(0.7).unwrap(), ClipNorm::new(1.3).unwrap());
        let batch = Count::new(64).unwrap();
        for law in [
            Calibrated::gaussian(noise, clip, 5000, batch).unwrap(),
            Calibrated::laplace(noise, clip, 5000, batch).unwrap(),
            Calibrated::balance(noise).unwrap(),
        ] {
            let family = Entropy::seeded(4).family(Purpose::Noise, 0, 0);
            let mut clean: Vec<f32> = (0..5000).map(|i| (i as f32 - 2500.0) * 0.0137).collect();
            clean[7] = f32::NAN;
            clean[8] = f32::NEG_INFINITY;
            clean[9] = f32::MAX;
            let apart: Vec<f32> = clean
                .iter()
                .zip(law.noise(clean.len(), &mut family.stream(3)))
                .map(|(value, noise)| law.value(law.steps(*value) + noise))
                .collect();
            law.add(&mut clean, &mut family.stream(3));
            assert!(clean.iter().zip(&apart).all(|(a, b)| a.to_bits() == b.to_bits()), "{law:?}");
        }
    }

    #[test]
    fn room_and_rounding_fit_into_the_clip_norm() {
        let (noise, clip) = (NoiseMultiplier::new(1.0).unwrap(), ClipNorm::new(0.1).unwrap());
        let law = Calibrated::gaussian(noise, clip, 1 << 20, Count::new(256).unwrap()).unwrap();
        assert!(f64::from(law.room()) + law.granularity() * 1024.0 <= 0.1 * (1.0 - 256.0 * 2f64.powi(-20)));
        assert!(law.room() > 0.098);
        // With so many parameters that the grid eats the clip norm, nothing is promised.
        assert!(Calibrated::gaussian(noise, clip, 1 << 40, Count::ONE).is_err());
        assert!(Calibrated::laplace(noise, clip, 1 << 36, Count::ONE).is_err());
        // A balance moves by 1, and by one grid step more once it is rounded; its noise is wider by at least as much.
        for noise in [0.5, 2.0, 100.0, 9e4] {
            let law = Calibrated::balance(NoiseMultiplier::new(noise).unwrap()).unwrap();
            let deviation = law.granularity() * f64::from(1u32 << 20);
            assert!(deviation / noise >= 1.0 + 1.001 * law.granularity(), "{noise}");
            assert!((law.clip() - deviation / noise).abs() < 1e-12 * law.clip());
        }
    }
}
