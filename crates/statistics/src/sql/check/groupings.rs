//! `ROLLUP`, `CUBE` and `GROUPING SETS`: several groupings of the same rows, each with keys, caps and noise of its own.
//!
//! One unit counts in each grouping as it would in a query of that grouping alone: in at most so many of its groups, with at most so many
//! rows in each. Noise is drawn for each grouping by itself. So for every secret that chooses the rows, all answers together are a composition of
//! those queries, and the claim composes all of their noise calls. A coarser grouping is not a sum of a finer one, because the caps
//! of a unit hold within each.

use super::{keys, names::Names};
use crate::sql::{
    ast::{Expr, Select},
    parse::{MOST_GROUPINGS, too_many_groupings},
    plan::{Condition, Key, Output, OutputValue, Presentation, Value},
};
use veracity_core::Refusal;

/// All keys of a query, and the groupings by the places of their keys: the one that is written first comes first.
pub(super) struct Groupings {
    pub keys: Vec<Key>,
    pub sets: Vec<Vec<usize>>,
}

impl Groupings {
    /// Reads `GROUP BY`: each grouping has all plain keys, and those of one set of each list of sets.
    pub(super) fn new(select: &Select, names: &mut Names) -> Result<Groupings, Refusal> {
        let mut found = Groupings { keys: Vec::new(), sets: Vec::new() };
        found.sets = vec![found.set(&select.group_by, select, names)?];
        for sets in &select.grouping_sets {
            let sets =
                sets.iter().map(|set| found.set(set, select, names)).collect::<Result<Vec<_>, Refusal>>()?;
            found.sets = found
                .sets
                .iter()
                .flat_map(|before| sets.iter().map(move |set| [&before[..], &set[..]].concat()))
                .collect();
            if found.sets.len() > MOST_GROUPINGS {
                return Err(too_many_groupings());
            }
        }
        let mut known: Vec<Vec<usize>> = Vec::new();
        for set in &found.sets {
            let mut sorted = set.clone();
            sorted.sort_unstable();
            if sorted.windows(2).any(|pair| pair[0] == pair[1]) {
                return Err(Refusal::invalid("query groups by the same key twice; name it once"));
            }
            if known.contains(&sorted) {
                return Err(Refusal::invalid("query has the same grouping twice; name it once"));
            }
            known.push(sorted);
        }
        Ok(found)
    }

    fn set(&mut self, exprs: &[Expr], select: &Select, names: &mut Names) -> Result<Vec<usize>, Refusal> {
        let mut set = Vec::new();
        for expr in exprs {
            let key = keys::key(keys::meant(expr, select, names)?, names)?;
            set.push(self.keys.iter().position(|known| *known == key).unwrap_or_else(|| {
                self.keys.push(key);
                self.keys.len() - 1
            }));
        }
        Ok(set)
    }

    /// The keys of a grouping.
    pub(super) fn keys_of(&self, set: &[usize]) -> Vec<Key> {
        set.iter().map(|at| self.keys[*at].clone()).collect()
    }
}

/// What is shown of one grouping, whose keys are those at these places.
pub(super) struct Shown<'a>(pub &'a [usize]);

impl Shown<'_> {
    /// The place of a key among those of the grouping.
    fn place(&self, key: usize) -> Option<usize> {
        self.0.iter().position(|at| *at == key)
    }

    /// A bit for each key, the first one highest: 1 where the grouping has it not.
    fn level(&self, keys: &[usize]) -> u64 {
        keys.iter().fold(0, |level, key| 2 * level + u64::from(self.place(*key).is_none()))
    }

    pub(super) fn outputs(&self, outputs: &[Output]) -> Vec<Output> {
        let of = |value: &OutputValue| match value {
            OutputValue::Key(key) => self.place(*key).map_or(OutputValue::Absent, OutputValue::Key),
            OutputValue::Noisy(Value::Grouping(keys)) => OutputValue::Grouping(self.level(keys)),
            OutputValue::Noisy(value) => OutputValue::Noisy(self.value(value)),
            other @ (OutputValue::Absent | OutputValue::Grouping(_)) => other.clone(),
        };
        outputs.iter().map(|output| Output { name: output.name.clone(), value: of(&output.value) }).collect()
    }

    pub(super) fn presentation(&self, shown: &Presentation) -> Presentation {
        Presentation {
            having: shown.having.as_ref().map(|having| self.condition(having)),
            order_by: shown.order_by.iter().map(|(value, way)| (self.value(value), *way)).collect(),
            limit: shown.limit,
        }
    }

    fn value(&self, value: &Value) -> Value {
        match value {
            Value::Key(key) => self.place(*key).map_or(Value::Absent, Value::Key),
            Value::NumberKey(key) => self.place(*key).map_or(Value::Absent, Value::NumberKey),
            Value::Grouping(keys) => Value::Number(self.level(keys) as f64),
            Value::Arithmetic(operator, left, right) => {
                Value::Arithmetic(*operator, Box::new(self.value(left)), Box::new(self.value(right)))
            }
            Value::Function(function, all) => {
                Value::Function(*function, all.iter().map(|one| self.value(one)).collect())
            }
            other @ (Value::Absent | Value::Aggregate(_) | Value::Number(_) | Value::Text(_)) => {
                other.clone()
            }
        }
    }

    fn condition(&self, condition: &Condition) -> Condition {
        let all = |parts: &[Condition]| parts.iter().map(|part| self.condition(part)).collect();
        match condition {
            Condition::Compare(comparison, left, right) => {
                Condition::Compare(*comparison, self.value(left), self.value(right))
            }
            Condition::Not(inner) => Condition::Not(Box::new(self.condition(inner))),
            Condition::And(parts) => Condition::And(all(parts)),
            Condition::Or(parts) => Condition::Or(all(parts)),
        }
    }
}
