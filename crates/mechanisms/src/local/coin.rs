//! Coins of a fixed bias, one at a time or 64 at a time.

use crate::local::Odds;
use veracity_core::{Probability, Refusal};
use veracity_noise::Bits;

/// A coin that shows one with probability `ones`/2^60, exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Coin {
    ones: u64,
}

impl Coin {
    const BITS: u32 = 60;
    /// What the probability is counted in.
    pub const WHOLE: u64 = 1 << Coin::BITS;
    /// As likely as not.
    pub const FAIR: Coin = Coin { ones: Coin::WHOLE / 2 };

    /// The unlikely side of `odds`, 1/(1 + odds), rounded up: away from the odds, so that they are kept.
    pub fn against(odds: Odds) -> Coin {
        let total = odds.yes() + odds.no();
        let ones = (u128::from(Coin::WHOLE) * odds.no()).div_ceil(total);
        // The odds are at least 1, so this is at most one half.
        Coin { ones: ones as u64 }
    }

    /// The nearest coin to a probability.
    pub fn nearest(probability: Probability) -> Coin {
        Coin { ones: (probability.get() * Coin::WHOLE as f64).round() as u64 }
    }

    /// A coin by its count of 2^60ths.
    ///
    /// # Errors
    /// Refuses more than [`Coin::WHOLE`].
    pub fn new(ones: u64) -> Result<Coin, Refusal> {
        if ones <= Coin::WHOLE {
            Ok(Coin { ones })
        } else {
            Err(Refusal::out_of_range("coin", ones, "at most 2^60 of 2^60"))
        }
    }

    /// The coin that shows zero when this one shows one.
    pub fn complement(self) -> Coin {
        Coin { ones: Coin::WHOLE - self.ones }
    }

    /// The numerator over 2^60.
    pub fn ones(self) -> u64 {
        self.ones
    }

    /// The probability of a one, to the nearest.
    pub fn chance(self) -> f64 {
        self.ones as f64 / Coin::WHOLE as f64
    }

    /// One toss.
    ///
    /// # Promise  Exact; reads 60 bits whatever the outcome
    #[inline]
    pub fn toss(self, bits: &mut impl Bits) -> bool {
        bits.bits(Coin::BITS) < self.ones
    }

    /// 64 independent tosses.
    ///
    /// Each lane reads a binary fraction from its top bit on, and shows a one if it is below the bias. The first four bits
    /// are compared in all lanes at once; that leaves about four lanes equal so far, which share words, a byte each; and
    /// those that are equal still, one in 64 words or so, read the rest alone. So five words give 64 tosses, nearly always.
    ///
    /// # Promise  Exact
    #[inline]
    pub fn toss_64(self, bits: &mut impl Bits) -> u64 {
        if self.ones == Coin::WHOLE {
            return u64::MAX;
        }
        let (mut ones, mut equal) = (0, u64::MAX);
        for place in (Coin::AFTER_FOUR..Coin::BITS).rev() {
            // Below the last set bit of the bias, what is equal so far cannot become smaller.
            if self.ones << (64 - 1 - place) == 0 {
                return ones;
            }
            let fraction = bits.bits(64);
            // All ones where the bias has a one: then a zero decides for one, else a one decides for zero.
            let bias = 0u64.wrapping_sub(self.ones >> place & 1);
            ones |= equal & !fraction & bias;
            equal &= !(fraction ^ bias);
        }
        if self.ones << (64 - Coin::AFTER_FOUR) != 0 {
            ones |= self.settle(equal, bits);
        }
        ones
    }

    /// Bits that are left after the first four.
    const AFTER_FOUR: u32 = Coin::BITS - 4;
    /// Bits that are left after a further byte.
    const AFTER_BYTE: u32 = Coin::AFTER_FOUR - 8;

