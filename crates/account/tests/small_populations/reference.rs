//! Brute-force reference for mechanisms on batches: every dataset of a few records over {−1, 0, 1}, every neighbor, every
//! batch.
//!
//! A [`Member`] maps a batch to a distribution over finitely many outputs, a [`Sampler`] maps a dataset to batches with their
//! probabilities, and [`Worlds`] holds the output distributions of all pairs of adjacent datasets. Continuous noise is cut
//! into bins. Binning is post-processing, and outputs beyond the bins are left out, so each δ errs on the low side.

use std::collections::{BTreeMap, BTreeSet};
use veracity_core::Adjacency;

/// Number of records with the values −1, 0 and 1, and of blanks.
pub type Records = [u8; 4];
/// Index of a blank record in [`Records`].
const BLANK: usize = 3;

/// Probabilities of outputs, in blocks that share no output.
type Outputs = BTreeMap<u32, Vec<f64>>;

/// Density of additive noise.
#[derive(Debug, Clone, Copy)]
pub enum Noise {
    Gaussian,
    Laplace,
    /// P(x) ∝ exp(−x²/2s²) on the integers.
    DiscreteGaussian,
    /// P(x) ∝ exp(−|x|/s) on the integers.
    DiscreteLaplace,
    /// Difference of two Poisson variables of mean s²/2.
    Skellam,
}

/// One mechanism of a class: the noise itself, or one that keeps a declared guarantee.
#[derive(Debug, Clone)]
pub enum Member {
    /// Sum of the records, with noise of this scale.
    Sum { noise: Noise, scale: f64 },
    /// The numbers of records at −1 and at 1, each with Gaussian noise of this scale: values move in orthogonal directions.
    Orthogonal { scale: f64 },
    /// Whether the batch holds a record at 1; the answer is true with probability `keep`.
    Bit { keep: f64 },
    /// Reports of all records in the batch by randomized response over three buckets, as a histogram.
    Reports { noise: f64 },
    /// Another member beside the exact number of records in the batch.
    Sized(Box<Member>),
    /// The batch itself with probability `delta`, else the output of another member.
    Reveal { delta: f64, otherwise: Box<Member> },
}

/// How batches are drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Sampler {
    Poisson {
        rate: f64,
    },
    FixedSize {
        batch: usize,
    },
    Truncated {
        rate: f64,
        most: usize,
    },
    /// One of two batches for each record, independently.
    Allocation,
    /// A random half of the records, then the others.
    Shuffled,
}

/// Pairs of output distributions of adjacent datasets.
pub struct Worlds {
    laws: Vec<Vec<f64>>,
    pairs: Vec<(usize, usize)>,
}

impl Worlds {
    /// All pairs for a population of `population` records.
    ///
    /// Under add-remove the neighbors have one record less, or one record more.
    pub fn new(member: &Member, sampler: Sampler, adjacency: Adjacency, population: usize) -> Worlds {
        let pairs = adjacent(adjacency, population);
        let datasets: BTreeSet<Records> = pairs.iter().flat_map(|pair| [pair.0, pair.1]).collect();
        let datasets: Vec<Records> = datasets.into_iter().collect();
        let mut known = BTreeMap::new();
        let outputs: Vec<Outputs> =
            datasets.iter().map(|records| law(member, sampler, *records, &mut known)).collect();
        let mut blocks: BTreeMap<u32, usize> = BTreeMap::new();
        for (block, law) in outputs.iter().flatten() {
            blocks.insert(*block, law.len());
        }
        let flat = |outputs: &Outputs| -> Vec<f64> {
            let block = |(block, len): (&u32, &usize)| outputs.get(block).cloned().unwrap_or(vec![0.0; *len]);
            blocks.iter().flat_map(block).collect()
        };
        let place = |records: &Records| datasets.binary_search(records).unwrap();
        let pairs = pairs.iter().map(|(first, second)| (place(first), place(second))).collect();
        Worlds { laws: outputs.iter().map(flat).collect(), pairs }
    }

    /// Largest δ at `epsilon` over all pairs in both directions, never above the true one.
    pub fn delta(&self, epsilon: f64) -> f64 {
        let grown = epsilon.exp();
        let one = |p: &[f64], q: &[f64]| p.iter().zip(q).map(|(p, q)| (p - grown * q).max(0.0)).sum::<f64>();
        let both = |&(first, second): &(usize, usize)| {
            let (p, q) = (&self.laws[first], &self.laws[second]);
            one(p, q).max(one(q, p))
        };
        self.pairs.iter().map(both).fold(0.0, f64::max)
    }
}

/// Multisets of `size` records over {−1, 0, 1}.
fn multisets(size: usize) -> Vec<Records> {
    let size = size as u8;
    let pairs = (0..=size).flat_map(|a| (0..=size - a).map(move |b| [a, b, size - a - b, 0]));
    pairs.collect()
}

fn with(mut records: Records, value: usize) -> Records {
    records[value] += 1;
    records
}

