//! A mechanism as it is written in files and on the command line: [`MechanismSpec`] is what serde reads and writes,
//! `TryFrom` checks it into a [`Mechanism`], and `From<&Mechanism>` writes it back.

mod losses;
mod strategy;

pub use losses::LossesSpec;
pub use strategy::{ParticipationSpec, StrategySpec};

use serde::{Deserialize, Serialize, Serializer};
use veracity_core::{
    Buckets, Count, Delta, Epsilon, GdpMu, Mechanism, NoiseMultiplier, Participation, Probability, RdpCurve,
    Refusal, Rho, Runs, SamplingRate, Sensitivity, Strategy,
};

/// How deep mechanisms may be nested in a file.
pub const DEEPEST: usize = 32;

/// A whole number that may be written `1000000` or `1e6`.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(transparent)]
pub struct Whole(pub f64);

impl Whole {
    /// The number as a count, refused under its own `name`.
    pub fn count(self, name: &'static str) -> Result<Count, Refusal> {
        let expected = "a whole number from 1 to 10^15";
        if self.0.fract() != 0.0 || !(1.0..=Count::MOST as f64).contains(&self.0) {
            let shown = if self.0.abs() < 1e16 { self.0.to_string() } else { format!("{:e}", self.0) };
            return Err(Refusal::out_of_range(name, shown, expected));
        }
        Count::new(self.0 as u64)
    }
}

impl From<Count> for Whole {
    fn from(count: Count) -> Self {
        Whole(count.as_f64())
    }
}

impl Serialize for Whole {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.fract() == 0.0 && (0.0..=Count::MOST as f64).contains(&self.0) {
            serializer.serialize_u64(self.0 as u64)
        } else {
            serializer.serialize_f64(self.0)
        }
    }
}

/// A mechanism as written. Fields that may be left out have a twin that says the same in other units.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
#[allow(missing_docs)] // Each field is named as in core's Mechanism, which documents it.
pub enum MechanismSpec {
    Gaussian {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        noise_multiplier: Option<f64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sigma: Option<f64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sensitivity: Option<f64>,
    },
    Laplace {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        noise_multiplier: Option<f64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        scale: Option<f64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sensitivity: Option<f64>,
    },
    DiscreteGaussian {
        sigma: f64,
        #[serde(default = "one")]
        sensitivity: Whole,
    },
    DiscreteLaplace {
        scale: f64,
        #[serde(default = "one")]
        sensitivity: Whole,
    },
    RandomizedResponse {
        noise_parameter: f64,
        buckets: Whole,
    },
    Exponential {
        epsilon: f64,
    },
    Pure {
        epsilon: f64,
    },
    Approximate {
        epsilon: f64,
        delta: f64,
    },
    Zcdp {
        rho: f64,
    },
    Rdp {
        orders: Vec<f64>,
        values: Vec<f64>,
    },
    Gdp {
        mu: f64,
    },
    PoissonSampled {
        rate: f64,
        mechanism: Box<MechanismSpec>,
    },
    FixedSizeSampled {
        batch: Whole,
        population: Whole,
        mechanism: Box<MechanismSpec>,
    },
    TruncatedPoissonSampled {
        rate: f64,
        most: Whole,
        population: Whole,
        mechanism: Box<MechanismSpec>,
    },
    RandomAllocation {
        batches: Whole,
        mechanism: Box<MechanismSpec>,
    },
    Shuffled {
        batches: Whole,
        mechanism: Box<MechanismSpec>,
    },
    Matrix {
        strategy: StrategySpec,
        participation: ParticipationSpec,
        noise_multiplier: f64,
    },
    BestOf {
        mean_runs: f64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        shape: Option<f64>,
        mechanism: Box<MechanismSpec>,
    },
    Losses {
        first: LossesSpec,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        second: Option<LossesSpec>,
    },
    Repeated {
        times: Whole,
        mechanism: Box<MechanismSpec>,
    },
    Composed {
        parts: Vec<MechanismSpec>,
    },
    Parallel {
        parts: Vec<MechanismSpec>,
    },
    Group {
        size: Whole,
        mechanism: Box<MechanismSpec>,
    },
    DpSgd {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sampling_rate: Option<f64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        batch_size: Option<Whole>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        dataset_size: Option<Whole>,
        noise_multiplier: f64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        steps: Option<Whole>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        epochs: Option<f64>,
    },
}

