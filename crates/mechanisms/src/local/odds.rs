//! e^ε from below, as whole numbers: what every client weighs its outcomes with.

use veracity_core::{Epsilon, Refusal};
use veracity_noise::{Bits, exact::uniform_below};

/// Odds `yes` : `no` that never exceed e^ε : 1. `no` is 2^50.
///
/// # Examples
///
/// ```
/// use veracity_core::Epsilon;
/// use veracity_mechanisms::local::Odds;
///
/// let odds = Odds::within(Epsilon::new(1.0)?)?;
/// assert!(odds.ratio() <= 1f64.exp() && odds.ratio() > 1f64.exp() * (1.0 - 1e-12));
/// // Ten choices that share an ε of 1 multiply to no more than e.
/// assert!(Odds::share(Epsilon::new(1.0)?, 10)?.ratio().powi(10) <= 1f64.exp() * (1.0 + 1e-14));
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Odds {
    yes: u128,
}

impl Odds {
    /// Fractional bits of the fixed-point numbers, and so of `no`.
    const BITS: u32 = 50;
    /// The least and largest ε: below, no count is large enough to notice; above, the report is all but the value.
    const RANGE: std::ops::RangeInclusive<f64> = 1e-6..=16.0;

    /// The odds for a whole report.
    ///
    /// # Promise   e^ε (1 − 1e-13) ≤ yes/no ≤ e^ε, and the same numbers on every machine
    /// # Numerics  Taylor's series in whole numbers, every term rounded down. All terms are positive, so the sum is below e^ε.
    ///   A unit lost in one term costs at most e^ε units in the rest of the series; there are fewer than 100 terms of
    ///   2^-50.
    ///
    /// # Errors
    /// Refuses an ε outside of 1e-6 to 16.
    pub fn within(epsilon: Epsilon) -> Result<Odds, Refusal> {
        if Odds::RANGE.contains(&epsilon.get()) {
            Ok(Odds::below_exp(epsilon.get()))
        } else {
            Err(Refusal::out_of_range("epsilon", epsilon, "1e-6 ≤ epsilon ≤ 16 for local privacy"))
        }
    }

    /// The odds for one of `parts` independent choices whose losses add up to ε.
    ///
    /// # Promise  (yes/no)^parts ≤ e^ε
    ///
    /// # Errors
    /// Refuses an ε outside of 1e-6 to 16.
    pub fn share(epsilon: Epsilon, parts: u32) -> Result<Odds, Refusal> {
        Odds::within(epsilon)?;
        let part = epsilon.get() / f64::from(parts);
        // The quotient may have been rounded up; a power of two is exact.
        Ok(Odds::below_exp(if parts.is_power_of_two() { part } else { part.next_down() }))
    }

    fn below_exp(x: f64) -> Odds {
        let one = 1u128 << Odds::BITS;
        // Scaling by a power of two is exact; the cast rounds down.
        let x = (x * one as f64) as u128;
        let (mut sum, mut term) = (0, one);
        let mut order = 0;
        // The largest term for x = 16 is below 2^20, so that products stay below 2^(70 + 54).
        while term > 0 {
            sum += term;
            order += 1;
            term = term * x / (order << Odds::BITS);
        }
        Odds { yes: sum }
    }

    /// The weight of the outcome that the value favours.
    pub fn yes(self) -> u128 {
        self.yes
    }

    /// The weight of any other outcome.
    pub fn no(self) -> u128 {
        1 << Odds::BITS
    }

    /// Draws the favoured outcome (none) with weight `yes`, or one of `others` outcomes with weight `no` each.
    ///
    /// Slots of weight `no` are drawn uniformly: one for each other outcome, and as many as `yes` needs; the last of those
    /// is only in part its own, and the draw is repeated when it falls on the rest. Few bits decide nearly always.
    ///
    /// # Promise  Exact; how many bits are read says nothing of which outcome is favoured
    #[inline]
    pub(crate) fn choose(self, others: u32, bits: &mut impl Bits) -> Option<u32> {
        let (whole, rest) = (self.yes >> Odds::BITS, self.yes & (self.no() - 1));
        let slots = u128::from(others) + whole + 1;
        loop {
            let slot = uniform_below(slots, bits);
            if slot < u128::from(others) {
                return Some(slot as u32);
            }
            if slot + 1 < slots || u128::from(bits.bits(Odds::BITS)) < rest {
                return None;
            }
        }
    }

