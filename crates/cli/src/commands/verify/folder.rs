//! Everything in a folder, one line for each file; and one model with its claim.

use super::{certificate_json, json, verdict};
use crate::{Ending, Outcome, args::VerifyArgs, console::painted, text};
use serde_json::{Value, json};
use veracity::{
    Error, Found, Inspected, inspect,
    words::{self, one_line},
};

/// Checks all that is in a folder; exit code 1 when something does not hold.
pub fn run(args: &VerifyArgs) -> Result<Outcome, Error> {
    show(args, &inspect(&args.file)?)
}

/// Checks a model and its claim, which is in the same folder.
pub fn model(args: &VerifyArgs) -> Result<Outcome, Error> {
    let name = args.file.file_name().unwrap_or_default();
    let refuse = |why: &str| Error::invalid(format!("file is {}, expected {why}", args.file.display()));
    if !args.file.exists() {
        return Err(refuse("a file that is there"));
    }
    let folder = args.file.parent().filter(|folder| !folder.as_os_str().is_empty());
    let all = inspect(folder.unwrap_or(std::path::Path::new(".")))?;
    let mine = all.iter().find(|one| one.file.as_os_str() == name);
    let claim = mine.and_then(|mine| match &mine.found {
        Found::Model { claim } => claim.clone(),
        _ => None,
    });
    let about: Vec<Inspected> = all
        .iter()
        .filter(|one| one.file.as_os_str() == name || Some(&one.file) == claim.as_ref())
        .cloned()
        .collect();
    if about.is_empty() {
        return Err(refuse("a model that veracity wrote, found another's"));
    }
    show(args, &about)
}

fn show(args: &VerifyArgs, all: &[Inspected]) -> Result<Outcome, Error> {
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
                true => format!("all {} hold\n", all.len()),
                false => format!("{} of {} do not hold\n", all.len() - held, all.len()),
            };
            painted(&(lines + &sum))
        }
    };
    Ok(Outcome { text, ending: Ending::of(stands) })
}

/// One line: the file, then what came of it.
fn line(one: &Inspected) -> String {
    let first = |text: String| text.lines().next().unwrap_or_default().to_owned();
    let said = match &one.found {
        Found::Claim(confirmation) => first(words::confirmation(confirmation)),
        Found::Replaced(confirmation) => match confirmation.stands() {
            true => format!(
                "{}; its model was replaced, its cost is spent",
                first(words::confirmation(confirmation))
            ),
            false => first(words::confirmation(confirmation)),
        },
        Found::Certificate(recomputed) => first(words::certificate(recomputed)),
        other => reason(other),
    };
    format!("{}: {said}\n", one_line(&one.file.display().to_string()))
}

/// What is said of files that are not recomputed.
fn reason(found: &Found) -> String {
    match found {
        Found::Claim(_) | Found::Replaced(_) | Found::Certificate(_) => String::new(),
        Found::Model { claim: Some(claim) } => {
            format!("confirmed: the model of {}", one_line(&claim.display().to_string()))
        }
        Found::Model { claim: None } => {
            "does not hold: no claim in this folder is of this model; it was altered, swapped, or never had one".to_owned()
        }
        Found::Copy { of, is_second } => {
            let of = one_line(&of.display().to_string());
            match is_second {
                true => format!("does not hold: a second claim for one model; {of} is the first"),
                false => format!("does not hold: a copy of {of}"),
            }
        }
        Found::NoModel => {
            "does not hold: the model of this claim is not in this folder; it was altered, swapped, or lost".to_owned()
        }
        Found::Unreadable(refusal) => format!("does not hold: {}", one_line(&refusal.to_string())),
    }
}

fn object(one: &Inspected) -> Value {
    let stands = if one.stands() { "confirmed" } else { "does-not-hold" };
    let (is, stated) = match &one.found {
        Found::Claim(confirmation) | Found::Replaced(confirmation) => ("claim", verdict(confirmation)),
        Found::Certificate(_) => ("certificate", stands),
        Found::Model { .. } => ("model", stands),
        Found::Copy { .. } | Found::NoModel | Found::Unreadable(_) => ("unknown", "does-not-hold"),
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
        Found::Claim(confirmation) | Found::Replaced(confirmation) => {
            object["replaced"] = json!(matches!(one.found, Found::Replaced(_)));
            object["claim"] = json(confirmation);
        }
        Found::Certificate(recomputed) => object["certificate"] = certificate_json(recomputed),
        Found::Model { claim } => object["claim_file"] = json!(claim),
        Found::Copy { .. } | Found::NoModel | Found::Unreadable(_) => {}
    }
    object
}
