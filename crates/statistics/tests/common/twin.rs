//! A slow and obvious evaluator of plans, by nested loops. It gives the whole numbers that an engine must give.

use super::{Cell, Data};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use veracity_statistics::sql::{
    Column, ColumnRef, Comparison, Extreme, Input, JoinKind, Measure, Operator, PerUnit, Plan, Predicate,
    Row, RowsOf, Scalar, Sizes, Source, Summand, TextScalar, Totals,
};

/// A row of a source: whose it is, and its declared columns, clamped.
struct Line {
    unit: Vec<Option<String>>,
    cells: Vec<Cell>,
}

/// A row of the join: one line of each table so far, or none where a left join found no partner.
type Joined<'a> = Vec<Option<&'a Line>>;

/// A row that counts, before any cap.
#[derive(Debug, Clone)]
struct CountedRow {
    unit: Vec<String>,
    keys: Vec<String>,
    wholes: Vec<Option<i64>>,
    floats: Vec<Option<f64>>,
}

/// The whole numbers of a plan; `secret` as an engine is given it.
pub fn twin(plan: &Plan, tables: &[Data], secret: &str) -> Totals {
    let others = plan.others.iter().map(|other| twin(other, tables, secret)).collect();
    let all = rows_that_count(plan, tables, secret);
    let of_unit =
        |rows: &[CountedRow], unit: &Vec<String>| rows.iter().filter(|row| row.unit == *unit).count() as u64;
    let units: BTreeSet<Vec<String>> = all.iter().map(|row| row.unit.clone()).collect();
    let kept = capped(plan, all.clone(), secret);
    let cut = plan.cut.map(|most| {
        let left_out = units.iter().map(|unit| of_unit(&all, unit) - of_unit(&kept, unit));
        left_out.map(|rows| rows.min(most.get())).sum::<u64>() as i64
    });
    let mut groups: BTreeMap<Vec<String>, Vec<CountedRow>> = BTreeMap::new();
    if plan.keys.is_empty() {
        groups.insert(Vec::new(), Vec::new());
    }
    for row in kept {
        groups.entry(row.keys.clone()).or_default().push(row);
    }
    let sums = groups.iter().map(|(keys, rows)| {
        let mut numbers: Vec<i64> = plan.sums.iter().map(|summand| total(plan, *summand, rows)).collect();
        if numbers.is_empty() {
            numbers.push(rows.len() as i64);
        }
        Row { keys: keys.clone(), numbers }
    });
    let mut tallies = Vec::new();
    for input in &plan.tallies {
        let mut tally = Vec::new();
        for (keys, rows) in &groups {
            let mut counts: BTreeMap<i64, i64> = BTreeMap::new();
            for whole in rows.iter().filter_map(|row| row.wholes[*input]) {
                *counts.entry(whole).or_default() += 1;
            }
            let rows = counts.iter().map(|(whole, n)| Row { keys: keys.clone(), numbers: vec![*whole, *n] });
            tally.extend(rows);
        }
        tally.sort();
        tallies.push(tally);
    }
    Totals { sums: sums.collect(), tallies, cut, others }
}

/// The numbers that count, as floats: what an answer is the truth of. One list for each group and input.
pub fn values(plan: &Plan, tables: &[Data], secret: &str) -> BTreeMap<Vec<String>, Vec<Vec<f64>>> {
    let mut groups: BTreeMap<Vec<String>, Vec<Vec<f64>>> = BTreeMap::new();
    for row in capped(plan, rows_that_count(plan, tables, secret), secret) {
        let lists = groups.entry(row.keys).or_insert_with(|| vec![Vec::new(); plan.inputs.len()]);
        for (list, float) in lists.iter_mut().zip(row.floats) {
            list.extend(float);
        }
    }
    groups
}

