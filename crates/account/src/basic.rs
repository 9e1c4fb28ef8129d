//! Basic composition: the ε of all uses add up, and so do their δ.

use crate::{Composition, Question, best_of, single};
use veracity_core::{Delta, Epsilon, Finding, Refusal};

/// ε at `delta`. Uses whose ε follows from a δ share equally what the declared ones leave.
///
/// # Promise    Never below the true ε
/// # Reference  \[DworkRoth14\] Theorem 3.16, for mechanisms chosen in view of earlier answers (Theorem B.1)
/// # Numerics   Rounded up
pub fn epsilon_at(question: &Question, delta: Delta) -> Result<Finding<Epsilon>, Refusal> {
    single::upper_epsilon(least(question, delta)?)
}

/// The sum, or what the best of several runs costs by the profile of one, whichever is less.
fn least(question: &Question, delta: Delta) -> Result<f64, Refusal> {
    let added = single::worst(question, |composition| sum(composition, delta.get()));
    match best_of::epsilon_above(question, delta) {
        None => added,
        Some(Ok(best)) => Ok(added.map_or(best, |added| added.min(best))),
        Some(Err(refusal)) => added.map_err(|_| refusal),
    }
}

/// δ at `epsilon`.
///
/// # Promise    Never below the true δ
/// # Reference  As [`epsilon_at`]
/// # Numerics   The δ returned was evaluated and its ε did not exceed `epsilon`
pub fn delta_at(question: &Question, epsilon: Epsilon) -> Result<Finding<Delta>, Refusal> {
    single::upper_delta(single::least_delta(epsilon.get(), |delta| least(question, Delta::new(delta)?))?)
}

fn sum(composition: &Composition, delta: f64) -> Result<f64, Refusal> {
    let tally = single::tally(composition);
    let each = single::left_over(delta, tally.delta)? / tally.uses.max(1.0) / single::OUTWARD;
    let mut total = 0.0;
    for (part, count) in &composition.parts {
        total += count.as_f64() * single::single_use_epsilon(part, each)?;
    }
    Ok(total * (1.0 + composition.parts.len() as f64 * f64::EPSILON) * single::OUTWARD)
}

#[cfg(test)]
mod tests {
    use super::*;
    use veracity_core::{Adjacency, Mechanism};
    use veracity_testkit::short::{self, count, gaussian};

    fn ask(mechanism: Mechanism, delta: f64) -> f64 {
        let question = Question { mechanism, adjacency: Adjacency::AddRemove };
        epsilon_at(&question, short::delta(delta)).unwrap().upper().unwrap().0.get()
    }

    #[test]
    fn pure_epsilons_add_up() {
        let noise_multiplier = short::noise(10.0);
        let mechanism = Mechanism::Laplace { noise_multiplier }.repeated(count(100));
        let found = ask(mechanism, 0.0);
        assert!((10.0..10.0 + 1e-12).contains(&found), "{found}");
    }

    /// # mpmath 1.4, 50 digits: findroot(lambda e: ncdf(.5-e)-exp(e)*ncdf(-.5-e)-mpf('1e-5'), 4.4)
    #[test]
    fn one_gaussian_costs_its_exact_profile() {
        let found = ask(gaussian(1.0), 1e-5);
        assert!((4.377178095681..4.377178095682).contains(&found), "{found}");
    }

    /// # mpmath 1.4, 50 digits: q=.01; e=findroot(lambda e: q*d(1, log(1+(exp(e)-1)/q))-mpf('1e-5')/10, 1.); 10*e
    #[test]
    fn sampled_gaussians_share_the_delta() {
        let rate = short::rate(0.01);
        let noise = short::noise(1.0);
        let found = ask(Mechanism::sampled_gaussian(rate, noise, count(10)), 1e-5);
        let truth = 3.639_478_396_155_085;
        assert!(truth * (1.0 - 1e-12) <= found && found <= truth * (1.0 + 1e-10), "{found}");
    }

    #[test]
    fn declared_deltas_that_exceed_the_given_one_are_refused() {
        let epsilon = short::epsilon(0.1);
        let delta = short::delta(1e-7);
        let mechanism = Mechanism::Approximate { epsilon, delta }.repeated(count(100));
        assert!((ask(mechanism.clone(), 1e-5) - 10.0).abs() < 1e-12);
        let question = Question { mechanism, adjacency: Adjacency::AddRemove };
        let refusal = epsilon_at(&question, short::delta(9e-6)).unwrap_err().to_string();
        assert!(refusal.contains("use a larger delta"), "{refusal}");
        let needed = delta_at(&question, short::epsilon(10.1)).unwrap().upper().unwrap().0.get();
        assert!((1e-5..1e-5 * (1.0 + 1e-9)).contains(&needed), "{needed}");
        assert!(delta_at(&question, short::epsilon(9.9)).is_err());
    }
}
