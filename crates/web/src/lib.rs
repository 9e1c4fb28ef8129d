//! The questions of the page: JSON in, JSON out, on the reader's own machine.
//!
//! [`ask`] reads a question, answers it, and writes words and numbers for the page to lay out. An error is one line. A [`Session`] keeps
//! an audit that is under way between questions. A browser calls all this through `abi`. Words and digits are those of the command
//! line: both take them from `veracity_account::claims`.
//!
//! ```
//! use veracity_web::{Session, ask};
//!
//! let question = r#"{"ask": "account", "delta": 1e-5, "subject": {"entries": [{"mechanism": {"kind": "gaussian", "noise_multiplier": 1}}]}}"#;
//! let answer = ask(&mut Session::default(), question);
//! assert!(answer.contains(r#""number":"4.377"#), "{answer}");
//! ```

#![warn(clippy::missing_errors_doc)]

mod abi;
mod audit;
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
use question::{AccountQuestion, Question};
use serde_json::{Value, json};
use veracity_account::claims::{
    Choice, Refusal, Subject, Target, account,
    calibration::{self, Solved},
    explain, words,
};
use veracity_core::decimal::up;

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
            None => Err(Refusal::Invalid("no audit is running; start one".into())),
        },
    }
}

/// An answer in words, and the numbers behind them.
fn answered(subject: &Subject, answer: &veracity_account::claims::Answer) -> Result<Value, Refusal> {
    let words = words::answer::answer(subject, answer);
    Ok(json!({
        "text": words.to_string(),
        "asked": words.asked,
        "relation": words.relation,
        "number": words.number,
        "given": words.given,
        "conditions": words.conditions,
        "standing": words.standing,
        "fallback": words.fallback,
        "lower": answer.lower(),
        "upper": answer.upper(),
        "method": answer.method.name(),
        "describes": subject.describe(),
        "cautions": cautions(subject, answer),
    }))
}

/// Above this δ a caution is shown. The page does not know how many people there are: 1/n is smaller for more than a thousand.
const LARGE_DELTA: f64 = 1e-3;

/// What a reader could believe that is not so: how batches must be drawn, and a δ that lets whole records be published.
fn cautions(subject: &Subject, answer: &veracity_account::claims::Answer) -> Vec<String> {
    let batches = subject.assumed_batches().map(|batches| format!("Assumes {batches}."));
    let delta = match answer.target {
        Target::Delta(delta) => delta.get(),
        Target::Epsilon(_) => answer.delta.upper().map_or(0.0, |upper| upper.0.get()),
    };
    let large = (delta > LARGE_DELTA).then(|| {
        format!(
            "A delta of {} lets a mechanism publish a person's whole record with that probability. Use a delta far below 1/n for n people.",
            up(delta, 3)
        )
    });
    batches.into_iter().chain(large).collect()
}

fn row(method: &str, outcome: Result<&veracity_account::claims::Answer, &Refusal>) -> Value {
    let words = words::comparison::row(outcome);
    json!({ "method": method, "lower": words.lower, "upper": words.upper, "standing": words.standing })
}

fn explained(asked: &AccountQuestion, priors: &[veracity_core::Probability]) -> Result<Value, Refusal> {
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
