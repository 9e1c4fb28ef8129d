//! Records that an auditor plants: made of numbers alone, or of how the other records lie.
//!
//! Each says which record it is; who plants it says how often, and what stands in its place in the other world.

use veracity_core::Refusal;

/// A record to be planted.
///
/// # Examples
///
/// ```
/// use veracity_audit::Canary;
///
/// let canary = Canary::checkerboard(2, 3, 7);
/// assert_eq!(canary.features, [0.0, 1.0, 0.0, 1.0, 0.0, 1.0]);
/// assert_eq!(Canary::mislabelled(&[0.5], 9, 10).class, 0);
///
/// // Records that vary along the first axis alone: the canary lies along the second.
/// let records = [1.0, 3.0, -1.0, 3.0, 2.0, 3.0];
/// let least = Canary::least_direction(&records, 2, 5.0, 1)?;
/// assert!(least.features[0].abs() < 1e-3 && (least.features[1].abs() - 5.0).abs() < 1e-3);
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Canary {
    /// Its features.
    pub features: Vec<f32>,
    /// Its class.
    pub class: u32,
}

impl Canary {
    /// All features zero: only what does not depend on features can learn it.
    pub fn blank(width: usize, class: u32) -> Canary {
        Canary { features: vec![0.0; width], class }
    }

    /// A real record with the next class instead of its own.
    pub fn mislabelled(features: &[f32], class: u32, classes: u32) -> Canary {
        Canary { features: features.to_vec(), class: (class + 1) % classes.max(1) }
    }

    /// An image of ones and zeros in turn, as no real one looks.
    ///
    /// # Reference  \[TramerEtAl22\], the winner among 25 candidates there
    pub fn checkerboard(height: usize, width: usize, class: u32) -> Canary {
        let features = (0..height * width).map(|at| ((at / width + at % width) % 2) as f32).collect();
        Canary { features, class }
    }

    /// A real record with a bright patch in its first rows and columns, and the class that the patch is to stand for.
    ///
    /// # Reference  \[JagielskiUllmanOprea20\], the backdoor baseline
    pub fn patched(features: &[f32], width: usize, side: usize, class: u32) -> Canary {
        let is_patch = |at: usize| at / width < side && at % width < side;
        let features =
            features.iter().enumerate().map(|(at, x)| if is_patch(at) { 1.0 } else { *x }).collect();
        Canary { features, class }
    }

    /// A record of length `length` along the direction in which the records vary least, so that their gradients hardly
    /// touch what it teaches.
    ///
    /// # Reference  \[JagielskiUllmanOprea20\] (ClipBKD); the class is the one that a model finds least likely there
    ///
    /// # Errors
    /// Fewer than two records, or a direction along which no canary can lie.
    pub fn least_direction(
        records: &[f32],
        width: usize,
        length: f32,
        class: u32,
    ) -> Result<Canary, Refusal> {
        let direction = least_direction(records, width)?;
        Ok(Canary { features: direction.iter().map(|x| length * *x as f32).collect(), class })
    }
}

/// How often the inverse is applied: far more than needed wherever the smallest variances differ at all; where they do not,
/// every vector of their space is as good.
const ITERATIONS: usize = 60;

/// A unit vector along which centred records vary least: inverse iteration on their covariance.
///
/// # Errors
/// Fewer than two records, or a direction along which no canary can lie.
fn least_direction(records: &[f32], width: usize) -> Result<Vec<f64>, Refusal> {
    if width == 0 || records.len() < 2 * width || !records.len().is_multiple_of(width) {
        return Err(Refusal::Invalid("there are fewer than two records to find a direction from".into()));
    }
    let mut covariance = covariance(records, width);
    let trace: f64 = (0..width).map(|at| covariance[at * width + at]).sum();
    // A constant feature makes the matrix singular; so little more on the diagonal leaves the order of directions alone.
    let lift = trace.max(f64::MIN_POSITIVE) * 1e-9;
    (0..width).for_each(|at| covariance[at * width + at] += lift);
    factorise(&mut covariance, width);
    // No start is orthogonal to what is sought but by a freak of chance.
    let mut vector: Vec<f64> = (0..width).map(|at| 1.0 + (at as f64 * 0.618_033_988_75).fract()).collect();
    for _ in 0..ITERATIONS {
        solve(&covariance, width, &mut vector);
        let length = vector.iter().map(|x| x * x).sum::<f64>().sqrt();
        vector.iter_mut().for_each(|x| *x /= length);
    }
    Ok(vector)
}

