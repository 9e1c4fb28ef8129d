//! All records once in each epoch, in a random order.

use veracity_core::Count;
use veracity_noise::{Family, exact::shuffle};

/// The order of one epoch.
#[derive(Debug, Clone)]
pub(crate) struct Order {
    batch: usize,
    /// The epoch whose order is at hand.
    epoch: Option<u64>,
    order: Vec<u32>,
}

impl Order {
    pub(crate) fn new(batch: Count) -> Order {
        Order { batch: batch.get() as usize, epoch: None, order: Vec::new() }
    }

    /// The batch of a step: the next so many positions of its epoch's order, or what is left of them.
    ///
    /// # Promise  The order is that of the epoch's own stream, wherever a run begins or resumes
    pub(crate) fn draw(&mut self, step: u64, positions: usize, batch: &mut Vec<u32>, rng: &Family) {
        let steps = positions.div_ceil(self.batch).max(1) as u64;
        let (epoch, at) = (step / steps, (step % steps) as usize * self.batch);
        if self.epoch != Some(epoch) || self.order.len() != positions {
            self.order.clear();
            self.order.extend(0..positions as u32);
            shuffle(&mut self.order, &mut rng.stream(epoch));
            self.epoch = Some(epoch);
        }
        batch.extend_from_slice(&self.order[at..(at + self.batch).min(positions)]);
        // The sum does not depend on the order, and memory is read more quickly in its own.
        batch.sort_unstable();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use veracity_noise::{Entropy, Purpose};
    use veracity_testkit::short;

    #[test]
    fn an_epoch_has_every_record_once_and_the_next_another_order() {
        let family = Entropy::seeded(8).family(Purpose::Batch, 0, 0);
        let mut order = Order::new(short::count(4));
        let mut batches = Vec::new();
        for step in 0..6 {
            let mut batch = Vec::new();
            order.draw(step, 11, &mut batch, &family);
            batches.push(batch);
        }
        assert_eq!(batches.iter().map(Vec::len).collect::<Vec<_>>(), [4, 4, 3, 4, 4, 3]);
        for epoch in batches.chunks(3) {
            let mut all = epoch.concat();
            all.sort_unstable();
            assert_eq!(all, (0..11).collect::<Vec<u32>>());
        }
        assert_ne!(batches[..3], batches[3..]);
        // A run that begins in the middle of an epoch has the same batches.
        let mut resumed = Vec::new();
        Order::new(short::count(4)).draw(4, 11, &mut resumed, &family);
        assert_eq!(resumed, batches[4]);
    }
}
