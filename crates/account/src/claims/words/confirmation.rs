//! Formats the result of verifying a claim.

use crate::claims::{Check, Confirmation, Stated, Tie};
use veracity_core::decimal::{down, nearest, up};
use veracity_core::printable;

/// The first line says whether the claim is valid, or why it is not. The other lines list its assumptions.
pub fn confirmation(confirmation: &Confirmation) -> String {
    let claim = &confirmation.claim;
    let conditions = format!("({}, per {}; {})", claim.adjacency, claim.unit, claim.method.name);
    match (confirmation.failure(), confirmation.checks.first()) {
        (Some(check), _) => format!("invalid: {}   {conditions}\n", failed(check)),
        (None, _) if confirmation.broken().is_some() => {
            let tie = confirmation.broken().map_or(String::new(), digest_words);
            format!("invalid: {tie}   {conditions}\n")
        }
        (None, _) if confirmation.is_rehearsal() => {
            "not for release: the noise was drawn from a seed or recorded, so anyone with the seed or recording can subtract it\n"
                .to_owned()
        }
        (None, Some(check)) => format!(
            "valid: epsilon ≤ {} at delta {}   {conditions}\nrecomputed {}; {} numbers checked{}\n{}",
            up(check.claimed, 9),
            nearest(claim.delta, 17),
            found(check),
            confirmation.checks.len(),
            confirmation.tie.as_ref().map_or(String::new(), |tie| format!("; {}", digest_words(tie))),
            rests_on(confirmation),
        ),
        (None, None) => "valid: nothing was claimed\n".to_owned(),
    }
}

/// Why a number is wrong.
fn failed(check: &Check) -> String {
    let (what, claimed, found) = (&check.what, check.claimed, found(check));
    match check.stated {
        Stated::Upper => format!("{what}, claimed {claimed}; found {found}"),
        Stated::Lower if claimed.is_nan() => format!("the {what} is missing; found {found}"),
        Stated::Lower if check.lower.is_none() => {
            format!("the {what} is stated as {claimed}, but none was found: {found}")
        }
        Stated::Lower => format!("the {what} is stated as {claimed}, above what was found: {found}"),
        Stated::Value if check.upper.is_nan() => format!("{what} is stated as {claimed}, expected none"),
        Stated::Value if claimed.is_nan() => format!("{what} is missing; found {found}"),
        Stated::Value => format!("{what}, stated {claimed}; found {found}"),
    }
}

/// Assumptions that were not recomputed, and the version that wrote the claim.
fn rests_on(confirmation: &Confirmation) -> String {
    let assumed = confirmation.assumed.iter().map(|line| format!("assumed: {}\n", one_line(line)));
    let earlier = confirmation.claim.earlier().map(|earlier| {
        let now = env!("CARGO_PKG_VERSION");
        format!(
            "written by version {}; its text was compared with that of version {now}\n",
            one_line(earlier)
        )
    });
    assumed.chain(earlier).collect()
}

/// The result of comparing a digest.
fn digest_words(tie: &Tie) -> String {
    let what = one_line(&tie.what);
    match &tie.found {
        None => "its model is not in the same folder and was not compared".to_owned(),
        Some(_) if tie.holds() => format!("{what} matches the claim"),
        Some(_) => format!("{what} does not match the claim: its SHA-256 differs"),
    }
}

fn found(check: &Check) -> String {
    match check.lower {
        Some(lower) if lower == check.upper => nearest(lower, 12),
        Some(lower) => format!("between {} and {}", down(lower, 12), up(check.upper, 12)),
        None => format!("at most {}", up(check.upper, 12)),
    }
}

/// Turns any text of a file into one printable line.
pub fn one_line(stated: &str) -> String {
    printable(stated, 200)
}
