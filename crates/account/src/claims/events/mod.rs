//! dp_accounting's events, read from JSON: a tree of events in, a [`Mechanism`] out.
//!
//! An event is an object with the name of its class and its fields, as `DpEvent.to_named_tuple()` has them; `module_name` may
//! be there and says nothing. In Python:
//!
//! ```python
//! import attr, json, math
//!
//! def dump(event):
//!     if attr.has(type(event)):
//!         fields = {field.name: dump(getattr(event, field.name)) for field in attr.fields(type(event))}
//!         return {"class_name": type(event).__name__, **fields}
//!     if isinstance(event, (list, tuple)):
//!         return [dump(one) for one in event]
//!     return "inf" if event == math.inf else event
//!
//! json.dump(dump(event), open("events.json", "w"))
//! ```
//!
//! An event says nothing of neighbours: the adjacency is asked for beside it. What has no counterpart here is refused by name.

mod convert;
mod mixture;

use crate::claims::{Mechanism, Refusal, spec::DEEPEST};
use serde::Deserialize;
use serde_json::Value;
use veracity_core::printable;

/// The classes of dp_accounting that are read, to version 0.6 and its main branch.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "class_name", deny_unknown_fields)]
enum Event {
    #[serde(rename = "NoOpDpEvent")]
    NoOp {},
    #[serde(rename = "NonPrivateDpEvent")]
    NonPrivate {},
    #[serde(rename = "UnsupportedDpEvent")]
    Unsupported {},
    #[serde(rename = "GaussianDpEvent")]
    Gaussian { noise_multiplier: f64 },
    #[serde(rename = "LaplaceDpEvent")]
    Laplace { noise_multiplier: f64 },
    #[serde(rename = "DiscreteLaplaceDpEvent")]
    DiscreteLaplace { noise_parameter: f64, sensitivity: f64 },
    #[serde(rename = "DiscreteGaussianDpEvent")]
    DiscreteGaussian {
        sigma: f64,
        #[serde(default = "one")]
        sensitivity: f64,
        #[serde(default)]
        dimension: Option<f64>,
    },
    #[serde(rename = "RandomizedResponseDpEvent")]
    RandomizedResponse { noise_parameter: f64, num_buckets: f64 },
    #[serde(rename = "ExponentialMechanismDpEvent")]
    Exponential { epsilon: f64 },
    #[serde(rename = "PermuteAndFlipDpEvent")]
    PermuteAndFlip { epsilon: f64 },
    #[serde(rename = "EpsilonDeltaDpEvent")]
    EpsilonDelta { epsilon: f64, delta: f64 },
    #[serde(rename = "ZCDpEvent")]
    Zcdp {
        rho: f64,
        #[serde(default)]
        xi: f64,
    },
    #[serde(rename = "SelfComposedDpEvent")]
    SelfComposed { event: Box<Event>, count: f64 },
    #[serde(rename = "ComposedDpEvent")]
    Composed { events: Vec<Event> },
    #[serde(rename = "PoissonSampledDpEvent")]
    PoissonSampled { sampling_probability: f64, event: Box<Event> },
    #[serde(rename = "SampledWithoutReplacementDpEvent")]
    WithoutReplacement { source_dataset_size: f64, sample_size: f64, event: Box<Event> },
    #[serde(rename = "SampledWithReplacementDpEvent")]
    #[allow(dead_code)]
    // Known by name and refused; its fields are read so that the refusal is about it.
    WithReplacement { source_dataset_size: f64, sample_size: f64, event: Box<Event> },
    #[serde(rename = "TruncatedSubsampledGaussianDpEvent")]
    Truncated {
        dataset_size: f64,
        sampling_probability: f64,
        truncated_batch_size: f64,
        noise_multiplier: f64,
    },
    #[serde(rename = "MixtureOfGaussiansDpEvent")]
    Mixture { standard_deviation: f64, sensitivities: Vec<f64>, sampling_probs: Vec<f64> },
    #[serde(rename = "SingleEpochTreeAggregationDpEvent")]
    Tree { noise_multiplier: f64, step_counts: Counts },
    #[serde(rename = "RepeatAndSelectDpEvent")]
    RepeatAndSelect { event: Box<Event>, mean: f64, shape: Shape },
}

fn one() -> f64 {
    1.0
}

/// One number of steps, or one for each tree.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
enum Counts {
    One(f64),
    Many(Vec<f64>),
}

/// The shape of a number of runs; JSON has no infinity, so that one is a word.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
enum Shape {
    Number(f64),
    Word(String),
}

/// Whether a text is meant to be events: a JSON object that speaks of classes. Claims and plans do not.
pub fn is_events(text: &str) -> bool {
    text.trim_start().starts_with('{') && text.contains("\"class_name\"")
}

/// Reads events. Never panics, whatever the text.
///
/// # Errors
/// Refuses text that is no event and events without a counterpart here.
pub fn parse(text: &str) -> Result<Mechanism, Refusal> {
    let refuse = |why: String| Refusal::Invalid(format!("events: {}", shorten(&why)));
    let mut tree: Value = serde_json::from_str(text).map_err(|error| refuse(error.to_string()))?;
    tidy(&mut tree, DEEPEST).map_err(refuse)?;
    let event = Event::deserialize(tree).map_err(|error| refuse(error.to_string()))?;
    match convert::mechanism(&event)? {
        Some(mechanism) => Ok(mechanism),
        // Nothing but events that leak nothing.
        None => Ok(Mechanism::Pure { epsilon: crate::claims::Epsilon::ZERO }),
    }
}

/// Takes module names out and checks the shape before serde does, which would not say where it is wrong.
fn tidy(tree: &mut Value, depth: usize) -> Result<(), String> {
    if depth == 0 {
        return Err("nesting is deeper than 32, expected at most 32 nested events".into());
    }
    let Value::Object(fields) = tree else {
        return Err("an event is not a JSON object; write {\"class_name\": …}".into());
    };
    fields.remove("module_name");
    match fields.get("class_name") {
        Some(Value::String(_)) => {}
        Some(_) => {
            return Err("class_name is not a string; use the name of a class, such as GaussianDpEvent".into());
        }
        None => {
            return Err(
                "class_name is missing in an event; add the name of a class, such as GaussianDpEvent".into(),
            );
        }
    }
    if let Some(inner) = fields.get_mut("event") {
        tidy(inner, depth - 1)?;
    }
    if let Some(Value::Array(all)) = fields.get_mut("events") {
        for inner in all {
            tidy(inner, depth - 1)?;
        }
    }
    Ok(())
}

/// Keeps a message short: parsers list everything they would have taken.
fn shorten(message: &str) -> String {
    let unknown =
        message.split(", expected one of").next().filter(|head| head.starts_with("unknown variant"));
    let told = match unknown {
        Some(head) => {
            let name = head.split('`').nth(1).unwrap_or_default();
            format!("class_name is {name}, expected an event of dp_accounting, such as GaussianDpEvent")
        }
        None => message.to_owned(),
    };
    let clean = printable(&told, usize::MAX);
    match clean.char_indices().nth(240) {
        Some((cut, _)) => format!("{} …", &clean[..cut]),
        None => clean,
    }
}
