//! A vector of floats and its noise, on one public grid.

use super::{BLOCK, SCALE, fill};
use crate::Stream;
use crate::vectors::widest;
use pulp::{Simd, WithSimd};
use veracity_core::Refusal;

/// Clean values end at this many grid steps, 2²⁰ standard deviations; far beyond, and sums stay exact in `f64`.
const FARTHEST: f64 = (1u64 << 40) as f64;
/// Adding and taking it away rounds a number below 2⁵¹ to an integer, even at ties.
const ROUNDER: f64 = 6_755_399_441_055_744.0; // 1.5·2⁵²
/// What the multiplication by the inverse of the grid step can add to a rounding, in steps, for two vectors: 2·2⁴⁰·2⁻⁵², since
/// the inverse and the product are each rounded by 2⁻⁵³; and as much again for the rounding of the bound itself.
const DIVISION: f64 = 1.0 / (1u64 << 10) as f64;
/// Values that are looked over together: one that is no number, or far off, makes no others slow.
const STRETCH: usize = 512;

/// The grid of Gaussian noise with one standard deviation: multiples of σ·2⁻²⁰, whatever the data.
///
/// # Examples
///
/// Noise of standard deviation 2 on a vector of ℓ2 sensitivity 1:
///
/// ```
/// use veracity_noise::{Entropy, Key, Purpose, vector::Grid};
///
/// let grid = Grid::new(2.0)?;
/// let mut gradient = vec![0.25f32; 1_000];
/// grid.add_noise(&mut gradient, &mut Entropy::seeded(5).stream(Purpose::Noise, Key::default()));
/// // Every output is the nearest `f32` to a whole number of grid steps.
/// let steps = f64::from(gradient[0]) / grid.granularity();
/// assert!((steps - steps.round()).abs() <= steps.abs() * f64::from(f32::EPSILON));
/// // The noise multiplier to be accounted: rounding to the grid moves vectors apart by a little.
/// let noise_multiplier = grid.standard_deviation() / (1.0 + grid.extra_l2(1_000));
/// assert!(noise_multiplier < 2.0 && noise_multiplier > 1.999);
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Grid {
    granularity: f64,
}

impl Grid {
    /// The grid for noise of a standard deviation.
    ///
    /// # Errors
    /// Refuses a deviation that is not positive, or too small or too large for a grid.
    pub fn new(standard_deviation: f64) -> Result<Grid, Refusal> {
        let granularity = standard_deviation / SCALE;
        // A subnormal step has too few digits to divide by.
        if standard_deviation > 0.0 && granularity.is_normal() {
            Ok(Grid { granularity })
        } else {
            Err(Refusal::out_of_range(
                "standard deviation",
                standard_deviation,
                "a finite number of at least 2.4e-302",
            ))
        }
    }

    /// The standard deviation of the noise.
    pub fn standard_deviation(&self) -> f64 {
        self.granularity * SCALE
    }

    /// The step γ of the grid: every output is the `f32` nearest to an integer multiple of it.
    pub fn granularity(&self) -> f64 {
        self.granularity
    }

    /// How much farther apart, in ℓ2, two vectors of this many coordinates can be once each is rounded to the grid: γ√d.
    ///
    /// The sensitivity that an accountant reads is that of the sum before rounding, plus this.
    ///
    /// # Promise   Never below the true largest increase
    /// # Numerics  Rounding to nearest moves a coordinate by γ/2 and two by γ apart; 2⁻¹⁰ is added for the division
    pub fn extra_l2(&self, dimension: usize) -> f64 {
        self.granularity * (dimension as f64).sqrt() * (1.0 + DIVISION)
    }

    /// Replaces every value by γ·(round(value/γ) + K), with K of [`fill`](super::fill).
    ///
    /// Values beyond ±2²⁰ standard deviations, infinite ones among them, count as that. A NaN counts as 0: it shows that
    /// clipping failed before, but it is not released, and its coordinate gets noise like any other. How far a sum of floats
    /// can move for one record, rounding in its own additions included, is the caller's to bound.
    ///
    /// The stream is used as by a [`fill`](super::fill) of the same length.
    ///
    /// # Promise    Each output is a function of the integer round(value/γ) + K alone: a post-processing of the Gaussian
    /// mechanism on the rounded vector
    /// # Assumes    Standard deviation over (ℓ2 sensitivity + [`extra_l2`](Grid::extra_l2)) is the noise multiplier accounted
    /// # Numerics   Rounding and addition are exact; for K see [`crate::vector`]
    /// # Reference  \[Mironov12\] for what goes wrong without a grid
    pub fn add_noise(&self, values: &mut [f32], stream: &mut Stream) {
        let mut noise = [0; BLOCK];
        let drawn = values.len().min(BLOCK);
        for block in values.chunks_mut(BLOCK) {
            let noise = &mut noise[..block.len()];
            fill(noise, stream);
            self.add_drawn(block, noise);
        }
        // What is left on the stack would undo the noise.
        noise[..drawn].fill(0);
        zeroize::optimization_barrier(&noise);
    }

