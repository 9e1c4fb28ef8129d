//! Features stored as one byte each, where they are levels such as the gray values of an image.
//!
//! A cohort of small models spends most of its time waiting for records from memory. Four times as many of them fit into a
//! cache when each feature is a byte, and making floats of bytes takes less time than waiting.

use crate::vectors::vectorize;

/// What levels are divided by: greys of images as parts of one, of the digits, and whole numbers.
const DIVISORS: [f32; 3] = [255.0, 16.0, 1.0];

/// Features that are all level/divisor for whole levels up to 255, exactly.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ByteFeatures {
    levels: Vec<u8>,
    unit: Unit,
}

/// What one level is worth, to twice the digits of a float: a product takes less time than a quotient.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Unit {
    high: f32,
    low: f32,
}

impl Unit {
    fn new(divisor: f32) -> Unit {
        let unit = 1.0 / f64::from(divisor);
        let high = unit as f32;
        Unit { high, low: (unit - f64::from(high)) as f32 }
    }

    #[inline(always)]
    fn of(self, level: u8) -> f32 {
        let level = f32::from(level);
        level.mul_add(self.high, level * self.low)
    }
}

impl ByteFeatures {
    /// The same features, or nothing where some are no levels.
    pub(crate) fn new(features: &[f32]) -> Option<ByteFeatures> {
        DIVISORS.into_iter().find_map(|divisor| {
            let unit = Unit::new(divisor);
            // What is no level is sent to one, and found out by the comparison, bit for bit.
            let level = |x: &f32| {
                let level = (x * divisor).round() as u8;
                (unit.of(level).to_bits() == x.to_bits()).then_some(level)
            };
            let levels: Option<Vec<u8>> = features.iter().map(level).collect();
            levels.map(|levels| ByteFeatures { levels, unit })
        })
    }

    /// All levels, and what one is worth.
    pub(crate) fn levels(&self) -> (&[u8], f64) {
        (&self.levels, f64::from(self.unit.high) + f64::from(self.unit.low))
    }

    /// Writes the features of some records of so many each, with the bits that they had.
    pub(crate) fn unpack(&self, width: usize, records: impl Iterator<Item = usize>, to: &mut [f32]) {
        vectorize(
            #[inline(always)]
            || {
                for (row, record) in to.chunks_exact_mut(width).zip(records) {
                    for (to, level) in row.iter_mut().zip(&self.levels[record * width..][..width]) {
                        *to = self.unit.of(*level);
                    }
                }
            },
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_comes_back_bit_for_bit() {
        for divisor in DIVISORS {
            let features: Vec<f32> = (0..2000u32).map(|i| (i * 37 % 256) as f32 / divisor).collect();
            let packed = ByteFeatures::new(&features).expect("levels");
            for width in [1, 7, 8, 40, 1000] {
                let records = || (0..2000 / width).rev().step_by(2);
                let mut back = vec![9.0; records().count() * width];
                packed.unpack(width, records(), &mut back);
                let expected = records().flat_map(|record| &features[record * width..][..width]);
                assert!(back.iter().zip(expected).all(|(a, b)| a.to_bits() == b.to_bits()));
            }
        }
    }

    #[test]
    fn what_is_no_level_is_not_packed() {
        for odd in
            [0.5f32, -1.0 / 255.0, 256.0, f32::NAN, f32::INFINITY, -0.0, 1e-9, f32::from_bits(0x3b80_8082)]
        {
            assert_eq!(ByteFeatures::new(&[0.0, 1.0 / 255.0, odd]), None, "{odd}");
        }
        // The twin: the neighbour of that last one is a level.
        assert!(ByteFeatures::new(&[f32::from_bits(0x3b80_8081)]).is_some());
    }
}
