//! The subject of an account: a mechanism, an adjacency and a privacy unit, each with its description.

use crate::claims::{Adjacency, Mechanism, PrivacyUnit, Question, kinds::KINDS, spec::MechanismSpec};
use serde_json::Value;
use veracity_core::{Participation, decimal};

/// A mechanism, its adjacency and its privacy unit.
#[derive(Debug, Clone, PartialEq)]
pub struct Subject {
    /// The mechanism.
    pub mechanism: Mechanism,
    /// Which datasets are adjacent.
    pub adjacency: Adjacency,
    /// The privacy unit that one record stands for.
    pub unit: PrivacyUnit,
}

impl Subject {
    /// A mechanism under the adjacency that it is usually stated for, per example.
    pub fn new(mechanism: Mechanism) -> Subject {
        let adjacency = usual_adjacency(&mechanism);
        Subject { mechanism, adjacency, unit: PrivacyUnit::default() }
    }

    /// The question for the accountant.
    pub fn question(&self) -> Question {
        Question { mechanism: self.mechanism.clone(), adjacency: self.adjacency }
    }

    /// Assumption about how batches are drawn; none if no batch is drawn at random.
    pub fn assumed_batches(&self) -> Option<&'static str> {
        assumed_batches(&self.mechanism)
    }

    /// The mechanism in a few words, such as `600 × gaussian, noise multiplier 1, sampled at 0.00427`.
    pub fn describe(&self) -> String {
        describe(&self.mechanism)
    }
}

/// Add-remove, except for randomized response: there each person answers, so only the answer can change.
pub fn usual_adjacency(mechanism: &Mechanism) -> Adjacency {
    match mechanism {
        Mechanism::RandomizedResponse { .. } => Adjacency::ReplaceOne,
        // What is known of shuffled batches needs a record that is there in both datasets.
        Mechanism::Shuffled { .. } => Adjacency::ZeroOut,
        Mechanism::Repeated { mechanism, .. }
        | Mechanism::Group { mechanism, .. }
        | Mechanism::BestOf { mechanism, .. } => usual_adjacency(mechanism),
        // Every other kind compares datasets with and without a record.
        _ => Adjacency::AddRemove,
    }
}

fn assumed_batches(mechanism: &Mechanism) -> Option<&'static str> {
    match mechanism {
        Mechanism::PoissonSampled { .. } => {
            Some("Poisson batches: each record enters each batch independently of all others")
        }
        Mechanism::TruncatedPoissonSampled { .. } => Some(
            "truncated Poisson batches: each record is drawn independently, and surplus records are dropped at random",
        ),
        Mechanism::FixedSizeSampled { .. } => {
            Some("fixed-size batches: each is drawn from all records, without replacement")
        }
        Mechanism::RandomAllocation { .. } => Some(
            "balls-and-bins batches: each record is assigned to one batch of an epoch independently of all others",
        ),
        Mechanism::Matrix { participation: Participation::CyclicPoisson { .. }, .. } => Some(
            "cyclic Poisson batches: each record enters each batch of its group independently of all others",
        ),
        other => other.inside().iter().find_map(assumed_batches),
    }
}

