//! Skinny matrix products: few columns, such as the ten outputs of a classifier. All columns stay in registers.
//!
//! A general product cuts both sides into tiles of 16 or more and copies them there first; with ten columns that is mostly
//! waste. Here weights are outputs × inputs, an example is a row, and each kernel walks along the inputs. The order of
//! additions follows from the sizes and the width of the vector unit, never from the number of threads or from the examples
//! beside.

use crate::vectors::{dispatch, vectorize};
#[cfg(target_arch = "x86_64")]
use crate::{
    dot_avx2::{self, EIGHT},
    vectors::avx2,
};
use pulp::{Simd, WithSimd};

/// The most outputs that these kernels take.
pub(crate) const MOST_OUTPUTS: usize = 16;
/// Examples in one tile of the way back.
const TALL: usize = 6;
/// Outputs in one tile of the way forward and of a clipped sum: ten are two tiles.
const LOW: usize = 5;

/// Numbers whose squares are added up in `f32`.
const PIECE: usize = 512;

/// How many numbers go in and come out.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Skinny {
    pub inputs: usize,
    /// At most [`MOST_OUTPUTS`].
    pub outputs: usize,
}

impl Skinny {
    /// `output` = biases + `input` × weightsᵀ.
    pub(crate) fn forward(self, weights: &[f32], biases: &[f32], input: &[f32], output: &mut [f32]) {
        assert!(self.outputs <= MOST_OUTPUTS && biases.len() == self.outputs);
        assert!(weights.len() == self.inputs * self.outputs);
        let rows = input.len() / self.inputs.max(1);
        let done = self.forward_by_eights(rows, weights, biases, input, output);
        let (input, output) = (&input[done * self.inputs..], &mut output[done * self.outputs..]);
        forward_by_pairs(self, weights, biases, input, output);
    }

    /// As many of the rows as eight go into, where that can be done here; returns how many.
    #[cfg(target_arch = "x86_64")]
    fn forward_by_eights(
        self,
        rows: usize,
        weights: &[f32],
        biases: &[f32],
        input: &[f32],
        output: &mut [f32],
    ) -> usize {
        let done = rows / EIGHT * EIGHT;
        match avx2() {
            Some(simd) if done > 0 && self.outputs.is_multiple_of(LOW) => {
                let (input, output) = (&input[..done * self.inputs], &mut output[..done * self.outputs]);
                let size = self;
                Simd::vectorize(simd, dot_avx2::Forward { simd, size, weights, biases, input, output });
                done
            }
            Some(_) | None => 0,
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn forward_by_eights(self, _: usize, _: &[f32], _: &[f32], _: &[f32], _: &mut [f32]) -> usize {
        0
    }

    /// `input_gradient` = `output_gradient` × weights.
    pub(crate) fn backward(self, weights: &[f32], output_gradient: &[f32], input_gradient: &mut [f32]) {
        assert!(weights.len() == self.inputs * self.outputs);
        dispatch(Backward { size: self, weights, output_gradient, input_gradient });
    }

    /// `sum` += `output_gradient`ᵀ × `input`.
    pub(crate) fn add_outer_products(self, output_gradient: &[f32], input: &[f32], sum: &mut [f32]) {
        assert!(sum.len() == self.inputs * self.outputs);
        dispatch(OuterProducts { size: self, output_gradient, input, sum });
    }
}

/// Writes the squared norm of each row of `width` numbers.
///
/// # Numerics  Relative error at most 1e-5, whatever the width: pieces of [`PIECE`] in at least four partial sums, 137
/// roundings of 2⁻²⁴ at the most, and the pieces in `f64`
pub(crate) fn square_norms(rows: &[f32], width: usize, norms: &mut [f32]) {
    dispatch(SquareNorms { rows, width, norms });
}

/// As [`Skinny::forward`], two rows at a time.
pub(crate) fn forward_by_pairs(
    size: Skinny,
    weights: &[f32],
    biases: &[f32],
    input: &[f32],
    output: &mut [f32],
) {
    dispatch(Forward { size, weights, biases, input, output });
}

struct Forward<'a> {
    size: Skinny,
    weights: &'a [f32],
    biases: &'a [f32],
    input: &'a [f32],
    output: &'a mut [f32],
}

impl WithSimd for Forward<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Skinny { inputs, outputs } = self.size;
        let Forward { size, weights, biases, input, output } = self;
        let mut pairs = input.chunks_exact(2 * inputs);
        let mut results = output.chunks_exact_mut(2 * outputs);
        for (rows, results) in (&mut pairs).zip(&mut results) {
            let rows = [&rows[..inputs], &rows[inputs..]];
            dot_all(simd, size, rows, weights, biases, results);
        }
        if let [_, ..] = pairs.remainder() {
            dot_all(simd, size, [pairs.remainder()], weights, biases, results.into_remainder());
        }
    }
}

