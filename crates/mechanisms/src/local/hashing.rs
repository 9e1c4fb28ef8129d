//! Optimised local hashing: the value is hashed to a few cells by a function the client draws, and the cell randomised.

use crate::local::{Chances, Odds, Report, domain};
use veracity_core::{Epsilon, Refusal};
use veracity_noise::Bits;

/// Local hashing of `size` values to about e^ε + 1 cells.
///
/// The seed is drawn without looking at the value and sent in the clear. Whatever the function, the cell is randomised with
/// odds e^ε : 1, so privacy does not rest on the hash. Accuracy does: two different values must meet in a cell no more often
/// than chance. A seed is a multiplier and an offset (a, b) of 32 bits; v goes to the top bits of (a v + b) mod 2^32, which
/// for a pair of values are uniform and independent. So the chances of support are exact over the draw of the seed.
///
/// # Reference  \[WangBlockiLiJha17\] (OLH); \[Dietzfelbinger96\] (multiply-shift with an offset)
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LocalHashing {
    size: u32,
    epsilon: Epsilon,
    odds: Odds,
    cells: u32,
    /// Top bits of a 32-bit product that are pairwise independent: 33 less the bits of a value.
    top: u32,
}

impl LocalHashing {
    /// More cells would leave too few of the 13 to 31 top bits to each.
    const MOST_CELLS: u128 = 1 << 12;

    /// Checks the number of values and ε; takes e^ε + 1 cells, rounded to a whole number, and at most 2^12.
    ///
    /// # Errors
    /// Refuses domain sizes and ε out of range.
    pub fn new(size: u32, epsilon: Epsilon) -> Result<Self, Refusal> {
        domain::check_size(size as usize)?;
        let odds = Odds::within(epsilon)?;
        let nearest = (odds.yes() + odds.no() / 2) / odds.no();
        let value_bits = u32::BITS - (size - 1).leading_zeros();
        Ok(LocalHashing {
            size,
            epsilon,
            odds,
            cells: (nearest + 1).min(LocalHashing::MOST_CELLS) as u32,
            top: (33 - value_bits).min(31),
        })
    }

    /// How many values.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// How many cells a value may be hashed to.
    pub fn cells(&self) -> u32 {
        self.cells
    }

    /// The ε of one report.
    pub fn epsilon(&self) -> Epsilon {
        self.epsilon
    }

    /// A report on `value`: a seed, and the cell of the value or another.
    ///
    /// # Errors
    /// Refuses a value outside of the domain.
    pub fn encode(&self, value: u32, bits: &mut impl Bits) -> Result<Report, Refusal> {
        domain::check_place(value, self.size)?;
        let seed = bits.bits(64);
        let truth = self.cell(seed, value);
        let cell = match self.odds.choose(self.cells - 1, bits) {
            None => truth,
            Some(other) if other < truth => other,
            Some(other) => other + 1,
        };
        Ok(Report::Hashed { seed, cell })
    }

    /// The weights of all cells together.
    fn total(&self) -> u128 {
        self.odds.yes() + u128::from(self.cells - 1) * self.odds.no()
    }

    /// The cell of a value under a seed.
    pub fn cell(&self, seed: u64, value: u32) -> u32 {
        let (a, b) = split(seed);
        let product = a.wrapping_mul(value).wrapping_add(b);
        ((u64::from(product >> (32 - self.top)) * u64::from(self.cells)) >> self.top) as u32
    }

    /// The first product of a cell; the last cell ends at 2^32.
    fn start(&self, cell: u32) -> u64 {
        (u64::from(cell) << self.top).div_ceil(u64::from(self.cells)) << (32 - self.top)
    }

    /// P(report | value), the seed included.
    pub fn likelihood(&self, value: u32, report: &Report) -> f64 {
        match report {
            Report::Hashed { seed, cell } if *cell < self.cells => {
                let own = *cell == self.cell(*seed, value);
                let weight = if own { self.odds.yes() } else { self.odds.no() };
                weight as f64 / self.total() as f64 * 2f64.powi(-64)
            }
            _ => 0.0,
        }
    }

