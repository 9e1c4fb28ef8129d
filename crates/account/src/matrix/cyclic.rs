//! Banded strategies on groups that take turns: the rows that one turn of a record can show in are over before its next.

use super::{band, gaussian, toeplitz, written};
use crate::{Neighbours, Part};
use veracity_core::numerics::twofold::Twofold;
use veracity_core::{Adjacency, Count, NoiseMultiplier, Refusal, SamplingRate, Strategy};

/// One sampled Gaussian for each turn.
///
/// # Promise    With b groups and a band no wider than b, a record of group g contributes to steps g, g + b, … only, and its
/// contribution to step i shows in rows i to i + b − 1 only. So its turns are mechanisms one after the other: each shows one
/// Poisson-sampled contribution through rows whose noise no other turn uses, moved by ‖C[:, i]‖
/// # Reference  [ChoquetteChooEtAl23b] (amplification of banded strategies): ⌈T/b⌉ sampled Gaussians at the rate within a
/// group
/// # Assumes    Which group a record is in does not depend on other records; one that replaces it takes its turns
pub(super) fn parts(
    strategy: &Strategy,
    (groups, rate): (Count, SamplingRate),
    noise: NoiseMultiplier,
    adjacency: Adjacency,
    group: Count,
) -> Result<Vec<(Part, Count)>, Refusal> {
    if group != Count::ONE {
        return Err(Refusal::no_theorem(
            "cyclic poisson sampling",
            "group privacy",
            "use a group of one, because records of a group may be in different batches",
        ));
    }
    let Some(width) = band(strategy) else {
        return Err(Refusal::no_theorem(
            "a tree",
            "cyclic poisson sampling",
            "use a banded strategy, or participation once or separated",
        ));
    };
    if groups < width {
        return Err(Refusal::Invalid(format!(
            "groups is {}, expected at least {}, the number of bands of the strategy",
            groups.get(),
            width.get()
        )));
    }
    let turns = strategy.steps().get().div_ceil(groups.get());
    let sampled = |square: Twofold| on_a_batch(square.root_upper(), rate, noise, adjacency);
    match strategy {
        Strategy::Banded { steps, coefficients } => {
            // The first group has a turn whenever another has, and never a shorter column.
            let band = toeplitz::trimmed(coefficients.get(), *steps);
            let left = steps.get() - (turns - 1) * groups.get();
            let (whole, last) = (sampled(column(band, width.get())), sampled(column(band, left)));
            if last == whole || turns == 1 {
                return Ok(vec![(last, Count::new(turns)?)]);
            }
            Ok(vec![(whole, Count::new(turns - 1)?), (last, Count::ONE)])
        }
        Strategy::Written(matrix) => {
            let squares = written::column_squares(matrix);
            let largest = squares.iter().fold(Twofold::ZERO, |most, square| most.max(*square));
            let part = sampled(largest);
            let step = usize::try_from(groups.get()).unwrap_or(usize::MAX);
            let alike = squares.iter().step_by(step).all(|square| *square == largest);
            let part = if alike { part } else { Part::AtMost(Box::new(part)) };
            Ok(vec![(part, Count::new(turns)?)])
        }
        Strategy::Tree { .. } => Err(Refusal::Invalid("a tree has no bands".into())),
    }
}

fn column(band: &[f64], rows: u64) -> Twofold {
    toeplitz::column_square(band, rows)
}

/// A contribution that moves the rows of its turn by `moved`, on a batch that it enters with a chance.
fn on_a_batch(moved: f64, rate: SamplingRate, noise: NoiseMultiplier, adjacency: Adjacency) -> Part {
    if rate.get() == 1.0 {
        return gaussian(f64::from(adjacency.contributions()) * moved, noise);
    }
    let neighbours = match adjacency {
        Adjacency::AddRemove | Adjacency::ZeroOut => Neighbours::Present,
        Adjacency::ReplaceOne => Neighbours::Replaced,
    };
    Part::PoissonSampled { rate: rate.get(), part: Box::new(gaussian(moved, noise)), neighbours }
}
