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

/// Adds explanations to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Explanation>()?;
    module.add_class::<Attack>()?;
    module.add_class::<GroupPromise>()?;
    module.add_function(wrap_pyfunction!(explain, module)?)
}

/// The strongest attack that wrongly accuses at one rate.
#[pyclass(frozen, get_all, module = "veracity")]
#[derive(Debug, Clone)]
pub struct Attack {
    /// How often it accuses someone who is not in the data.
    false_positive_rate: f64,
    /// How often, at most, it finds someone who is.
    true_positive_rate: f64,
    /// Each prior, and what it becomes at most when the attack points at someone.
    posteriors: Vec<(f64, f64)>,
}

#[pymethods]
impl Attack {
    fn __repr__(&self) -> String {
        let (accused, found) = (self.false_positive_rate, self.true_positive_rate);
        format!("Attack(false_positive_rate={accused:?}, true_positive_rate={found:?})")
    }
}

/// What several people who act together are promised; ε and δ are None where nothing is.
#[pyclass(frozen, get_all, module = "veracity")]
#[derive(Debug, Clone)]
pub struct GroupPromise {
    /// How many.
    size: u32,
    /// Their ε, at most.
    epsilon: Option<f64>,
    /// Their δ, at most.
    delta: Option<f64>,
    /// The method, or None for the rule that follows from any ε and δ.
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

/// A guarantee, spelled out: `str()` is the text, and each number of it is a field. All of them are upper ends.
#[pyclass(frozen, module = "veracity")]
#[derive(Debug, Clone)]
pub struct Explanation {
    /// The ε.
    #[pyo3(get)]
    epsilon: f64,
    /// The δ.
    #[pyo3(get)]
    delta: f64,
    /// e^ε.
    #[pyo3(get)]
    odds: f64,
    /// The largest true-positive rate minus false-positive rate.
    #[pyo3(get)]
    advantage: f64,
    /// The strongest attack at several false-positive rates.
    #[pyo3(get)]
    attacks: Vec<Attack>,
    /// Groups that act together.
    #[pyo3(get)]
    groups: Vec<GroupPromise>,
    /// The whole in words.
    #[pyo3(get)]
    text: String,
    json: String,
}

#[pymethods]
impl Explanation {
    /// The fields, as the command line writes them.
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
            .map_err(|error| InvalidInput::new_err(format!("explanation cannot be written: {error}")))?;
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

/// What a mechanism promises at a δ or at an ε, spelled out; without a mechanism, what ε and δ alone promise.
#[pyfunction]
#[pyo3(signature = (mechanism=None, *, delta=None, epsilon=None, priors=None, adjacency=None))]
fn explain(
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
        return Err(InvalidInput::new_err(
            "mechanism is missing, expected a mechanism, or epsilon and delta",
        ));
    };
    let epsilon = number("epsilon", epsilon)?;
    if epsilon.is_infinite() {
        return Err(refused(Refusal::out_of_range("epsilon", epsilon, "a finite number ≥ 0")));
    }
    let epsilon = Epsilon::new(epsilon).map_err(refused)?.get();
    let delta = Delta::new(number("delta", delta)?).map_err(refused)?.get();
    Ok(Promise { epsilon, delta })
}
