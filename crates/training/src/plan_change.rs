//! Lines of a plan that are replaced before it is read: `privacy.epsilon=2`.

use std::str::FromStr;
use toml::{Table, Value};
use veracity_core::Refusal;
use veracity_core::printable;

/// A place in a plan and what is to stand there instead.
///
/// ```
/// use std::path::Path;
/// use veracity_training::{PlanChange, TrainingPlan};
///
/// let change: PlanChange = "privacy.epsilon=2".parse()?;
/// let plan = TrainingPlan::digits_with(&[change])?;
/// assert_eq!(plan.privacy().epsilon, Some(2.0));
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct PlanChange {
    place: Vec<String>,
    value: Value,
}

impl FromStr for PlanChange {
    type Err = Refusal;

    /// `a.b.c=VALUE`, with a value as TOML has it; a word without quotes is a string.
    fn from_str(text: &str) -> Result<PlanChange, Refusal> {
        let shown = |text: &str| printable(text, 60);
        let refuse = || {
            Refusal::out_of_range(
                "set",
                shown(text),
                "PLACE=VALUE, such as privacy.epsilon=2 or data.path=a.csv",
            )
        };
        let (place, value) = text.split_once('=').ok_or_else(refuse)?;
        let place: Vec<String> = place.split('.').map(|key| key.trim().to_owned()).collect();
        let value = value.trim();
        let is_word = |c: char| c.is_alphanumeric() || "_-./".contains(c);
        let read = match toml::from_str::<Table>(&format!("value = {value}\n")) {
            Ok(mut table) if table.len() == 1 => table.remove("value"),
            _ if !value.is_empty() && value.chars().all(is_word) => Some(Value::String(value.to_owned())),
            _ => None,
        };
        match read {
            Some(value) if place.iter().all(|key| !key.is_empty()) => Ok(PlanChange { place, value }),
            _ => Err(refuse()),
        }
    }
}

impl PlanChange {
    /// The place, as it was written.
    pub fn place(&self) -> String {
        self.place.join(".")
    }

    /// Puts the value into a plan. Tables on the way are made where there are none; entries of a list are counted from 0.
    pub(super) fn apply(&self, plan: &mut Table) -> Result<(), Refusal> {
        let Some((last, way)) = self.place.split_last() else { return Ok(()) };
        let Some((first, way)) = way.split_first() else {
            plan.insert(last.clone(), self.value.clone());
            return Ok(());
        };
        let mut at = plan.entry(first.clone()).or_insert_with(|| Value::Table(Table::new()));
        let mut passed = first.clone();
        for key in way {
            at = self.step(at, key, &passed)?;
            passed = format!("{passed}.{key}");
        }
        *self.step(at, last, &passed)? = self.value.clone();
        Ok(())
    }

    /// One key further, from what stands at `passed`.
    fn step<'a>(&self, at: &'a mut Value, key: &str, passed: &str) -> Result<&'a mut Value, Refusal> {
        let refuse = |found: String| Refusal::invalid(format!("set {}: {passed} is {found}", self.place()));
        match at {
            Value::Table(table) => {
                Ok(table.entry(key.to_owned()).or_insert_with(|| Value::Table(Table::new())))
            }
            Value::Array(list) => {
                let many = list.len();
                let entry = key.parse().ok().and_then(|index: usize| list.get_mut(index));
                entry.ok_or_else(|| {
                    refuse(format!(
                        "a list of {many}, but {key} is not a position in it; positions start at 0"
                    ))
                })
            }
            other => Err(refuse(format!("of type {}, but only tables have fields", other.type_str()))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(plan: &str, change: &str) -> Result<Table, Refusal> {
        let mut table = toml::from_str(plan).unwrap();
        change.parse::<PlanChange>()?.apply(&mut table)?;
        Ok(table)
    }

    /// The twin is the plan as one would have written it.
    #[test]
    fn a_change_is_the_plan_with_that_line_written_anew() {
        for (plan, change, twin) in [
            ("[privacy]\nepsilon = 1", "privacy.epsilon=2", "[privacy]\nepsilon = 2"),
            ("", "privacy.epsilon = 2", "[privacy]\nepsilon = 2"),
            ("unit = 'row'", "unit=record", "unit = 'record'"),
            ("", "data.path=folder/a-b.csv", "[data]\npath = 'folder/a-b.csv'"),
            ("", "data.path=\"a b=c.csv\"", "[data]\npath = 'a b=c.csv'"),
            ("[[a.b]]\nx = 1\n[[a.b]]\nx = 2", "a.b.1.x=[3, 4]", "[[a.b]]\nx = 1\n[[a.b]]\nx = [3, 4]"),
            ("", "a=true", "a = true"),
        ] {
            assert_eq!(changed(plan, change).unwrap(), toml::from_str::<Table>(twin).unwrap(), "{change}");
        }
    }

    #[test]
    fn what_cannot_be_changed_is_named_by_its_place() {
        let plan = "[privacy]\nepsilon = 1\n[[model.layer]]\nkind = 'relu'";
        for (change, told) in [
            ("privacy.epsilon", "set is privacy.epsilon, expected PLACE=VALUE"),
            ("=2", "set is =2, expected PLACE=VALUE"),
            ("a..b=2", "set is a..b=2"),
            ("a=", "set is a=, expected"),
            ("a=[1, 2", "set is a=[1, 2, expected"),
            ("a=1\nb = 2", "set is a=1 b = 2, expected"),
            (
                "privacy.epsilon.x=2",
                "set privacy.epsilon.x: privacy.epsilon is of type integer, but only tables have fields",
            ),
            ("model.layer.1.kind=tanh", "set model.layer.1.kind: model.layer is a list of 1, but"),
            ("model.layer.kind=tanh", "set model.layer.kind: model.layer is a list of 1, but"),
        ] {
            let refusal = changed(plan, change).unwrap_err().to_string();
            assert!(refusal.starts_with(told) && !refusal.contains('\n'), "{refusal}");
        }
    }
}
