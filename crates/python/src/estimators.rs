//! What the estimators of `veracity/sklearn` stand on: sums of rows, convex models and networks, each with its noise from here.
//!
//! Arrays come in, bounded again on this side, and arrays with the mechanism that made them go out. Without a seed the noise is of the
//! system's entropy; each call then has entropy of its own.

use crate::{
    argument,
    claims::Claim,
    errors::{InvalidInput, failed, refused},
    interruptible::interruptible,
    mechanism::PyMechanism,
};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use veracity::{
    Adjacency, Choice, ClaimFile, ClipNorm, Count, Delta, Entropy, Mechanism, NoiseMultiplier, NoiseNote,
    Origin, PrivacyUnit, Refusal, ReleaseNote, SamplingRate, Subject, Target, account, calibrate,
    noise::{Key, NoiseStream, Purpose, vector::UNIT_BITS},
    provenance,
    query::{Clipping, RowSums, RowsOf, Term},
    release_note::MODEL,
    spec::Whole,
    training::models::{
        Averaging, CalibratedNoise, Dataset, Draws, Labels, Layer, Loss, Network, Optimiser, Plan, Privacy,
        Run, Sampling, Schedule, Shape, cohort,
        convex::{
            BoundedFeatures, ConvexLoss, Intercept, Manner, ObjectiveNoise, Problem, Regularisation,
            RowBound, objective_perturbation,
        },
    },
};

/// A noise call as a claim notes it: its place, its grid, what one row contributes in steps of the grid, and the noise over that.
type Noted = (String, f64, f64, f64);

/// Steps of the vector sampler in one standard deviation.
const DEVIATION: f64 = (1u64 << UNIT_BITS) as f64;

/// The noise of one call.
fn noise(seed: Option<u64>, call: u64) -> Result<NoiseStream, Refusal> {
    match seed {
        None => NoiseStream::system(Purpose::Noise),
        Some(seed) => {
            let key = Key { run: call, ..Key::default() };
            Ok(NoiseStream::new(Entropy::seeded(seed).stream(Purpose::Noise, key)))
        }
    }
}

/// A mechanism under add-remove, for one row of a table.
fn of_row(mechanism: Mechanism) -> PyResult<PyMechanism> {
    let unit = PrivacyUnit::new("row").map_err(refused)?;
    PyMechanism::of_subject(Subject { mechanism, adjacency: Adjacency::AddRemove, unit })
}

/// Sums over rows with Gaussian noise, in units of the bound; group after group, term after term.
#[pyfunction]
#[pyo3(signature = (rows, targets, groups, number_of_groups, clipping, terms, noise_multiplier, seed, call))]
#[allow(clippy::too_many_arguments)]
pub fn _row_sums<'py>(
    py: Python<'py>,
    rows: PyReadonlyArray2<'py, f64>,
    targets: PyReadonlyArray2<'py, f64>,
    groups: PyReadonlyArray1<'py, u32>,
    number_of_groups: usize,
    clipping: &str,
    terms: Vec<String>,
    noise_multiplier: f64,
    seed: Option<u64>,
    call: u64,
) -> PyResult<(Bound<'py, PyArray1<f64>>, PyMechanism, Noted)> {
    let clipping = match clipping {
        "norm" => Clipping::Norm,
        "box" => Clipping::Box,
        _ => return Err(InvalidInput::new_err("unknown clipping, expected norm or box")),
    };
    let term = |name: &String| match name.as_str() {
        "count" => Ok(Term::Count),
        "entries" => Ok(Term::Entries),
        "squares" => Ok(Term::Squares),
        "centred squares" => Ok(Term::CentredSquares),
        "products" => Ok(Term::Products),
        "targets" => Ok(Term::Targets),
        "cross" => Ok(Term::Cross),
        _ => Err(InvalidInput::new_err("unknown term")),
    };
    let terms = terms.iter().map(term).collect::<PyResult<Vec<Term>>>()?;
    let multiplier = NoiseMultiplier::new(noise_multiplier).map_err(refused)?;
    let (rows, targets, groups) = (rows.as_array(), targets.as_array(), groups.as_array());
    let sizes = (rows.ncols(), targets.ncols(), number_of_groups);
    let sums = RowSums::new(sizes, clipping, &terms, Adjacency::AddRemove, multiplier).map_err(refused)?;
    let mechanism = of_row(sums.mechanism())?;
    let multiplier = sums.multiplier().get();
    let noted = ("sums of clipped rows".to_owned(), sums.granularity(), DEVIATION / multiplier, multiplier);
    let (entries, targets): (Vec<f64>, Vec<f64>) =
        (rows.iter().copied().collect(), targets.iter().copied().collect());
    let groups: Vec<u32> = groups.iter().copied().collect();
    let work = move || {
        let rows = RowsOf { entries: &entries, targets: &targets, groups: &groups };
        sums.release(rows, &mut noise(seed, call)?)
    };
    let noisy = interruptible(py, work)?.map_err(refused)?;
    Ok((noisy.into_pyarray(py), mechanism, noted))
}

