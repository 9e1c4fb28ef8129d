//! Matrix products: the one place that calls the product crate, whose interface is made of pointers.

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

    fn fits(&self) -> bool {
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
#[allow(unsafe_code)]
pub(crate) fn multiply(target: &mut [f32], into: Into, left: Matrix<'_>, right: Matrix<'_>) {
    let (rows, inner, columns) = (left.rows, left.columns, right.columns);
    assert!(inner == right.rows && left.fits() && right.fits() && target.len() == rows * columns);
    if target.is_empty() {
        return;
    }
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

#[cfg(test)]
mod tests {
    use super::*;

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
