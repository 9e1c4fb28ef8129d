//! The clipped sum of a batch: micro-batches dealt out to lanes, each with memory of its own, added up in order.
//!
//! How many lanes there are and who gets what follows from the plan alone, so the bits do not depend on the number of
//! threads.

use crate::{
    Plan, World,
    clip::{Balance, Clip},
    pass::Pass,
};
use rayon::prelude::*;

/// The most partial sums of one batch.
const MOST_LANES: usize = 8;
/// Parameters that one thread adds up at a time.
const BLOCK: usize = 1 << 14;

/// The lanes of one model.
#[derive(Debug)]
pub(crate) struct Lanes {
    lanes: Vec<Lane>,
    /// Examples that go together. It follows from the plan and not from the batch at hand: were it to change with one record
    /// more, every partial sum would have other roundings, of one sign where gradients are alike.
    together: usize,
}

/// A pass and the partial sum of what went through it.
#[derive(Debug)]
struct Lane {
    pass: Pass,
    sum: Vec<f32>,
    balance: Balance,
}

impl Lanes {
    pub(crate) fn new(plan: &Plan) -> Lanes {
        let most = plan.network.micro_batch();
        let planned = plan.sampling.planned().get() as usize;
        let count = planned.div_ceil(most).clamp(1, MOST_LANES);
        let lane = |_| Lane {
            pass: Pass::new(&plan.network, most),
            sum: vec![0.0; plan.network.parameters()],
            balance: 0,
        };
        // One lane takes all at once, as long as they fit.
        let together = if count == 1 { most } else { micro_batch(planned, count, most) };
        Lanes { lanes: (0..count).map(lane).collect(), together }
    }

    /// The sum of the last batch, as it stands in memory now.
    pub(crate) fn total(&self) -> &[f32] {
        &self.lanes[0].sum
    }

    /// The sum of the clipped gradients of the records in `batch`.
    pub(crate) fn clipped_sum(
        &mut self,
        plan: &Plan,
        data: World<'_>,
        batch: &[u32],
        parameters: &[f32],
        clip: &Clip,
    ) -> (&mut [f32], Balance) {
        let (count, size) = (self.lanes.len(), self.together);
        let work = |(at, lane): (usize, &mut Lane)| {
            lane.sum.fill(0.0);
            lane.balance = 0;
            for records in batch.chunks(size).skip(at).step_by(count) {
                lane.add(plan, data, records, parameters, clip);
            }
        };
        if count == 1 {
            work((0, &mut self.lanes[0]));
        } else {
            self.lanes.par_iter_mut().enumerate().for_each(work);
        }
        let balance = self.lanes.iter().map(|lane| lane.balance).sum();
        let (first, others) = self.lanes.split_at_mut(1);
        let total = &mut first[0].sum;
        if !others.is_empty() {
            total.par_chunks_mut(BLOCK).enumerate().for_each(|(at, total)| {
                for other in others.iter() {
                    let part = &other.sum[at * BLOCK..][..total.len()];
                    total.iter_mut().zip(part).for_each(|(total, part)| *total += part);
                }
            });
        }
        (total, balance)
    }
}

/// How many examples of a planned batch go together, `most` at the most, so that every lane gets equally many micro-batches,
/// and these are equally large.
fn micro_batch(batch: usize, lanes: usize, most: usize) -> usize {
    let rounds = batch.div_ceil(lanes * most).max(1);
    batch.div_ceil(lanes * rounds).max(1)
}

impl Lane {
    fn add(&mut self, plan: &Plan, data: World<'_>, records: &[u32], parameters: &[f32], clip: &Clip) {
        let (network, count) = (&plan.network, records.len());
        let input = self.pass.input(network, count);
        for (row, record) in input.chunks_exact_mut(data.width()).zip(records) {
            data.copy_row(*record as usize, row);
        }
        self.pass.forward(network, parameters, count);
        let labels = records.iter().map(|record| data.label(*record as usize));
        self.pass.backward(network, parameters, plan.loss, labels, count);
        self.balance += self.pass.clipped_sum(network, clip, count, &mut self.sum);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn micro_batches_are_equal_and_fit() {
        for batch in 0..5000 {
            for lanes in 1..=MOST_LANES {
                let size = micro_batch(batch, lanes, 192);
                assert!((1..=192).contains(&size), "{batch} {lanes}");
                let chunks = batch.div_ceil(size);
                // No lane waits for another that has two micro-batches more, and none of the work is a sliver.
                assert!(chunks <= lanes * batch.div_ceil(lanes * 192).max(1), "{batch} {lanes}");
            }
        }
        assert_eq!(
            (micro_batch(256, 2, 192), micro_batch(150, 1, 192), micro_batch(2048, 8, 192)),
            (128, 150, 128)
        );
    }
}
