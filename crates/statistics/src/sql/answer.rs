//! Whole numbers of an engine become noisy answers with error bars. From here on nothing is private any more.

use crate::sql::{
    Direction, Plan, Row,
    design::{CallNoise, Design},
    interval::{self, Interval},
    plan::{Condition, NoiseCall, Output, OutputValue, Value},
    quantile, statistic,
};
use std::{cmp::Ordering, collections::BTreeMap};
use veracity_core::Refusal;
use veracity_noise::NoiseStream;

/// The probability that an error bar may miss.
const MISS: f64 = 0.05;

/// A noisy number: with probability at least 95% the true answer of the rows that count is within the error bar.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NoisyNumber {
    /// The answer. Not a number where it is undefined, as after a division by what may be 0.
    pub answer: f64,
    /// How far the truth may be. Infinite where the answer is undefined.
    pub error_bar: f64,
}

impl NoisyNumber {
    pub(crate) const UNDEFINED: NoisyNumber = NoisyNumber { answer: f64::NAN, error_bar: f64::INFINITY };

    /// Whether there is an answer with an error bar.
    pub fn is_defined(self) -> bool {
        self.answer.is_finite() && self.error_bar.is_finite()
    }
}

impl From<Interval> for NoisyNumber {
    fn from(interval: Interval) -> NoisyNumber {
        NoisyNumber { answer: interval.answer, error_bar: interval.error_bar() }
    }
}

/// One row of the answer: a text for each key, noisy sums for each call.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// The keys, as in the plan.
    pub keys: Vec<String>,
    /// What each noise call gave, as in the plan.
    pub calls: Vec<CallAnswer>,
}

/// What a noise call gave for one group.
#[derive(Debug, Clone, PartialEq)]
pub enum CallAnswer {
    /// Noisy sums.
    Sums(Vec<f64>),
    /// The chosen value.
    Choice(NoisyNumber),
}

/// A cell of the answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// A key.
    Key(String),
    /// A key that the grouping of the row has not: NULL.
    Absent,
    /// A noisy number.
    Number(NoisyNumber),
}

impl Cell {
    /// The key, where it is one.
    pub(crate) fn key(&self) -> Option<&str> {
        match self {
            Cell::Key(key) => Some(key),
            Cell::Absent | Cell::Number(_) => None,
        }
    }
}

/// How many rows the caps leave out, with noise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CutRows {
    /// The number.
    pub number: NoisyNumber,
    /// How many rows of one unit are in it at most.
    pub most: u64,
}

/// What an engine gave: the rows of the sums, and those of each tally.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Totals {
    /// One row for each group that occurs.
    pub sums: Vec<Row>,
    /// For each tally of the plan, one row for each value of each group.
    pub tallies: Vec<Vec<Row>>,
    /// How many rows the caps leave out, where they are counted.
    pub cut: Option<i64>,
    /// The same of the other groupings of the plan.
    pub others: Vec<Totals>,
}

impl Totals {
    /// From the rows of each statement of a plan, in their order.
    ///
    /// # Errors
    /// Refuses the rows of another number of statements.
    pub fn of(plan: &Plan, statements: Vec<Vec<Row>>) -> Result<Totals, Refusal> {
        let wanted: usize = plan.groupings().map(|plan| 1 + plan.tallies.len()).sum();
        let wanted = wanted + usize::from(plan.cut.is_some());
        if statements.len() != wanted {
            return Err(Refusal::invalid(format!(
                "the engine returned the rows of {} statements, expected those of {wanted}",
                statements.len()
            )));
        }
        let mut rows = statements.into_iter();
        let mut each = plan.groupings().map(|plan| Totals {
            sums: rows.next().unwrap_or_default(),
            tallies: rows.by_ref().take(plan.tallies.len()).collect(),
            ..Totals::default()
        });
        let first = each.next().unwrap_or_default();
        let others = each.collect();
        let cut = match (plan.cut, rows.next().as_deref()) {
            (None, _) => None,
            (Some(_), Some([row])) if row.numbers.len() == 1 => Some(row.numbers[0]),
            (Some(_), _) => {
                return Err(Refusal::invalid(
                    "internal error: the engine returned no number of rows that are left out; please report the query",
                ));
            }
        };
        Ok(Totals { cut, others, ..first })
    }

