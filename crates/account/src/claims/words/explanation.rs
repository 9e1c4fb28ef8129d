//! Explains a guarantee in plain language, for the people whose data it protects.

use super::table;
use crate::claims::{Adjacency, Delta, Epsilon, Explanation, Promise};
use crate::gdp;
use std::fmt;
use veracity_core::decimal;

/// The meaning of a guarantee, in paragraphs and one table. `Display` puts an empty line between them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExplanationWords {
    /// The (ε, δ) and its conditions.
    pub headline: String,
    /// By which factor probabilities can change.
    pub odds: String,
    /// How often the best attack is right.
    pub advantage: String,
    /// Introduces the table.
    pub found: String,
    /// The column headers of the table.
    pub columns: [String; 3],
    /// False-positive rate, maximum true-positive rate, updated belief.
    pub rows: Vec<[String; 3]>,
    /// Guarantees for groups; the first line is a sentence.
    pub groups: String,
    /// A comparison with Gaussian noise; empty if there is none.
    pub yardstick: String,
}

impl fmt::Display for ExplanationWords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let table = table::align(self.columns.each_ref().map(String::as_str), &self.rows);
        let ExplanationWords { headline, odds, advantage, found, groups, yardstick, .. } = self;
        write!(f, "{headline}\n{odds}\n{advantage}\n{found}\n{table}\n{groups}\n{yardstick}")
    }
}

/// Explains a guarantee: its headline, the odds, the best attack, being found, groups and a yardstick.
pub fn explanation(explanation: &Explanation) -> ExplanationWords {
    let (found, columns, rows) = attacks(explanation);
    ExplanationWords {
        headline: headline(explanation),
        odds: odds(explanation),
        advantage: advantage(explanation),
        found,
        columns,
        rows,
        groups: groups(explanation),
        yardstick: yardstick(explanation),
    }
}

/// The μ of Gaussian differential privacy that has the same δ at the same ε.
fn yardstick(explanation: &Explanation) -> String {
    let Promise { epsilon, delta } = explanation.promise;
    let mu = match (Epsilon::new(epsilon), Delta::new(delta)) {
        (Ok(epsilon), Ok(delta)) if delta.get() > 0.0 => gdp::mu_at(epsilon, delta),
        _ => return String::new(),
    };
    format!(
        "Yardstick. At this epsilon and delta it reveals as much as one answer with Gaussian noise of {} times\n\
         the change that one {} makes (mu = {}).\n",
        decimal::nearest(1.0 / mu, 4),
        explanation.unit.name(),
        decimal::nearest(mu, 4)
    )
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
        Some(Adjacency::ReplaceOne) => format!("with any other value in place of your {unit}"),
        Some(Adjacency::ZeroOut) => format!("with your {unit} blanked"),
        Some(Adjacency::AddRemove) => "without it".to_owned(),
        None => "without it (or with it changed, as the guarantee says)".to_owned(),
    };
    let (times, beyond) = factor(epsilon);
    if delta == 0.0 {
        return format!(
            "Odds. Whatever is published is at most {times} times as likely with your {unit} as\n\
             {other}, and the other way round: no one's odds about you\n\
             move by more than that factor because of your {unit}.\n{beyond}"
        );
    }
    format!(
        "Odds. Any event (a published result, or any set of them) is at most {times} times as likely\n\
         with your {unit} as {other},\n\
         plus {} in absolute probability; and the other way round.\n{beyond}",
        decimal::up(delta, 3)
    )
}

/// e^ε as a number if it is finite, and a remark if it is not.
fn factor(epsilon: f64) -> (String, &'static str) {
    match epsilon.exp() {
        times if times.is_finite() => (decimal::up(times, 4), ""),
        _ => (
            format!("e^{}", decimal::up(epsilon, 6)),
            "That factor has more than 300 digits, so the guarantee is meaningless.\n",
        ),
    }
}

fn advantage(explanation: &Explanation) -> String {
    let correct = 0.5 + explanation.advantage / 2.0;
    format!(
        "Best attack. Someone who knows all the other data and has to distinguish the two cases,\n\
         each as likely as the other, is right at most {} of the time; blind guessing is right\n\
         50% of the time. Advantage (true-positive minus false-positive rate): at most {}.\n",
        percent(correct),
        decimal::up(explanation.advantage, 4)
    )
}

fn attacks(explanation: &Explanation) -> (String, [String; 3], Vec<[String; 3]>) {
    let rows: Vec<[String; 3]> = explanation
        .attacks
        .iter()
        .map(|attack| {
            let posteriors: Vec<String> = attack.posteriors.iter().map(|pair| percent(pair.1)).collect();
            [percent(attack.false_positive_rate), percent(attack.true_positive_rate), posteriors.join(" or ")]
        })
        .collect();
    let first = explanation.attacks.first();
    let priors = first.into_iter().flat_map(|attack| &attack.posteriors).map(|pair| percent(pair.0));
    let head = format!("belief of {} becomes, at most", priors.collect::<Vec<_>>().join(" or "));
    let (outside, inside) = match explanation.adjacency {
        Some(Adjacency::AddRemove) | None => ("are not in the data", "are"),
        Some(Adjacency::ReplaceOne) => ("gave another value", "gave the value it looks for"),
        Some(Adjacency::ZeroOut) => ("are blanked", "are not"),
    };
    let found = format!(
        "Being found. However clever, an attack that wrongly accuses a given fraction of the people who\n\
         {outside} (false-positive rate) finds at most this fraction of those who {inside}\n\
         (true-positive rate). When it accuses, a belief held beforehand grows to at most this:\n"
    );
    (found, ["wrongly accused".to_owned(), "found, at most".to_owned(), head], rows)
}

fn groups(explanation: &Explanation) -> String {
    let lines = explanation.groups.iter().map(|group| {
        let how = group.method.map_or("from epsilon and delta alone".to_owned(), |method| method.to_string());
        match group.promise {
            Some(Promise { epsilon, delta }) => format!(
                "  {} together: epsilon ≤ {} at delta {}   ({how})\n",
                group.size,
                decimal::up(epsilon, 6),
                decimal::up(delta, 3)
            ),
            None => format!("  {} together: no guarantee   ({how})\n", group.size),
        }
    });
    let first =
        "Groups. Several records that change together (yours, or a family's) have a weaker guarantee:\n"
            .to_owned();
    std::iter::once(first).chain(lines).collect()
}

/// A fraction as a percentage, rounded up.
fn percent(share: f64) -> String {
    format!("{}%", decimal::up((share * 100.0).min(100.0), 4))
}