    /// As [`add_noise`](Grid::add_noise), with noise that a [`fill`](super::fill) of the same length has drawn for this vector
    /// and no other.
    pub fn add_drawn(&self, values: &mut [f32], noise: &[i32]) {
        assert_eq!(values.len(), noise.len(), "every value gets noise");
        widest().dispatch(Addition { values, noise, grid: *self });
    }

    /// As [`add_drawn`](Grid::add_drawn), for the sum of two vectors: one that is rounded to the grid, and another of floats, which
    /// is rounded by itself, or of totals in grid steps.
    pub fn add_drawn_to_sum<T: Addend>(&self, values: &mut [f32], others: &[T], noise: &[i32]) {
        assert!(values.len() == noise.len() && values.len() == others.len(), "every value gets noise");
        widest().dispatch(SumWithNoise { values, others, noise, grid: *self });
    }

    /// Adds the places of `values` to `totals`, which count grid steps: whole numbers, whose sums are exact, and the same in
    /// any order, as long as they stay below 2⁵³.
    pub fn add_steps(&self, totals: &mut [f64], values: &[f32]) {
        assert_eq!(totals.len(), values.len(), "every value has a total");
        widest().dispatch(Steps { totals, values, grid: *self });
    }

    /// Replaces `values` by γ·(total + K), for totals in grid steps and noise that a [`fill`](super::fill) of the same length
    /// has drawn for this vector and no other.
    ///
    /// # Promise  As [`add_noise`](Grid::add_noise): a post-processing of the Gaussian mechanism on the totals
    pub fn add_drawn_to_steps(&self, totals: &[f64], noise: &[i32], values: &mut [f32]) {
        assert!(totals.len() == noise.len() && totals.len() == values.len(), "every total gets noise");
        widest().dispatch(StepsWithNoise { totals, noise, values, grid: *self });
    }

    /// The place of a value on the grid, a whole number of at most 2⁴⁰: what noise is added to.
    #[inline(always)]
    pub fn steps(&self, value: f32) -> f64 {
        // Not a division, which takes as long as all else here. The grid step is normal, so its inverse is finite.
        let steps = f64::from(value) * (1.0 / self.granularity);
        let steps = if steps.is_nan() { 0.0 } else { steps };
        let steps = if steps > FARTHEST { FARTHEST } else { steps };
        let steps = if steps < -FARTHEST { -FARTHEST } else { steps };
        (steps + ROUNDER) - ROUNDER
    }

    /// As [`steps`](Grid::steps), which looks for what has no place only where values are not known to be near.
    #[inline(always)]
    fn place<const NEAR: bool>(&self, value: f32) -> f64 {
        match NEAR {
            true => (f64::from(value) * (1.0 / self.granularity) + ROUNDER) - ROUNDER,
            false => self.steps(value),
        }
    }

    /// Whether all values are numbers of at most half of the farthest place, so that none needs to be brought within it.
    #[inline(always)]
    fn are_near(&self, values: &[f32]) -> bool {
        let limit = ((self.granularity * (FARTHEST / 2.0)) as f32).min(f32::MAX);
        // Without their signs, floats are in the order of their bits, and infinity and NaN beyond all others.
        let most = values.iter().fold(0, |most, value| (value.to_bits() & !(1 << 31)).max(most));
        most <= limit.to_bits()
    }
}

struct Addition<'a> {
    values: &'a mut [f32],
    noise: &'a [i32],
    grid: Grid,
}

impl WithSimd for Addition<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Addition { values, noise, grid } = self;
        for (values, noise) in values.chunks_mut(STRETCH).zip(noise.chunks(STRETCH)) {
            match grid.are_near(values) {
                true => add::<true>(values, noise, grid),
                false => add::<false>(values, noise, grid),
            }
        }
    }
}

#[inline(always)]
fn add<const NEAR: bool>(values: &mut [f32], noise: &[i32], grid: Grid) {
    for (value, &k) in values.iter_mut().zip(noise) {
        *value = (grid.granularity * (grid.place::<NEAR>(*value) + f64::from(k))) as f32;
    }
}