fn total(plan: &Plan, summand: Summand, rows: &[CountedRow]) -> i64 {
    let wholes = |input: usize| rows.iter().filter_map(move |row| row.wholes[input]);
    match summand {
        Summand::Rows => rows.len() as i64,
        Summand::Units => rows.iter().map(|row| &row.unit).collect::<BTreeSet<_>>().len() as i64,
        Summand::Present(input) => wholes(input).count() as i64,
        Summand::Total(input) => wholes(input).sum(),
        Summand::Square(input) => {
            let grid = plan.inputs[input].grid;
            wholes(input).map(|q| (2 * q - grid.least - grid.most).pow(2)).sum()
        }
        Summand::Product(first, second) => {
            let centred = |row: &CountedRow, input: usize| {
                let grid = plan.inputs[input].grid;
                row.wholes[input].map(|q| 2 * q - grid.least - grid.most)
            };
            rows.iter().filter_map(|row| Some(centred(row, first)? * centred(row, second)?)).sum()
        }
    }
}

/// Rows within the caps.
fn capped(plan: &Plan, rows: Vec<CountedRow>, secret: &str) -> Vec<CountedRow> {
    let mut units: BTreeMap<Vec<String>, BTreeMap<Vec<String>, Vec<CountedRow>>> = BTreeMap::new();
    for row in rows {
        units.entry(row.unit.clone()).or_default().entry(row.keys.clone()).or_default().push(row);
    }
    let rank = |parts: Vec<String>| first_bits(secret, parts);
    let (most_groups, most_rows) = (plan.caps.groups.get() as usize, plan.caps.rows.get() as usize);
    let mut kept = Vec::new();
    for (unit, groups) in units {
        let mut ranked: Vec<(u64, Vec<String>, Vec<CountedRow>)> = groups
            .into_iter()
            .map(|(keys, rows)| (rank(unit.iter().chain(&keys).cloned().collect()), keys, rows))
            .collect();
        ranked.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
        for (_, keys, mut rows) in ranked.into_iter().take(most_groups) {
            // A number that is missing stands before the others.
            rows.sort_by(|a, b| a.wholes.cmp(&b.wholes));
            kept.extend(spread(rows, most_rows, rank(unit.iter().chain(&keys).cloned().collect())));
        }
    }
    kept
}

/// The first 60 bits of SHA-256 over texts.
fn first_bits(secret: &str, parts: Vec<String>) -> u64 {
    let bar = format!("|{}", &secret[..4]);
    let text = std::iter::once(secret.to_owned()).chain(parts).collect::<Vec<_>>().join(&bar);
    let digest = Sha256::digest(text.as_bytes());
    digest[..8].iter().fold(0u64, |word, byte| word << 8 | u64::from(*byte)) >> 4
}

/// So many of some rows that stand in order, at even distances: the one that the key turns to 0, and from there those at or next after
/// each m-th part of the way around.
fn spread<T>(rows: Vec<T>, most: usize, key: u64) -> Vec<T> {
    let all = rows.len();
    if all <= most {
        return rows;
    }
    let chosen: BTreeSet<usize> = (0..most).map(|part| (part * all).div_ceil(most)).collect();
    let turned = |at: usize| (at + 1 + (key % all as u64) as usize) % all;
    rows.into_iter().enumerate().filter(|(at, _)| chosen.contains(&turned(*at))).map(|(_, row)| row).collect()
}

/// As many lines of each unit as are joined to another private table, at even distances in the order of their values.
fn few_of_each_unit(source: &Source, place: usize, lines: Vec<Line>, secret: &str) -> Vec<Line> {
    let Some(most) = source.most else { return lines };
    let mut units: BTreeMap<Vec<Option<String>>, Vec<Line>> = BTreeMap::new();
    for line in lines {
        units.entry(line.unit.clone()).or_default().push(line);
    }
    let values = |line: &Line| -> Vec<(bool, f64, String)> {
        let value = |cell: &Cell| {
            let missing = matches!(cell, Cell::Null);
            (!missing, cell.number().unwrap_or(0.0), cell.text().unwrap_or("").to_owned())
        };
        line.cells.iter().map(value).collect()
    };
    let mut few = Vec::new();
    for (unit, mut lines) in units {
        // Lines of nobody are never counted.
        let Some(unit) = unit.into_iter().collect::<Option<Vec<String>>>() else { continue };
        lines.sort_by(|a, b| values(a).partial_cmp(&values(b)).expect("no NaN is left"));
        let key = first_bits(&format!("{secret} table {place}"), unit);
        few.extend(spread(lines, most.get() as usize, key));
    }
    few
}