/// R rows of `results` = `biases` + R rows × `weights`ᵀ.
#[inline(always)]
fn dot_all<S: Simd, const R: usize>(
    simd: S,
    size: Skinny,
    rows: [&[f32]; R],
    weights: &[f32],
    biases: &[f32],
    results: &mut [f32],
) {
    let Skinny { inputs, outputs } = size;
    let fives = outputs / LOW * LOW;
    for first in (0..fives).step_by(LOW) {
        let columns = std::array::from_fn(|at| &weights[(first + at) * inputs..][..inputs]);
        let dots = dot_five(simd, rows, columns);
        for (row, dots) in dots.iter().enumerate() {
            let biases = &biases[first..][..LOW];
            for ((result, bias), dot) in
                results[row * outputs + first..][..LOW].iter_mut().zip(biases).zip(dots)
            {
                *result = bias + dot;
            }
        }
    }
    match outputs - fives {
        0 => {}
        1 => dot_last::<S, R, 1>(simd, size, rows, weights, biases, results),
        2 => dot_last::<S, R, 2>(simd, size, rows, weights, biases, results),
        3 => dot_last::<S, R, 3>(simd, size, rows, weights, biases, results),
        _ => dot_last::<S, R, 4>(simd, size, rows, weights, biases, results),
    }
}

/// The last C outputs of [`dot_all`], which are no whole tile.
#[inline(always)]
fn dot_last<S: Simd, const R: usize, const C: usize>(
    simd: S,
    size: Skinny,
    rows: [&[f32]; R],
    weights: &[f32],
    biases: &[f32],
    results: &mut [f32],
) {
    let Skinny { inputs, outputs } = size;
    let first = outputs - C;
    let columns: [&[f32]; C] = std::array::from_fn(|at| &weights[(first + at) * inputs..][..inputs]);
    let heads: [&[S::f32s]; R] = std::array::from_fn(|row| S::as_simd_f32s(rows[row]).0);
    let tops: [&[S::f32s]; C] = std::array::from_fn(|at| S::as_simd_f32s(columns[at]).0);
    let mut held = [[[simd.splat_f32s(0.0); 2]; C]; R];
    let count = heads[0].len();
    for at in (0..count / 2 * 2).step_by(2) {
        for row in 0..R {
            for column in 0..C {
                for half in 0..2 {
                    let sum = &mut held[row][column][half];
                    *sum = simd.mul_add_e_f32s(heads[row][at + half], tops[column][at + half], *sum);
                }
            }
        }
    }
    for row in 0..R {
        for column in 0..C {
            let [mut sum, other] = held[row][column];
            if !count.is_multiple_of(2) {
                sum = simd.mul_add_e_f32s(heads[row][count - 1], tops[column][count - 1], sum);
            }
            let whole = count * S::F32_LANES;
            let rest = dot_rest(&rows[row][whole..], &columns[column][whole..]);
            let dot = simd.reduce_sum_f32s(simd.add_f32s(sum, other)) + rest;
            results[row * outputs + first + column] = biases[first + column] + dot;
        }
    }
}

