//! The directions in which a few long vectors differ most, by the small matrix of their inner products.

/// A direction and how far vectors vary along it.
#[derive(Debug, Clone)]
pub(super) struct Direction {
    /// A unit vector.
    pub(super) unit: Vec<f32>,
    /// The variance along it.
    pub(super) variance: f64,
}

/// Rounds over all pairs; each at least squares what is left.
const ROUNDS: usize = 30;

/// The directions along which the second moment of vectors, over so many degrees of freedom, is at least `least`; orthogonal,
/// the longest first.
pub(super) fn directions(vectors: &[Vec<f32>], degrees: f64, least: f64) -> Vec<Direction> {
    let product =
        |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum::<f64>();
    let gram: Vec<Vec<f64>> =
        vectors.iter().map(|a| vectors.iter().map(|b| product(a, b) / degrees).collect()).collect();
    let (values, vectors_of) = eigen(gram);
    let mut order: Vec<usize> =
        (0..values.len()).filter(|at| values[*at] >= least && values[*at] > 0.0).collect();
    order.sort_by(|a, b| values[*b].total_cmp(&values[*a]));
    let direction = |at: &usize| {
        // A combination of the vectors, of length √(value · degrees).
        let scale = (values[*at] * degrees).sqrt().recip();
        let mut unit = vec![0.0f64; vectors.first().map_or(0, Vec::len)];
        for (vector, row) in vectors.iter().zip(&vectors_of) {
            let weight = row[*at] * scale;
            unit.iter_mut().zip(vector).for_each(|(unit, x)| *unit += weight * f64::from(*x));
        }
        Direction { unit: unit.into_iter().map(|x| x as f32).collect(), variance: values[*at] }
    };
    order.iter().map(direction).collect()
}

/// The eigenvalues of a symmetric matrix, and its eigenvectors as columns: Jacobi's rotations.
fn eigen(mut matrix: Vec<Vec<f64>>) -> (Vec<f64>, Vec<Vec<f64>>) {
    let n = matrix.len();
    let mut turned: Vec<Vec<f64>> =
        (0..n).map(|at| (0..n).map(|column| f64::from(u8::from(at == column))).collect()).collect();
    let trace: f64 = (0..n).map(|at| matrix[at][at]).sum();
    for _ in 0..ROUNDS {
        let mut rest = 0.0f64;
        for p in 0..n {
            for q in p + 1..n {
                let off = matrix[p][q];
                rest = rest.max(off.abs());
                if off.abs() <= trace * 1e-15 {
                    continue;
                }
                let ratio = (matrix[q][q] - matrix[p][p]) / (2.0 * off);
                let tangent = ratio.signum() / (ratio.abs() + ratio.hypot(1.0));
                let cosine = tangent.hypot(1.0).recip();
                let sine = tangent * cosine;
                for row in matrix.iter_mut().chain(&mut turned) {
                    (row[p], row[q]) = (cosine * row[p] - sine * row[q], sine * row[p] + cosine * row[q]);
                }
                let (above, below) = matrix.split_at_mut(q);
                for (x, y) in above[p].iter_mut().zip(&mut below[0]) {
                    (*x, *y) = (cosine * *x - sine * *y, sine * *x + cosine * *y);
                }
            }
        }
        if rest <= trace * 1e-13 {
            break;
        }
    }
    ((0..n).map(|at| matrix[at][at]).collect(), turned)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sums of 3, 2 and 0.1 times three orthogonal directions of 6, by signs that are balanced.
    #[test]
    fn directions_and_variances_are_those_that_vectors_were_made_of() {
        let axes =
            [[1.0, 1.0, 0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.6, 0.8, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0, 0.0, 1.0]];
        let sizes = [3.0 / 2f64.sqrt(), 2.0, 0.1];
        let vectors: Vec<Vec<f32>> = (0..8)
            .map(|at| {
                let sign = |bit: usize| if at >> bit & 1 == 1 { 1.0 } else { -1.0 };
                (0..6).map(|x| (0..3).map(|a| sign(a) * sizes[a] * axes[a][x]).sum::<f64>() as f32).collect()
            })
            .collect();
        let found = directions(&vectors, 8.0, 0.5);
        assert_eq!(found.len(), 2, "the third is too short");
        for (direction, (axis, (variance, length))) in
            found.iter().zip(axes.iter().zip([(9.0, 2f64.sqrt()), (4.0, 1.0)]))
        {
            assert!((direction.variance - variance).abs() < 1e-5, "{}", direction.variance);
            let along: f64 = direction.unit.iter().zip(axis).map(|(x, y)| f64::from(*x) * y).sum();
            assert!((along.abs() - length).abs() < 1e-5, "{along}");
        }
        assert!(directions(&[], 1.0, 0.0).is_empty());
        assert!(directions(&[vec![0.0; 3], vec![0.0; 3]], 1.0, 0.0).is_empty());
    }
}
