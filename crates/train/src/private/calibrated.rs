//! How much noise, on which grid, and how long a contribution may be so that nothing is left uncounted.

use super::{Part, Rounding, laplace::LaplaceGrid};
use veracity_core::{ClipNorm, NoiseMultiplier, Refusal};
use veracity_noise::{Distance, Stream, vector, vector::Grid};

/// Noise for one kind of sum.
#[derive(Debug, Clone, Copy)]
pub struct CalibratedNoise {
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
/// Sums count steps of the grid in `f64`: exactly, below this.
const EXACT: f64 = (1u64 << 52) as f64;
/// Parameters whose steps are added up at a time.
const CHUNK: usize = 1024;

impl CalibratedNoise {
    /// Gaussian noise of standard deviation `noise` × `clip` on a vector of `parameters` parameters.
    ///
    /// # Promise  A sum in which records are clipped to [`CalibratedNoise::clip_limit`] moves by at most `clip` once it is on the grid
    /// # Assumes  `rounding` is that of the sum
    ///
    /// # Errors
    /// Refuses noise, clip norms and dimensions for which rounding would use up half of the clip norm.
    pub fn gaussian(
        noise: NoiseMultiplier,
        clip: ClipNorm,
        parameters: usize,
        rounding: Rounding,
    ) -> Result<CalibratedNoise, Refusal> {
        let grid = Grid::new(noise.get() * clip.get())?;
        let on_grid = rounding.of_two_vectors() * grid.extra_l2(parameters);
        CalibratedNoise::checked(Law::Gaussian(grid), on_grid, rounding, clip, noise)
    }

    /// Laplace noise of scale `noise` × `clip`; the same promise in ℓ1.
    ///
    /// # Errors
    /// As [`CalibratedNoise::gaussian`].
    pub fn laplace(
        noise: NoiseMultiplier,
        clip: ClipNorm,
        parameters: usize,
        rounding: Rounding,
    ) -> Result<CalibratedNoise, Refusal> {
        let grid = LaplaceGrid::new(noise.get() * clip.get())?;
        let on_grid = rounding.of_two_vectors() * grid.extra_l1(parameters);
        CalibratedNoise::checked(Law::Laplace(grid), on_grid, rounding, clip, noise)
    }

    /// Gaussian noise on a balance, which is a whole number and moves by 1 exactly: the noise is widened by what the
    /// rounding to its grid can add.
    pub(crate) fn balance(noise: NoiseMultiplier) -> Result<CalibratedNoise, Refusal> {
        // One grid step more, of 2^-20 standard deviations; twice that for the rounding of these lines.
        let widened = noise.get() / (1.0 - noise.get() * 2f64.powi(-19));
        if !(widened > 0.0 && noise.get() < 1e5) {
            return Err(Refusal::out_of_range("count noise", noise, "less than 1e5"));
        }
        Ok(CalibratedNoise {
            law: Law::Gaussian(Grid::new(widened)?),
            room: 1.0,
            clip: widened / noise.get(),
        })
    }

    /// # Numerics  (1 + relative) room + on_grid ≤ clip, with `room` rounded down to a float
    fn checked(
        law: Law,
        on_grid: f64,
        rounding: Rounding,
        clip: ClipNorm,
        noise: NoiseMultiplier,
    ) -> Result<CalibratedNoise, Refusal> {
        let clip = clip.get();
        let room = (clip - on_grid) / (1.0 + rounding.relative());
        let room = (room * (1.0 - f64::from(f32::EPSILON))) as f32;
        if room.is_finite() && f64::from(room) > 0.5 * clip {
            // Squares of floats below 2.6e-23 are zero: a much smaller norm could not be told from none.
            return if room >= LEAST_ROOM && clip <= *CLIP_NORMS.end() {
                Ok(CalibratedNoise { law, room, clip })
            } else {
                Err(Refusal::out_of_range("clip norm", clip, "1e-6 ≤ clip norm ≤ 1e15"))
            };
        }
        Err(Refusal::out_of_range(
            "noise multiplier",
            noise,
            "less noise, fewer parameters or smaller batches, because rounding would take half of the clip norm",
        ))
    }

