//! What a JSON file is, by what is in it.

use crate::claims::{ClaimFile, Error};
use serde::Deserialize;
use std::path::Path;
use veracity_core::files::read_text;

/// The name under which an audit leaves its certificate.
pub const CERTIFICATE: &str = "certificate.json";

/// What a JSON file is.
pub enum Kind {
    /// A claim.
    Claim(Box<ClaimFile>),
    /// The certificate of an audit.
    Certificate,
    /// What is called or says it is one of them, and cannot be read.
    Damaged(Error),
    /// Nobody's business here.
    Other,
}

/// A file that is called as ours are, or that says it is one, must be one; other files are nobody's business here.
pub fn kind_of(path: &Path) -> Kind {
    #[derive(Deserialize)]
    struct Named {
        schema: String,
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_called_ours = name == "claim.json"
        || name.ends_with(".claim.json")
        || is_numbered_claim(&name)
        || name == CERTIFICATE;
    let text = match read_text("claim", path) {
        Ok(text) => text,
        Err(refusal) if is_called_ours => return Kind::Damaged(refusal),
        Err(_) => return Kind::Other,
    };
    match serde_json::from_str::<Named>(&text) {
        Ok(named) if named.schema.starts_with("veracity.certificate/") => Kind::Certificate,
        Ok(named) if named.schema.starts_with("veracity.claim/") || is_called_ours => {
            match ClaimFile::parse(&text) {
                Ok(claim) => Kind::Claim(Box::new(claim)),
                Err(refusal) => Kind::Damaged(refusal.into()),
            }
        }
        Ok(_) => Kind::Other,
        // Cut off, it is no JSON any more; what is left of its head still tells.
        Err(_)
            if is_called_ours
                || text.contains("\"veracity.claim/")
                || text.contains("\"veracity.certificate/") =>
        {
            Kind::Damaged(Error::invalid("not valid JSON; give a claim or a certificate"))
        }
        Err(_) => Kind::Other,
    }
}

/// The claim in a file; nothing where it is something else, and why not where it is a damaged one.
pub fn claim_at(path: &Path) -> Option<Result<ClaimFile, Error>> {
    match kind_of(path) {
        Kind::Claim(claim) => Some(Ok(*claim)),
        Kind::Damaged(refusal) => Some(Err(refusal)),
        Kind::Certificate | Kind::Other => None,
    }
}

/// Whether a file's name is that of a claim whose model was replaced.
pub fn is_numbered_claim(name: &str) -> bool {
    let number = name.strip_prefix("claim-").and_then(|rest| rest.strip_suffix(".json"));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}