struct Steps<'a> {
    totals: &'a mut [f64],
    values: &'a [f32],
    grid: Grid,
}

impl WithSimd for Steps<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Steps { totals, values, grid } = self;
        for (totals, values) in totals.chunks_mut(STRETCH).zip(values.chunks(STRETCH)) {
            match grid.are_near(values) {
                true => add_places::<true>(totals, values, grid),
                false => add_places::<false>(totals, values, grid),
            }
        }
    }
}

#[inline(always)]
fn add_places<const NEAR: bool>(totals: &mut [f64], values: &[f32], grid: Grid) {
    for (total, value) in totals.iter_mut().zip(values) {
        *total += grid.place::<NEAR>(*value);
    }
}

/// A number that is added to another one on the grid.
pub trait Addend: Copy {
    /// Whether some are near, as floats are for [`Grid::steps`].
    fn are_near(some: &[Self], grid: Grid) -> bool;

    /// Its place there.
    fn place_on<const NEAR: bool>(self, grid: Grid) -> f64;
}

impl Addend for f32 {
    #[inline(always)]
    fn are_near(some: &[f32], grid: Grid) -> bool {
        grid.are_near(some)
    }

    #[inline(always)]
    fn place_on<const NEAR: bool>(self, grid: Grid) -> f64 {
        grid.place::<NEAR>(self)
    }
}

/// Grid steps.
impl Addend for f64 {
    #[inline(always)]
    fn are_near(_: &[f64], _: Grid) -> bool {
        true
    }

    #[inline(always)]
    fn place_on<const NEAR: bool>(self, _: Grid) -> f64 {
        self
    }
}

struct SumWithNoise<'a, T> {
    values: &'a mut [f32],
    others: &'a [T],
    noise: &'a [i32],
    grid: Grid,
}

impl<T: Addend> WithSimd for SumWithNoise<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let SumWithNoise { values, others, noise, grid } = self;
        let parts = values.chunks_mut(STRETCH).zip(others.chunks(STRETCH)).zip(noise.chunks(STRETCH));
        for ((values, others), noise) in parts {
            match grid.are_near(values) && T::are_near(others, grid) {
                true => add_both::<true, T>(values, others, noise, grid),
                false => add_both::<false, T>(values, others, noise, grid),
            }
        }
    }
}

#[inline(always)]
fn add_both<const NEAR: bool, T: Addend>(values: &mut [f32], others: &[T], noise: &[i32], grid: Grid) {
    for ((value, other), &k) in values.iter_mut().zip(others).zip(noise) {
        let total = grid.place::<NEAR>(*value) + other.place_on::<NEAR>(grid);
        *value = (grid.granularity * (total + f64::from(k))) as f32;
    }
}

struct StepsWithNoise<'a> {
    totals: &'a [f64],
    noise: &'a [i32],
    values: &'a mut [f32],
    grid: Grid,
}

impl WithSimd for StepsWithNoise<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        for ((value, total), &k) in self.values.iter_mut().zip(self.totals).zip(self.noise) {
            *value = (self.grid.granularity * (total + f64::from(k))) as f32;
        }
    }
}