    /// Those of each grouping, in the order of the plan.
    pub fn groupings(&self) -> impl Iterator<Item = &Totals> {
        std::iter::once(self).chain(&self.others)
    }
}

impl Plan {
    /// Answers from what an engine gave, by a design; groups of unknown keys are shown from `threshold` units on.
    ///
    /// # Errors
    /// Refuses totals that are not those of the plan.
    pub fn answer(
        &self,
        design: &Design,
        threshold: Option<f64>,
        totals: &Totals,
        rng: &mut NoiseStream,
    ) -> Result<Vec<Group>, Refusal> {
        let groups = Groups::new(self, totals)?;
        if self.every.is_some() {
            let exact = |call| groups.sums.iter().map(|sums| statistic::exact(self, call, sums)[0]).collect();
            return self.answer_periods(design, groups.keys.clone(), &exact, rng);
        }
        let mut released = vec![Vec::new(); self.calls.len()];
        let mut chosen: Vec<usize> = (0..groups.keys.len()).collect();
        if let Some(threshold) = threshold {
            // How many units a group has decides whether it is shown; what is not shown gets no other noise.
            let place = self.units_call().ok_or_else(missing_units)?;
            let units = groups.release(self, design, place, &chosen, rng)?;
            let is_shown = |at: &usize| matches!(&units[*at], CallAnswer::Sums(sums) if sums[0] >= threshold);
            chosen.retain(is_shown);
            released[place] = chosen.iter().map(|at| units[*at].clone()).collect();
        }
        for (place, released) in released.iter_mut().enumerate() {
            if threshold.is_none() || self.calls[place] != NoiseCall::Units {
                *released = groups.release(self, design, place, &chosen, rng)?;
            }
        }
        let all = chosen.iter().enumerate().map(|(row, at)| Group {
            keys: groups.keys[*at].clone(),
            calls: released.iter().map(|answers: &Vec<CallAnswer>| answers[row].clone()).collect(),
        });
        Ok(all.collect())
    }

    /// What a value is in a group, and how far off it may be. A key is undefined.
    pub fn number(&self, design: &Design, value: &Value, group: &Group) -> NoisyNumber {
        let parts = value.aggregates();
        match *value {
            // A bar by itself needs no interval.
            Value::Aggregate(at) => self.aggregate(design, at, group, MISS),
            _ => {
                let miss = MISS / parts.len().max(1) as f64;
                let found = self.interval(design, value, group, miss);
                found.map_or(NoisyNumber::UNDEFINED, NoisyNumber::from)
            }
        }
    }

    fn aggregate(&self, design: &Design, at: usize, group: &Group, miss: f64) -> NoisyNumber {
        if self.every.is_some() {
            // The numbers of a period are finished, one for each aggregate.
            return match group.calls.get(at) {
                Some(CallAnswer::Choice(number)) => *number,
                _ => NoisyNumber::UNDEFINED,
            };
        }
        let aggregate = self.aggregates[at];
        let call = aggregate.call;
        statistic::read(self, aggregate, (&design.drawn[call], &group.calls[call]), miss)
    }

    /// A value with each of its answers in the interval that misses with probability at most `miss`; none where it is undefined.
    fn interval(&self, design: &Design, value: &Value, group: &Group, miss: f64) -> Option<Interval> {
        match value {
            Value::Aggregate(at) => {
                let number = self.aggregate(design, *at, group, miss);
                let bounds = statistic::bounds(self, self.aggregates[*at]);
                number.is_defined().then(|| Interval::noisy(number.answer, number.error_bar, bounds))
            }
            Value::Number(number) => Some(Interval::point(*number)),
            Value::NumberKey(at) => group.keys.get(*at)?.parse().ok().map(Interval::point),
            Value::Key(_) | Value::Absent | Value::Grouping(_) | Value::Text(_) => None,
            Value::Arithmetic(operator, left, right) => interval::arithmetic(
                *operator,
                self.interval(design, left, group, miss)?,
                self.interval(design, right, group, miss)?,
            ),
            Value::Function(function, all) => {
                let all: Option<Vec<Interval>> =
                    all.iter().map(|one| self.interval(design, one, group, miss)).collect();
                interval::function(*function, &all?)
            }
        }
    }

