//! All canaries on one coin, and the coin forgotten.

use super::{delta, fixed, gaussian};
use crate::{AllOrNone, Exhibit, Runs, Specimen};
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
    Ok(vec![Exhibit {
        name: "all-or-none",
        what: "answers are published in every run, and a coin is accounted that publishes three of ten",
        claimed: gaussian(1.0, 1)?,
        adjacency: Adjacency::AddRemove,
        delta: delta(0.2)?,
        specimen: runs(honest().always())?,
        twin: runs(honest())?,
        replayed: None,
        noise_left: None,
    }])
}
