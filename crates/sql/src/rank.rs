//! Which rows of a unit in a group count, where there are more than may: those of the least ranks.
//!
//! A pair of a unit and a group has a key of 60 bits, from SHA-256 over the secret of the query, the unit and the group. The rank
//! of a row is a polynomial in its whole numbers, modulo a prime, with coefficients from that key: one hash for each pair, and a few
//! multiplications for each row. All of it are whole numbers below 2^63, so that every engine computes the same.

use crate::Grid;
use sha2::{Digest, Sha256};

/// The largest prime below 2^30: a product of two remainders, plus one, is below 2^61.
pub(crate) const PRIME: i64 = 1_073_741_789;
/// The least prime above 2^30. What a key leaves of the two primes tells it, nearly: two coefficients that are independent.
pub(crate) const OTHER_PRIME: i64 = 1_073_741_827;
/// A rank is so many times the polynomial plus the last place, so that rows that tie have the same last number.
pub(crate) const PLACES: i64 = 1 << 33;

/// The first 60 bits of SHA-256.
pub(crate) fn key(text: &[u8]) -> i64 {
    let digest = Sha256::digest(text);
    let mut first = [0; 8];
    first.copy_from_slice(&digest[..8]);
    (u64::from_be_bytes(first) >> 4) as i64
}

/// The place of a whole number on its grid: from 1 on, below 2^33; 0 where it is missing.
pub(crate) fn place(whole: Option<i64>, grid: &Grid) -> i64 {
    whole.map_or(0, |whole| whole - grid.least + 1)
}

/// The rank of a row by the places of its whole numbers. Rows that tie are told apart by the places before the last.
pub(crate) fn rank(key: i64, places: &[i64]) -> i64 {
    let multiplier = key % PRIME;
    let last = places.last().copied().unwrap_or(0);
    let joined = places.iter().fold(0, |sum, place| (sum * multiplier + place) % PRIME);
    let x = (joined + key % OTHER_PRIME) % PRIME;
    ((x * x % PRIME + multiplier) * x) % PRIME * PLACES + last
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How often each of eight rows is among the two of the least ranks, over keys of SHA-256.
    fn kept(keys: i64, rank: impl Fn(i64, i64) -> i64) -> Vec<u64> {
        let mut kept = vec![0; 8];
        for at in 0..keys {
            let key = key(format!("secret|{at}").as_bytes());
            let mut rows: Vec<usize> = (0..8).collect();
            rows.sort_by_key(|row| rank(key, 1 + 1000 * *row as i64));
            rows[..2].iter().for_each(|row| kept[*row] += 1);
        }
        kept
    }

    /// Numbers at equal steps are the hardest for a polynomial. Of 40,000 keys each row is kept by 10,000 ± 6 standard deviations
    /// of 87, each of which fails with chance below 1e-8.
    #[test]
    fn each_row_counts_as_often_as_the_others() {
        let is_fair = |kept: &[u64]| kept.iter().all(|times| times.abs_diff(10_000) < 520);
        let found = kept(40_000, |key, place| rank(key, &[place]));
        assert!(is_fair(&found), "{found:?}");
        // A shift alone keeps neighbours together, and the last of them least often.
        let shifted = kept(40_000, |key, place| (place + key % OTHER_PRIME) % PRIME);
        assert!(!is_fair(&shifted), "{shifted:?}");
    }

    #[test]
    fn no_rank_leaves_64_bits_and_rows_that_tie_have_the_same_last_number() {
        for key in [0, 1, (1 << 60) - 1, PRIME, OTHER_PRIME - 1] {
            for place in [0, 1, PRIME, 2 * PRIME, PLACES - 1] {
                let found = rank(key, &[PLACES - 1, place]);
                assert!((0..=i64::MAX).contains(&found) && found % PLACES == place, "{key} {place} {found}");
            }
        }
        assert_eq!(rank(3, &[7]), {
            let x = 10;
            (x * x + 3) * x * PLACES + 7
        });
    }
}
