//! The answer of a query and its preview, in words and as JSON.

use crate::{args::QueryArgs, commands::release::shown, meaning::clean, text};
use serde_json::{Map, Value, json};
use veracity::{
    Error,
    report::{
        decimal,
        table::{align, align_all},
    },
    sql::{Cell, OutputValue, Prepared, QueryDone},
};

/// Digits of an error bar.
const ERROR_DIGITS: usize = 2;

pub fn answer_words(args: &QueryArgs, prepared: &Prepared, done: &QueryDone) -> String {
    let mut head: Vec<String> = Vec::new();
    for output in &done.outputs {
        head.push(clean(&output.name));
        if matches!(output.value, OutputValue::Aggregate(_)) {
            head.push("± 95%".to_owned());
        }
    }
    let mut rows: Vec<Vec<String>> = Vec::new();
    for row in &done.rows {
        let mut line = Vec::new();
        for cell in row {
            match cell {
                Cell::Key(key) => line.push(clean(key)),
                Cell::Number(noisy) => {
                    line.push(shown(noisy.answer, noisy.error_bar));
                    line.push(decimal::up(noisy.error_bar, ERROR_DIGITS));
                }
            }
        }
        rows.push(line);
    }
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    let lines: Vec<Vec<&str>> = rows.iter().map(|row| row.iter().map(String::as_str).collect()).collect();
    let mut text = align_all(&head, &lines);
    if done.rows.is_empty() {
        text += "no rows\n";
    }
    text += "\n";
    text += &cost_words(prepared);
    text += &format!("claim written to {}\n", done.path.display());
    if args.answer.seed.is_some() {
        text += "seeded: not for release\n";
    }
    text
}

/// What it costs, and how much of one person counts.
fn cost_words(prepared: &Prepared) -> String {
    let mut lines = text::answer(&prepared.subject, &prepared.answer);
    lines.truncate(lines.find('\n').map_or(lines.len(), |end| end + 1));
    let (plan, unit) = (&prepared.plan, prepared.plan.unit.name());
    let rows = match plan.caps.rows.get() {
        1 => "one row".to_owned(),
        rows => format!("at most {rows} rows"),
    };
    lines += &match (plan.keys.is_empty(), plan.caps.groups.get()) {
        (true, _) => format!("{rows} of each {unit} count\n"),
        (false, 1) => format!("{rows} of each {unit} count, in one group\n"),
        (false, groups) => format!("{rows} of each {unit} count in each of at most {groups} groups\n"),
    };
    lines += &join_words(prepared);
    if let Some(threshold) = prepared.threshold {
        lines += &format!("groups are shown from a noisy {} {unit}s on\n", decimal::nearest(threshold, 6));
    }
    lines
}

/// How many rows of one person are joined to another private table.
fn join_words(prepared: &Prepared) -> String {
    let mut tables: Vec<(&str, u64)> = Vec::new();
    for source in &prepared.plan.sources {
        let table = source.most.map(|most| (source.table.name.as_str(), most.get()));
        tables.extend(table.filter(|table| !tables.contains(table)));
    }
    if tables.is_empty() {
        return String::new();
    }
    let tables: Vec<String> =
        tables.iter().map(|(name, most)| format!("{most} of {}", clean(name))).collect();
    format!("rows of each {} that are joined: at most {}\n", prepared.plan.unit.name(), tables.join(", "))
}

pub fn preview_words(prepared: &Prepared, rows: u64) -> Result<String, Error> {
    let mut lines: Vec<Vec<String>> = Vec::new();
    for aggregate in 0..prepared.plan.aggregates.len() {
        let cost = prepared.cost_of(aggregate)?;
        let epsilon = cost.epsilon.upper().map_or(f64::INFINITY, |upper| upper.0.get());
        lines.push(vec![
            clean(&prepared.name_of(aggregate)),
            format!("± {}", decimal::up(prepared.expected_error(aggregate, rows), ERROR_DIGITS)),
            decimal::up(epsilon, 4),
        ]);
    }
    let lines: Vec<Vec<&str>> = lines.iter().map(|row| row.iter().map(String::as_str).collect()).collect();
    Ok(format!(
        "{}\n{}{}{rows} rows assumed in a group\ndry run: no row was read, nothing was released or spent\n",
        align_all(&["column", "95%", "epsilon by itself"], &lines),
        cost_words(prepared),
        suppressed_words(prepared)
    ))
}