/// The scalar products of R rows with five others.
#[inline(always)]
fn dot_five<S: Simd, const R: usize>(simd: S, rows: [&[f32]; R], columns: [&[f32]; LOW]) -> [[f32; LOW]; R] {
    let heads: [&[S::f32s]; R] = std::array::from_fn(|row| S::as_simd_f32s(rows[row]).0);
    let [a, b, c, d, e]: [&[S::f32s]; LOW] = std::array::from_fn(|at| S::as_simd_f32s(columns[at]).0);
    let mut held = [[simd.splat_f32s(0.0); LOW]; R];
    // Zipped, so that one test ends the loop and none guards the loads of weights.
    for (at, ((((a, b), c), d), e)) in a.iter().zip(b).zip(c).zip(d).zip(e).enumerate() {
        for row in 0..R {
            let x = heads[row][at];
            held[row][0] = simd.mul_add_e_f32s(x, *a, held[row][0]);
            held[row][1] = simd.mul_add_e_f32s(x, *b, held[row][1]);
            held[row][2] = simd.mul_add_e_f32s(x, *c, held[row][2]);
            held[row][3] = simd.mul_add_e_f32s(x, *d, held[row][3]);
            held[row][4] = simd.mul_add_e_f32s(x, *e, held[row][4]);
        }
    }
    // Not `map`: the compiler does not inline it, and outside of this function there are no vectors.
    let mut dots = [[0.0; LOW]; R];
    for row in 0..R {
        for column in 0..LOW {
            dots[row][column] = simd.reduce_sum_f32s(held[row][column]);
        }
    }
    let whole = heads[0].len() * S::F32_LANES;
    if whole < rows[0].len() {
        for (dots, row) in dots.iter_mut().zip(rows) {
            for (dot, column) in dots.iter_mut().zip(columns) {
                *dot += dot_rest(&row[whole..], &column[whole..]);
            }
        }
    }
    dots
}

/// The scalar product of two rows.
#[inline(always)]
fn dot_one<S: Simd>(simd: S, row: &[f32], column: &[f32]) -> f32 {
    let ((head, rest), (top, bottom)) = (S::as_simd_f32s(row), S::as_simd_f32s(column));
    let mut held = [simd.splat_f32s(0.0); 4];
    let ((heads, head), (tops, top)) = (head.as_chunks::<4>(), top.as_chunks::<4>());
    for (head, top) in heads.iter().zip(tops) {
        for ((sum, x), weight) in held.iter_mut().zip(head).zip(top) {
            *sum = simd.mul_add_e_f32s(*x, *weight, *sum);
        }
    }
    for ((sum, x), weight) in held.iter_mut().zip(head).zip(top) {
        *sum = simd.mul_add_e_f32s(*x, *weight, *sum);
    }
    let [a, b, c, d] = held;
    simd.reduce_sum_f32s(simd.add_f32s(simd.add_f32s(a, b), simd.add_f32s(c, d))) + dot_rest(rest, bottom)
}

/// What does not fill a vector.
#[inline(always)]
pub(crate) fn dot_rest(row: &[f32], column: &[f32]) -> f32 {
    row.iter().zip(column).fold(0.0, |sum, (x, weight)| x.mul_add(*weight, sum))
}

struct Backward<'a> {
    size: Skinny,
    weights: &'a [f32],
    output_gradient: &'a [f32],
    input_gradient: &'a mut [f32],
}

impl WithSimd for Backward<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Skinny { inputs, outputs } = self.size;
        let mut gradients = self.output_gradient.chunks_exact(TALL * outputs);
        let mut results = self.input_gradient.chunks_exact_mut(TALL * inputs);
        for (gradient, result) in (&mut gradients).zip(&mut results) {
            spread::<S, TALL>(simd, self.size, self.weights, gradient, result);
        }
        let left = results.into_remainder().chunks_exact_mut(inputs);
        for (gradient, result) in gradients.remainder().chunks_exact(outputs).zip(left) {
            spread::<S, 1>(simd, self.size, self.weights, gradient, result);
        }
    }
}

