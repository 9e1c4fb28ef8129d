//! The largest distance between the steps of a sample and its law.

/// A bound on the chance of a distance as large or larger: 2 exp(−2 n distance²), for any law and any n, with the smallest
/// possible constant.
///
/// # Promise    Never below the true chance
/// # Reference  \[Massart90\]
pub fn p_value(distance: f64, n: usize) -> f64 {
    (2.0 * (-2.0 * n as f64 * distance * distance).exp()).min(1.0)
}

/// The largest |share of the sample ≤ x − `upto(x)`| over all integers x.
///
/// # Assumes  `upto` does not fall
pub fn distance(sample: &mut [i128], upto: impl Fn(i128) -> f64) -> f64 {
    sample.sort_unstable();
    let n = sample.len() as f64;
    let mut largest: f64 = 0.0;
    let mut below = 0;
    for same in sample.chunk_by(|a, b| a == b) {
        // Between two values of the sample its share stands still and the law rises: the ends are the worst.
        largest = largest.max((upto(same[0] - 1) - below as f64 / n).abs());
        below += same.len();
        largest = largest.max((upto(same[0]) - below as f64 / n).abs());
    }
    largest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distance_is_found_before_at_and_after_the_jumps() {
        // Uniform on 0..10, all draws at 4: 0.4 too few below, 0.5 too many at.
        let uniform = |x: i128| ((x + 1) as f64 / 10.0).clamp(0.0, 1.0);
        assert!((distance(&mut [4; 20], uniform) - 0.5).abs() < 1e-15);
        assert!((distance(&mut [9; 20], uniform) - 0.9).abs() < 1e-15);
        assert_eq!(distance(&mut (0..10).rev().collect::<Vec<_>>(), uniform), 0.0);
        assert!(p_value(0.5, 20) < 1e-4 && p_value(0.0, 20) == 1.0);
    }
}