    /// The realised chances of support: cells may differ in size by one part of 2^top, and that is counted.
    pub fn chances(&self) -> Chances {
        let meet: f64 = (0..self.cells)
            .map(|cell| (self.start(cell + 1) - self.start(cell)) as f64 / 2f64.powi(32))
            .map(|share| share * share)
            .sum();
        let total = self.total() as f64;
        let (own, wrong) = (self.odds.yes() as f64 / total, self.odds.no() as f64 / total);
        Chances { own, other: own * meet + wrong * (1.0 - meet) }
    }

    pub(crate) fn fits(&self, report: &Report) -> bool {
        matches!(report, Report::Hashed { cell, .. } if *cell < self.cells)
    }

    pub(crate) fn absorb(&self, reports: &[Report], counts: &mut [i64]) {
        let mut supports = vec![0u32; counts.len()];
        // A counter of 32 bits, emptied before it can overflow.
        for batch in reports.chunks(1 << 30) {
            for report in batch {
                if let Report::Hashed { seed, cell } = report {
                    let start = self.start(*cell);
                    // A cell is at most half of 2^32, so its width fits.
                    let width = (self.start(cell + 1) - start) as u32;
                    let (a, b) = split(*seed);
                    add_supports(&mut supports, a, b.wrapping_sub(start as u32), width);
                }
            }
            for (count, support) in counts.iter_mut().zip(&mut supports) {
                *count += i64::from(std::mem::take(support));
            }
        }
    }
}

/// Multiplier and offset.
fn split(seed: u64) -> (u32, u32) {
    ((seed >> 32) as u32, seed as u32)
}

/// Adds one to each value v whose product a v + offset is below `width`. Written in blocks of 16 lanes, so that the
/// compiler keeps them in vector registers.
#[inline]
fn add_supports(supports: &mut [u32], a: u32, offset: u32, width: u32) {
    const LANES: usize = 16;
    let mut products: [u32; LANES] =
        std::array::from_fn(|lane| a.wrapping_mul(lane as u32).wrapping_add(offset));
    let stride = a.wrapping_mul(LANES as u32);
    for block in supports.chunks_mut(LANES) {
        if let Ok(block) = <&mut [u32; LANES]>::try_from(&mut *block) {
            for lane in 0..LANES {
                block[lane] += u32::from(products[lane] < width);
                products[lane] = products[lane].wrapping_add(stride);
            }
        } else {
            for (support, product) in block.iter_mut().zip(products) {
                *support += u32::from(product < width);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use veracity_noise::{Entropy, Key, Purpose};
    use veracity_testkit::short;

    #[test]
    fn the_fast_count_of_supports_is_the_slow_one() {
        let mut rng = Entropy::seeded(8).stream(Purpose::Report, Key::default());
        for (size, epsilon) in [(2, 0.1), (37, 1.0), (1024, 1.0), (1000, 4.0), (3, 9.0)] {
            let hashing = LocalHashing::new(size, short::epsilon(epsilon)).unwrap();
            let reports: Vec<Report> =
                (0..200).map(|i| hashing.encode(i % size, &mut rng).unwrap()).collect();
            let mut counts = vec![0; size as usize];
            hashing.absorb(&reports, &mut counts);
            for (value, count) in (0..size).zip(counts) {
                let slow = reports
                    .iter()
                    .filter(|report| matches!(report, Report::Hashed { seed, cell } if *cell == hashing.cell(*seed, value)))
                    .count();
                assert_eq!(count, slow as i64, "value {value} of {size}");
            }
        }
    }

    #[test]
    fn pairs_of_values_meet_as_often_as_the_chances_say_over_all_seeds() {
        // Two independent uniform numbers of `top` bits: enough to see that a v + b gives them over a smaller ring, where
        // all seeds can be listed. With values of 3 bits and a ring of 2^8, the top 6 bits are pairwise independent.
        const RING: u32 = 8;
        const TOP: u32 = RING + 1 - 3;
        for (one, two) in [(0u32, 1u32), (0, 4), (2, 6), (3, 5), (0, 7)] {
            let mut seen = vec![0u32; 1 << (2 * TOP)];
            for a in 0..1u32 << RING {
                for b in 0..1u32 << RING {
                    let hash = |v: u32| ((a * v + b) % (1 << RING)) >> (RING - TOP);
                    seen[(hash(one) << TOP | hash(two)) as usize] += 1;
                }
            }
            assert!(seen.iter().all(|&times| times == 1 << (2 * RING - 2 * TOP)), "{one} {two}");
        }
    }
}
