//! How often each place is set in many rows of bits.

/// Eight counters of eight bits in a word.
const EACH_BYTE: u64 = 0x0101_0101_0101_0101;

/// Counters for the places of rows, eight to a word. They overflow after 255 rows and are emptied before that.
pub(crate) struct Columns {
    /// Byte b of word w in lane s counts the bit 64 w + 8 b + s.
    lanes: Vec<u64>,
    words: usize,
    held: u32,
}

impl Columns {
    /// Counters for rows of `places` bits.
    pub(crate) fn new(places: usize) -> Columns {
        let words = places.div_ceil(64);
        Columns { lanes: vec![0; 8 * words], words, held: 0 }
    }

    /// Counts the bits of a row; when the counters are full they are emptied into `counts`.
    pub(crate) fn add(&mut self, row: &[u64], counts: &mut [i64]) {
        for (shift, lane) in self.lanes.chunks_exact_mut(self.words).enumerate() {
            for (counters, word) in lane.iter_mut().zip(row) {
                *counters += word >> shift & EACH_BYTE;
            }
        }
        self.held += 1;
        if self.held == 255 {
            self.empty(counts);
        }
    }

    /// Moves what is held into `counts`.
    pub(crate) fn empty(&mut self, counts: &mut [i64]) {
        for (place, count) in counts.iter_mut().enumerate() {
            let (word, byte, shift) = (place / 64, place / 8 % 8, place % 8);
            *count += (self.lanes[shift * self.words + word] >> (8 * byte) & 255) as i64;
        }
        self.lanes.fill(0);
        self.held = 0;
    }
}

/// Adds to each count how many rows have its bit set.
pub(crate) fn add_columns<'a>(rows: impl IntoIterator<Item = &'a [u64]>, counts: &mut [i64]) {
    let mut columns = Columns::new(counts.len());
    for row in rows {
        columns.add(row, counts);
    }
    columns.empty(counts);
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