/// One line for each unit: what is computed of its lines.
fn one_of_each_unit(
    source: &Source,
    per_unit: &PerUnit,
    place: usize,
    (tables, secret): (&[Data], &str),
) -> Vec<Line> {
    let mut lines = read(&per_unit.rows, tables);
    lines.retain(|line| {
        per_unit.filter.as_ref().is_none_or(|filter| holds(filter, &vec![Some(line)]) == Some(true))
    });
    let lines = few_of_each_unit(&per_unit.rows, place, lines, secret);
    let mut units: BTreeMap<Vec<Option<String>>, Vec<Line>> = BTreeMap::new();
    for line in lines {
        units.entry(line.unit.clone()).or_default().push(line);
    }
    let of_unit = |(unit, lines): (Vec<Option<String>>, Vec<Line>)| {
        assert!(unit.iter().all(Option::is_some) && lines.len() as u64 <= per_unit.rows.most.unwrap().get());
        let cells = source.columns.iter().map(|(name, declared)| {
            let Column::Number(bounds) = declared else { panic!("{name} is no number") };
            let found = measured(&per_unit.measures[name], &lines);
            // The bounds hold of themselves: nothing is moved to them.
            assert!(
                found.is_none_or(|x| bounds.lower() <= x && x <= bounds.upper()),
                "{name}: {found:?} {bounds:?}"
            );
            found.map_or(Cell::Null, Cell::Number)
        });
        Line { cells: cells.collect(), unit }
    };
    units.into_iter().map(of_unit).collect()
}

fn measured(measure: &Measure, lines: &[Line]) -> Option<f64> {
    let numbers = |scalar: &Scalar| -> Vec<f64> {
        lines.iter().filter_map(|line| number(scalar, &vec![Some(line)])).collect()
    };
    let wholes = |input: &Input| -> Vec<i64> {
        let steps = |x: f64| ((x - input.grid.offset) * 2f64.powi(input.grid.exponent) + 0.5).floor() as i64;
        numbers(&input.scalar).into_iter().map(steps).collect()
    };
    let sum = |input: &Input| {
        let wholes = wholes(input);
        (!wholes.is_empty()).then(|| (wholes.iter().sum::<i64>() as f64, wholes.len() as f64))
    };
    match measure {
        Measure::Rows => Some(lines.len() as f64),
        Measure::Present(input) => Some(numbers(&input.scalar).len() as f64),
        Measure::Sum(input) => sum(input).map(|(sum, _)| sum * 2f64.powi(-input.grid.exponent)),
        Measure::Mean(input) => sum(input).map(|(sum, n)| sum / n * 2f64.powi(-input.grid.exponent)),
        Measure::Extreme(Extreme::Least, scalar) => numbers(scalar).into_iter().reduce(f64::min),
        Measure::Extreme(Extreme::Greatest, scalar) => numbers(scalar).into_iter().reduce(f64::max),
    }
}

/// How many rows each unit has in the group of its own where it has most, and in how many groups it is.
fn sizes(plan: &Plan, tables: &[Data], secret: &str) -> Vec<(u64, u64)> {
    let mut units: BTreeMap<Vec<String>, BTreeMap<Vec<String>, u64>> = BTreeMap::new();
    for row in rows_that_count(plan, tables, secret) {
        *units.entry(row.unit).or_default().entry(row.keys).or_default() += 1;
    }
    units.into_values().map(|groups| (groups.values().copied().max().unwrap(), groups.len() as u64)).collect()
}

