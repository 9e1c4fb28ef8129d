//! A certificate without its trials: what can be recomputed of it in a browser, and what cannot.
//!
//! The proof is the accountant's, so it is proved again. The bound follows from counts where its method is Clopper–Pearson at one
//! threshold; the verdict follows from bound and claim where no curve was looked at. All else needs the trials, and is listed.

use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Value, json};
use veracity_account::claims::{
    Choice, Refusal, Subject, Target, account, spec::MechanismSpec, verification::ROUNDING, words::one_line,
};
use veracity_audit::{Counts, bound::clopper_pearson};
use veracity_core::{
    Adjacency, Claim, Count, Delta, Epsilon, Lower, Mechanism, PrivacyUnit, Significance, Upper,
    decimal::{down, nearest},
    judge,
};

/// The schema that is known.
const SCHEMA: &str = "veracity.certificate/3";

/// What is read of a certificate; its other fields need the trials.
#[derive(Deserialize)]
struct Certificate {
    schema: String,
    verdict: String,
    epsilon_lower: Number,
    ceiling: Number,
    basis: String,
    significance: f64,
    claim: ClaimFields,
    proved: Option<f64>,
    method: MethodFields,
    counted: Value,
    curve: Option<IgnoredAny>,
    trials: u64,
}

#[derive(Deserialize)]
struct ClaimFields {
    epsilon: f64,
    delta: f64,
    adjacency: String,
    mechanism: Option<MechanismSpec>,
}

#[derive(Deserialize)]
struct MethodFields {
    bound: String,
    threshold: String,
    group_size: u64,
}

/// A number, or a word for one that JSON cannot have.
#[derive(Deserialize)]
#[serde(untagged)]
enum Number {
    Finite(f64),
    Word(String),
}

impl Number {
    fn get(&self) -> Result<f64, Refusal> {
        match self {
            Number::Finite(number) => Ok(*number),
            Number::Word(word) if word == "inf" => Ok(f64::INFINITY),
            Number::Word(_) => Err(Refusal::Invalid(
                "certificate has a string in place of a number; only inf is allowed".into(),
            )),
        }
    }
}

/// One statement, as stated and as found.
struct Statement {
    what: &'static str,
    stated: String,
    found: String,
    holds: bool,
}

impl Statement {
    fn numbers(what: &'static str, stated: f64, found: f64) -> Statement {
        let holds = stated == found || (stated - found).abs() <= ROUNDING * found.abs().max(1.0);
        Statement { what, stated: format!("{stated:?}"), found: format!("{found:?}"), holds }
    }
}

/// Whether what can be recomputed holds.
pub(crate) fn verify(text: &str) -> Result<Value, Refusal> {
    let read: Certificate = serde_json::from_str(text).map_err(|error| {
        Refusal::Invalid(format!("not a certificate of veracity ({})", one_line(&error.to_string())))
    })?;
    if read.schema != SCHEMA {
        return Err(Refusal::Invalid(format!("the certificate has another schema, expected {SCHEMA}")));
    }
    let claim = Claim {
        epsilon: Upper(Epsilon::new(read.claim.epsilon)?),
        delta: Delta::new(read.claim.delta)?,
        adjacency: read.claim.adjacency.parse::<Adjacency>()?,
    };
    let shown = Epsilon::new(read.epsilon_lower.get()?)?;
    Epsilon::new(read.ceiling.get()?)?;
    let (mut statements, mut left) = (
        Vec::new(),
        vec!["that the trials were run and give these counts, because they are not in the file"],
    );
    match (proof(&read, &claim)?, read.proved) {
        (Some(found), Some(stated)) => statements.push(Statement::numbers("proved", stated, found)),
        (None, Some(_)) => left.push("the upper bound, because no mechanism is claimed"),
        (_, None) => {}
    }
    let found = bound(&read, &claim)?;
    match found {
        Some((epsilon, ceiling)) => {
            statements.push(Statement::numbers("epsilon_lower", read.epsilon_lower.get()?, epsilon));
            statements.push(Statement::numbers("ceiling", read.ceiling.get()?, ceiling));
        }
        None => left.push("the lower bound, because it depends on more than these counts"),
    }
    // Whatever the trials were: more was shown than claimed, or the verdict is none that there is.
    let is_refuted = read.verdict == "refuted";
    let is_known = ["refuted", "not-refuted", "inconclusive"].contains(&read.verdict.as_str());
    if !is_known || (shown.get() > claim.epsilon.0.get() && read.basis == "proved" && !is_refuted) {
        statements.push(Statement {
            what: "verdict",
            stated: one_line(&read.verdict),
            found: if is_known { "refuted" } else { "not a verdict of an audit" }.to_owned(),
            holds: false,
        });
    }
    match verdict(&read, &claim)?.filter(|_| found.is_some()) {
        Some(found) => statements.push(Statement {
            what: "verdict",
            stated: one_line(&read.verdict),
            holds: read.verdict == found,
            found: found.to_owned(),
        }),
        None => left.push("the verdict, because it depends on the whole claimed curve or on an assumption"),
    }
    Ok(told(&read, &statements, &left))
}

