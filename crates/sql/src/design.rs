//! A plan at a noise level: on which lattices, with which noise, and what that tells of one unit.
//!
//! One unit moves every sum of a group by at most its cap of rows times what one row can be, and the sums of at most so many
//! groups as its cap says. Sums are rounded to a public lattice that is a little finer than the noise, and integer noise is added
//! there: a change of at most c moves a multiple of the step by at most ⌈c/step⌉.
//!
//! **Means and variances.** For a mean of values from 0 to w steps the sums A = Σ a and B = Σ (w − a) get noise; the mean is
//! w A/(A + B). One row moves them by (a, w − a), together by w, so the pair costs what one sum of the width w does. For a variance
//! there are three, Σ a², Σ 2a(w − a) and Σ (w − a)², which one row moves by w² together. For the whole curve and not only for
//! its ε: a move of several coordinates with independent noise is a chain of moves of one, and for a log-concave law a chain of moves
//! s and t tells what one of s + t does ([`veracity_query`] has the proof). Each of them is rounded to the lattice, so that together
//! they move by at most one step more for each but the first.

use crate::{Aggregate, Plan};
use veracity_core::{Count, Mechanism, NoiseMultiplier, Refusal};
use veracity_noise::{Distance, Noise, NoiseStream, Ratio};
use veracity_query::NoiseKind;

/// Noise is about this many steps wide, or wider.
const FINENESS: f64 = 128.0;
/// The most steps in what one unit moves a sum by.
const MOST_STEPS: f64 = 1e6;

/// Sums of groups on a lattice, with noise.
#[derive(Debug, Clone, PartialEq)]
pub struct Lane {
    /// Where in the answer.
    pub place: &'static str,
    /// How many whole numbers are one step of the lattice.
    pub step: i128,
    /// How far one unit moves the sums of one group, together, in steps.
    pub sensitivity: Count,
    /// What is added.
    pub noise: Noise,
    /// In how many groups one unit can be.
    groups: Count,
    /// How many sums of a group are moved together.
    width: usize,
}

impl Lane {
    /// For sums that one unit moves by at most `moved` in each of `groups` groups; a pair of sums shares that.
    fn new(
        place: &'static str,
        moved: i128,
        width: usize,
        (kind, multiplier): (NoiseKind, NoiseMultiplier),
        groups: Count,
    ) -> Result<Lane, Refusal> {
        let wanted = (FINENESS / multiplier.get()).ceil().clamp(1.0, MOST_STEPS) as i128;
        let step = ceil_div(moved.max(1), wanted);
        // Sums that share what is moved are each rounded.
        let steps = ceil_div(moved.max(1), step) + width as i128 - 1;
        let steps = u64::try_from(steps)
            .map_err(|_| Refusal::invalid("caps are too large, expected smaller ones"))?;
        let scale = Ratio::at_least(multiplier.get() * steps as f64)?;
        let noise = match kind {
            NoiseKind::Laplace => Noise::Laplace { scale },
            NoiseKind::Gaussian => Noise::Gaussian { sigma: scale },
        };
        Ok(Lane { place, step, sensitivity: Count::new(steps)?, noise, groups, width })
    }

    /// What one unit's groups tell together.
    fn mechanism(&self) -> Result<Mechanism, Refusal> {
        let one = match self.noise {
            Noise::Laplace { scale } => Mechanism::DiscreteLaplace {
                scale: NoiseMultiplier::new(scale.as_f64())?,
                sensitivity: self.sensitivity,
            },
            Noise::Gaussian { sigma } => Mechanism::DiscreteGaussian {
                sigma: NoiseMultiplier::new(sigma.as_f64())?,
                sensitivity: self.sensitivity,
            },
        };
        Ok(if self.groups == Count::ONE { one } else { one.repeated(self.groups) })
    }

    /// The sums of all groups, on the lattice, with noise: `sums` has one row for each group.
    ///
    /// # Promise  One unit moves them by no more than the distance that is declared
    pub(crate) fn release(&self, sums: &[Vec<i128>], rng: &mut NoiseStream) -> Vec<Vec<i128>> {
        let coarse: Vec<i128> =
            sums.iter().flatten().map(|sum| (sum + self.step / 2).div_euclid(self.step)).collect();
        let (groups, steps) = (u128::from(self.groups.get()), u128::from(self.sensitivity.get()));
        let declared = match self.noise {
            Noise::Laplace { .. } => Distance::L1(groups.saturating_mul(steps)),
            Noise::Gaussian { .. } => Distance::L2Squared(groups.saturating_mul(steps * steps)),
        };
        let noisy = self.noise.add(self.place, &coarse, declared, rng);
        noisy.chunks(self.width).map(<[i128]>::to_vec).collect()
    }

