//! Strategies that are written out: bands are found, and what has no closed form is bounded through |CᵀC|.

use super::{pattern::Pattern, sensitivity::Square, toeplitz};
use veracity_core::TriangularMatrix;
use veracity_core::numerics::{UNIT, twofold::Twofold};

/// The most additions that are spent on patterns within rows of CᵀC.
const MOST_WORK: u64 = 1 << 28;

/// How many diagonals, the main one included, have an entry that is not zero.
pub(super) fn band(matrix: &TriangularMatrix) -> usize {
    let width = |row: &Vec<f64>| row.len() - row.iter().position(|x| *x != 0.0).unwrap_or(row.len() - 1);
    matrix.rows().iter().map(width).max().unwrap_or(1)
}

/// ‖C[:, i]‖² of every column.
pub(super) fn column_squares(matrix: &TriangularMatrix) -> Vec<Twofold> {
    let mut squares = vec![Twofold::ZERO; matrix.rows().len()];
    for row in matrix.rows() {
        for (square, x) in squares.iter_mut().zip(row) {
            *square = square.plus(Twofold::square_of(*x));
        }
    }
    squares
}

/// The square of the sensitivity.
///
/// # Reference  [ChoquetteChooEtAl23b] Algorithm 3: where no two steps of a pattern share a row, squares of
/// columns add up, and the worst pattern is found exactly
pub(super) fn square(matrix: &TriangularMatrix, pattern: Pattern) -> Square {
    if let Some(coefficients) = as_toeplitz(matrix) {
        return toeplitz::square(&coefficients, matrix.steps(), pattern);
    }
    let squares = column_squares(matrix);
    if pattern.times == 1 || band(matrix) as u64 <= pattern.separation {
        return Square::Exact(pattern.largest_sum(&squares));
    }
    Square::AtMost(correlated(matrix, &squares, pattern))
}

/// The first column, where every diagonal holds one number.
fn as_toeplitz(matrix: &TriangularMatrix) -> Option<Vec<f64>> {
    let rows = matrix.rows();
    let same = |pair: &[Vec<f64>]| pair[1][1..] == pair[0][..];
    rows.windows(2).all(same).then(|| rows.iter().map(|row| row[0]).collect())
}

/// Each row of |CᵀC| by its own worst pattern, then the worst pattern of those: a larger choice than there is. The square of
/// the largest sum of norms is a bound too, and the smaller of both is taken.
///
/// # Promise    Never below Σ |(CᵀC)_ij| over any pattern
/// # Reference  [ChoquetteChooEtAl23b] Algorithm 4, but for the step of the row itself, which the pattern must hold
fn correlated(matrix: &TriangularMatrix, squares: &[Twofold], pattern: Pattern) -> Twofold {
    let norms: Vec<f64> = squares.iter().map(|square| square.root_upper()).collect();
    let steps = norms.len() as u64;
    let fit = steps.div_ceil(pattern.separation);
    let affordable = steps * steps * pattern.times.min(fit) <= MOST_WORK;
    let others = Pattern { times: if affordable { pattern.times - 1 } else { fit }, ..pattern };
    let worst = |i: usize| {
        let row = gram_row(matrix, &norms, i);
        squares[i].plus(others.largest_sum(&met(&row, i, pattern.separation)))
    };
    let rows: Vec<Twofold> = (0..norms.len()).map(worst).collect();
    let by_rows = pattern.largest_sum(&rows);
    let plain: Vec<Twofold> = norms.iter().map(|norm| Twofold::from(*norm)).collect();
    let by_norms = pattern.largest_sum(&plain).square().times(1.0 + 4.0 * UNIT);
    if by_norms < by_rows { by_norms } else { by_rows }
}

/// The entries of row i that a pattern with step i can meet besides: those at least `separation` before or after it.
fn met(row: &[f64], i: usize, separation: u64) -> Vec<Twofold> {
    let far = |j: usize| (i.abs_diff(j) as u64) >= separation;
    row.iter().enumerate().map(|(j, x)| Twofold::from(if far(j) { *x } else { 0.0 })).collect()
}

/// A row of |CᵀC|, rounded up.
///
/// # Numerics  A dot product of T terms is off by at most (T + 1)u ‖C[:, i]‖ ‖C[:, j]‖, which is added
fn gram_row(matrix: &TriangularMatrix, norms: &[f64], i: usize) -> Vec<f64> {
    let mut sums = vec![0.0f64; norms.len()];
    for row in &matrix.rows()[i..] {
        let x = row[i];
        if x != 0.0 {
            sums.iter_mut().zip(row).for_each(|(sum, y)| *sum += x * y);
        }
    }
    let slack = (norms.len() + 4) as f64 * 2.0 * UNIT * norms[i];
    sums.iter().zip(norms).map(|(sum, norm)| sum.abs() + slack * norm).collect()
}