    /// About the error bar of a value of a group with so many rows, spread evenly between the bounds; infinite where it is undefined.
    pub(crate) fn expected_error(&self, design: &Design, value: &Value, rows: u64) -> f64 {
        if let Value::Aggregate(at) = *value
            && let CallNoise::Periods(sums) = &design.drawn[self.aggregates[at].call]
        {
            let last = sums.horizon().periods.get() as usize;
            return sums.half_width(last - 1..last, MISS) * self.worth(self.aggregates[at]);
        }
        let calls = self.calls.iter().zip(&design.drawn);
        let calls = calls.map(|(call, drawn)| statistic::expected(self, *call, drawn, rows)).collect();
        self.number(design, value, &Group { keys: Vec::new(), calls }).error_bar
    }

    /// What is shown of the groups, in its order: post-processing, which costs nothing. An answer that is undefined is sorted last, and
    /// no comparison holds of it.
    pub fn show(&self, design: &Design, groups: Vec<Group>) -> Vec<Vec<Cell>> {
        self.show_groupings(vec![(self, design, groups)])
    }

    /// The same of the groups of each grouping. A key that a grouping has not is undefined.
    pub(crate) fn show_groupings(&self, groupings: Vec<(&Plan, &Design, Vec<Group>)>) -> Vec<Vec<Cell>> {
        let mut sorted: Vec<Sorted<'_>> = Vec::new();
        for (plan, design, groups) in groupings {
            for group in groups {
                if plan
                    .shown
                    .having
                    .as_ref()
                    .is_some_and(|having| plan.holds(design, having, &group) != Some(true))
                {
                    continue;
                }
                let by = plan.shown.order_by.iter().map(|(value, _)| plan.operand(design, value, &group));
                sorted.push((by.collect(), (plan, design, group)));
            }
        }
        sorted.sort_by(|(a, _), (b, _)| {
            let pairs = a.iter().zip(b).zip(&self.shown.order_by);
            let by = pairs.map(|((a, b), (_, direction))| {
                let order = compare(a, b);
                match (a, b) {
                    (Operand::Undefined, _) | (_, Operand::Undefined) => {
                        is_undefined(a).cmp(&is_undefined(b))
                    }
                    _ if *direction == Direction::Descending => order.unwrap_or(Ordering::Equal).reverse(),
                    _ => order.unwrap_or(Ordering::Equal),
                }
            });
            by.fold(Ordering::Equal, Ordering::then)
        });
        sorted.truncate(
            self.shown.limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX)),
        );
        let row = |(plan, design, group): &(&Plan, &Design, Group)| {
            let cell = |output: &Output| match &output.value {
                OutputValue::Key(at) => Cell::Key(group.keys[*at].clone()),
                OutputValue::Absent => Cell::Absent,
                OutputValue::Grouping(level) => Cell::Key(level.to_string()),
                OutputValue::Noisy(value) => Cell::Number(plan.number(design, value, group)),
            };
            plan.outputs.iter().map(cell).collect::<Vec<_>>()
        };
        sorted.iter().map(|(_, group)| row(group)).collect()
    }

    fn operand(&self, design: &Design, value: &Value, group: &Group) -> Operand {
        match value {
            Value::Key(at) => Operand::Text(group.keys[*at].clone()),
            Value::Text(text) => Operand::Text(text.clone()),
            Value::Absent => Operand::Undefined,
            value => {
                let number = self.number(design, value, group);
                if number.is_defined() { Operand::Number(number.answer) } else { Operand::Undefined }
            }
        }
    }

    /// Whether something holds of a group, does not, or is not known.
    fn holds(&self, design: &Design, condition: &Condition, group: &Group) -> Option<bool> {
        let first = |all: &[Condition], decides: bool| {
            let found: Vec<Option<bool>> = all.iter().map(|one| self.holds(design, one, group)).collect();
            match found.contains(&Some(decides)) {
                true => Some(decides),
                false if found.contains(&None) => None,
                false => Some(!decides),
            }
        };
        match condition {
            Condition::Compare(comparison, left, right) => {
                let (left, right) = (self.operand(design, left, group), self.operand(design, right, group));
                compare(&left, &right).map(|order| comparison.holds(&order, &Ordering::Equal))
            }
            Condition::Not(inner) => self.holds(design, inner, group).map(|held| !held),
            Condition::And(all) => first(all, false),
            Condition::Or(any) => first(any, true),
        }
    }
}

/// What a row is sorted by, and its group with the grouping that it is of.
type Sorted<'a> = (Vec<Operand>, (&'a Plan, &'a Design, Group));

