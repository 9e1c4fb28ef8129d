//! Small matrix products, in register tiles that read both sides in place.
//!
//! A general product copies both sides into an order of its own first, which for the products of one example takes as long as a
//! good part of the product. Each entry is one chain of multiply-adds, begun at zero, and then written or added: the bits of the
//! product crate, whatever the tiles.

use crate::{
    product::{DEEP, Into, Matrix},
    vectors::dispatch,
};
use pulp::{Simd, WithSimd, bytemuck::Pod};
use std::array::from_fn;

/// Columns of a tile: two vectors of AVX2.
const WIDE: usize = 16;
/// Rows of a tile, at most. Four are enough to keep multiply-adds coming.
const TALL: usize = 6;
/// The most multiply-adds of a small product.
const SMALL: usize = 1 << 19;

/// Where the entries of a matrix are: that of row i and column j at `rows[i] + columns[j]`.
#[derive(Debug)]
pub(crate) struct Grid {
    rows: Vec<usize>,
    columns: Vec<usize>,
    /// One more than the last of these places.
    extent: usize,
    /// How many columns are side by side, wherever one counts in that number: eight, four, or one.
    run: usize,
}

impl Grid {
    pub(crate) fn new(rows: Vec<usize>, columns: Vec<usize>) -> Grid {
        let last = |places: &[usize]| places.iter().copied().max().unwrap_or(0);
        let are_runs = |length: usize| {
            let mut runs = columns.chunks(length);
            runs.all(|run| {
                run.len() == length && run.iter().zip(&run[1..]).all(|(one, next)| one + 1 == *next)
            })
        };
        let run = [8, 4].into_iter().find(|length| are_runs(*length)).unwrap_or(1);
        Grid { extent: last(&rows) + last(&columns) + 1, rows, columns, run }
    }

    /// The matrix whose entries are so placed among these numbers.
    pub(crate) fn of<'a>(&'a self, values: &'a [f32]) -> Scattered<'a> {
        assert!(self.extent <= values.len(), "all entries are there");
        Scattered { values, grid: self }
    }
}

/// A matrix that is read from where its entries are: what a window sees of an image.
#[derive(Clone, Copy)]
pub(crate) struct Scattered<'a> {
    /// As many as the grid's extent, or more.
    values: &'a [f32],
    grid: &'a Grid,
}

/// Does what [`crate::product::multiply`] does, if it can be done here: whether it was.
pub(crate) fn multiply_small(target: &mut [f32], into: Into, left: Matrix<'_>, right: Matrix<'_>) -> bool {
    right.column_step == 1
        && (left.column_step == 1 || left.row_step == 1)
        && is_small(left.rows, left.columns, right.columns)
        && dispatch(Tiles {
            target,
            end: End::of(into),
            sides: Sides { left: Left::Matrix(left), right: Right::Rows(right) },
        })
}

/// `target` = `left` × `right` + a row of `biases`, if it can be done here: whether it was.
pub(crate) fn weigh_scattered(
    target: &mut [f32],
    left: Scattered<'_>,
    right: Matrix<'_>,
    biases: &[f32],
) -> bool {
    right.column_step == 1
        && has_tiles(left.grid.rows.len(), left.grid.columns.len(), right.columns)
        && dispatch(Tiles {
            target,
            end: End::AddRow(biases),
            sides: Sides { left: Left::Scattered(left), right: Right::Rows(right) },
        })
}

/// `target` = `left` × `right`, if it can be done here: whether it was.
pub(crate) fn multiply_by_scattered(target: &mut [f32], left: Matrix<'_>, right: Scattered<'_>) -> bool {
    let is_in_order = left.column_step == 1 || left.row_step == 1;
    if !is_in_order || !has_tiles(left.rows, left.columns, right.grid.columns.len()) {
        return false;
    }
    let right = match right.grid.run {
        8 => Right::Eights(right),
        4 => Right::Fours(right),
        _ => return false,
    };
    dispatch(Tiles { target, end: End::Replace, sides: Sides { left: Left::Matrix(left), right } })
}

/// Whether rows × inner times inner × columns is a product for tiles.
fn is_small(rows: usize, inner: usize, columns: usize) -> bool {
    has_tiles(rows, inner, columns) && rows * inner * columns <= SMALL
}

/// Whether such a product can be made in tiles. Fewer numbers are summed in other ways by the product crate.
pub(crate) fn has_tiles(rows: usize, inner: usize, columns: usize) -> bool {
    columns.is_multiple_of(WIDE) && rows >= WIDE && (WIDE..=DEEP).contains(&inner)
}

