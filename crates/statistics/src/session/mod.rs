//! A session: questions about one table, each charged to one budget before it is answered.
//!
//! A question is planned (its noise, without a look at data), charged, and then answered from columns. [`Session::charge`] hands
//! out a [`ChargedQuestion`] question, which is answered once; so noise is never drawn again for free, and what fails after the charge
//! stays charged. The next question may depend on all answers so far: the budget is kept by a filter that is sound for that
//! ([`veracity_account::filter`]), fixed when the session opens:
//!
//! - without a δ, Laplace noise and the exponential mechanism; their ε add up (`Kind::Basic`);
//! - with one, Gaussian noise, whose μ² add up (`Kind::Gdp`), which is exact for it: n questions cost about √n, not n. Choices
//!   (quantiles) are charged to the same sum by the μ that covers them.
//!
//! Composing exactly what was asked is smaller or equal, and not sound for who adapts: it is information ([`Session::composed`]).

mod answered;
mod planned;

pub use answered::{AnsweredQuestion, Rows};
pub use planned::{Grouping, PlannedQuestion};

use crate::Persons;
use std::sync::{Mutex, MutexGuard, PoisonError};
use veracity_account::claims::{Choice, Subject, Target, account};
use veracity_account::filter::{Admission, Budget, Filter, Kind};
use veracity_core::{Adjacency, Delta, GdpMu, Mechanism, PrivacyUnit, Refusal};
use veracity_mechanisms::{NoiseKind, Statistic};
use veracity_noise::{Entropy, Key, NoiseStream, Purpose};

/// What of the budget's δ is set aside for the far tails of discrete Gaussian noise, 1e-100 for each noise call.
const RESERVE: f64 = 1e-6;

/// All that is fixed when a session opens.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionSettings {
    /// What all answers may leak together.
    pub budget: Budget,
    /// Which tables must look alike.
    pub adjacency: Adjacency,
    /// How rows belong to people; by default, each is for itself.
    pub persons: Option<Persons>,
    /// What the data are called in claims.
    pub dataset: String,
    /// Draw from a seed, to repeat a test: answers are then not for release.
    pub seed: Option<u64>,
}

/// One budget, and what was asked of it. It may be shared among threads; no two of them can overdraw it.
#[derive(Debug)]
pub struct Session {
    settings: SessionSettings,
    spending: Mutex<Spending>,
    entropy: Entropy,
    /// Where it was opened: a forked copy would spend the same budget again.
    process: u32,
}

#[derive(Debug)]
struct Spending {
    filter: Filter,
    asked: Vec<Mechanism>,
}

/// A question that was charged and may be answered once.
#[derive(Debug)]
pub struct ChargedQuestion {
    planned: PlannedQuestion,
    /// Which question of the session it is, from 0.
    number: u64,
}

impl ChargedQuestion {
    /// What it does to whose data.
    pub fn subject(&self) -> &Subject {
        self.planned.subject()
    }
}

/// A part of the budget, in the filter's own numbers and as one question would have it.
#[derive(Debug, Clone, PartialEq)]
pub struct Share {
    /// The ε at the budget's δ.
    pub epsilon: f64,
    /// What adds up: ε, or μ².
    pub sum: f64,
    /// The most that `sum` can be.
    pub limit: f64,
}

impl Session {
    /// A session of which nothing is spent.
    ///
    /// # Errors
    /// Refuses people under another adjacency than add-remove, and a budget that no filter keeps.
    pub fn open(settings: SessionSettings) -> Result<Session, Refusal> {
        if settings.persons.is_some() && settings.adjacency != Adjacency::AddRemove {
            return Err(Refusal::no_theorem(
                "rows capped per person",
                settings.adjacency,
                "use add-remove, which adds or removes a person with all their rows",
            ));
        }
        let filter = filter(settings.budget, settings.adjacency)?;
        let entropy = settings.seed.map_or_else(Entropy::system, |seed| Ok(Entropy::seeded(seed)))?;
        let spending = Mutex::new(Spending { filter, asked: Vec::new() });
        Ok(Session { settings, spending, entropy, process: std::process::id() })
    }

    /// What was fixed when it opened.
    pub fn settings(&self) -> &SessionSettings {
        &self.settings
    }

    /// The noise that costs this session least.
    pub fn noise_for(&self, statistic: &Statistic) -> NoiseKind {
        match statistic {
            // A quantile is chosen.
            Statistic::Quantile { .. } => NoiseKind::Laplace,
            _ if self.settings.budget.delta.get() == 0.0 => NoiseKind::Laplace,
            _ => NoiseKind::Gaussian,
        }
    }