fn covariance(records: &[f32], width: usize) -> Vec<f64> {
    let count = (records.len() / width) as f64;
    let mut mean = vec![0.0f64; width];
    for row in records.chunks_exact(width) {
        mean.iter_mut().zip(row).for_each(|(mean, x)| *mean += f64::from(*x) / count);
    }
    let mut sums = vec![0.0f64; width * width];
    let mut centred = vec![0.0f64; width];
    for row in records.chunks_exact(width) {
        centred.iter_mut().zip(row).zip(&mean).for_each(|((c, x), mean)| *c = f64::from(*x) - mean);
        for (at, x) in centred.iter().enumerate().filter(|(_, x)| **x != 0.0) {
            let row = &mut sums[at * width..][..=at];
            row.iter_mut().zip(&centred).for_each(|(sum, y)| *sum += x * y);
        }
    }
    sums
}

/// The Cholesky factor in place of the lower triangle.
fn factorise(matrix: &mut [f64], n: usize) {
    for row in 0..n {
        for column in 0..=row {
            let (above, below) = matrix.split_at_mut(row * n);
            let known: &[f64] = if column < row { &above[column * n..][..n] } else { &[] };
            let mut sum = below[column];
            if column < row {
                sum -= below[..column].iter().zip(&known[..column]).map(|(a, b)| a * b).sum::<f64>();
                below[column] = sum / known[column];
            } else {
                sum -= below[..column].iter().map(|a| a * a).sum::<f64>();
                below[column] = sum.max(f64::MIN_POSITIVE).sqrt();
            }
        }
    }
}

/// Solves for a vector, in place, by a Cholesky factor.
fn solve(factor: &[f64], n: usize, vector: &mut [f64]) {
    for row in 0..n {
        let sum: f64 = factor[row * n..][..row].iter().zip(&*vector).map(|(a, x)| a * x).sum();
        vector[row] = (vector[row] - sum) / factor[row * n + row];
    }
    for row in (0..n).rev() {
        vector[row] /= factor[row * n + row];
        let value = vector[row];
        for (at, x) in vector[..row].iter_mut().enumerate() {
            *x -= factor[row * n + at] * value;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Records that vary by 3, 2, 1 and 0.1 along four directions that are not the axes.
    #[test]
    fn the_least_direction_is_found_whatever_the_axes() {
        let axes =
            [[0.5, 0.5, 0.5, 0.5], [0.5, 0.5, -0.5, -0.5], [0.5, -0.5, 0.5, -0.5], [0.5, -0.5, -0.5, 0.5]];
        let sizes = [3.0, 2.0, 1.0, 0.1];
        let mut records = Vec::new();
        for at in 0..64 {
            let sign = |bit: usize| if at >> bit & 1 == 1 { 1.0 } else { -1.0 };
            records.extend((0..4).map(|feature| {
                let along = axes.iter().zip(sizes).enumerate();
                let x: f64 = along.map(|(at, (axis, size))| sign(at) * size * axis[feature]).sum();
                x as f32 + 7.0
            }));
        }
        let found = Canary::least_direction(&records, 4, 10.0, 1).unwrap();
        let along: f64 = found.features.iter().zip(axes[3]).map(|(x, y)| f64::from(*x) * y).sum();
        assert!((along.abs() - 10.0).abs() < 1e-4, "{:?}", found.features);
        assert!(Canary::least_direction(&records[..4], 4, 1.0, 0).is_err());
    }

    #[test]
    fn a_constant_feature_is_the_least_direction() {
        let records: Vec<f32> =
            (0..60).map(|at| if at % 3 == 1 { 0.25 } else { (at * at % 17) as f32 }).collect();
        let found = Canary::least_direction(&records, 3, 1.0, 0).unwrap().features;
        assert!(found[1].abs() > 0.9999 && found[0].abs() < 1e-3 && found[2].abs() < 1e-3, "{found:?}");
    }

    #[test]
    fn canaries_are_what_they_are_called() {
        assert_eq!(Canary::checkerboard(2, 3, 1).features, [0.0, 1.0, 0.0, 1.0, 0.0, 1.0]);
        assert_eq!(Canary::mislabelled(&[0.5], 9, 10), Canary { features: vec![0.5], class: 0 });
        assert_eq!(Canary::patched(&[0.0; 6], 3, 1, 1).features, [1.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
        assert_eq!(Canary::blank(2, 0).features, [0.0, 0.0]);
    }
}
