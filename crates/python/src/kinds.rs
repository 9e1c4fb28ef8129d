//! A constructor for each kind of mechanism that a plan may list, by the same names of fields.
//!
//! Each writes the spec that a file would hold and lets the spec's own check make the mechanism of it, so that Python, files and the
//! command line accept and refuse the same.

use crate::{
    argument::{maybe_number, maybe_whole, number, numbers, tree, walk, whole},
    errors::{InvalidInput, refused},
    mechanism::{PyMechanism, Said},
};
use pyo3::{exceptions::PyTypeError, prelude::*, types::PyDict};
use serde_json::from_value;
use veracity::{
    Mechanism,
    plan::plainly,
    spec::{LossesSpec, MechanismSpec, ParticipationSpec, StrategySpec, Whole},
};

type Given<'a, 'py> = &'a Bound<'py, PyAny>;
type Maybe<'a, 'py> = Option<&'a Bound<'py, PyAny>>;

/// Adds the constructors to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(gaussian, module)?)?;
    module.add_function(wrap_pyfunction!(laplace, module)?)?;
    module.add_function(wrap_pyfunction!(discrete_gaussian, module)?)?;
    module.add_function(wrap_pyfunction!(discrete_laplace, module)?)?;
    module.add_function(wrap_pyfunction!(randomized_response, module)?)?;
    module.add_function(wrap_pyfunction!(exponential, module)?)?;
    module.add_function(wrap_pyfunction!(pure, module)?)?;
    module.add_function(wrap_pyfunction!(approximate, module)?)?;
    module.add_function(wrap_pyfunction!(zcdp, module)?)?;
    module.add_function(wrap_pyfunction!(rdp, module)?)?;
    module.add_function(wrap_pyfunction!(gdp, module)?)?;
    module.add_function(wrap_pyfunction!(poisson_sampled, module)?)?;
    module.add_function(wrap_pyfunction!(fixed_size_sampled, module)?)?;
    module.add_function(wrap_pyfunction!(truncated_poisson_sampled, module)?)?;
    module.add_function(wrap_pyfunction!(random_allocation, module)?)?;
    module.add_function(wrap_pyfunction!(shuffled, module)?)?;
    module.add_function(wrap_pyfunction!(matrix, module)?)?;
    module.add_function(wrap_pyfunction!(best_of, module)?)?;
    module.add_function(wrap_pyfunction!(losses, module)?)?;
    module.add_function(wrap_pyfunction!(composed, module)?)?;
    module.add_function(wrap_pyfunction!(parallel, module)?)?;
    module.add_function(wrap_pyfunction!(repeated, module)?)?;
    module.add_function(wrap_pyfunction!(group, module)?)?;
    module.add_function(wrap_pyfunction!(dp_sgd, module)?)?;
    Ok(())
}

/// The mechanism of a spec, with what was said beside it.
fn made(spec: &MechanismSpec, adjacency: Option<&str>, unit: Option<&str>) -> PyResult<PyMechanism> {
    PyMechanism::new(Mechanism::try_from(spec).map_err(refused)?, Said::new(adjacency, unit)?)
}

/// A mechanism around another, with what was said beside both.
fn around(
    inside: &PyMechanism,
    adjacency: Option<&str>,
    unit: Option<&str>,
    spec: impl FnOnce(Box<MechanismSpec>) -> MechanismSpec,
) -> PyResult<PyMechanism> {
    let spec = spec(Box::new(MechanismSpec::from(&inside.mechanism)));
    let said = inside.said.and(&Said::new(adjacency, unit)?)?;
    PyMechanism::new(Mechanism::try_from(&spec).map_err(refused)?, said)
}

/// What a table lacks or has too much.
fn unfit(name: &str, why: &serde_json::Error) -> PyErr {
    InvalidInput::new_err(format!("{name}: {}", plainly(&why.to_string())))
}

