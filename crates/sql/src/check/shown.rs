//! HAVING, ORDER BY and LIMIT: on noisy answers alone, which cost nothing more.

use super::{aggregates::Aggregates, names::Names};
use crate::{
    ast::{Expr, Name, Select},
    plan::{Condition, Key, Output, OutputValue, Shown, Value},
};
use veracity_core::Refusal;

pub(super) fn shown(
    select: &Select,
    outputs: &[Output],
    keys: &[Key],
    names: &mut Names,
    aggregates: &mut Aggregates,
) -> Result<Shown, Refusal> {
    let before = aggregates.released.len();
    let mut reader = Reader { outputs, keys, names, aggregates };
    let having = select.having.as_ref().map(|having| reader.condition(having)).transpose()?;
    let order_by = select
        .order_by
        .iter()
        .map(|(expr, direction)| match reader.value(expr)? {
            Value::Number(_) | Value::Text(_) => Err(Refusal::invalid(
                "query sorts by what is the same for all, expected a column of the answer by its name",
            )),
            value => Ok((value, *direction)),
        })
        .collect::<Result<_, Refusal>>()?;
    if aggregates.released.len() > before {
        return Err(Refusal::invalid(
            "query sorts or filters by an aggregate that it does not select, expected it in SELECT too: it is released and paid for",
        ));
    }
    Ok(Shown { having, order_by, limit: select.limit })
}

struct Reader<'a> {
    outputs: &'a [Output],
    keys: &'a [Key],
    names: &'a mut Names,
    aggregates: &'a mut Aggregates,
}

impl Reader<'_> {
    fn condition(&mut self, expr: &Expr) -> Result<Condition, Refusal> {
        Ok(match expr {
            Expr::Compare(comparison, left, right) => {
                let (left, right) = (self.value(left)?, self.value(right)?);
                if is_text(&left) != is_text(&right) {
                    return Err(Refusal::invalid(
                        "HAVING compares a text with a number, expected two of one kind",
                    ));
                }
                Condition::Compare(*comparison, left, right)
            }
            Expr::Not(inner) => Condition::Not(Box::new(self.condition(inner)?)),
            Expr::And(all) => {
                Condition::And(all.iter().map(|one| self.condition(one)).collect::<Result<_, _>>()?)
            }
            Expr::Or(any) => {
                Condition::Or(any.iter().map(|one| self.condition(one)).collect::<Result<_, _>>()?)
            }
            _ => {
                return Err(Refusal::invalid(
                    "HAVING has something else than comparisons, expected one such as COUNT(*) > 100",
                ));
            }
        })
    }

    fn value(&mut self, expr: &Expr) -> Result<Value, Refusal> {
        Ok(match expr {
            Expr::Number(number) => Value::Number(*number),
            Expr::Text(text) => Value::Text(text.clone()),
            Expr::Negated(inner) => Value::Arithmetic(
                crate::Operator::Multiply,
                Box::new(Value::Number(-1.0)),
                Box::new(self.number(inner)?),
            ),
            Expr::Arithmetic(operator, left, right) => {
                Value::Arithmetic(*operator, Box::new(self.number(left)?), Box::new(self.number(right)?))
            }
            Expr::Column(table, name) => self.named(table.as_ref(), name)?,
            Expr::CountAll | Expr::Call { .. } => Value::Aggregate(self.aggregates.add(expr, self.names)?),
            _ => {
                return Err(Refusal::invalid(
                    "query sorts or filters answers by a condition, expected a column of the answer",
                ));
            }
        })
    }

    fn number(&mut self, expr: &Expr) -> Result<Value, Refusal> {
        let value = self.value(expr)?;
        if is_text(&value) {
            return Err(Refusal::invalid("query calculates with a text, expected numbers of the answer"));
        }
        Ok(value)
    }

    /// A column of the answer, or a key.
    fn named(&mut self, table: Option<&Name>, name: &Name) -> Result<Value, Refusal> {
        if table.is_none()
            && let Some(output) = self.outputs.iter().find(|output| name.is(&output.name))
        {
            return Ok(match output.value {
                OutputValue::Key(place) => Value::Key(place),
                OutputValue::Aggregate(place) => Value::Aggregate(place),
            });
        }
        let (column, _) = self.names.text_column(table, name)?;
        let place = self.keys.iter().position(|key| key.column == column);
        place.map(Value::Key).ok_or_else(|| {
            Refusal::invalid(format!(
                "query sorts or filters answers by {}, expected a key or a column of the answer",
                name.shown()
            ))
        })
    }
}

fn is_text(value: &Value) -> bool {
    matches!(value, Value::Key(_) | Value::Text(_))
}
