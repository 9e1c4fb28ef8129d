//! A mechanism as a case: our own samplers, run on two adjacent answers as far apart as one record can move them.
//!
//! The accountant and the attacker use the declared mechanism, and the samplers of releases draw the noise. If the two agree, no audit
//! refutes the upper bound. If the sampler adds less noise than declared, an audit does.

use super::noise_call::{Batch, Integers, Law, NoiseCall};
use crate::{AuditClaim, Brief, Case, SubjectNote};
use std::collections::BTreeMap;
use veracity_account::claims::{Choice, Subject, Target, account, spec::MechanismSpec};
use veracity_audit::{AuditSubject, Failure, World};
use veracity_core::Refusal;
use veracity_core::{Adjacency, Count, Delta, Epsilon, Mechanism, NoiseMultiplier, Probability};
use veracity_noise::{Entropy, Key, Purpose};

/// The kind of these subjects.
pub(crate) const KIND: &str = "mechanism";
/// The most numbers that one trial may draw.
const MOST_DRAWS: u64 = 1 << 24;

/// The noise calls of a mechanism, and what they draw from.
#[derive(Debug)]
struct Calls {
    calls: Vec<NoiseCall>,
    entropy: Entropy,
}

impl Case {
    /// Trials of a mechanism where nobody says how many: they take some seconds.
    pub const MECHANISM_TRIALS: u64 = 1_000_000;

    /// A mechanism, run by our own samplers. The claim is `claimed`, or what the accountant proves.
    ///
    /// `added` is the noise that is really added, as a part of what is declared: 1, unless a bug is planted.
    ///
    /// # Errors
    /// A mechanism without a sampler, or without an upper bound at this δ.
    pub fn mechanism(
        subject: &Subject,
        added: f64,
        claimed: Option<Epsilon>,
        delta: Delta,
        seed: u64,
        trials: Count,
    ) -> Result<Case, Refusal> {
        let calls = checked_calls(subject, added)?;
        let brief = brief(subject, added, claimed, delta)?;
        let subject = Box::new(Calls { calls, entropy: Entropy::seeded(seed) });
        Ok(brief.case(subject, trials, seed))
    }
}

/// The noise calls of a mechanism, refused where they are too many or none can be made.
fn checked_calls(subject: &Subject, added: f64) -> Result<Vec<NoiseCall>, Refusal> {
    if !(added > 0.0 && added.is_finite()) {
        return Err(Refusal::out_of_range("noise added", added, "more than 0 times the declared noise"));
    }
    let calls = calls(&subject.mechanism, added, subject.adjacency)?;
    let draws = calls.iter().try_fold(0u64, |sum, call| sum.checked_add(call.times));
    if draws.is_none_or(|draws| draws > MOST_DRAWS) {
        return Err(Refusal::invalid(
            "the mechanism draws more than 2^24 random numbers per trial, the maximum for an audit",
        ));
    }
    Ok(calls)
}

/// What is said and proved of a mechanism.
pub(crate) fn brief(
    subject: &Subject,
    added: f64,
    claimed: Option<Epsilon>,
    delta: Delta,
) -> Result<Brief, Refusal> {
    let answered = account(subject, Target::Delta(delta), Choice::Best);
    let (proved, why) = match answered {
        Ok(answer) => (answer.epsilon.upper(), None),
        // Whatever is claimed: two proofs that contradict each other are told.
        Err(refusal @ Refusal::Contradiction(_)) => return Err(refusal),
        Err(refusal) => (None, Some(refusal)),
    };
    let claim = AuditClaim::of_proof(subject, delta, proved, claimed)?.ok_or_else(|| {
        why.unwrap_or_else(|| Refusal::invalid("the accountant has no upper bound; claim an epsilon"))
    })?;
    let note = note(subject, added)?;
    Ok(Brief { note, claim, proved, canaries: 1, group: Count::ONE, is_one_run: false })
}

fn note(subject: &Subject, added: f64) -> Result<SubjectNote, Refusal> {
    let written = serde_json::to_value(MechanismSpec::from(&subject.mechanism))
        .map_err(|error| Refusal::invalid(format!("mechanism cannot be written: {error}")))?;
    let settings = BTreeMap::from([
        ("mechanism".to_owned(), written),
        ("adjacency".to_owned(), subject.adjacency.name().into()),
        ("noise_added".to_owned(), added.into()),
    ]);
    let planted = if added == 1.0 { String::new() } else { format!(", {added}× of it added") };
    Ok(SubjectNote {
        kind: KIND.to_owned(),
        description: format!("{}{planted}", subject.describe()),
        attack: "log-likelihood ratio of the output under two adjacent datasets".to_owned(),
        access: "every output".to_owned(),
        settings,
    })
}

