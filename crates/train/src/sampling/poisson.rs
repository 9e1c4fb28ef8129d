//! Batches that each record enters independently, by the gaps between those that do: the cost is that of the batch and not
//! of the data.
//!
//! A gap is geometric: P(gap ≥ g) = (1 − q)^g. For all but small rates it is looked up: a uniform word is held against the
//! distribution function, of which a guide gives the first place to look. A gap longer than the table is that long and then a
//! gap anew, since geometric gaps have no memory. Small rates have long gaps, and take a logarithm each.

use veracity_core::SamplingRate;
use veracity_noise::{Bits, Stream};

/// The most gaps in a table; rates below its inverse use logarithms.
const LONGEST: usize = 1024;
/// The guide has an entry for each value of this many leading bits.
const GUIDE_BITS: u32 = 10;

/// The law of the gaps for a rate.
#[derive(Debug, Clone)]
pub(crate) enum Gaps {
    /// All records enter.
    None,
    Table(Table),
    Logarithm {
        /// log(1 − q).
        log_miss: f64,
    },
}

#[derive(Debug, Clone)]
pub(crate) struct Table {
    /// P(gap ≤ g), in units of 2^-64.
    limits: Vec<u64>,
    /// The first gap whose limit lies beyond each value of the leading bits.
    guide: Vec<u16>,
}

impl Gaps {
    pub(crate) fn new(rate: SamplingRate) -> Gaps {
        let q = rate.get();
        if q >= 1.0 {
            return Gaps::None;
        }
        let log_miss = libm::log1p(-q);
        if q * (LONGEST as f64) < 1.0 {
            Gaps::Logarithm { log_miss }
        } else {
            Gaps::Table(Table::new(log_miss))
        }
    }

    /// The distribution function of gaps in units of 2^-64, where there is a table.
    pub(crate) fn limits(&self) -> Option<&[u64]> {
        match self {
            Gaps::Table(table) => Some(&table.limits),
            Gaps::None | Gaps::Logarithm { .. } => None,
        }
    }

    /// The positions of a batch, rising.
    ///
    /// # Promise   Whether a position is in depends on the stream and on positions before it alone
    /// # Numerics  Every gap's chance is right within 2^-51 absolutely, its expected length within a relative 2^-40
    pub(crate) fn draw(&self, positions: usize, batch: &mut Vec<u32>, rng: &mut Stream) {
        match self {
            Gaps::None => batch.extend(0..positions as u32),
            Gaps::Table(table) => {
                let mut next = table.gap(rng);
                while next < positions as u64 {
                    batch.push(next as u32);
                    next += 1 + table.gap(rng);
                }
            }
            Gaps::Logarithm { log_miss } => {
                let mut next = far_gap(*log_miss, rng);
                while next < positions as f64 {
                    batch.push(next as u32);
                    next += 1.0 + far_gap(*log_miss, rng);
                }
            }
        }
    }
}

/// A gap by the logarithm of a uniform number on (0, 1].
fn far_gap(log_miss: f64, rng: &mut impl Bits) -> f64 {
    let u = (rng.bits(53) + 1) as f64 * (f64::EPSILON / 2.0);
    (libm::log(u) / log_miss).floor()
}

impl Table {
    fn new(log_miss: f64) -> Table {
        let unit = (1u128 << 64) as f64;
        let chance = |gap: usize| -libm::expm1((gap + 1) as f64 * log_miss);
        // A table ends where hardly a gap goes past it. Casts to integers stop at the largest.
        let limits: Vec<u64> = (0..LONGEST)
            .take_while(|gap| *gap == 0 || chance(gap - 1) < 1.0 - 1e-6)
            .map(|gap| (chance(gap) * unit) as u64)
            .collect();
        let first = |lead: u64| limits.partition_point(|limit| limit >> (64 - GUIDE_BITS) < lead);
        let guide = (0..1 << GUIDE_BITS).map(|lead| first(lead) as u16).collect();
        Table { limits, guide }
    }

