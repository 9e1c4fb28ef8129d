//! Texts of rows as numbers: rows of one person, or of one group, have the same.

use std::collections::HashMap;

/// A row without a text.
const MISSING: u32 = u32::MAX;

/// The texts of a column, each once, and for each row which of them it has.
#[derive(Debug, Default)]
pub(crate) struct Coded {
    pub(crate) texts: Vec<String>,
    places: Vec<u32>,
}

impl Coded {
    pub(crate) fn new(column: Vec<Option<String>>) -> Coded {
        let mut known: HashMap<String, u32> = HashMap::new();
        let mut places = Vec::with_capacity(column.len());
        for text in column {
            let next = known.len() as u32;
            // There are at most 2^28 rows.
            places.push(text.map_or(MISSING, |text| *known.entry(text).or_insert(next)));
        }
        let mut texts = vec![String::new(); known.len()];
        known.into_iter().for_each(|(text, place)| texts[place as usize] = text);
        Coded { texts, places }
    }

    /// Which of the texts a row has.
    pub(crate) fn place(&self, row: u32) -> Option<u32> {
        Some(self.places[row as usize]).filter(|place| *place != MISSING)
    }

    /// The text of a row.
    pub(crate) fn text(&self, row: u32) -> Option<&str> {
        self.place(row).map(|place| self.texts[place as usize].as_str())
    }
}

/// What several columns say together: a number for each row on which none of them is missing.
#[derive(Debug)]
pub(crate) struct Joined<'a> {
    columns: Vec<&'a Coded>,
    /// One for each number: where its texts are, in each column.
    parts: Vec<Vec<u32>>,
    places: Vec<u32>,
}

impl<'a> Joined<'a> {
    /// Of the rows that are wanted. Without columns, all of them have the same number.
    pub(crate) fn new(columns: Vec<&'a Coded>, rows: usize, is_wanted: impl Fn(u32) -> bool) -> Joined<'a> {
        let mut places: Vec<u32> =
            (0..rows as u32).map(|row| if is_wanted(row) { 0 } else { MISSING }).collect();
        let mut parts: Vec<Vec<u32>> = vec![Vec::new()];
        for column in &columns {
            let mut known: HashMap<(u32, u32), u32> = HashMap::new();
            let mut wider = Vec::new();
            for (row, place) in places.iter_mut().enumerate().filter(|(_, place)| **place != MISSING) {
                let Some(next) = column.place(row as u32) else {
                    *place = MISSING;
                    continue;
                };
                let before = *place;
                *place = *known.entry((before, next)).or_insert_with(|| {
                    let mut longer = parts[before as usize].clone();
                    longer.push(next);
                    wider.push(longer);
                    (wider.len() - 1) as u32
                });
            }
            parts = wider;
        }
        Joined { columns, parts, places }
    }

    /// How many numbers there are.
    pub(crate) fn len(&self) -> usize {
        self.parts.len()
    }

    /// The number of a row.
    pub(crate) fn place(&self, row: u32) -> Option<u32> {
        Some(self.places[row as usize]).filter(|place| *place != MISSING)
    }

    /// The texts of a number.
    pub(crate) fn texts(&self, place: u32) -> impl Iterator<Item = &'a str> {
        let parts = self.parts[place as usize].iter();
        self.columns.iter().zip(parts).map(|(column, part)| column.texts[*part as usize].as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_the_same_number_where_all_their_texts_are_the_same() {
        let column = |texts: &[&str]| {
            Coded::new(texts.iter().map(|text| (!text.is_empty()).then(|| (*text).to_owned())).collect())
        };
        let (first, second) =
            (column(&["b", "B", "b", "b", "", "b"]), column(&["y", "x", "y", "", "x", "x"]));
        assert_eq!((first.text(1), second.text(3)), (Some("B"), None));
        let joined = Joined::new(vec![&first, &second], 6, |row| row != 5);
        let places: Vec<Option<u32>> = (0..6).map(|row| joined.place(row)).collect();
        assert_eq!(places, [Some(0), Some(1), Some(0), None, None, None]);
        assert_eq!((joined.len(), joined.texts(1).collect::<Vec<_>>()), (2, vec!["B", "x"]));
        // Without columns all that are wanted are one.
        let one = Joined::new(Vec::new(), 2, |row| row == 0);
        assert_eq!((one.len(), one.place(0), one.place(1)), (1, Some(0), None));
    }
}
