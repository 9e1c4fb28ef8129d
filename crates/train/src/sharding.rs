//! Sharding of a batch: the records of a shard are summed together. Adding or removing one record changes one shard only.
//!
//! Where each record enters a batch by itself, its place in the batch depends on those before it, so it draws its shard by a coin
//! of its own. Batches of a fixed size have places that do not move, and a shard is a stretch of places. Records beyond the
//! capacity of their shard are summed alone.

use crate::{CraftedGradient, Plan, World, sampling::Sampling};
use std::cmp::Reverse;
use veracity_noise::{Bits, Family};

/// How many records a shard should have. More make more of the roundings of float sums; fewer make more shards to be added up, which
/// takes as long as the gradients of some records where a network is little more than its parameters.
const LONG: u64 = 128;
/// Batches beyond which shards of such networks are twice as long.
const LARGE: u64 = 512;
/// The most records whose terms are added up before they are added to those of others, in long shards.
const BLOCK: usize = 144;
/// The most shards of a batch.
const MOST: u64 = 1 << 20;
/// Streams of batches are numbered by step or epoch, and those of shards by this and the step.
const COINS: u64 = 1 << 63;

/// Assigns the records of batches to shards.
#[derive(Debug)]
pub(crate) struct Sharding {
    rule: Rule,
    capacity: usize,
    block: usize,
    depth: usize,
    shards: Vec<Vec<u32>>,
    /// Records that found their shard full.
    single: Vec<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// One shard takes all.
    Only,
    /// Each record draws its shard.
    Coin,
    /// By the place in the batch.
    Place,
}

impl Sharding {
    /// Shards and capacity follow from the planned batch size and the network, which are public.
    pub(crate) fn new(plan: &Plan) -> Sharding {
        let (sampling, micro_batch) = (plan.sampling, plan.network.micro_batch());
        let batch = sampling.planned().get();
        // Gradients that are written out are added one by one.
        let together = plan.network.adds_together() && !plan.writes_out();
        let long = match together {
            true if batch > LARGE => 2 * LONG,
            true => LONG,
            // Much is done for each parameter, so short shards cost little, and are easily distributed.
            false if batch > LONG => (2 * micro_batch as u64).clamp(LONG / 4, LONG),
            false => LONG,
        };
        let shards = batch.div_ceil(long).clamp(1, MOST);
        let mean = batch.div_ceil(shards);
        let (rule, capacity) = match sampling {
            // Six standard deviations more than the mean: hardly a record is ever left over.
            Sampling::Poisson { .. } => (Rule::Coin, mean + 6 * mean.isqrt() + 8),
            Sampling::FixedSize { .. } | Sampling::Shuffled { .. } => (Rule::Place, mean),
        };
        let capacity = usize::try_from(capacity).unwrap_or(usize::MAX);
        let block = if long > LONG { micro_batch.min(BLOCK) } else { micro_batch };
        // Added up block by block, a term passes the others of its block and then one sum for each block.
        let depth =
            if together { capacity.min(block.saturating_add(capacity.div_ceil(block))) } else { capacity };
        Sharding {
            rule: if shards == 1 { Rule::Only } else { rule },
            capacity,
            block,
            depth,
            shards: vec![Vec::new(); shards as usize],
            single: Vec::new(),
        }
    }

    /// The most roundings of a term on its way into the sum of a shard, its own as a product apart.
    pub(crate) fn depth(&self) -> usize {
        self.depth
    }

