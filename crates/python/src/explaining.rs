//! What a guarantee means for the people whose data it is: in words, and as fields.

use crate::{
    argument::{self, number},
    claims::target,
    errors::{InvalidInput, refused},
    interruptible::interruptible,
    mechanism::{PyMechanism, Said},
};
use pyo3::prelude::*;
use veracity::{
    AtRate, Delta, Epsilon, Explanation as Explained, ExplanationFile, Group, Probability, Promise, Refusal,
    explain as explain_subject, explain_promise, words,
};

/// The optimal attack at one false-positive rate, and its success.
#[pyclass(frozen, get_all, module = "veracity")]
#[derive(Debug, Clone)]
pub struct Attack {
    /// The fraction of people who are not in the data but whom the attack accuses.
    false_positive_rate: f64,
    /// The largest possible fraction of people in the data whom the attack finds.
    true_positive_rate: f64,
    /// Pairs (prior, posterior): the most that the attack can raise each prior probability of membership.
    posteriors: Vec<(f64, f64)>,
}

#[pymethods]
impl Attack {
    fn __repr__(&self) -> String {
        let (accused, found) = (self.false_positive_rate, self.true_positive_rate);
        format!("Attack(false_positive_rate={accused:?}, true_positive_rate={found:?})")
    }
}

/// The guarantee for a group of people. `epsilon` and `delta` are None if the group has no guarantee.
#[pyclass(frozen, get_all, module = "veracity")]
#[derive(Debug, Clone)]
pub struct GroupPromise {
    /// The number of people in the group.
    size: u32,
    /// Upper bound on ε of the group.
    epsilon: Option<f64>,
    /// Upper bound on δ of the group.
    delta: Option<f64>,
    /// The accounting method. None for the general rule that holds for every (ε, δ).
    method: Option<String>,
}

#[pymethods]
impl GroupPromise {
    fn __repr__(&self) -> String {
        let shown = |end: Option<f64>| end.map_or("None".to_owned(), |end| format!("{end:?}"));
        format!(
            "GroupPromise(size={}, epsilon={}, delta={})",
            self.size,
            shown(self.epsilon),
            shown(self.delta)
        )
    }
}

/// A privacy guarantee in plain language.
///
/// `str(explanation)` is the text, and each of its numbers is an attribute. All numbers are upper bounds.
#[pyclass(frozen, module = "veracity")]
#[derive(Debug, Clone)]
pub struct Explanation {
    /// ε of the guarantee.
    #[pyo3(get)]
    epsilon: f64,
    /// δ of the guarantee.
    #[pyo3(get)]
    delta: f64,
    /// e^ε, the largest factor by which the output can change an attacker's odds (up to δ).
    #[pyo3(get)]
    odds: f64,
    /// The largest difference between true-positive and false-positive rate of any attack.
    #[pyo3(get)]
    advantage: f64,
    /// The optimal attack at several false-positive rates.
    #[pyo3(get)]
    attacks: Vec<Attack>,
    /// The guarantee for groups of 2 and 5 people.
    #[pyo3(get)]
    groups: Vec<GroupPromise>,
    /// The explanation as text.
    #[pyo3(get)]
    text: String,
    json: String,
}

#[pymethods]
impl Explanation {
    /// Return the numbers as JSON, as `veracity explain --json` prints them.
    ///
    /// Returns:
    ///     A JSON object.
    fn to_json(&self) -> &str {
        &self.json
    }

    fn __str__(&self) -> &str {
        &self.text
    }

    fn __repr__(&self) -> String {
        format!("<Explanation: {}>", self.text.lines().next().unwrap_or_default())
    }
}

