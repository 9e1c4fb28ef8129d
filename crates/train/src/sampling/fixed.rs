//! Sets of a fixed size, drawn without replacement.

use veracity_core::Count;
use veracity_noise::{Stream, exact::uniform_below};

/// Draws sets of positions. It remembers nothing from one draw to the next; it only keeps its memory.
#[derive(Debug, Clone)]
pub(crate) struct Subset {
    batch: u64,
    /// One bit for each position; all zero between draws.
    taken: Vec<u64>,
}

impl Subset {
    pub(crate) fn new(batch: Count) -> Subset {
        Subset { batch: batch.get(), taken: Vec::new() }
    }

    /// A set of positions, rising.
    ///
    /// # Promise    Every set of the size is equally likely, exactly
    /// # Reference  [BentleyFloyd87]
    /// # Assumes    The batch is no larger than the number of positions, as the plan's check has seen
    pub(crate) fn draw(&mut self, positions: usize, batch: &mut Vec<u32>, rng: &mut Stream) {
        self.taken.resize(positions.div_ceil(64), 0);
        let size = (self.batch as usize).min(positions);
        for last in positions - size..positions {
            // At most `last`, so both casts are exact.
            let candidate = uniform_below(last as u128 + 1, rng) as usize;
            let chosen = if self.is_taken(candidate) { last } else { candidate };
            self.taken[chosen / 64] |= 1 << (chosen % 64);
            batch.push(chosen as u32);
        }
        for position in &*batch {
            self.taken[*position as usize / 64] = 0;
        }
        batch.sort_unstable();
    }

    fn is_taken(&self, position: usize) -> bool {
        self.taken[position / 64] >> (position % 64) & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;
    use veracity_noise::{Entropy, Purpose};
    use veracity_testkit::short;

    #[test]
    fn every_set_is_equally_likely() {
        let family = Entropy::seeded(3).family(Purpose::Batch, 0, 0);
        let mut subset = Subset::new(short::count(3));
        let mut seen: HashMap<Vec<u32>, u32> = HashMap::new();
        let draws = 40_000;
        for step in 0..draws {
            let mut batch = Vec::new();
            subset.draw(6, &mut batch, &mut family.stream(step));
            assert!(batch.windows(2).all(|pair| pair[0] < pair[1]) && batch.len() == 3);
            *seen.entry(batch).or_default() += 1;
        }
        // χ² with 19 degrees of freedom: 62.2 has chance 2e-6. scipy.stats.chi2.isf(2e-6, 19)
        let chi = |counts: &mut dyn Iterator<Item = f64>, each: f64| -> f64 {
            counts.map(|count| (count - each) * (count - each) / each).sum()
        };
        assert_eq!(seen.len(), 20);
        let each = draws as f64 / 20.0;
        assert!(chi(&mut seen.values().map(|count| f64::from(*count)), each) < 62.2);
        // The twin: a sampler that redraws a collision as its successor prefers neighbours, by as little as a tenth.
        let skewed = |i: usize| each * if i < 4 { 1.1 } else { 0.975 };
        assert!(chi(&mut (0..20).map(skewed), each) > 62.2);
    }

    #[test]
    fn all_records_are_a_set_too() {
        let mut batch = Vec::new();
        let stream = &mut Entropy::seeded(3).family(Purpose::Batch, 0, 0).stream(0);
        Subset::new(short::count(70)).draw(70, &mut batch, stream);
        assert_eq!(batch, (0..70).collect::<Vec<u32>>());
    }
}