/// Several mechanisms, each said to be about the same people.
fn several(
    parts: Given<'_, '_>,
    adjacency: Option<&str>,
    unit: Option<&str>,
) -> PyResult<(Vec<Mechanism>, Said)> {
    let mut said = Said::new(adjacency, unit)?;
    let mut all = Vec::new();
    for part in walk("parts", parts)? {
        let Ok(part) = part.cast::<PyMechanism>() else {
            return Err(PyTypeError::new_err("a part is no mechanism, expected mechanisms in a row"));
        };
        said = said.and(&part.get().said)?;
        all.push(part.get().mechanism.clone());
    }
    Ok((all, said))
}

/// Gaussian noise: `noise_multiplier`, or `sigma` with `sensitivity`.
#[pyfunction]
#[pyo3(signature = (*, noise_multiplier=None, sigma=None, sensitivity=None, adjacency=None, unit=None))]
fn gaussian(
    noise_multiplier: Maybe<'_, '_>,
    sigma: Maybe<'_, '_>,
    sensitivity: Maybe<'_, '_>,
    adjacency: Option<&str>,
    unit: Option<&str>,
) -> PyResult<PyMechanism> {
    let spec = MechanismSpec::Gaussian {
        noise_multiplier: maybe_number("noise_multiplier", noise_multiplier)?,
        sigma: maybe_number("sigma", sigma)?,
        sensitivity: maybe_number("sensitivity", sensitivity)?,
    };
    made(&spec, adjacency, unit)
}

/// Laplace noise: `noise_multiplier`, or `scale` with `sensitivity`.
#[pyfunction]
#[pyo3(signature = (*, noise_multiplier=None, scale=None, sensitivity=None, adjacency=None, unit=None))]
fn laplace(
    noise_multiplier: Maybe<'_, '_>,
    scale: Maybe<'_, '_>,
    sensitivity: Maybe<'_, '_>,
    adjacency: Option<&str>,
    unit: Option<&str>,
) -> PyResult<PyMechanism> {
    let spec = MechanismSpec::Laplace {
        noise_multiplier: maybe_number("noise_multiplier", noise_multiplier)?,
        scale: maybe_number("scale", scale)?,
        sensitivity: maybe_number("sensitivity", sensitivity)?,
    };
    made(&spec, adjacency, unit)
}

/// Integer Gaussian noise; `sensitivity` is 1 unless given.
#[pyfunction]
#[pyo3(signature = (*, sigma, sensitivity=None, adjacency=None, unit=None))]
fn discrete_gaussian(
    sigma: Given<'_, '_>,
    sensitivity: Maybe<'_, '_>,
    adjacency: Option<&str>,
    unit: Option<&str>,
) -> PyResult<PyMechanism> {
    let sensitivity = maybe_whole("sensitivity", sensitivity)?.unwrap_or(Whole(1.0));
    let spec = MechanismSpec::DiscreteGaussian { sigma: number("sigma", sigma)?, sensitivity };
    made(&spec, adjacency, unit)
}

/// Integer Laplace noise; `sensitivity` is 1 unless given.
#[pyfunction]
#[pyo3(signature = (*, scale, sensitivity=None, adjacency=None, unit=None))]
fn discrete_laplace(
    scale: Given<'_, '_>,
    sensitivity: Maybe<'_, '_>,
    adjacency: Option<&str>,
    unit: Option<&str>,
) -> PyResult<PyMechanism> {
    let sensitivity = maybe_whole("sensitivity", sensitivity)?.unwrap_or(Whole(1.0));
    let spec = MechanismSpec::DiscreteLaplace { scale: number("scale", scale)?, sensitivity };
    made(&spec, adjacency, unit)
}

/// Each report is random with chance `noise_parameter`, true otherwise. The usual adjacency is replace-one.
#[pyfunction]
#[pyo3(signature = (*, noise_parameter, buckets, adjacency=None, unit=None))]
fn randomized_response(
    noise_parameter: Given<'_, '_>,
    buckets: Given<'_, '_>,
    adjacency: Option<&str>,
    unit: Option<&str>,
) -> PyResult<PyMechanism> {
    let spec = MechanismSpec::RandomizedResponse {
        noise_parameter: number("noise_parameter", noise_parameter)?,
        buckets: whole("buckets", buckets)?,
    };
    made(&spec, adjacency, unit)
}

