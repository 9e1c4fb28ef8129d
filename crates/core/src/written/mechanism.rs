//! A mechanism in files: an object with its `kind` and the fields of that kind, as claims have it.
//!
//! This is the one form in which mechanisms are kept. What people may write instead (a scale with its sensitivity, `dp-sgd`,
//! fields left out) is for the readers of their plans.

use super::{object, pairs, quantities::finite};
use crate::{
    Buckets, Count, Delta, Epsilon, GdpMu, LossDistribution, LossMasses, Mechanism, NoiseMultiplier,
    Participation, Probability, RdpCurve, Refusal, Rho, Runs, SamplingRate, Strategy,
};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser, ser::SerializeMap};

impl Mechanism {
    /// How deep mechanisms may be nested in a file.
    pub const DEEPEST: usize = 32;
}

/// Whether mechanisms are nested at most so deep; the walk goes no deeper than that.
fn check_depth(mechanism: &Mechanism, deepest: usize) -> Result<(), Refusal> {
    if deepest == 0 {
        return Err(Refusal::out_of_range(
            "nesting",
            format!("deeper than {}", Mechanism::DEEPEST),
            "at most 32 mechanisms in each other",
        ));
    }
    mechanism.inside().iter().try_for_each(|inner| check_depth(inner, deepest - 1))
}

/// An object of the kind, with these fields in this order.
macro_rules! write_fields {
    ($serializer:expr, $kind:expr, $($name:literal: $value:expr),*) => {{
        let mut written = $serializer.serialize_map(None)?;
        written.serialize_entry("kind", $kind)?;
        $(written.serialize_entry($name, $value)?;)*
        written.end()
    }};
}

impl Serialize for Mechanism {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        use Mechanism as M;
        check_depth(self, Mechanism::DEEPEST).map_err(ser::Error::custom)?;
        let kind = self.kind();
        match self {
            M::Gaussian { noise_multiplier } | M::Laplace { noise_multiplier } => {
                write_fields!(to, kind, "noise_multiplier": noise_multiplier)
            }
            M::DiscreteGaussian { sigma, sensitivity } => {
                write_fields!(to, kind, "sigma": sigma, "sensitivity": sensitivity)
            }
            M::DiscreteLaplace { scale, sensitivity } => {
                write_fields!(to, kind, "scale": scale, "sensitivity": sensitivity)
            }
            M::RandomizedResponse { buckets, noise } => {
                write_fields!(to, kind, "noise_parameter": noise, "buckets": buckets)
            }
            M::Exponential { epsilon } | M::Pure { epsilon } => write_fields!(to, kind, "epsilon": epsilon),
            M::Approximate { epsilon, delta } => {
                write_fields!(to, kind, "epsilon": epsilon, "delta": delta)
            }
            M::Zcdp { rho } => write_fields!(to, kind, "rho": rho),
            M::Rdp { curve } => {
                let (orders, values) = points(curve).map_err(ser::Error::custom)?;
                write_fields!(to, kind, "orders": &orders, "values": &values)
            }
            M::Gdp { mu } => write_fields!(to, kind, "mu": mu),
            M::PoissonSampled { rate, mechanism } => {
                write_fields!(to, kind, "rate": rate, "mechanism": mechanism)
            }
            M::FixedSizeSampled { batch, population, mechanism } => {
                write_fields!(to, kind, "batch": batch, "population": population, "mechanism": mechanism)
            }
            M::TruncatedPoissonSampled { rate, most, population, mechanism } => write_fields!(
                to, kind, "rate": rate, "most": most, "population": population, "mechanism": mechanism
            ),
            M::RandomAllocation { batches, mechanism } | M::Shuffled { batches, mechanism } => {
                write_fields!(to, kind, "batches": batches, "mechanism": mechanism)
            }
            M::Matrix { strategy, participation, noise_multiplier } => write_fields!(
                to, kind, "strategy": strategy, "participation": participation,
                "noise_multiplier": noise_multiplier
            ),
            M::BestOf { runs, mechanism } => match checked(*runs).map_err(ser::Error::custom)? {
                Runs::Poisson { mean } => {
                    write_fields!(to, kind, "mean_runs": &mean, "mechanism": mechanism)
                }
                Runs::NegativeBinomial { mean, shape } => {
                    write_fields!(to, kind, "mean_runs": &mean, "shape": &shape, "mechanism": mechanism)
                }
            },
            M::Losses { losses } => match losses.second() {
                None => write_fields!(to, kind, "first": losses.first()),
                Some(second) => write_fields!(to, kind, "first": losses.first(), "second": second),
            },
            M::Repeated { times, mechanism } => {
                write_fields!(to, kind, "times": times, "mechanism": mechanism)
            }
            M::Composed(parts) | M::Parallel(parts) => write_fields!(to, kind, "parts": parts),
            M::Group { size, mechanism } => write_fields!(to, kind, "size": size, "mechanism": mechanism),
        }
    }
}

/// The orders and values of a curve; a value that is infinite says nothing and has no place in a file.
fn points(curve: &RdpCurve) -> Result<(Vec<f64>, Vec<f64>), Refusal> {
    curve.points().iter().map(|(order, value)| Ok((*order, finite(*value)?))).collect()
}

