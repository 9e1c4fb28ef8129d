//! SELECT, HAVING, ORDER BY and LIMIT: arithmetic of noisy answers, which costs nothing more.

use super::{
    aggregates::{self, arithmetic},
    calls::Statistics,
    keys,
    names::{Meaning, Names, about_units},
};
use crate::sql::{
    Column,
    ast::{Comparison, Expr, Name, Operator, Select},
    plan::{Condition, Function, Key, Output, OutputValue, Presentation, Value},
};
use veracity_core::Refusal;

/// The most decimals of ROUND.
const MOST_DECIMALS: f64 = 15.0;

/// What a column of the answer that is no key shows.
pub(super) fn selected(
    expr: &Expr,
    keys: &[Key],
    names: &mut Names,
    statistics: &mut Statistics,
) -> Result<Value, Refusal> {
    let value = Reader { outputs: &[], keys, names, statistics }.number(expr)?;
    match value.aggregates().is_empty() && !matches!(value, Value::Grouping(_)) {
        true => Err(Refusal::invalid(
            "query selects a constant; select keys, aggregates such as COUNT(*), or arithmetic of them",
        )),
        false => Ok(value),
    }
}

/// HAVING, ORDER BY and LIMIT.
pub(super) fn shown(
    select: &Select,
    outputs: &[Output],
    keys: &[Key],
    names: &mut Names,
    statistics: &mut Statistics,
) -> Result<Presentation, Refusal> {
    let mut reader = Reader { outputs, keys, names, statistics };
    let having = select.having.as_ref().map(|having| reader.condition(having)).transpose()?;
    let order_by = select
        .order_by
        .iter()
        .map(|(expr, direction)| Ok((reader.sorted_by(expr)?, *direction)))
        .collect::<Result<_, Refusal>>()?;
    Ok(Presentation { having, order_by, limit: select.limit })
}

struct Reader<'a> {
    outputs: &'a [Output],
    keys: &'a [Key],
    names: &'a mut Names,
    statistics: &'a mut Statistics,
}