    /// A gap. Half a word decides nearly always; where it does not, the other half is drawn too.
    #[inline]
    fn gap(&self, rng: &mut impl Bits) -> u64 {
        let mut before = 0;
        loop {
            let high = rng.bits(32);
            let mut gap = usize::from(self.guide[(high >> (32 - GUIDE_BITS)) as usize]);
            while let Some(limit) = self.limits.get(gap)
                && limit >> 32 < high
            {
                gap += 1;
            }
            if self.limits.get(gap).is_some_and(|limit| limit >> 32 == high) {
                let word = high << 32 | rng.bits(32);
                gap += self.limits[gap..].iter().take_while(|limit| **limit <= word).count();
            }
            if gap < self.limits.len() {
                return before + gap as u64;
            }
            before += gap as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use veracity_noise::{Entropy, Family, Purpose};
    use veracity_testkit::short;

    fn gaps(rate: f64) -> Gaps {
        Gaps::new(short::rate(rate))
    }

    fn streams() -> Family {
        Entropy::seeded(12).family(Purpose::Batch, 0, 0)
    }

    /// A word, and then nothing but ones.
    struct Word(u64);

    impl Bits for Word {
        fn bits(&mut self, count: u32) -> u64 {
            assert_eq!(count, 32);
            let high = self.0 >> 32;
            self.0 = self.0 << 32 | u64::from(u32::MAX);
            high
        }
    }

    /// Not a truth but a promise: a machine that draws other batches would repeat no recorded run.
    #[test]
    fn the_batches_of_a_seed_are_pinned() {
        let drawn = [0.0357, 0.2, 0.0001].map(|rate| {
            let (gaps, mut batch) = (gaps(rate), Vec::new());
            (0..50).for_each(|step| gaps.draw(20_000, &mut batch, &mut streams().stream(step)));
            batch.iter().fold(0u64, |sum, at| (sum ^ u64::from(*at)).wrapping_mul(0x0000_0100_0000_01b3))
        });
        assert_eq!(
            drawn,
            [13_999_911_996_170_186_262, 9_380_023_964_499_921_219, 14_935_268_178_470_913_783]
        );
    }

    #[test]
    fn a_looked_up_gap_is_the_first_whose_limit_exceeds_the_word() {
        for rate in [0.001, 0.0357, 0.2, 0.5, 0.93] {
            let Gaps::Table(table) = gaps(rate) else { panic!("{rate} has no table") };
            for (gap, limit) in table.limits.iter().enumerate() {
                // Beside every limit, and far from any.
                for word in [limit - 1, *limit, limit.saturating_add(1), limit ^ 1 << 31, limit ^ 1 << 62] {
                    let slow = table.limits.iter().take_while(|limit| **limit <= word).count();
                    if slow < table.limits.len() {
                        assert_eq!(table.gap(&mut Word(word)), slow as u64, "{rate}, {gap}");
                    }
                }
                // P(gap ≤ g) as repeated multiplication has it, which is good to 1e-13 here.
                let miss = (0..=gap).fold(1.0, |miss, _| miss * (1.0 - rate));
                assert!((*limit as f64 / 2f64.powi(64) - (1.0 - miss)).abs() < 1e-12, "{rate}, {gap}");
            }
        }
    }

    /// How far the share of included positions is from a rate, in standard deviations, and how often neighbours come together.
    fn departures(gaps: &Gaps, rate: f64) -> (f64, f64) {
        let (draws, positions) = (400, 20_000);
        let (mut singles, mut pairs) = (0u64, 0u64);
        for step in 0..draws {
            let mut batch = Vec::new();
            gaps.draw(positions, &mut batch, &mut streams().stream(step));
            singles += batch.len() as u64;
            pairs += batch.windows(2).filter(|pair| pair[0] + 1 == pair[1]).count() as u64;
        }
        let n = draws as f64 * positions as f64;
        let off = |count: u64, p: f64| (count as f64 - n * p) / (n * p * (1.0 - p)).sqrt();
        (off(singles, rate), off(pairs, rate * rate))
    }

    #[test]
    fn records_enter_at_the_rate_and_independently() {
        // Six standard deviations have a chance of 2e-9; pairs overlap a little, which widens theirs by less than a half.
        for rate in [0.0003, 0.003, 0.0357, 0.3, 0.9] {
            let (single, pair) = departures(&gaps(rate), rate);
            assert!(single.abs() < 6.0 && pair.abs() < 9.0, "{rate}: {single} {pair}");
            let (single, _) = departures(&gaps(rate / 1.2), rate);
            assert!(single < -6.0, "the twin: a rate wrong by a fifth, {rate}: {single}");
        }
    }

    #[test]
    fn records_at_the_end_do_not_move_the_others() {
        for rate in [0.0004, 0.05, 0.5, 1.0] {
            for step in 0..200 {
                let (mut few, mut many) = (Vec::new(), Vec::new());
                gaps(rate).draw(1000, &mut few, &mut streams().stream(step));
                gaps(rate).draw(1017, &mut many, &mut streams().stream(step));
                many.retain(|position| *position < 1000);
                assert_eq!(few, many);
            }
        }
    }
}
