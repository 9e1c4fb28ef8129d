//! Both ends of an interval around a quantile, by one choice that costs no more than the quantile alone.
//!
//! The lower end l should have the rank q·n − r, the upper end u the rank q·n + r. The score of a pair is the distance of the worse end. One
//! record moves both ranks the same way or one of them, each by at most what it moves one rank, so the pair has the sensitivity of one
//! point. Where values are spread evenly, the middle of both ends has the error of one point at the same ε, and half their distance is an
//! error bar. The proofs are in `docs/proofs/quantile-pair.md`.

use super::{MISS, pick::Pick, rank_errors::RankErrors};
use crate::{Part, Rank, grid::Grid, select::PairWeights};
use veracity_core::{Adjacency, Count, Mechanism, Refusal};
use veracity_noise::NoiseStream;

/// The choice of a pair of points of a grid.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ends {
    pick: Pick,
    /// r, in halves of units of which one value is b.
    reach: i128,
    /// One value, in the same units.
    value: f64,
}

impl Ends {
    /// r in units of the scale at which probability falls by a factor e: the interval then misses with probability (r/2 + 3/4)e^−r = 3.6%
    /// where values are spread evenly, and with 5% where those beyond it are 1.09 times as far apart as those within.
    const REACH: f64 = 4.4;

    /// A choice of ε = 1/`multiplier`.
    pub(crate) fn new(rank: Rank, adjacency: Adjacency, multiplier: f64) -> Result<Ends, Refusal> {
        let sensitivity = Count::new(2 * u64::from(rank.moved(adjacency)))?;
        let pick = Pick::new("quantile ends", sensitivity, multiplier)?;
        let value = 2.0 * f64::from(rank.whole());
        // With little noise, an end belongs one value farther out: where the next value is, no rank below one says.
        let reach = Ends::REACH * pick.scale();
        let reach = reach.max(value + 0.5 * reach);
        Ok(Ends { pick, reach: reach.round() as i128, value })
    }

    /// The places of both ends, the lower first.
    pub(crate) fn choose(&self, grid: &Grid, ranked: &RankErrors, rng: &mut NoiseStream) -> (u32, u32) {
        let distances: Vec<i128> = [-self.reach, self.reach]
            .iter()
            .flat_map(|off| (0..=ranked.last()).map(|place| ranked.distance(place, *off)))
            .collect();
        let (l, u) = self.pick.choose_pair(&distances, &Weights(grid), rng);
        // At most 2^20, so the casts are exact.
        (l as u32, u as u32)
    }

    /// By how many values each end is off, about.
    pub(crate) fn values(&self) -> f64 {
        self.reach as f64 / self.value
    }

    /// By how many values the rank of any point between the ends misses at most, with chance 95 %, whatever the data.
    ///
    /// A point that has the rank asked for is no farther than r from either target. As a pair with itself it has at least the least
    /// weight. So the worse end is farther than r + t with probability at most e^−t (in units of the scale) times all weights over the
    /// least one, and then the rank of what is between is off by 2r + t at most.
    pub(crate) fn rank_error(&self, grid: &Grid) -> f64 {
        let steps = f64::from(grid.steps());
        let near = (steps / Weights::NEAR as f64).floor() + 1.0;
        // Of points s apart: both bounds, the first one after a bound, and the rest by the integral.
        let ends = |spacing: f64| 3.0 * spacing + near * ((steps + near) / near).ln();
        let round = (0..=grid.levels()).map(|level| ends(grid.spacing(level) as f64));
        let bounds = 2.0 * Weights(grid).apart() as f64;
        let all: f64 = round.chain([bounds]).map(|ends| (Weights::MOST as f64 * ends).powi(2)).sum();
        let least = (Weights::MOST / (Weights::NEAR + 1)).pow(2) as f64;
        (2.0 * self.reach as f64 + self.pick.scale() * (all / (least * MISS)).ln()) / self.value * OUTWARD
    }