/// The caps that can be chosen, as the documentation lists them.
const LIST: [u64; 10] = [1, 2, 3, 5, 10, 20, 50, 100, 200, 500];

/// How many units have each place on the list of caps; the last place is of those that fit none.
pub fn places(plan: &Plan, tables: &[Data], secret: &str) -> Sizes {
    let mut found = Sizes { rows: vec![0; 11], groups: vec![0; 11] };
    let place = |number: u64| LIST.iter().position(|cap| number <= *cap).unwrap_or(10);
    for (rows, groups) in sizes(plan, tables, secret) {
        found.rows[place(rows)] += 1;
        found.groups[place(groups)] += 1;
    }
    found
}

fn rows_that_count(plan: &Plan, tables: &[Data], secret: &str) -> Vec<CountedRow> {
    let few = |(place, source): (usize, &Source)| match &source.per_unit {
        Some(per_unit) => one_of_each_unit(source, per_unit, place, (tables, secret)),
        None => few_of_each_unit(source, place, read(source, tables), secret),
    };
    let lines: Vec<Vec<Line>> = plan.sources.iter().enumerate().map(few).collect();
    let mut joined: Vec<Joined<'_>> = lines[0].iter().map(|line| vec![Some(line)]).collect();
    for (source, lines) in plan.sources.iter().zip(&lines).skip(1) {
        let (kind, on) = source.join.as_ref().expect("only the first table is not joined");
        let mut wider = Vec::new();
        for row in joined {
            let before = wider.len();
            for line in lines {
                let mut candidate = row.clone();
                candidate.push(Some(line));
                if holds(on, &candidate) == Some(true) {
                    wider.push(candidate);
                }
            }
            if wider.len() == before && *kind == JoinKind::Left {
                let mut alone = row;
                alone.push(None);
                wider.push(alone);
            }
        }
        joined = wider;
    }
    joined.iter().filter_map(|row| counted(plan, row)).collect()
}

fn counted(plan: &Plan, row: &Joined<'_>) -> Option<CountedRow> {
    let mut unit = row[0]?.unit.iter().cloned().collect::<Option<Vec<String>>>()?;
    if let Some(period) = &plan.period {
        unit.push(text(period, row)?);
    }
    let mut keys = Vec::new();
    for key in &plan.keys {
        let text = text(&key.text, row)?;
        if key.public.as_ref().is_some_and(|public| !public.contains(&text)) {
            return None;
        }
        keys.push(text);
    }
    if plan.filter.as_ref().is_some_and(|filter| holds(filter, row) != Some(true)) {
        return None;
    }
    let floats: Vec<Option<f64>> = plan.inputs.iter().map(|input| number(&input.scalar, row)).collect();
    let whole = |(x, input): (&Option<f64>, &Input)| {
        let steps = ((*x)? - input.grid.offset) * 2f64.powi(input.grid.exponent);
        Some((steps + 0.5).floor() as i64)
    };
    let wholes = floats.iter().zip(&plan.inputs).map(whole).collect();
    Some(CountedRow { unit, keys, wholes, floats })
}

fn read(source: &Source, tables: &[Data]) -> Vec<Line> {
    let table = tables.iter().find(|table| table.name == source.table.name).expect("the world has it");
    let place = |name: &String| table.columns.iter().position(|(known, _)| known == name).expect("a column");
    table
        .rows
        .iter()
        .map(|row| Line {
            unit: source.unit.iter().map(|name| row[place(name)].text().map(str::to_owned)).collect(),
            cells: source
                .columns
                .iter()
                .map(|(name, declared)| match (&row[place(name)], declared) {
                    (Cell::Number(x), Column::Number(_)) if x.is_nan() => Cell::Null,
                    (Cell::Number(x), Column::Number(bounds)) => {
                        Cell::Number(x.max(bounds.lower()).min(bounds.upper()))
                    }
                    (Cell::Text(text), Column::Date(first, last)) => match julian_day(text) {
                        // The date of a person's period.
                        Some(day)
                            if matches!(&source.table.rows_of, RowsOf::Units { period: Some((_, date)), .. } if date == name)
                                && !(*first..=*last).contains(&(day - 2_440_588)) =>
                        {
                            Cell::Null
                        }
                        Some(day) => Cell::Number((day - 2_440_588).max(*first).min(*last) as f64),
                        None => Cell::Null,
                    },
                    (cell, _) => cell.clone(),
                })
                .collect(),
        })
        .collect()
}

