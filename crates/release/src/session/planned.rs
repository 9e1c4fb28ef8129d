//! A question with the least noise within its ε. No data were seen.

use super::Session;
use std::collections::HashSet;
use veracity_account::calibrate;
use veracity_claims::{Answer, Choice, ClaimFile, Subject, Target, account};
use veracity_core::{Adjacency, Count, Epsilon, Mechanism, NoiseMultiplier, Refusal};
use veracity_query::{Design, Question, Statistic};

/// The ε of a question, as of a release.
const RANGE: std::ops::RangeInclusive<f64> = 1e-9..=1000.0;
/// The most groups.
const MOST_GROUPS: usize = 1_000_000;

/// Groups of rows: those whose text in a column is a key. Keys are public; every one of them is answered, whether it occurs or not.
#[derive(Debug, Clone, PartialEq)]
pub struct Grouping {
    column: String,
    keys: Vec<String>,
}

impl Grouping {
    /// Checks that there are keys, all different.
    pub fn new(column: &str, keys: Vec<String>) -> Result<Grouping, Refusal> {
        if !(1..=MOST_GROUPS).contains(&keys.len()) {
            return Err(Refusal::out_of_range("keys", keys.len(), "1 to 10^6 of them"));
        }
        if keys.iter().collect::<HashSet<_>>().len() < keys.len() {
            return Err(Refusal::out_of_range("keys", "repeated", "keys that all differ"));
        }
        Ok(Grouping { column: column.to_owned(), keys })
    }

    /// The column that says which group a row is in.
    pub fn column(&self) -> &str {
        &self.column
    }

    /// The groups.
    pub fn keys(&self) -> &[String] {
        &self.keys
    }
}

/// A question that is ready to be charged: its noise, its certified cost, its promise in writing.
#[derive(Debug, Clone)]
pub struct Planned {
    pub(super) designs: Vec<Design>,
    pub(super) column: Option<String>,
    pub(super) grouping: Option<Grouping>,
    pub(super) claim: ClaimFile,
    subject: Subject,
    answer: Answer,
}

impl Planned {
    /// What it does to whose data.
    pub fn subject(&self) -> &Subject {
        &self.subject
    }

    /// What it leaks by itself.
    pub fn answer(&self) -> &Answer {
        &self.answer
    }
}

impl Session {
    /// Finds the least noise with which these statistics of one column together are within ε, at the δ of the session; in each group
    /// where there are groups.
    ///
    /// # Promise  Groups are disjoint, so a row moves the answers of one of them. A person's K rows may be in several: noise is added
    /// to each number by itself and its law is log-concave, so K rows in several groups are a chain of steps that tells no more
    /// than as many steps in one (a shift of a log-concave law is what its chain of shifts is); ranges of choices add up
    pub fn plan(
        &self,
        statistics: &[Statistic],
        column: Option<&str>,
        grouping: Option<Grouping>,
        epsilon: Epsilon,
    ) -> Result<Planned, Refusal> {
        let settings = self.settings();
        if !RANGE.contains(&epsilon.get()) {
            return Err(Refusal::out_of_range("epsilon", epsilon, "1e-9 ≤ epsilon ≤ 1000 for a question"));
        }
        if column.is_none() && statistics.iter().any(|one| *one != Statistic::Count) {
            return Err(Refusal::invalid("column is missing, expected its name"));
        }
        if grouping.is_some() && settings.adjacency != Adjacency::AddRemove {
            // How many rows a group has is private, even where their whole number is not.
            return Err(Refusal::no_theorem("groups", settings.adjacency, "use add-remove"));
        }
        let delta = settings.budget.delta;
        let noise = calibrate::least_noise(
            &|noise| self.charged(&self.designs(statistics, noise)?),
            settings.adjacency,
            epsilon,
            delta,
        )?;
        let designs = self.designs(statistics, noise)?;
        let mechanism = self.charged(&designs)?;
        let subject = Subject { mechanism, adjacency: settings.adjacency, unit: self.unit()? };
        let answer = account(&subject, Target::Delta(delta), Choice::Best)?;
        if !answer.epsilon.upper().is_some_and(|spent| spent.0 <= epsilon) {
            return Err(Refusal::NotCertified(format!(
                "no noise was certified within epsilon {epsilon}, expected a larger epsilon"
            )));
        }
        // The promise first: an answer whose promise cannot be written down is not given.
        let mut claim = ClaimFile::new(&subject, &answer)?;
        if let Some(persons) = &settings.persons {
            claim = claim.with_persons(persons.note());
        }
        Ok(Planned { designs, column: column.map(str::to_owned), grouping, claim, subject, answer })
    }

    fn designs(&self, statistics: &[Statistic], noise: NoiseMultiplier) -> Result<Vec<Design>, Refusal> {
        let adjacency = self.settings().adjacency;
        let design = |statistic: &Statistic| {
            let kind = self.noise_for(statistic);
            Question { statistic: statistic.clone(), adjacency }.design(kind, noise)
        };
        statistics.iter().map(design).collect()
    }

    /// What one unit is charged: all designs, for all rows that it may have.
    fn charged(&self, designs: &[Design]) -> Result<Mechanism, Refusal> {
        let each: Vec<Mechanism> = designs.iter().map(Design::mechanism).collect();
        let all = match <[Mechanism; 1]>::try_from(each) {
            Ok([only]) => only,
            Err(each) if each.is_empty() => {
                return Err(Refusal::invalid("nothing is asked, expected a statistic"));
            }
            Err(each) => Mechanism::Composed(each),
        };
        Ok(match &self.settings().persons {
            Some(persons) if persons.rows != Count::ONE => {
                Mechanism::Group { size: persons.rows, mechanism: Box::new(all) }
            }
            Some(_) | None => all,
        })
    }
}