    /// What is public about it.
    pub(crate) fn part(&self, grid: &Grid) -> Part {
        self.pick.part(grid.step())
    }

    /// What the accountant reads.
    pub(crate) fn mechanism(&self) -> Mechanism {
        self.pick.mechanism()
    }
}

/// Covers the few roundings of a bound.
const OUTWARD: f64 = 1.0 + 64.0 * f64::EPSILON;

/// The weights of pairs of points of a grid.
///
/// Rounder points are on grids of their own ([`PairWeights`]). So where many values are on round points and none between them, an end is a
/// round point rather than a plain one between two of them. The last of these grids has both bounds alone, and weighs more than all others:
/// where there are too few values for an answer, the ends are the bounds. And a lower end weighs the more the nearer it is to the lower
/// bound, an upper end likewise.
struct Weights<'a>(&'a Grid);

impl Weights<'_> {
    /// What an end at its bound weighs.
    const MOST: u64 = 1 << 14;
    /// Within this part of the width from its bound an end weighs half of that or more.
    const NEAR: u64 = 16;

    /// How far the bounds are apart, as the points of a grid.
    fn apart(&self) -> u64 {
        u64::from(self.0.steps())
    }

    fn at(&self, from_bound: u64) -> u64 {
        let near = u64::from(self.0.steps()) / Weights::NEAR + 1;
        Weights::MOST * near / (from_bound + near)
    }
}

