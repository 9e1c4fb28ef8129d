//! Bounds of columns within their declared ones, by private quantiles.
//!
//! A column is first brought onto its interval by the declared bounds, which are public and may be far too wide. Two quantiles
//! of what results are chosen by the exponential mechanism, and the column is brought onto the same interval between them.

use super::{
    chain::{ChargedStage, Learner},
    tensors::Tensor,
};
use serde::{Deserialize, Serialize};
use veracity_account::claims::NoiseNote;
use veracity_core::{Adjacency, Epsilon, Mechanism, NoiseMultiplier, Refusal};
use veracity_mechanisms::{Bounds, Column, Design, ErrorBar, NoiseKind, Question, Rank, Statistic};
use veracity_noise::{Key, NoiseStream, Purpose};
use veracity_tables::Onto;
use veracity_train::Dataset;

/// The least distance of two private bounds, as part of that of the declared ones: nearer ones would blow up noise.
const LEAST_WIDTH: f64 = 1.0 / 1024.0;

/// `private_bounds` of a column.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrivateBoundsSpec {
    /// What both quantiles together cost.
    pub epsilon: f64,
    /// Which parts of the records lie below the lower and below the upper bound.
    #[serde(default = "usual")]
    pub quantiles: [f64; 2],
}

fn usual() -> [f64; 2] {
    [0.05, 0.95]
}

/// One column.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct BoundedColumn {
    /// Its place among the features.
    at: usize,
    interval: Bounds,
    ranks: [Rank; 2],
    /// Of each quantile.
    epsilon: Epsilon,
}

impl BoundedColumn {
    pub(super) fn new(at: usize, onto: Onto, spec: &PrivateBoundsSpec) -> Result<BoundedColumn, Refusal> {
        let interval = match onto {
            Onto::Unit => Bounds::new(0.0, 1.0)?,
            Onto::Symmetric => Bounds::new(-1.0, 1.0)?,
        };
        let [lower, upper] = spec.quantiles;
        if !(lower < upper) {
            let range = "two quantiles with lower < upper";
            return Err(Refusal::out_of_range("quantiles", format!("{lower} to {upper}"), range));
        }
        if !(1e-6..=100.0).contains(&spec.epsilon) {
            let range = "1e-6 ≤ epsilon ≤ 100";
            return Err(Refusal::out_of_range("epsilon of private_bounds", spec.epsilon, range));
        }
        let ranks = [Rank::from_fraction(lower)?, Rank::from_fraction(upper)?];
        Ok(BoundedColumn { at, interval, ranks, epsilon: Epsilon::new(0.5 * spec.epsilon)? })
    }

    fn designs(&self, adjacency: Adjacency) -> Result<[Design; 2], Refusal> {
        let noise = NoiseMultiplier::new((1.0 / self.epsilon.get()).next_up())?;
        let design = |rank| {
            // Nobody reads how far off a bound is, so nothing is spent on it.
            let bar = ErrorBar::LeftOut;
            let statistic = Statistic::Quantile { bounds: self.interval, rank, steps: Rank::STEPS, bar };
            Question { statistic, adjacency }.design(NoiseKind::Laplace, noise)
        };
        let [lower, upper] = self.ranks;
        Ok([design(lower)?, design(upper)?])
    }

    fn column(&self, data: &Dataset) -> Vec<f64> {
        (0..data.len()).map(|record| f64::from(data.row(record)[self.at])).collect()
    }

    /// Two chosen points as bounds: in order, and not too close. Neither looks at data again.
    fn settle(&self, one: f64, other: f64) -> [f32; 2] {
        let (lower, upper) = (one.min(other), one.max(other));
        let short = (LEAST_WIDTH * self.interval.width() - (upper - lower)).max(0.0);
        [(lower - 0.5 * short) as f32, (upper + 0.5 * short) as f32]
    }