/// The exponential mechanism, by the range of its losses.
#[pyfunction]
#[pyo3(signature = (*, epsilon, adjacency=None, unit=None))]
fn exponential(epsilon: Given<'_, '_>, adjacency: Option<&str>, unit: Option<&str>) -> PyResult<PyMechanism> {
    let spec = MechanismSpec::Exponential { epsilon: number("epsilon", epsilon)? };
    made(&spec, adjacency, unit)
}

/// Declared: ε-differential privacy.
#[pyfunction]
#[pyo3(signature = (*, epsilon, adjacency=None, unit=None))]
fn pure(epsilon: Given<'_, '_>, adjacency: Option<&str>, unit: Option<&str>) -> PyResult<PyMechanism> {
    let spec = MechanismSpec::Pure { epsilon: number("epsilon", epsilon)? };
    made(&spec, adjacency, unit)
}

/// Declared: (ε, δ)-differential privacy.
#[pyfunction]
#[pyo3(signature = (*, epsilon, delta, adjacency=None, unit=None))]
fn approximate(
    epsilon: Given<'_, '_>,
    delta: Given<'_, '_>,
    adjacency: Option<&str>,
    unit: Option<&str>,
) -> PyResult<PyMechanism> {
    let spec =
        MechanismSpec::Approximate { epsilon: number("epsilon", epsilon)?, delta: number("delta", delta)? };
    made(&spec, adjacency, unit)
}

/// Declared: ρ-zero-concentrated differential privacy.
#[pyfunction]
#[pyo3(signature = (*, rho, adjacency=None, unit=None))]
fn zcdp(rho: Given<'_, '_>, adjacency: Option<&str>, unit: Option<&str>) -> PyResult<PyMechanism> {
    let spec = MechanismSpec::Zcdp { rho: number("rho", rho)? };
    made(&spec, adjacency, unit)
}

/// Declared: Rényi divergences, a value for each order.
#[pyfunction]
#[pyo3(signature = (*, orders, values, adjacency=None, unit=None))]
fn rdp(
    orders: Given<'_, '_>,
    values: Given<'_, '_>,
    adjacency: Option<&str>,
    unit: Option<&str>,
) -> PyResult<PyMechanism> {
    let spec = MechanismSpec::Rdp { orders: numbers("orders", orders)?, values: numbers("values", values)? };
    made(&spec, adjacency, unit)
}

/// Declared: μ-Gaussian differential privacy.
#[pyfunction]
#[pyo3(signature = (*, mu, adjacency=None, unit=None))]
fn gdp(mu: Given<'_, '_>, adjacency: Option<&str>, unit: Option<&str>) -> PyResult<PyMechanism> {
    let spec = MechanismSpec::Gdp { mu: number("mu", mu)? };
    made(&spec, adjacency, unit)
}

/// A mechanism on a batch that each record enters with chance `rate`; also `mechanism.sampled(rate)`.
#[pyfunction]
#[pyo3(signature = (mechanism, *, rate, adjacency=None, unit=None))]
fn poisson_sampled(
    mechanism: &PyMechanism,
    rate: Given<'_, '_>,
    adjacency: Option<&str>,
    unit: Option<&str>,
) -> PyResult<PyMechanism> {
    let rate = number("rate", rate)?;
    around(mechanism, adjacency, unit, |mechanism| MechanismSpec::PoissonSampled { rate, mechanism })
}

/// A mechanism on a batch of fixed size, drawn without replacement.
#[pyfunction]
#[pyo3(signature = (mechanism, *, batch, population, adjacency=None, unit=None))]
fn fixed_size_sampled(
    mechanism: &PyMechanism,
    batch: Given<'_, '_>,
    population: Given<'_, '_>,
    adjacency: Option<&str>,
    unit: Option<&str>,
) -> PyResult<PyMechanism> {
    let batch = whole("batch", batch)?;
    let population = whole("population", population)?;
    around(mechanism, adjacency, unit, |mechanism| MechanismSpec::FixedSizeSampled {
        batch,
        population,
        mechanism,
    })
}

