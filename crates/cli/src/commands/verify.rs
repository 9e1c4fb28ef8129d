//! `veracity verify`: recomputes a claim, or the certificate of an audit.

use crate::{Outcome, args::VerifyArgs, text};
use veracity::{
    Check, Confirmation, Refusal, Verified,
    auditing::certificate::{Recomputed, Statement},
    report::decimal::{down, nearest, up},
    verify_file,
};

/// Says whether a claim or a certificate holds; exit code 1 when it does not.
pub fn run(args: &VerifyArgs) -> Result<Outcome, Refusal> {
    let confirmation = match verify_file(&args.file)? {
        Verified::Claim(confirmation) => confirmation,
        Verified::Certificate(recomputed) => return certificate(args, &recomputed),
    };
    let stands = confirmation.failure().is_none() && !confirmation.is_rehearsal();
    let text = if args.json { json(&confirmation)? } else { words(&confirmation) };
    Ok(Outcome { text, stands })
}

fn words(confirmation: &Confirmation) -> String {
    let claim = &confirmation.claim;
    let conditions = format!("({}, per {}; {})", claim.adjacency, claim.unit, claim.method.name);
    match (confirmation.failure(), confirmation.checks.first()) {
        (Some(check), _) => {
            format!(
                "does not hold: {}, claimed {}; found {}   {conditions}\n",
                check.what,
                check.claimed,
                found(check)
            )
        }
        (None, _) if confirmation.is_rehearsal() => {
            "not for release: the noise was seeded or recorded, and whoever has the seed or the tape can take it off\n"
                .to_owned()
        }
        (None, Some(check)) => format!(
            "confirmed: epsilon ≤ {} at delta {}   {conditions}\nrecomputed {}; {} numbers checked\n",
            up(check.claimed, 9),
            nearest(claim.delta, 17),
            found(check),
            confirmation.checks.len()
        ),
        (None, None) => "confirmed: nothing was claimed\n".to_owned(),
    }
}

fn found(check: &Check) -> String {
    match check.lower {
        Some(lower) => format!("between {} and {}", down(lower, 12), up(check.upper, 12)),
        None => format!("at most {}", up(check.upper, 12)),
    }
}

fn json(confirmation: &Confirmation) -> Result<String, Refusal> {
    let check = |check: &Check| {
        serde_json::json!({
            "what": check.what,
            "claimed": check.claimed,
            "lower": check.lower,
            "upper": check.upper,
            "holds": check.holds,
        })
    };
    let claim = &confirmation.claim;
    text::json(&serde_json::json!({
        "schema": "veracity.verify/1",
        "verdict": match confirmation.failure() {
            Some(_) => "does-not-hold",
            None if confirmation.is_rehearsal() => "not-for-release",
            None => "confirmed",
        },
        "adjacency": claim.adjacency,
        "method": claim.method.name,
        "mechanism": claim.mechanism,
        "checks": confirmation.checks.iter().map(check).collect::<Vec<_>>(),
    }))
}

/// What a file states may be anything; what is printed of it is one line.
fn one_line(stated: &str) -> String {
    stated.chars().map(|c| if c.is_control() { ' ' } else { c }).take(200).collect()
}

fn certificate(args: &VerifyArgs, recomputed: &Recomputed) -> Result<Outcome, Refusal> {
    let stated = &recomputed.certificate;
    let stands = recomputed.failure().is_none();
    let statement = |one: &Statement| serde_json::json!({ "what": one.what, "stated": one.stated, "found": one.found, "holds": one.holds });
    let text = match (args.json, recomputed.failure()) {
        (true, failure) => text::json(&serde_json::json!({
            "schema": "veracity.verify/1",
            "verdict": if failure.is_some() { "does-not-hold" } else { "confirmed" },
            "adjacency": stated.claim.adjacency,
            "method": stated.method,
            "certificate": stated.verdict,
            "epsilon_lower": stated.epsilon_lower,
            "checks": recomputed.statements.iter().map(statement).collect::<Vec<_>>(),
        }))?,
        (false, Some(one)) => {
            format!(
                "does not hold: {}, stated {}; found {}\n",
                one.what,
                one_line(&one.stated),
                one_line(&one.found)
            )
        }
        (false, None) => format!(
            "confirmed: {}, epsilon ≥ {} at delta {} shown, {} claimed   ({}; {})\n\
             recomputed from {} trials; {} statements checked\n",
            stated.verdict,
            down(stated.epsilon_lower.0, 9),
            nearest(stated.claim.delta, 17),
            nearest(stated.claim.epsilon, 17),
            stated.claim.adjacency,
            stated.method.bound,
            stated.trials,
            recomputed.statements.len()
        ),
    };
    Ok(Outcome { text, stands })
}