/// The Julian day of a date, by the formula of Fliegel and Van Flandern (1968), which is right where it leads back to the same date.
/// 1970-01-01 is 2440588.
pub fn julian_day(text: &str) -> Option<i64> {
    let chars: Vec<char> = text.chars().collect();
    let shape = |c: &char| if c.is_ascii_digit() { '9' } else { *c };
    if chars.len() < 10 || chars[..10].iter().map(shape).collect::<String>() != "9999-99-99" {
        return None;
    }
    if chars.len() > 10 && !" T".contains(chars[10]) {
        return None;
    }
    let number = |from: usize, to: usize| chars[from..to].iter().collect::<String>().parse::<i64>().unwrap();
    let (i, j, k) = (number(0, 4), number(5, 7), number(8, 10));
    let jd = k - 32075 + 1461 * (i + 4800 + (j - 14) / 12) / 4 + 367 * (j - 2 - (j - 14) / 12 * 12) / 12
        - 3 * ((i + 4900 + (j - 14) / 12) / 100) / 4;
    (i > 0 && gregorian(jd) == (i, j, k)).then_some(jd)
}

/// The date of a Julian day, from the same letter.
pub fn gregorian(jd: i64) -> (i64, i64, i64) {
    let mut l = jd + 68569;
    let n = 4 * l / 146_097;
    l -= (146_097 * n + 3) / 4;
    let i = 4000 * (l + 1) / 1_461_001;
    l = l - 1461 * i / 4 + 31;
    let j = 80 * l / 2447;
    let day = l - 2447 * j / 80;
    l = j / 11;
    (100 * (n - 49) + i + l, j + 2 - 12 * l, day)
}

fn text_of(at: ColumnRef, row: &Joined<'_>) -> Option<String> {
    row[at.table]?.cells[at.column].text().map(str::to_owned)
}

fn text(text_scalar: &TextScalar, row: &Joined<'_>) -> Option<String> {
    match text_scalar {
        TextScalar::Column(at) => text_of(*at, row),
        TextScalar::Constant(constant) => Some(constant.clone()),
        TextScalar::Null => None,
        TextScalar::Digits(inner) => {
            let x = number(inner, row)?;
            assert!(x.fract() == 0.0 && x.abs() <= 9_007_199_254_740_992.0, "a key is no integer: {x}");
            Some(format!("{x:.0}").replace("-0", if x == 0.0 { "0" } else { "-0" }))
        }
        TextScalar::Lower(inner) => {
            let lower = |c: char| if c.is_ascii_uppercase() { (c as u8 + 32) as char } else { c };
            Some(text(inner, row)?.chars().map(lower).collect())
        }
        TextScalar::Upper(inner) => {
            let upper = |c: char| if c.is_ascii_lowercase() { (c as u8 - 32) as char } else { c };
            Some(text(inner, row)?.chars().map(upper).collect())
        }
        TextScalar::Trimmed(inner) => {
            let mut left = text(inner, row)?;
            while let Some(rest) = left.strip_prefix(' ') {
                left = rest.to_owned();
            }
            while let Some(rest) = left.strip_suffix(' ') {
                left = rest.to_owned();
            }
            Some(left)
        }
        TextScalar::Case(branches, otherwise) => {
            match branches.iter().find(|(condition, _)| holds(condition, row) == Some(true)) {
                Some((_, result)) => text(result, row),
                None => otherwise.as_ref().and_then(|other| text(other, row)),
            }
        }
    }
}

