//! Everything in a folder, one line for each file; and one model with its claim.

use super::{certificate_json, json, verdict};
use crate::{Ending, Outcome, args::VerifyArgs, console::painted, text};
use serde_json::{Value, json};
use veracity::{
    Error, FileContents, Inspection, inspect,
    words::{self, one_line},
};

/// Checks all files in a folder; exit code 1 when one is invalid.
pub fn run(args: &VerifyArgs) -> Result<Outcome, Error> {
    show(args, &inspect(&args.file)?)
}

/// Checks a model and its claim, which is in the same folder.
pub fn model(args: &VerifyArgs) -> Result<Outcome, Error> {
    let name = args.file.file_name().unwrap_or_default();
    if !args.file.exists() {
        return Err(Error::invalid(format!("no such file: {}", args.file.display())));
    }
    let folder = args.file.parent().filter(|folder| !folder.as_os_str().is_empty());
    let all = inspect(folder.unwrap_or(std::path::Path::new(".")))?;
    let mine = all.iter().find(|one| one.file.as_os_str() == name);
    let claim = mine.and_then(|mine| match &mine.found {
        FileContents::Model { claim } => claim.clone(),
        _ => None,
    });
    let about: Vec<Inspection> = all
        .iter()
        .filter(|one| one.file.as_os_str() == name || Some(&one.file) == claim.as_ref())
        .cloned()
        .collect();
    if about.is_empty() {
        return Err(Error::invalid(format!("{} is not a model that veracity wrote", args.file.display())));
    }
    show(args, &about)
}

fn show(args: &VerifyArgs, all: &[Inspection]) -> Result<Outcome, Error> {
    let held = all.iter().filter(|one| one.stands()).count();
    let stands = held == all.len();
    let text = match args.json {
        true => text::json(&json!({
            "schema": "veracity.verify-folder/3",
            "verdict": if stands { "confirmed" } else { "does-not-hold" },
            "files": all.iter().map(object).collect::<Vec<_>>(),
        }))?,
        false => {
            let lines: String = all.iter().map(line).collect();
            let sum = match stands {
                true => format!("all {} valid\n", all.len()),
                false => format!("{} of {} invalid\n", all.len() - held, all.len()),
            };
            painted(&(lines + &sum))
        }
    };
    Ok(Outcome { text, ending: Ending::of(stands) })
}

/// One line: the file and its result.
fn line(one: &Inspection) -> String {
    let first = |text: String| text.lines().next().unwrap_or_default().to_owned();
    let said = match &one.found {
        FileContents::Claim(confirmation) => first(words::confirmation(confirmation)),
        FileContents::Replaced(confirmation) => match confirmation.stands() {
            true => format!(
                "{}; its model was replaced, but its cost stays charged",
                first(words::confirmation(confirmation))
            ),
            false => first(words::confirmation(confirmation)),
        },
        FileContents::Certificate(recomputed) => first(words::certificate(recomputed)),
        other => reason(other),
    };
    format!("{}: {said}\n", one_line(&one.file.display().to_string()))
}

/// The result of files that are not recomputed.
fn reason(found: &FileContents) -> String {
    match found {
        FileContents::Claim(_) | FileContents::Replaced(_) | FileContents::Certificate(_) => String::new(),
        FileContents::Model { claim: Some(claim) } => {
            format!("valid: the model of {}", one_line(&claim.display().to_string()))
        }
        FileContents::Model { claim: None } => {
            "invalid: no claim in this folder matches this model; the model was modified or swapped, or its claim is missing".to_owned()
        }
        FileContents::Copy { of, is_second } => {
            let of = one_line(&of.display().to_string());
            match is_second {
                true => format!("invalid: a second claim for one model; {of} is the first"),
                false => format!("invalid: a copy of {of}"),
            }
        }
        FileContents::NoModel => {
            "invalid: the model of this claim is not in this folder; it was modified, swapped or lost".to_owned()
        }
        FileContents::Unreadable(refusal) => format!("invalid: {}", one_line(&refusal.to_string())),
    }
}

fn object(one: &Inspection) -> Value {
    let stands = if one.stands() { "confirmed" } else { "does-not-hold" };
    let (is, stated) = match &one.found {
        FileContents::Claim(confirmation) | FileContents::Replaced(confirmation) => {
            ("claim", verdict(confirmation))
        }
        FileContents::Certificate(_) => ("certificate", stands),
        FileContents::Model { .. } => ("model", stands),
        FileContents::Copy { .. } | FileContents::NoModel | FileContents::Unreadable(_) => {
            ("unknown", "does-not-hold")
        }
    };
    let mut object = json!({
        "file": one.file.display().to_string(),
        "is": is,
        "verdict": stated,
        "reason": Some(reason(&one.found)).filter(|reason| !reason.is_empty()),
        "replaced": null,
        "claim": null,
        "certificate": null,
        "claim_file": null,
    });
    match &one.found {
        FileContents::Claim(confirmation) | FileContents::Replaced(confirmation) => {
            object["replaced"] = json!(matches!(one.found, FileContents::Replaced(_)));
            object["claim"] = json(confirmation);
        }
        FileContents::Certificate(recomputed) => object["certificate"] = certificate_json(recomputed),
        FileContents::Model { claim } => object["claim_file"] = json!(claim),
        FileContents::Copy { .. } | FileContents::NoModel | FileContents::Unreadable(_) => {}
    }
    object
}
