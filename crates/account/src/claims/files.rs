//! What the commands print with `--json`: the names that scripts may rely on.
//!
//! A name and number stands for one set of fields: what is not there is null.

use crate::claims::{
    Adjacency, Answer, Composed, Delta, Epsilon, Explanation, Finding, Row, Subject, Target,
    calibration::{Calibration, Solved},
    explanation::Group,
    spec::MechanismSpec,
};
use serde::{Deserialize, Serialize, Serializer};

/// What is known of a number. `null` means that no bound is known, or that it is infinite; `reason` says which.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Interval {
    /// The truth is at least this.
    pub lower: Option<f64>,
    /// The truth is at most this.
    pub upper: Option<f64>,
    /// The truth may be larger than this; never a guarantee.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approximate: Option<f64>,
    /// Why a bound is null.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Interval {
    /// An ε.
    pub fn of_epsilon(found: &Finding<Epsilon>) -> Interval {
        Interval::of(found, Epsilon::get)
    }

    /// A δ.
    pub fn of_delta(found: &Finding<Delta>) -> Interval {
        Interval::of(found, Delta::get)
    }

    /// How far apart the two bounds are, relative to the upper one.
    pub fn relative_width(&self) -> Option<f64> {
        let (lower, upper) = (self.lower?, self.upper?);
        Some(if upper == 0.0 { 0.0 } else { (upper - lower) / upper })
    }

    fn of<T: Copy>(found: &Finding<T>, number: impl Fn(T) -> f64) -> Interval {
        let lower = found.lower().map(|bound| number(bound.0));
        let upper = found.upper().map(|bound| number(bound.0));
        let (approximate, reason) = match found {
            Finding::Approximation(value) => (Some(number(*value)), Some("no bound: an approximation")),
            Finding::Bracket(_) | Finding::Upper(_) => {
                let infinite = [lower, upper].into_iter().flatten().any(f64::is_infinite);
                (None, infinite.then_some("infinite: no protection at this delta"))
            }
        };
        let finite = |bound: Option<f64>| bound.filter(|value| value.is_finite());
        Interval {
            lower: finite(lower),
            upper: finite(upper),
            approximate: finite(approximate),
            reason: reason.map(str::to_owned),
        }
    }
}

/// `veracity account --json`.
#[derive(Debug, Clone, Serialize)]
pub struct AnswerFile {
    schema: &'static str,
    asked: &'static str,
    epsilon: Interval,
    delta: Interval,
    adjacency: &'static str,
    unit: String,
    method: &'static str,
    standing: &'static str,
    relative_width: Option<f64>,
    fallback: Option<String>,
    dataset: Option<String>,
    claims: Option<usize>,
    assumes: Option<&'static str>,
    mechanism: MechanismSpec,
}

impl AnswerFile {
    /// An answer about a subject.
    pub fn new(subject: &Subject, answer: &Answer) -> AnswerFile {
        let (asked, standing) = asked(answer);
        AnswerFile {
            schema: "veracity.account/2",
            asked,
            epsilon: Interval::of_epsilon(&answer.epsilon),
            delta: Interval::of_delta(&answer.delta),
            adjacency: answer.adjacency.name(),
            unit: subject.unit.name().to_owned(),
            method: answer.method.name(),
            standing,
            relative_width: answer.relative_width(),
            fallback: answer.fallback.as_ref().map(ToString::to_string),
            dataset: None,
            claims: None,
            assumes: subject.assumed_batches(),
            mechanism: MechanismSpec::from(&subject.mechanism),
        }
    }

    /// The same about so many claims of one dataset.
    pub fn of_claims(mut self, composed: &Composed) -> AnswerFile {
        self.dataset.clone_from(&composed.dataset);
        self.claims = Some(composed.claims);
        self
    }
}

fn asked(answer: &Answer) -> (&'static str, &'static str) {
    match answer.target {
        Target::Delta(_) => ("epsilon", answer.epsilon.standing().describe()),
        Target::Epsilon(_) => ("delta", answer.delta.standing().describe()),
    }
}

/// `veracity account --compare --json`.
#[derive(Debug, Clone, Serialize)]
pub struct CompareFile {
    schema: &'static str,
    adjacency: &'static str,
    unit: String,
    mechanism: MechanismSpec,
    methods: Vec<RowFile>,
}

/// One method of a comparison.
#[derive(Debug, Clone, Serialize)]
pub struct RowFile {
    method: &'static str,
    standing: Option<&'static str>,
    epsilon: Option<Interval>,
    delta: Option<Interval>,
    reason: Option<String>,
    milliseconds: f64,
}