/// The least noise multiplier with which so many Gaussian answers are within a budget.
#[pyfunction]
pub fn _gaussian_noise(
    py: Python<'_>,
    epsilon: &Bound<'_, PyAny>,
    delta: &Bound<'_, PyAny>,
    times: u64,
) -> PyResult<f64> {
    let (epsilon, delta) = (argument::epsilon(epsilon)?, gaussian_delta(delta)?);
    let times = Count::new(times).map_err(refused)?;
    let work = move || {
        let family = |noise_multiplier| Mechanism::Gaussian { noise_multiplier }.repeated(times);
        calibrate::noise(&family, Adjacency::AddRemove, epsilon, delta)
    };
    Ok(interruptible(py, work)?.map_err(refused)?.get())
}

/// The least noise multiplier of a training.
#[pyfunction]
pub fn _sgd_noise(
    py: Python<'_>,
    epsilon: &Bound<'_, PyAny>,
    delta: &Bound<'_, PyAny>,
    schedule: (u64, u64, u64),
) -> PyResult<(f64, PyMechanism)> {
    let (epsilon, delta) = (argument::epsilon(epsilon)?, gaussian_delta(delta)?);
    let work = move || -> Result<(f64, Mechanism), Refusal> {
        let (batch, population, steps) = schedule;
        let rate = SamplingRate::new(batch as f64 / population as f64)?;
        let steps = Count::new(steps)?;
        let family = |noise| Mechanism::sampled_gaussian(rate, noise, steps);
        let noise = calibrate::noise(&family, Adjacency::AddRemove, epsilon, delta)?;
        Ok((noise.get(), family(noise)))
    };
    let (noise, mechanism) = interruptible(py, work)?.map_err(refused)?;
    Ok((noise, of_row(mechanism)?))
}

fn gaussian_delta(delta: &Bound<'_, PyAny>) -> PyResult<Delta> {
    let delta = argument::delta(delta)?;
    if delta.get() > 0.0 {
        return Ok(delta);
    }
    Err(InvalidInput::new_err("delta is 0, expected delta > 0, because this estimator adds Gaussian noise"))
}

/// Features and classes as the trainer takes them.
fn dataset(features: &PyReadonlyArray2<'_, f64>, labels: Vec<u32>, classes: usize) -> PyResult<Dataset> {
    let features = features.as_array();
    let width = features.ncols();
    let known = |x: &f64| if x.is_nan() { 0.0 } else { x.clamp(-1e30, 1e30) as f32 };
    let features: Vec<f32> = features.iter().map(known).collect();
    Dataset::new(features, width, Labels::Classes { of: labels, classes }).map_err(refused)
}

/// A logistic regression by objective perturbation: weights, class after class, the intercept's last; and what it cost.
#[pyfunction]
#[pyo3(signature = (features, labels, classes, epsilon, delta, penalty, intercept, seed))]
#[allow(clippy::too_many_arguments)]
pub fn _logistic<'py>(
    py: Python<'py>,
    features: PyReadonlyArray2<'py, f64>,
    labels: Vec<u32>,
    classes: usize,
    epsilon: &Bound<'_, PyAny>,
    delta: &Bound<'_, PyAny>,
    penalty: f64,
    intercept: f64,
    seed: Option<u64>,
) -> PyResult<(Bound<'py, PyArray1<f64>>, PyMechanism)> {
    let (epsilon, delta) = (argument::epsilon(epsilon)?, argument::delta(delta)?);
    let data = dataset(&features, labels, classes)?;
    let work = move || {
        let one = ClipNorm::new(1.0)?;
        let intercept = match intercept > 0.0 {
            true => Intercept::Constant(ClipNorm::new(intercept)?),
            false => Intercept::Absent,
        };
        let rows = RowBound::new(one, intercept, Manner::Clip)?;
        let problem = Problem::new(
            BoundedFeatures::new(&data, rows),
            ConvexLoss::Logistic,
            Regularisation::new(penalty, Count::ONE)?,
        )?;
        let noise_kind = match delta.get() > 0.0 {
            true => ObjectiveNoise::Gaussian { epsilon, delta },
            false => ObjectiveNoise::Laplace { epsilon },
        };
        objective_perturbation(&problem, noise_kind, Adjacency::AddRemove, &mut noise(seed, 0)?)
    };
    let released = interruptible(py, work)?.map_err(refused)?;
    Ok((released.model.weights().to_vec().into_pyarray(py), of_row(released.mechanism)?))
}

