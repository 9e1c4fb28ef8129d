//! The status of a ledger: what was spent and what is left, in the rule's own numbers and as one (ε, δ).

use crate::{Hash, Ledger, Rule, exact::Meter, ledger::Handle, request, store};
use rusqlite::Connection;
use veracity_account::{
    Question, best,
    filter::{Amounts, Budget, Filter},
};
use veracity_core::{Adjacency, Count, Delta, Error, GdpMu, Mechanism, Refusal};

/// Why the exact composition is not what decides.
pub const NOT_THE_RULE: &str = "information only: comparing the exact composition of past queries with the \
                                budget is not sound if later queries depend on earlier answers";
/// The most different questions that are composed to show what they leak together.
const MOST_KINDS: usize = 200;
/// What a single question loses against a pool of its size by the rounding of its own noise.
const SLACK: f64 = 1e-6;

/// A part of the budget.
#[derive(Debug, Clone, PartialEq)]
pub struct Share {
    /// The ε of one release that takes the whole part, at `delta`. Of what was spent, rounded up; of what is left, rounded down.
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
    /// The sum of pure ε under the rule `union`, infinite where something was not pure. Zero under other rules.
    pub pure: f64,
    /// The most that it can be. A request fits within it, or within all other limits.
    pub pure_limit: f64,
    /// Which part of the limits it is, from 0 to 1; under the rule `union`, of the limit of which less is used up.
    pub fraction: f64,
}

impl Share {
    /// Which part of the limits a cost is, from 0 to 1; under the rule `union`, of the limit of which it uses less.
    pub fn part(&self, cost: &Amounts) -> f64 {
        let part = |x: f64, limit: f64| if x > 0.0 { (x / limit).min(1.0) } else { 0.0 };
        let pools = part(cost.sum, self.limit).max(part(cost.delta, self.delta_limit));
        if self.pure_limit > 0.0 { pools.min(part(cost.pure, self.pure_limit)) } else { pools }
    }
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

/// The status of a ledger.
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
    ///
    /// # Errors
    /// Refuses a damaged chain.
    pub fn status(&self) -> Result<Status, Error> {
        let mut handle = self.handle()?;
        let Handle { opened, checked } = &mut *handle;
        // The file is held while it is read, and not while the accountant works.
        let (all, [reserved, answered, abandoned], kinds) = {
            let reading = store::look(&opened.connection, self.path())?;
            let all = self.checked(&reading, checked)?;
            let count = |kind: &str| -> Result<u64, Error> {
                let sql = "SELECT COUNT(*) FROM record WHERE kind = ?1";
                let counted = reading.query_row(sql, [kind], |row| row.get::<_, i64>(0));
                let counted = counted.map_err(|error| self.failed(error))?;
                u64::try_from(counted).map_err(|_| self.damaged(counted))
            };
            let counts = [count("reserved")?, count("answered")?, count("abandoned")?];
            let kinds = self.kinds_charged(&reading)?;
            (all, counts, kinds)
        };
        drop(handle);
        let (spent, remaining) = self.shares(0, &self.terms().rule, &all.meters[0])?;
        let analysts = self.analysts(&all.meters[1..])?;
        let composed = self.composed(kinds)?;
        Ok(Status { spent, remaining, reserved, answered, abandoned, analysts, composed, head: all.hash })
    }

    /// What was spent of the whole (0) or by an analyst (1 and on), and what is left.
    fn shares(&self, which: usize, rule: &Rule, meter: &Meter) -> Result<(Share, Share), Refusal> {
        let filter = self.filter(which, meter.spent())?;
        let spent = spent_of(rule, &filter)?;
        let fraction = spent.part(&meter.spent());
        let left = Share { fraction: 1.0 - fraction, ..left_of(rule, &filter, &meter.left())? };
        Ok((Share { fraction, ..spent }, left))
    }

    fn analysts(&self, meters: &[Meter]) -> Result<Vec<AnalystStatus>, Error> {
        let mut all = Vec::new();
        for (at, ((name, cap), meter)) in self.terms().analysts.iter().zip(meters).enumerate() {
            let rule = match &self.terms().rule {
                Rule::Product { .. } => Rule::of_cap_beside_product(*cap)?,
                Rule::Union { .. } if cap.delta == Delta::ZERO => Rule::Sum,
                other => other.clone(),
            };
            let (spent, remaining) = self.shares(at + 1, &rule, meter)?;
            all.push(AnalystStatus { name: name.clone(), cap: *cap, spent, remaining });
        }
        Ok(all)
    }

    /// The different questions that were charged: text, how often, and the number of the first. At most one more than are composed.
    fn kinds_charged(&self, from: &Connection) -> Result<Vec<(String, i64, i64)>, Error> {
        let failed = |error| self.failed(error);
        let sql = "SELECT question, COUNT(*), MIN(number) FROM record WHERE kind = 'reserved' GROUP BY question LIMIT ?1";
        let mut query = from.prepare(sql).map_err(failed)?;
        let kinds =
            query.query_map([MOST_KINDS as i64 + 1], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
        kinds.map_err(failed)?.collect::<rusqlite::Result<_>>().map_err(failed)
    }

    /// All that was charged, as one question.
    fn composed(&self, kinds: Vec<(String, i64, i64)>) -> Result<Composed, Error> {
        let unknown = |reason: String| Composed { epsilon: None, reason: Some(reason) };
        if kinds.is_empty() {
            return Ok(Composed { epsilon: Some(0.0), reason: None });
        }
        if kinds.len() > MOST_KINDS {
            return Ok(unknown(format!("there are more than {MOST_KINDS} different queries")));
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
                Some(_) | None => {
                    unknown("no finite epsilon can be certified at the delta of the budget".to_owned())
                }
            },
        })
    }
}

/// What was spent, rounded up. However it was chosen, it is within the budget: that is what the filter promises.
///
/// Under a union, a price in the pool depends on what is left and does not bound what its mechanism leaks alone. So as long as all
/// releases were pure, it is the sum of their ε, and then the whole ε. The fraction says how much of the budget is gone.
fn spent_of(rule: &Rule, filter: &Filter) -> Result<Share, Refusal> {
    let spent = filter.spent();
    let budget = filter.budget();
    let share = |epsilon: f64, delta: f64| share(filter, spent, epsilon, delta);
    if *rule == Rule::Sum {
        return Ok(share(spent.sum, spent.delta));
    }
    if matches!(rule, Rule::Union { .. }) {
        return Ok(share(spent.pure.min(budget.epsilon.get()), budget.delta.get()));
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
fn left_of(rule: &Rule, filter: &Filter, left: &Amounts) -> Result<Share, Refusal> {
    let budget = filter.budget();
    let share = |epsilon: f64, delta: f64| share(filter, left, epsilon, delta);
    if *rule == Rule::Sum {
        return Ok(share(left.sum, left.delta));
    }
    match product(rule, left, |mu| mu * (1.0 - SLACK), filter.adjacency())? {
        None => Ok(share(left.pure.min(budget.epsilon.get()), budget.delta.get())),
        Some(question) => {
            let found = best::epsilon_at(&question, budget.delta).ok();
            let lower = found.and_then(|found| found.finding.lower()).map_or(0.0, |lower| lower.0.get());
            Ok(share(lower.max(left.pure).min(budget.epsilon.get()), budget.delta.get()))
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
        pure: part.pure,
        pure_limit: filter.limit().pure,
        fraction: 0.0,
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
