//! Counts and sums of every period of a horizon: one release, with noise that cancels in totals.
//!
//! A query with `every` is grouped by the periods of a date column, which are public from the first to the last declared day. One unit
//! counts in at most `groups_per_person` of them. So a unit moves the sums of the periods as [`veracity_mechanisms::PeriodSums`] has it:
//! in at most that many coordinates, in each by no more than its rows times what one row can be.

use crate::least_noise::{certified, none_certified};
use crate::sql::{
    Aggregate, CallAnswer, CapOverrides, Catalog, Column, Group, NoiseCall, NoisyNumber, Output, OutputValue,
    Plan, PreparedQuery, Value,
    ast::{Expr, From, Item, Name, Select},
    check::{Sharing, check_parsed, parsed},
    design::{CallNoise, Design},
};
use veracity_account::{
    calibrate,
    claims::{Subject, Target},
};
use veracity_core::{Adjacency, Count, Delta, Epsilon, Mechanism, NoiseMultiplier, Refusal, printable};
use veracity_mechanisms::{Contribution, Horizon, NoiseKind, NoisySum, PeriodSums, Priority};
use veracity_noise::NoiseStream;

/// The probability that an error bar may miss.
const MISS: f64 = 0.05;
/// The share of δ for integer noise in place of normal noise.
const FOR_INTEGERS: f64 = 1e-3;

/// What a query is asked of: every period of a date column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EveryPeriod {
    /// What a period is: a day, week, month, quarter or year, as `DATE_TRUNC` names them.
    pub unit: String,
    /// The date column; where there is one only, it need not be named.
    pub date: Option<String>,
    /// Whose largest error is as small as possible.
    pub priority: Priority,
}

impl EveryPeriod {
    /// Checks a query of every period against a catalog. No data are touched.
    ///
    /// # Errors
    ///
    /// Refuses what [`crate::sql::check`] refuses, a query that has keys or an order of its own, and tables without a date column.
    pub fn check(&self, query: &str, catalog: &Catalog, wanted: CapOverrides) -> Result<Plan, Refusal> {
        let mut select = parsed(query)?;
        let is_grouped = !(select.group_by.is_empty() && select.grouping_sets.is_empty());
        let has_more = is_grouped || select.having.is_some();
        if has_more || !select.order_by.is_empty() || select.limit.is_some() {
            return Err(Refusal::invalid(
                "every has a row for each period, in order; remove GROUP BY, HAVING, ORDER BY and LIMIT",
            ));
        }
        let date = self.date_column(&select, catalog)?;
        let truncated = Expr::Call {
            name: "date_trunc".to_owned(),
            distinct: false,
            arguments: vec![Expr::Text(self.unit.clone()), date],
        };
        select.group_by.push(truncated.clone());
        let unit = self.unit.to_lowercase();
        select.items.insert(0, Item { expr: truncated, alias: Some(unit.clone()), text: unit.clone() });
        let mut plan = check_parsed(select, query, catalog, (wanted, Sharing::Alone))?;
        // A ledger and a claim tell it from the query alone.
        plan.query = format!("{query} -- every {unit}");
        plan.every = Some(self.priority);
        for call in &plan.calls {
            plan.horizon(*call)?;
        }
        let (calls, aggregates) = (&plan.calls, &plan.aggregates);
        let so_far = plan.outputs.iter().map(|output| so_far(output, calls, aggregates));
        let so_far: Vec<Option<Output>> = so_far.collect::<Result<_, _>>()?;
        plan.outputs.extend(so_far.into_iter().flatten());
        // The totals are read off the same calls, in the same order.
        plan.aggregates.extend_from_within(..);
        Ok(plan)
    }

    /// The date column of the tables of a query.
    fn date_column(&self, select: &Select, catalog: &Catalog) -> Result<Expr, Refusal> {
        let mut found: Vec<(&From, &String)> = Vec::new();
        for from in &select.from {
            let tables = catalog.tables().filter(|table| from.table.is(&table.name));
            let dates = tables.flat_map(|table| &table.columns);
            let dates = dates.filter(|(_, column)| matches!(column, Column::Date(..)));
            found.extend(dates.map(|(name, _)| (from, name)));
        }
        if let Some(date) = &self.date {
            found.retain(|(_, name)| name.eq_ignore_ascii_case(date));
        }
        match (found.as_slice(), &self.date) {
            ([(from, name)], _) => {
                let alias = from.alias.clone().map(|text| Name { text, quoted: true });
                let name = Name { text: (*name).clone(), quoted: true };
                Ok(Expr::Column(Some(alias.unwrap_or_else(|| from.table.clone())), name))
            }
            ([], None) => Err(Refusal::invalid(
                "every needs a date column; declare one in the catalog, as in visited = { first = \"2025-01-01\", last = \
                 \"2025-12-31\" }",
            )),
            ([], Some(date)) => Err(Refusal::invalid(format!(
                "date column {} is not declared in the catalog with first and last dates",
                printable(date, 60)
            ))),
            (several, _) => Err(Refusal::invalid(format!(
                "tables have several date columns ({}); name one as the date",
                several.iter().map(|(_, name)| printable(name, 60)).collect::<Vec<_>>().join(", ")
            ))),
        }
    }
}