/// The `f32` of γ·(round(value/γ) + k).
#[cfg(test)]
fn noisy(value: f32, k: i32, grid: Grid) -> f32 {
    (grid.granularity * (grid.steps(value) + f64::from(k))) as f32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Entropy, Key, Purpose};

    fn stream() -> Stream {
        Entropy::seeded(5).stream(Purpose::Noise, Key::default())
    }

    #[test]
    fn the_sum_is_one_of_integers() {
        // With γ = 2⁻²⁰ all is exact, and integers can be read off.
        let grid = Grid::new(1.0).unwrap();
        let clean = |i: usize| (i as f32 - 2000.0) / 512.0;
        let mut values: Vec<f32> = (0..4000).map(clean).collect();
        let mut noise = vec![0; values.len()];
        grid.add_noise(&mut values, &mut stream());
        fill(&mut noise, &mut stream());
        for (i, (value, k)) in values.iter().zip(&noise).enumerate() {
            let integer = (f64::from(clean(i)) * SCALE) as i64 + i64::from(*k);
            assert_eq!(*value, (integer as f64 / SCALE) as f32);
        }
    }

    #[test]
    fn partial_sums_on_the_grid_add_up_exactly_and_in_any_order() {
        let grid = Grid::new(0.7).unwrap();
        let part =
            |salt: i32| -> Vec<f32> { (0..1000).map(|i| (i * salt % 977) as f32 * 0.0137 - 5.0).collect() };
        let parts = [part(1), part(31), part(77)];
        let mut noise = vec![0; 1000];
        fill(&mut noise, &mut stream());
        let sum = |order: [usize; 3]| {
            let (mut totals, mut values) = (vec![0.0; 1000], vec![0.0; 1000]);
            order.iter().for_each(|at| grid.add_steps(&mut totals, &parts[*at]));
            grid.add_drawn_to_steps(&totals, &noise, &mut values);
            values
        };
        assert_eq!(sum([0, 1, 2]), sum([2, 0, 1]));
        for (i, value) in sum([1, 2, 0]).iter().enumerate() {
            let steps: i64 = parts.iter().map(|part| grid.steps(part[i]) as i64).sum();
            assert_eq!(*value, (grid.granularity() * (steps + i64::from(noise[i])) as f64) as f32);
        }
        // One part alone is what `add_drawn` gives.
        let (mut totals, mut values, mut one) = (vec![0.0; 1000], vec![0.0; 1000], parts[0].clone());
        grid.add_steps(&mut totals, &parts[0]);
        grid.add_drawn_to_steps(&totals, &noise, &mut values);
        grid.add_drawn(&mut one, &noise);
        assert_eq!(one, values);
    }

    #[test]
    fn values_in_one_cell_give_one_output() {
        let grid = Grid::new(3.7).unwrap();
        let step = grid.granularity();
        for q in [-3_000_000i64, -17, 0, 1, 123_456] {
            for k in [-2_000_000, 0, 5] {
                let middle = noisy((q as f64 * step) as f32, k, grid);
                assert_eq!(middle, (step * (q + i64::from(k)) as f64) as f32);
                if q.abs() < 1 << 20 {
                    let inside = noisy(((q as f64 + 0.4) * step) as f32, k, grid);
                    assert_eq!(inside.to_bits(), middle.to_bits());
                }
            }
        }
        // The twin: the float sum, which tells 0 from a hundredth of a step.
        let naive = |value: f64| value as f32 + (5.0 * step) as f32;
        assert_ne!(naive(0.0).to_bits(), naive(0.01 * step).to_bits());
    }

    #[test]
    fn hostile_values_fail_closed() {
        let grid = Grid::new(2.0).unwrap();
        let step = grid.granularity();
        let far = (step * (FARTHEST + 3.0)) as f32;
        assert_eq!(noisy(f32::NAN, 3, grid), noisy(0.0, 3, grid));
        for huge in [f32::INFINITY, f32::MAX] {
            assert_eq!(noisy(huge, 3, grid), far);
            assert_eq!(noisy(-huge, -3, grid), -far);
        }
        assert_eq!(noisy(-0.0, 0, grid).to_bits(), 0);
        assert_eq!(noisy((-5.0 * step) as f32, 5, grid).to_bits(), 0);
        assert_eq!(noisy(f32::from_bits(1), 1, grid), step as f32);
    }

    /// The twin of every pass over a vector: number by number, each with its ends.
    fn slowly(grid: Grid, parts: &[&[f32]], noise: &[i32]) -> Vec<u32> {
        let place = |at: usize| parts.iter().map(|part| grid.steps(part[at])).sum::<f64>();
        let value = |at: usize| (grid.granularity() * (place(at) + f64::from(noise[at]))) as f32;
        (0..noise.len()).map(|at| value(at).to_bits()).collect()
    }

    /// All passes over two vectors, held against their twin.
    fn hold_against_the_twin(grid: Grid, first: &[f32], second: &[f32], noise: &[i32]) {
        let bits = |values: &[f32]| -> Vec<u32> { values.iter().map(|value| value.to_bits()).collect() };
        let mut values = first.to_vec();
        grid.add_drawn(&mut values, noise);
        assert_eq!(bits(&values), slowly(grid, &[first], noise));

        let both = slowly(grid, &[first, second], noise);
        values.copy_from_slice(first);
        grid.add_drawn_to_sum(&mut values, second, noise);
        assert_eq!(bits(&values), both);

        let mut totals = vec![0.0; noise.len()];
        grid.add_steps(&mut totals, second);
        values.copy_from_slice(first);
        grid.add_drawn_to_sum(&mut values, &totals, noise);
        assert_eq!(bits(&values), both);

        grid.add_steps(&mut totals, first);
        grid.add_drawn_to_steps(&totals, noise, &mut values);
        assert_eq!(bits(&values), both);
    }

    fn ordinary(length: usize, salt: usize, grid: Grid) -> Vec<f32> {
        let deviation = grid.standard_deviation();
        (0..length)
            .map(|i| (deviation * (((i * 7919 + salt) % 2003) as f64 * 0.0137 - 13.0)) as f32)
            .collect()
    }

    #[test]
    fn a_hostile_value_at_any_place_has_the_bits_of_the_twin() {
        for deviation in [1.0, 0.37, 1e-30, 1e30] {
            let grid = Grid::new(deviation).unwrap();
            let farthest = grid.granularity() * FARTHEST;
            let hostile = [f32::NAN, -f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, f32::MIN, -0.0]
                .into_iter()
                .chain([0.25, 0.499, 0.5, 0.501, 0.999, 1.0, 1.001, -1.5, 3.0].map(|x| (x * farthest) as f32))
                .chain([f32::from_bits(1), f32::from_bits(0x7f80_0001), f32::from_bits(0xffff_ffff)]);
            let length = 2 * STRETCH + 37;
            let (first, second) = (ordinary(length, 1, grid), ordinary(length, 5, grid));
            let mut noise = vec![0; length];
            fill(&mut noise, &mut stream());
            for (salt, odd) in hostile.enumerate() {
                // Every place of a vector register, and both ends of every stretch.
                let places = (0..40).chain([STRETCH - 1, STRETCH, 2 * STRETCH - 1, 2 * STRETCH, length - 1]);
                for place in places {
                    let mut spoilt = first.clone();
                    spoilt[place] = odd;
                    hold_against_the_twin(grid, &spoilt, &second, &noise);
                    if (place + salt) % 5 == 0 {
                        hold_against_the_twin(grid, &second, &spoilt, &noise);
                        hold_against_the_twin(grid, &spoilt, &spoilt, &noise);
                    }
                }
            }
        }
    }

    #[test]
    fn vectors_of_any_length_have_the_bits_of_the_twin() {
        let grid = Grid::new(0.7).unwrap();
        for length in (0..70).chain([STRETCH - 1, STRETCH, STRETCH + 1, 2000, 5000]) {
            let mut noise = vec![0; length];
            fill(&mut noise, &mut stream());
            hold_against_the_twin(grid, &ordinary(length, 3, grid), &ordinary(length, 7, grid), &noise);
        }
    }

    #[test]
    fn what_is_near_has_one_place_by_either_way() {
        for deviation in [2.4e-302, 1e-30, 0.37, 1.0, 1e25, 1e300] {
            let grid = Grid::new(deviation).unwrap();
            let (mut near, mut far) = (0, 0);
            // A stride through all floats, negative ones among them.
            for bits in (0..=u32::MAX).step_by(9973) {
                let value = f32::from_bits(bits);
                match grid.are_near(&[value]) {
                    true => {
                        near += 1;
                        let place = grid.place::<true>(value);
                        assert_eq!(place.to_bits(), grid.steps(value).to_bits());
                        assert!(place.abs() <= FARTHEST);
                    }
                    false => far += 1,
                }
            }
            assert!(near > 0 && far > 0, "{near} {far}");
        }
    }

    #[test]
    fn rounding_parts_two_vectors_by_no_more_than_promised() {
        let grid = Grid::new(0.3).unwrap();
        let step = grid.granularity();
        let mut largest = 0f64;
        for i in 0..2_000_000u32 {
            // Neighbouring floats around half steps, near and far.
            let base = ((f64::from(i % 4099) + 0.5) * step * f64::from(1 + i % 257)) as f32;
            let other = f32::from_bits(base.to_bits() + i % 3);
            largest = largest.max(step * (grid.steps(other) - grid.steps(base)) - f64::from(other - base));
        }
        assert!(largest <= grid.extra_l2(1) && largest > 0.9 * grid.extra_l2(1), "{largest}");
        assert_eq!(grid.extra_l2(0), 0.0);
        assert!(grid.extra_l2(4) >= 2.0 * step && grid.extra_l2(4) < 2.002 * step);
    }

    #[test]
    fn a_deviation_must_be_positive_and_finite() {
        for wrong in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-303] {
            let error = Grid::new(wrong).unwrap_err().to_string();
            assert!(error.starts_with("standard deviation is") && error.contains("2.4e-302"), "{error}");
        }
        for right in [2.4e-302, 1.0, f64::MAX] {
            assert_eq!(Grid::new(right).unwrap().standard_deviation(), right);
        }
    }
}