    /// The value of a multiple, in whole numbers of the plan.
    pub(crate) fn value(&self, noisy: i128) -> f64 {
        noisy as f64 * self.step as f64
    }

    /// The half-width around a value that misses the exact sum with chance at most `miss`.
    pub(crate) fn half_width(&self, miss: f64) -> f64 {
        let rounding = if self.step == 1 { 0.0 } else { 0.5 };
        (veracity_query::half_width(self.noise, miss) + rounding) * self.step as f64
    }
}

/// What is drawn for one aggregate.
#[derive(Debug, Clone, PartialEq)]
pub enum Drawn {
    /// Noise on sums.
    Lanes(Vec<Lane>),
    /// A choice among the values of each group.
    Choice(Box<veracity_query::Design>),
}

/// A plan at a noise level. No data were seen.
#[derive(Debug, Clone, PartialEq)]
pub struct Design {
    /// The kind of noise on sums.
    pub kind: NoiseKind,
    /// The noise over what one unit moves.
    pub multiplier: NoiseMultiplier,
    /// What is drawn for each aggregate of the plan, in its order.
    pub drawn: Vec<Drawn>,
}

impl Design {
    /// The noise of each aggregate at this level.
    pub fn new(plan: &Plan, kind: NoiseKind, multiplier: NoiseMultiplier) -> Result<Design, Refusal> {
        let drawn = plan.aggregates.iter().map(|aggregate| drawn(plan, *aggregate, (kind, multiplier)));
        Ok(Design { kind, multiplier, drawn: drawn.collect::<Result<_, _>>()? })
    }

    /// What one unit tells by one aggregate.
    pub fn mechanism_of(&self, plan: &Plan, aggregate: usize) -> Result<Mechanism, Refusal> {
        match &self.drawn[aggregate] {
            Drawn::Lanes(lanes) => {
                let mut each = lanes.iter().map(Lane::mechanism).collect::<Result<Vec<_>, _>>()?;
                Ok(if each.len() == 1 { each.remove(0) } else { Mechanism::Composed(each) })
            }
            Drawn::Choice(design) => {
                let choice = as_pure(design.mechanism());
                let one = match plan.caps.rows {
                    Count::ONE => choice,
                    rows => Mechanism::Group { size: rows, mechanism: Box::new(choice) },
                };
                Ok(if plan.caps.groups == Count::ONE { one } else { one.repeated(plan.caps.groups) })
            }
        }
    }
}

/// A choice as what it is at least: one whose losses have a range of ε is ε-private, which every method composes with the rest.
fn as_pure(mechanism: Mechanism) -> Mechanism {
    match mechanism {
        Mechanism::Exponential { epsilon } => Mechanism::Pure { epsilon },
        Mechanism::Composed(parts) => Mechanism::Composed(parts.into_iter().map(as_pure).collect()),
        other => other,
    }
}

fn ceil_div(a: i128, b: i128) -> i128 {
    (a + b - 1) / b
}

fn drawn(plan: &Plan, aggregate: Aggregate, noise: (NoiseKind, NoiseMultiplier)) -> Result<Drawn, Refusal> {
    let (rows, groups) = (i128::from(plan.caps.rows.get()), plan.caps.groups);
    let lane = |place: &'static str, moved: i128, width: usize| Lane::new(place, moved, width, noise, groups);
    let lanes = match aggregate {
        Aggregate::Rows | Aggregate::Present(_) => vec![lane("count", rows, 1)?],
        Aggregate::Units => vec![lane("units", 1, 1)?],
        Aggregate::Sum(input) => vec![lane("sum", rows * i128::from(plan.inputs[input].grid.farthest()), 1)?],
        Aggregate::Mean(input) => {
            let width = i128::from(plan.inputs[input].grid.width());
            vec![lane("two sums", rows * width, 2)?]
        }
        Aggregate::Variance { input, .. } => {
            let width = i128::from(plan.inputs[input].grid.width());
            vec![lane("three sums", rows * width * width, 3)?]
        }
        Aggregate::Quantile { input, rank } => {
            let design = crate::quantile::design(&plan.inputs[input].grid, rank, noise.1)?;
            return Ok(Drawn::Choice(Box::new(design)));
        }
    };
    Ok(Drawn::Lanes(lanes))
}
