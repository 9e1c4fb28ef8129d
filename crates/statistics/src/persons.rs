//! People who have several rows: at most so many rows of each are kept, so that one person moves an answer by no more.
//!
//! Which rows are kept is drawn for each person apart, by a stream whose key is the person's name under the secret root of the
//! release. So every set of rows of a person is as likely as any other, it cannot be predicted without the root, and a person who
//! comes or goes changes nothing of what is kept of others: between datasets that differ by one person, the kept rows differ
//! by at most that many. That holds for every root, so the choice itself costs nothing.
//!
//! A row whose person is missing is left out. Counted as persons of their own, such rows would let someone with many of them move
//! the answer by as many; taken as one person, they would let someone move it by rows under a name and rows under none.

use sha2::{Digest, Sha256};
use std::collections::HashMap;
use veracity_account::claims::PersonsNote;
use veracity_core::Count;
use veracity_core::Refusal;
use veracity_mechanisms::Column;
use veracity_noise::{Entropy, Key, Purpose, exact::uniform_below};

/// How rows belong to people, and how many of each are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Persons {
    /// The column that says whose row it is.
    pub column: String,
    /// The most rows of one person.
    pub rows: Count,
}

impl Persons {
    /// Checks that the column has a name that can be shown.
    ///
    /// # Errors
    /// Refuses a name that is empty, longer than 200 bytes or not printable.
    pub fn new(column: &str, rows: Count) -> Result<Persons, Refusal> {
        let column = column.trim();
        let plain = !column.is_empty() && column.len() <= 200 && !column.contains(char::is_control);
        if plain {
            Ok(Persons { column: column.to_owned(), rows })
        } else {
            Err(Refusal::out_of_range("person", "empty, too long or not printable", "the name of a column"))
        }
    }

    /// As a claim notes it.
    pub fn note(&self) -> PersonsNote {
        PersonsNote::rows(&self.column, self.rows)
    }

    /// Keeps at most so many rows of each person. `persons` says whose each row of the column is.
    ///
    /// # Promise  Columns of datasets that differ by all rows of one person differ by at most [`Persons::rows`] rows
    ///
    /// # Errors
    /// Refuses a column that does not have one row for each of `persons`.
    pub fn bound(
        &self,
        column: &Column,
        persons: &[Option<String>],
        entropy: &Entropy,
    ) -> Result<BoundedRows, Refusal> {
        if column.rows() != persons.len() {
            return Err(Refusal::invalid(format!(
                "got {} privacy IDs, expected one for each of {} rows",
                persons.len(),
                column.rows()
            )));
        }
        let kept = kept(persons, self.rows, entropy);
        let column = match column {
            Column::Numbers(values) => Column::Numbers(kept.iter().map(|row| values[*row]).collect()),
            Column::Texts(values) => Column::Texts(kept.iter().map(|row| values[*row].clone()).collect()),
        };
        Ok(BoundedRows { column, rows: self.rows })
    }
}

/// A column with at most so many rows of each person. Only [`Persons::bound`] makes one.
#[derive(Debug, Clone, PartialEq)]
pub struct BoundedRows {
    column: Column,
    rows: Count,
}

impl BoundedRows {
    /// Its rows.
    pub fn column(&self) -> &Column {
        &self.column
    }

    /// The most rows of one person.
    pub fn rows(&self) -> Count {
        self.rows
    }
}

/// The rows that are kept, in the order of the file.
fn kept(persons: &[Option<String>], most: Count, entropy: &Entropy) -> Vec<usize> {
    let mut rows_of: HashMap<&str, Vec<usize>> = HashMap::new();
    for (row, person) in persons.iter().enumerate() {
        if let Some(person) = person {
            rows_of.entry(person).or_default().push(row);
        }
    }
    let most = usize::try_from(most.get()).unwrap_or(usize::MAX);
    let mut kept = Vec::new();
    for (person, mut rows) in rows_of {
        if rows.len() > most {
            draw(&mut rows, most, person, entropy);
        }
        kept.extend(rows);
    }
    kept.sort_unstable();
    kept
}

/// Leaves `most` of a person's rows, every set of them with the same probability. Only the ranks of the rows among the person's own
/// count, not their places in the file, which others move.
fn draw(rows: &mut Vec<usize>, most: usize, person: &str, entropy: &Entropy) {
    let name = Sha256::digest(person.as_bytes());
    let [run, trial, step] =
        [0, 8, 16].map(|at| name[at..at + 8].iter().fold(0, |word, byte| word << 8 | u64::from(*byte)));
    let mut stream = entropy.stream(Purpose::Persons, Key { run, trial, step });
    for place in 0..most {
        // Below the number of rows left, so the cast is exact.
        let other = place + uniform_below((rows.len() - place) as u128, &mut stream) as usize;
        rows.swap(place, other);
    }
    rows.truncate(most);
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use veracity_testkit::short::count;

    fn names(text: &str) -> Vec<Option<String>> {
        text.chars().map(|c| (c != '.').then(|| c.to_string())).collect()
    }

    #[test]
    fn nobody_keeps_more_than_their_share_and_nobodys_rows_are_left_out() {
        let persons = names("aaab.bcaa..a");
        for most in 1..8 {
            let kept = kept(&persons, count(most), &Entropy::seeded(1));
            assert!(kept.is_sorted());
            for (name, rows) in [("a", 6), ("b", 2), ("c", 1)] {
                let mine = kept.iter().filter(|row| persons[**row].as_deref() == Some(name)).count();
                assert_eq!(mine as u64, most.min(rows), "{name} of {most}");
            }
            assert!(kept.iter().all(|row| persons[*row].is_some()));
        }
    }

    /// Every pair of five rows, over 20 000 roots: χ² with 9 degrees of freedom stays below 45, error probability below 1e-6.
    /// Twin: to keep the first rows is far above.
    #[test]
    fn every_set_of_rows_is_as_likely_as_any_other() {
        let statistic = |choose: &dyn Fn(u64) -> Vec<usize>| {
            let mut seen: HashMap<Vec<usize>, f64> = HashMap::new();
            for seed in 0..20_000 {
                *seen.entry(choose(seed)).or_default() += 1.0;
            }
            let expected = 2000.0;
            let missing = (10 - seen.len()) as f64 * expected;
            missing + seen.values().map(|seen| (seen - expected).powi(2) / expected).sum::<f64>()
        };
        let persons = names("aaaaa");
        let drawn = statistic(&|seed| kept(&persons, count(2), &Entropy::seeded(seed)));
        assert!(drawn < 45.0, "{drawn}");
        assert!(statistic(&|_| vec![0, 1]) > 1e5);
    }

    /// Strangers that come between, before or after change nothing of what is kept of others, by rank among their own rows.
    #[test]
    fn what_is_kept_of_others_does_not_depend_on_who_comes_or_goes() {
        let ranks = |text: &str, of: char| {
            let kept = kept(&names(text), count(2), &Entropy::seeded(7));
            let mine = text.chars().enumerate().filter(|(_, c)| *c == of).map(|(row, _)| row);
            mine.enumerate().filter(|(_, row)| kept.contains(row)).map(|(rank, _)| rank).collect::<Vec<_>>()
        };
        let alone = "aabbabaabbab";
        for with in ["zaabbabaabbab", "aazbbzabzzaabbab", "aabbabaabbabzzzz", "a.abba.baabbab"] {
            for of in ['a', 'b'] {
                assert_eq!(ranks(alone, of), ranks(with, of), "{of} in {with}");
            }
        }
    }
}