    /// Charges a question, or refuses and leaves everything as it was.
    ///
    /// # Promise    All answers together are private within the budget, however each question was chosen from earlier answers
    /// # Reference  The theorems of [`veracity_account::filter`]
    ///
    /// # Errors
    /// Refuses a question that exceeds the budget, and every question in a copy of the process that opened the session.
    pub fn charge(&self, planned: PlannedQuestion) -> Result<ChargedQuestion, Refusal> {
        self.must_be_here()?;
        let question = planned.subject().question();
        let mut spending = self.spending();
        match spending.filter.admits(&question)? {
            Admission::Granted(_) => {
                spending.filter.charge(&question)?;
                spending.asked.push(question.mechanism);
                Ok(ChargedQuestion { planned, number: spending.asked.len() as u64 - 1 })
            }
            Admission::Denied { cost, left } => {
                let limit = spending.filter.limit().sum;
                drop(spending);
                let share = |sum, end| self.share(sum, limit, end).map(|share| share.epsilon);
                let (cost, left) = (share(cost.sum, End::Upper)?, share(left.sum, End::Lower)?);
                Err(Refusal::OverBudget(format!(
                    "over budget: this query costs epsilon {cost:.4}, but only {left:.4} is left; use a \
                     smaller epsilon or another budget"
                )))
            }
        }
    }

    /// What was spent, rounded up: the ε of a single question that would have cost as much.
    ///
    /// # Errors
    /// Returns the refusal of the accountant.
    pub fn spent(&self) -> Result<Share, Refusal> {
        let (spent, _, limit) = self.amounts();
        self.share(spent, limit, End::Upper)
    }

    /// What is left, rounded down: the ε of a question that still fits.
    ///
    /// # Errors
    /// Returns the refusal of the accountant.
    pub fn remaining(&self) -> Result<Share, Refusal> {
        let (_, left, limit) = self.amounts();
        self.share(left, limit, End::Lower)
    }

    /// All that was asked, as one mechanism: nothing before the first question.
    pub fn composed(&self) -> Option<Subject> {
        let asked = self.spending().asked.clone();
        if asked.is_empty() {
            return None;
        }
        let mechanism = Mechanism::Composed(asked);
        Some(Subject { mechanism, adjacency: self.settings.adjacency, unit: self.unit().ok()? })
    }

    /// By which theorem the budget is kept.
    pub fn kind(&self) -> Kind {
        self.spending().filter.kind().clone()
    }

    /// What is protected.
    pub(crate) fn unit(&self) -> Result<PrivacyUnit, Refusal> {
        PrivacyUnit::new(if self.settings.persons.is_some() { "person" } else { "row" })
    }

    /// The noise of one question. Of the system's, each question has entropy of its own, so that none repeats another.
    fn noise(&self, number: u64) -> Result<NoiseStream, Refusal> {
        match self.settings.seed {
            None => NoiseStream::system(Purpose::Noise),
            Some(_) => {
                let key = Key { run: number, ..Key::default() };
                Ok(NoiseStream::new(self.entropy.stream(Purpose::Noise, key)))
            }
        }
    }

    /// A copy of the process has a copy of what was spent: both together could spend the budget twice.
    fn must_be_here(&self) -> Result<(), Refusal> {
        if std::process::id() == self.process {
            return Ok(());
        }
        Err(Refusal::invalid(
            "this session belongs to another process, and a copy would spend its budget twice; open a \
             session in this process",
        ))
    }

    /// What was spent, what is left, and the limit.
    fn amounts(&self) -> (f64, f64, f64) {
        let filter = &self.spending().filter;
        (filter.spent().sum, filter.left().sum, filter.limit().sum)
    }

    /// It is whole at all times: a thread that held it and panicked had not changed it, or had charged.
    fn spending(&self) -> MutexGuard<'_, Spending> {
        self.spending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A part of the budget, with the ε at the budget's δ of a single question of this cost.
    fn share(&self, sum: f64, limit: f64, end: End) -> Result<Share, Refusal> {
        // The rounding of a limit leaves nothing to ask for.
        let is_nothing = sum == 0.0 || end == End::Lower && sum < 1e-9 * limit;
        let epsilon = if is_nothing { 0.0 } else { self.epsilon_of(sum, end)? };
        Ok(Share { epsilon, sum, limit })
    }

    fn epsilon_of(&self, sum: f64, end: End) -> Result<f64, Refusal> {
        if self.settings.budget.delta.get() == 0.0 {
            return Ok(sum);
        }
        let mu = match end {
            End::Upper => sum.sqrt().next_up(),
            // What the limit of a smaller budget loses by its reserve and its rounding.
            End::Lower => sum.sqrt() * (1.0 - 1e-6),
        };
        let mechanism = Mechanism::Gdp { mu: GdpMu::new(mu)? };
        let subject = Subject { mechanism, adjacency: self.settings.adjacency, unit: self.unit()? };
        let answer = account(&subject, Target::Delta(self.settings.budget.delta), Choice::Best)?;
        let upper = answer.epsilon.upper().map_or(f64::INFINITY, |upper| upper.0.get());
        Ok(match end {
            End::Upper => upper,
            End::Lower => answer.epsilon.lower().map_or(0.0, |lower| lower.0.get()).min(upper),
        })
    }
}

/// A filter of the kind that sessions have, of which nothing is spent.
fn filter(budget: Budget, adjacency: Adjacency) -> Result<Filter, Refusal> {
    let delta = budget.delta.get();
    let kind = match delta > 0.0 {
        true => Kind::Gdp { reserve: Delta::new(RESERVE * delta)? },
        false => Kind::Basic { each: Delta::ZERO },
    };
    Filter::new(kind, budget, adjacency)
}

/// Which side a number is rounded to.
#[derive(Debug, Clone, Copy, PartialEq)]
enum End {
    Upper,
    Lower,
}

#[cfg(test)]
mod tests;
