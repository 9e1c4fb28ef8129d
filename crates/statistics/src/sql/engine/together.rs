//! What several columns say together, as one number: rows of one person, or of one group, have the same.

use std::collections::HashMap;
use veracity_tables::Texts;

/// A row that is not wanted, or on which a column is missing.
const MISSING: u32 = u32::MAX;
/// Pairs of numbers that are looked up in a table rather than by their hash: as many as take 16 MiB.
const DENSE: usize = 1 << 22;

/// A number for each row that is wanted and on which no column is missing.
#[derive(Debug)]
pub(crate) struct Together<'a> {
    columns: Vec<&'a Texts>,
    /// For each number where its texts are, in each column.
    parts: Vec<u32>,
    numbers: usize,
    places: Vec<u32>,
}

impl<'a> Together<'a> {
    /// Without columns, all rows that are wanted have the same number.
    pub(crate) fn new(columns: Vec<&'a Texts>, rows: usize, is_wanted: impl Fn(u32) -> bool) -> Together<'a> {
        let mut places: Vec<u32> =
            (0..rows as u32).map(|row| if is_wanted(row) { 0 } else { MISSING }).collect();
        let (mut parts, mut numbers) = (Vec::new(), 1);
        for (width, column) in columns.iter().enumerate() {
            let mut known = PairNumbers::new(numbers, column.distinct().len());
            let (mut wider, mut next) = (Vec::new(), 0);
            for (row, place) in places.iter_mut().enumerate().filter(|(_, place)| **place != MISSING) {
                let Some(of_column) = column.place(row) else {
                    *place = MISSING;
                    continue;
                };
                let before = *place as usize;
                *place = known.number(before, of_column, next);
                if *place == next {
                    wider.extend_from_slice(&parts[before * width..(before + 1) * width]);
                    wider.push(of_column);
                    next += 1;
                }
            }
            (parts, numbers) = (wider, next as usize);
        }
        Together { columns, parts, numbers, places }
    }

    /// How many numbers there are.
    pub(crate) fn len(&self) -> usize {
        self.numbers
    }

    /// The number of a row.
    pub(crate) fn place(&self, row: u32) -> Option<u32> {
        Some(self.places[row as usize]).filter(|place| *place != MISSING)
    }

    /// Where the texts of a number are, in each column.
    pub(crate) fn parts(&self, place: u32) -> &[u32] {
        let width = self.columns.len();
        &self.parts[place as usize * width..(place as usize + 1) * width]
    }
}

/// The numbers of pairs: what the columns before say, and what one more does.
enum PairNumbers {
    Dense { numbers: Vec<u32>, width: usize },
    Sparse(HashMap<(usize, u32), u32>),
}

impl PairNumbers {
    fn new(before: usize, texts: usize) -> PairNumbers {
        match before.checked_mul(texts).filter(|pairs| *pairs <= DENSE || before == 1) {
            Some(pairs) => PairNumbers::Dense { numbers: vec![MISSING; pairs], width: texts },
            None => PairNumbers::Sparse(HashMap::new()),
        }
    }

    /// The number of a pair: `next` where it is met for the first time.
    fn number(&mut self, before: usize, of_column: u32, next: u32) -> u32 {
        match self {
            PairNumbers::Dense { numbers, width } => {
                let number = &mut numbers[before * *width + of_column as usize];
                if *number == MISSING {
                    *number = next;
                }
                *number
            }
            PairNumbers::Sparse(numbers) => *numbers.entry((before, of_column)).or_insert(next),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(texts: &[&str]) -> Texts {
        let rows: Vec<Option<String>> =
            texts.iter().map(|text| (!text.is_empty()).then(|| (*text).to_owned())).collect();
        rows.into()
    }

    #[test]
    fn rows_have_the_same_number_where_all_their_texts_are_the_same() {
        let (first, second) =
            (column(&["b", "B", "b", "b", "", "b"]), column(&["y", "x", "y", "", "x", "x"]));
        let together = Together::new(vec![&first, &second], 6, |row| row != 5);
        let places: Vec<Option<u32>> = (0..6).map(|row| together.place(row)).collect();
        assert_eq!(places, [Some(0), Some(1), Some(0), None, None, None]);
        assert_eq!((together.len(), together.parts(1)), (2, &[1, 1][..]));
        // Without columns all that are wanted are one.
        let one = Together::new(Vec::new(), 2, |row| row == 0);
        assert_eq!((one.len(), one.place(0), one.place(1)), (1, Some(0), None));
        assert!(one.parts(0).is_empty());
    }

    #[test]
    fn pairs_have_the_same_numbers_in_a_table_and_by_their_hash() {
        let (mut dense, mut sparse) = (PairNumbers::new(7, 11), PairNumbers::Sparse(HashMap::new()));
        let mut next = 0;
        for step in 0..500usize {
            let (before, of_column) = (step * step % 7, (step * 5 % 11) as u32);
            let number = dense.number(before, of_column, next);
            assert_eq!(number, sparse.number(before, of_column, next));
            next += u32::from(number == next);
        }
        assert!(next > 20);
        assert!(matches!(PairNumbers::new(3000, 3000), PairNumbers::Sparse(_)));
    }
}
