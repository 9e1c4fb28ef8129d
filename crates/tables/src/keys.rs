//! A column of names of people: integers as they are, other texts once each.
//!
//! Most columns that name people hold integers. A row then costs eight bytes, and no text is made of it.

use crate::{tabular::Cell, texts::text_of};
use std::collections::HashMap;

/// A row without a name.
const MISSING: u64 = u64::MAX;

/// The names of a column. Two rows have the same key if they have the same text.
///
/// # Examples
///
/// ```
/// use veracity_tables::{Key, Keys, Texts};
///
/// let texts = Texts::from(vec![Some("7".to_owned()), None, Some("Eve".into()), Some("07".into())]);
/// let keys = Keys::from(&texts);
/// assert_eq!((keys.get(0), keys.get(1)), (Some(Key::Whole(7)), None));
/// assert_eq!((keys.get(2), keys.get(3)), (Some(Key::Text(0)), Some(Key::Text(1))));
/// assert_eq!(keys.texts(), ["Eve", "07"]);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Keys {
    codes: Vec<u64>,
    texts: Vec<String>,
}

/// A name of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Key {
    /// The text of an integer from 0 to 2^62 − 1, as it is usually written.
    Whole(u64),
    /// Another text, by its place in [`Keys::texts`].
    Text(u32),
}

impl Keys {
    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.codes.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.codes.is_empty()
    }

    /// The key of a row; none where it is missing, and beyond the last.
    pub fn get(&self, row: usize) -> Option<Key> {
        let code = self.codes.get(row).copied().filter(|code| *code != MISSING)?;
        Some(if code & 1 == 0 { Key::Whole(code >> 1) } else { Key::Text((code >> 1) as u32) })
    }

    /// Texts that are no such integers, each once.
    pub fn texts(&self) -> &[String] {
        &self.texts
    }
}

impl From<&crate::Texts> for Keys {
    fn from(texts: &crate::Texts) -> Keys {
        let mut coding = KeyCoding::default();
        let codes: Vec<u64> = texts.distinct().iter().map(|text| coding.code(text)).collect();
        let of_row = |row| texts.place(row).map_or(MISSING, |place| codes[place as usize]);
        coding.codes = (0..texts.len()).map(of_row).collect();
        coding.finish()
    }
}

/// Names on their way into a column.
#[derive(Debug, Default)]
pub(crate) struct KeyCoding {
    codes: Vec<u64>,
    known: HashMap<String, u32>,
}

impl KeyCoding {
    pub(crate) fn add(&mut self, cell: &Cell<'_>) {
        let code = match cell {
            Cell::Whole(number) if (0..1 << 62).contains(number) => (*number as u64) << 1,
            other => text_of(other).map_or(MISSING, |text| self.code(&text)),
        };
        self.codes.push(code);
    }

    fn code(&mut self, text: &str) -> u64 {
        if let Some(number) = whole(text) {
            return number << 1;
        }
        let next = self.known.len() as u32;
        let place = match self.known.get(text) {
            Some(place) => *place,
            None => *self.known.entry(text.to_owned()).or_insert(next),
        };
        u64::from(place) << 1 | 1
    }

    pub(crate) fn finish(self) -> Keys {
        let mut texts = vec![String::new(); self.known.len()];
        self.known.into_iter().for_each(|(text, place)| texts[place as usize] = text);
        Keys { codes: self.codes, texts }
    }
}

/// An integer below 2^62, if that is how it is usually written: no sign, no zeros before it.
fn whole(text: &str) -> Option<u64> {
    let digits = text.as_bytes();
    let is_usual = matches!(digits, [b'0'] | [b'1'..=b'9', ..]) && digits.len() <= 19;
    if !is_usual || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    text.parse().ok().filter(|number| *number < 1 << 62)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Texts;

    /// Each row as a text again.
    fn rows(keys: &Keys) -> Vec<Option<String>> {
        let text = |key| match key {
            Key::Whole(number) => number.to_string(),
            Key::Text(place) => keys.texts()[place as usize].clone(),
        };
        (0..keys.len()).map(|row| keys.get(row).map(text)).collect()
    }

    #[test]
    fn keys_are_the_texts_and_alike_where_those_are() {
        let texts = [
            "0", "00", "-0", "+0", "7", "07", "7.0", "4611686018427387903", "4611686018427387904",
            "9223372036854775807", "9223372036854775808", "18446744073709551615", "99999999999999999999",
            "٧", "7_", "1e3", "Eve", "eve",
        ];
        let twice: Vec<Option<String>> =
            texts.iter().chain(&texts).map(|text| Some((*text).to_owned())).chain([None]).collect();
        let keys = Keys::from(&Texts::from(twice.clone()));
        assert_eq!(rows(&keys), twice);
        for (one, text) in twice.iter().enumerate() {
            for (other, another) in twice.iter().enumerate() {
                assert_eq!(keys.get(one) == keys.get(other), text == another);
            }
        }
        let wholes = (0..keys.len()).filter(|row| matches!(keys.get(*row), Some(Key::Whole(_))));
        assert_eq!(wholes.collect::<Vec<_>>(), [0, 4, 7, 18, 22, 25]);
    }

    #[test]
    fn a_stored_integer_and_its_text_are_one_key() {
        let mut coding = KeyCoding::default();
        for number in [0, 7, -7, (1 << 62) - 1, 1 << 62, i128::from(u64::MAX), i128::MAX] {
            coding.add(&Cell::Whole(number));
            coding.add(&Cell::Text(number.to_string().as_bytes()));
        }
        for cell in
            [Cell::Missing, Cell::Text(b"\xff"), Cell::Text("\u{a0}".as_bytes()), Cell::Number(f64::NAN)]
        {
            coding.add(&cell);
        }
        coding.add(&Cell::Number(7.0));
        let keys = coding.finish();
        assert!((0..7).all(|at| keys.get(2 * at).is_some() && keys.get(2 * at) == keys.get(2 * at + 1)));
        assert_eq!(rows(&keys)[14..], [None, None, None, None, Some("7".to_owned())]);
        assert_eq!(keys.texts().len(), 4);
    }
}
