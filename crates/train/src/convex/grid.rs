//! Real vectors as integers on a public grid: what integer noise is added to, and what is released.

/// Numbers end at this many steps of the grid. Cutting them off brings no two farther apart.
const FARTHEST: f64 = (1u64 << 50) as f64;

/// How much farther apart two numbers can be once rounded, in steps: half a step for each, 2^-3 for each division, and a
/// little for the roundings of formulas that this enters.
pub(super) const SLACK: f64 = 1.26;

/// The nearest integer multiples.
///
/// # Numerics  The quotient is within 2^-53 × 2^50 steps of the true one
pub(super) fn to_steps(values: &[f64], granularity: f64) -> Vec<i128> {
    values.iter().map(|x| (x / granularity).clamp(-FARTHEST, FARTHEST).round() as i128).collect()
}

/// Integers as the numbers they stand for.
pub(super) fn from_steps(steps: &[i128], granularity: f64) -> Vec<f64> {
    steps.iter().map(|k| *k as f64 * granularity).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_brings_numbers_apart_by_no_more_than_the_slack() {
        let g = 0.1_f64;
        for i in 0..2000 {
            let x = f64::from(i) * 0.0137 - 11.0;
            for y in [x + 0.05, x + 0.33, x + 7.0] {
                let apart = to_steps(&[x], g)[0].abs_diff(to_steps(&[y], g)[0]) as f64;
                assert!(apart <= (y - x) / g + SLACK, "{x} {y}");
            }
        }
        assert_eq!(to_steps(&[f64::INFINITY, -1e300], 1.0), [1 << 50, -(1 << 50)]);
        assert_eq!(from_steps(&[-3, 4], 0.5), [-1.5, 2.0]);
    }
}
