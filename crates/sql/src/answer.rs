//! Whole numbers of an engine become noisy answers with error bars. From here on nothing is private any more.

use crate::{
    Aggregate, Direction, Operator, Plan, Row, Summand,
    design::{Design, Drawn, Lane},
    plan::{Condition, OutputValue, Value},
    quantile,
};
use std::{cmp::Ordering, collections::BTreeMap};
use veracity_core::Refusal;
use veracity_noise::NoiseStream;

/// The chance that an error bar may miss.
const MISS: f64 = 0.05;

/// A noisy number: with chance at least 95 % the truth of the rows that count is within the error bar.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Noisy {
    /// The answer.
    pub answer: f64,
    /// How far the truth may be.
    pub error_bar: f64,
}

/// One row of the answer: a text for each key, a noisy number for each aggregate.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// The keys, as in the plan.
    pub keys: Vec<String>,
    /// The aggregates, as in the plan.
    pub aggregates: Vec<Noisy>,
}

/// A cell of the answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// A key.
    Key(String),
    /// A noisy number.
    Number(Noisy),
}

/// What an engine gave: the rows of the sums, and those of each tally.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Totals {
    /// One row for each group that occurs.
    pub sums: Vec<Row>,
    /// For each tally of the plan, one row for each value of each group.
    pub tallies: Vec<Vec<Row>>,
}

impl Totals {
    /// From the rows of each statement of a plan, in their order.
    pub fn of(mut statements: Vec<Vec<Row>>) -> Result<Totals, Refusal> {
        if statements.is_empty() {
            return Err(Refusal::invalid("engine gave nothing, expected the rows of each statement"));
        }
        let tallies = statements.split_off(1);
        Ok(Totals { sums: statements.remove(0), tallies })
    }
}

impl Plan {
    /// Answers from what an engine gave, by a design; groups of unknown keys are shown from `threshold` units on.
    pub fn answer(
        &self,
        design: &Design,
        threshold: Option<f64>,
        totals: &Totals,
        rng: &mut NoiseStream,
    ) -> Result<Vec<Group>, Refusal> {
        let groups = Groups::new(self, totals)?;
        let mut released = vec![Vec::new(); self.aggregates.len()];
        let mut chosen: Vec<usize> = (0..groups.keys.len()).collect();
        if let Some(threshold) = threshold {
            // How many units a group has decides whether it is shown; what is not shown gets no other noise.
            let place =
                self.aggregates.iter().position(|one| *one == Aggregate::Units).ok_or_else(missing_units)?;
            let units = groups.release(self, design, place, &chosen, rng)?;
            let is_shown = |at: &usize| units[*at].answer >= threshold;
            chosen.retain(is_shown);
            released[place] = chosen.iter().map(|at| units[*at]).collect();
        }
        for (place, released) in released.iter_mut().enumerate() {
            if threshold.is_none() || self.aggregates[place] != Aggregate::Units {
                *released = groups.release(self, design, place, &chosen, rng)?;
            }
        }
        let all = chosen.iter().enumerate().map(|(row, at)| Group {
            keys: groups.keys[*at].clone(),
            aggregates: released.iter().map(|numbers| numbers[row]).collect(),
        });
        Ok(all.collect())
    }

    /// About the error bar of an aggregate of a group with so many rows, spread evenly between the bounds.
    pub(crate) fn expected_error(&self, design: &Design, aggregate: usize, rows: u64) -> f64 {
        let count = rows as f64;
        match (&design.drawn[aggregate], self.aggregates[aggregate]) {
            (Drawn::Choice(choice), _) => choice.preview(rows).error_bar,
            (Drawn::Lanes(lanes), kind) => {
                let width = match kind {
                    Aggregate::Mean(input) | Aggregate::Variance { input, .. } => {
                        self.inputs[input].grid.width() as f64
                    }
                    _ => 0.0,
                };
                let noisy: Vec<f64> = match kind {
                    Aggregate::Mean(_) => vec![count * width / 2.0; 2],
                    Aggregate::Variance { .. } => vec![count * width * width / 3.0; 3],
                    _ => vec![count],
                };
                finish(self, kind, lanes, &noisy).error_bar
            }
        }
    }

    /// What is shown of the groups, in its order: post-processing, which costs nothing.
    pub fn show(&self, mut groups: Vec<Group>) -> Vec<Vec<Cell>> {
        if let Some(having) = &self.shown.having {
            groups.retain(|group| holds(having, group));
        }
        groups.sort_by(|a, b| {
            let by = self.shown.order_by.iter().map(|(value, direction)| {
                let order = compare(&evaluate(value, a), &evaluate(value, b)).unwrap_or(Ordering::Equal);
                if *direction == Direction::Descending { order.reverse() } else { order }
            });
            by.fold(Ordering::Equal, Ordering::then)
        });
        groups.truncate(
            self.shown.limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX)),
        );
        let cell = |group: &Group, value: OutputValue| match value {
            OutputValue::Key(at) => Cell::Key(group.keys[at].clone()),
            OutputValue::Aggregate(at) => Cell::Number(group.aggregates[at]),
        };
        groups
            .iter()
            .map(|group| self.outputs.iter().map(|output| cell(group, output.value)).collect())
            .collect()
    }
}

