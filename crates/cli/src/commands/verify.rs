//! `veracity verify`: recomputes a claim or the certificate of an audit, or checks all that is in a folder.

mod folder;

use crate::{Ending, Outcome, args::VerifyArgs, console::painted, meaning, text};
use serde_json::Value;
use veracity::{
    Check, Confirmation, Error, Stated, Tie, Verified,
    auditing::{
        certificate::{CommandAgain, Demands, Recomputed, Statement},
        interrupt,
        signature::PublicKey,
    },
    report::decimal::{down, nearest, up},
    spec::Whole,
    verify_file_with,
};

/// Says whether a claim or a certificate holds; exit code 1 when it does not.
pub fn run(args: &VerifyArgs) -> Result<Outcome, Error> {
    let demands = demands(args)?;
    if let (Some(_), true) = (&demands, args.file.is_dir()) {
        return Err(Error::file(
            "file",
            &args.file,
            "a certificate.json, with --rerun, --plan, --command or --key",
        ));
    }
    if args.file.is_dir() {
        return folder::run(args);
    }
    if demands.is_none() && args.file.extension().is_some_and(|ending| ending == "safetensors") {
        return folder::model(args);
    }
    let confirmation = match verify_file_with(&args.file, demands.as_ref())? {
        Verified::Claim(confirmation) => confirmation,
        Verified::Certificate(recomputed) => return certificate(args, &recomputed),
    };
    let text = if args.json { text::json(&json(&confirmation))? } else { painted(&words(&confirmation)) };
    Ok(Outcome { text, ending: Ending::of(confirmation.stands()) })
}

/// What is asked of a certificate beyond the files beside it.
fn demands(args: &VerifyArgs) -> Result<Option<Demands>, Error> {
    if args.rerun.is_none() && args.plan.is_none() && args.command.is_none() && args.key.is_none() {
        return Ok(None);
    }
    if args.command.is_some() {
        interrupt::install_handlers();
    }
    let data = args.data.clone().zip(args.canary.clone());
    Ok(Some(Demands {
        rerun: args.rerun.map(|trials| Whole(trials).count("rerun")).transpose()?,
        plan: args.plan.as_deref().map(|plan| meaning::training_plan(plan, None, &args.set)).transpose()?,
        command: args.command.clone().map(|line| CommandAgain { line, data }),
        key: args.key.as_deref().map(PublicKey::read).transpose()?,
    }))
}

fn words(confirmation: &Confirmation) -> String {
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

fn json(confirmation: &Confirmation) -> Value {
    let check = |check: &Check| {
        serde_json::json!({
            "what": check.what,
            "stated": match check.stated {
                Stated::Upper => "upper",
                Stated::Lower => "lower",
                Stated::Value => "value",
            },
            "claimed": check.claimed,
            "lower": check.lower,
            "upper": check.upper,
            "holds": check.holds,
        })
    };
    let digest = |tie: &Tie| serde_json::json!({ "what": tie.what, "stated": tie.stated, "found": tie.found, "holds": tie.holds() });
    let claim = &confirmation.claim;
    serde_json::json!({
        "schema": "veracity.verify-claim/1",
        "verdict": verdict(confirmation),
        "adjacency": claim.adjacency,
        "method": claim.method.name,
        "mechanism": claim.mechanism,
        "checks": confirmation.checks.iter().map(check).collect::<Vec<_>>(),
        "digest": confirmation.tie.as_ref().map(digest),
        "assumed": confirmation.assumed,
        "earlier": claim.earlier(),
    })
}

fn verdict(confirmation: &Confirmation) -> &'static str {
    match (confirmation.failure(), confirmation.broken()) {
        (Some(_), _) | (_, Some(_)) => "does-not-hold",
        (None, None) if confirmation.is_rehearsal() => "not-for-release",
        (None, None) => "confirmed",
    }
}

/// What a file states may be anything; what is printed of it is one line.
fn one_line(stated: &str) -> String {
    stated.chars().map(|c| if c.is_control() { ' ' } else { c }).take(200).collect()
}

fn certificate(args: &VerifyArgs, recomputed: &Recomputed) -> Result<Outcome, Error> {
    let text = match args.json {
        true => text::json(&certificate_json(recomputed))?,
        false => painted(&certificate_words(recomputed)),
    };
    Ok(Outcome { text, ending: Ending::of(recomputed.failure().is_none()) })
}

fn certificate_json(recomputed: &Recomputed) -> Value {
    let stated = &recomputed.certificate;
    let statement = |one: &Statement| serde_json::json!({ "what": one.what, "stated": one.stated, "found": one.found, "holds": one.holds });
    serde_json::json!({
        "schema": "veracity.verify-certificate/2",
        "verdict": if recomputed.failure().is_some() { "does-not-hold" } else { "confirmed" },
        "adjacency": stated.claim.adjacency,
        "method": stated.method,
        "certificate": stated.verdict,
        "epsilon_lower": stated.epsilon_lower,
        "checks": recomputed.statements.iter().map(statement).collect::<Vec<_>>(),
        "rerun": recomputed.rerun,
        "unknown": recomputed.unknown,
    })
}

fn certificate_words(recomputed: &Recomputed) -> String {
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
             recomputed from {} trials; {} statements checked\n{}",
            stated.verdict,
            down(stated.epsilon_lower.0, 9),
            nearest(stated.claim.delta, 17),
            nearest(stated.claim.epsilon, 17),
            stated.claim.adjacency,
            stated.method.bound,
            stated.trials,
            recomputed.statements.len(),
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
