//! Advanced composition, in the form of Dwork, Rothblum and Vadhan and in that of Kairouz, Oh and Viswanath: the total
//! loss is its mean plus a few standard deviations, at the price of a slack δ′.

use crate::{Composition, Question, single};
use veracity_core::{Delta, Epsilon, Finding, Refusal};

/// ε at `delta`, after Dwork, Rothblum and Vadhan.
///
/// # Promise    Never below the true ε
/// # Reference  \[DworkRothblumVadhan10\] Theorem III.3, as \[DworkRoth14\] Theorem 3.20, with Azuma's inequality for
/// unequal ε: √(2 ln(1/δ′) Σε²) + Σ ε(e^ε − 1) at δ′ + Σδ; never more than basic composition, which also holds
/// # Numerics   Rounded up
pub fn epsilon_at(question: &Question, delta: Delta) -> Result<Finding<Epsilon>, Refusal> {
    epsilon_by(question, delta, Form::DworkRothblumVadhan)
}

/// δ at `epsilon`, after Dwork, Rothblum and Vadhan.
///
/// # Promise    Never below the true δ
/// # Reference  As [`epsilon_at`]
/// # Numerics   The δ returned was evaluated and its ε did not exceed `epsilon`
pub fn delta_at(question: &Question, epsilon: Epsilon) -> Result<Finding<Delta>, Refusal> {
    delta_by(question, epsilon, Form::DworkRothblumVadhan)
}

/// ε at `delta`, after Kairouz, Oh and Viswanath.
///
/// # Promise    Never below the true ε
/// # Reference  \[KairouzOhViswanath15\] Theorem 3.5: the least of Σε, Σ ε tanh(ε/2) + √(2 Σε² ln(1/δ′)) and the same
/// with ln(e + √Σε²/δ′), at 1 − (1 − δ′) Π(1 − δ). A factor ε in the first sum is often lost in print
/// # Numerics   Rounded up
pub fn kov_epsilon_at(question: &Question, delta: Delta) -> Result<Finding<Epsilon>, Refusal> {
    epsilon_by(question, delta, Form::KairouzOhViswanath)
}

/// δ at `epsilon`, after Kairouz, Oh and Viswanath.
///
/// # Promise    Never below the true δ
/// # Reference  As [`kov_epsilon_at`]
/// # Numerics   The δ returned was evaluated and its ε did not exceed `epsilon`
pub fn kov_delta_at(question: &Question, epsilon: Epsilon) -> Result<Finding<Delta>, Refusal> {
    delta_by(question, epsilon, Form::KairouzOhViswanath)
}

#[derive(Clone, Copy)]
enum Form {
    DworkRothblumVadhan,
    KairouzOhViswanath,
}

fn epsilon_by(question: &Question, delta: Delta, form: Form) -> Result<Finding<Epsilon>, Refusal> {
    single::upper_epsilon(single::worst(question, |composition| compose(composition, delta.get(), form))?)
}

fn delta_by(question: &Question, epsilon: Epsilon, form: Form) -> Result<Finding<Delta>, Refusal> {
    let delta = single::worst(question, |composition| {
        single::least_delta(epsilon.get(), |delta| compose(composition, delta, form))
    })?;
    single::upper_delta(delta)
}

/// The least ε over a few ways to split δ between the slack δ′ and the uses that need a δ of their own.
fn compose(composition: &Composition, delta: f64, form: Form) -> Result<f64, Refusal> {
    let tally = single::tally(composition);
    let free = match form {
        Form::DworkRothblumVadhan => single::left_over(delta, tally.delta)?,
        Form::KairouzOhViswanath => single::left_over(-(-delta).ln_1p(), tally.log_delta)?,
    } / single::OUTWARD;
    // In the logarithmic account of Kairouz, Oh and Viswanath a share x stands for δ = 1 − e^{−x}.
    let as_delta = |share: f64| match form {
        Form::DworkRothblumVadhan => share,
        Form::KairouzOhViswanath => -(-share).exp_m1() / single::OUTWARD,
    };
    let mut least = f64::INFINITY;
    for share in slack_shares(tally.uses) {
        let each = as_delta(free * (1.0 - share) / tally.uses.max(1.0));
        least = least.min(at_split(composition, each, as_delta(free * share), form)?);
    }
    Ok(least)
}