fn missing_units() -> Refusal {
    Refusal::invalid("internal error: privacy units are not counted; please report the query")
}

/// Groups that are answered, and what they have; those that do not occur have nothing.
struct Groups {
    keys: Vec<Vec<String>>,
    sums: Vec<Vec<i128>>,
    tallies: Vec<Vec<Vec<(i64, i64)>>>,
}

impl Groups {
    fn new(plan: &Plan, totals: &Totals) -> Result<Groups, Refusal> {
        let odd = || {
            Refusal::invalid(
                "internal error: the engine returned other columns than the query asks for; please report \
                 the query",
            )
        };
        let width = plan.sums.len().max(1);
        let mut found: BTreeMap<&[String], &[i64]> = BTreeMap::new();
        for row in &totals.sums {
            if row.keys.len() != plan.keys.len() || row.numbers.len() != width {
                return Err(odd());
            }
            if found.insert(&row.keys, &row.numbers).is_some() {
                return Err(Refusal::invalid(
                    "internal error: the engine returned a group twice; please report the query",
                ));
            }
        }
        let keys = match plan.public_groups() {
            Some(all) => all,
            None => found.keys().map(|keys| keys.to_vec()).collect(),
        };
        let wide = |keys: &Vec<String>| match found.get(keys.as_slice()) {
            Some(numbers) => numbers.iter().map(|number| i128::from(*number)).collect(),
            None => vec![0; width],
        };
        let sums = keys.iter().map(wide).collect();
        if totals.tallies.len() != plan.tallies.len() {
            return Err(odd());
        }
        let mut tallies = Vec::new();
        for rows in &totals.tallies {
            let mut by_group: BTreeMap<&[String], Vec<(i64, i64)>> = BTreeMap::new();
            for row in rows {
                let [value, count] = row.numbers[..] else { return Err(odd()) };
                by_group.entry(&row.keys).or_default().push((value, count));
            }
            tallies
                .push(keys.iter().map(|keys| by_group.remove(keys.as_slice()).unwrap_or_default()).collect());
        }
        Ok(Groups { keys, sums, tallies })
    }

    /// One call for the chosen groups, with noise.
    fn release(
        &self,
        plan: &Plan,
        design: &Design,
        place: usize,
        chosen: &[usize],
        rng: &mut NoiseStream,
    ) -> Result<Vec<CallAnswer>, Refusal> {
        let call = plan.calls[place];
        match &design.drawn[place] {
            CallNoise::Choice(choice) => {
                let NoiseCall::Quantile { input, .. } = call else { return Err(missing_units()) };
                let at =
                    plan.tallies.iter().position(|tallied| *tallied == input).ok_or_else(missing_units)?;
                let grid = &plan.inputs[input].grid;
                chosen
                    .iter()
                    .map(|group| {
                        let cell = quantile::release(choice, grid, &self.tallies[at][*group], rng)?;
                        let error_bar = cell.error_bar + grid.unit();
                        Ok(CallAnswer::Choice(NoisyNumber { answer: cell.value, error_bar }))
                    })
                    .collect()
            }
            // All periods are released at once.
            CallNoise::Periods(_) => Err(missing_units()),
            CallNoise::Sums(sums) => {
                let exact: Vec<Vec<i128>> =
                    chosen.iter().map(|group| statistic::exact(plan, call, &self.sums[*group])).collect();
                let noisy = sums.release_groups(&exact, rng);
                let value = |row: &Vec<i128>| row.iter().map(|sum| sums.value(*sum)).collect::<Vec<_>>();
                Ok(noisy.iter().map(|row| CallAnswer::Sums(value(row))).collect())
            }
        }
    }
}

/// A value of a noisy answer, to be compared.
#[derive(Debug, Clone, PartialEq)]
enum Operand {
    Number(f64),
    Text(String),
    Undefined,
}

fn is_undefined(operand: &Operand) -> bool {
    *operand == Operand::Undefined
}

/// Numbers by size, texts by their bytes; a number and a text cannot be compared.
fn compare(a: &Operand, b: &Operand) -> Option<Ordering> {
    match (a, b) {
        (Operand::Number(a), Operand::Number(b)) => a.partial_cmp(b),
        (Operand::Text(a), Operand::Text(b)) => Some(a.cmp(b)),
        _ => None,
    }
}
