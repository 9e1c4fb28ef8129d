//! A mechanism as Python that makes it again, with veracity imported as `v`.

use crate::mechanism::{PyMechanism, plus};
use serde_json::Value;
use veracity::{Mechanism, spec::MechanismSpec};

/// The text of a mechanism, with what was said beside it.
pub fn python(value: &PyMechanism) -> String {
    let text = expression(&value.mechanism);
    let mut said = Vec::new();
    if let Some(adjacency) = value.said.adjacency {
        said.push(format!("adjacency='{adjacency}'"));
    }
    if let Some(unit) = &value.said.unit {
        said.push(format!("unit={}", literal(&Value::String(unit.name().to_owned()))));
    }
    match said.is_empty() {
        true => text,
        false => format!("{}.with_adjacency({})", tight(&value.mechanism, text), said.join(", ")),
    }
}

/// The text of a mechanism that something follows: in parentheses, unless it is a call.
fn tight(mechanism: &Mechanism, text: String) -> String {
    match mechanism {
        Mechanism::Repeated { .. } | Mechanism::Composed(_) => format!("({text})"),
        // Every other kind is written as a call.
        _ => text,
    }
}

fn inner(mechanism: &Mechanism) -> String {
    tight(mechanism, expression(mechanism))
}

fn expression(mechanism: &Mechanism) -> String {
    match mechanism {
        Mechanism::Repeated { times, mechanism } => format!("{} * {}", inner(mechanism), times.get()),
        Mechanism::PoissonSampled { rate, mechanism } => {
            format!("{}.sampled(rate={})", inner(mechanism), decimal(rate.get()))
        }
        Mechanism::Group { size, mechanism } => format!("{}.group({})", inner(mechanism), size.get()),
        Mechanism::Composed(parts) if is_sum(parts) => {
            parts.iter().map(expression).collect::<Vec<_>>().join(" + ")
        }
        Mechanism::Composed(parts) => format!("v.composed([{}])", listed(parts)),
        Mechanism::Parallel(parts) => format!("v.parallel([{}])", listed(parts)),
        // Every other kind is a call by its name with the fields that files have.
        other => call(other),
    }
}

/// Whether adding the parts up makes the same mechanism again.
fn is_sum(parts: &[Mechanism]) -> bool {
    let [first, second, rest @ ..] = parts else { return false };
    let whole = rest.iter().try_fold(plus(first, second), |so_far, part| Some(plus(&so_far.ok()?, part)));
    whole.and_then(Result::ok).is_some_and(|whole| matches!(whole, Mechanism::Composed(all) if all == parts))
}

fn listed(parts: &[Mechanism]) -> String {
    parts.iter().map(expression).collect::<Vec<_>>().join(", ")
}

fn call(mechanism: &Mechanism) -> String {
    let Ok(Value::Object(fields)) = serde_json::to_value(MechanismSpec::from(mechanism)) else {
        return format!("<{}>", mechanism.kind());
    };
    let inside = mechanism.inside().first().map(expression);
    let fields = fields.iter().filter(|(name, _)| *name != "kind" && *name != "mechanism");
    let fields = fields.map(|(name, value)| format!("{name}={}", literal(value)));
    let arguments: Vec<String> = inside.into_iter().chain(fields).collect();
    format!("v.{}({})", mechanism.kind().replace('-', "_"), arguments.join(", "))
}

/// A value of JSON as Python has it.
fn literal(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| format!("'{name}': {}", literal(value)));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
        }
        Value::Array(all) => format!("[{}]", all.iter().map(literal).collect::<Vec<_>>().join(", ")),
        Value::Null => "None".to_owned(),
        Value::Number(number) => match number.as_f64() {
            Some(x) if number.is_f64() => decimal(x),
            _ => number.to_string(),
        },
        // JSON's texts are Python's, for what a unit may be called.
        other => other.to_string(),
    }
}

/// The shortest decimal that is read as this number.
fn decimal(x: f64) -> String {
    format!("{x:?}")
}