/// What becomes of a tile.
#[derive(Clone, Copy)]
enum End<'a> {
    Replace,
    Add,
    /// It replaces what was there, with a number for each column added.
    AddRow(&'a [f32]),
}

impl End<'_> {
    fn of(into: Into) -> Self {
        match into {
            Into::Replace => End::Replace,
            Into::Add => End::Add,
        }
    }
}

/// The left side, by how its rows are read.
#[derive(Clone, Copy)]
enum Left<'a> {
    /// A matrix whose rows lie side by side, or else its columns.
    Matrix(Matrix<'a>),
    Scattered(Scattered<'a>),
}

impl Left<'_> {
    /// How many rows and columns.
    fn shape(&self) -> (usize, usize) {
        match self {
            Left::Matrix(matrix) => (matrix.rows, matrix.columns),
            Left::Scattered(matrix) => (matrix.grid.rows.len(), matrix.grid.columns.len()),
        }
    }

    fn fits(&self) -> bool {
        match self {
            Left::Matrix(matrix) => matrix.fits(),
            Left::Scattered(_) => true,
        }
    }
}

/// The right side, by how sixteen columns of it are read.
#[derive(Clone, Copy)]
enum Right<'a> {
    /// Its rows are without gaps.
    Rows(Matrix<'a>),
    /// Runs of eight columns are.
    Eights(Scattered<'a>),
    /// Runs of four are.
    Fours(Scattered<'a>),
}

impl Right<'_> {
    /// How many rows and columns.
    fn shape(&self) -> (usize, usize) {
        match self {
            Right::Rows(matrix) => (matrix.rows, matrix.columns),
            Right::Eights(matrix) | Right::Fours(matrix) => {
                (matrix.grid.rows.len(), matrix.grid.columns.len())
            }
        }
    }

    fn fits(&self) -> bool {
        match self {
            Right::Rows(matrix) => matrix.fits(),
            Right::Eights(_) | Right::Fours(_) => true,
        }
    }
}

struct Tiles<'a> {
    target: &'a mut [f32],
    end: End<'a>,
    sides: Sides<'a>,
}

/// What is multiplied.
#[derive(Clone, Copy)]
struct Sides<'a> {
    left: Left<'a>,
    right: Right<'a>,
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
    /// Tiles of about the same height: one of a row or two would wait for its own sums.
    #[inline(always)]
    #[allow(unsafe_code)]
    fn all<S: Simd>(self, simd: S) {
        let Tiles { target, end, sides } = self;
        let ((rows, inner), (lines, columns)) = (sides.left.shape(), sides.right.shape());
        assert!(inner == lines && sides.left.fits() && sides.right.fits() && target.len() == rows * columns);
        assert!(columns.is_multiple_of(WIDE), "tiles are whole");
        let tiles = rows.div_ceil(TALL);
        let (tall, taller) = (rows / tiles, rows % tiles);
        for at in (0..columns).step_by(WIDE) {
            let mut first = 0;
            for tile in 0..tiles {
                let tall = tall + usize::from(tile < taller);
                let target = &mut target[first * columns + at..];
                // SAFETY: the assertions above; rows from `first` on and columns from `at` on are whole tiles.
                match tall {
                    6 => {
                        write::<S, 6>(simd, target, end, columns, at, unsafe { sides.tile(simd, first, at) })
                    }
                    5 => {
                        write::<S, 5>(simd, target, end, columns, at, unsafe { sides.tile(simd, first, at) })
                    }
                    4 => {
                        write::<S, 4>(simd, target, end, columns, at, unsafe { sides.tile(simd, first, at) })
                    }
                    _ => unreachable!("sixteen rows or more are tiles of four to six"),
                }
                first += tall;
            }
        }
    }
}

impl Sides<'_> {
    /// R rows from `first` on and sixteen columns from `at` on.
    ///
    /// # Safety  Both sides fit, have as many columns and rows, and such rows and columns
    #[inline(always)]
    #[allow(unsafe_code)]
    unsafe fn tile<S: Simd, const R: usize>(self, simd: S, first: usize, at: usize) -> [[S::f32s; 2]; R] {
        // SAFETY: `sums` asks for numbers of columns that there are, and rows are within the matrix.
        unsafe {
            match self.left {
                Left::Matrix(left) if left.column_step == 1 => {
                    let rows: [&[f32]; R] = from_fn(|row| &left.values[(first + row) * left.row_step..]);
                    self.right.sums(simd, at, |k| from_fn(|row| *rows[row].get_unchecked(k)))
                }
                Left::Matrix(left) => {
                    let values = &left.values[first..];
                    self.right
                        .sums(simd, at, |k| from_fn(|row| *values.get_unchecked(k * left.column_step + row)))
                }
                Left::Scattered(Scattered { values, grid }) => {
                    let rows: [&[f32]; R] = from_fn(|row| &values[grid.rows[first + row]..]);
                    self.right.sums(simd, at, |k| {
                        let column = *grid.columns.get_unchecked(k);
                        from_fn(|row| *rows[row].get_unchecked(column))
                    })
                }
            }
        }
    }
}

