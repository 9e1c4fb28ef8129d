//! The Hadamard matrix of a power of two: entry (row, column) is −1 to the number of ones they share.

/// Whether the entry is −1.
#[inline]
pub(crate) fn is_negative(row: u32, column: u32) -> bool {
    (row & column).count_ones() % 2 == 1
}

/// Multiplies by the matrix in place; the length is a power of two.
pub(crate) fn transform(values: &mut [i64]) {
    let mut half = 1;
    while half < values.len() {
        for block in values.chunks_exact_mut(2 * half) {
            let (left, right) = block.split_at_mut(half);
            for (a, b) in left.iter_mut().zip(right) {
                (*a, *b) = (*a + *b, *a - *b);
            }
        }
        half *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fast_transform_is_the_matrix_product() {
        let values: Vec<i64> = (0..16).map(|i| i * i - 7 * i + 3).collect();
        let mut fast = values.clone();
        transform(&mut fast);
        for (row, fast) in (0..16).zip(fast) {
            let slow: i64 =
                (0..16).zip(&values).map(|(column, v)| if is_negative(row, column) { -v } else { *v }).sum();
            assert_eq!(fast, slow);
        }
    }
}
