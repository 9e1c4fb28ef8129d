//! All exhibits, a file for each part of the house that can be built wrong.

mod choices;
mod misdeclared;
mod recorded;
mod reports;
mod sums;
mod together;
mod watched;

use crate::zoo::planted::Exhibit;
use veracity_audit::{Choice, Method};
use veracity_core::{Count, Delta, Epsilon, Mechanism, NoiseMultiplier, Refusal};

/// Every planted bug with its honest twin. All that they draw comes from `seed`.
///
/// # Errors
/// None in practice: their numbers are within their ranges.
pub fn exhibits(seed: u64) -> Result<Vec<Exhibit>, Refusal> {
    let mut all = watched::exhibits(seed)?;
    all.extend(recorded::exhibits(seed)?);
    all.extend(misdeclared::exhibits(seed)?);
    all.extend(sums::exhibits(seed)?);
    all.extend(choices::exhibits(seed)?);
    all.extend(reports::exhibits(seed)?);
    all.extend(together::exhibits(seed)?);
    Ok(all)
}

/// Whether the bug is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Health {
    Sick,
    Sound,
}

/// Half of the runs choose a threshold, the other half are counted.
const SPLIT: Method = Method::Threshold { choice: Choice::Split, group: Count::ONE };

/// A threshold that is known beforehand; all runs are counted.
fn fixed(threshold: f64) -> Method {
    Method::Threshold { choice: Choice::Fixed(threshold), group: Count::ONE }
}

fn pure(epsilon: f64) -> Result<Mechanism, Refusal> {
    Ok(Mechanism::Pure { epsilon: Epsilon::new(epsilon)? })
}

fn laplace(scale: f64) -> Result<Mechanism, Refusal> {
    Ok(Mechanism::DiscreteLaplace { scale: NoiseMultiplier::new(scale)?, sensitivity: Count::ONE })
}

fn gaussian(noise: f64, times: u64) -> Result<Mechanism, Refusal> {
    let once = Mechanism::Gaussian { noise_multiplier: NoiseMultiplier::new(noise)? };
    Ok(once.repeated(Count::new(times)?))
}

fn delta(value: f64) -> Result<Delta, Refusal> {
    Delta::new(value)
}