    /// Blocks of records that pass through the network together, of nearly equal size.
    pub(crate) fn blocks<'a>(&self, records: &'a [u32]) -> impl Iterator<Item = &'a [u32]> {
        let blocks = records.len().div_ceil(self.block).max(1);
        records.chunks(records.len().div_ceil(blocks).max(1))
    }

    /// The most records of a shard.
    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    /// How many shards there are for a batch of the planned size.
    pub(crate) fn shards(&self) -> usize {
        self.shards.len()
    }

    /// Assigns the positions of a batch, and returns the records among them that are given as gradients.
    ///
    /// # Promise  The shard of a position depends on its coin, or on its place in the batch: not on what is at other positions,
    /// nor on whether anything is
    pub(crate) fn assign<'a>(
        &mut self,
        batch: &[u32],
        world: World<'a>,
        step: u64,
        rng: &Family,
    ) -> Vec<&'a CraftedGradient> {
        self.shards.iter_mut().for_each(Vec::clear);
        self.single.clear();
        if self.rule == Rule::Only && world.is_whole() {
            let (all, single) = batch.split_at(batch.len().min(self.capacity));
            self.shards[0].extend_from_slice(all);
            self.single.extend_from_slice(single);
            return Vec::new();
        }
        let mut crafted = Vec::new();
        let shards = self.shards.len() as u64;
        let mut coins = (self.rule == Rule::Coin).then(|| rng.stream(COINS | step));
        for (place, position) in batch.iter().enumerate() {
            // A coin is drawn for blanks too. That shards are not quite equally likely does no harm: none tells of data.
            let shard = match (self.rule, &mut coins) {
                (Rule::Coin, Some(coins)) => ((coins.bits(32) * shards) >> 32) as usize,
                (Rule::Place, _) => place / self.capacity,
                (Rule::Only | Rule::Coin, _) => 0,
            };
            match world.crafted_at(*position) {
                Some(found) => crafted.extend(found),
                None if world.is_blank(*position) => {}
                None if self.shards[shard].len() < self.capacity => self.shards[shard].push(*position),
                None => self.single.push(*position),
            }
        }
        crafted
    }

    /// How many sums there are to be made of the batch that was assigned, empty ones included.
    pub(crate) fn sums(&self) -> usize {
        self.shards.len() + self.single.len()
    }

    /// All of them, those of many records first: so that nobody begins a long one when others have nothing left to do.
    pub(crate) fn longest_first(&self) -> Vec<usize> {
        let mut sums: Vec<usize> = (0..self.sums()).collect();
        sums.sort_by_key(|sum| Reverse(self.records(*sum).len()));
        sums
    }

    /// The records of one of them.
    pub(crate) fn records(&self, sum: usize) -> &[u32] {
        match sum.checked_sub(self.shards.len()) {
            None => &self.shards[sum],
            Some(at) => &self.single[at..=at],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Dataset, Labels, Layer, Loss, Network, Optimiser, Privacy, Schedule, Shape, Unit};
    use veracity_core::Count;
    use veracity_noise::{Entropy, Purpose};
    use veracity_testkit::short;

    fn data(records: usize) -> Dataset {
        Dataset::new(vec![0.0; records], 1, Labels::Values(vec![0.0; records])).unwrap()
    }

    fn samplings(batch: u64, population: u64) -> [Sampling; 3] {
        let (batch, population) = (short::count(batch), short::count(population));
        [
            Sampling::Poisson { batch, population },
            Sampling::FixedSize { batch, population },
            Sampling::Shuffled { batch, population },
        ]
    }

    fn plan(sampling: Sampling) -> Plan {
        Plan::new(
            Network::new(Shape::Flat(1), vec![Layer::Linear { outputs: 1 }]).unwrap(),
            Loss::Squared,
            sampling,
            Count::ONE,
            Privacy::None,
        )
        .with_optimiser(Optimiser::Sgd { momentum: 0.0 })
        .with_schedule(Schedule::Constant { rate: 0.1 })
    }

    fn sharding(sampling: Sampling) -> Sharding {
        Sharding::new(&plan(sampling))
    }

    /// All sums, each as a list of positions.
    fn assigned(sampling: Sampling, batch: &[u32], world: World<'_>) -> Vec<Vec<u32>> {
        let mut sharding = sharding(sampling);
        let family = Entropy::seeded(1).family(Purpose::Batch, 0, 0);
        assert!(sharding.assign(batch, world, 0, &family).is_empty());
        (0..sharding.sums()).map(|sum| sharding.records(sum).to_vec()).collect()
    }

    #[test]
    fn every_record_is_dealt_once_and_no_lane_is_too_long() {
        for batch in [1, 2, 127, 128, 129, 500, 5000] {
            for sampling in samplings(batch, 10_000) {
                let drawn: Vec<u32> = (0..batch as u32).map(|at| at * 2).collect();
                let data = data(10_000);
                let sums = assigned(sampling, &drawn, World::from(&data));
                let mut all = sums.concat();
                all.sort_unstable();
                assert_eq!(all, drawn);
                let capacity = sharding(sampling).capacity();
                assert!(sums.iter().all(|sum| sum.len() <= capacity && capacity <= 360), "{capacity}");
            }
        }
    }

    #[test]
    fn a_record_less_changes_one_lane_but_for_one_that_is_summed_alone() {
        let data = data(3000);
        let world = World::from(&data);
        // Batches as planned, and one that is three times as large, so that shards are full.
        for (planned, drawn) in [(1000, 1000), (300, 900), (50, 900)] {
            for sampling in samplings(planned, 3000) {
                if drawn > planned && !matches!(sampling, Sampling::Poisson { .. }) {
                    continue;
                }
                let batch: Vec<u32> = (0..drawn as u32).map(|at| at * 3).collect();
                let with = assigned(sampling, &batch, world);
                for gone in [0, 1, drawn / 2, drawn - 1] {
                    let without = assigned(sampling, &batch, world.without(3 * gone as usize).unwrap());
                    let shards = sharding(sampling).shards();
                    let changed = (0..shards).filter(|shard| with[*shard] != without[*shard]).count();
                    assert!(changed <= 1, "{changed} shards of {shards}");
                    // At most one record more is alone, and it comes from the shard that changed.
                    let alone = |sums: &[Vec<u32>]| sums[shards..].concat();
                    let (more, fewer) = (alone(&with), alone(&without));
                    assert!(fewer.iter().all(|record| more.contains(record)));
                    assert!(more.len() - fewer.len() <= 1);
                }
            }
        }
    }

    #[test]
    fn long_lanes_come_first_and_none_is_left_out() {
        let data = data(3000);
        for sampling in samplings(1000, 3000) {
            let mut sharding = sharding(sampling);
            let batch: Vec<u32> = (0..1000).collect();
            sharding.assign(&batch, World::from(&data), 0, &Entropy::seeded(1).family(Purpose::Batch, 0, 0));
            let order = sharding.longest_first();
            assert!(order.is_sorted_by_key(|sum| Reverse(sharding.records(*sum).len())));
            assert_eq!(order.iter().map(|sum| sharding.records(*sum).len()).sum::<usize>(), 1000);
        }
    }

    #[test]
    fn blocks_are_nearly_equal_and_have_every_record() {
        let sharding = sharding(samplings(2048, 10_000)[0]);
        for count in 0..400 {
            let records: Vec<u32> = (0..count).collect();
            let blocks: Vec<&[u32]> = sharding.blocks(&records).collect();
            assert_eq!(blocks.concat(), records);
            assert!(blocks.iter().all(|block| block.len() <= BLOCK));
        }
        assert_eq!(sharding.blocks(&[7; 256]).map(<[u32]>::len).collect::<Vec<_>>(), [128, 128]);
    }

    #[test]
    fn terms_that_are_added_one_by_one_are_rounded_as_often_as_there_are_slots() {
        for sampling in samplings(2048, 10_000) {
            let mut plan = plan(sampling);
            let together = Sharding::new(&plan);
            assert!(
                together.depth() < together.capacity() && together.depth() >= BLOCK.min(together.capacity())
            );
            plan.unit = Unit::Person;
            let apart = Sharding::new(&plan);
            assert_eq!(apart.depth(), apart.capacity());
        }
    }
}