    /// The lanes among `equal` that show a one, given that their first four bits are those of the bias.
    #[inline]
    fn settle(self, mut equal: u64, bits: &mut impl Bits) -> u64 {
        let (byte, rest) = (self.ones >> Coin::AFTER_BYTE & 255, self.ones & ((1 << Coin::AFTER_BYTE) - 1));
        let (mut ones, mut tied) = (0, 0);
        while equal != 0 {
            let mut shared = bits.bits(64);
            for _ in 0..8 {
                // After the last lane these are shifts of nothing.
                let lane = equal & equal.wrapping_neg();
                let fraction = shared & 255;
                ones |= if fraction < byte { lane } else { 0 };
                tied |= if fraction == byte { lane } else { 0 };
                equal ^= lane;
                shared >>= 8;
            }
        }
        while tied != 0 && rest != 0 {
            let lane = tied & tied.wrapping_neg();
            ones |= if bits.bits(Coin::AFTER_BYTE) < rest { lane } else { 0 };
            tied ^= lane;
        }
        ones
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use veracity_testkit::short;

    /// Gives lane i the bits of i, top bit first: 64 lanes see all strings of six bits. After four, the lanes that are equal
    /// so far are four neighbours, and their bytes begin with 00, 01, 10 and 11.
    struct AllStrings {
        place: u32,
    }

    impl Bits for AllStrings {
        fn bits(&mut self, count: u32) -> u64 {
            assert!(count == 64, "no lane is tied after twelve bits");
            if self.place == 2 {
                return 0xc080_4000;
            }
            self.place -= 1;
            (0..64).filter(|lane| lane >> self.place & 1 == 1).fold(0, |word, lane: u64| word | 1 << lane)
        }
    }

    /// Words and then numbers, as written.
    struct Written(Vec<u64>);

    impl Bits for Written {
        fn bits(&mut self, count: u32) -> u64 {
            let next = self.0.remove(0);
            assert!(count == 64 || next >> count == 0);
            next
        }
    }

    #[test]
    fn lanes_that_stay_equal_are_decided_by_all_their_bits() {
        // The bias is 0.1010 11110000 and then 48 bits that are the number 5. All lanes begin 1010.
        let coin = Coin::new(0b1010 << 56 | 0b1111_0000 << 48 | 5).unwrap();
        let ones = |bytes: u64, rest: &[u64]| {
            let mut words = vec![u64::MAX, 0, u64::MAX, 0];
            words.extend([bytes; 8]);
            words.extend(rest);
            let mut written = Written(words);
            let ones = coin.toss_64(&mut written);
            assert!(written.0.is_empty());
            ones
        };
        assert_eq!(ones(0xefef_efef_efef_efef, &[]), u64::MAX);
        assert_eq!(ones(0xf1f1_f1f1_f1f1_f1f1, &[]), 0);
        // Every eighth byte is equal; of those lanes the first four read 4, below 5, and the others 5 and more.
        let tied = ones(0xffff_ffff_ffff_fff0, &[4, 4, 4, 4, 5, 5, 6, (1 << 48) - 1]);
        assert_eq!(tied, 1 | 1 << 8 | 1 << 16 | 1 << 24);
    }

    #[test]
    fn every_bias_in_sixty_fourths_is_exact_by_enumeration() {
        for numerator in 0..=64u64 {
            let coin = Coin::new(numerator << (Coin::BITS - 6)).unwrap();
            let ones = coin.toss_64(&mut AllStrings { place: 6 });
            assert_eq!(u64::from(ones.count_ones()), numerator);
            // Not only how many: the fraction i/64 is below the bias exactly for i < numerator.
            assert!((0..64).all(|lane| (ones >> lane & 1 == 1) == (lane < numerator)));
        }
    }

    #[test]
    fn the_unlikely_side_keeps_the_odds_in_whole_numbers() {
        for epsilon in [1e-6, 0.1, 1.0, 3.0, 16.0] {
            let odds = Odds::within(short::epsilon(epsilon)).unwrap();
            let coin = Coin::against(odds);
            let (zero, one) = (u128::from(coin.complement().ones()), u128::from(coin.ones()));
            // zero/one ≤ yes/no in whole numbers: `one` is about 2^60/(1 + odds), so both products are below 2^111.
            assert!(zero * odds.no() <= one * odds.yes(), "{epsilon}");
            assert!(zero as f64 / one as f64 >= odds.ratio() * (1.0 - 1e-9), "{epsilon}");
        }
    }

    #[test]
    fn more_than_certain_is_refused() {
        assert!(Coin::new(Coin::WHOLE + 1).is_err());
    }
}
