//! Where a ledger stands: what was spent and what is left, in the rule's own numbers and as one (ε, δ).

use crate::{Hash, Ledger, Rule, amounts, request, rows, store};
use rusqlite::Connection;
use veracity_account::{
    Question, best,
    filter::{Amounts, Budget, Filter},
};
use veracity_core::{Adjacency, Count, Delta, Error, GdpMu, Mechanism, Refusal};

/// Why the exact composition is not what decides.
pub const NOT_THE_RULE: &str = "information only: composing what was asked and comparing with the budget is not sound when later \
                                questions depend on earlier answers";
/// The most different questions that are composed to show what they leak together.
const MOST_KINDS: usize = 200;
/// What a single question loses against a pool of its size by the rounding of its own noise.
const SLACK: f64 = 1e-6;

/// A part of the budget.
#[derive(Debug, Clone, PartialEq)]
pub struct Share {
    /// The ε of the whole part, at `delta`. Of what was spent, rounded up; of what is left, rounded down.
    pub epsilon: f64,
    /// The δ that `epsilon` is for.
    pub delta: f64,
    /// What adds up by the rule: ε, or μ².
    pub sum: f64,
    /// The most that it can be.
    pub limit: f64,
    /// What of the pool of δ it is.
    pub delta_pool: f64,
    /// The most that it can be.
    pub delta_limit: f64,
    /// Uses of each slot of a product.
    pub slots: Vec<u64>,
}

/// One analyst's part.
#[derive(Debug, Clone, PartialEq)]
pub struct AnalystStatus {
    /// Who.
    pub name: String,
    /// The cap.
    pub cap: Budget,
    /// What was spent of it.
    pub spent: Share,
    /// What is left of it.
    pub remaining: Share,
}

/// What was charged, composed exactly.
#[derive(Debug, Clone, PartialEq)]
pub struct Composed {
    /// Its ε at the budget's δ, rounded up; nothing where it is not known.
    pub epsilon: Option<f64>,
    /// Why it is not known.
    pub reason: Option<String>,
}

/// Where a ledger stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Status {
    /// What was spent.
    pub spent: Share,
    /// What is left.
    pub remaining: Share,
    /// How many questions were charged.
    pub reserved: u64,
    /// How many of them were answered.
    pub answered: u64,
    /// How many of them were abandoned.
    pub abandoned: u64,
    /// Each analyst's part.
    pub analysts: Vec<AnalystStatus>,
    /// What was charged, composed exactly: see [`NOT_THE_RULE`].
    pub composed: Composed,
    /// The last hash of the chain.
    pub head: Hash,
}

impl Ledger {
    /// Where it stands now.
    pub fn status(&self) -> Result<Status, Error> {
        let connection = self.connection()?;
        let reading = store::look(&connection, self.path())?;
        let failed = |error| self.failed(error);
        let last = rows::last(&reading).map_err(failed)?;
        let spent = match &last {
            None => amounts::nothing(&self.limits()[0]),
            Some(row) => row.spent().ok_or_else(|| self.damaged(row.number))?,
        };
        let head = match &last {
            None => self.first(),
            Some(row) => Hash::from_bytes(&row.hash).ok_or_else(|| self.damaged(row.number))?,
        };
        let whole = self.filter(0, spent)?;
        let count = |kind: &str| {
            let sql = "SELECT COUNT(*) FROM record WHERE kind = ?1";
            let counted = reading.query_row(sql, [kind], |row| row.get::<_, i64>(0)).map_err(failed)?;
            u64::try_from(counted).map_err(|_| self.damaged(counted))
        };
        let rule = &self.terms().rule;
        Ok(Status {
            spent: spent_of(rule, &whole)?,
            remaining: left_of(rule, &whole)?,
            reserved: count("reserved")?,
            answered: count("answered")?,
            abandoned: count("abandoned")?,
            analysts: self.analysts(&reading)?,
            composed: self.composed(&reading)?,
            head,
        })
    }

    fn analysts(&self, from: &Connection) -> Result<Vec<AnalystStatus>, Error> {
        let mut all = Vec::new();
        for (at, (name, cap)) in self.terms().analysts.iter().enumerate() {
            let spent = match rows::last_of(from, name).map_err(|error| self.failed(error))? {
                None => amounts::nothing(&self.limits()[at + 1]),
                Some(row) => {
                    let spent = row.share_spent.as_deref().and_then(amounts::read);
                    spent.ok_or_else(|| self.damaged(row.number))?
                }
            };
            let filter = self.filter(at + 1, spent)?;
            // Beside a product a cap counts as the usual rule does.
            let rule = match &self.terms().rule {
                Rule::Product { .. } => Rule::usual(*cap)?,
                other => other.clone(),
            };
            let (spent, remaining) = (spent_of(&rule, &filter)?, left_of(&rule, &filter)?);
            all.push(AnalystStatus { name: name.clone(), cap: *cap, spent, remaining });
        }
        Ok(all)
    }

