//! A column of texts: each text once, and for each row which of them it has.
//!
//! Columns of people's data repeat themselves: a row costs four bytes, and two rows are compared by a number.

use crate::tabular::Cell;
use std::{borrow::Cow, collections::HashMap};

/// A row without a text.
const MISSING: u32 = u32::MAX;

/// The texts of a column.
///
/// # Examples
///
/// ```
/// use veracity_tables::Texts;
///
/// let towns = Texts::from(vec![Some("Ulm".to_owned()), None, Some("Bonn".into()), Some("Ulm".into())]);
/// assert_eq!((towns.len(), towns.get(2), towns.get(1)), (4, Some("Bonn"), None));
/// assert_eq!(towns.distinct(), ["Ulm", "Bonn"]);
/// assert_eq!((towns.place(0), towns.place(3)), (Some(0), Some(0)));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Texts {
    distinct: Vec<String>,
    places: Vec<u32>,
}

impl Texts {
    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The text of a row; none where it is missing, and beyond the last.
    pub fn get(&self, row: usize) -> Option<&str> {
        self.place(row).map(|place| self.distinct[place as usize].as_str())
    }

    /// Which of the distinct texts a row has.
    pub fn place(&self, row: usize) -> Option<u32> {
        self.places.get(row).copied().filter(|place| *place != MISSING)
    }

    /// Each text once, in the order in which they were met.
    pub fn distinct(&self) -> &[String] {
        &self.distinct
    }

    /// The texts of all rows.
    pub fn iter(&self) -> impl Iterator<Item = Option<&str>> {
        (0..self.len()).map(|row| self.get(row))
    }

    /// A text for each row, each of its own.
    pub fn to_vec(&self) -> Vec<Option<String>> {
        self.iter().map(|text| text.map(str::to_owned)).collect()
    }
}

impl From<Vec<Option<String>>> for Texts {
    fn from(rows: Vec<Option<String>>) -> Texts {
        let mut coding = Coding::default();
        rows.iter().for_each(|row| coding.add(row.as_deref()));
        coding.finish()
    }
}

/// Whole numbers below this are looked up in a table, which takes 64 MiB at most; other texts by their hash.
const SMALL: usize = 1 << 24;

/// Texts on their way into a column.
#[derive(Debug, Default)]
pub(crate) struct Coding {
    /// The places of texts that are small integers, by those; most columns that name people are such.
    small: Vec<u32>,
    known: HashMap<String, u32>,
    distinct: u32,
    places: Vec<u32>,
}

impl Coding {
    pub(crate) fn add(&mut self, text: Option<&str>) {
        let place = text.map_or(MISSING, |text| self.place_of(text));
        self.places.push(place);
    }

    /// A text that was added before, by its place.
    pub(crate) fn add_known(&mut self, place: u32) {
        self.places.push(place);
    }

    /// The place of the last text; none where it is missing.
    pub(crate) fn last(&self) -> Option<u32> {
        self.places.last().copied().filter(|place| *place != MISSING)
    }

    /// An integer as it is usually written.
    pub(crate) fn add_whole(&mut self, number: i128) {
        let place = match usize::try_from(number) {
            Ok(small) if small < SMALL => self.place_of_small(small),
            _ => self.place_of(&number.to_string()),
        };
        self.places.push(place);
    }

    fn place_of(&mut self, text: &str) -> u32 {
        if let Some(small) = small(text) {
            return self.place_of_small(small);
        }
        if let Some(place) = self.known.get(text) {
            return *place;
        }
        let place = self.next();
        self.known.insert(text.to_owned(), place);
        place
    }

    fn place_of_small(&mut self, number: usize) -> u32 {
        if number >= self.small.len() {
            self.small.resize((number + 1).next_power_of_two(), MISSING);
        }
        if self.small[number] == MISSING {
            self.small[number] = self.next();
        }
        self.small[number]
    }

    /// The place of one more text. There are fewer rows than 2^32 - 1, which the reader of columns sees to, and no more texts than rows.
    fn next(&mut self) -> u32 {
        self.distinct += 1;
        self.distinct - 1
    }

    pub(crate) fn finish(self) -> Texts {
        let mut distinct = vec![String::new(); self.distinct as usize];
        self.known.into_iter().for_each(|(text, place)| distinct[place as usize] = text);
        let met = self.small.iter().enumerate().filter(|(_, place)| **place != MISSING);
        met.for_each(|(number, place)| distinct[*place as usize] = number.to_string());
        Texts { distinct, places: self.places }
    }
}

/// The text of a cell, without white space around it; none where it is missing, empty or not UTF-8.
pub(crate) fn text_of<'a>(cell: &Cell<'a>) -> Option<Cow<'a, str>> {
    let text = match cell.text()? {
        Cow::Borrowed(bytes) => Cow::Borrowed(std::str::from_utf8(bytes).ok()?.trim()),
        Cow::Owned(bytes) => Cow::Owned(std::str::from_utf8(&bytes).ok()?.trim().to_owned()),
    };
    (!text.is_empty()).then_some(text)
}

/// A small integer, if that is how it is usually written: no sign, no zeros before it.
fn small(text: &str) -> Option<usize> {
    let digits = text.as_bytes();
    let is_usual = matches!(digits, [b'0'] | [b'1'..=b'9', ..]) && digits.len() <= 8;
    if !is_usual || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let number = digits.iter().fold(0, |number, digit| 10 * number + usize::from(digit - b'0'));
    Some(number).filter(|number| *number < SMALL)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_and_its_text_are_one() {
        let mut coding = Coding::default();
        coding.add(Some("-7"));
        coding.add_whole(-7);
        coding.add_whole(i128::MAX);
        coding.add(None);
        coding.add_whole(i128::MAX);
        let texts = coding.finish();
        assert_eq!(texts.distinct(), ["-7", "170141183460469231731687303715884105727"]);
        assert_eq!(
            (0..5).map(|row| texts.place(row)).collect::<Vec<_>>(),
            [Some(0), Some(0), Some(1), None, Some(1)]
        );
        assert_eq!(texts, Texts::from(texts.to_vec()));
    }

    #[test]
    fn texts_that_are_alike_as_numbers_stay_apart() {
        let texts = [
            "0", "00", "-0", "+0", "7", "07", "7.0", " 7", "16777215", "16777216", "99999999", "", "٧", "7_",
            "1e3",
        ];
        let both: Vec<Option<String>> =
            texts.iter().chain(&texts).map(|text| Some((*text).to_owned())).collect();
        let coded = Texts::from(both.clone());
        assert_eq!(coded.distinct(), texts);
        assert_eq!(coded.to_vec(), both);
        let mut wholes = Coding::default();
        [0, 16_777_215, 16_777_216, -1, 7].into_iter().for_each(|number| wholes.add_whole(number));
        assert_eq!(wholes.finish().distinct(), ["0", "16777215", "16777216", "-1", "7"]);
    }
}
