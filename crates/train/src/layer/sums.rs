//! Sums over rows of floats, in sixteen lanes and in blocks: fast, and accurate to some 1e-6. Nothing is fused, so that the
//! bits are those of any vector unit.

use crate::vectors::vectorize;

const LANES: usize = 16;
/// Numbers added in single precision before double takes over.
const BLOCK: usize = 256;

/// Σ x.
pub(super) fn sum(row: &[f32]) -> f32 {
    let lanes = |block: &[f32]| {
        let mut lanes = [0.0; LANES];
        let chunks = block.chunks_exact(LANES);
        let rest = fold(chunks.remainder().iter().copied());
        for chunk in chunks {
            for (lane, x) in lanes.iter_mut().zip(chunk) {
                *lane += x;
            }
        }
        fold(lanes) + rest
    };
    row.chunks(BLOCK).map(lanes).sum::<f64>() as f32
}

/// The sum of each column of `rows`, with the bits of [`sum`]. There are as many columns as `sums`, a multiple of sixteen.
pub(super) fn sum_columns(rows: &[f32], sums: &mut [f32]) {
    let wide = sums.len();
    assert!(wide > 0 && wide.is_multiple_of(LANES), "columns in sixteens");
    vectorize(
        #[inline(always)]
        || {
            for (at, sums) in sums.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
                let mut totals = [0.0; LANES];
                for block in rows.chunks(BLOCK * wide) {
                    let rows = block.as_chunks::<LANES>().0.iter().skip(at).step_by(wide / LANES);
                    let whole = block.len() / wide / LANES * LANES;
                    let mut lanes = [[0.0; LANES]; LANES];
                    for (row, lane) in rows.clone().take(whole).zip((0..LANES).cycle()) {
                        lanes[lane].iter_mut().zip(row).for_each(|(lane, x)| *lane += x);
                    }
                    let (lanes, rest) = (fold_rows(lanes.iter()), fold_rows(rows.skip(whole)));
                    let added = lanes.into_iter().zip(rest);
                    totals.iter_mut().zip(added).for_each(|(total, (lanes, rest))| *total += lanes + rest);
                }
                *sums = totals.map(|total: f64| total as f32);
            }
        },
    );
}

#[inline(always)]
fn fold_rows<'a>(rows: impl Iterator<Item = &'a [f32; LANES]>) -> [f64; LANES] {
    let mut sums = [0.0; LANES];
    for row in rows {
        sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += f64::from(*x));
    }
    sums
}

/// Σ x y.
pub(super) fn dot(left: &[f32], right: &[f32]) -> f32 {
    vectorize(
        #[inline(always)]
        || {
            let mut total = 0.0;
            for (left, right) in left.chunks(BLOCK).zip(right.chunks(BLOCK)) {
                let mut lanes = [0.0; LANES];
                let ((left, left_rest), (right, right_rest)) =
                    (left.as_chunks::<LANES>(), right.as_chunks::<LANES>());
                for (left, right) in left.iter().zip(right) {
                    for ((lane, x), y) in lanes.iter_mut().zip(left).zip(right) {
                        *lane += x * y;
                    }
                }
                total += fold(lanes) + fold(left_rest.iter().zip(right_rest).map(|(x, y)| x * y));
            }
            total as f32
        },
    )
}

/// Σ x².
pub(super) fn square(row: &[f32]) -> f32 {
    dot(row, row)
}

/// `target` += `factor` × `row`.
pub(super) fn add_scaled(target: &mut [f32], factor: f32, row: &[f32]) {
    vectorize(
        #[inline(always)]
        || target.iter_mut().zip(row).for_each(|(sum, x)| *sum += factor * x),
    );
}

/// Scales a row in place; by 0 it becomes 0 whatever it was.
pub(super) fn scale(row: &mut [f32], factor: f32) {
    if factor == 0.0 {
        row.fill(0.0);
    } else if factor != 1.0 {
        row.iter_mut().for_each(|x| *x *= factor);
    }
}

fn fold(lanes: impl IntoIterator<Item = f32>) -> f64 {
    lanes.into_iter().map(f64::from).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_all_lengths_are_those_of_the_definition() {
        for length in [0, 1, 15, 16, 17, 255, 256, 300, 5000] {
            let x: Vec<f32> = (0..length).map(|i| (i * 37 % 101) as f32 / 101.0 - 0.3).collect();
            let y: Vec<f32> = (0..length).map(|i| (i * 53 % 97) as f32 / 97.0 - 0.4).collect();
            let slow = |terms: &mut dyn Iterator<Item = f64>| terms.sum::<f64>();
            let total = slow(&mut x.iter().map(|x| f64::from(*x)));
            let product = slow(&mut x.iter().zip(&y).map(|(x, y)| f64::from(*x) * f64::from(*y)));
            let squares = slow(&mut x.iter().map(|x| f64::from(*x) * f64::from(*x)));
            let near = |a: f32, b: f64| (f64::from(a) - b).abs() <= 1e-6 * (1.0 + length as f64 / 10.0);
            assert!(near(sum(&x), total) && near(dot(&x, &y), product), "{length}");
            assert!((f64::from(square(&x)) - squares).abs() <= 2e-6 * squares, "{length}");
        }
    }

    #[test]
    fn sums_of_columns_have_the_bits_of_sums_of_rows() {
        for (tall, wide) in [(1, 16), (15, 16), (16, 32), (25, 32), (196, 16), (256, 48), (700, 16)] {
            let columns: Vec<f32> = (0..tall * wide).map(|i| (i * 37 % 101) as f32 / 101.0 - 0.3).collect();
            let rows: Vec<f32> = (0..tall * wide).map(|i| columns[i % wide * tall + i / wide]).collect();
            let mut sums = vec![f32::NAN; wide];
            sum_columns(&rows, &mut sums);
            for (column, found) in columns.chunks_exact(tall).zip(sums) {
                assert_eq!(found.to_bits(), sum(column).to_bits(), "{tall} × {wide}");
            }
        }
    }

    #[test]
    fn a_factor_of_zero_silences_even_what_is_not_a_number() {
        let mut row = [f32::NAN, f32::INFINITY, 1.0];
        scale(&mut row, 0.0);
        assert_eq!(row, [0.0; 3]);
    }
}