/// R rows of `result` = R rows of `gradient` × `weights`.
#[inline(always)]
fn spread<S: Simd, const R: usize>(
    simd: S,
    size: Skinny,
    weights: &[f32],
    gradient: &[f32],
    result: &mut [f32],
) {
    let Skinny { inputs, outputs } = size;
    let mut at = 0;
    while at + 2 * S::F32_LANES <= inputs {
        spread_columns::<S, R, 2>(simd, size, weights, gradient, result, at);
        at += 2 * S::F32_LANES;
    }
    while at + S::F32_LANES <= inputs {
        spread_columns::<S, R, 1>(simd, size, weights, gradient, result, at);
        at += S::F32_LANES;
    }
    for at in at..inputs {
        for row in 0..R {
            let terms = gradient[row * outputs..][..outputs].iter().zip(weights.chunks_exact(inputs));
            result[row * inputs + at] = terms.fold(0.0, |sum, (g, weights)| g.mul_add(weights[at], sum));
        }
    }
}

#[inline(always)]
fn spread_columns<S: Simd, const R: usize, const V: usize>(
    simd: S,
    size: Skinny,
    weights: &[f32],
    gradient: &[f32],
    result: &mut [f32],
    at: usize,
) {
    let Skinny { inputs, outputs } = size;
    let gradients: [&[f32]; R] = std::array::from_fn(|row| &gradient[row * outputs..][..outputs]);
    let mut held = [[simd.splat_f32s(0.0); V]; R];
    for (j, weights) in weights.chunks_exact(inputs).enumerate().take(outputs) {
        let weights = S::as_simd_f32s(&weights[at..][..V * S::F32_LANES]).0;
        for (held, gradient) in held.iter_mut().zip(&gradients) {
            let g = simd.splat_f32s(gradient[j]);
            for (sum, weight) in held.iter_mut().zip(weights) {
                *sum = simd.mul_add_e_f32s(g, *weight, *sum);
            }
        }
    }
    for (row, held) in held.iter().enumerate() {
        let result = &mut result[row * inputs + at..][..V * S::F32_LANES];
        S::as_mut_simd_f32s(result).0.copy_from_slice(held);
    }
}

struct OuterProducts<'a> {
    size: Skinny,
    output_gradient: &'a [f32],
    input: &'a [f32],
    sum: &'a mut [f32],
}

impl WithSimd for OuterProducts<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Skinny { inputs, outputs } = self.size;
        let OuterProducts { size, output_gradient, input, sum } = self;
        let mut first = 0;
        while first < outputs {
            let rows = &mut sum[first * inputs..];
            first += match outputs - first {
                1 => gather::<S, 1>(simd, size, first, output_gradient, input, rows),
                2 => gather::<S, 2>(simd, size, first, output_gradient, input, rows),
                3 => gather::<S, 3>(simd, size, first, output_gradient, input, rows),
                4 => gather::<S, 4>(simd, size, first, output_gradient, input, rows),
                _ => gather::<S, LOW>(simd, size, first, output_gradient, input, rows),
            };
        }
    }
}

/// Adds the outer products of R outputs from `first` on to their rows; returns R.
#[inline(always)]
fn gather<S: Simd, const R: usize>(
    simd: S,
    size: Skinny,
    first: usize,
    gradient: &[f32],
    input: &[f32],
    sum: &mut [f32],
) -> usize {
    let Skinny { inputs, outputs } = size;
    let mut at = 0;
    while at + 2 * S::F32_LANES <= inputs {
        gather_columns::<S, R, 2>(simd, size, first, gradient, input, sum, at);
        at += 2 * S::F32_LANES;
    }
    while at + S::F32_LANES <= inputs {
        gather_columns::<S, R, 1>(simd, size, first, gradient, input, sum, at);
        at += S::F32_LANES;
    }
    for at in at..inputs {
        for row in 0..R {
            let terms = gradient.chunks_exact(outputs).zip(input.chunks_exact(inputs));
            let total = terms.fold(0.0, |sum: f32, (g, a)| g[first + row].mul_add(a[at], sum));
            sum[row * inputs + at] += total;
        }
    }
    R
}