/// The column of totals beside that of an aggregate, where it has one.
fn so_far(output: &Output, calls: &[NoiseCall], aggregates: &[Aggregate]) -> Result<Option<Output>, Refusal> {
    match output.value {
        OutputValue::Key(_) | OutputValue::Absent | OutputValue::Grouping(_) => Ok(None),
        OutputValue::Noisy(Value::Aggregate(at)) => {
            let value = OutputValue::Noisy(Value::Aggregate(aggregates.len() + at));
            let total = Output { name: format!("{} so far", output.name), value };
            Ok(has_totals(calls[aggregates[at].call]).then_some(total))
        }
        OutputValue::Noisy(_) => Err(only_sums()),
    }
}

/// Whether a total over periods is what its name says: a sum of numbers of persons counts a person once for each period.
fn has_totals(call: NoiseCall) -> bool {
    call != NoiseCall::Units
}

fn only_sums() -> Refusal {
    Refusal::invalid(
        "every has totals of counts and sums only; select COUNT(*), COUNT(DISTINCT person), COUNT(x) or SUM(x), without \
         arithmetic",
    )
}

/// The largest errors of one way to answer every period: of one period, and of the total of all.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PeriodErrors {
    /// Of a single period.
    pub period: f64,
    /// Of the total, where there is one: a sum of numbers of persons would count a person once for each period.
    pub total: Option<f64>,
}

/// The largest errors of an aggregate of every period, and those of other ways to release it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PeriodsPreview {
    /// How many periods there are.
    pub periods: u64,
    /// As it is released.
    pub released: PeriodErrors,
    /// With noise for each period by itself, at the same guarantee.
    pub independent: PeriodErrors,
    /// With a query of its own for each number, and ε divided by how many there are: what plain addition allows.
    pub separate: PeriodErrors,
}

impl Plan {
    /// The least noise of a query with `every` within a budget.
    pub(crate) fn prepare_periods(
        self,
        priority: Priority,
        (epsilon, delta): (Epsilon, Delta),
        kind: Option<NoiseKind>,
    ) -> Result<PreparedQuery, Refusal> {
        if kind == Some(NoiseKind::Laplace) || delta.get() == 0.0 {
            return Err(Refusal::invalid(
                "every needs Gaussian noise and delta > 0, because pure noise would be about as wide as with a query for \
                 each period; set delta, such as 1e-6, or use GROUP BY",
            ));
        }
        let calls = Count::new(self.calls.len() as u64)?;
        let slack = Delta::new(FOR_INTEGERS * delta.get() / calls.as_f64())?;
        let left = Delta::new(delta.get() * (1.0 - 2.0 * FOR_INTEGERS))?;
        let real = |noise_multiplier| Mechanism::Gaussian { noise_multiplier }.repeated(calls);
        let noise = calibrate::noise(&real, Adjacency::AddRemove, epsilon, left)?;
        for more in [1e-6, 1e-5, 1e-4, 1e-3, 1e-2] {
            let noise = NoiseMultiplier::new(noise.get() * (1.0 + more))?;
            let design = self.design_of_periods(priority, noise, slack)?;
            let all = (0..self.calls.len()).map(|at| design.mechanism_of(&self, at)).collect();
            let mechanism = Mechanism::Composed(all);
            let subject = Subject { mechanism, adjacency: Adjacency::AddRemove, unit: self.unit.clone() };
            if let Some(answer) = certified(&subject, epsilon, delta)? {
                let threshold_delta = Delta::new(0.0)?;
                return Ok(PreparedQuery {
                    plan: self,
                    design,
                    subject,
                    answer,
                    threshold: None,
                    threshold_delta,
                    is_declared: false,
                    suggestion: None,
                });
            }
        }
        Err(none_certified(epsilon))
    }

    fn design_of_periods(
        &self,
        priority: Priority,
        multiplier: NoiseMultiplier,
        slack: Delta,
    ) -> Result<Design, Refusal> {
        let drawn = self.calls.iter().map(|call| {
            let horizon = self.horizon(*call)?;
            let priority = if has_totals(*call) { priority } else { Priority::Counts };
            Ok(CallNoise::Periods(Box::new(PeriodSums::new(horizon, priority, multiplier, slack)?)))
        });
        let drawn = drawn.collect::<Result<_, Refusal>>()?;
        Ok(Design { kind: NoiseKind::Gaussian, multiplier, drawn, cut: None, others: Vec::new() })
    }