impl Reader<'_> {
    /// What rows are sorted by; a number is the place of a column.
    fn sorted_by(&mut self, expr: &Expr) -> Result<Value, Refusal> {
        if let Expr::Number(place) = expr {
            let at = *place as usize;
            return match self.outputs.get(at.wrapping_sub(1)) {
                Some(output) if at as f64 == *place => Ok(of_output(output)),
                _ => Err(Refusal::out_of_range(
                    "ORDER BY",
                    place,
                    "the place of a column of SELECT, or an expression of columns",
                )),
            };
        }
        match self.value(expr)? {
            Value::Text(_) => {
                Err(Refusal::invalid("query sorts by a constant; sort by an output column, by its name"))
            }
            value => Ok(value),
        }
    }

    fn condition(&mut self, expr: &Expr) -> Result<Condition, Refusal> {
        Ok(match expr {
            Expr::Compare(comparison, left, right) => self.compared(*comparison, left, right)?,
            Expr::Between { expr, low, high, negated } => {
                let both = Condition::And(vec![
                    self.compared(Comparison::AtLeast, expr, low)?,
                    self.compared(Comparison::AtMost, expr, high)?,
                ]);
                if *negated { Condition::Not(Box::new(both)) } else { both }
            }
            Expr::Not(inner) => Condition::Not(Box::new(self.condition(inner)?)),
            Expr::And(all) => {
                Condition::And(all.iter().map(|one| self.condition(one)).collect::<Result<_, _>>()?)
            }
            Expr::Or(any) => {
                Condition::Or(any.iter().map(|one| self.condition(one)).collect::<Result<_, _>>()?)
            }
            _ => {
                return Err(Refusal::invalid("HAVING supports only comparisons, such as COUNT(*) > 100"));
            }
        })
    }

    fn compared(&mut self, comparison: Comparison, left: &Expr, right: &Expr) -> Result<Condition, Refusal> {
        let (left, right) = (self.value(left)?, self.value(right)?);
        if is_text(&left) != is_text(&right) {
            return Err(Refusal::invalid(
                "HAVING compares a string with a number; compare values of the same type",
            ));
        }
        Ok(Condition::Compare(comparison, left, right))
    }

    fn value(&mut self, expr: &Expr) -> Result<Value, Refusal> {
        let value = self.part(expr)?;
        let parts = value.aggregates();
        if parts.len() > 1 && parts.iter().any(|at| self.statistics.is_quantile(*at)) {
            return Err(Refusal::invalid(
                "query calculates with a quantile and another answer, but the error bar of a quantile holds only \
                 by itself; select both columns",
            ));
        }
        Ok(value)
    }

    fn part(&mut self, expr: &Expr) -> Result<Value, Refusal> {
        let is_output = matches!(expr, Expr::Column(None, name) if self.outputs.iter().any(|output| name.is(&output.name)));
        if !is_output && let Some(place) = keys::place(expr, self.keys, self.names) {
            return Ok(self.key(place));
        }
        Ok(match expr {
            Expr::Number(number) => Value::Number(*number),
            Expr::Text(text) => Value::Text(text.clone()),
            Expr::Negated(inner) => arithmetic(Operator::Multiply, Value::Number(-1.0), self.number(inner)?),
            Expr::Arithmetic(Operator::Divide, left, right) => {
                if **right == Expr::Number(0.0) {
                    return Err(Refusal::invalid("query divides by 0; divide by another number"));
                }
                if let Some(mean) = aggregates::ratio(left, right, self.names, self.statistics)? {
                    return Ok(mean);
                }
                arithmetic(Operator::Divide, self.number(left)?, self.number(right)?)
            }
            Expr::Arithmetic(operator, left, right) => {
                arithmetic(*operator, self.number(left)?, self.number(right)?)
            }
            Expr::Column(table, name) => self.named(table.as_ref(), name)?,
            Expr::Call { name, distinct: false, arguments } if name == "grouping" => {
                let places = arguments.iter().map(|one| keys::place(one, self.keys, self.names));
                match places.collect::<Option<Vec<usize>>>() {
                    Some(places) if !places.is_empty() => Value::Grouping(places),
                    _ => {
                        return Err(Refusal::invalid(
                            "GROUPING has invalid arguments, expected keys of GROUP BY, such as GROUPING(sex)",
                        ));
                    }
                }
            }
            Expr::Call { name, distinct: false, arguments } if is_function(name) => {
                self.function(name, arguments)?
            }
            Expr::CountAll | Expr::Call { .. } => aggregates::aggregate(expr, self.names, self.statistics)?,
            _ => {
                return Err(Refusal::invalid(
                    "query calculates with something other than numbers, keys and aggregates; use + - * /, \
                     ROUND, ABS, SQRT, LN, EXP, LEAST or GREATEST of aggregates",
                ));
            }
        })
    }

    fn function(&mut self, name: &str, arguments: &[Expr]) -> Result<Value, Refusal> {
        let (function, values) = match (name, arguments) {
            ("round", [of]) => (Function::Round(0), vec![self.number(of)?]),
            ("round", [of, Expr::Number(decimals)])
                if decimals.fract() == 0.0 && decimals.abs() <= MOST_DECIMALS =>
            {
                (Function::Round(*decimals as i32), vec![self.number(of)?])
            }
            ("double", [of]) => return self.number(of),
            ("trunc" | "truncate", [of]) => (Function::Truncate, vec![self.number(of)?]),
            ("abs", [of]) => (Function::Absolute, vec![self.number(of)?]),
            ("floor", [of]) => (Function::Floor, vec![self.number(of)?]),
            ("ceil" | "ceiling", [of]) => (Function::Ceiling, vec![self.number(of)?]),
            ("sqrt", [of]) => (Function::Root, vec![self.number(of)?]),
            ("ln", [of]) => (Function::Logarithm, vec![self.number(of)?]),
            ("exp", [of]) => (Function::Exponential, vec![self.number(of)?]),
            ("nullif", [of, Expr::Number(0.0)]) => (Function::NullIfZero, vec![self.number(of)?]),
            ("least" | "greatest", [_, ..]) => {
                let all = arguments.iter().map(|one| self.number(one)).collect::<Result<_, _>>()?;
                (if name == "least" { Function::Least } else { Function::Greatest }, all)
            }
            _ => {
                return Err(Refusal::invalid(format!(
                    "{} has invalid arguments, expected one answer; ROUND(answer, decimals) has up to 15 decimals, \
                     NULLIF(answer, 0) a zero",
                    name.to_uppercase()
                )));
            }
        };
        Ok(Value::Function(function, values))
    }

    fn number(&mut self, expr: &Expr) -> Result<Value, Refusal> {
        let value = self.value(expr)?;
        if is_text(&value) {
            return Err(Refusal::invalid("query calculates with a string; use numeric output columns"));
        }
        Ok(value)
    }

    /// A column of the answer, or a key.
    fn named(&mut self, table: Option<&Name>, name: &Name) -> Result<Value, Refusal> {
        if table.is_none()
            && let Some(output) = self.outputs.iter().find(|output| name.is(&output.name))
        {
            return Ok(match &output.value {
                OutputValue::Key(place) => self.key(*place),
                _ => of_output(output),
            });
        }
        let column = match self.names.find(table, name)? {
            Meaning::Unit(..) => return Err(about_units(name)),
            Meaning::Declared(column) => column,
        };
        Err(Refusal::invalid(match self.names.declared(column) {
            Column::Text(_) => format!(
                "query calculates, sorts or filters by {}, which is neither a key nor an output column",
                name.shown()
            ),
            Column::Number(_) | Column::Date(..) => format!(
                "query uses the values of column {} outside of an aggregate; use an aggregate of it, such as \
                 AVG({0})",
                name.shown()
            ),
        }))
    }

    /// A key, as an integer where it is one.
    fn key(&self, place: usize) -> Value {
        if self.keys[place].is_number { Value::NumberKey(place) } else { Value::Key(place) }
    }
}

fn of_output(output: &Output) -> Value {
    match &output.value {
        OutputValue::Key(place) => Value::Key(*place),
        OutputValue::Noisy(value) => value.clone(),
        // Outputs of a grouping are made of these.
        OutputValue::Absent | OutputValue::Grouping(_) => Value::Absent,
    }
}

fn is_function(name: &str) -> bool {
    matches!(
        name,
        "round"
            | "double"
            | "trunc"
            | "truncate"
            | "abs"
            | "floor"
            | "ceil"
            | "ceiling"
            | "sqrt"
            | "ln"
            | "exp"
            | "least"
            | "greatest"
            | "nullif"
    )
}

fn is_text(value: &Value) -> bool {
    matches!(value, Value::Key(_) | Value::Text(_))
}