fn describe(mechanism: &Mechanism) -> String {
    let short = |x: f64| decimal::nearest(x, 4);
    let list = |parts: &[Mechanism]| {
        let named: Vec<String> = parts.iter().take(3).map(describe).collect();
        match parts.len().saturating_sub(named.len()) {
            0 => named.join(" + "),
            more => format!("{} + {more} more", named.join(" + ")),
        }
    };
    match mechanism {
        Mechanism::RandomizedResponse { buckets, noise } => {
            format!("randomized response, {} buckets, noise parameter {}", buckets.get(), short(noise.get()))
        }
        Mechanism::Exponential { epsilon } => format!("exponential, range {}", short(epsilon.get())),
        Mechanism::Pure { epsilon } => format!("declared epsilon {}", short(epsilon.get())),
        Mechanism::Approximate { epsilon, delta } => {
            format!("declared epsilon {}, delta {}", short(epsilon.get()), short(delta.get()))
        }
        Mechanism::Zcdp { rho } => format!("declared rho {}", short(rho.get())),
        Mechanism::Rdp { curve } => format!("declared rdp curve of {} orders", curve.points().len()),
        Mechanism::Gdp { mu } => format!("declared mu {}", short(mu.get())),
        Mechanism::PoissonSampled { rate, mechanism } => {
            format!("{}, sampled at {}", describe(mechanism), short(rate.get()))
        }
        Mechanism::FixedSizeSampled { batch, population, mechanism } => {
            format!("{}, {} of {} drawn", describe(mechanism), batch.get(), population.get())
        }
        Mechanism::TruncatedPoissonSampled { rate, most, mechanism, .. } => {
            format!(
                "{}, sampled at {}, at most {} at once",
                describe(mechanism),
                short(rate.get()),
                most.get()
            )
        }
        Mechanism::RandomAllocation { batches, mechanism } => {
            format!(
                "{} on each of {} batches, records assigned at random",
                describe(mechanism),
                batches.get()
            )
        }
        Mechanism::Shuffled { batches, mechanism } => {
            format!("{} on each of {} shuffled batches", describe(mechanism), batches.get())
        }
        Mechanism::Matrix { strategy, participation, noise_multiplier } => {
            let kind = match strategy {
                veracity_core::Strategy::Tree { .. } => "tree".to_owned(),
                veracity_core::Strategy::Banded { coefficients, .. } => match coefficients.get().len() {
                    1 => "1 band".to_owned(),
                    many => format!("{many} bands"),
                },
                veracity_core::Strategy::Written(_) => "matrix as written".to_owned(),
            };
            let taken = match participation {
                Participation::Once => "each record in one step".to_owned(),
                Participation::Separated { times, separation } => {
                    let (times, separation) = (times.get(), separation.get());
                    format!("each record in at most {times} steps, {separation} apart")
                }
                Participation::CyclicPoisson { groups, rate } => {
                    format!("{} groups in turn, sampled at {}", groups.get(), short(rate.get()))
                }
            };
            let (steps, noise) = (strategy.steps().get(), short(noise_multiplier.get()));
            format!("correlated noise ({kind}) over {steps} steps, noise multiplier {noise}, {taken}")
        }
        Mechanism::BestOf { runs, mechanism } => {
            let (veracity_core::Runs::Poisson { mean } | veracity_core::Runs::NegativeBinomial { mean, .. }) =
                runs;
            format!("best of {} runs on average of {}", short(*mean), describe(mechanism))
        }
        Mechanism::Losses { losses } => {
            format!("declared distribution of {} losses", losses.first().finite().len())
        }
        Mechanism::Repeated { times, mechanism } => format!("{} × {}", times.get(), describe(mechanism)),
        Mechanism::Composed(parts) => list(parts),
        Mechanism::Parallel(parts) => format!("in parallel: {}", list(parts)),
        Mechanism::Group { size, mechanism } => format!("{}, groups of {}", describe(mechanism), size.get()),
        other => fields(other),
    }
}

/// A kind of one or two numbers, such as `discrete gaussian, sigma 4, sensitivity 1`.
fn fields(mechanism: &Mechanism) -> String {
    let kind = mechanism.kind();
    let short = |number: &Value| number.as_f64().map(|x| decimal::nearest(x, 4));
    let mut words = vec![kind.replace('-', " ")];
    if let Ok(Value::Object(fields)) = serde_json::to_value(MechanismSpec::from(mechanism)) {
        let known = KINDS.iter().filter(|known| known.name == kind).flat_map(|known| known.fields);
        words.extend(known.filter_map(|field| {
            let number = fields.get(field.name)?;
            let number = number.as_u64().map_or_else(|| short(number), |whole| Some(whole.to_string()))?;
            Some(format!("{} {number}", field.name.replace('_', " ")))
        }));
    }
    words.join(", ")
}