impl AuditSubject for Calls {
    fn run(&self, trial: u64, worlds: &[World]) -> Result<Vec<f64>, Failure> {
        let score = |world: &World| {
            let mut score = 0.0;
            for (at, call) in self.calls.iter().enumerate() {
                let key = Key { run: at as u64, trial, step: 0 };
                let noise = self.entropy.stream(Purpose::Noise, key);
                score += call.score(*world, noise, &mut self.entropy.stream(Purpose::Batch, key))?;
            }
            Ok(score)
        };
        worlds
            .iter()
            .map(score)
            .collect::<Result<_, Refusal>>()
            .map_err(|refusal| Failure::Run(refusal.to_string()))
    }
}

/// The noise calls of a mechanism.
fn calls(mechanism: &Mechanism, factor: f64, adjacency: Adjacency) -> Result<Vec<NoiseCall>, Refusal> {
    match mechanism {
        Mechanism::Repeated { times, mechanism } => {
            let mut calls = calls(mechanism, factor, adjacency)?;
            // Saturated counts are refused as too many.
            calls.iter_mut().for_each(|call| call.times = call.times.saturating_mul(times.get()));
            Ok(calls)
        }
        Mechanism::Composed(parts) => {
            let mut all = Vec::new();
            for part in parts {
                all.extend(calls(part, factor, adjacency)?);
            }
            Ok(all)
        }
        Mechanism::PoissonSampled { rate, mechanism } => {
            let law = law(mechanism, factor, Count::ONE, adjacency)?;
            if matches!(law, Law::Response { .. }) {
                return Err(no_sampler("randomized-response inside sampling"));
            }
            Ok(vec![NoiseCall { law, batch: Some(Batch::new(*rate)?), times: 1 }])
        }
        Mechanism::Group { size, mechanism } => {
            let law = law(mechanism, factor, *size, adjacency)?;
            Ok(vec![NoiseCall { law, batch: None, times: 1 }])
        }
        // Which of the others can be run is decided below.
        _ => {
            let law = law(mechanism, factor, Count::ONE, adjacency)?;
            Ok(vec![NoiseCall { law, batch: None, times: 1 }])
        }
    }
}

/// The law of one call, for a record that counts as `records`.
fn law(mechanism: &Mechanism, factor: f64, records: Count, adjacency: Adjacency) -> Result<Law, Refusal> {
    let less = |noise: &NoiseMultiplier| NoiseMultiplier::new(noise.get() * factor);
    match mechanism {
        Mechanism::Gaussian { noise_multiplier: noise } => {
            Law::gaussian(*noise, less(noise)?, records, adjacency)
        }
        Mechanism::Laplace { noise_multiplier: noise } => {
            Law::laplace(*noise, less(noise)?, records, adjacency)
        }
        Mechanism::DiscreteGaussian { sigma, sensitivity } => {
            let declared = Integers::Gaussian { sigma: sigma.get() };
            Law::integer(declared, factor, sensitivity.times(records)?, adjacency)
        }
        Mechanism::DiscreteLaplace { scale, sensitivity } => {
            let declared = Integers::Laplace { scale: scale.get() };
            Law::integer(declared, factor, sensitivity.times(records)?, adjacency)
        }
        Mechanism::RandomizedResponse { buckets, noise } => {
            if adjacency == Adjacency::AddRemove || records != Count::ONE {
                return Err(Refusal::no_theorem(
                    "randomized response",
                    if records == Count::ONE { adjacency.name() } else { "group privacy" },
                    "use replace-one or zero-out",
                ));
            }
            Law::response(*buckets, *noise, Probability::new(noise.get() * factor)?, adjacency)
        }
        // Nothing is run that has no sampler here.
        other => Err(no_sampler(other.kind())),
    }
}

fn no_sampler(what: &str) -> Refusal {
    Refusal::invalid(format!(
        "mechanism is {what}, expected gaussian, laplace, discrete-gaussian, discrete-laplace, randomized-response or \
         dp-sgd, which can run here"
    ))
}
