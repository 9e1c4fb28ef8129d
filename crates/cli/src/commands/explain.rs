//! `veracity explain`: a guarantee in words, for the people whose data it is.

use crate::{Outcome, args::ExplainArgs, meaning, text};
use veracity::{
    Adjacency, Delta, Epsilon, Explanation, ExplanationFile, PrivacyUnit, Promise, Refusal, explain,
    explain_promise,
    report::{decimal, table},
};

/// Explains a mechanism, or an (ε, δ) on its own.
pub fn run(args: &ExplainArgs) -> Result<Outcome, Refusal> {
    let priors = if args.prior.is_empty() { vec![0.01, 0.5] } else { args.prior.clone() };
    if let Some(prior) = priors.iter().find(|prior| !(**prior > 0.0 && **prior < 1.0)) {
        return Err(Refusal::out_of_range("prior", prior, "0 < prior < 1"));
    }
    let explanation = match &args.kind {
        Some(kind) => {
            let (mut mechanism, mut epsilon) = (args.mechanism.clone(), args.epsilon);
            meaning::claim_range(kind, &mut mechanism, &mut epsilon);
            let delta = args.delta.or(if epsilon.is_none() { Some(1e-5) } else { None });
            let target = meaning::target(delta, epsilon)?;
            explain(&meaning::subject(kind, &mechanism)?, target, &priors)?
        }
        None => from_promise(args, &priors)?,
    };
    Outcome::done(match args.json {
        true => text::json(&ExplanationFile::new(&explanation))?,
        false => in_words(&explanation),
    })
}

fn from_promise(args: &ExplainArgs, priors: &[f64]) -> Result<Explanation, Refusal> {
    let Some(epsilon) = args.epsilon else {
        return Err(Refusal::NoAnswer(
            "--epsilon is missing, expected KIND, or --epsilon with --delta".into(),
        ));
    };
    if epsilon.is_infinite() {
        return Err(Refusal::out_of_range("epsilon", epsilon, "a finite number ≥ 0"));
    }
    let unit = args.mechanism.unit.as_deref().map_or(Ok(PrivacyUnit::default()), PrivacyUnit::new)?;
    let promise = Promise {
        epsilon: Epsilon::new(epsilon)?.get(),
        delta: Delta::new(args.delta.unwrap_or(0.0))?.get(),
    };
    let mut explanation = explain_promise(promise, unit, priors);
    explanation.adjacency = args.mechanism.adjacency.as_deref().map(str::parse).transpose()?;
    Ok(explanation)
}

fn in_words(explanation: &Explanation) -> String {
    [
        headline(explanation),
        odds(explanation),
        advantage(explanation),
        attacks(explanation),
        groups(explanation),
    ]
    .join("\n")
}

fn headline(explanation: &Explanation) -> String {
    let Promise { epsilon, delta } = explanation.promise;
    let adjacency = explanation.adjacency.map_or(String::new(), |adjacency| format!("{adjacency}, "));
    let method = explanation.method.map_or("as given".to_owned(), |method| method.to_string());
    format!(
        "epsilon ≤ {} at delta {}   ({adjacency}per {}; {method})\n",
        decimal::up(epsilon, 6),
        decimal::up(delta, 6),
        explanation.unit.name()
    )
}

fn odds(explanation: &Explanation) -> String {
    let Promise { epsilon, delta } = explanation.promise;
    let unit = explanation.unit.name();
    let other = match explanation.adjacency {
        Some(Adjacency::ReplaceOne) => format!("with any other value of your {unit}"),
        Some(Adjacency::ZeroOut) => format!("with your {unit} blanked"),
        Some(Adjacency::AddRemove) => format!("without your {unit}"),
        None => format!("without your {unit} (or with it changed, as the guarantee defines it)"),
    };
    let times = decimal::up(epsilon.exp(), 4);
    if delta == 0.0 {
        return format!(
            "Odds: whatever is published was at most {times} times as likely with your {unit}\n\
             as {other}, and the other way round. No one's odds about you\n\
             move by more than that factor because of your {unit}.\n"
        );
    }
    format!(
        "Odds: anything that could be published, and any set of such things, is at most\n\
         {times} times as likely with your {unit} as {other},\n\
         plus {} in absolute probability; and the other way round.\n",
        decimal::up(delta, 3)
    )
}

fn advantage(explanation: &Explanation) -> String {
    let correct = 0.5 + explanation.advantage / 2.0;
    format!(
        "Best attack: someone who knows all the other data and must guess, from a fair coin toss,\n\
         which of the two it was, is right at most {} of the time (50% is blind guessing;\n\
         the advantage, true-positive minus false-positive rate, is at most {}).\n",
        percent(correct),
        decimal::up(explanation.advantage, 4)
    )
}

fn attacks(explanation: &Explanation) -> String {
    let priors: Vec<f64> = explanation
        .attacks
        .first()
        .map_or(Vec::new(), |attack| attack.posteriors.iter().map(|pair| pair.0).collect());
    let rows: Vec<[String; 3]> = explanation
        .attacks
        .iter()
        .map(|attack| {
            let posteriors: Vec<String> = attack.posteriors.iter().map(|pair| percent(pair.1)).collect();
            [percent(attack.false_positive_rate), percent(attack.true_positive_rate), posteriors.join(", ")]
        })
        .collect();
    let before: Vec<String> = priors.iter().map(|&prior| percent(prior)).collect();
    let head = format!("belief of {} becomes at most", before.join(", "));
    let unit = explanation.unit.name();
    format!(
        "An attack that wrongly accuses this share of those whose {unit} is not there, finds at most\n\
         this share of those whose {unit} is; and when it points at someone, a belief held before\n\
         becomes at most:\n\n{}",
        table::align(["wrongly accused", "found, at most", &head], &rows)
    )
}

fn groups(explanation: &Explanation) -> String {
    let unit = explanation.unit.name();
    let lines = explanation.groups.iter().map(|group| {
        let how =
            group.method.map_or("the rule for any (epsilon, delta)".to_owned(), |method| method.to_string());
        match group.promise {
            Some(Promise { epsilon, delta }) => format!(
                "  {} records of a {unit} together: epsilon ≤ {} at delta {}   ({how})\n",
                group.size,
                decimal::up(epsilon, 6),
                decimal::up(delta, 3)
            ),
            None => format!("  {} records together: no promise   ({how})\n", group.size),
        }
    });
    let first = format!("Groups: if several records are yours, or of people who act alike,\n");
    std::iter::once(first).chain(lines).collect()
}

/// A share, rounded up.
fn percent(share: f64) -> String {
    format!("{}%", decimal::up((share * 100.0).min(100.0), 4))
}
