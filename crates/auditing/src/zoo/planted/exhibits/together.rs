//! All canaries on one coin, and the coin forgotten.

use super::{delta, fixed, gaussian};
use crate::zoo::planted::{AllOrNone, Exhibit, Runs, Specimen};
use veracity_core::{Adjacency, Count, Refusal};

const TRIALS: u64 = 4000;

/// The twin is the mechanism that audits with assumptions stumble over; here it is attacked by one that has none.
pub(super) fn exhibits(seed: u64) -> Result<Vec<Exhibit>, Refusal> {
    let runs = |subject: AllOrNone| {
        let (subject, trials) = (Box::new(subject), Count::new(TRIALS)?);
        // Above it "in" was said.
        Ok::<_, Refusal>(Specimen::Runs(Runs { subject, trials, method: fixed(0.5) }))
    };
    let honest = || AllOrNone::private(seed, Count::ONE);
    Ok(vec![Exhibit::new(
        "all-or-none",
        "all answers are published in every run, but the accounting assumes 3 of 10 runs",
        gaussian(1.0, 1)?,
        (Adjacency::AddRemove, delta(0.2)?),
        [runs(honest().always())?, runs(honest())?],
    )])
}
