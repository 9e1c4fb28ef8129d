//! Files that a reader drops on the page: a claim is recomputed whole, a certificate as far as it can be without its trials.

use crate::certificate;
use serde::Deserialize;
use serde_json::{Value, json};
use veracity_account::claims::{Refusal, verify as verify_claim, words};
use veracity_core::files::LONGEST_TEXT;

/// The one thing that every file of ours has.
#[derive(Deserialize)]
struct SchemaField {
    schema: String,
}

/// Whether a file holds, in words.
pub(crate) fn verify(text: &str) -> Result<Value, Refusal> {
    if text.len() as u64 > LONGEST_TEXT {
        return Err(Refusal::Invalid("the file exceeds 1 MiB; choose a claim or a certificate".into()));
    }
    let named: SchemaField = serde_json::from_str(text).map_err(|_| {
        Refusal::Invalid(
            "the file names no schema; choose a claim.json or certificate.json of veracity".into(),
        )
    })?;
    if named.schema.starts_with("veracity.certificate/") {
        return certificate::verify(text);
    }
    let confirmation = verify_claim(text)?;
    let told = words::confirmation(&confirmation);
    let mut lines = told.lines().map(str::to_owned);
    Ok(json!({
        "kind": "claim",
        "stands": confirmation.stands(),
        "verdict": lines.next(),
        "lines": lines.collect::<Vec<_>>(),
        "text": told,
    }))
}
