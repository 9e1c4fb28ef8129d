//! Aggregates as they are written, and what each asks for.

use super::{
    calls::{Statistics, Wanted, zeroed},
    dates,
    names::{Meaning, Names},
    rows,
    texts::{is_text, text},
};
use crate::sql::{
    ast::{Expr, JoinKind, Operator},
    plan::{Function, Statistic, Value},
    scalar::{Predicate, Scalar},
};
use veracity_core::Refusal;
use veracity_mechanisms::MomentSide as Side;

const KNOWN: &str =
    "COUNT, SUM, AVG, VARIANCE, STDDEV, QUANTILE, MEDIAN, CORR, COVAR_POP, COVAR_SAMP or REGR_…";

/// What an aggregate shows, by what is added to `statistics`; none where a call is no aggregate.
pub(super) fn aggregate(
    expr: &Expr,
    names: &mut Names,
    statistics: &mut Statistics,
) -> Result<Value, Refusal> {
    let (name, distinct, arguments) = match expr {
        Expr::CountAll => return Ok(statistics.add(Wanted::Rows)),
        Expr::Call { name, distinct, arguments } => (name.as_str(), *distinct, arguments.as_slice()),
        _ => {
            return Err(Refusal::invalid(format!(
                "query selects something other than keys and aggregates; select {KNOWN}, or arithmetic of them"
            )));
        }
    };
    if distinct {
        return match name {
            "count" => units(arguments, names).map(|()| statistics.add(Wanted::Units)),
            _ => Err(Refusal::invalid(
                "DISTINCT is supported only in COUNT(DISTINCT person), where person is the privacy ID",
            )),
        };
    }
    let one = |of: &Expr, statistic: Statistic, names: &mut Names, statistics: &mut Statistics| {
        Ok(statistics.add(Wanted::Of(rows::number(of, names)?, statistic)))
    };
    match (name, arguments) {
        ("count", [of]) => Ok(statistics.add(Wanted::Of(countable(of, names)?, Statistic::Count))),
        ("sum", [of]) => one(of, Statistic::Sum, names, statistics),
        ("avg" | "mean", [of]) => one(of, Statistic::Mean(Side::First), names, statistics),
        ("median", [of]) => Ok(statistics.add(Wanted::Quantile(rows::number(of, names)?, 0.5))),
        ("quantile" | "quantile_cont" | "quantile_disc" | "approx_quantile" | "approx_percentile", _) => {
            let (of, rank) = match arguments {
                [of, Expr::Number(rank)] if (0.0..=1.0).contains(rank) => (of, *rank),
                _ => {
                    return Err(Refusal::invalid(format!(
                        "{0} has invalid arguments, expected {0}(column, rank) with 0 ≤ rank ≤ 1",
                        name.to_uppercase()
                    )));
                }
            };
            Ok(statistics.add(Wanted::Quantile(rows::number(of, names)?, rank)))
        }
        ("min" | "max" | "any_value" | "first" | "last", _) => Err(Refusal::invalid(format!(
            "{} is not supported, because one person decides it; use QUANTILE(x, {})",
            name.to_uppercase(),
            if name == "min" { "0.01" } else { "0.99" }
        ))),
        (name, [of]) if variance(name).is_some() => {
            let statistic = variance(name).unwrap_or(Statistic::Count);
            one(of, statistic, names, statistics)
        }
        (name, [y, x]) if of_two(name).is_some() => {
            let (y, x) = (rows::number(y, names)?, rows::number(x, names)?);
            let mut pair = |statistic| statistics.add(Wanted::OfPair(x.clone(), y.clone(), statistic));
            Ok(of_two(name).map_or(Value::Number(0.0), |build| build(&mut pair)))
        }
        (name, _) if of_two(name).is_some() => Err(wrong_number(name, arguments.len(), "two")),
        (name, _)
            if variance(name).is_some() || matches!(name, "count" | "sum" | "avg" | "mean" | "median") =>
        {
            Err(wrong_number(name, arguments.len(), "one"))
        }
        (other, _) => {
            let other: String = other.chars().take(40).collect();
            Err(Refusal::invalid(format!("unknown aggregate {other}, expected {KNOWN}")))
        }
    }
}

/// A sum over the number of its rows or values: their mean, which has a shorter error bar than the ratio of two answers.
///
/// `SUM(x)/COUNT(*)` is the mean of `COALESCE(x, 0)`, and `SUM(x)/COUNT(x)` that of x. Numbers before the sum stay before the mean.
pub(super) fn ratio(
    over: &Expr,
    under: &Expr,
    names: &mut Names,
    statistics: &mut Statistics,
) -> Result<Option<Value>, Refusal> {
    match (over, under) {
        (_, Expr::Call { name, distinct: false, arguments }) if name == "nullif" => match &arguments[..] {
            [under, Expr::Number(0.0)] => ratio(over, under, names, statistics),
            _ => Ok(None),
        },
        (Expr::Negated(inner), _) => {
            let mean = ratio(inner, under, names, statistics)?;
            Ok(mean.map(|mean| arithmetic(Operator::Multiply, Value::Number(-1.0), mean)))
        }
        (Expr::Arithmetic(Operator::Multiply, left, right), _) => match (&**left, &**right) {
            (Expr::Number(factor), inner) | (inner, Expr::Number(factor)) => {
                let mean = ratio(inner, under, names, statistics)?;
                Ok(mean.map(|mean| arithmetic(Operator::Multiply, Value::Number(*factor), mean)))
            }
            _ => Ok(None),
        },
        (Expr::Call { name, distinct: false, arguments }, _) => {
            let [of] = &arguments[..] else { return Ok(None) };
            let mean = match (name.as_str(), under) {
                ("sum", Expr::CountAll) => zeroed(&rows::number(of, names)?),
                ("count", Expr::CountAll) => {
                    let there = Predicate::NumberMissing(countable(of, names)?, true);
                    Scalar::Case(vec![(there, Scalar::Constant(1.0))], Some(Box::new(Scalar::Constant(0.0))))
                }
                ("sum", Expr::Call { name, distinct: false, arguments: counted })
                    if name == "count" && counted == arguments =>
                {
                    rows::number(of, names)?
                }
                _ => return Ok(None),
            };
            Ok(Some(statistics.add(Wanted::Of(mean, Statistic::Mean(Side::First)))))
        }
        _ => Ok(None),
    }
}

