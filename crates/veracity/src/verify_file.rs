//! Checks a file again: a claim, with the model beside it, or the certificate of an audit, with its trials.

use crate::{
    Confirmation, Error,
    auditing::certificate::{self, Recomputation, VerifyOptions},
    inspection::tensors_at,
    read_text, verify,
};
use serde::Deserialize;
use std::path::{Path, PathBuf};
use veracity_account::claims::recognition::is_numbered_claim;

/// What a file was found to be, and what came of recomputing it.
#[derive(Debug, Clone, PartialEq)]
pub enum VerifiedFile {
    /// A claim.
    Claim(Box<Confirmation>),
    /// The certificate of an audit.
    Certificate(Box<Recomputation>),
}

/// Recomputes a claim, or the certificate of an audit with the trials beside it; the file's schema says which. The claim of a
/// model must be that of the model beside it, where there is one.
///
/// # Errors
/// A file that cannot be read, or one that is neither a claim nor a certificate.
pub fn verify_file(path: &Path) -> Result<VerifiedFile, Error> {
    verify_file_with(path, None)
}

/// The same with options that only the certificate of an audit can meet: of anything else they are refused.
///
/// # Errors
/// Those of [`verify_file`], and options for anything but a certificate.
pub fn verify_file_with(path: &Path, options: Option<&VerifyOptions>) -> Result<VerifiedFile, Error> {
    let text = read_text("claim", path)?;
    let is_certificate = serde_json::from_str::<Schema>(&text)
        .is_ok_and(|named| named.schema.starts_with(certificate::SCHEMA.trim_end_matches(char::is_numeric)));
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if is_certificate {
        let options = options.unwrap_or(const { &VerifyOptions::NONE });
        let recomputed = certificate::recompute(&text, folder, options)?;
        return Ok(VerifiedFile::Certificate(Box::new(recomputed)));
    }
    if options.is_some() {
        return Err(Error::file(
            "file",
            path,
            "the certificate of an audit: only such have trials and signatures",
        ));
    }
    let mut confirmation = verify(&text)?;
    if let Some(stated) = confirmation.claim.model().map(str::to_owned) {
        let is_replaced = path.file_name().and_then(|name| name.to_str()).is_some_and(is_numbered_claim);
        if let Some((name, digest)) = model_beside(folder, &stated, is_replaced)? {
            confirmation.meets_model(&name, &digest);
        }
    }
    Ok(VerifiedFile::Claim(Box::new(confirmation)))
}

/// The model of a folder that has a digest, or else the first of its models; nothing where there is none. A claim that has a
/// number is of a model that was replaced.
fn model_beside(folder: &Path, stated: &str, is_replaced: bool) -> Result<Option<(String, String)>, Error> {
    let mut names: Vec<PathBuf> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.is_file() && path.extension().is_some_and(|ending| ending == "safetensors"))
        .collect();
    names.sort();
    let mut other = None;
    for path in names {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let (digest, is_ours) = match tensors_at(&path) {
            Ok(Some(tensors)) => (tensors.digest, tensors.is_ours),
            Ok(None) => continue,
            Err(refusal) => (format!("nothing: {refusal}"), true),
        };
        if digest == stated {
            return Ok(Some((name, digest)));
        }
        if is_ours {
            other.get_or_insert((name, digest));
        }
    }
    Ok(other.filter(|_| !is_replaced))
}

/// The one thing that every file of ours has.
#[derive(Deserialize)]
struct Schema {
    schema: String,
}