    fn map(&self, x: f32, lower: f32, upper: f32) -> f32 {
        let [x, lower, upper] = [x, lower, upper].map(f64::from);
        let share = (x.clamp(lower, upper) - lower) / (upper - lower);
        (self.interval.lower() + share * self.interval.width()) as f32
    }
}

/// All columns of a file that have private bounds; there is at least one.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PrivateBounds(pub Vec<BoundedColumn>);

impl ChargedStage for PrivateBounds {
    fn tensor(&self) -> Tensor {
        Tensor { name: "bounds".to_owned(), shape: vec![self.0.len(), 2], values: Vec::new() }
    }

    /// The exponential mechanism as one of pure ε, which it is: there the exact accountant has a theorem, and a run of many
    /// steps is charged less than by the methods that know the sharper one.
    fn mechanisms(&self, adjacency: Adjacency) -> Result<Vec<Mechanism>, Refusal> {
        let mut mechanisms = Vec::with_capacity(2 * self.0.len());
        for design in self.0.iter().map(|column| column.designs(adjacency)) {
            for design in design? {
                mechanisms.push(match design.mechanism() {
                    Mechanism::Exponential { epsilon } => Mechanism::Pure { epsilon },
                    other => other,
                });
            }
        }
        Ok(mechanisms)
    }

    /// Choices of pure ε are no calls that a claim notes.
    fn notes(&self) -> Result<Vec<NoiseNote>, Refusal> {
        Ok(Vec::new())
    }

    fn learn(&self, data: &Dataset, learner: &Learner<'_>, place: u64) -> Result<Vec<f32>, Refusal> {
        let mut bounds = Vec::with_capacity(2 * self.0.len());
        for (step, column) in (0..).zip(&self.0) {
            let key = Key { run: 0, trial: place, step };
            let mut rng = NoiseStream::new(learner.entropy.stream(Purpose::Preprocess, key));
            let values = Column::from(column.column(data));
            let [lower, upper] = column.designs(learner.adjacency)?;
            let mut choose = |design: Design| Ok(design.release(&values, &mut rng)?.cells[0].value);
            bounds.extend(column.settle(choose(lower)?, choose(upper)?));
        }
        Ok(bounds)
    }

    fn fit_without_noise(&self, data: &Dataset) -> Result<Vec<f32>, Refusal> {
        let of = |column: &BoundedColumn| {
            let mut values = column.column(data);
            values.sort_unstable_by(f64::total_cmp);
            let at = |rank: Rank| {
                let part = f64::from(rank.below()) / f64::from(rank.whole());
                let last = values.len().saturating_sub(1) as f64;
                values.get((part * last).round() as usize).copied().unwrap_or(0.0)
            };
            column.settle(at(column.ranks[0]), at(column.ranks[1]))
        };
        Ok(self.0.iter().flat_map(of).collect())
    }