impl PairWeights for Weights<'_> {
    fn classes(&self) -> Vec<u8> {
        let mut classes = self.0.roundness();
        for bound in [0, self.0.steps() as usize] {
            classes[bound] = self.0.levels() as u8 + 1;
        }
        classes
    }

    fn spacing(&self, class: u8) -> u64 {
        match u32::from(class) {
            level if level <= self.0.levels() => self.0.spacing(level),
            _ => self.apart(),
        }
    }

    fn low(&self, place: usize) -> u64 {
        self.at(place as u64)
    }

    fn high(&self, place: usize) -> u64 {
        self.at(u64::from(self.0.steps()) - place as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Bounds;

    /// Both halves of a product of 256 bits.
    fn product(a: u128, b: u128) -> (u128, u128) {
        let half = |x: u128| (x >> 64, x & u128::from(u64::MAX));
        let ((a1, a0), (b1, b0)) = (half(a), half(b));
        let middle = a1 * b0 + ((a0 * b0) >> 64);
        let (carry, sum) = half(middle);
        let low = a0 * b1 + sum;
        (a1 * b1 + carry + (low >> 64), (low << 64) | ((a0 * b0) & u128::from(u64::MAX)))
    }

    /// The weight of every pair times 2^(far − distance), pair by pair from the definition: the distribution where one unit of distance
    /// halves the probability. Their sum comes last.
    fn weighed(grid: &Grid, values: &[f64], rank: Rank, reach: i128, far: u32) -> Vec<u128> {
        let ranked = RankErrors::centered(grid, rank, values);
        let weights = Weights(grid);
        let classes = weights.classes();
        let pair = |l: usize, u: usize| -> u128 {
            let distance = ranked.distance(l, -reach).max(ranked.distance(u, reach));
            let class = classes[l].min(classes[u]);
            let spaced = (0..=class).map(|class| u128::from(weights.spacing(class)));
            let spaced: u128 = spaced.map(|spacing| if l == u { spacing } else { spacing * spacing }).sum();
            let decay = 1u128 << (far - u32::try_from(distance).unwrap());
            spaced * u128::from(weights.low(l)) * u128::from(weights.high(u)) * decay
        };
        let last = ranked.last();
        let mut all: Vec<u128> = (0..=last).flat_map(|l| (0..=last).map(move |u| pair(l, u))).collect();
        all.push(all.iter().sum());
        all
    }

    /// All datasets of up to `most` values on these points, each as a multiset.
    fn datasets(points: &[f64], most: usize) -> Vec<Vec<f64>> {
        let mut all: Vec<Vec<f64>> = vec![vec![]];
        let mut from = 0;
        for _ in 0..most {
            let to = all.len();
            for at in from..to {
                for point in points {
                    if all[at].last().is_none_or(|last| last <= point) {
                        let more = [&all[at][..], &[*point]].concat();
                        all.push(more);
                    }
                }
            }
            from = to;
        }
        all
    }

    /// The exact distribution on all datasets and all neighbors, in integers: no probability is more than 2^2Δ times what it is next door,
    /// where the accountant reads e^ε = 2^2Δ. Control: 2^(3/4 2Δ) is passed, so three quarters of the ε are refuted.
    #[test]
    fn no_pair_tells_more_than_epsilon_of_any_neighbors() {
        let few = Grid::new(Bounds::new(0.0, 4.0).unwrap(), 4).unwrap();
        let round = Grid::new(Bounds::new(0.0, 10.0).unwrap(), 100).unwrap();
        assert_eq!((few.levels(), round.levels()), (0, 1));
        let cases = [
            (few, vec![0.0, 1.0, 2.0, 3.0, 4.0], 4, (1, 2)),
            (few, vec![0.0, 1.0, 3.0, 4.0], 4, (2, 3)),
            (round, vec![0.0, 5.0, 5.1], 2, (1, 2)),
        ];
        for (grid, points, most, (below, whole)) in cases {
            let rank = Rank::new(below, whole).unwrap();
            let (reach, far) = (5, 40);
            let all: Vec<(Vec<f64>, Vec<u128>)> = datasets(&points, most)
                .into_iter()
                .map(|values| {
                    let weights = weighed(&grid, &values, rank, reach, far);
                    (values, weights)
                })
                .collect();
            let mut passed = false;
            for adjacency in [Adjacency::AddRemove, Adjacency::ReplaceOne] {
                let twice = 4 * rank.moved(adjacency);
                for (values, one) in &all {
                    for (others, other) in &all {
                        if !is_neighbor(values, others, adjacency) {
                            continue;
                        }
                        let (whole, whole_other) = (one[one.len() - 1], other[other.len() - 1]);
                        for (p, q) in one.iter().zip(other).take(one.len() - 1) {
                            // p/whole ≤ 2^twice q/whole_other.
                            let (left, right) = (product(*p, whole_other), product(q << twice, whole));
                            assert!(left <= right, "{values:?} {others:?} {rank:?} {adjacency}");
                            passed |= adjacency == Adjacency::AddRemove
                                && left > product(q << (twice * 3 / 4), whole);
                        }
                    }
                }
            }
            assert!(passed, "{rank:?}: the test is blind");
        }
    }

    /// By summing over all pairs of ranks, where one rank is a fiftieth of the scale: values that are spread evenly miss as often as the proof
    /// says, the middle has the deviation √2 of one point at the same ε, and the ends are 4.4 scales from it on average.
    #[test]
    fn an_even_spread_errs_as_the_proof_says() {
        let (scale, far) = (50.0, 1000i32);
        let reach = Ends::REACH * scale;
        let ends =
            |off: f64| (-far..=far).map(move |rank| (f64::from(rank), (f64::from(rank) - off).abs() / scale));
        let upper: Vec<(f64, f64)> = ends(reach).collect();
        let (mut all, mut missed, mut square, mut half) = (0.0, 0.0, 0.0, 0.0);
        for (l, a) in ends(-reach) {
            for (u, b) in &upper {
                let weight = (-a.max(*b)).exp();
                all += weight;
                missed += if l > 0.0 || *u < 0.0 { weight } else { 0.0 };
                square += weight * (0.5 * (l + u) / scale).powi(2);
                half += weight * 0.5 * (u - l) / scale;
            }
        }
        let x = Ends::REACH;
        let proved = (x / 2.0 + 0.75) * (-x).exp();
        assert!((missed / all / proved - 1.0).abs() < 0.02, "{} {proved}", missed / all);
        assert!(((square / all).sqrt() - 2f64.sqrt()).abs() < 0.01, "{}", square / all);
        assert!((half / all - x).abs() < 0.01, "{}", half / all);
        // With a gap ratio of 1.09 the bound of the proof is 5%.
        let bound =
            |ratio: f64| ratio * ratio * (x / 2.0 + 1.0) * (-x).exp() / (1.0 - (1.0 + x) * (-x).exp());
        assert!(bound(1.09) < 0.0501 && proved < bound(1.0));
    }

    /// All datasets of up to four values on five points, at ε = 1 and 2, from the exact distribution: the interval misses the median with
    /// probability 5% at most, whatever the values. Control: without the pair of both bounds it would miss more often.
    #[test]
    fn few_values_are_covered_whatever_they_are() {
        let grid = Grid::new(Bounds::new(0.0, 10.0).unwrap(), 100).unwrap();
        let rank = Rank::new(1, 2).unwrap();
        let (mut most, mut without_bounds) = (0.0f64, 0.0f64);
        for multiplier in [1.0, 0.5] {
            let ends = Ends::new(rank, Adjacency::AddRemove, multiplier).unwrap();
            for values in datasets(&[0.0, 0.1, 5.0, 9.9, 10.0], 4).into_iter().skip(1) {
                let n = values.len();
                let median = 0.5 * (values[(n - 1) / 2] + values[n / 2]);
                let (mut all, mut missed, mut of_bounds) = (0.0, 0.0, 0.0);
                let ranked = RankErrors::centered(&grid, rank, &values);
                for (l, u, weight) in pairs(&grid, &ranked, ends.reach, ends.pick.scale()) {
                    let is_missed =
                        grid.point(l.min(u)) > median + 1e-9 || grid.point(l.max(u)) < median - 1e-9;
                    all += weight;
                    missed += if is_missed { weight } else { 0.0 };
                    of_bounds += if (l, u) == (0, grid.steps()) { weight } else { 0.0 };
                }
                most = most.max(missed / all);
                without_bounds = without_bounds.max(missed / (all - of_bounds));
            }
        }
        assert!(most < 0.05 && without_bounds > 0.05, "{most} {without_bounds}");
    }

    /// The weight of every pair, from the definition.
    fn pairs(grid: &Grid, ranked: &RankErrors, reach: i128, scale: f64) -> Vec<(u32, u32, f64)> {
        let weights = Weights(grid);
        let classes = weights.classes();
        let pair = |l: usize, u: usize| {
            let distance = ranked.distance(l, -reach).max(ranked.distance(u, reach));
            let spaced = (0..=classes[l].min(classes[u])).map(|class| weights.spacing(class) as f64);
            let spaced: f64 = spaced.map(|s| if l == u { s } else { s * s }).sum();
            let decay = (-(distance as f64) / scale).exp();
            (l as u32, u as u32, spaced * (weights.low(l) * weights.high(u)) as f64 * decay)
        };
        let last = ranked.last();
        (0..=last).flat_map(|l| (0..=last).map(move |u| pair(l, u))).collect()
    }

    /// Whether one sorted dataset is the other with one value less, or with one other value.
    fn is_neighbor(values: &[f64], others: &[f64], adjacency: Adjacency) -> bool {
        let without = |all: &[f64]| -> Vec<Vec<f64>> {
            let less = |at: usize| [&all[..at], &all[at + 1..]].concat();
            (0..all.len()).map(less).collect()
        };
        match adjacency {
            Adjacency::ReplaceOne => {
                values != others
                    && values.len() == others.len()
                    && without(values).iter().any(|less| without(others).contains(less))
            }
            _ => without(values).contains(&others.to_vec()) || without(others).contains(&values.to_vec()),
        }
    }
}
