//! A plan at a noise level: on which lattices, with which noise, and what that tells of one unit.
//!
//! One unit moves every sum of a group by at most its cap of rows times what one row can be, and the sums of at most so many
//! groups as its cap says. [`NoisySum`] rounds them to a public lattice and adds integer noise there.
//!
//! **Means and variances.** For a mean of values from 0 to w steps the sums A = Σ a and B = Σ (w − a) get noise; the mean is
//! w A/(A + B). One row moves them by (a, w − a), together by w, so the pair costs what one sum of the width w does. For a variance
//! there are three, Σ a², Σ 2a(w − a) and Σ (w − a)², which one row moves by w² together. For the whole curve and not only for
//! its ε: a move of several coordinates with independent noise is a chain of moves of one, and for a log-concave distribution a chain of moves
//! s and t tells what one of s + t does ([`veracity_mechanisms`] has the proof). Each of them is rounded to the lattice, so that together
//! they move by at most one step more for each but the first.
//!
//! **Rows with missing values.** `COUNT(*)` beside them needs one sum more: w for each row on which the value is missing, or w² for a
//! variance. A row adds to this sum or to the others, and the same amount, so that all of them cost what one sum does.
//!
//! **Statistics of two columns.** One row moves the six sums of [`veracity_mechanisms::JointMoments`] by at most 3/2 times the
//! largest product of both values, in ℓ1. With widths of w and v steps a product a b is multiplied by w v, and a (w − a) by v², so
//! that all six are integers and one row of the largest values moves them by w² v².

use crate::least_noise::of_rows;
use crate::sql::{NoiseCall, Plan};
use veracity_core::{Count, Mechanism, NoiseMultiplier, Refusal};
use veracity_mechanisms::{Contribution, NoiseKind, NoisySum, PeriodSums};

/// What is drawn for one noise call.
#[derive(Debug, Clone, PartialEq)]
pub enum CallNoise {
    /// Noise on the sums of each group; one call for all groups.
    Sums(NoisySum),
    /// Noise on the sums of all periods of a horizon, in one call.
    Periods(Box<PeriodSums>),
    /// A choice among the values of each group.
    Choice(Box<veracity_mechanisms::Design>),
}

/// A plan at a noise level. No data were seen.
#[derive(Debug, Clone, PartialEq)]
pub struct Design {
    /// The kind of noise on sums.
    pub kind: NoiseKind,
    /// The noise over what one unit moves.
    pub multiplier: NoiseMultiplier,
    /// What is drawn for each noise call of the plan, in its order.
    pub drawn: Vec<CallNoise>,
    /// What is drawn for the number of rows that the caps leave out.
    pub cut: Option<NoisySum>,
    /// The same for the other groupings of the plan.
    pub others: Vec<Design>,
}

impl Design {
    /// The noise of each call at this level.
    ///
    /// # Errors
    /// Refuses noise that is too wide to be accounted for.
    pub fn new(plan: &Plan, kind: NoiseKind, multiplier: NoiseMultiplier) -> Result<Design, Refusal> {
        let drawn = plan.calls.iter().map(|call| drawn(plan, *call, (kind, multiplier)));
        let others = plan.others.iter().map(|other| Design::new(other, kind, multiplier));
        let others = others.collect::<Result<_, _>>()?;
        let cut =
            |most: Count| NoisySum::new("rows cut", Contribution::new(most.get().into()), (kind, multiplier));
        let cut = plan.cut.map(cut).transpose()?;
        Ok(Design { kind, multiplier, drawn: drawn.collect::<Result<_, _>>()?, cut, others })
    }

    /// The design of each grouping, that of the plan itself first.
    pub fn groupings(&self) -> impl Iterator<Item = &Design> {
        std::iter::once(self).chain(&self.others)
    }

    /// What one unit tells by one call.
    pub fn mechanism_of(&self, plan: &Plan, call: usize) -> Mechanism {
        match &self.drawn[call] {
            CallNoise::Sums(sums) => sums.mechanism(),
            CallNoise::Periods(sums) => sums.mechanism(),
            CallNoise::Choice(design) => {
                let one = of_rows(as_pure(design.mechanism()), plan.caps.rows);
                if plan.caps.groups == Count::ONE { one } else { one.repeated(plan.caps.groups) }
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

fn drawn(plan: &Plan, call: NoiseCall, noise: (NoiseKind, NoiseMultiplier)) -> Result<CallNoise, Refusal> {
    let (rows, groups) = (i128::from(plan.caps.rows.get()), plan.caps.groups);
    let sums = |place: &'static str, moved: i128, rounded: u32| {
        // Bounds may be one number, and then a unit moves nothing.
        let contribution = Contribution { rounded, groups, ..Contribution::new(moved.max(1)) };
        Ok(CallNoise::Sums(NoisySum::new(place, contribution, noise)?))
    };
    let width = |input: usize| i128::from(plan.inputs[input].grid.width());
    match call {
        NoiseCall::Rows | NoiseCall::Present(_) => sums("count", rows, 1),
        NoiseCall::Units => sums("units", 1, 1),
        NoiseCall::Sum(input) => sums("sum", rows * i128::from(plan.inputs[input].grid.farthest()), 1),
        NoiseCall::Distances { input, with_missing: false } => sums("two sums", rows * width(input), 2),
        NoiseCall::Distances { input, with_missing: true } => sums("three sums", rows * width(input), 3),
        NoiseCall::Squares { input, with_missing } => {
            let (place, number) = if with_missing { ("four sums", 4) } else { ("three sums", 3) };
            sums(place, rows * width(input) * width(input), number)
        }
        NoiseCall::Moments(x, y) => {
            let whole = (width(x) * width(y)) * (width(x) * width(y));
            // 3/2, rounded up.
            sums("six sums", rows * ((3 * whole + 1) / 2), 6)
        }
        NoiseCall::Quantile { input, rank } => {
            let design = crate::sql::quantile::design(&plan.inputs[input].grid, rank, noise.1)?;
            Ok(CallNoise::Choice(Box::new(design)))
        }
    }
}