/// The share of groups of unknown keys that would not be shown, by how many units are in them.
fn suppressed_words(prepared: &Prepared) -> String {
    let suppressed = prepared.suppressed();
    if suppressed.is_empty() {
        return String::new();
    }
    let unit = prepared.plan.unit.name();
    let share = |(_, upper): (f64, f64)| format!("{} %", decimal::up(100.0 * upper, 4));
    let rows: Vec<[String; 2]> =
        suppressed.iter().map(|(units, chance)| [units.to_string(), share(*chance)]).collect();
    let head = format!("{unit}s in a group");
    format!("\n{}\n", align([head.as_str(), "not shown, at most"], &rows))
}

pub fn preview_json(prepared: &Prepared, rows: u64) -> Result<Value, Error> {
    let mut object = text::cost(&prepared.subject, &prepared.answer)?;
    let mut columns = Vec::new();
    for aggregate in 0..prepared.plan.aggregates.len() {
        let cost = text::cost(&prepared.subject, &prepared.cost_of(aggregate)?)?;
        columns.push(json!({
            "name": prepared.name_of(aggregate),
            "error_bar": prepared.expected_error(aggregate, rows),
            "epsilon": cost["epsilon"],
            "delta": cost["delta"],
        }));
    }
    object["schema"] = json!("veracity.query-preview/1");
    object["columns"] = json!(columns);
    object["rows_assumed"] = json!(rows);
    let suppressed = prepared.suppressed().into_iter().map(
        |(units, (lower, upper))| json!({ "units": units, "share": { "lower": lower, "upper": upper } }),
    );
    object["suppressed"] = json!(suppressed.collect::<Vec<_>>());
    plan_json(prepared, &mut object);
    Ok(object)
}

pub fn answer_json(prepared: &Prepared, done: &QueryDone) -> Result<Value, Error> {
    let mut object = text::cost(&prepared.subject, &prepared.answer)?;
    let rows: Vec<Value> = done
        .rows
        .iter()
        .map(|row| {
            let cells = done.outputs.iter().zip(row).map(|(output, cell)| {
                let value = match cell {
                    Cell::Key(key) => json!(key),
                    Cell::Number(noisy) => json!({ "answer": noisy.answer, "error_bar": noisy.error_bar }),
                };
                (output.name.clone(), value)
            });
            Value::Object(cells.collect::<Map<_, _>>())
        })
        .collect();
    let note = done.claim.release.as_ref();
    object["schema"] = json!("veracity.query/1");
    object["columns"] = json!(columns_json(done));
    object["rows"] = json!(rows);
    object["for_release"] = json!(note.is_some_and(|note| note.for_release));
    object["noise"] = json!(note.map_or(&[][..], |note| &note.noise));
    object["claim"] = json!(done.path.display().to_string());
    plan_json(prepared, &mut object);
    Ok(object)
}

/// The columns in the order of the query, which an object does not keep.
fn columns_json(done: &QueryDone) -> Vec<Value> {
    let kind = |value: &OutputValue| match value {
        OutputValue::Key(_) => "key",
        OutputValue::Aggregate(_) => "noisy",
    };
    done.outputs.iter().map(|output| json!({ "name": output.name, "kind": kind(&output.value) })).collect()
}

/// How much of one unit counts, and from how many units on a group of unknown keys is shown.
fn plan_json(prepared: &Prepared, object: &mut Value) {
    object["groups_per_person"] = json!(prepared.plan.caps.groups.get());
    object["rows_per_group"] = json!(prepared.plan.caps.rows.get());
    object["threshold"] = json!(prepared.threshold);
}