/// Its fields can be set by hand, so they are checked on the way out as on the way in.
fn checked(runs: Runs) -> Result<Runs, Refusal> {
    match runs {
        Runs::Poisson { mean } => Runs::poisson(mean),
        Runs::NegativeBinomial { mean, shape } => Runs::negative_binomial(mean, shape),
    }
}

/// What is read, before the fields of a kind are checked together.
#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
enum Written {
    Gaussian { noise_multiplier: NoiseMultiplier },
    Laplace { noise_multiplier: NoiseMultiplier },
    DiscreteGaussian { sigma: NoiseMultiplier, sensitivity: Count },
    DiscreteLaplace { scale: NoiseMultiplier, sensitivity: Count },
    RandomizedResponse { noise_parameter: Probability, buckets: Buckets },
    Exponential { epsilon: Epsilon },
    Pure { epsilon: Epsilon },
    Approximate { epsilon: Epsilon, delta: Delta },
    Zcdp { rho: Rho },
    Rdp { orders: Vec<f64>, values: Vec<f64> },
    Gdp { mu: GdpMu },
    PoissonSampled { rate: SamplingRate, mechanism: Box<Mechanism> },
    FixedSizeSampled { batch: Count, population: Count, mechanism: Box<Mechanism> },
    TruncatedPoissonSampled { rate: SamplingRate, most: Count, population: Count, mechanism: Box<Mechanism> },
    RandomAllocation { batches: Count, mechanism: Box<Mechanism> },
    Shuffled { batches: Count, mechanism: Box<Mechanism> },
    Matrix { strategy: Strategy, participation: Participation, noise_multiplier: NoiseMultiplier },
    BestOf { mean_runs: f64, shape: Option<f64>, mechanism: Box<Mechanism> },
    Losses { first: LossMasses, second: Option<LossMasses> },
    Repeated { times: Count, mechanism: Box<Mechanism> },
    Composed { parts: Vec<Mechanism> },
    Parallel { parts: Vec<Mechanism> },
    Group { size: Count, mechanism: Box<Mechanism> },
}

impl<'de> Deserialize<'de> for Mechanism {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mechanism = read(object(deserializer, "a mechanism")?)?;
        check_depth(&mechanism, Mechanism::DEEPEST).map_err(de::Error::custom)?;
        Ok(mechanism)
    }
}

fn read<E: de::Error>(written: Written) -> Result<Mechanism, E> {
    use Mechanism as M;
    use Written as W;
    Ok(match written {
        W::Gaussian { noise_multiplier } => M::Gaussian { noise_multiplier },
        W::Laplace { noise_multiplier } => M::Laplace { noise_multiplier },
        W::DiscreteGaussian { sigma, sensitivity } => M::DiscreteGaussian { sigma, sensitivity },
        W::DiscreteLaplace { scale, sensitivity } => M::DiscreteLaplace { scale, sensitivity },
        W::RandomizedResponse { noise_parameter, buckets } => {
            M::RandomizedResponse { buckets, noise: noise_parameter }
        }
        W::Exponential { epsilon } => M::Exponential { epsilon },
        W::Pure { epsilon } => M::Pure { epsilon },
        W::Approximate { epsilon, delta } => M::Approximate { epsilon, delta },
        W::Zcdp { rho } => M::Zcdp { rho },
        W::Rdp { orders, values } => {
            let points = pairs(orders, values, ["orders", "values"])?;
            let curve = RdpCurve::new(points).map_err(E::custom)?;
            curve.points().iter().try_for_each(|point| finite(point.1).map(drop)).map_err(E::custom)?;
            M::Rdp { curve }
        }
        W::Gdp { mu } => M::Gdp { mu },
        W::PoissonSampled { rate, mechanism } => M::PoissonSampled { rate, mechanism },
        W::FixedSizeSampled { batch, population, mechanism } => {
            M::FixedSizeSampled { batch, population, mechanism }
        }
        W::TruncatedPoissonSampled { rate, most, population, mechanism } => {
            M::TruncatedPoissonSampled { rate, most, population, mechanism }
        }
        W::RandomAllocation { batches, mechanism } => M::RandomAllocation { batches, mechanism },
        W::Shuffled { batches, mechanism } => M::Shuffled { batches, mechanism },
        W::Matrix { strategy, participation, noise_multiplier } => {
            M::Matrix { strategy, participation, noise_multiplier }
        }
        W::BestOf { mean_runs, shape, mechanism } => {
            let runs = match shape {
                Some(shape) => Runs::negative_binomial(mean_runs, shape),
                None => Runs::poisson(mean_runs),
            };
            M::BestOf { runs: runs.map_err(E::custom)?, mechanism }
        }
        W::Losses { first, second } => M::Losses { losses: LossDistribution::new(first, second) },
        W::Repeated { times, mechanism } => M::Repeated { times, mechanism },
        W::Composed { parts } => M::Composed(parts),
        W::Parallel { parts } => M::Parallel(parts),
        W::Group { size, mechanism } => M::Group { size, mechanism },
    })
}