    /// All that was charged, as one question.
    fn composed(&self, from: &Connection) -> Result<Composed, Error> {
        let failed = |error| self.failed(error);
        let unknown = |reason: String| Composed { epsilon: None, reason: Some(reason) };
        let sql = "SELECT question, COUNT(*), MIN(number) FROM record WHERE kind = 'reserved' GROUP BY question LIMIT ?1";
        let mut query = from.prepare(sql).map_err(failed)?;
        let kinds = query.query_map([MOST_KINDS as i64 + 1], |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(2)?))
        });
        let kinds: Vec<_> = kinds.map_err(failed)?.collect::<rusqlite::Result<_>>().map_err(failed)?;
        if kinds.is_empty() {
            return Ok(Composed { epsilon: Some(0.0), reason: None });
        }
        if kinds.len() > MOST_KINDS {
            return Ok(unknown(format!("more than {MOST_KINDS} different questions were charged")));
        }
        let mut parts = Vec::new();
        for (text, times, number) in kinds {
            let question = request::question_from(&text).ok_or_else(|| self.damaged(number))?;
            let times = u64::try_from(times).map_err(|_| self.damaged(number))?;
            parts.push(question.mechanism.repeated(Count::new(times)?));
        }
        let question = Question { mechanism: Mechanism::Composed(parts), adjacency: self.terms().adjacency };
        Ok(match best::epsilon_at(&question, self.terms().budget.delta) {
            Err(refusal) => unknown(refusal.to_string()),
            Ok(found) => match found.finding.upper().map(|upper| upper.0.get()) {
                Some(epsilon) if epsilon.is_finite() => Composed { epsilon: Some(epsilon), reason: None },
                Some(_) | None => unknown("no finite epsilon is certified at the budget's delta".to_owned()),
            },
        })
    }
}

/// What was spent, rounded up. However it was chosen, it is within the budget: that is what the filter promises.
fn spent_of(rule: &Rule, filter: &Filter) -> Result<Share, Refusal> {
    let spent = filter.spent();
    let budget = filter.budget();
    let share = |epsilon: f64, delta: f64| share(filter, spent, epsilon, delta);
    if *rule == Rule::Sum {
        return Ok(share(spent.sum, spent.delta));
    }
    let (most, delta) = (budget.epsilon.get(), budget.delta.get());
    // What came out of the pool of δ is not there for the rest: to tell all with probability r leaves r + (1 − r) d ≤ r + d.
    let rest = if spent.delta > 0.0 { (delta - spent.delta).next_down() } else { delta };
    match (product(rule, spent, f64::next_up, filter.adjacency())?, Delta::new(rest)) {
        (None, _) => Ok(share(0.0, spent.delta)),
        (Some(_), Err(_)) => Ok(share(most, delta)),
        (Some(question), Ok(rest)) => {
            let found = best::epsilon_at(&question, rest).ok();
            let upper = found.and_then(|found| found.finding.upper()).map(|upper| upper.0.get());
            Ok(share(upper.map_or(most, |upper| upper.min(most)), delta))
        }
    }
}

/// What is left, rounded down.
fn left_of(rule: &Rule, filter: &Filter) -> Result<Share, Refusal> {
    let left = filter.left();
    let budget = filter.budget();
    let share = |epsilon: f64, delta: f64| share(filter, &left, epsilon, delta);
    if *rule == Rule::Sum {
        return Ok(share(left.sum, left.delta));
    }
    match product(rule, &left, |mu| mu * (1.0 - SLACK), filter.adjacency())? {
        None => Ok(share(0.0, budget.delta.get())),
        Some(question) => {
            let found = best::epsilon_at(&question, budget.delta).ok();
            let lower = found.and_then(|found| found.finding.lower()).map_or(0.0, |lower| lower.0.get());
            Ok(share(lower.min(budget.epsilon.get()), budget.delta.get()))
        }
    }
}

fn share(filter: &Filter, part: &Amounts, epsilon: f64, delta: f64) -> Share {
    Share {
        epsilon,
        delta,
        sum: part.sum,
        limit: filter.limit().sum,
        delta_pool: part.delta,
        delta_limit: filter.limit().delta,
        slots: part.slots.clone(),
    }
}

/// The pool of Gaussian noise and the slots as one question; nothing where there is nothing in them.
fn product(
    rule: &Rule,
    part: &Amounts,
    round: impl Fn(f64) -> f64,
    adjacency: Adjacency,
) -> Result<Option<Question>, Refusal> {
    let mut factors = Vec::new();
    let mu = if part.sum > 0.0 { round(part.sum.sqrt()) } else { 0.0 };
    if mu > 0.0 {
        factors.push(Mechanism::Gdp { mu: GdpMu::new(mu)? });
    }
    if let Rule::Product { slots, .. } = rule {
        for ((mechanism, _), used) in slots.iter().zip(&part.slots).filter(|(_, used)| **used > 0) {
            factors.push(mechanism.clone().repeated(Count::new(*used)?));
        }
    }
    let is_empty = factors.is_empty();
    Ok((!is_empty).then_some(Question { mechanism: Mechanism::Composed(factors), adjacency }))
}