#[inline(always)]
fn gather_columns<S: Simd, const R: usize, const V: usize>(
    simd: S,
    size: Skinny,
    first: usize,
    gradient: &[f32],
    input: &[f32],
    sum: &mut [f32],
    at: usize,
) {
    let Skinny { inputs, outputs } = size;
    let wide = V * S::F32_LANES;
    // From zero, and then added to the sum: a term passes those beside it, and not all that came before.
    let mut held = [[simd.splat_f32s(0.0); V]; R];
    for (gradient, input) in gradient.chunks_exact(outputs).zip(input.chunks_exact(inputs)) {
        let (gradient, input) = (&gradient[first..][..R], S::as_simd_f32s(&input[at..][..wide]).0);
        let input: [S::f32s; V] = std::array::from_fn(|v| input[v]);
        for (held, g) in held.iter_mut().zip(gradient) {
            let g = simd.splat_f32s(*g);
            for (sum, a) in held.iter_mut().zip(input) {
                *sum = simd.mul_add_e_f32s(g, a, *sum);
            }
        }
    }
    for (row, held) in held.iter().enumerate() {
        let sum = S::as_mut_simd_f32s(&mut sum[row * inputs + at..][..wide]).0;
        for (sum, held) in sum.iter_mut().zip(held) {
            *sum = simd.add_f32s(*sum, *held);
        }
    }
}

/// Multiplies each row of as many numbers as there are `totals` with its factor, and adds it to them.
pub(crate) fn scale_rows(rows: &mut [f32], factors: &[f32], totals: &mut [f32]) {
    vectorize(
        #[inline(always)]
        || match totals.as_chunks_mut::<10>() {
            // Ten outputs are the commonest: their totals stay in registers.
            ([totals], []) => {
                let mut held = *totals;
                for (row, factor) in rows.as_chunks_mut::<10>().0.iter_mut().zip(factors) {
                    scale_one(row, *factor, &mut held);
                }
                *totals = held;
            }
            _ => {
                for (row, factor) in rows.chunks_exact_mut(totals.len()).zip(factors) {
                    scale_one(row, *factor, totals);
                }
            }
        },
    );
}

#[inline(always)]
fn scale_one(row: &mut [f32], factor: f32, totals: &mut [f32]) {
    for (x, total) in row.iter_mut().zip(totals) {
        *x *= factor;
        *total += *x;
    }
}

struct SquareNorms<'a> {
    rows: &'a [f32],
    width: usize,
    norms: &'a mut [f32],
}