impl Explanation {
    fn new(found: &Explained) -> PyResult<Explanation> {
        let attack = |attack: &AtRate| Attack {
            false_positive_rate: attack.false_positive_rate,
            true_positive_rate: attack.true_positive_rate,
            posteriors: attack.posteriors.clone(),
        };
        let group = |group: &Group| GroupPromise {
            size: group.size,
            epsilon: group.promise.map(|promise| promise.epsilon),
            delta: group.promise.map(|promise| promise.delta),
            method: group.method.map(|method| method.name().to_owned()),
        };
        let json = serde_json::to_string_pretty(&ExplanationFile::new(found))
            .map_err(|error| InvalidInput::new_err(format!("cannot write the explanation: {error}")))?;
        Ok(Explanation {
            epsilon: found.promise.epsilon,
            delta: found.promise.delta,
            odds: found.odds,
            advantage: found.advantage,
            attacks: found.attacks.iter().map(attack).collect(),
            groups: found.groups.iter().map(group).collect(),
            text: words::explanation(found).to_string(),
            json,
        })
    }
}

/// Explain a guarantee in plain language: odds, the optimal attack and groups.
///
/// Pass a mechanism and either `delta` or `epsilon`. Without a mechanism, pass both, for example for a guarantee that you read in a
/// paper.
///
/// Args:
///     mechanism: the mechanism to explain, or None.
///     delta: δ of the guarantee.
///     epsilon: ε of the guarantee.
///     priors: an attacker's probabilities of membership before the attack. None takes 0.01 and 0.5.
///     adjacency: "add-remove", "replace-one" or "zero-out". None takes the adjacency of the mechanism.
///
/// Returns:
///     An `Explanation`. Print it to read the text.
///
/// Raises:
///     InvalidInput: if the arguments do not determine a guarantee.
///     NoTheorem: if no theorem covers the mechanism.
///
/// Example:
///     >>> print(v.explain(epsilon=3, delta=1e-6).text.splitlines()[0])
///     epsilon ≤ 3 at delta 1e-6   (per example; as given)
#[pyfunction]
#[pyo3(signature = (mechanism=None, *, delta=None, epsilon=None, priors=None, adjacency=None))]
pub fn explain(
    py: Python<'_>,
    mechanism: Option<&PyMechanism>,
    delta: Option<&Bound<'_, PyAny>>,
    epsilon: Option<&Bound<'_, PyAny>>,
    priors: Option<&Bound<'_, PyAny>>,
    adjacency: Option<&str>,
) -> PyResult<Explanation> {
    let priors = priors.map_or(Ok(vec![0.01, 0.5]), |priors| argument::numbers("priors", priors))?;
    let priors = priors.into_iter().map(prior).collect::<PyResult<Vec<Probability>>>()?;
    let found = match mechanism {
        Some(mechanism) => {
            let (subject, target) = (mechanism.subject(adjacency)?, target(delta, epsilon)?);
            interruptible(py, move || explain_subject(&subject, target, &priors))?
        }
        None => {
            let promise = promise(delta, epsilon)?;
            let said = Said::new(adjacency, None)?;
            explain_promise(promise, said.unit.unwrap_or_default(), &priors)
                .map(|found| Explained { adjacency: said.adjacency, ..found })
        }
    };
    Explanation::new(&found.map_err(refused)?)
}

fn prior(given: f64) -> PyResult<Probability> {
    match Probability::new(given) {
        Ok(prior) if prior.get() > 0.0 && prior.get() < 1.0 => Ok(prior),
        _ => Err(refused(Refusal::out_of_range("prior", given, "0 < prior < 1"))),
    }
}

/// An ε and a δ that were promised, neither of which says more than it does.
fn promise(delta: Option<&Bound<'_, PyAny>>, epsilon: Option<&Bound<'_, PyAny>>) -> PyResult<Promise> {
    let (Some(delta), Some(epsilon)) = (delta, epsilon) else {
        return Err(InvalidInput::new_err("mechanism is missing; pass a mechanism, or epsilon and delta"));
    };
    let epsilon = number("epsilon", epsilon)?;
    if epsilon.is_infinite() {
        return Err(refused(Refusal::out_of_range("epsilon", epsilon, "a finite number ≥ 0")));
    }
    let epsilon = Epsilon::new(epsilon).map_err(refused)?.get();
    let delta = Delta::new(number("delta", delta)?).map_err(refused)?.get();
    Ok(Promise { epsilon, delta })
}
