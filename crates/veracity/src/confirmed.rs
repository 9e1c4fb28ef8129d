//! A claim or a certificate that was checked again, in words.

use crate::{
    Check, Confirmation, Stated, Tie,
    auditing::{bound::Basis, certificate::Recomputed},
};
use veracity_report::decimal::{down, nearest, up};

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

/// What a bound rests on that is no theorem about every mechanism, since such a one refutes nothing.
fn basis(recomputed: &Recomputed) -> String {
    let stated = &recomputed.certificate;
    if stated.basis == Basis::Proved.name() {
        return String::new();
    }
    let fell = stated.curve.as_ref().is_some_and(|curve| curve.fell.is_some());
    let falls = if fell { ", though the claimed curve falls by these trials" } else { "" };
    format!("rests on: {}, so that nothing is refuted{falls}\n", one_line(&stated.basis))
}

/// Whether a certificate holds, what it says, and what nobody can know.
pub fn certificate(recomputed: &Recomputed) -> String {
    let stated = &recomputed.certificate;
    match recomputed.failure() {
        Some(one) => {
            format!(
                "does not hold: {}, stated {}; found {}\n",
                one.what,
                one_line(&one.stated),
                one_line(&one.found)
            )
        }
        None => format!(
            "confirmed: {}, epsilon ≥ {} at delta {} shown, {} claimed   ({}; {})\n\
             recomputed from {} trials; {} statements checked\n{}{}",
            stated.verdict,
            down(stated.epsilon_lower.0, 9),
            nearest(stated.claim.delta, 17),
            nearest(stated.claim.epsilon, 17),
            stated.claim.adjacency,
            stated.method.bound,
            recomputed.trials,
            recomputed.statements.len(),
            basis(recomputed),
            unknown(recomputed),
        ),
    }
}

/// What was run again, and what nobody can know.
fn unknown(recomputed: &Recomputed) -> String {
    let again = match recomputed.rerun {
        0 => String::new(),
        ran => format!(
            "{ran} trials, drawn at random, run again: the same to the bit; of trials of which a tenth was invented they would have \
             told with chance {}\n",
            down(1.0 - 0.9_f64.powi(i32::try_from(ran).unwrap_or(i32::MAX)), 3)
        ),
    };
    let lines = recomputed.unknown.iter().map(|line| format!("not known: {}\n", one_line(line)));
    again + &lines.collect::<String>()
}

/// What a file states may be anything; what is printed of it is one line.
pub fn one_line(stated: &str) -> String {
    stated.chars().map(|c| if c.is_control() { ' ' } else { c }).take(200).collect()
}