/// All pairs of adjacent datasets, each in one order.
fn adjacent(adjacency: Adjacency, population: usize) -> Vec<(Records, Records)> {
    let mut pairs = Vec::new();
    let others = |size: usize| multisets(size).into_iter().flat_map(|rest| (0..3).map(move |x| (rest, x)));
    match adjacency {
        Adjacency::AddRemove => {
            for size in [population - 1, population] {
                pairs.extend(others(size).map(|(rest, x)| (with(rest, x), rest)));
            }
        }
        Adjacency::ZeroOut => {
            pairs.extend(others(population - 1).map(|(rest, x)| (with(rest, x), with(rest, BLANK))));
        }
        Adjacency::ReplaceOne => {
            for (rest, x) in others(population - 1) {
                pairs.extend((0..x).map(|y| (with(rest, x), with(rest, y))));
            }
        }
    }
    pairs
}

/// Values of the records, one by one.
fn values(records: Records) -> Vec<usize> {
    (0..4).flat_map(|value| vec![value; usize::from(records[value])]).collect()
}

fn gathered(values: &[usize], chosen: u32) -> Records {
    let mut batch = [0; 4];
    for (i, value) in values.iter().enumerate() {
        batch[*value] += u8::from(chosen >> i & 1 == 1);
    }
    batch
}

/// Output distribution of a dataset: each subset of the records is a batch, with its probability.
fn law(
    member: &Member,
    sampler: Sampler,
    records: Records,
    known: &mut BTreeMap<Records, Outputs>,
) -> Outputs {
    let values = values(records);
    let n = values.len();
    let mut batches: BTreeMap<(Records, Option<Records>), f64> = BTreeMap::new();
    for chosen in 0..1u32 << n {
        let size = chosen.count_ones() as usize;
        let coin = |rate: f64| rate.powi(size as i32) * (1.0 - rate).powi((n - size) as i32);
        let (probability, rest) = match sampler {
            Sampler::Poisson { rate } => (coin(rate), None),
            Sampler::FixedSize { batch } => (f64::from(u8::from(size == batch)) / choose(n, batch), None),
            Sampler::Truncated { rate, most } if size < most => (coin(rate), None),
            // All draws of at least `most` records of which just these are kept.
            Sampler::Truncated { rate, most } if size == most => {
                let of_size = |drawn: usize| {
                    let draws = choose(n, drawn) * rate.powi(drawn as i32);
                    draws * (1.0 - rate).powi((n - drawn) as i32) / choose(n, most)
                };
                ((most..=n).map(of_size).sum(), None)
            }
            Sampler::Truncated { .. } => (0.0, None),
            Sampler::Allocation => (coin(0.5), Some(gathered(&values, !chosen))),
            Sampler::Shuffled => {
                let half = f64::from(u8::from(size == n / 2)) / choose(n, n / 2);
                (half, Some(gathered(&values, !chosen)))
            }
        };
        if probability > 0.0 {
            *batches.entry((gathered(&values, chosen), rest)).or_default() += probability;
        }
    }
    let mut outputs = Outputs::new();
    let coarse = matches!(sampler, Sampler::Allocation | Sampler::Shuffled);
    for ((first, second), probability) in batches {
        for batch in std::iter::once(first).chain(second) {
            known.entry(batch).or_insert_with(|| released(member, batch, coarse));
        }
        let add = |outputs: &mut Outputs, block: u32, masses: &mut dyn Iterator<Item = f64>, len: usize| {
            let sum = outputs.entry(block).or_insert_with(|| vec![0.0; len]);
            sum.iter_mut().zip(masses).for_each(|(sum, mass)| *sum += probability * mass);
        };
        for (block, masses) in &known[&first] {
            let Some(second) = second else {
                add(&mut outputs, *block, &mut masses.iter().copied(), masses.len());
                continue;
            };
            for (other, beside) in &known[&second] {
                let mut both = masses.iter().flat_map(|a| beside.iter().map(move |b| a * b));
                add(&mut outputs, block * 4096 + other, &mut both, masses.len() * beside.len());
            }
        }
    }
    outputs
}

fn choose(n: usize, k: usize) -> f64 {
    (0..k).map(|i| (n - i) as f64 / (i + 1) as f64).product()
}

