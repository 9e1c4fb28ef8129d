//! How often each place is set in many rows of bits.

/// Eight counters of eight bits in a word.
const EACH_BYTE: u64 = 0x0101_0101_0101_0101;

/// Adds to each count how many rows have its bit set.
///
/// Rows are added as eight counters to a word, which overflow after 255 rows and are emptied before that.
pub(crate) fn add_columns<'a>(rows: impl IntoIterator<Item = &'a [u64]>, counts: &mut [i64]) {
    let words = counts.len().div_ceil(64);
    let mut lanes = vec![0u64; 8 * words];
    let mut held = 0;
    for row in rows {
        for (shift, lane) in lanes.chunks_exact_mut(words).enumerate() {
            for (counters, word) in lane.iter_mut().zip(row) {
                *counters += word >> shift & EACH_BYTE;
            }
        }
        held += 1;
        if held == 255 {
            empty(&mut lanes, words, counts);
            held = 0;
        }
    }
    empty(&mut lanes, words, counts);
}

/// Byte b of the word w in lane s counts the bit 64 w + 8 b + s.
fn empty(lanes: &mut [u64], words: usize, counts: &mut [i64]) {
    for (place, count) in counts.iter_mut().enumerate() {
        let (word, byte, shift) = (place / 64, place / 8 % 8, place % 8);
        *count += (lanes[shift * words + word] >> (8 * byte) & 255) as i64;
    }
    lanes.fill(0);
}

#[cfg(test)]
mod tests {
    use super::*;
    use veracity_noise::{Entropy, Key, Purpose};

    #[test]
    fn columns_agree_with_one_bit_at_a_time() {
        let mut rng = Entropy::seeded(5).stream(Purpose::Report, Key::default());
        for (k, rows) in [(1, 3), (64, 255), (100, 256), (130, 700)] {
            let words = usize::div_ceil(k, 64);
            let rows: Vec<Vec<u64>> = (0..rows).map(|_| (0..words).map(|_| rng.word()).collect()).collect();
            let mut counts = vec![7; k];
            add_columns(rows.iter().map(Vec::as_slice), &mut counts);
            for (place, count) in counts.into_iter().enumerate() {
                let slow = rows.iter().filter(|row| row[place / 64] >> (place % 64) & 1 == 1).count();
                assert_eq!(count, 7 + slow as i64);
            }
        }
    }
}
