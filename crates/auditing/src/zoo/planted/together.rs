//! Canaries that hang together: no bug, but a mechanism that fools audits which take its canaries for independent.

use veracity_audit::{AuditSubject, Failure, World};
use veracity_core::Count;
use veracity_noise::{Entropy, Key, Purpose, exact};

/// One coin decides for all canaries: either every bit is published through randomized response, or nothing is.
///
/// With three runs of ten and answers that are wrong 16 times of a hundred, each canary is protected as by Gaussian noise of
/// its own size (μ = 1): its trade-off curve has its corners at (0.048, 0.748) and (0.748, 0.048), and the Gaussian's is below
/// them. But in three runs of ten 84 % of all guesses are right, which independent canaries under that noise never bring
/// about. A bound that takes canaries for independent says 1.99 there; one that is proved does not.
///
/// # Examples
///
/// ```
/// use veracity_audit::{AuditSubject, World};
/// use veracity_core::Count;
/// use veracity_auditing::zoo::planted::AllOrNone;
///
/// let subject = AllOrNone::private(1, Count::new(50)?);
/// let is_silent = |trial| subject.run(trial, &[World::In; 50]).is_ok_and(|scores| scores == [0.0; 50]);
/// // 300 of 1000 speak, give or take.
/// assert!((0..1_000).filter(|trial| !is_silent(*trial)).count().abs_diff(300) < 75);
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
#[derive(Debug)]
pub struct AllOrNone {
    canaries: Count,
    /// Percent of the runs that publish.
    speaks: u128,
    entropy: Entropy,
}

/// Percent of the answers that are wrong.
const WRONG: u128 = 16;

impl AllOrNone {
    /// 1-GDP for each canary, in the data or not.
    pub fn private(seed: u64, canaries: Count) -> AllOrNone {
        AllOrNone { canaries, speaks: 30, entropy: Entropy::seeded(seed) }
    }

    /// The same without its coin: every run publishes.
    pub(crate) fn always(self) -> AllOrNone {
        AllOrNone { speaks: 100, ..self }
    }
}

impl AuditSubject for AllOrNone {
    fn canaries(&self) -> usize {
        self.canaries.get() as usize
    }

    /// 1 where "in" is said, −1 where "out" is, 0 where nothing is.
    fn run(&self, trial: u64, worlds: &[World]) -> Result<Vec<f64>, Failure> {
        let mut bits = self.entropy.stream(Purpose::Noise, Key { trial, ..Key::default() });
        if !exact::bernoulli(self.speaks, 100, &mut bits) {
            return Ok(vec![0.0; worlds.len()]);
        }
        let said = worlds.iter().map(|world| {
            let lies = exact::bernoulli(WRONG, 100, &mut bits);
            if (*world == World::In) == lies { -1.0 } else { 1.0 }
        });
        Ok(said.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seed 3: 10 000 runs with one canary have the rates of the corner, 0.252 and 0.048, within five standard errors.
    #[test]
    fn one_canary_is_as_private_as_it_says() {
        let subject = AllOrNone::private(3, Count::ONE);
        let says_in = |world| {
            (0..10_000).filter(|trial| subject.run(*trial, &[world]).is_ok_and(|said| said == [1.0])).count()
        };
        let (found, alarms) = (says_in(World::In), says_in(World::Out));
        assert!(found.abs_diff(2520) < 220 && alarms.abs_diff(480) < 110, "{found} {alarms}");
    }
}