/// Output distribution of a member on one batch.
fn released(member: &Member, batch: Records, coarse: bool) -> Outputs {
    match member {
        Member::Sum { noise, scale } => {
            let sum = f64::from(batch[2]) - f64::from(batch[0]);
            Outputs::from([(0, masses(*noise, *scale, sum, coarse))])
        }
        Member::Orthogonal { scale } => {
            let one = |value: usize| masses(Noise::Gaussian, *scale, f64::from(batch[value]), true);
            let (low, high) = (one(0), one(2));
            Outputs::from([(0, low.iter().flat_map(|a| high.iter().map(move |b| a * b)).collect())])
        }
        Member::Bit { keep } => {
            let yes = if batch[2] > 0 { *keep } else { 1.0 - keep };
            Outputs::from([(0, vec![yes, 1.0 - yes])])
        }
        Member::Reports { noise } => {
            Outputs::from([(u32::from(batch.iter().sum::<u8>()), reports(*noise, batch))])
        }
        Member::Sized(member) => {
            let size = u32::from(batch.iter().sum::<u8>());
            let shifted = |(block, law): (u32, Vec<f64>)| (block * 8 + size, law);
            released(member, batch, coarse).into_iter().map(shifted).collect()
        }
        Member::Reveal { delta, otherwise } => {
            let mut outputs = released(otherwise, batch, coarse);
            outputs.values_mut().flatten().for_each(|mass| *mass *= 1.0 - delta);
            let name = batch.iter().fold(0, |name, count| name * 8 + u32::from(*count));
            outputs.insert(4096 + name, vec![*delta]);
            outputs
        }
    }
}

/// Histogram of the reports: each record reports a random bucket with probability `noise` and its own otherwise; blanks
/// report a random one.
fn reports(noise: f64, batch: Records) -> Vec<f64> {
    let mut histogram = vec![0.0; 512];
    histogram[0] = 1.0;
    for value in values(batch) {
        let mut next = vec![0.0; 512];
        for (place, mass) in histogram.iter().enumerate().filter(|(_, mass)| **mass > 0.0) {
            for bucket in 0..3usize {
                let own = if value == BLANK {
                    1.0 / 3.0 - noise / 3.0
                } else {
                    f64::from(u8::from(value == bucket)) * (1.0 - noise)
                };
                next[place + 8usize.pow(bucket as u32)] += mass * (own + noise / 3.0);
            }
        }
        histogram = next;
    }
    histogram
}

/// Probabilities of bins of noise around `centre`, a whole number of at most 8. Bin edges lie on all whole numbers, where
/// Laplace densities have their kinks.
fn masses(noise: Noise, scale: f64, centre: f64, coarse: bool) -> Vec<f64> {
    let (per_unit, reach) = match (noise, coarse) {
        (Noise::DiscreteGaussian | Noise::DiscreteLaplace | Noise::Skellam, _) => {
            (1.0, 8.0 + (9.0 * scale).ceil() + 2.0)
        }
        (Noise::Gaussian, false) => ((10.0 / scale).ceil(), 8.0 + (8.0 * scale).ceil()),
        (Noise::Laplace, false) => ((10.0 / scale).ceil(), 8.0 + (16.0 * scale).ceil()),
        (_, true) => ((3.0 / scale).ceil(), 5.0 + (4.0 * scale).ceil()),
    };
    let bins = (2.0 * reach * per_unit) as i32;
    let density = |x: f64| match noise {
        Noise::Gaussian | Noise::DiscreteGaussian => (-0.5 * (x / scale).powi(2)).exp(),
        Noise::Laplace | Noise::DiscreteLaplace => (-(x / scale).abs()).exp(),
        Noise::Skellam => skellam(0.5 * scale * scale, x.abs()),
    };
    match noise {
        Noise::Gaussian | Noise::Laplace => {
            let total = match noise {
                Noise::Gaussian => scale * (2.0 * std::f64::consts::PI).sqrt(),
                _ => 2.0 * scale,
            };
            // Gauss–Legendre, five points on each bin.
            const RULE: [(f64, f64); 5] = [
                (0.0, 0.568_888_888_888_888_9),
                (0.538_469_310_105_683_1, 0.478_628_670_499_366_5),
                (-0.538_469_310_105_683_1, 0.478_628_670_499_366_5),
                (0.906_179_845_938_664, 0.236_926_885_056_189_1),
                (-0.906_179_845_938_664, 0.236_926_885_056_189_1),
            ];
            let half = 0.5 / per_unit;
            let bin = |i: i32| {
                let middle = -reach + (2.0 * f64::from(i) + 1.0) * half;
                RULE.iter().map(|(x, weight)| weight * density(middle + half * x - centre)).sum::<f64>()
            };
            (0..bins).map(|i| bin(i) * half / total).collect()
        }
        Noise::DiscreteGaussian | Noise::DiscreteLaplace | Noise::Skellam => {
            let far = (60.0 * scale).ceil() as i32 + 2;
            let total: f64 = (-far..=far).map(|x| density(f64::from(x))).sum();
            (0..=bins).map(|i| density(-reach + f64::from(i) - centre) / total).collect()
        }
    }
}

/// Probability that two Poisson variables of this mean differ by the integer `apart` ≥ 0, as a sum over the smaller one.
fn skellam(mean: f64, apart: f64) -> f64 {
    // P(0) P(apart), and then the ratio of a term to the one before.
    let factorial: f64 = (1..=apart as i32).map(|i| f64::from(i).ln()).sum();
    let mut term = (apart * mean.ln() - factorial - 2.0 * mean).exp();
    let mut sum = 0.0;
    for smaller in 1..500 {
        sum += term;
        term *= mean * mean / (f64::from(smaller) * (f64::from(smaller) + apart));
    }
    sum
}
