//! The nearest point of the probability simplex.

/// The distribution nearest to `point` in Euclidean distance: all parts ≥ 0, summing to 1.
///
/// Estimates made so are never absurd, but no longer unbiased: rare values are pushed to zero and the rest shifted.
///
/// # Promise    The parts sum to 1 up to rounding; a point that is a distribution is returned as it is, up to rounding
/// # Reference  \[WangCarreiraPerpinan13\]
/// # Assumes    `point` is not empty and has no NaN
/// # Numerics   Exact but for rounding: one sort, one scan
///
/// # Examples
///
/// ```
/// use veracity_mechanisms::local::simplex::project;
///
/// let near = project(&[0.7, 0.5, -0.1]);
/// assert!((near[0] - 0.6).abs() < 1e-15 && (near[1] - 0.4).abs() < 1e-15 && near[2] == 0.0);
/// ```
pub fn project(point: &[f64]) -> Vec<f64> {
    let mut falling = point.to_vec();
    falling.sort_unstable_by(|a, b| b.total_cmp(a));
    let (mut sum, mut shift) = (0.0, 0.0);
    for (taken, part) in falling.iter().enumerate() {
        sum += part;
        // Subtracting this from the largest parts makes them sum to 1; it holds as long as they stay positive.
        let candidate = (sum - 1.0) / (taken as f64 + 1.0);
        if part - candidate > 0.0 {
            shift = candidate;
        } else {
            break;
        }
    }
    point.iter().map(|part| (part - shift).max(0.0)).collect()
}