fn one() -> Whole {
    Whole(1.0)
}

impl TryFrom<&MechanismSpec> for Mechanism {
    type Error = Refusal;

    fn try_from(spec: &MechanismSpec) -> Result<Mechanism, Refusal> {
        check(spec, DEEPEST)
    }
}

fn check(spec: &MechanismSpec, depth: usize) -> Result<Mechanism, Refusal> {
    use MechanismSpec as S;
    if depth == 0 {
        return Err(Refusal::out_of_range(
            "nesting",
            "deeper than 32",
            "at most 32 mechanisms in each other",
        ));
    }
    let inner = |spec: &MechanismSpec| check(spec, depth - 1).map(Box::new);
    let all = |parts: &[MechanismSpec]| -> Result<Vec<Mechanism>, Refusal> {
        parts.iter().map(|part| check(part, depth - 1)).collect()
    };
    Ok(match spec {
        S::Gaussian { noise_multiplier, sigma, sensitivity } => Mechanism::Gaussian {
            noise_multiplier: relative(*noise_multiplier, ("sigma", *sigma), *sensitivity)?,
        },
        S::Laplace { noise_multiplier, scale, sensitivity } => Mechanism::Laplace {
            noise_multiplier: relative(*noise_multiplier, ("scale", *scale), *sensitivity)?,
        },
        S::DiscreteGaussian { sigma, sensitivity } => Mechanism::DiscreteGaussian {
            sigma: noise("sigma", *sigma)?,
            sensitivity: sensitivity.count("sensitivity")?,
        },
        S::DiscreteLaplace { scale, sensitivity } => Mechanism::DiscreteLaplace {
            scale: noise("scale", *scale)?,
            sensitivity: sensitivity.count("sensitivity")?,
        },
        S::RandomizedResponse { noise_parameter, buckets } => {
            randomized_response(*noise_parameter, *buckets)?
        }
        S::Exponential { epsilon } => Mechanism::Exponential { epsilon: finite_epsilon(*epsilon)? },
        S::Pure { epsilon } => Mechanism::Pure { epsilon: finite_epsilon(*epsilon)? },
        S::Approximate { epsilon, delta } => {
            Mechanism::Approximate { epsilon: finite_epsilon(*epsilon)?, delta: Delta::new(*delta)? }
        }
        S::Zcdp { rho } => Mechanism::Zcdp { rho: Rho::new(*rho)? },
        S::Rdp { orders, values } => Mechanism::Rdp { curve: rdp_curve(orders, values)? },
        S::Gdp { mu } => Mechanism::Gdp { mu: GdpMu::new(*mu)? },
        S::PoissonSampled { rate, mechanism } => {
            Mechanism::PoissonSampled { rate: SamplingRate::new(*rate)?, mechanism: inner(mechanism)? }
        }
        S::FixedSizeSampled { batch, population, mechanism } => Mechanism::FixedSizeSampled {
            batch: batch.count("batch")?,
            population: population.count("population")?,
            mechanism: inner(mechanism)?,
        },
        S::TruncatedPoissonSampled { rate, most, population, mechanism } => {
            Mechanism::TruncatedPoissonSampled {
                rate: SamplingRate::new(*rate)?,
                most: most.count("most")?,
                population: population.count("population")?,
                mechanism: inner(mechanism)?,
            }
        }
        S::RandomAllocation { batches, mechanism } => {
            Mechanism::RandomAllocation { batches: batches.count("batches")?, mechanism: inner(mechanism)? }
        }
        S::Shuffled { batches, mechanism } => {
            Mechanism::Shuffled { batches: batches.count("batches")?, mechanism: inner(mechanism)? }
        }
        S::Matrix { strategy, participation, noise_multiplier } => Mechanism::Matrix {
            strategy: Strategy::try_from(strategy)?,
            participation: Participation::try_from(participation)?,
            noise_multiplier: NoiseMultiplier::new(*noise_multiplier)?,
        },
        S::BestOf { mean_runs, shape, mechanism } => Mechanism::BestOf {
            runs: match shape {
                Some(shape) => Runs::negative_binomial(*mean_runs, *shape)?,
                None => Runs::poisson(*mean_runs)?,
            },
            mechanism: inner(mechanism)?,
        },
        S::Losses { first, second } => {
            Mechanism::Losses { losses: losses::distribution(first, second.as_ref())? }
        }
        S::Repeated { times, mechanism } => inner(mechanism)?.repeated(times.count("times")?),
        S::Composed { parts } => Mechanism::Composed(all(parts)?),
        S::Parallel { parts } => Mechanism::Parallel(all(parts)?),
        S::Group { size, mechanism } => {
            Mechanism::Group { size: size.count("size")?, mechanism: inner(mechanism)? }
        }
        S::DpSgd { sampling_rate, batch_size, dataset_size, noise_multiplier, steps, epochs } => {
            let rate = rate_of(*sampling_rate, *batch_size, *dataset_size)?;
            let steps = steps_of(*steps, *epochs, rate)?;
            Mechanism::dp_sgd(rate, NoiseMultiplier::new(*noise_multiplier)?, steps)
        }
    })
}

