//! Files that a reader drops on the page: a claim is recomputed whole, a certificate as far as it can be without its trials.

use crate::certificate;
use serde::Deserialize;
use serde_json::{Value, json};
use veracity_claims::{Refusal, verify as verify_claim, words};

/// The longest file that is looked at, as on the command line.
const LONGEST: usize = 1 << 20;

/// The one thing that every file of ours has.
#[derive(Deserialize)]
struct Named {
    schema: String,
}

/// Whether a file holds, in words.
pub(crate) fn verify(text: &str) -> Result<Value, Refusal> {
    if text.len() > LONGEST {
        return Err(Refusal::Invalid("file is longer than 1 MiB, expected a claim or a certificate".into()));
    }
    let named: Named = serde_json::from_str(text).map_err(|_| {
        Refusal::Invalid(
            "file says no schema, expected a claim.json or a certificate.json of veracity".into(),
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
