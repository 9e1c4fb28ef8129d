//! How many values are present.

use super::{MISS, Method};
use crate::{Cell, Column, NoiseKind, NoisySum, Part, Preview};
use veracity_core::{Adjacency, Mechanism, NoiseMultiplier, Refusal};
use veracity_noise::NoiseStream;

/// One record is one or nothing, so the integer grid is the natural one and costs nothing.
///
/// A replaced record can only appear or vanish, which moves the count by one; it is charged as two contributions, like
/// every other answer under replace-one.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Count {
    count: NoisySum,
}

impl Count {
    pub(crate) fn new(noise: (NoiseKind, NoiseMultiplier), adjacency: Adjacency) -> Result<Count, Refusal> {
        Ok(Count { count: NoisySum::count("count", noise, adjacency)? })
    }
}

impl Method for Count {
    fn parts(&self) -> Vec<Part> {
        vec![self.count.part()]
    }

    fn mechanism(&self) -> Mechanism {
        self.count.mechanism()
    }

    fn preview(&self, _rows: u64) -> Preview {
        Preview { cells: 1, error_bar: self.count.half_width(MISS), rank_error: None }
    }

    fn release(&self, column: &Column, rng: &mut NoiseStream) -> Result<Vec<Cell>, Refusal> {
        let noisy = self.count.release(column.present() as i128, rng);
        Ok(vec![Cell::plain(self.count.value(noisy), self.count.half_width(MISS))])
    }
}