fn missing_units() -> Refusal {
    Refusal::invalid("units are not counted, please report the query")
}

/// Groups that are answered, and what they have; those that do not occur have nothing.
struct Groups {
    keys: Vec<Vec<String>>,
    sums: Vec<Vec<i128>>,
    tallies: Vec<Vec<Vec<(i64, i64)>>>,
}

impl Groups {
    fn new(plan: &Plan, totals: &Totals) -> Result<Groups, Refusal> {
        let odd =
            || Refusal::invalid("engine gave other columns than it was asked for, please report the query");
        let width = plan.sums.len().max(1);
        let mut found: BTreeMap<&[String], &[i64]> = BTreeMap::new();
        for row in &totals.sums {
            if row.keys.len() != plan.keys.len() || row.numbers.len() != width {
                return Err(odd());
            }
            if found.insert(&row.keys, &row.numbers).is_some() {
                return Err(Refusal::invalid("engine gave a group twice, please report the query"));
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

    /// One aggregate of the chosen groups, with noise.
    fn release(
        &self,
        plan: &Plan,
        design: &Design,
        place: usize,
        chosen: &[usize],
        rng: &mut NoiseStream,
    ) -> Result<Vec<Noisy>, Refusal> {
        let aggregate = plan.aggregates[place];
        match &design.drawn[place] {
            Drawn::Choice(choice) => {
                let Aggregate::Quantile { input, .. } = aggregate else { return Err(missing_units()) };
                let at =
                    plan.tallies.iter().position(|tallied| *tallied == input).ok_or_else(missing_units)?;
                let grid = &plan.inputs[input].grid;
                chosen
                    .iter()
                    .map(|group| {
                        let cell = quantile::release(choice, grid, &self.tallies[at][*group], rng)?;
                        Ok(Noisy { answer: cell.value, error_bar: cell.error_bar + grid.unit() })
                    })
                    .collect()
            }
            Drawn::Lanes(lanes) => {
                let mut noisy: Vec<Vec<f64>> = vec![Vec::new(); chosen.len()];
                for lane in lanes {
                    let sums: Vec<Vec<i128>> =
                        chosen.iter().map(|group| exact(plan, aggregate, &self.sums[*group])).collect();
                    for (row, values) in noisy.iter_mut().zip(lane.release(&sums, rng)) {
                        row.extend(values.iter().map(|value| lane.value(*value)));
                    }
                }
                Ok(noisy.iter().map(|values| finish(plan, aggregate, lanes, values)).collect())
            }
        }
    }
}

/// The sum of how far values are above the least, how many there are, and the width.
fn distances(plan: &Plan, input: usize, sum: &dyn Fn(Summand) -> i128) -> (i128, i128, i128) {
    let grid = plan.inputs[input].grid;
    let (count, total) = (sum(Summand::Present(input)), sum(Summand::Total(input)));
    (total - i128::from(grid.least) * count, count, i128::from(grid.width()))
}

/// The exact sums of an aggregate's lane, for one group.
fn exact(plan: &Plan, aggregate: Aggregate, sums: &[i128]) -> Vec<i128> {
    let sum = |summand: Summand| {
        plan.sums.iter().position(|known| *known == summand).map_or(0, |place| sums[place])
    };
    match aggregate {
        Aggregate::Rows => vec![sum(Summand::Rows)],
        Aggregate::Units => vec![sum(Summand::Units)],
        Aggregate::Present(input) => vec![sum(Summand::Present(input))],
        Aggregate::Sum(input) => vec![sum(Summand::Total(input))],
        Aggregate::Mean(input) => {
            let (above, count, width) = distances(plan, input, &sum);
            vec![above, width * count - above]
        }
        Aggregate::Variance { input, .. } => {
            let (above, count, width) = distances(plan, input, &sum);
            // The engine has the squares of 2a − w.
            let squares = (sum(Summand::Square(input)) + 4 * width * above - width * width * count) / 4;
            let mixed = 2 * (width * above - squares);
            vec![squares, mixed, width * width * count - squares - mixed]
        }
        Aggregate::Quantile { .. } => Vec::new(),
    }
}

/// The answer of an aggregate from its noisy sums, and how far off it may be.
fn finish(plan: &Plan, aggregate: Aggregate, lanes: &[Lane], noisy: &[f64]) -> Noisy {
    match aggregate {
        Aggregate::Rows | Aggregate::Units | Aggregate::Present(_) | Aggregate::Quantile { .. } => {
            Noisy { answer: noisy[0], error_bar: lanes[0].half_width(MISS) }
        }
        Aggregate::Sum(input) => {
            let unit = plan.inputs[input].grid.unit();
            Noisy { answer: noisy[0] * unit, error_bar: lanes[0].half_width(MISS) * unit }
        }
        Aggregate::Mean(input) => {
            let grid = plan.inputs[input].grid;
            // Both sums are within `off` with the chance that is asked for.
            let off = lanes[0].half_width(MISS / 2.0);
            let (whole, width) = (noisy[0] + noisy[1], grid.width() as f64);
            let share = if whole > 0.0 { (noisy[0] / whole).clamp(0.0, 1.0) } else { 0.5 };
            let error = off * width / (whole - 2.0 * off).max(width);
            let answer = quantile::value(&grid, grid.least) + share * width * grid.unit();
            Noisy { answer, error_bar: ((error + 1.0) * grid.unit()).min(width * grid.unit()) }
        }
        Aggregate::Variance { input, root } => {
            let grid = plan.inputs[input].grid;
            let (variance, off) = variance(lanes[0].half_width(MISS / 3.0), grid.width() as f64, noisy);
            let unit = grid.unit();
            match root {
                false => Noisy { answer: variance * unit * unit, error_bar: off * unit * unit },
                true => {
                    let (up, down) = ((variance + off).sqrt(), (variance - off).max(0.0).sqrt());
                    let middle = variance.sqrt();
                    Noisy { answer: middle * unit, error_bar: (up - middle).max(middle - down) * unit }
                }
            }
        }
    }
}

/// A variance from its three noisy sums, each of which is off by at most `off`, and how far it may be off itself.
///
/// With the share Q of squares and P of w times the sum, a variance is w² (Q − P²). Let X be what the sums are off and N the exact total,
/// which is at least w². Then Q is off by (X₁ − Q ΣX)/N and P by D = (X₁ + X₂/2 − P ΣX)/N, so that Q − P² is off by Σ cᵢXᵢ/N + D² with
/// the c below.
fn variance(off: f64, width: f64, noisy: &[f64]) -> (f64, f64) {
    let (square, most) = (width * width, width * width / 4.0);
    let total = noisy.iter().sum::<f64>();
    if !(total > 0.0) {
        return (0.0, most);
    }
    let (q, p) = (noisy[0] / total, (noisy[0] + 0.5 * noisy[1]) / total);
    let least = (total - 3.0 * off).max(square);
    let weights = [1.0 - q - 2.0 * p * (1.0 - p), -q - 2.0 * p * (0.5 - p), -q + 2.0 * p * p];
    let first = weights.iter().map(|weight| weight.abs()).sum::<f64>() * off / least;
    let second = ((1.0 - p).abs() + (0.5 - p).abs() + p.abs()) * off / least;
    // Half a step of each value moves a variance by less than the width and one.
    let error = square * (first + second * second) + width + 1.0;
    ((square * (q - p * p)).clamp(0.0, most), error.min(most))
}

/// A value of a noisy answer, to be compared.
#[derive(Debug, Clone, PartialEq)]
enum Shown {
    Number(f64),
    Text(String),
}

fn evaluate(value: &Value, group: &Group) -> Shown {
    match value {
        Value::Key(at) => Shown::Text(group.keys[*at].clone()),
        Value::Aggregate(at) => Shown::Number(group.aggregates[*at].answer),
        Value::Number(number) => Shown::Number(*number),
        Value::Text(text) => Shown::Text(text.clone()),
        Value::Arithmetic(operator, left, right) => match (evaluate(left, group), evaluate(right, group)) {
            (Shown::Number(a), Shown::Number(b)) => Shown::Number(match operator {
                Operator::Add => a + b,
                Operator::Subtract => a - b,
                Operator::Multiply => a * b,
            }),
            _ => Shown::Number(f64::NAN),
        },
    }
}

/// Numbers by size, texts by their bytes; a number and a text cannot be compared.
fn compare(a: &Shown, b: &Shown) -> Option<Ordering> {
    match (a, b) {
        (Shown::Number(a), Shown::Number(b)) => a.partial_cmp(b),
        (Shown::Text(a), Shown::Text(b)) => Some(a.cmp(b)),
        _ => None,
    }
}

fn holds(condition: &Condition, group: &Group) -> bool {
    match condition {
        Condition::Compare(comparison, left, right) => {
            compare(&evaluate(left, group), &evaluate(right, group))
                .is_some_and(|order| comparison.holds(&order, &Ordering::Equal))
        }
        Condition::Not(inner) => !holds(inner, group),
        Condition::And(all) => all.iter().all(|one| holds(one, group)),
        Condition::Or(any) => any.iter().any(|one| holds(one, group)),
    }
}