fn wrong_number(name: &str, found: usize, expected: &str) -> Refusal {
    Refusal::invalid(format!("{} has {found} arguments, expected {expected}", name.to_uppercase()))
}

fn variance(name: &str) -> Option<Statistic> {
    let of = |is_sample, root| Some(Statistic::Variance { side: Side::First, is_sample, root });
    match name {
        "variance" | "var_pop" => of(false, false),
        "stddev" | "stddev_pop" => of(false, true),
        "var_samp" => of(true, false),
        "stddev_samp" => of(true, true),
        _ => None,
    }
}

/// A statistic of two columns, from the statistics that are read off their sums.
type OfTwo = fn(&mut dyn FnMut(Statistic) -> Value) -> Value;

/// Statistics of two columns, as SQL has them: the first argument is y, the second x. Of the sums x is the first column.
fn of_two(name: &str) -> Option<OfTwo> {
    const X: Statistic = Statistic::Variance { side: Side::First, is_sample: false, root: false };
    const Y: Statistic = Statistic::Variance { side: Side::Second, is_sample: false, root: false };
    const BOTH: Statistic = Statistic::Covariance { is_sample: false };
    fn slope(add: &mut dyn FnMut(Statistic) -> Value) -> Value {
        arithmetic(Operator::Divide, add(BOTH), add(X))
    }
    fn correlation(add: &mut dyn FnMut(Statistic) -> Value) -> Value {
        let spread = arithmetic(Operator::Multiply, add(X), add(Y));
        let value = arithmetic(Operator::Divide, add(BOTH), Value::Function(Function::Root, vec![spread]));
        let most = Value::Function(Function::Least, vec![value, Value::Number(1.0)]);
        Value::Function(Function::Greatest, vec![most, Value::Number(-1.0)])
    }
    Some(match name {
        "corr" => correlation,
        "covar_pop" => |add| add(BOTH),
        "covar_samp" => |add| add(Statistic::Covariance { is_sample: true }),
        "regr_slope" => slope,
        "regr_intercept" => |add| {
            let through = arithmetic(Operator::Multiply, slope(add), add(Statistic::Mean(Side::First)));
            arithmetic(Operator::Subtract, add(Statistic::Mean(Side::Second)), through)
        },
        "regr_r2" => |add| Value::Function(Function::Square, vec![correlation(add)]),
        "regr_avgx" => |add| add(Statistic::Mean(Side::First)),
        "regr_avgy" => |add| add(Statistic::Mean(Side::Second)),
        "regr_count" => |add| add(Statistic::Count),
        _ => return None,
    })
}

pub(super) fn arithmetic(operator: Operator, left: Value, right: Value) -> Value {
    Value::Arithmetic(operator, Box::new(left), Box::new(right))
}

/// What is counted where it is there: a string, which becomes 1, a date or a number.
fn countable(of: &Expr, names: &mut Names) -> Result<Scalar, Refusal> {
    if is_text(of, names)? {
        let there = Predicate::TextMissing(text(of, names)?, true);
        return Ok(Scalar::Case(vec![(there, Scalar::Constant(1.0))], None));
    }
    match dates::dated(of, names)? {
        Some(date) => date.days(),
        None => rows::number(of, names),
    }
}

/// Whether these are persons: all of the columns that tell them apart, of one table.
fn units(all: &[Expr], names: &mut Names) -> Result<(), Refusal> {
    let mut found: Vec<(usize, usize)> = Vec::new();
    for one in all {
        if let Expr::Column(table, name) = one
            && let Meaning::Unit(place, at) = names.find(table.as_ref(), name)?
        {
            found.push((place, at));
        }
    }
    found.sort_unstable();
    let is_unit = |place: usize| {
        let columns = (0..names.sources[place].unit.len()).map(|at| (place, at));
        all.len() == found.len() && found.iter().copied().eq(columns)
    };
    if let Some((place, _)) = found.first().copied().filter(|(place, _)| is_unit(*place)) {
        if matches!(names.sources[place].join, Some((JoinKind::Left, _))) {
            return Err(Refusal::invalid(format!(
                "COUNT(DISTINCT …) counts the privacy ID of a left-joined table, which may be missing; \
                 count that of the first table: {}",
                names.sources[0].unit.join(", ")
            )));
        }
        return Ok(());
    }
    let unit = names.sources[0].unit.join(", ");
    Err(Refusal::invalid(format!(
        "COUNT(DISTINCT …) supports only the privacy ID, because one person can add any number of other \
         distinct values; use COUNT(DISTINCT {unit}), or GROUP BY to list values that are frequent"
    )))
}
