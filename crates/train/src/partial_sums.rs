//! The clipped sum of a batch: shards of records, each summed in floats, then rounded to the grid of the noise and added up exactly.
//!
//! Workers take shards as they come. Whole numbers have the same sum in any order, so the bits depend neither on the number of
//! threads nor on who was quicker. Without noise there is no grid: then each worker has shards of its own, and floats are added in
//! a fixed order. How far a record can move such a sum is the theorem of [`crate::private::Rounding`].

use crate::{
    CalibratedNoise, CraftedGradient, Plan, World,
    clip::Balance,
    explicit::{Measure, WrittenOut},
    pass::Pass,
    private::{Part, Prefetch, is_shared},
    sharding::Sharding,
};
use rayon::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The most partial sums of one batch, where floats are added.
const MOST_PARTS: usize = 8;
/// Parameters that one thread adds up at a time.
const BLOCK: usize = 1 << 14;
/// Parameters whose sums are in the nearest cache together.
const CACHED: usize = 1 << 10;

/// The memory for the sums of one model.
#[derive(Debug)]
pub(crate) struct PartialSums {
    workers: Vec<Worker>,
}

/// What a batch was assigned to, and what is done with it.
#[derive(Clone, Copy)]
pub(crate) struct Batch<'a> {
    pub plan: &'a Plan,
    pub world: World<'a>,
    pub sharding: &'a Sharding,
    /// Records that are given as gradients; each is summed alone.
    pub crafted: &'a [&'a CraftedGradient],
    pub parameters: &'a [f32],
    pub measure: &'a Measure,
    pub step: u64,
}

/// Sums shards, one after another.
#[derive(Debug)]
struct Worker {
    way: Way,
    /// The sum of the shard at hand.
    shard: Vec<f32>,
    /// Whether it holds one.
    is_begun: bool,
    /// The sum of the shard before; empty until it is needed.
    aside: Vec<f32>,
    /// Whether it holds one.
    has_aside: bool,
    /// The sum of the shards before that, in steps of the grid; empty until it is needed.
    steps: Vec<f64>,
    /// Whether it holds one.
    has_steps: bool,
    balance: Balance,
}

/// How gradients come about.
#[derive(Debug)]
enum Way {
    /// Many examples at once, whose gradients are never written out whole.
    Together(Pass),
    /// One by one.
    WrittenOut(WrittenOut),
}

impl PartialSums {
    /// Memory for as many workers as can be of use.
    pub(crate) fn new(plan: &Plan, shards: usize, is_private: bool) -> PartialSums {
        let most = if is_private { rayon::current_num_threads() } else { MOST_PARTS };
        let worker = |_| Worker {
            way: match plan.writes_out() {
                true => Way::WrittenOut(WrittenOut::new(plan)),
                false => Way::Together(Pass::new(&plan.network, plan.network.micro_batch())),
            },
            shard: vec![0.0; plan.network.parameters()],
            is_begun: false,
            aside: Vec::new(),
            has_aside: false,
            steps: Vec::new(),
            has_steps: false,
            balance: 0,
        };
        PartialSums { workers: (0..shards.clamp(1, most)).map(worker).collect() }
    }

    /// How many threads make a sum.
    pub(crate) fn workers(&self) -> usize {
        self.workers.len()
    }

    /// The sum of the last batch, as it stands in memory now; with its noise, once that was added.
    pub(crate) fn total(&self) -> &[f32] {
        &self.workers[0].shard
    }

    /// The sum of the clipped gradients of a batch in parts, of which the first is to take the total, and on which side of the
    /// clip norm they were.
    ///
    /// Noise does not wait for the sum that it hides: who finds no shard to sum draws some of it.
    pub(crate) fn clipped_sum(
        &mut self,
        batch: Batch<'_>,
        noise: &CalibratedNoise,
        ahead: Option<&Prefetch>,
    ) -> (&mut [f32], Vec<Part<'_>>, Balance) {
        let (next, summing) = (AtomicUsize::new(0), AtomicUsize::new(self.workers.len()));
        let is_little = !is_shared(batch.parameters.len());
        let add_lane = |worker: &mut Worker, sum: usize| {
            let records = batch.sharding.records(sum);
            if !records.is_empty() {
                worker.lay_aside(noise);
                worker.add(batch, records);
            }
        };
        let order = if self.workers.len() > 1 { batch.sharding.longest_first() } else { Vec::new() };
        let work = |worker: Option<&mut Worker>| {
            if let Some(worker) = worker {
                worker.begin();
                while let Some(sum) = order.get(next.fetch_add(1, Ordering::Relaxed)) {
                    add_lane(worker, *sum);
                }
                summing.fetch_sub(1, Ordering::Relaxed);
            }
            // What nobody found the time for is drawn as it is added, and is then still in the nearest cache; but not where one thread
            // alone adds it.
            let is_wanted = || is_little || summing.load(Ordering::Relaxed) > 0;
            ahead.into_iter().for_each(|ahead| ahead.draw_while(batch.step, is_wanted));
        };
        match &mut self.workers[..] {
            // Another thread was asked for its noise, and what is left is drawn as it is added.
            [worker] => {
                worker.begin();
                (0..batch.sharding.sums()).for_each(|sum| add_lane(worker, sum));
            }
            workers => {
                let idle = ahead.map_or(0, |_| rayon::current_num_threads().saturating_sub(workers.len()));
                let all: Vec<Option<&mut Worker>> =
                    workers.iter_mut().map(Some).chain((0..idle).map(|_| None)).collect();
                all.into_par_iter().with_max_len(1).for_each(work);
            }
        }
        for crafted in batch.crafted {
            self.workers[0].add_crafted(batch, crafted, noise);
        }
        let balance = self.workers.iter().map(|worker| worker.balance).sum();
        let (first, others) = self.workers.split_at_mut(1);
        let first = &mut first[0];
        let mut parts: Vec<Part<'_>> = Vec::new();
        parts.extend(first.has_aside.then_some(Part::Floats(&first.aside)));
        parts.extend(first.has_steps.then_some(Part::Steps(&first.steps)));
        for worker in others.iter() {
            parts.extend(worker.is_begun.then_some(Part::Floats(&worker.shard)));
            parts.extend(worker.has_aside.then_some(Part::Floats(&worker.aside)));
            parts.extend(worker.has_steps.then_some(Part::Steps(&worker.steps)));
        }
        (&mut first.shard, parts, balance)
    }

