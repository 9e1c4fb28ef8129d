//! `veracity account`: computes ε or δ of a mechanism, or of all releases of some claims together.

use crate::{Outcome, args::AccountArgs, meaning, text};
use std::path::PathBuf;
use veracity::{
    AnswerFile, Choice, ClaimFile, CompareFile, Composed, Error, LONGEST_TEXT, Row, Subject, Target, account,
    compare, compose, decimal,
    saving::{create, must_be_new},
    words::{self, comparison::RowWords, table},
};

/// Answers, compares or writes a claim.
pub fn run(args: &AccountArgs) -> Result<Outcome, Error> {
    args.claim.as_ref().map_or(Ok(()), |path| must_be_new("claim", path))?;
    let Question { subject, target, composed } = asked(args)?;
    if args.compare {
        let rows = compare(&subject, target)?;
        return Outcome::done(match args.json {
            true => text::json(&CompareFile::new(&subject, &rows))?,
            false => tabulate(&subject, target, &rows),
        });
    }
    let choice = args.method.map_or(Choice::Best, Choice::Only);
    let answer = account(&subject, target, choice)?;
    if let Some(path) = &args.claim {
        let claim = ClaimFile::new(&subject, &answer)?;
        let written = claim.to_json()?;
        if written.len() as u64 > LONGEST_TEXT {
            return Err(Error::invalid(
                "claim is longer than 1 MiB, the limit of verify; use a banded strategy or fewer parts",
            ));
        }
        create("claim", path, written.as_bytes())?;
    }
    let file = AnswerFile::new(&subject, &answer);
    Outcome::done(match (args.json, &composed) {
        (true, Some(composed)) => text::json(&file.of_claims(composed))?,
        (true, None) => text::json(&file)?,
        (false, Some(composed)) => text::answer(&subject, &answer) + &of_claims(composed),
        (false, None) => {
            text::answer(&subject, &answer) + &text::assumption(&subject) + &note_adjacency(args, &subject)
        }
    })
}

/// A question, and the claims it is about.
struct Question {
    subject: Subject,
    target: Target,
    composed: Option<Composed>,
}

fn asked(args: &AccountArgs) -> Result<Question, Error> {
    let (mut mechanism, mut epsilon) = (args.mechanism.clone(), args.epsilon);
    if args.subject.iter().any(|one| meaning::is_claim(one)) {
        meaning::refuse_with_claims(&args.subject, &mechanism)?;
        let target = meaning::target(args.delta, epsilon)?;
        let places: Vec<PathBuf> = args.subject.iter().map(PathBuf::from).collect();
        let composed = compose(&places, args.dataset.as_deref())?;
        return Ok(Question { subject: composed.subject.clone(), target, composed: Some(composed) });
    }
    let [kind] = &args.subject[..] else {
        return Err(Error::invalid(format!(
            "{} mechanisms or plans are given; give one, or list several mechanisms in a plan",
            args.subject.len()
        )));
    };
    if args.dataset.is_some() {
        return Err(Error::invalid("--dataset can be used only with claim files"));
    }
    meaning::claim_range(kind, &mut mechanism, &mut epsilon);
    let subject = meaning::subject(kind, &mechanism)?;
    Ok(Question { subject, target: meaning::target(args.delta, epsilon)?, composed: None })
}

fn of_claims(composed: &Composed) -> String {
    let of = composed.dataset.as_ref().map_or(String::new(), |name| format!(" of {}", meaning::clean(name)));
    match composed.claims {
        1 => format!("1 claim{of}\n"),
        many => format!("{many} claims{of}, composed\n"),
    }
}

/// Notes a default adjacency that is not the usual one.
fn note_adjacency(args: &AccountArgs, subject: &Subject) -> String {
    let unusual = args.mechanism.adjacency.is_none() && args.subject == ["randomized-response"];
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
    let body: Vec<[String; 5]> = rows.iter().map(line).collect();
    head + &table::align(["method", &lower, &upper, "ms", "type"], &body)
}

fn line(row: &Row) -> [String; 5] {
    let RowWords { lower, upper, standing } = words::comparison::row(row.outcome.as_ref());
    [row.method.name().to_owned(), lower, upper, format!("{:.1}", row.took.as_secs_f64() * 1e3), standing]
}