/// By the definition of a pattern.
fn is_like(text: &[char], pattern: &[char]) -> bool {
    match pattern.split_first() {
        None => text.is_empty(),
        Some(('%', rest)) => (0..=text.len()).any(|from| is_like(&text[from..], rest)),
        Some((one, rest)) => text
            .split_first()
            .is_some_and(|(first, left)| (*one == '_' || one == first) && is_like(left, rest)),
    }
}

fn number(scalar: &Scalar, row: &Joined<'_>) -> Option<f64> {
    match scalar {
        Scalar::Column(at) => row[at.table]?.cells[at.column].number(),
        Scalar::Constant(x) => Some(*x),
        Scalar::Null => None,
        Scalar::Negated(inner) => number(inner, row).map(|x| -x),
        Scalar::Absolute(inner) => number(inner, row).map(f64::abs),
        Scalar::Floor(inner) => number(inner, row).map(f64::floor),
        Scalar::Extreme(extreme, left, right) => {
            let both = [number(left, row)?, number(right, row)?];
            Some(match extreme {
                Extreme::Least => both.into_iter().fold(f64::INFINITY, f64::min),
                Extreme::Greatest => both.into_iter().fold(f64::NEG_INFINITY, f64::max),
            })
        }
        Scalar::Coalesce(all) => all.iter().find_map(|one| number(one, row)),
        Scalar::Arithmetic(operator, left, right) => {
            let (a, b) = (number(left, row)?, number(right, row)?);
            Some(match operator {
                Operator::Add => a + b,
                Operator::Subtract => a - b,
                Operator::Multiply => a * b,
                Operator::Divide => a / b,
            })
        }
        Scalar::Case(branches, otherwise) => {
            match branches.iter().find(|(condition, _)| holds(condition, row) == Some(true)) {
                Some((_, result)) => number(result, row),
                None => otherwise.as_ref().and_then(|other| number(other, row)),
            }
        }
    }
}

/// True, false or unknown.
fn holds(predicate: &Predicate, row: &Joined<'_>) -> Option<bool> {
    match predicate {
        Predicate::Constant(always) => Some(*always),
        Predicate::Numbers(comparison, left, right) => {
            let (a, b) = (number(left, row)?, number(right, row)?);
            Some(match comparison {
                Comparison::Equal => a == b,
                Comparison::Unequal => a != b,
                Comparison::Less => a < b,
                Comparison::AtMost => a <= b,
                Comparison::More => a > b,
                Comparison::AtLeast => a >= b,
            })
        }
        Predicate::Texts { differ, left, right } => {
            let (left, right) = (text(left, row)?, text(right, row)?);
            Some((left == right) != *differ)
        }
        Predicate::In { text: of, texts, negated } => Some(texts.contains(&text(of, row)?) != *negated),
        Predicate::Like(of, pattern) => {
            let (of, pattern): (Vec<char>, Vec<char>) =
                (text(of, row)?.chars().collect(), pattern.chars().collect());
            Some(is_like(&of, &pattern))
        }
        Predicate::NumberMissing(scalar, negated) => Some(number(scalar, row).is_none() != *negated),
        Predicate::TextMissing(at, negated) => Some(text(at, row).is_none() != *negated),
        Predicate::SameUnit(table, at) => {
            let of = |place: usize| row[place].and_then(|line| line.unit[*at].clone());
            Some(of(0)? == of(*table)?)
        }
        Predicate::Not(inner) => holds(inner, row).map(|held| !held),
        Predicate::And(all) => {
            let held: Vec<Option<bool>> = all.iter().map(|one| holds(one, row)).collect();
            if held.contains(&Some(false)) {
                Some(false)
            } else if held.contains(&None) {
                None
            } else {
                Some(true)
            }
        }
        Predicate::Or(any) => {
            let held: Vec<Option<bool>> = any.iter().map(|one| holds(one, row)).collect();
            if held.contains(&Some(true)) {
                Some(true)
            } else if held.contains(&None) {
                None
            } else {
                Some(false)
            }
        }
    }
}