/// The shares of δ to try as slack: all of it when no use needs a δ, and none, which is basic composition, otherwise.
pub(crate) fn slack_shares(uses: f64) -> Vec<f64> {
    if uses == 0.0 {
        return vec![1.0];
    }
    let mut shares = vec![0.0];
    shares.extend((-7..=7).map(|i| 1.0 / (1.0 + f64::from(-i).exp())));
    shares
}

/// ε when each use has `each` and the slack δ′ is `slack`.
fn at_split(composition: &Composition, each: f64, slack: f64, form: Form) -> Result<f64, Refusal> {
    let (mut sum, mut squares, mut bias) = (0.0, 0.0, 0.0);
    for (part, count) in &composition.parts {
        let epsilon = single::single_use_epsilon(part, each)?;
        let uses = count.as_f64();
        sum += uses * epsilon;
        squares += uses * epsilon * epsilon;
        bias += match form {
            Form::DworkRothblumVadhan => uses * epsilon * epsilon.exp_m1(),
            Form::KairouzOhViswanath => uses * epsilon * (0.5 * epsilon).tanh(),
        };
    }
    let spread = match form {
        Form::DworkRothblumVadhan => -slack.ln(),
        Form::KairouzOhViswanath => (-slack.ln()).min((std::f64::consts::E + squares.sqrt() / slack).ln()),
    };
    // `min` passes over the NaN of an infinite spread and no loss at all.
    let least = sum.min(bias + (2.0 * squares * spread).sqrt());
    Ok(least * (1.0 + composition.parts.len() as f64 * f64::EPSILON) * single::OUTWARD)
}

#[cfg(test)]
mod tests {
    use super::*;
    use veracity_core::{Adjacency, Mechanism};
    use veracity_testkit::short::{self, count, noise};

    fn pure(epsilon: f64, times: u64) -> Question {
        let mechanism = short::pure(epsilon);
        Question { mechanism: mechanism.repeated(count(times)), adjacency: Adjacency::AddRemove }
    }

    fn value(found: Result<Finding<Epsilon>, Refusal>) -> f64 {
        found.unwrap().upper().unwrap().0.get()
    }

    /// # mpmath 1.4, 50 digits: e=mpf(0.1); 100*e*tanh(e/2)+sqrt(2*100*e*e*log(1/mpf(1e-5)))
    /// # and 100*e*expm1(e)+sqrt(200*e*e*log(1/mpf(1e-5)))
    #[test]
    fn the_bias_has_its_factor_epsilon() {
        let delta = short::delta(1e-5);
        let kov = value(kov_epsilon_at(&pure(0.1, 100), delta));
        let (kov_truth, drv_truth) = (5.298_109_661_766_881, 5.850_235_092_944_557);
        assert!(kov_truth <= kov && kov <= kov_truth * (1.0 + 1e-12), "{kov}");
        let drv = value(epsilon_at(&pure(0.1, 100), delta));
        assert!(drv_truth <= drv && drv <= drv_truth * (1.0 + 1e-12), "{drv}");
        // Without the factor it would be 9.79.
        assert!((kov - 5.30).abs() < 0.005);
    }

    #[test]
    fn neither_form_costs_more_than_adding_up() {
        for (epsilon, times) in [(5.0, 3), (0.01, 10), (800.0, 2)] {
            let delta = short::delta(1e-6);
            let sum = epsilon * times as f64 * (1.0 + 1e-13);
            assert!(value(epsilon_at(&pure(epsilon, times), delta)) <= sum);
            assert!(value(kov_epsilon_at(&pure(epsilon, times), delta)) <= sum);
        }
    }

    #[test]
    fn delta_undoes_epsilon() {
        let noise_multiplier = noise(20.0);
        let mechanism = Mechanism::Gaussian { noise_multiplier }.repeated(count(30));
        let question = Question { mechanism, adjacency: Adjacency::ReplaceOne };
        let epsilon = short::epsilon(value(epsilon_at(&question, short::delta(1e-6))));
        let back = delta_at(&question, epsilon).unwrap().upper().unwrap().0.get();
        assert!((back / 1e-6 - 1.0).abs() < 1e-6, "{back}");
    }
}
