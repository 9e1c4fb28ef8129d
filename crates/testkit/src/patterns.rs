//! The slow twin of strategy sensitivities: every pattern of participations, and every sign of every contribution.

/// All sets of at most `times` of `steps` steps that are at least `separation` apart, the empty one aside.
pub fn patterns(steps: usize, times: usize, separation: usize) -> Vec<Vec<usize>> {
    let mut all: Vec<Vec<usize>> = vec![Vec::new()];
    let mut done = 0;
    while done < all.len() {
        let known = all[done].clone();
        done += 1;
        if known.len() == times {
            continue;
        }
        let first = known.last().map_or(0, |last| last + separation);
        all.extend((first..steps).map(|next| [known.as_slice(), &[next]].concat()));
    }
    all.split_off(1)
}

/// The largest ‖Σ ±C[:, i]‖² over patterns and signs: contributions of one dimension. `rows` may be any matrix.
pub fn largest_signed_square(rows: &[Vec<f64>], patterns: &[Vec<usize>]) -> f64 {
    let squares = patterns.iter().flat_map(|pattern| {
        (0u32..1 << pattern.len()).map(|signs| {
            let sign = |place: usize| if signs >> place & 1 == 0 { 1.0 } else { -1.0 };
            rows.iter()
                .map(|row| {
                    pattern.iter().enumerate().map(|(place, i)| sign(place) * entry(row, *i)).sum::<f64>()
                })
                .map(|sum| sum * sum)
                .sum::<f64>()
        })
    });
    squares.fold(0.0, f64::max)
}

/// A large ‖Σ C[:, i] u_iᵀ‖² over unit vectors of as many dimensions as there are steps in the pattern: each vector in turn
/// is pointed where the others want it, which never lowers the square. `start` gives the first vectors, entry by entry.
pub fn climbed_square(rows: &[Vec<f64>], pattern: &[usize], mut start: impl FnMut() -> f64) -> f64 {
    let many = pattern.len();
    let gram: Vec<Vec<f64>> = pattern
        .iter()
        .map(|i| {
            pattern.iter().map(|j| rows.iter().map(|row| entry(row, *i) * entry(row, *j)).sum()).collect()
        })
        .collect();
    let mut vectors: Vec<Vec<f64>> =
        (0..many).map(|_| unit(&(0..many).map(|_| start()).collect::<Vec<_>>())).collect();
    for _ in 0..200 {
        for i in 0..many {
            let wanted: Vec<f64> = (0..many)
                .map(|d| (0..many).filter(|j| *j != i).map(|j| gram[i][j] * vectors[j][d]).sum())
                .collect();
            if wanted.iter().any(|x: &f64| *x != 0.0) {
                vectors[i] = unit(&wanted);
            }
        }
    }
    let dot = |i: usize, j: usize| vectors[i].iter().zip(&vectors[j]).map(|(a, b)| a * b).sum::<f64>();
    (0..many).map(|i| (0..many).map(|j| gram[i][j] * dot(i, j)).sum::<f64>()).sum()
}

/// The matrix of a tree: a row for every complete block.
pub fn tree_rows(steps: usize) -> Vec<Vec<f64>> {
    let mut rows = Vec::new();
    let mut length = 1;
    while length <= steps {
        for block in 0..steps / length {
            rows.push((0..steps).map(|i| if i / length == block { 1.0 } else { 0.0 }).collect());
        }
        length *= 2;
    }
    rows
}

/// The lower-triangular matrix of a Toeplitz band.
pub fn toeplitz_rows(coefficients: &[f64], steps: usize) -> Vec<Vec<f64>> {
    let entry = |distance: usize| coefficients.get(distance).copied().unwrap_or(0.0);
    (0..steps).map(|t| (0..=t).map(|i| entry(t - i)).collect()).collect()
}

fn entry(row: &[f64], i: usize) -> f64 {
    row.get(i).copied().unwrap_or(0.0)
}

fn unit(vector: &[f64]) -> Vec<f64> {
    let norm = vector.iter().map(|x| x * x).sum::<f64>().sqrt();
    vector.iter().map(|x| x / norm).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_all_there() {
        // Subsets of {0, 1, 2, 3} without neighbours: {0} {1} {2} {3} {02} {03} {13}.
        assert_eq!(patterns(4, 4, 2).len(), 7);
        assert_eq!(patterns(5, 5, 1).len(), 31);
        assert_eq!(patterns(5, 2, 1).len(), 15);
    }

    #[test]
    fn opposite_contributions_are_worse_where_columns_oppose() {
        let rows = vec![vec![1.0], vec![-0.5, 1.0]];
        // C(1, 1) = (1, 0.5) and C(1, −1) = (1, −1.5).
        assert_eq!(largest_signed_square(&rows, &patterns(2, 2, 1)), 3.25);
        let mut seed = 0.3;
        let start = || {
            seed = (seed * 7.7f64).fract() - 0.5;
            seed
        };
        assert!((climbed_square(&rows, &[0, 1], start) - 3.25).abs() < 1e-12);
    }
}