fn network(inputs: usize, hidden: &[usize], outputs: usize, activation: &str) -> Result<Network, Refusal> {
    let mut layers = Vec::new();
    for width in hidden {
        layers.push(Layer::Linear { outputs: *width });
        layers.push(match activation {
            "relu" => Layer::Relu,
            "tanh" => Layer::Tanh,
            _ => return Err(Refusal::invalid("unknown activation, expected relu or tanh")),
        });
    }
    layers.push(Layer::Linear { outputs });
    Network::new(Shape::Flat(inputs), layers)
}

/// A network trained by DP-SGD on Poisson batches: its parameters.
#[pyfunction]
#[pyo3(signature = (features, labels, classes, hidden, activation, schedule, noise_multiplier, clip, rate, momentum, seed))]
#[allow(clippy::too_many_arguments)]
pub fn _train_network<'py>(
    py: Python<'py>,
    features: PyReadonlyArray2<'py, f64>,
    labels: Vec<u32>,
    classes: usize,
    hidden: Vec<usize>,
    activation: String,
    schedule: (u64, u64, u64),
    noise_multiplier: f64,
    clip: f64,
    rate: f32,
    momentum: f32,
    seed: Option<u64>,
) -> PyResult<(Bound<'py, PyArray1<f32>>, Noted)> {
    let data = dataset(&features, labels, classes)?;
    let inputs = features.as_array().ncols();
    let work = move || -> Result<(Vec<f32>, Noted), Refusal> {
        let (batch, population, steps) = schedule;
        let network = network(inputs, &hidden, classes, &activation)?;
        let sampling = Sampling::Poisson { batch: Count::new(batch)?, population: Count::new(population)? };
        let privacy = Privacy::gaussian(NoiseMultiplier::new(noise_multiplier)?, ClipNorm::new(clip)?);
        let plan = Plan::new(network, Loss::SoftmaxCrossEntropy, sampling, Count::new(steps)?, privacy)
            .with_optimiser(Optimiser::Sgd { momentum })
            .with_schedule(Schedule::Cosine { rate, warmup: 0, last: 0.0 })
            .with_averaging(Averaging::None);
        let entropy = seed.map_or_else(Entropy::system, |seed| Ok(Entropy::seeded(seed)))?;
        let mut run = Run::with_private_count(&plan, &data, Draws { entropy: &entropy, run: 0, trial: 0 })?;
        while run.step()? {}
        let (multiplier, clip) = (NoiseMultiplier::new(noise_multiplier)?, ClipNorm::new(clip)?);
        let grid = CalibratedNoise::gaussian(multiplier, clip, plan.network.parameters(), plan.rounding())?
            .granularity();
        let place = "sum of clipped gradients, each step".to_owned();
        Ok((run.model().parameters, (place, grid, clip.get() / grid, noise_multiplier)))
    };
    let (parameters, noted) = interruptible(py, work)?.map_err(refused)?;
    Ok((parameters.into_pyarray(py), noted))
}

/// The outputs of a network, one for each class of each row.
#[pyfunction]
pub fn _network_outputs<'py>(
    py: Python<'py>,
    features: PyReadonlyArray2<'py, f64>,
    classes: usize,
    hidden: Vec<usize>,
    activation: String,
    parameters: Vec<f32>,
) -> PyResult<Bound<'py, PyArray1<f32>>> {
    let rows = features.as_array().nrows();
    let inputs = features.as_array().ncols();
    let data = dataset(&features, vec![0; rows], classes)?;
    let work = move || cohort::predict(&network(inputs, &hidden, classes, &activation)?, &parameters, &data);
    Ok(interruptible(py, work)?.map_err(refused)?.into_pyarray(py))
}

/// The claim of a model: what it cost, tied to its parameters. One of a seed says that it is not for release.
#[pyfunction]
pub fn _model_claim(
    py: Python<'_>,
    mechanism: &Bound<'_, PyMechanism>,
    delta: &Bound<'_, PyAny>,
    seeded: bool,
    sha256: String,
    dataset: String,
    noise: Vec<Noted>,
) -> PyResult<Claim> {
    let delta = argument::delta(delta)?;
    let subject: Subject = mechanism.get().subject(None)?;
    let work = move || -> Result<ClaimFile, veracity::Error> {
        let answer = account(&subject, Target::Delta(delta), Choice::Best)?;
        let origin = if seeded { Origin::Seeded } else { Origin::System };
        let noise = noise.into_iter().map(|(place, granularity, steps, multiplier)| NoiseNote {
            place,
            sampler: "gaussian-vector".to_owned(),
            granularity,
            sensitivity: Whole(steps.ceil()),
            scale: multiplier * steps,
        });
        let note = ReleaseNote::new(MODEL, (origin, origin.is_releasable()), noise.collect());
        Ok(ClaimFile::new(&subject, &answer)?.with_release(note).of_model(sha256, &provenance(&dataset)?))
    };
    Ok(Claim { file: interruptible(py, work)?.map_err(failed)? })
}