    /// Refuses a number of records whose sum, in steps of the grid, might not be exact.
    ///
    /// # Errors
    /// Names the number of records.
    pub fn check_records(&self, records: usize) -> Result<(), Refusal> {
        if records as f64 * self.clip <= EXACT * self.granularity() {
            return Ok(());
        }
        Err(Refusal::out_of_range(
            "records",
            records,
            "fewer records or more noise, because sums would be too large to be exact on the grid of the noise",
        ))
    }

    /// The norm to which one record's gradient is clipped.
    pub fn clip_limit(&self) -> f32 {
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

    /// Replaces some numbers, the first of which is that of parameter `from`, by their sums with those of other parts, all on the
    /// grid, and noise, which is drawn by way of `normals`.
    pub(super) fn add(
        &self,
        values: &mut [f32],
        others: &[Part<'_>],
        from: usize,
        normals: &mut [i32],
        rng: &mut Stream,
    ) {
        match self.law {
            Law::Gaussian(_) => {
                let normals = &mut normals[..values.len()];
                vector::fill(normals, rng);
                self.add_drawn(values, others, from, normals);
            }
            Law::Laplace(grid) => {
                for (value, at) in values.iter_mut().zip(from..) {
                    let steps = self.total(*value, others, at);
                    *value = grid.value(steps.saturating_add(grid.noise(rng)));
                }
            }
        }
    }

    /// As [`CalibratedNoise::add`], with Gaussian noise that was drawn before.
    pub(super) fn add_drawn(&self, values: &mut [f32], others: &[Part<'_>], from: usize, normals: &[i32]) {
        let Some(grid) = self.gaussian_grid() else { return };
        // Most sums are of one part or two, for which one pass is enough.
        match *others {
            [] => return grid.add_drawn(values, normals),
            [Part::Floats(others)] => {
                return grid.add_drawn_to_sum(values, &others[from..][..normals.len()], normals);
            }
            [Part::Steps(steps)] => {
                return grid.add_drawn_to_sum(values, &steps[from..][..normals.len()], normals);
            }
            [_, _, ..] => {}
        }
        let mut totals = [0.0; CHUNK];
        for (at, (values, normals)) in values.chunks_mut(CHUNK).zip(normals.chunks(CHUNK)).enumerate() {
            let totals = &mut totals[..values.len()];
            totals.fill(0.0);
            grid.add_steps(totals, values);
            for part in others {
                part.block(from + at * CHUNK, values.len()).add_to(totals, self);
            }
            grid.add_drawn_to_steps(totals, normals, values);
        }
    }

    /// Adds the places of `values` on the grid to `totals`.
    pub(crate) fn add_steps(&self, totals: &mut [f64], values: &[f32]) {
        match self.law {
            Law::Gaussian(grid) => grid.add_steps(totals, values),
            Law::Laplace(grid) => {
                // Whole numbers of at most 2⁴⁶, which `f64` holds.
                totals.iter_mut().zip(values).for_each(|(total, value)| *total += grid.steps(*value) as f64);
            }
        }
    }

    /// The place of the sum of all parts at a parameter, what noise is added to.
    pub(super) fn total(&self, value: f32, others: &[Part<'_>], at: usize) -> i128 {
        let of = |part: &Part<'_>| match part {
            Part::Floats(floats) => self.steps(floats[at]),
            Part::Steps(steps) => steps[at] as i128,
        };
        self.steps(value) + others.iter().map(of).sum::<i128>()
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

    /// The same noise as [`CalibratedNoise::add`] draws for a block of this length, by itself.
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

#[cfg(test)]
mod tests {
    use super::*;
    use veracity_noise::{Entropy, Purpose};
    use veracity_testkit::short;

    /// Adds to a whole vector, as much at a time as there are normals at once.
    fn add(law: &CalibratedNoise, values: &mut [f32], others: &[Part<'_>], rng: &mut Stream) {
        let mut normals = [0; CHUNK];
        for (at, values) in values.chunks_mut(CHUNK).enumerate() {
            law.add(values, others, at * CHUNK, &mut normals, rng);
        }
    }

    #[test]
    fn noise_by_itself_is_the_noise_that_is_added() {
        let (noise, clip) = (short::noise(0.7), ClipNorm::new(1.3).unwrap());
        for law in [
            CalibratedNoise::gaussian(noise, clip, 5000, Rounding::ONE_SUM).unwrap(),
            CalibratedNoise::laplace(noise, clip, 5000, Rounding::ONE_SUM).unwrap(),
            CalibratedNoise::balance(noise).unwrap(),
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
            add(&law, &mut clean, &[], &mut family.stream(3));
            assert!(clean.iter().zip(&apart).all(|(a, b)| a.to_bits() == b.to_bits()), "{law:?}");
        }
    }

    #[test]
    fn parts_are_rounded_one_by_one_and_added_exactly() {
        let (noise, clip) = (short::noise(0.7), ClipNorm::new(1.3).unwrap());
        let length = 3000;
        let numbers = |salt: usize| -> Vec<f32> {
            (0..length).map(|i| (i * salt % 1009) as f32 * 0.013 - 6.0).collect()
        };
        let (first, floats) = (numbers(3), numbers(101));
        let steps: Vec<f64> = (0..length).map(|i| (i * 7919 % 100_003) as f64 - 50_000.0).collect();
        for law in [
            CalibratedNoise::gaussian(noise, clip, length, Rounding::ONE_SUM).unwrap(),
            CalibratedNoise::laplace(noise, clip, length, Rounding::ONE_SUM).unwrap(),
        ] {
            let others = [Part::Floats(&floats), Part::Steps(&steps)];
            let family = Entropy::seeded(4).family(Purpose::Noise, 0, 0);
            let drawn = law.noise(length, &mut family.stream(3));
            for others in [&others[..1], &others[1..]] {
                let mut sum = first.clone();
                add(&law, &mut sum, others, &mut family.stream(3));
                for at in 0..length {
                    let total = law.total(first[at], others, at);
                    assert_eq!(sum[at].to_bits(), law.value(total + drawn[at]).to_bits());
                }
            }
            let mut sum = first.clone();
            add(&law, &mut sum, &others, &mut family.stream(3));
            let mut totals = steps.clone();
            law.add_steps(&mut totals, &first);
            law.add_steps(&mut totals, &floats);
            for at in 0..length {
                let total = law.steps(first[at]) + law.steps(floats[at]) + steps[at] as i128;
                assert_eq!(law.total(first[at], &others, at), total);
                assert_eq!(totals[at] as i128, total);
                assert_eq!(sum[at].to_bits(), law.value(total + drawn[at]).to_bits());
            }
        }
    }

    #[test]
    fn room_and_rounding_fit_into_the_clip_norm() {
        let (noise, clip) = (short::noise(1.0), ClipNorm::new(0.1).unwrap());
        for rounding in [Rounding::ONE_SUM, Rounding::BY_RECORD] {
            let law = CalibratedNoise::gaussian(noise, clip, 1 << 20, rounding).unwrap();
            let grid = rounding.of_two_vectors() * law.granularity() * 1024.0;
            assert!(f64::from(law.clip_limit()) * (1.0 + rounding.relative()) + grid <= 0.1);
            assert!(law.clip_limit() > 0.0995);
        }
        // With so many parameters that the grid eats the clip norm, nothing is promised.
        assert!(CalibratedNoise::gaussian(noise, clip, 1 << 40, Rounding::ONE_SUM).is_err());
        assert!(CalibratedNoise::laplace(noise, clip, 1 << 36, Rounding::ONE_SUM).is_err());
        // Nor with so many records that their sum might not be exact.
        let law = CalibratedNoise::gaussian(noise, clip, 10, Rounding::ONE_SUM).unwrap();
        assert!(law.check_records(1 << 31).is_ok() && law.check_records(1 << 33).is_err());
        // A balance moves by 1, and by one grid step more once it is rounded; its noise is wider by at least as much.
        for noise in [0.5, 2.0, 100.0, 9e4] {
            let law = CalibratedNoise::balance(short::noise(noise)).unwrap();
            let deviation = law.granularity() * f64::from(1u32 << 20);
            assert!(deviation / noise >= 1.0 + 1.001 * law.granularity(), "{noise}");
            assert!((law.clip() - deviation / noise).abs() < 1e-12 * law.clip());
        }
    }
}
