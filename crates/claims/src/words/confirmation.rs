//! A claim that was checked again, in words.

use crate::{Check, Confirmation, Stated, Tie};
use veracity_core::decimal::{down, nearest, up};

/// Whether a claim holds, and if it does not, why: the first line; what it rests on: the others.
pub fn confirmation(confirmation: &Confirmation) -> String {
    let claim = &confirmation.claim;
    let conditions = format!("({}, per {}; {})", claim.adjacency, claim.unit, claim.method.name);
    match (confirmation.failure(), confirmation.checks.first()) {
        (Some(check), _) => format!("does not hold: {}   {conditions}\n", failed(check)),
        (None, _) if confirmation.broken().is_some() => {
            let tie = confirmation.broken().map_or(String::new(), digest_words);
            format!("does not hold: {tie}   {conditions}\n")
        }
        (None, _) if confirmation.is_rehearsal() => {
            "not for release: the noise was seeded or recorded, and whoever has the seed or the tape can take it off\n"
                .to_owned()
        }
        (None, Some(check)) => format!(
            "confirmed: epsilon ≤ {} at delta {}   {conditions}\nrecomputed {}; {} numbers checked{}\n{}",
            up(check.claimed, 9),
            nearest(claim.delta, 17),
            found(check),
            confirmation.checks.len(),
            confirmation.tie.as_ref().map_or(String::new(), |tie| format!("; {}", digest_words(tie))),
            rests_on(confirmation),
        ),
        (None, None) => "confirmed: nothing was claimed\n".to_owned(),
    }
}

/// What is wrong with a number.
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

/// What nobody recomputed, and who wrote the words.
fn rests_on(confirmation: &Confirmation) -> String {
    let assumed = confirmation.assumed.iter().map(|line| format!("assumed: {}\n", one_line(line)));
    let earlier = confirmation.claim.earlier().map(|earlier| {
        let now = env!("CARGO_PKG_VERSION");
        format!("written as of {}; its words were compared with those of {now}\n", one_line(earlier))
    });
    assumed.chain(earlier).collect()
}

/// What became of a digest.
fn digest_words(tie: &Tie) -> String {
    let what = one_line(&tie.what);
    match &tie.found {
        None => "its model is not beside it, and was not compared".to_owned(),
        Some(_) if tie.holds() => format!("{what} is the one that was claimed for"),
        Some(_) => format!("{what} is not the one that was claimed for: its SHA-256 is another"),
    }
}

fn found(check: &Check) -> String {
    match check.lower {
        Some(lower) if lower == check.upper => nearest(lower, 12),
        Some(lower) => format!("between {} and {}", down(lower, 12), up(check.upper, 12)),
        None => format!("at most {}", up(check.upper, 12)),
    }
}

/// What a file states may be anything; what is printed of it is one line.
pub fn one_line(stated: &str) -> String {
    stated.chars().map(|c| if c.is_control() { ' ' } else { c }).take(200).collect()
}
