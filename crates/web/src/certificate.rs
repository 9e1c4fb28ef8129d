//! A certificate without its trials: what can be recomputed of it here, and what cannot.

use serde_json::{Value, json};
use veracity_claims::Refusal;

/// Placeholder.
pub(crate) fn verify(_file: &Value) -> Result<Value, Refusal> {
    Ok(json!({}))
}
