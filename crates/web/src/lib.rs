//! The questions of the page: JSON in, JSON out, on the reader's own machine.
//!
//! [`ask`] reads a question, has the rooms answer it, and writes words and numbers for the page to lay out; what is wrong with a
//! question is one line. A [`Session`] keeps the one thing that goes on between questions, an audit under way. `abi` is how a
//! browser calls all this. Words and digits are those of the command line, since both take them from the room of claims.
//!
//! ```
//! use veracity_web::{Session, ask};
//!
//! let question = r#"{"ask": "account", "delta": 1e-5, "subject": {"entries": [{"mechanism": {"kind": "gaussian", "noise_multiplier": 1}}]}}"#;
//! let answer = ask(&mut Session::default(), question);
//! assert!(answer.contains(r#""number":"4.377"#), "{answer}");
//! ```

mod abi;
pub mod audit;
mod certificate;
mod curves;
mod files;
#[cfg(not(target_arch = "wasm32"))]
mod page;
mod question;
#[cfg(not(target_arch = "wasm32"))]
pub mod serving;

#[cfg(not(target_arch = "wasm32"))]
pub use page::{PAGE, POLICY, PageFile};

use audit::LiveAudit;
use question::{Asked, Question};
use serde_json::{Value, json};
use veracity_claims::{
    Choice, Refusal, Subject, Target, account,
    calibration::{self, Solved},
    explain, words,
};

/// What goes on between questions.
#[derive(Debug, Default)]
pub struct Session {
    audit: Option<LiveAudit>,
}

/// Answers one question. Whatever the text, there is an answer: an object with `error`, one line, where there is no other.
pub fn ask(session: &mut Session, text: &str) -> String {
    let answer = question::parse(text).and_then(|question| answer(session, question));
    answer.unwrap_or_else(|refusal| json!({ "error": refusal.to_string() })).to_string()
}

fn answer(session: &mut Session, question: Question) -> Result<Value, Refusal> {
    match question {
        Question::Account { asked, method } => {
            let choice = method.map_or(Choice::Best, Choice::Only);
            let subject = asked.subject.subject()?;
            match (account(&subject, asked.target()?, choice), method) {
                // One of several methods that has no answer says why in its row.
                (outcome, Some(method)) => Ok(row(method.name(), outcome.as_ref())),
                (outcome, None) => answered(&subject, &outcome?),
            }
        }
        Question::Calibrate { subject, solve, epsilon, delta } => {
            let kind = subject.kind();
            let found = calibration::solve(&subject.subject()?, solve, epsilon, delta)?;
            let value = match found.solved {
                Solved::Noise(noise) => noise.get(),
                Solved::Steps(steps) => steps.as_f64(),
                Solved::SamplingRate(rate) => rate.get(),
            };
            Ok(json!({
                "found": words::calibration::setting(kind, &found, None),
                "value": value,
                "answer": answered(&found.subject, &found.answer)?,
            }))
        }
        Question::Explain { asked, priors } => explained(&asked, &priors),
        Question::Curves { subject, delta } => curves::curves(&subject.subject()?, delta),
        Question::Verify { text } => files::verify(&text),
        Question::Audit { order } => {
            let audit = LiveAudit::begin(&order)?;
            let state = audit.state();
            session.audit = Some(audit);
            Ok(state)
        }
        Question::Trials { trials } => match &mut session.audit {
            Some(audit) => audit.go_on(trials),
            None => Err(Refusal::Invalid("no audit is under way, expected one to be begun".into())),
        },
    }
}

/// An answer in words, and the numbers behind them.
fn answered(subject: &Subject, answer: &veracity_claims::Answer) -> Result<Value, Refusal> {
    let words = words::answer::answer(subject, answer);
    let (lower, upper) = match answer.target {
        Target::Delta(_) => {
            (answer.epsilon.lower().map(|x| x.0.get()), answer.epsilon.upper().map(|x| x.0.get()))
        }
        Target::Epsilon(_) => {
            (answer.delta.lower().map(|x| x.0.get()), answer.delta.upper().map(|x| x.0.get()))
        }
    };
    Ok(json!({
        "text": words.to_string(),
        "asked": words.asked,
        "relation": words.relation,
        "number": words.number,
        "given": words.given,
        "conditions": words.conditions,
        "standing": words.standing,
        "fallback": words.fallback,
        "lower": lower,
        "upper": upper,
        "method": answer.method.name(),
        "describes": subject.describe(),
    }))
}

fn row(method: &str, outcome: Result<&veracity_claims::Answer, &Refusal>) -> Value {
    let words = words::comparison::row(outcome);
    json!({ "method": method, "lower": words.lower, "upper": words.upper, "standing": words.standing })
}

fn explained(asked: &Asked, priors: &[veracity_core::Probability]) -> Result<Value, Refusal> {
    let words = words::explanation(&explain(&asked.subject.subject()?, asked.target()?, priors)?);
    Ok(json!({
        "text": words.to_string(),
        "headline": words.headline,
        "odds": words.odds,
        "advantage": words.advantage,
        "found": words.found,
        "columns": words.columns,
        "rows": words.rows,
        "groups": words.groups,
        "yardstick": words.yardstick,
    }))
}
