//! `veracity verify`: recomputes a claim or the certificate of an audit, or checks all files in a folder.

mod folder;

use crate::{Ending, Outcome, args::VerifyArgs, console::painted, meaning, text};
use serde_json::Value;
use veracity::{
    Check, Confirmation, Error, Stated, Tie, VerifiedFile,
    auditing::{
        certificate::{CommandAgain, Recomputation, Statement, VerifyOptions},
        interrupt,
        signature::PublicKey,
    },
    spec::Whole,
    verify_file_with, words,
};

/// Verifies a claim or a certificate; exit code 1 when it is invalid.
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
        VerifiedFile::Claim(confirmation) => confirmation,
        VerifiedFile::Certificate(recomputed) => return certificate(args, &recomputed),
    };
    let text = if args.json {
        text::json(&json(&confirmation))?
    } else {
        painted(&words::confirmation(&confirmation))
    };
    Ok(Outcome { text, ending: Ending::of(confirmation.stands()) })
}

/// The options for a certificate.
fn demands(args: &VerifyArgs) -> Result<Option<VerifyOptions>, Error> {
    if args.rerun.is_none() && args.plan.is_none() && args.command.is_none() && args.key.is_none() {
        return Ok(None);
    }
    if args.command.is_some() {
        interrupt::install_handlers();
    }
    let data = args.data.clone().zip(args.canary.clone());
    Ok(Some(VerifyOptions {
        rerun: args.rerun.map(|trials| Whole(trials).count("rerun")).transpose()?,
        plan: args.plan.as_deref().map(|plan| meaning::training_plan(plan, None, &args.set)).transpose()?,
        command: args.command.clone().map(|line| CommandAgain { line, data }),
        key: args.key.as_deref().map(PublicKey::read).transpose()?,
    }))
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

fn certificate(args: &VerifyArgs, recomputed: &Recomputation) -> Result<Outcome, Error> {
    let text = match args.json {
        true => text::json(&certificate_json(recomputed))?,
        false => painted(&words::certificate(recomputed)),
    };
    Ok(Outcome { text, ending: Ending::of(recomputed.failure().is_none()) })
}

fn certificate_json(recomputed: &Recomputation) -> Value {
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
