//! Transpose of a matrix: values in the order of places become values in the order of channels, and back.

use std::ops::Range;

/// Writes `from`, rows of `wide` numbers, into `to` column by column.
pub(super) fn transpose(from: &[f32], wide: usize, to: &mut [f32]) {
    assert!(wide > 0 && from.len() == to.len() && from.len().is_multiple_of(wide), "as many numbers");
    let tall = from.len() / wide;
    let (rows, columns) = match by_vectors(from, wide, to) {
        true => (tall / EIGHT * EIGHT, wide / EIGHT * EIGHT),
        false => (0, 0),
    };
    one_by_one(from, wide, to, rows..tall, 0..columns);
    one_by_one(from, wide, to, 0..tall, columns..wide);
}

/// Some rows and columns.
fn one_by_one(from: &[f32], wide: usize, to: &mut [f32], rows: Range<usize>, columns: Range<usize>) {
    let tall = from.len() / wide;
    for row in rows {
        for column in columns.clone() {
            to[column * tall + row] = from[row * wide + column];
        }
    }
}

/// Rows and columns of a block that is transposed in registers.
const EIGHT: usize = 8;

/// Turns all whole blocks of eight rows and eight columns, if that can be done: whether it was.
#[cfg(target_arch = "x86_64")]
fn by_vectors(from: &[f32], wide: usize, to: &mut [f32]) -> bool {
    let simd = pulp::x86::V3::try_new();
    simd.into_iter()
        .for_each(|simd| pulp::Simd::vectorize(simd, x86::Transpose { simd, from, wide, to: &mut *to }));
    simd.is_some()
}

#[cfg(not(target_arch = "x86_64"))]
fn by_vectors(_: &[f32], _: usize, _: &mut [f32]) -> bool {
    false
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::EIGHT;
    use pulp::{Simd, WithSimd, bytemuck::cast, f32x8, x86::V3};
    use std::{arch::x86_64::__m256, array::from_fn};

    pub(super) struct Transpose<'a> {
        pub simd: V3,
        pub from: &'a [f32],
        pub wide: usize,
        pub to: &'a mut [f32],
    }

    impl WithSimd for Transpose<'_> {
        type Output = ();

        #[inline(always)]
        fn with_simd<S: Simd>(self, _: S) {
            let Transpose { simd, from, wide, to } = self;
            let tall = from.len() / wide;
            for (block, rows) in from.chunks_exact(EIGHT * wide).enumerate() {
                for first in (0..wide / EIGHT * EIGHT).step_by(EIGHT) {
                    let rows = from_fn(|row| load(&rows[row * wide + first..]));
                    let transposed = eight_by_eight(simd, rows);
                    for (column, transposed) in transposed.into_iter().enumerate() {
                        let to = &mut to[(first + column) * tall + block * EIGHT..][..EIGHT];
                        V3::as_mut_simd_f32s(to).0[0] = cast(transposed);
                    }
                }
            }
        }
    }

    #[inline(always)]
    fn load(row: &[f32]) -> __m256 {
        let vectors: &[f32x8] = V3::as_simd_f32s(&row[..EIGHT]).0;
        cast(vectors[0])
    }

    /// Pairs of rows, then pairs of pairs, then halves.
    #[inline(always)]
    fn eight_by_eight(simd: V3, rows: [__m256; EIGHT]) -> [__m256; EIGHT] {
        let avx = simd.avx;
        let pairs: [__m256; EIGHT] = from_fn(|at| {
            let (one, other) = (rows[at & !1], rows[at | 1]);
            if at & 1 == 0 { avx._mm256_unpacklo_ps(one, other) } else { avx._mm256_unpackhi_ps(one, other) }
        });
        let fours: [__m256; EIGHT] = from_fn(|at| {
            let first = (at & 4) | (at >> 1 & 1);
            let (one, other) = (pairs[first], pairs[first + 2]);
            if at & 1 == 0 {
                avx._mm256_shuffle_ps::<0b01_00_01_00>(one, other)
            } else {
                avx._mm256_shuffle_ps::<0b11_10_11_10>(one, other)
            }
        });
        from_fn(|at| {
            let (one, other) = (fours[at & 3], fours[at & 3 | 4]);
            if at < 4 {
                avx._mm256_permute2f128_ps::<0x20>(one, other)
            } else {
                avx._mm256_permute2f128_ps::<0x31>(one, other)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turned_numbers_are_those_turned_one_by_one() {
        for tall in [1, 2, 7, 8, 9, 16, 25, 64, 169, 196] {
            for wide in [1, 3, 7, 8, 9, 15, 16, 17, 32, 40] {
                let from: Vec<f32> = (0..tall * wide).map(|i| i as f32).collect();
                let (mut fast, mut slow) = (vec![-1.0; tall * wide], vec![-2.0; tall * wide]);
                transpose(&from, wide, &mut fast);
                one_by_one(&from, wide, &mut slow, 0..tall, 0..wide);
                assert_eq!(fast, slow, "{tall} × {wide}");
                assert!((0..tall * wide).all(|i| slow[i % wide * tall + i / wide] == i as f32));
            }
        }
    }
}