impl WithSimd for SquareNorms<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let rows = self.rows.chunks_exact(self.width).zip(self.norms);
        if self.width <= PIECE {
            return rows.for_each(|(row, norm)| *norm = dot_one(simd, row, row));
        }
        for (row, norm) in rows {
            let pieces = row.chunks(PIECE).map(|piece| f64::from(dot_one(simd, piece, piece)));
            *norm = pieces.sum::<f64>() as f32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::test_numbers::numbers;

    /// Σ over `terms` in double precision.
    fn slow(terms: impl Iterator<Item = (f32, f32)>) -> f64 {
        terms.map(|(a, b)| f64::from(a) * f64::from(b)).sum()
    }

    #[test]
    fn kernels_are_the_products_of_the_definition() {
        for outputs in 1..=MOST_OUTPUTS {
            for (inputs, count) in [(1, 1), (7, 5), (30, 6), (64, 64), (65, 13), (200, 193), (8, 0)] {
                let size = Skinny { inputs, outputs };
                let (weights, biases) = (numbers(inputs * outputs, 1), numbers(outputs, 2));
                let (input, gradient) = (numbers(count * inputs, 3), numbers(count * outputs, 4));
                let near = |fast: f32, slow: f64| {
                    assert!((f64::from(fast) - slow).abs() < 1e-5 * (1.0 + slow.abs()), "{fast} {slow}");
                };

                let mut output = vec![9.0; count * outputs];
                size.forward(&weights, &biases, &input, &mut output);
                let mut back = vec![9.0; count * inputs];
                size.backward(&weights, &gradient, &mut back);
                let start = numbers(inputs * outputs, 5);
                let mut sum = start.clone();
                size.add_outer_products(&gradient, &input, &mut sum);
                for i in 0..count {
                    for j in 0..outputs {
                        let terms = (0..inputs).map(|k| (input[i * inputs + k], weights[j * inputs + k]));
                        near(output[i * outputs + j], slow(terms) + f64::from(biases[j]));
                    }
                    for k in 0..inputs {
                        let terms =
                            (0..outputs).map(|j| (gradient[i * outputs + j], weights[j * inputs + k]));
                        near(back[i * inputs + k], slow(terms));
                    }
                }
                for j in 0..outputs {
                    for k in 0..inputs {
                        let terms = (0..count).map(|i| (gradient[i * outputs + j], input[i * inputs + k]));
                        near(sum[j * inputs + k], slow(terms) + f64::from(start[j * inputs + k]));
                    }
                }
            }
        }
    }

    #[test]
    fn a_row_does_not_know_its_neighbours() {
        let size = Skinny { inputs: 21, outputs: 10 };
        let (weights, biases, input) = (numbers(210, 1), numbers(10, 2), numbers(21 * 20, 3));
        let mut together = vec![0.0; 200];
        size.forward(&weights, &biases, &input, &mut together);
        for (row, expected) in input.chunks(21).zip(together.chunks(10)) {
            let mut alone = [0.0; 10];
            size.forward(&weights, &biases, row, &mut alone);
            assert_eq!(alone, *expected);
        }
    }

    #[test]
    fn rows_are_scaled_and_added_up_one_after_another() {
        let hostile = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, -0.0, f32::from_bits(1)];
        for width in 1..=20 {
            for count in (0..20).chain([64, 193]) {
                let (rows, factors, start) =
                    (numbers(count * width, 1), numbers(count, 2), numbers(width, 3));
                for (at, odd) in hostile.into_iter().enumerate() {
                    let (mut rows, mut totals) = (rows.clone(), start.clone());
                    if let Some(place) = (count * width).checked_sub(1 + at) {
                        rows[place] = odd;
                    }
                    let (mut slow_rows, mut slow_totals) = (rows.clone(), start.clone());
                    for (i, x) in slow_rows.iter_mut().enumerate() {
                        *x *= factors[i / width];
                        slow_totals[i % width] += *x;
                    }
                    scale_rows(&mut rows, &factors, &mut totals);
                    let same = |a: &[f32], b: &[f32]| {
                        a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan())
                    };
                    assert!(
                        same(&rows, &slow_rows) && same(&totals, &slow_totals),
                        "{width}, {count}, {odd}"
                    );
                }
            }
        }
    }

    #[test]
    fn square_norms_are_those_of_the_definition() {
        for width in [1, 15, 16, 17, 100, 784, 100_000] {
            let rows = numbers(5 * width, width);
            let mut norms = [0.0; 5];
            square_norms(&rows, width, &mut norms);
            for (row, norm) in rows.chunks(width).zip(norms) {
                let truth = slow(row.iter().map(|x| (*x, *x)));
                assert!((f64::from(norm) - truth).abs() <= 1e-6 * truth);
            }
        }
    }
}