    /// The periods, and what one unit adds to a call of each.
    fn horizon(&self, call: NoiseCall) -> Result<Horizon, Refusal> {
        let rows = i128::from(self.caps.rows.get());
        let amount = match call {
            NoiseCall::Rows | NoiseCall::Present(_) => rows,
            NoiseCall::Units => 1,
            NoiseCall::Sum(input) => (rows * i128::from(self.inputs[input].grid.farthest())).max(1),
            NoiseCall::Distances { .. }
            | NoiseCall::Squares { .. }
            | NoiseCall::Moments(..)
            | NoiseCall::Quantile { .. } => return Err(only_sums()),
        };
        let periods = self.public_groups().map_or(0, |groups| groups.len());
        Ok(Horizon { periods: Count::new(periods as u64)?, active: self.caps.groups, amount })
    }

    /// What one unit of an aggregate's integers is worth.
    pub(crate) fn worth(&self, aggregate: Aggregate) -> f64 {
        match self.calls[aggregate.call] {
            NoiseCall::Sum(input) => self.inputs[input].grid.unit(),
            _ => 1.0,
        }
    }

    /// Noisy sums of all periods, in their order: for each aggregate the number of the period, and after these as many totals so far.
    pub(crate) fn answer_periods(
        &self,
        design: &Design,
        keys: Vec<Vec<String>>,
        exact: &dyn Fn(NoiseCall) -> Vec<i128>,
        rng: &mut NoiseStream,
    ) -> Result<Vec<Group>, Refusal> {
        let mut groups: Vec<Group> = keys.into_iter().map(|keys| Group { keys, calls: Vec::new() }).collect();
        let released = self.calls.iter().zip(&design.drawn).map(|(call, drawn)| match drawn {
            CallNoise::Periods(sums) => Ok((sums, sums.release(&exact(*call), rng)?)),
            _ => Err(Refusal::invalid("internal error: a period has other noise; please report the query")),
        });
        let released: Vec<_> = released.collect::<Result<_, Refusal>>()?;
        let base = self.aggregates.len() / 2;
        for (place, aggregate) in self.aggregates.iter().enumerate() {
            let (sums, noisy) = &released[aggregate.call];
            let worth = self.worth(*aggregate);
            for (at, group) in groups.iter_mut().enumerate() {
                let range = if place < base { at..at + 1 } else { 0..at + 1 };
                group.calls.push(CallAnswer::Choice(NoisyNumber {
                    answer: noisy.total(range.clone()) * worth,
                    error_bar: (sums.half_width(range, MISS) + noisy.rounding()) * worth,
                }));
            }
        }
        Ok(groups)
    }
}

impl PreparedQuery {
    /// The largest errors of each column of every period, beside those of other ways; none for other queries.
    ///
    /// # Errors
    ///
    /// Returns the refusal of noise that is too wide.
    pub fn periods(&self) -> Result<Vec<(&str, PeriodsPreview)>, Refusal> {
        let base = self.plan.aggregates.len() / 2;
        let mut found = Vec::new();
        for output in &self.plan.outputs {
            if let OutputValue::Noisy(Value::Aggregate(at)) = output.value
                && at < base
                && let Some(preview) = self.period(self.plan.aggregates[at])?
            {
                found.push((output.name.as_str(), preview));
            }
        }
        Ok(found)
    }

    fn period(&self, aggregate: Aggregate) -> Result<Option<PeriodsPreview>, Refusal> {
        let CallNoise::Periods(sums) = &self.design.drawn[aggregate.call] else { return Ok(None) };
        let worth = self.plan.worth(aggregate);
        let total = |error: f64| has_totals(self.plan.calls[aggregate.call]).then_some(error);
        let errors = |sums: &PeriodSums| {
            let all = sums.horizon().periods.get() as usize;
            let of = |range| sums.half_width(range, MISS) * worth;
            PeriodErrors { period: of(all - 1..all), total: total(of(0..all)) }
        };
        let (horizon, calls) = (sums.horizon(), self.plan.calls.len() as f64);
        let (Target::Delta(delta), Some(epsilon)) = (self.answer.target, self.answer.epsilon.upper()) else {
            return Ok(None);
        };
        let slack = Delta::new(FOR_INTEGERS * delta.get() / calls)?;
        let independent = PeriodSums::new(horizon, Priority::Counts, self.design.multiplier, slack)?;
        let each = horizon.periods.as_f64() * calls / epsilon.0.get();
        let separate = |amount: i128| -> Result<f64, Refusal> {
            let noise = (NoiseKind::Laplace, NoiseMultiplier::new(each)?);
            Ok(NoisySum::new("sum", Contribution::new(amount), noise)?.half_width(MISS) * worth)
        };
        let active = i128::from(horizon.active.get());
        Ok(Some(PeriodsPreview {
            periods: horizon.periods.get(),
            released: errors(sums),
            independent: errors(&independent),
            separate: PeriodErrors {
                period: separate(horizon.amount)?,
                total: total(separate(horizon.amount.saturating_mul(active))?),
            },
        }))
    }
}
