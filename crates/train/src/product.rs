//! Matrix products by `gemm`, whose interface is made of pointers, behind checked slices.
//!
//! [`multiply`] is for matrices of one example, and for sums over examples, where any order of additions will do.
//! [`multiply_rows`] is for matrices that have a row for each example: there a row must not know its company.

use crate::small_product::multiply_small;

/// A matrix in a slice: rows × columns, with the distance from one row, and from one column, to the next.
#[derive(Clone, Copy)]
pub(crate) struct Matrix<'a> {
    pub values: &'a [f32],
    pub rows: usize,
    pub columns: usize,
    pub row_step: usize,
    pub column_step: usize,
}

impl<'a> Matrix<'a> {
    /// Row after row, without gaps.
    pub fn new(values: &'a [f32], rows: usize, columns: usize) -> Matrix<'a> {
        Matrix { values, rows, columns, row_step: columns, column_step: 1 }
    }

    /// The same numbers with rows and columns exchanged.
    pub fn transposed(self) -> Matrix<'a> {
        Matrix {
            rows: self.columns,
            columns: self.rows,
            row_step: self.column_step,
            column_step: self.row_step,
            ..self
        }
    }

    /// So many columns from one on.
    fn some_columns(self, first: usize, columns: usize) -> Matrix<'a> {
        Matrix { values: &self.values[first * self.column_step..], columns, ..self }
    }

    /// So many rows from one on.
    fn some_rows(self, first: usize, rows: usize) -> Matrix<'a> {
        Matrix { values: &self.values[first * self.row_step..], rows, ..self }
    }

    /// Whether all entries are within the slice.
    pub fn fits(&self) -> bool {
        let last = |count: usize, step: usize| count.saturating_sub(1).checked_mul(step);
        let end = last(self.rows, self.row_step)
            .zip(last(self.columns, self.column_step))
            .and_then(|(down, along)| down.checked_add(along));
        self.rows == 0 || self.columns == 0 || end.is_some_and(|end| end < self.values.len())
    }
}

/// What becomes of what was there.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Into {
    /// It is replaced.
    Replace,
    /// It is added to.
    Add,
}

/// `target` = or += `left` × `right`, with `target` row after row and without gaps. One thread: who calls decides on those,
/// so that the bits do not depend on their number.
pub(crate) fn multiply(target: &mut [f32], into: Into, left: Matrix<'_>, right: Matrix<'_>) {
    let (rows, inner, columns) = (left.rows, left.columns, right.columns);
    assert!(inner == right.rows && left.fits() && right.fits() && target.len() == rows * columns);
    if !target.is_empty() && !multiply_small(target, into, left, right) {
        multiply_by_crate(target, into, left, right);
    }
}