impl Right<'_> {
    /// The sums of all lines of sixteen numbers from `at` on, each times one number for each row.
    ///
    /// # Safety  The matrix fits, and has such columns
    #[inline(always)]
    #[allow(unsafe_code)]
    unsafe fn sums<S: Simd, const R: usize>(
        self,
        simd: S,
        at: usize,
        numbers: impl Fn(usize) -> [f32; R],
    ) -> [[S::f32s; 2]; R] {
        let mut held = [[simd.splat_f32s(0.0); 2]; R];
        // SAFETY: a matrix that fits has all entries of its rows, and runs of columns are side by side.
        unsafe {
            match self {
                Right::Rows(right) => {
                    for k in 0..right.rows {
                        let line = load::<[S::f32s; 2]>(right.values, at + k * right.row_step);
                        add_line(simd, &mut held, numbers(k), line);
                    }
                }
                Right::Eights(Scattered { values, grid }) => {
                    let runs: [usize; 2] = from_fn(|run| grid.columns[at + 8 * run]);
                    for (k, start) in grid.rows.iter().enumerate() {
                        let line = runs.map(|run| load::<S::f32s>(values, start + run));
                        add_line(simd, &mut held, numbers(k), line);
                    }
                }
                Right::Fours(Scattered { values, grid }) => {
                    let runs: [usize; 4] = from_fn(|run| grid.columns[at + 4 * run]);
                    for (k, start) in grid.rows.iter().enumerate() {
                        let line = runs.map(|run| load::<[f32; 4]>(values, start + run));
                        add_line(simd, &mut held, numbers(k), load(line.as_flattened(), 0));
                    }
                }
            }
        }
        held
    }
}

/// Numbers from a place on, as many as a vector or two have.
///
/// # Safety  They are there
#[inline(always)]
#[allow(unsafe_code)]
unsafe fn load<V: Pod>(values: &[f32], at: usize) -> V {
    debug_assert!(4 * at + size_of::<V>() <= size_of_val(values));
    // SAFETY: as above; and any bits are a value.
    unsafe { values.as_ptr().add(at).cast::<V>().read_unaligned() }
}

/// Writes a tile to where `target` begins.
#[inline(always)]
fn write<S: Simd, const R: usize>(
    simd: S,
    target: &mut [f32],
    end: End<'_>,
    columns: usize,
    at: usize,
    held: [[S::f32s; 2]; R],
) {
    let target = &mut target[..(R - 1) * columns + WIDE];
    let rows = held.iter().enumerate().map(|(row, held)| (row * columns, held));
    match end {
        End::Replace => {
            for (at, held) in rows {
                S::as_mut_simd_f32s(&mut target[at..][..WIDE]).0.copy_from_slice(held);
            }
        }
        End::Add => {
            for (at, held) in rows {
                let target = S::as_mut_simd_f32s(&mut target[at..][..WIDE]).0;
                target.iter_mut().zip(held).for_each(|(to, x)| *to = simd.add_f32s(*to, *x));
            }
        }
        End::AddRow(biases) => {
            let biases = S::as_simd_f32s(&biases[at..][..WIDE]).0;
            for (at, held) in rows {
                let target = S::as_mut_simd_f32s(&mut target[at..][..WIDE]).0;
                let both = target.iter_mut().zip(held).zip(biases);
                both.for_each(|((to, x), bias)| *to = simd.add_f32s(*bias, *x));
            }
        }
    }
}

/// Adds a line of sixteen numbers times one number for each row.
#[inline(always)]
fn add_line<S: Simd, const R: usize>(
    simd: S,
    held: &mut [[S::f32s; 2]; R],
    by: [f32; R],
    line: [S::f32s; 2],
) {
    for row in 0..R {
        let x = simd.splat_f32s(by[row]);
        held[row][0] = simd.mul_add_e_f32s(x, line[0], held[row][0]);
        held[row][1] = simd.mul_add_e_f32s(x, line[1], held[row][1]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::product::multiply_by_crate;
    use crate::vectors::test_numbers::{have_same_bits, numbers};

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
                                assert!(have_same_bits(&one, &other), "{rows} × {inner} × {columns}");
                            }
                        }
                    }
                }
            }
        }
    }
}