    /// The sum of the gradients of a batch without noise: plain floats.
    pub(crate) fn plain_sum(&mut self, batch: Batch<'_>) -> &mut [f32] {
        let count = self.workers.len();
        let work = |(at, worker): (usize, &mut Worker)| {
            worker.begin();
            for sum in (at..batch.sharding.sums()).step_by(count) {
                worker.add(batch, batch.sharding.records(sum));
            }
        };
        match &mut self.workers[..] {
            [worker] => work((0, worker)),
            workers => workers.par_iter_mut().enumerate().for_each(work),
        }
        let (first, others) = self.workers.split_at_mut(1);
        let total = &mut first[0].shard;
        if !others.is_empty() {
            total.par_chunks_mut(BLOCK).enumerate().for_each(|(at, total)| {
                for other in others.iter() {
                    let part = &other.shard[at * BLOCK..][..total.len()];
                    total.iter_mut().zip(part).for_each(|(total, part)| *total += part);
                }
            });
        }
        for crafted in batch.crafted {
            crafted.each(&batch.plan.network, batch.measure, |at, value| total[at] += value);
        }
        total
    }
}

impl Worker {
    fn begin(&mut self) {
        self.shard.fill(0.0);
        (self.is_begun, self.has_aside, self.has_steps, self.balance) = (false, false, false, 0);
    }

    /// Makes way for the next shard: that at hand is kept as it is, and every second time rounded to the grid with the one that was.
    fn lay_aside(&mut self, noise: &CalibratedNoise) {
        if !self.is_begun {
            return;
        }
        self.is_begun = false;
        if !self.has_aside {
            self.has_aside = true;
            std::mem::swap(&mut self.shard, &mut self.aside);
            self.shard.resize(self.aside.len(), 0.0);
            return self.shard.fill(0.0);
        }
        self.has_aside = false;
        let had_steps = std::mem::replace(&mut self.has_steps, true);
        self.steps.resize(self.shard.len(), 0.0);
        let shards = self.shard.chunks_mut(CACHED).zip(self.aside.chunks(CACHED));
        for (steps, (shard, aside)) in self.steps.chunks_mut(CACHED).zip(shards) {
            if !had_steps {
                steps.fill(0.0);
            }
            noise.add_steps(steps, aside);
            noise.add_steps(steps, shard);
            shard.fill(0.0);
        }
    }

    /// Adds records to the shard at hand.
    fn add(&mut self, batch: Batch<'_>, records: &[u32]) {
        let Batch { plan, world, parameters, measure, step, .. } = batch;
        self.is_begun = true;
        match &mut self.way {
            Way::Together(pass) => {
                let Measure::L2(clip) = measure else { return };
                for records in batch.sharding.blocks(records) {
                    self.balance += pass.add(plan, world, records, parameters, clip, &mut self.shard);
                }
            }
            Way::WrittenOut(way) => {
                for record in records {
                    let position = *record as usize;
                    self.balance +=
                        way.add(plan, world, position, parameters, measure, step, &mut self.shard);
                }
            }
        }
    }

    /// Adds a record that is given as a gradient, each of whose numbers is rounded to the grid by itself.
    fn add_crafted(&mut self, batch: Batch<'_>, crafted: &CraftedGradient, noise: &CalibratedNoise) {
        let steps = begun(&mut self.steps, &mut self.has_steps, self.shard.len());
        self.balance += crafted.each(&batch.plan.network, batch.measure, |at, value| {
            noise.add_steps(&mut steps[at..=at], &[value]);
        });
    }
}

/// A sum in steps of the grid, from zero on if it was not begun.
fn begun<'a>(steps: &'a mut Vec<f64>, is_begun: &mut bool, length: usize) -> &'a mut [f64] {
    if !*is_begun {
        steps.clear();
        steps.resize(length, 0.0);
        *is_begun = true;
    }
    steps
}