/// A noise multiplier given as such, or as a scale and a sensitivity, whose quotient is rounded down: less noise than
/// was said is the safe side.
fn relative(
    multiplier: Option<f64>,
    (name, scale): (&'static str, Option<f64>),
    sensitivity: Option<f64>,
) -> Result<NoiseMultiplier, Refusal> {
    match (multiplier, scale, sensitivity) {
        (Some(multiplier), None, None) => NoiseMultiplier::new(multiplier),
        (None, Some(scale), Some(sensitivity)) => {
            noise(name, scale)?;
            let sensitivity = Sensitivity::new(sensitivity)?.get();
            NoiseMultiplier::new(quotient_below(scale, sensitivity))
        }
        (Some(_), _, _) => Err(Refusal::Invalid(format!(
            "noise multiplier is given together with {name} or sensitivity, expected one or the other"
        ))),
        (None, Some(_), None) => {
            Err(Refusal::Invalid(format!("sensitivity is missing, expected sensitivity beside {name}")))
        }
        (None, None, _) => Err(Refusal::Invalid(format!(
            "noise multiplier is missing, expected noise multiplier, or {name} with sensitivity"
        ))),
    }
}

fn noise(name: &'static str, scale: f64) -> Result<NoiseMultiplier, Refusal> {
    NoiseMultiplier::new(scale).map_err(|_| Refusal::out_of_range(name, scale, "a number from 1e-6 to 1e9"))
}

/// The largest float not above a/b.
pub(crate) fn quotient_below(a: f64, b: f64) -> f64 {
    let nearest = a / b;
    // The fused product is exact in sign, so it says on which side of a/b the nearest float lies.
    if nearest.mul_add(b, -a) > 0.0 { nearest.next_down() } else { nearest }
}

/// The least float not below a/b.
fn quotient_above(a: f64, b: f64) -> f64 {
    let nearest = a / b;
    if nearest.mul_add(b, -a) < 0.0 { nearest.next_up() } else { nearest }
}

fn finite_epsilon(epsilon: f64) -> Result<Epsilon, Refusal> {
    if epsilon.is_infinite() {
        return Err(Refusal::out_of_range("epsilon", epsilon, "a finite number ≥ 0"));
    }
    Epsilon::new(epsilon)
}

fn randomized_response(noise_parameter: f64, buckets: Whole) -> Result<Mechanism, Refusal> {
    let refused = |_| Refusal::out_of_range("noise parameter", noise_parameter, "0 < noise parameter ≤ 1");
    let many = u32::try_from(buckets.count("buckets")?.get())
        .map_err(|_| Refusal::out_of_range("buckets", buckets.0, "2 ≤ buckets < 2^32"))?;
    Ok(Mechanism::RandomizedResponse {
        buckets: Buckets::new(many)?,
        noise: Probability::new(noise_parameter).map_err(refused)?,
    })
}

fn rdp_curve(orders: &[f64], values: &[f64]) -> Result<RdpCurve, Refusal> {
    if orders.len() != values.len() {
        let lengths = format!("{} orders and {} values", orders.len(), values.len());
        return Err(Refusal::out_of_range("rdp curve", lengths, "as many values as orders"));
    }
    if let Some(value) = values.iter().find(|value| value.is_infinite()) {
        return Err(Refusal::out_of_range("rdp value", value, "a finite number ≥ 0; leave the order out"));
    }
    RdpCurve::new(orders.iter().copied().zip(values.iter().copied()).collect())
}

/// The sampling rate, given as such or as batch and dataset size, whose quotient is rounded up.
fn rate_of(rate: Option<f64>, batch: Option<Whole>, dataset: Option<Whole>) -> Result<SamplingRate, Refusal> {
    match (rate, batch, dataset) {
        (Some(rate), None, None) => SamplingRate::new(rate),
        (None, Some(batch), Some(dataset)) => {
            let (batch, dataset) = (batch.count("batch size")?, dataset.count("dataset size")?);
            if batch > dataset {
                return Err(Refusal::out_of_range("batch size", batch.get(), "batch size ≤ dataset size"));
            }
            SamplingRate::new(quotient_above(batch.as_f64(), dataset.as_f64()).min(1.0))
        }
        (Some(_), _, _) => Err(Refusal::Invalid(
            "sampling rate is given together with batch or dataset size, expected one or the other".into(),
        )),
        (None, Some(_), None) => {
            Err(Refusal::Invalid("dataset size is missing, expected it beside batch size".into()))
        }
        (None, None, Some(_)) => {
            Err(Refusal::Invalid("batch size is missing, expected it beside dataset size".into()))
        }
        (None, None, None) => Err(Refusal::Invalid(
            "sampling rate is missing, expected sampling rate, or batch size with dataset size".into(),
        )),
    }
}

/// The steps, given as such or as epochs, which are rounded up to whole steps.
fn steps_of(steps: Option<Whole>, epochs: Option<f64>, rate: SamplingRate) -> Result<Count, Refusal> {
    match (steps, epochs) {
        (Some(steps), None) => steps.count("steps"),
        (None, Some(epochs)) => {
            if !(epochs > 0.0 && epochs.is_finite()) {
                return Err(Refusal::out_of_range("epochs", epochs, "a finite number > 0"));
            }
            let exact = epochs / rate.get();
            // 0.07 / 0.01 is a hair above 7 in floats and means 7.
            let nearest = exact.round();
            let whole = if (exact - nearest).abs() <= 1e-9 * nearest { nearest } else { exact.ceil() };
            Whole(whole).count("steps")
        }
        (Some(_), Some(_)) => {
            Err(Refusal::Invalid("steps is given together with epochs, expected one or the other".into()))
        }
        (None, None) => Err(Refusal::Invalid("steps is missing, expected steps or epochs".into())),
    }
}

impl From<&Mechanism> for MechanismSpec {
    fn from(mechanism: &Mechanism) -> MechanismSpec {
        use MechanismSpec as S;
        let inner = |mechanism: &Mechanism| Box::new(MechanismSpec::from(mechanism));
        let all = |parts: &[Mechanism]| parts.iter().map(MechanismSpec::from).collect();
        match mechanism {
            Mechanism::Gaussian { noise_multiplier } => {
                S::Gaussian { noise_multiplier: Some(noise_multiplier.get()), sigma: None, sensitivity: None }
            }
            Mechanism::Laplace { noise_multiplier } => {
                S::Laplace { noise_multiplier: Some(noise_multiplier.get()), scale: None, sensitivity: None }
            }
            Mechanism::DiscreteGaussian { sigma, sensitivity } => {
                S::DiscreteGaussian { sigma: sigma.get(), sensitivity: (*sensitivity).into() }
            }
            Mechanism::DiscreteLaplace { scale, sensitivity } => {
                S::DiscreteLaplace { scale: scale.get(), sensitivity: (*sensitivity).into() }
            }
            Mechanism::RandomizedResponse { buckets, noise } => S::RandomizedResponse {
                noise_parameter: noise.get(),
                buckets: Whole(f64::from(buckets.get())),
            },
            Mechanism::Exponential { epsilon } => S::Exponential { epsilon: epsilon.get() },
            Mechanism::Pure { epsilon } => S::Pure { epsilon: epsilon.get() },
            Mechanism::Approximate { epsilon, delta } => {
                S::Approximate { epsilon: epsilon.get(), delta: delta.get() }
            }
            Mechanism::Zcdp { rho } => S::Zcdp { rho: rho.get() },
            Mechanism::Rdp { curve } => {
                let (orders, values) = curve.points().iter().copied().unzip();
                S::Rdp { orders, values }
            }
            Mechanism::Gdp { mu } => S::Gdp { mu: mu.get() },
            Mechanism::PoissonSampled { rate, mechanism } => {
                S::PoissonSampled { rate: rate.get(), mechanism: inner(mechanism) }
            }
            Mechanism::FixedSizeSampled { batch, population, mechanism } => S::FixedSizeSampled {
                batch: (*batch).into(),
                population: (*population).into(),
                mechanism: inner(mechanism),
            },
            Mechanism::TruncatedPoissonSampled { rate, most, population, mechanism } => {
                S::TruncatedPoissonSampled {
                    rate: rate.get(),
                    most: (*most).into(),
                    population: (*population).into(),
                    mechanism: inner(mechanism),
                }
            }
            Mechanism::RandomAllocation { batches, mechanism } => {
                S::RandomAllocation { batches: (*batches).into(), mechanism: inner(mechanism) }
            }
            Mechanism::Shuffled { batches, mechanism } => {
                S::Shuffled { batches: (*batches).into(), mechanism: inner(mechanism) }
            }
            Mechanism::Matrix { strategy, participation, noise_multiplier } => S::Matrix {
                strategy: strategy.into(),
                participation: (*participation).into(),
                noise_multiplier: noise_multiplier.get(),
            },
            Mechanism::BestOf { runs, mechanism } => {
                let (mean_runs, shape) = match runs {
                    Runs::Poisson { mean } => (*mean, None),
                    Runs::NegativeBinomial { mean, shape } => (*mean, Some(*shape)),
                };
                S::BestOf { mean_runs, shape, mechanism: inner(mechanism) }
            }
            Mechanism::Losses { losses } => {
                S::Losses { first: losses.first().into(), second: losses.second().map(LossesSpec::from) }
            }
            Mechanism::Repeated { times, mechanism } => {
                S::Repeated { times: (*times).into(), mechanism: inner(mechanism) }
            }
            Mechanism::Composed(parts) => S::Composed { parts: all(parts) },
            Mechanism::Parallel(parts) => S::Parallel { parts: all(parts) },
            Mechanism::Group { size, mechanism } => {
                S::Group { size: (*size).into(), mechanism: inner(mechanism) }
            }
        }
    }
}
