//! Rows of a table in the order of some of its columns, so that SQLite finds the rows of a person side by side and need not sort
//! them: its sorting is the slowest thing that it does.

use std::collections::HashMap;

/// Texts of a column as places in the list of those that occur, which is sorted byte by byte.
pub(crate) struct Coded<'a> {
    texts: Vec<&'a str>,
    /// One for each row; none where the text is missing.
    places: Vec<Option<u32>>,
}

impl<'a> Coded<'a> {
    pub(crate) fn new(column: &'a [Option<String>]) -> Coded<'a> {
        let mut known: HashMap<&str, u32> = HashMap::new();
        let mut texts = Vec::new();
        let mut places: Vec<Option<u32>> = column
            .iter()
            .map(|text| {
                let text = text.as_deref()?;
                Some(*known.entry(text).or_insert_with(|| {
                    texts.push(text);
                    // There are at most 2^28 rows.
                    (texts.len() - 1) as u32
                }))
            })
            .collect();
        let mut order: Vec<u32> = (0..texts.len() as u32).collect();
        order.sort_unstable_by_key(|place| texts[*place as usize]);
        let mut ranks = vec![0; texts.len()];
        for (rank, place) in order.iter().enumerate() {
            ranks[*place as usize] = rank as u32;
        }
        places.iter_mut().flatten().for_each(|place| *place = ranks[*place as usize]);
        texts.sort_unstable();
        Coded { texts, places }
    }

    /// The text of a row.
    pub(crate) fn text(&self, row: u32) -> Option<&'a str> {
        self.places[row as usize].map(|place| self.texts[place as usize])
    }
}

/// The rows on which no column is missing, by the first column, then by the next: one counting pass for each, from the last.
pub(crate) fn sorted(columns: &[&Coded<'_>], rows: usize) -> Vec<u32> {
    let is_whole = |row: &u32| columns.iter().all(|column| column.places[*row as usize].is_some());
    let mut order: Vec<u32> = (0..rows as u32).filter(is_whole).collect();
    for column in columns.iter().rev() {
        let place = |row: u32| column.places[row as usize].map_or(0, |place| place as usize);
        let mut starts = vec![0u32; column.texts.len() + 1];
        order.iter().for_each(|row| starts[place(*row) + 1] += 1);
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        let mut next = vec![0; order.len()];
        for row in order {
            let start = &mut starts[place(row)];
            next[*start as usize] = row;
            *start += 1;
        }
        order = next;
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_in_the_order_of_their_bytes_and_without_those_that_miss_one() {
        let column = |texts: &[&str]| -> Vec<Option<String>> {
            texts.iter().map(|text| (!text.is_empty()).then(|| (*text).to_owned())).collect()
        };
        let (first, second) =
            (column(&["b", "B", "é", "b", "", "b", "e"]), column(&["y", "x", "x", "", "x", "Y", "z"]));
        let (first, second) = (Coded::new(&first), Coded::new(&second));
        let order = sorted(&[&first, &second], 7);
        assert_eq!(order, [1, 5, 0, 6, 2]);
        assert_eq!((first.text(2), second.text(3)), (Some("é"), None));
        // Without columns all rows stay as they are.
        assert_eq!(sorted(&[], 3), [0, 1, 2]);
    }
}
