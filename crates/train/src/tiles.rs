//! Small products, in tiles that stay in registers and read both sides where they are.
//!
//! A general product copies both sides into an order of its own first, which for the products of one example takes as long as a
//! good part of the product. Each entry is one chain of multiply-adds, begun at zero, and then written or added: the bits of the
//! product crate, whatever the tiles.

use crate::{
    product::{DEEP, Into, Matrix},
    vectors::dispatch,
};
use pulp::{Simd, WithSimd};

/// Columns of a tile: two vectors of AVX2.
const WIDE: usize = 16;
/// Rows of a tile.
const TALL: usize = 6;
/// The most multiply-adds of a small product.
const SMALL: usize = 1 << 19;

/// Does what [`crate::product::multiply`] does, if it can be done here: whether it was.
pub(crate) fn multiply_small(target: &mut [f32], into: Into, left: Matrix<'_>, right: Matrix<'_>) -> bool {
    let is_in_rows = right.column_step == 1 && (left.column_step == 1 || left.row_step == 1);
    is_in_rows
        && is_small(left.rows, left.columns, right.columns)
        && dispatch(Tiles { target, into, left, right })
}

/// Whether rows × inner times inner × columns is a product for tiles. Fewer numbers are summed in other ways by the product crate.
pub(crate) fn is_small(rows: usize, inner: usize, columns: usize) -> bool {
    columns.is_multiple_of(WIDE)
        && rows >= WIDE
        && (WIDE..=DEEP).contains(&inner)
        && rows * inner * columns <= SMALL
}

struct Tiles<'a> {
    target: &'a mut [f32],
    into: Into,
    left: Matrix<'a>,
    right: Matrix<'a>,
}

impl WithSimd for Tiles<'_> {
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> bool {
        // Other vectors have other registers; there the product crate is as good.
        let are_two = S::F32_LANES * 2 == WIDE;
        if are_two {
            self.all(simd);
        }
        are_two
    }
}

impl Tiles<'_> {
    #[inline(always)]
    fn all<S: Simd>(self, simd: S) {
        let Tiles { target, into, left, right } = self;
        for at in (0..right.columns).step_by(WIDE) {
            let mut first = 0;
            while first < left.rows {
                let target = &mut target[first * right.columns + at..];
                first += match left.rows - first {
                    TALL.. => tile::<S, TALL>(simd, target, into, left, right, first, at),
                    4 | 5 => tile::<S, 4>(simd, target, into, left, right, first, at),
                    2 | 3 => tile::<S, 2>(simd, target, into, left, right, first, at),
                    _ => tile::<S, 1>(simd, target, into, left, right, first, at),
                };
            }
        }
    }
}

/// R rows from `first` on and sixteen columns from `at` on, which `target` begins with; returns R.
#[inline(always)]
fn tile<S: Simd, const R: usize>(
    simd: S,
    target: &mut [f32],
    into: Into,
    left: Matrix<'_>,
    right: Matrix<'_>,
    first: usize,
    at: usize,
) -> usize {
    let mut held = [[simd.splat_f32s(0.0); 2]; R];
    let lines = right.values[at..].chunks(right.row_step).map(|row| &row[..WIDE]);
    if left.column_step == 1 {
        let rows: [&[f32]; R] =
            std::array::from_fn(|row| &left.values[(first + row) * left.row_step..][..left.columns]);
        for (k, line) in lines.enumerate().take(left.columns) {
            add_line(simd, &mut held, std::array::from_fn(|row| rows[row][k]), line);
        }
    } else {
        for (k, line) in lines.enumerate().take(left.columns) {
            let column = &left.values[first + k * left.column_step..][..R];
            add_line(simd, &mut held, std::array::from_fn(|row| column[row]), line);
        }
    }
    for (row, held) in held.iter().enumerate() {
        let target = &mut target[row * right.columns..][..WIDE];
        for (target, held) in S::as_mut_simd_f32s(target).0.iter_mut().zip(held) {
            *target = match into {
                Into::Replace => *held,
                Into::Add => simd.add_f32s(*target, *held),
            };
        }
    }
    R
}

/// Adds a line of sixteen numbers times one number for each row.
#[inline(always)]
fn add_line<S: Simd, const R: usize>(simd: S, held: &mut [[S::f32s; 2]; R], by: [f32; R], line: &[f32]) {
    let line = S::as_simd_f32s(line).0;
    let (one, other) = (line[0], line[1]);
    for row in 0..R {
        let x = simd.splat_f32s(by[row]);
        held[row][0] = simd.mul_add_e_f32s(x, one, held[row][0]);
        held[row][1] = simd.mul_add_e_f32s(x, other, held[row][1]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::product::multiply_by_crate;

    fn numbers(count: usize, salt: usize) -> Vec<f32> {
        (0..count).map(|i| ((i * 7919 + salt * 104_729) % 2003) as f32 / 1001.0 - 1.0).collect()
    }

    #[test]
    fn small_products_have_the_bits_of_the_product_crate() {
        for rows in [16, 17, 19, 25, 32, 63, 196] {
            for inner in [16, 17, 25, 64, 100, 196, 256, 511, 512] {
                for columns in [16, 32, 48, 64, 256] {
                    let (left, right) = (numbers(rows * inner, 1), numbers(inner * columns, 2));
                    let right = Matrix::new(&right, inner, columns);
                    for left in
                        [Matrix::new(&left, rows, inner), Matrix::new(&left, inner, rows).transposed()]
                    {
                        for into in [Into::Replace, Into::Add] {
                            let (mut one, mut other) =
                                (numbers(rows * columns, 3), numbers(rows * columns, 3));
                            if multiply_small(&mut one, into, left, right) {
                                multiply_by_crate(&mut other, into, left, right);
                                let same = one.iter().zip(&other).all(|(a, b)| a.to_bits() == b.to_bits());
                                assert!(same, "{rows} × {inner} × {columns}");
                            }
                        }
                    }
                }
            }
        }
    }
}