/// A mechanism on a Poisson batch of at most `most` of the population; surplus records are dropped at random.
#[pyfunction]
#[pyo3(signature = (mechanism, *, rate, most, population, adjacency=None, unit=None))]
fn truncated_poisson_sampled(
    mechanism: &PyMechanism,
    rate: Given<'_, '_>,
    most: Given<'_, '_>,
    population: Given<'_, '_>,
    adjacency: Option<&str>,
    unit: Option<&str>,
) -> PyResult<PyMechanism> {
    let rate = number("rate", rate)?;
    let most = whole("most", most)?;
    let population = whole("population", population)?;
    around(mechanism, adjacency, unit, |mechanism| MechanismSpec::TruncatedPoissonSampled {
        rate,
        most,
        population,
        mechanism,
    })
}

/// One epoch in which each record is dealt to one of the batches at random (balls and bins).
#[pyfunction]
#[pyo3(signature = (mechanism, *, batches, adjacency=None, unit=None))]
fn random_allocation(
    mechanism: &PyMechanism,
    batches: Given<'_, '_>,
    adjacency: Option<&str>,
    unit: Option<&str>,
) -> PyResult<PyMechanism> {
    let batches = whole("batches", batches)?;
    around(mechanism, adjacency, unit, |mechanism| MechanismSpec::RandomAllocation { batches, mechanism })
}

/// One epoch over the batches of a shuffled dataset. The usual adjacency is zero-out.
#[pyfunction]
#[pyo3(signature = (mechanism, *, batches, adjacency=None, unit=None))]
fn shuffled(
    mechanism: &PyMechanism,
    batches: Given<'_, '_>,
    adjacency: Option<&str>,
    unit: Option<&str>,
) -> PyResult<PyMechanism> {
    let batches = whole("batches", batches)?;
    around(mechanism, adjacency, unit, |mechanism| MechanismSpec::Shuffled { batches, mechanism })
}

/// Correlated noise (DP-FTRL).
///
/// `strategy` is {"kind": "tree", "steps": …}, {"kind": "banded", "steps": …, "coefficients": […]} or {"kind": "rows", "rows": [[…], …]};
/// `participation` is {"kind": "once"}, {"kind": "separated", "times": …, "separation": …} or {"kind": "cyclic-poisson", "groups": …,
/// "rate": …}.
#[pyfunction]
#[pyo3(signature = (*, strategy, participation, noise_multiplier, adjacency=None, unit=None))]
fn matrix(
    strategy: &Bound<'_, PyDict>,
    participation: &Bound<'_, PyDict>,
    noise_multiplier: Given<'_, '_>,
    adjacency: Option<&str>,
    unit: Option<&str>,
) -> PyResult<PyMechanism> {
    let strategy: StrategySpec =
        from_value(tree("strategy", strategy)?).map_err(|why| unfit("strategy", &why))?;
    let participation: ParticipationSpec =
        from_value(tree("participation", participation)?).map_err(|why| unfit("participation", &why))?;
    let noise_multiplier = number("noise_multiplier", noise_multiplier)?;
    made(&MechanismSpec::Matrix { strategy, participation, noise_multiplier }, adjacency, unit)
}

/// The best of a random number of runs: Poisson, or negative binomial of this `shape`.
#[pyfunction]
#[pyo3(signature = (mechanism, *, mean_runs, shape=None, adjacency=None, unit=None))]
fn best_of(
    mechanism: &PyMechanism,
    mean_runs: Given<'_, '_>,
    shape: Maybe<'_, '_>,
    adjacency: Option<&str>,
    unit: Option<&str>,
) -> PyResult<PyMechanism> {
    let mean_runs = number("mean_runs", mean_runs)?;
    let shape = maybe_number("shape", shape)?;
    around(mechanism, adjacency, unit, |mechanism| MechanismSpec::BestOf { mean_runs, shape, mechanism })
}