impl CompareFile {
    /// All methods on one subject.
    pub fn new(subject: &Subject, rows: &[Row]) -> CompareFile {
        let methods = rows.iter().map(|row| RowFile {
            method: row.method.name(),
            standing: row.outcome.as_ref().ok().map(|answer| asked(answer).1),
            epsilon: row.outcome.as_ref().ok().map(|answer| Interval::of_epsilon(&answer.epsilon)),
            delta: row.outcome.as_ref().ok().map(|answer| Interval::of_delta(&answer.delta)),
            reason: row.outcome.as_ref().err().map(ToString::to_string),
            milliseconds: row.took.as_secs_f64() * 1e3,
        });
        CompareFile {
            schema: "veracity.compare/2",
            adjacency: subject.adjacency.name(),
            unit: subject.unit.name().to_owned(),
            mechanism: MechanismSpec::from(&subject.mechanism),
            methods: methods.collect(),
        }
    }
}

/// `veracity calibrate --json`.
#[derive(Debug, Clone, Serialize)]
pub struct CalibrationFile {
    schema: &'static str,
    noise_multiplier: Option<f64>,
    steps: Option<u64>,
    sampling_rate: Option<f64>,
    scale: Option<f64>,
    epsilon: Interval,
    delta: Interval,
    adjacency: &'static str,
    unit: String,
    method: &'static str,
    mechanism: MechanismSpec,
}

impl CalibrationFile {
    /// A setting and what it leaks; `scale` is the noise in the units of the answer, where they are known.
    pub fn new(found: &Calibration, scale: Option<f64>) -> CalibrationFile {
        let (noise_multiplier, steps, sampling_rate) = match found.solved {
            Solved::Noise(noise) => (Some(noise.get()), None, None),
            Solved::Steps(steps) => (None, Some(steps.get()), None),
            Solved::SamplingRate(rate) => (None, None, Some(rate.get())),
        };
        CalibrationFile {
            schema: "veracity.calibrate/2",
            noise_multiplier,
            steps,
            sampling_rate,
            scale,
            epsilon: Interval::of_epsilon(&found.answer.epsilon),
            delta: Interval::of_delta(&found.answer.delta),
            adjacency: found.answer.adjacency.name(),
            unit: found.subject.unit.name().to_owned(),
            method: found.answer.method.name(),
            mechanism: MechanismSpec::from(&found.subject.mechanism),
        }
    }
}

/// `veracity explain --json`.
#[derive(Debug, Clone, Serialize)]
pub struct ExplanationFile {
    schema: &'static str,
    epsilon: Upper,
    delta: Upper,
    adjacency: Option<&'static str>,
    unit: String,
    method: Option<&'static str>,
    #[serde(serialize_with = "spelled")]
    odds: f64,
    advantage: f64,
    attacks: Vec<AttackFile>,
    groups: Vec<GroupFile>,
}

#[derive(Debug, Clone, Serialize)]
struct Upper {
    upper: f64,
}

#[derive(Debug, Clone, Serialize)]
struct AttackFile {
    false_positive_rate: f64,
    true_positive_rate: Upper,
    posteriors: Vec<PosteriorFile>,
}

#[derive(Debug, Clone, Serialize)]
struct PosteriorFile {
    prior: f64,
    posterior: Upper,
}

#[derive(Debug, Clone, Serialize)]
struct GroupFile {
    size: u32,
    epsilon: Option<Upper>,
    delta: Option<Upper>,
    method: Option<&'static str>,
}

impl ExplanationFile {
    /// An explanation.
    pub fn new(explanation: &Explanation) -> ExplanationFile {
        let attacks = explanation.attacks.iter().map(|attack| AttackFile {
            false_positive_rate: attack.false_positive_rate,
            true_positive_rate: Upper { upper: attack.true_positive_rate },
            posteriors: attack
                .posteriors
                .iter()
                .map(|&(prior, posterior)| PosteriorFile { prior, posterior: Upper { upper: posterior } })
                .collect(),
        });
        ExplanationFile {
            schema: "veracity.explain/2",
            epsilon: Upper { upper: explanation.promise.epsilon },
            delta: Upper { upper: explanation.promise.delta },
            adjacency: explanation.adjacency.map(Adjacency::name),
            unit: explanation.unit.name().to_owned(),
            method: explanation.method.map(|method| method.name()),
            odds: explanation.odds,
            advantage: explanation.advantage,
            attacks: attacks.collect(),
            groups: explanation.groups.iter().map(group_file).collect(),
        }
    }
}

/// JSON has no infinity: then it is a word, as in certificates.
fn spelled<S: Serializer>(number: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    if number.is_finite() { serializer.serialize_f64(*number) } else { serializer.collect_str(number) }
}

fn group_file(group: &Group) -> GroupFile {
    GroupFile {
        size: group.size,
        epsilon: group.promise.map(|promise| Upper { upper: promise.epsilon }),
        delta: group.promise.map(|promise| Upper { upper: promise.delta }),
        method: group.method.map(|method| method.name()),
    }
}