    fn apply(&self, statistic: &[f32], data: Dataset) -> Result<Dataset, Refusal> {
        let (mut features, width, labels) = data.into_parts();
        for (column, bounds) in self.0.iter().zip(statistic.as_chunks::<2>().0) {
            let [lower, upper] = *bounds;
            if !(lower < upper && column.at < width) {
                return Err(Refusal::invalid("private bounds do not match the columns of the file"));
            }
            for row in features.chunks_exact_mut(width) {
                row[column.at] = column.map(row[column.at], lower, upper);
            }
        }
        Dataset::new(features, width, labels)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use veracity_core::Count;
    use veracity_noise::Entropy;
    use veracity_train::Labels;

    fn column(epsilon: f64) -> PrivateBounds {
        let spec = PrivateBoundsSpec { epsilon, quantiles: usual() };
        PrivateBounds(vec![BoundedColumn::new(1, Onto::Symmetric, &spec).unwrap()])
    }

    /// 2000 records whose second number lies evenly between −0.5 and 0.25.
    fn data() -> Dataset {
        let features = (0..2000).flat_map(|i| [7.0, -0.5 + 0.75 * i as f32 / 1999.0]).collect();
        Dataset::new(features, 2, Labels::Values(vec![0.0; 2000])).unwrap()
    }

    fn learnt(bounds: &PrivateBounds, seed: u64) -> Vec<f32> {
        let entropy = Entropy::seeded(seed);
        let learner = Learner {
            entropy: &entropy,
            population: Count::new(2000).unwrap(),
            adjacency: Adjacency::AddRemove,
        };
        bounds.learn(&data(), &learner, 0).unwrap()
    }

    /// The ranks are within 2/ε · ln(points/chance) ≈ 250 records of 100 and 1900, but for a chance of 1e-9 a seed.
    #[test]
    fn private_bounds_are_near_their_quantiles_and_clamp_what_is_beyond() {
        let bounds = column(0.6);
        for seed in 0..20 {
            let found = learnt(&bounds, seed);
            let rank = |x: f32| (f64::from(x) + 0.5) / 0.75 * 2000.0;
            assert!((rank(found[0]) - 100.0).abs() < 250.0, "{found:?}");
            assert!((rank(found[1]) - 1900.0).abs() < 250.0, "{found:?}");
            let mapped = bounds.apply(&found, data()).unwrap();
            let [first, last] = [0, 1999].map(|at| mapped.row(at));
            assert_eq!((first, last), (&[7.0, -1.0][..], &[7.0, 1.0][..]));
        }
        let exact = bounds.fit_without_noise(&data()).unwrap();
        assert!((exact[0] + 0.4625).abs() < 1e-3 && (exact[1] - 0.2125).abs() < 1e-3, "{exact:?}");
    }

    /// 2000 records that agree: the bounds close in on what they agree on, −0.26 or the nearest step of the grid, and are
    /// kept apart as far as bounds must be. Another point has a chance below e^−20 a seed.
    #[test]
    fn private_bounds_of_equal_values_are_around_that_value() {
        let bounds = column(0.6);
        let features = (0..2000).flat_map(|_| [7.0, -0.26]).collect();
        let same = Dataset::new(features, 2, Labels::Values(vec![0.0; 2000])).unwrap();
        for seed in 0..5 {
            let entropy = Entropy::seeded(seed);
            let learner = Learner {
                entropy: &entropy,
                population: Count::new(2000).unwrap(),
                adjacency: Adjacency::AddRemove,
            };
            let found = bounds.learn(&same, &learner, 0).unwrap();
            assert!((found[0] + 0.26 + 1.0 / 1024.0).abs() < 2e-6, "{found:?}");
            assert!((found[1] + 0.26 - 1.0 / 1024.0).abs() < 2e-6, "{found:?}");
        }
    }

    /// At ε = 1e-6 the points are as good as drawn from all; in order and apart they are still.
    #[test]
    fn bounds_without_meaning_are_still_bounds() {
        let bounds = column(1e-6);
        let wide = (0..50).filter(|seed| {
            let found = learnt(&bounds, *seed);
            assert!(found[1] - found[0] >= 2.0 * LEAST_WIDTH as f32 * 0.999);
            found[0] < -0.8 || found[1] > 0.8
        });
        assert!(wide.count() > 5, "uniform points are often far out");
        assert_eq!(bounds.0[0].settle(0.5, 0.5), [0.5 - 1.0 / 1024.0, 0.5 + 1.0 / 1024.0]);
        assert!(bounds.apply(&[0.5, 0.5], data()).is_err());
    }

    #[test]
    fn both_quantiles_are_charged_and_no_more_than_was_asked_for() {
        let charged = column(0.6).mechanisms(Adjacency::ReplaceOne).unwrap();
        let spent: f64 = charged
            .iter()
            .map(|mechanism| match mechanism {
                Mechanism::Pure { epsilon } => epsilon.get(),
                other => panic!("{other:?}"),
            })
            .sum();
        assert!(charged.len() == 2 && spent <= 0.6 * (1.0 + 1e-15) && spent > 0.5999, "{spent}");
    }
}