/// What the accountant proves of the claimed mechanism.
fn proof(read: &Certificate, claim: &Claim) -> Result<Option<f64>, Refusal> {
    let Some(spec) = &read.claim.mechanism else { return Ok(None) };
    let subject = Subject {
        mechanism: Mechanism::try_from(spec)?,
        adjacency: claim.adjacency,
        unit: PrivacyUnit::default(),
    };
    let found = account(&subject, Target::Delta(claim.delta), Choice::Best)?.epsilon.upper();
    Ok(found.map(|upper| upper.0.get()))
}

/// The bound and its ceiling, where they follow from counts: one threshold that was fixed, or chosen by other trials.
fn bound(read: &Certificate, claim: &Claim) -> Result<Option<(f64, f64)>, Refusal> {
    let count = |name: &str| read.counted[name].as_u64();
    let is_counts = read.method.bound == "clopper-pearson"
        && (read.method.threshold == "split" || read.method.threshold.starts_with("fixed:"));
    let counts = || {
        Some(Counts {
            true_positives: count("true_positives")?,
            false_negatives: count("false_negatives")?,
            false_positives: count("false_positives")?,
            true_negatives: count("true_negatives")?,
        })
    };
    let Some(counts) = counts().filter(|_| is_counts) else { return Ok(None) };
    let (group, significance) = (Count::new(read.method.group_size)?, Significance::new(read.significance)?);
    let shown = clopper_pearson::bound(counts, claim.delta, group, significance);
    Ok(Some((shown.epsilon.0.get(), shown.ceiling.get())))
}

/// The verdict that follows from bound, ceiling and claim, where nothing else was looked at.
fn verdict(read: &Certificate, claim: &Claim) -> Result<Option<&'static str>, Refusal> {
    if read.curve.is_some() || read.basis != "proved" {
        return Ok(None);
    }
    let (shown, ceiling) = (Epsilon::new(read.epsilon_lower.get()?)?, Epsilon::new(read.ceiling.get()?)?);
    Ok(Some(judge(claim, Lower(shown), ceiling).name()))
}

fn told(read: &Certificate, statements: &[Statement], left: &[&str]) -> Value {
    let failed = statements.iter().find(|one| !one.holds);
    let first = match failed {
        Some(one) => format!("invalid: {}, stated {}; found {}", one.what, one.stated, one.found),
        None => format!(
            "no contradiction found: {}, epsilon ≥ {} at delta {} observed, {} claimed   ({}; {})",
            one_line(&read.verdict),
            down(read.epsilon_lower.get().unwrap_or(0.0), 9),
            nearest(read.claim.delta, 17),
            nearest(read.claim.epsilon, 17),
            one_line(&read.claim.adjacency),
            one_line(&read.method.bound)
        ),
    };
    let checked = statements.iter().filter(|one| one.holds).map(|one| format!("recomputed: {}", one.what));
    let not = left.iter().map(|line| format!("not recomputed here: {line}"));
    let advice = format!(
        "the command line recomputes everything if the {} trials are next to the certificate",
        read.trials
    );
    let lines: Vec<String> = checked.chain(not).chain([advice]).collect();
    json!({
        "kind": "certificate",
        "stands": if failed.is_some() { json!(false) } else { Value::Null },
        "verdict": first,
        "lines": lines,
    })
}
