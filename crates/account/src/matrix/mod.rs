//! Correlated noise: from a strategy matrix and a participation to the Gaussians that it is.
//!
//! A record that contributes u_i to step i moves Cx by Cu. Unsampled, the whole of it is one Gaussian whose shift is the
//! largest ‖Cu‖ that a participation allows (`sensitivity`, one file for each kind of strategy); sampled in turns, a banded
//! strategy is as many sampled Gaussians as a record has turns (`cyclic`). `optimal` finds strategies, `errors` says how
//! well they serve.

mod cyclic;
pub mod errors;
mod lbfgs;
pub mod optimal;
mod pattern;
mod sensitivity;
mod toeplitz;
mod tree;
mod written;

pub use sensitivity::{StrategySensitivity, sensitivity};

use crate::Part;
use veracity_core::{Adjacency, Count, NoiseMultiplier, Participation, Refusal, Strategy};

/// How wide the band of a strategy is: C[t, i] = 0 for t − i ≥ width. A tree has none.
pub fn band(strategy: &Strategy) -> Option<Count> {
    match strategy {
        Strategy::Tree { .. } => None,
        Strategy::Banded { steps, coefficients } => {
            let width = toeplitz::trimmed(coefficients.get(), *steps).len();
            Count::new(width as u64).ok()
        }
        Strategy::Written(matrix) => Count::new(written::band(matrix) as u64).ok(),
    }
}

/// The parts that a strategy is, and how often each is used.
///
/// # Promise    No pair of adjacent datasets moves the combinations further; contributions may depend on what was
/// published before them
/// # Reference  [DenisovEtAl22] (adaptive streams, lower-triangular C); [ChoquetteChooEtAl23] (several
/// participations); [SmithThakurta22] for the argument in general: whatever the path, the shifts' squares add up to at most
/// the square of the sensitivity
/// # Assumes    Each contribution has norm at most 1. A replaced record moves each step by at most 2, so all by twice the
/// sensitivity. A group of k moves them by at most k times as much, and does if its records contribute alike
/// # Numerics   The shift is rounded up by at most five units of the last place
pub(crate) fn parts(
    strategy: &Strategy,
    participation: Participation,
    noise: NoiseMultiplier,
    adjacency: Adjacency,
    group: Count,
) -> Result<Vec<(Part, Count)>, Refusal> {
    if let Participation::CyclicPoisson { groups, rate } = participation {
        return cyclic::parts(strategy, (groups, rate), noise, adjacency, group);
    }
    let shift = f64::from(adjacency.contributions()) * group.as_f64();
    Ok(match sensitivity(strategy, participation)? {
        StrategySensitivity::Exact(moved) => vec![(gaussian(shift * moved, noise), Count::ONE)],
        StrategySensitivity::AtMost(moved) => {
            vec![(Part::AtMost(Box::new(gaussian(shift * moved, noise))), Count::ONE)]
        }
    })
}

/// A Gaussian that is moved by `moved`, in units of the noise and rounded up.
fn gaussian(moved: f64, noise: NoiseMultiplier) -> Part {
    Part::Gaussian { mu: (moved.next_up() / noise.get()).next_up() }
}
