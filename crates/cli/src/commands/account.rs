//! `veracity account`: what a mechanism leaks.

use crate::{
    Outcome,
    args::AccountArgs,
    meaning,
    text::{self, Numbers},
};
use veracity::{
    AnswerFile, Choice, ClaimFile, CompareFile, Refusal, Row, Subject, Target, account, compare,
    report::{decimal, table},
};

/// Answers, compares or writes a claim.
pub fn run(args: &AccountArgs) -> Result<Outcome, Refusal> {
    let (mut mechanism, mut epsilon) = (args.mechanism.clone(), args.epsilon);
    meaning::claim_range(&args.kind, &mut mechanism, &mut epsilon);
    let subject = meaning::subject(&args.kind, &mechanism)?;
    let target = meaning::target(args.delta, epsilon)?;
    if args.compare {
        let rows = compare(&subject, target)?;
        return Outcome::done(match args.json {
            true => text::json(&CompareFile::new(&subject, &rows))?,
            false => tabulate(&subject, target, &rows),
        });
    }
    let choice = args.method.as_deref().map_or(Ok(Choice::Best), |name| name.parse().map(Choice::Only))?;
    let answer = account(&subject, target, choice)?;
    if let Some(path) = &args.claim {
        let claim = ClaimFile::new(&subject, &answer)?;
        text::write_record("claim", path, claim.to_json()?.as_bytes())?;
    }
    Outcome::done(match args.json {
        true => text::json(&AnswerFile::new(&subject, &answer))?,
        false => text::answer(&subject, &answer) + &note_adjacency(args, &subject),
    })
}

/// A default that is not the usual one is said aloud.
fn note_adjacency(args: &AccountArgs, subject: &Subject) -> String {
    let unusual = args.mechanism.adjacency.is_none() && args.kind == "randomized-response";
    if unusual {
        format!("adjacency {} is the default for randomized-response\n", subject.adjacency)
    } else {
        String::new()
    }
}

fn tabulate(subject: &Subject, target: Target, rows: &[Row]) -> String {
    let (asked, given) = match target {
        Target::Delta(delta) => ("epsilon", format!("delta {}", decimal::nearest(delta.get(), 17))),
        Target::Epsilon(epsilon) => ("delta", format!("epsilon {}", decimal::nearest(epsilon.get(), 17))),
    };
    let head = format!("{asked} at {given}   ({}, per {})\n\n", subject.adjacency, subject.unit.name());
    let lower = format!("{asked} ≥");
    let upper = format!("{asked} ≤");
    let body: Vec<[String; 5]> = rows.iter().map(|row| line(row, target)).collect();
    head + &table::align(["method", &lower, &upper, "ms", "standing"], &body)
}

fn line(row: &Row, target: Target) -> [String; 5] {
    let none = || "–".to_owned();
    let found = row.outcome.as_ref().map(|answer| match target {
        Target::Delta(_) => (text::numbers(&answer.epsilon, |x| x.get()), answer.epsilon.standing()),
        Target::Epsilon(_) => (text::numbers(&answer.delta, |x| x.get()), answer.delta.standing()),
    });
    let (lower, upper, standing) = match found {
        Ok((Numbers::Both(lower, upper), standing)) => {
            (decimal::down(lower, 7), decimal::up(upper, 7), standing.describe().to_owned())
        }
        Ok((Numbers::Above(upper), standing)) => {
            (none(), decimal::up(upper, 7), standing.describe().to_owned())
        }
        // Not in the column of bounds as a bare number: it is none.
        Ok((Numbers::Near(value), standing)) => {
            (none(), format!("≈ {}", decimal::nearest(value, 5)), standing.describe().to_owned())
        }
        Err(refusal) => (none(), none(), format!("–: {refusal}")),
    };
    [row.method.name().to_owned(), lower, upper, format!("{:.1}", row.took.as_secs_f64() * 1e3), standing]
}
