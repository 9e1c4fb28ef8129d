//! Numbers whose float sum depends on who stands in front: an attack on sums that deal a batch out in equal stretches.
//!
//! Stretches go to partial sums in turn. A slowly rising ramp takes every partial sum to just above a power of two; what comes
//! after are numbers of 0.49 units in the last place, downwards, which each sum swallows. With one record more in front, every
//! stretch begins one earlier, where the ramp was lower: every sum is just below the power of two, has units of half the size, and
//! takes the same numbers as a whole unit each. One record has moved the sum by thousands of half units.

/// The most numbers of a stretch, and the most partial sums.
const STRETCH: usize = 192;
const SUMS: usize = 8;

/// `count` numbers of size at most `most`, of which the first is the one to take away.
pub fn shifted_ramp(count: usize, most: f32) -> Vec<f32> {
    let rounds = count.div_ceil(SUMS * STRETCH).max(1);
    let stretch = count.div_ceil(SUMS * rounds).max(1);
    // Whole rounds, so that every sum has as much of the ramp.
    let ramp = (rounds / 2).max(1) * SUMS * stretch;
    let ramp = ramp.min(count.saturating_sub(1) / (SUMS * stretch) * SUMS * stretch);
    let each = (ramp / SUMS) as f32;
    let power = (0.9 * each * most).max(1.0).log2().floor() as i32;
    let target = 2f32.powi(power);
    let base = if each > 0.0 { target / (0.9 * each) } else { 0.0 };
    let mut numbers: Vec<f32> = (0..ramp).map(|at| base * (0.8 + 0.2 * at as f32 / ramp as f32)).collect();
    let unit = f32::EPSILON * target;
    for sum in 0..SUMS {
        lift(&mut numbers, stretch, sum, target + 2.0 * unit);
    }
    let mut all = vec![-most];
    all.extend(numbers);
    all.resize(count, -0.49 * unit);
    all.iter_mut().for_each(|x| *x = x.clamp(-most, most));
    all
}

/// Changes a few numbers of one partial sum so that it comes out as `target`, or nearly so and not below.
fn lift(numbers: &mut [f32], stretch: usize, sum: usize, target: f32) {
    let places: Vec<usize> = (0..numbers.len()).filter(|at| at / stretch % SUMS == sum).collect();
    // Not the ends of stretches, which change sides.
    let inner: Vec<usize> =
        places.iter().copied().filter(|at| (2..stretch - 2).contains(&(at % stretch))).collect();
    let Some(last) = inner.last().copied() else { return };
    for _ in 0..64 {
        let now = places.iter().fold(0.0f32, |sum, at| sum + numbers[*at]);
        let off = target - now;
        if (0.0..=0.0).contains(&off) {
            return;
        }
        if off.abs() > 0.05 {
            let share = off / inner.len() as f32;
            inner.iter().for_each(|at| numbers[*at] += share);
        } else {
            numbers[last] += off;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The attack on the sum that it was made for.
    #[test]
    fn one_number_in_front_moves_a_float_sum_by_many_times_its_size() {
        for (count, least) in [(4096, 0.945), (65_536, 4.0), (262_144, 50.0)] {
            let numbers = shifted_ramp(count, 0.93);
            assert!(numbers.len() == count && numbers.iter().all(|x| x.abs() <= 0.93));
            let rounds = count.div_ceil(SUMS * STRETCH);
            let stretch = count.div_ceil(SUMS * rounds);
            let total = |numbers: &[f32]| -> f64 {
                let mut sums = [0.0f32; SUMS];
                for (at, stretch) in numbers.chunks(stretch).enumerate() {
                    stretch.iter().for_each(|x| sums[at % SUMS] += x);
                }
                sums.iter().map(|sum| f64::from(*sum)).sum()
            };
            let moved = (total(&numbers) - total(&numbers[1..])).abs();
            assert!(moved > least, "{count}: {moved}");
        }
    }
}
