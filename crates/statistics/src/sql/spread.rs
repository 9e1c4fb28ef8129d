//! Which rows of a unit in a group count, where there are more than may: rows at even distances, from a secret start.
//!
//! The rows of a pair of a unit and a group stand in the order of their integers. Of n rows m are to count. Their places 1 … n are
//! turned by a start: x = (place + start) mod n. Those count for which x m mod n < m, which are m rows, as far apart as can be. Over
//! all starts each row counts m times in n, whatever it holds and however many are equal to it; and since the rows that count are
//! spread over the numbers in order, their mean is nearer to the mean of all rows than that of rows drawn one by one.
//!
//! The start is SHA-256 over the secret of the query, the unit and the group, modulo n. Nothing of other units enters. All of it are
//! integers below 2^63, so that every engine computes the same.

use sha2::{Digest, Sha256};
use veracity_core::{Count, Refusal};

/// The most rows of a unit that may count. A product with the number of a unit's rows stays below 2^63.
const MOST: u64 = 1_000_000;

/// How many rows or groups of one unit may count.
pub(crate) fn cap(what: &'static str, number: u64) -> Result<Count, Refusal> {
    match number {
        1..=MOST => Count::new(number),
        _ => Err(Refusal::out_of_range(what, number, "1 to 10^6")),
    }
}

/// The first 60 bits of SHA-256.
pub(crate) fn key(text: &[u8]) -> i64 {
    let digest = Sha256::digest(text);
    let mut first = [0; 8];
    first.copy_from_slice(&digest[..8]);
    (u64::from_be_bytes(first) >> 4) as i64
}

/// Whether the row at a place, from 1 on, counts.
pub(crate) fn counts(place: usize, rows: usize, most: usize, key: i64) -> bool {
    let start = key as u128 % rows as u128;
    let turned = (place as u128 + start) % rows as u128;
    turned * most as u128 % (rows as u128) < most as u128
}

/// The same in SQL: the place of a row, turned. It is 0 for one row of each pair, and that one counts.
pub(crate) fn turned(place: &str, rows: &str, key: &str) -> String {
    format!("({place} + {key} % {rows}) % {rows}")
}

/// The same in SQL: whether a row counts, by its turned place.
pub(crate) fn is_counted(turned: &str, rows: &str, most: u64) -> String {
    format!("{turned} * {most} % {rows} < {most}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How often each place counts, over all starts; and for each start, how many count.
    fn enumerated(rows: usize, counts: impl Fn(usize, i64) -> bool) -> (Vec<usize>, Vec<usize>) {
        let (mut of_place, mut of_start) = (vec![0; rows], vec![0; rows]);
        for (start, of_start) in of_start.iter_mut().enumerate() {
            for (place, of_place) in of_place.iter_mut().enumerate() {
                let counted = usize::from(counts(place + 1, start as i64));
                *of_place += counted;
                *of_start += counted;
            }
        }
        (of_place, of_start)
    }

    #[test]
    fn as_many_count_as_may_and_each_row_as_often_as_the_others() {
        for rows in 1..=40 {
            for most in 1..=rows {
                let (of_place, of_start) = enumerated(rows, |place, key| counts(place, rows, most, key));
                assert!(of_start.iter().all(|counted| *counted == most), "{most} of {rows}: {of_start:?}");
                assert!(of_place.iter().all(|counted| *counted == most), "{most} of {rows}: {of_place:?}");
            }
        }
        // Without a start, the first rows always count.
        let (of_place, _) = enumerated(7, |place, _| counts(place, 7, 3, 0));
        assert!(of_place.iter().any(|counted| *counted != 3));
    }

    /// No two rows that count are nearer than n/m, rounded down, nor farther apart than n/m, rounded up.
    #[test]
    fn rows_that_count_are_as_far_apart_as_can_be() {
        for (rows, most, key) in [(100, 7, 3), (99, 99, 12), (1000, 3, 999), (17, 16, 5)] {
            let chosen: Vec<usize> = (1..=rows).filter(|place| counts(*place, rows, most, key)).collect();
            let around = chosen.iter().skip(1).copied().chain([chosen[0] + rows]);
            for (one, next) in chosen.iter().zip(around) {
                assert!(
                    (rows / most..=rows.div_ceil(most)).contains(&(next - one)),
                    "{rows} {most} {chosen:?}"
                );
            }
        }
    }

    /// All is within 64 bits, for as many rows of one unit as there could ever be.
    #[test]
    fn no_number_leaves_64_bits() {
        let rows = i64::MAX / MOST as i64;
        assert!(rows > 9_000_000_000_000);
        assert!((rows - 1).checked_mul(MOST as i64).is_some() && rows.checked_add(rows).is_some());
        assert!(cap("rows", MOST).is_ok() && cap("rows", MOST + 1).is_err() && cap("rows", 0).is_err());
        assert!(key(b"any") < 1 << 60);
    }
}
