//! Coins of a fixed bias, one at a time or 64 at a time.

use crate::Odds;
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
    /// Each lane reads a binary fraction from its top bit on and compares it with the bias, all lanes at once; the word is
    /// done when no lane is still equal, after about seven steps.
    ///
    /// # Promise  Exact
    #[inline]
    pub fn toss_64(self, bits: &mut impl Bits) -> u64 {
        if self.ones == Coin::WHOLE {
            return u64::MAX;
        }
        // Below the last set bit of the bias no fraction that is still equal can become smaller.
        let last = self.ones.trailing_zeros().min(Coin::BITS);
        let (mut ones, mut equal) = (0, u64::MAX);
        for place in (last..Coin::BITS).rev() {
            let fraction = bits.bits(64);
            if self.ones >> place & 1 == 1 {
                ones |= equal & !fraction;
                equal &= fraction;
            } else {
                equal &= !fraction;
            }
            if equal == 0 {
                break;
            }
        }
        ones
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives lane i the bits of i, top bit first: 64 lanes see all strings of six bits.
    struct AllStrings {
        place: u32,
    }

    impl Bits for AllStrings {
        fn bits(&mut self, count: u32) -> u64 {
            assert!(count == 64 && self.place > 0, "more than six bits were read");
            self.place -= 1;
            (0..64).filter(|lane| lane >> self.place & 1 == 1).fold(0, |word, lane: u64| word | 1 << lane)
        }
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
            let odds = Odds::within(veracity_core::Epsilon::new(epsilon).unwrap()).unwrap();
            let coin = Coin::against(odds);
            let (zero, one) = (u128::from(coin.complement().ones()), u128::from(coin.ones()));
            // zero/one ≤ yes/no; both products are below 2^(60 + 74) only after a shift of the exact power of two.
            assert!(zero << 50 <= one.saturating_mul(odds.yes()), "{epsilon}");
            assert!(zero as f64 / one as f64 >= odds.ratio() * (1.0 - 1e-9), "{epsilon}");
        }
    }

    #[test]
    fn more_than_certain_is_refused() {
        assert!(Coin::new(Coin::WHOLE + 1).is_err());
    }
}