/// Declared: a privacy loss distribution.
///
/// `first` is {"losses": […], "probabilities": […], "infinite": …}; `second` is the same for the other order of the datasets.
#[pyfunction]
#[pyo3(signature = (first, second=None, *, adjacency=None, unit=None))]
fn losses(
    first: &Bound<'_, PyDict>,
    second: Option<&Bound<'_, PyDict>>,
    adjacency: Option<&str>,
    unit: Option<&str>,
) -> PyResult<PyMechanism> {
    let read = |name: &str, given: &Bound<'_, PyDict>| -> PyResult<LossesSpec> {
        from_value(tree(name, given)?).map_err(|why| unfit(name, &why))
    };
    let second = second.map(|second| read("second", second)).transpose()?;
    let first = read("first", first)?;
    made(&MechanismSpec::Losses { first, second }, adjacency, unit)
}

/// Mechanisms one after another, as `a + b`.
#[pyfunction]
#[pyo3(signature = (parts, *, adjacency=None, unit=None))]
fn composed(parts: Given<'_, '_>, adjacency: Option<&str>, unit: Option<&str>) -> PyResult<PyMechanism> {
    let (parts, said) = several(parts, adjacency, unit)?;
    PyMechanism::new(Mechanism::Composed(parts), said)
}

/// Mechanisms on disjoint parts of the data.
#[pyfunction]
#[pyo3(signature = (parts, *, adjacency=None, unit=None))]
fn parallel(parts: Given<'_, '_>, adjacency: Option<&str>, unit: Option<&str>) -> PyResult<PyMechanism> {
    let (parts, said) = several(parts, adjacency, unit)?;
    PyMechanism::new(Mechanism::Parallel(parts), said)
}

/// A mechanism, so many times, as `mechanism * times`.
#[pyfunction]
#[pyo3(signature = (mechanism, *, times, adjacency=None, unit=None))]
fn repeated(
    mechanism: &PyMechanism,
    times: Given<'_, '_>,
    adjacency: Option<&str>,
    unit: Option<&str>,
) -> PyResult<PyMechanism> {
    let times = whole("times", times)?;
    around(mechanism, adjacency, unit, |mechanism| MechanismSpec::Repeated { times, mechanism })
}

/// A mechanism, for so many records that change together, as `mechanism.group(size)`.
#[pyfunction]
#[pyo3(signature = (mechanism, *, size, adjacency=None, unit=None))]
fn group(
    mechanism: &PyMechanism,
    size: Given<'_, '_>,
    adjacency: Option<&str>,
    unit: Option<&str>,
) -> PyResult<PyMechanism> {
    let size = whole("size", size)?;
    around(mechanism, adjacency, unit, |mechanism| MechanismSpec::Group { size, mechanism })
}

/// Noisy gradient descent on Poisson batches.
///
/// The rate is `sampling_rate`, or `batch_size` over `dataset_size`, rounded up; the steps are `steps`, or `epochs`, rounded up to
/// whole steps.
#[pyfunction]
#[pyo3(signature = (*, sampling_rate=None, batch_size=None, dataset_size=None, noise_multiplier, steps=None, epochs=None, adjacency=None, unit=None))]
#[allow(clippy::too_many_arguments)] // They are keywords in Python.
fn dp_sgd(
    sampling_rate: Maybe<'_, '_>,
    batch_size: Maybe<'_, '_>,
    dataset_size: Maybe<'_, '_>,
    noise_multiplier: Given<'_, '_>,
    steps: Maybe<'_, '_>,
    epochs: Maybe<'_, '_>,
    adjacency: Option<&str>,
    unit: Option<&str>,
) -> PyResult<PyMechanism> {
    let spec = MechanismSpec::DpSgd {
        sampling_rate: maybe_number("sampling_rate", sampling_rate)?,
        batch_size: maybe_whole("batch_size", batch_size)?,
        dataset_size: maybe_whole("dataset_size", dataset_size)?,
        noise_multiplier: number("noise_multiplier", noise_multiplier)?,
        steps: maybe_whole("steps", steps)?,
        epochs: maybe_number("epochs", epochs)?,
    };
    made(&spec, adjacency, unit)
}