    /// The odds as a float, to the nearest.
    pub fn ratio(self) -> f64 {
        self.yes as f64 / self.no() as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use veracity_testkit::short;

    fn odds(epsilon: f64) -> Odds {
        Odds::within(short::epsilon(epsilon)).unwrap()
    }

    /// mpmath 1.4, 40 digits: [int(mp.floor(mp.exp(mp.mpf(x)) * 10**13)) for x in (1e-6, 0.5, 1, 2, 4, 8, 16)]
    const GOLDEN: [(f64, u128); 7] = [
        (1e-6, 10000010000005),
        (0.5, 16487212707001),
        (1.0, 27182818284590),
        (2.0, 73890560989306),
        (4.0, 545981500331442),
        (8.0, 29809579870417282),
        (16.0, 88861105205078726367),
    ];

    #[test]
    fn odds_are_below_e_to_the_epsilon_and_close() {
        for (epsilon, scaled) in GOLDEN {
            let odds = odds(epsilon);
            // All in whole numbers: yes/no ≤ (scaled + 1)/10^13, for e^ε lies between scaled and scaled + 1.
            let ours = odds.yes() * 10u128.pow(13);
            assert!(ours <= (scaled + 1) * odds.no(), "{epsilon}");
            let slack = 2 * odds.no() + scaled * odds.no() / 10u128.pow(13);
            assert!(ours + slack >= scaled * odds.no(), "{epsilon}");
        }
    }

    /// Answers as written, each below 2^count.
    struct Written(Vec<u64>);

    impl Bits for Written {
        fn bits(&mut self, count: u32) -> u64 {
            let next = self.0.remove(0);
            assert!(next >> count == 0, "{next} has more than {count} bits");
            next
        }
    }

    #[test]
    fn a_choice_has_the_weights_by_enumeration() {
        // e^0.5 is 1.65: one slot for each of two others, one whole slot and part of another for the favoured one.
        let odds = odds(0.5);
        let rest = (odds.yes() - odds.no()) as u64;
        let choose = |draws: &[u64]| {
            let mut written = Written(draws.to_vec());
            let choice = odds.choose(2, &mut written);
            assert!(written.0.is_empty(), "all was read");
            choice
        };
        assert_eq!([choose(&[0]), choose(&[1]), choose(&[2])], [Some(0), Some(1), None]);
        // The last slot is the favoured one's for exactly `rest` of its 2^50 draws; on the others all is drawn again.
        assert_eq!((choose(&[3, 0]), choose(&[3, rest - 1])), (None, None));
        assert_eq!((choose(&[3, rest, 1]), choose(&[3, (1 << 50) - 1, 2])), (Some(1), None));
        // So the weights are 1 + rest/2^50 to 1: yes to no.
        assert_eq!(odds.no() + u128::from(rest), odds.yes());
    }

    #[test]
    fn shares_multiply_to_no_more_than_the_whole() {
        let epsilon = short::epsilon(1.0);
        for parts in 1..=16 {
            let whole = Odds::share(epsilon, parts).unwrap().ratio().powi(parts as i32);
            assert!(whole <= 1f64.exp() * (1.0 + 1e-14) && whole >= 1f64.exp() * (1.0 - 1e-12), "{parts}");
        }
    }

    #[test]
    fn an_epsilon_without_meaning_here_is_refused() {
        for bad in [0.0, 1e-7, 16.1, f64::INFINITY] {
            assert!(Odds::within(short::epsilon(bad)).is_err());
        }
    }
}
