//! A question with the least noise within its ε. No data were seen.

use super::{Session, filter};
use crate::{
    Persons,
    least_noise::{certified, check_epsilon, none_certified, of_rows},
};
use std::{
    collections::HashSet,
    sync::{Arc, OnceLock},
};
use veracity_account::claims::{Answer, ClaimFile, PersonsNote, Subject};
use veracity_account::{
    Question as Asked, calibrate,
    filter::{Admission, Budget},
};
use veracity_core::{Adjacency, Count, Epsilon, Mechanism, NoiseMultiplier, Refusal};
use veracity_mechanisms::{Design, NoiseKind, Question, Statistic};

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
    ///
    /// # Errors
    /// Refuses no keys, more than 10^6, and a key that is there twice.
    pub fn new(column: &str, keys: Vec<String>) -> Result<Grouping, Refusal> {
        if !(1..=MOST_GROUPS).contains(&keys.len()) {
            return Err(Refusal::out_of_range("keys", keys.len(), "1 to 1,000,000 keys"));
        }
        if keys.iter().collect::<HashSet<_>>().len() < keys.len() {
            return Err(Refusal::out_of_range("keys", "repeated", "distinct keys"));
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

/// A question that is ready to be charged: its noise and its certified cost.
#[derive(Debug, Clone)]
pub struct PlannedQuestion {
    pub(super) designs: Vec<Design>,
    pub(super) column: Option<String>,
    pub(super) grouping: Option<Grouping>,
    subject: Subject,
    answer: Answer,
    /// The promise in writing, once somebody asked for it: its whole profile takes longer than the answer.
    claim: Arc<OnceLock<ClaimFile>>,
    persons: Option<PersonsNote>,
}

impl PlannedQuestion {
    /// What it does to whose data.
    pub fn subject(&self) -> &Subject {
        &self.subject
    }

    /// What it leaks by itself.
    pub fn answer(&self) -> &Answer {
        &self.answer
    }

    /// The promise in writing.
    pub(super) fn claim(&self) -> Result<ClaimFile, Refusal> {
        if let Some(claim) = self.claim.get() {
            return Ok(claim.clone());
        }
        let mut claim = ClaimFile::new(&self.subject, &self.answer)?;
        if let Some(persons) = &self.persons {
            claim = claim.with_persons(persons.clone());
        }
        Ok(self.claim.get_or_init(|| claim).clone())
    }
}

impl Session {
    /// Finds the least noise with which these statistics of one column together are within ε, at the δ of the session; in each group
    /// where there are groups.
    ///
    /// # Promise  Groups are disjoint, so a row moves the answers of one of them. A person's K rows may be in several: noise is added
    /// to each number by itself and its distribution is log-concave, so K rows in several groups are a chain of steps that tells no more
    /// than as many steps in one (a shift of a log-concave distribution is what its chain of shifts is); ranges of choices add up
    ///
    /// # Errors
    /// Refuses an ε out of range, a question without its column, groups under another adjacency than add-remove, and an ε that no noise
    /// keeps.
    pub fn plan(
        &self,
        statistics: &[Statistic],
        column: Option<&str>,
        grouping: Option<Grouping>,
        epsilon: Epsilon,
    ) -> Result<PlannedQuestion, Refusal> {
        let settings = self.settings();
        check_epsilon(epsilon, "1e-9 ≤ epsilon ≤ 1000 for a query")?;
        if column.is_none() && statistics.iter().any(|one| *one != Statistic::Count) {
            return Err(Refusal::invalid("the column is missing; name it"));
        }
        if grouping.is_some() && settings.adjacency != Adjacency::AddRemove {
            // How many rows a group has is private, even where their total is not.
            return Err(Refusal::no_theorem("groups", settings.adjacency, "use add-remove"));
        }
        let delta = settings.budget.delta;
        let (designs, subject, answer) = match self.near_gaussian(statistics, epsilon)? {
            Some(found) => found,
            None => {
                let family = |noise| self.charged(&self.designs(statistics, noise)?);
                let noise = calibrate::least_noise(&family, settings.adjacency, epsilon, delta)?;
                self.certified(statistics, noise, epsilon)?.ok_or_else(|| none_certified(epsilon))?
            }
        };
        let persons = settings.persons.as_ref().map(Persons::note);
        let (column, claim) = (column.map(str::to_owned), Arc::default());
        Ok(PlannedQuestion { designs, column, grouping, subject, answer, claim, persons })
    }

    /// The designs at a noise level, what they cost and leak, if that was certified to be within ε.
    fn certified(
        &self,
        statistics: &[Statistic],
        noise: NoiseMultiplier,
        epsilon: Epsilon,
    ) -> Result<Option<Certified>, Refusal> {
        let settings = self.settings();
        let designs = self.designs(statistics, noise)?;
        let mechanism = self.charged(&designs)?;
        let subject = Subject { mechanism, adjacency: settings.adjacency, unit: self.unit()? };
        let answer = certified(&subject, epsilon, settings.budget.delta)?;
        Ok(answer.map(|answer| (designs, subject, answer)))
    }

    /// Integer Gaussian noise a little wider than real noise would have to be, where that is certified, and where a budget of this ε
    /// alone would admit it: so a question of an ε costs no more of a session than its ε says. Integers cost the accountant a tenth
    /// of a second each time it looks, real numbers nothing.
    fn near_gaussian(
        &self,
        statistics: &[Statistic],
        epsilon: Epsilon,
    ) -> Result<Option<Certified>, Refusal> {
        let settings = self.settings();
        if statistics.iter().any(|one| self.noise_for(one) != NoiseKind::Gaussian) {
            return Ok(None);
        }
        let any = NoiseMultiplier::new(1.0)?;
        let calls: usize = self.designs(statistics, any)?.iter().map(|design| design.parts().len()).sum();
        let calls = Count::new(calls as u64)?;
        let real = |noise_multiplier| {
            let calls = Mechanism::Gaussian { noise_multiplier }.repeated(calls);
            Ok(self.for_unit(calls))
        };
        let real = calibrate::least_noise(&real, settings.adjacency, epsilon, settings.budget.delta)?;
        let alone = filter(Budget { epsilon, ..settings.budget }, settings.adjacency)?;
        for more in [1e-6, 1e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1] {
            let noise = NoiseMultiplier::new(real.get() * (1.0 + more))?;
            let mechanism = self.charged(&self.designs(statistics, noise)?)?;
            let question = Asked { mechanism, adjacency: settings.adjacency };
            match alone.admits(&question) {
                Ok(Admission::Granted(_)) => {}
                Ok(Admission::Denied { .. }) => continue,
                Err(Refusal::NoTheorem { .. }) => {
                    return Err(Refusal::out_of_range(
                        "epsilon",
                        epsilon,
                        "a larger epsilon, because noise this wide cannot be charged to a budget with a \
                         delta",
                    ));
                }
                Err(refusal) => return Err(refusal),
            }
            if let Some(found) = self.certified(statistics, noise, epsilon)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
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
                return Err(Refusal::invalid("no statistic is requested; name one, such as count or mean"));
            }
            Err(each) => Mechanism::Composed(each),
        };
        Ok(self.for_unit(all))
    }

    /// The mechanism for all rows that one unit may have.
    fn for_unit(&self, mechanism: Mechanism) -> Mechanism {
        of_rows(mechanism, self.settings().persons.as_ref().map_or(Count::ONE, |persons| persons.rows))
    }
}

/// What was certified at a noise level.
type Certified = (Vec<Design>, Subject, Answer);
