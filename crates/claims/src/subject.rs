//! What is asked about, with the words a reader needs: a mechanism, an adjacency and whose data one record is.

use crate::{Adjacency, Mechanism, PrivacyUnit, Question};
use veracity_core::Participation;

/// A mechanism, which datasets it must not tell apart, and what one record stands for.
#[derive(Debug, Clone, PartialEq)]
pub struct Subject {
    /// What is done.
    pub mechanism: Mechanism,
    /// Which datasets are adjacent.
    pub adjacency: Adjacency,
    /// Whose data one record is.
    pub unit: PrivacyUnit,
}

impl Subject {
    /// A mechanism under the adjacency that it is usually stated for, per example.
    pub fn new(mechanism: Mechanism) -> Subject {
        let adjacency = usual_adjacency(&mechanism);
        Subject { mechanism, adjacency, unit: PrivacyUnit::default() }
    }

    /// The question that the accountant reads.
    pub fn question(&self) -> Question {
        Question { mechanism: self.mechanism.clone(), adjacency: self.adjacency }
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
        Mechanism::Gaussian { .. }
        | Mechanism::Laplace { .. }
        | Mechanism::DiscreteGaussian { .. }
        | Mechanism::DiscreteLaplace { .. }
        | Mechanism::Exponential { .. }
        | Mechanism::Pure { .. }
        | Mechanism::Approximate { .. }
        | Mechanism::Zcdp { .. }
        | Mechanism::Rdp { .. }
        | Mechanism::Gdp { .. }
        | Mechanism::PoissonSampled { .. }
        | Mechanism::FixedSizeSampled { .. }
        | Mechanism::TruncatedPoissonSampled { .. }
        | Mechanism::RandomAllocation { .. }
        | Mechanism::Matrix { .. }
        | Mechanism::Losses { .. }
        | Mechanism::Composed(_)
        | Mechanism::Parallel(_) => Adjacency::AddRemove,
    }
}

fn describe(mechanism: &Mechanism) -> String {
    let short = |x: f64| veracity_core::decimal::nearest(x, 4);
    let list = |parts: &[Mechanism]| {
        let named: Vec<String> = parts.iter().take(3).map(describe).collect();
        match parts.len().saturating_sub(named.len()) {
            0 => named.join(" + "),
            more => format!("{} + {more} more", named.join(" + ")),
        }
    };
    match mechanism {
        Mechanism::Gaussian { noise_multiplier } => {
            format!("gaussian, noise multiplier {}", short(noise_multiplier.get()))
        }
        Mechanism::Laplace { noise_multiplier } => {
            format!("laplace, noise multiplier {}", short(noise_multiplier.get()))
        }
        Mechanism::DiscreteGaussian { sigma, sensitivity } => {
            format!("discrete gaussian, sigma {}, sensitivity {}", short(sigma.get()), sensitivity.get())
        }
        Mechanism::DiscreteLaplace { scale, sensitivity } => {
            format!("discrete laplace, scale {}, sensitivity {}", short(scale.get()), sensitivity.get())
        }
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
            format!("{} on each of {} batches, records dealt at random", describe(mechanism), batches.get())
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
    }
}
