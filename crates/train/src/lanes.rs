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

/// Examples that pass through the network together.
pub(crate) const MICRO_BATCH: usize = 128;
/// The most partial sums of one batch.
const MOST_LANES: usize = 8;

/// The lanes of one model.
#[derive(Debug)]
pub(crate) struct Lanes(Vec<Lane>);

/// A pass and the partial sum of what went through it.
#[derive(Debug)]
struct Lane {
    pass: Pass,
    sum: Vec<f32>,
    balance: Balance,
}

impl Lanes {
    pub(crate) fn new(plan: &Plan) -> Lanes {
        let planned = plan.sampling.planned().get() as usize;
        let count = planned.div_ceil(MICRO_BATCH).clamp(1, MOST_LANES);
        let sum = || vec![0.0; plan.network.parameters()];
        Lanes(
            (0..count)
                .map(|_| Lane { pass: Pass::new(&plan.network, MICRO_BATCH), sum: sum(), balance: 0 })
                .collect(),
        )
    }

    /// The sum of the clipped gradients of the records at the positions in `batch`, and on which side of the clip norm they
    /// were.
    pub(crate) fn clipped_sum(
        &mut self,
        plan: &Plan,
        data: World<'_>,
        batch: &[u32],
        parameters: &[f32],
        clip: &Clip,
    ) -> (&mut [f32], Balance) {
        let count = self.0.len();
        let work = |(at, lane): (usize, &mut Lane)| {
            lane.sum.fill(0.0);
            lane.balance = 0;
            for records in batch.chunks(MICRO_BATCH).skip(at).step_by(count) {
                lane.add(plan, data, records, parameters, clip);
            }
        };
        if count == 1 {
            work((0, &mut self.0[0]));
        } else {
            self.0.par_iter_mut().enumerate().for_each(work);
        }
        let balance = self.0.iter().map(|lane| lane.balance).sum();
        let (first, others) = self.0.split_at_mut(1);
        for other in others {
            for (total, part) in first[0].sum.iter_mut().zip(&other.sum) {
                *total += part;
            }
        }
        (&mut first[0].sum, balance)
    }
}

impl Lane {
    fn add(&mut self, plan: &Plan, data: World<'_>, records: &[u32], parameters: &[f32], clip: &Clip) {
        let (network, count) = (&plan.network, records.len());
        let input = self.pass.input(network, count);
        for (row, record) in input.chunks_exact_mut(data.width()).zip(records) {
            row.copy_from_slice(data.row(*record as usize));
        }
        self.pass.forward(network, parameters, count);
        let labels = records.iter().map(|record| data.label(*record as usize));
        self.pass.backward(network, parameters, plan.loss, labels, count);
        self.balance += self.pass.clipped_sum(network, clip, count, &mut self.sum);
    }
}