/// As [`multiply`], for a target that is not empty, by the product crate.
#[allow(unsafe_code)]
pub(crate) fn multiply_by_crate(target: &mut [f32], into: Into, left: Matrix<'_>, right: Matrix<'_>) {
    let (rows, inner, columns) = (left.rows, left.columns, right.columns);
    assert!(inner == right.rows && left.fits() && right.fits() && target.len() == rows * columns);
    let add = into == Into::Add;
    // SAFETY: the assertion keeps every index that the shapes and steps allow within the three slices, which do not
    // overlap, since one of them is borrowed for writing.
    unsafe {
        gemm::gemm(
            rows,
            columns,
            inner,
            target.as_mut_ptr(),
            1,
            columns as isize,
            add,
            left.values.as_ptr(),
            left.column_step as isize,
            left.row_step as isize,
            right.values.as_ptr(),
            right.column_step as isize,
            right.row_step as isize,
            f32::from(u8::from(add)),
            1.0,
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
}

/// Numbers that the product crate adds up in one go, whatever the cache of the machine and the sizes of the matrices.
pub(crate) const DEEP: usize = 512;
/// Rows and columns beyond which the product crate has one way to multiply, in tiles. Its other ways are for products of up to
/// 256 numbers, and for single rows and columns.
const TALL: usize = 16;
/// Sums of so few terms have a way of their own.
const SHALLOW: usize = 2;

/// As [`multiply`], for a matrix whose rows are examples: row i of `target` has the same bits whatever the other rows hold, how
/// many there are, and where it stands.
///
/// That takes care. The product crate sums over `inner` in an order that follows from the sizes of both matrices and of the
/// machine's caches, and a record more would cross a threshold: every example would get other bits, signs of units would flip,
/// and a clipped sum would move by many times the clip norm. In tiles, each entry is one chain of multiply-adds along a piece of
/// `inner`, and then added to the target. So sums are cut into pieces that the crate does not cut further, few rows are padded,
/// and what is too narrow for tiles is done here.
///
/// # Promise  Row i of `target` is a function of row i of `left`, of `right`, and of what was in row i of `target`
/// # Assumes  gemm 0.19, which is pinned: `gemm_basic_generic` and `kernel_params` in gemm-common. Tests hold every regime
pub(crate) fn multiply_rows(target: &mut [f32], into: Into, left: Matrix<'_>, right: Matrix<'_>) {
    let (rows, inner, columns) = (left.rows, left.columns, right.columns);
    if rows == 0 {
        return;
    }
    if columns <= TALL || inner <= SHALLOW {
        return multiply_narrow(target, into, left, right);
    }
    if rows < TALL {
        let mut padded_left = vec![0.0; TALL * inner];
        for (to, row) in padded_left.chunks_exact_mut(inner).zip(0..rows) {
            copy_row(left, row, to);
        }
        let mut padded = vec![0.0; TALL * columns];
        padded[..target.len()].copy_from_slice(target);
        multiply_rows(&mut padded, into, Matrix::new(&padded_left, TALL, inner), right);
        return target.copy_from_slice(&padded[..target.len()]);
    }
    let pieces = inner.div_ceil(DEEP);
    let deep = inner.div_ceil(pieces);
    for (at, first) in (0..inner).step_by(deep).enumerate() {
        let deep = deep.min(inner - first);
        let into = if at == 0 { into } else { Into::Add };
        multiply(target, into, left.some_columns(first, deep), right.some_rows(first, deep));
    }
}

/// Entry by entry, in plain order.
fn multiply_narrow(target: &mut [f32], into: Into, left: Matrix<'_>, right: Matrix<'_>) {
    let (inner, columns) = (left.columns, right.columns);
    assert!(
        inner == right.rows && left.fits() && right.fits() && target.len() == left.rows * columns,
        "shapes fit"
    );
    if into == Into::Replace {
        target.fill(0.0);
    }
    for (row, target) in target.chunks_exact_mut(columns.max(1)).enumerate() {
        for at in 0..inner {
            let x = left.values[row * left.row_step + at * left.column_step];
            for (column, sum) in target.iter_mut().enumerate() {
                *sum += x * right.values[at * right.row_step + column * right.column_step];
            }
        }
    }
}

fn copy_row(matrix: Matrix<'_>, row: usize, to: &mut [f32]) {
    for (column, to) in to.iter_mut().enumerate() {
        *to = matrix.values[row * matrix.row_step + column * matrix.column_step];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::test_numbers::{have_same_bits, numbers};

    /// Every row of a product alone, in pairs, and in company of all sizes around the thresholds of the product crate.
    fn rows_that_know_their_company(
        product: fn(&mut [f32], Into, Matrix<'_>, Matrix<'_>),
        inner: usize,
        columns: usize,
        flipped: bool,
    ) -> usize {
        const ROWS: usize = 70;
        let (left, right) = (numbers(ROWS * inner, 1), numbers(inner * columns, 2));
        let right = match flipped {
            true => Matrix::new(&right, columns, inner).transposed(),
            false => Matrix::new(&right, inner, columns),
        };
        let of = |rows: std::ops::Range<usize>| {
            let mut target = numbers(rows.len() * columns, 3);
            // What is there depends on the row alone.
            for (target, row) in target.chunks_exact_mut(columns).zip(rows.clone()) {
                target.copy_from_slice(&numbers(columns, row));
            }
            let left = Matrix::new(&left[rows.start * inner..rows.end * inner], rows.len(), inner);
            product(&mut target, Into::Add, left, right);
            target
        };
        let all = of(0..ROWS);
        let mut strangers = 0;
        for count in [1, 2, 3, 6, 7, 8, 9, 13, 16, 17, 33, 64, 65] {
            for first in [0, 1, 5, ROWS - count] {
                let some = of(first..first + count);
                strangers += usize::from(!have_same_bits(&some, &all[first * columns..]));
            }
        }
        strangers
    }

    #[test]
    fn a_row_does_not_know_its_company() {
        let mut twin = 0;
        for inner in [1, 2, 3, 17, 32, 64, 257, 512, 513, 784, 1025, 2000] {
            for columns in [1, 2, 5, 15, 16, 17, 31, 64, 100, 256] {
                for flipped in [false, true] {
                    let found = rows_that_know_their_company(multiply_rows, inner, columns, flipped);
                    assert_eq!(found, 0, "{inner} → {columns}, flipped {flipped}");
                    if inner * columns < 1 << 15 {
                        twin += rows_that_know_their_company(multiply, inner, columns, flipped);
                    }
                }
            }
        }
        assert!(twin > 100, "the twin: a plain product's rows do know their company");
    }

    #[test]
    fn products_of_all_orientations_are_those_of_the_definition() {
        let (rows, inner, columns) = (5, 7, 3);
        let left: Vec<f32> = (0..rows * inner).map(|i| (i * 31 % 17) as f32 - 8.0).collect();
        let right: Vec<f32> = (0..inner * columns).map(|i| (i * 13 % 11) as f32 - 5.0).collect();
        let mut slow = vec![0.0; rows * columns];
        for i in 0..rows {
            for j in 0..columns {
                slow[i * columns + j] =
                    (0..inner).map(|k| left[i * inner + k] * right[k * columns + j]).sum();
            }
        }
        let mut fast = vec![1.0; rows * columns];
        multiply(
            &mut fast,
            Into::Replace,
            Matrix::new(&left, rows, inner),
            Matrix::new(&right, inner, columns),
        );
        assert_eq!(fast, slow);
        let flipped: Vec<f32> = (0..inner * rows).map(|i| left[i % rows * inner + i / rows]).collect();
        let turned = Matrix::new(&flipped, inner, rows).transposed();
        multiply(&mut fast, Into::Add, turned, Matrix::new(&right, inner, columns));
        assert!(fast.iter().zip(&slow).all(|(a, b)| *a == 2.0 * b));
        // Nothing to sum over is zero.
        multiply(&mut fast, Into::Replace, Matrix::new(&[], rows, 0), Matrix::new(&[], 0, columns));
        assert!(fast.iter().all(|x| *x == 0.0));
    }

    #[test]
    #[should_panic(expected = "assertion")]
    fn a_matrix_that_is_too_short_is_refused() {
        multiply(&mut [0.0; 4], Into::Replace, Matrix::new(&[1.0; 3], 2, 2), Matrix::new(&[1.0; 4], 2, 2));
    }
}
