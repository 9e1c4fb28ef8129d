//! The answer of a query and its preview, as text and as JSON.

use crate::{
    args::QueryArgs,
    commands::release::shown,
    meaning::clean,
    text::{self, ERROR_DIGITS},
};
use serde_json::{Map, Value, json};
use veracity::{
    Error, decimal,
    sql::{Cell, Hint, NoisyNumber, OutputValue, Plan, PreparedQuery, QueryDone},
    words::table::{align, align_all},
};

/// A key that a grouping has not, as SQL shows it.
pub const NULL: &str = "NULL";
/// An answer that is undefined.
const UNDEFINED: &str = "–";
const UNDEFINED_WORDS: &str = "–: undefined, because the error bar of a part has no finite result, as after division by what may be 0\n";

pub fn answer_words(args: &QueryArgs, done: &QueryDone) -> String {
    let prepared = &done.prepared;
    let mut head: Vec<String> = Vec::new();
    for output in &done.outputs {
        head.push(clean(&output.name));
        if matches!(output.value, OutputValue::Noisy(_)) {
            head.push("± 95%".to_owned());
        }
    }
    let mut rows: Vec<Vec<String>> = Vec::new();
    for row in &done.rows {
        let mut line = Vec::new();
        for cell in row {
            match cell {
                Cell::Key(key) => line.push(clean(key)),
                Cell::Absent => line.push(NULL.to_owned()),
                Cell::Number(noisy) if noisy.is_defined() => {
                    line.push(shown(noisy.answer, noisy.error_bar));
                    line.push(decimal::up(noisy.error_bar, ERROR_DIGITS));
                }
                Cell::Number(_) => line.extend([UNDEFINED.to_owned(), UNDEFINED.to_owned()]),
            }
        }
        rows.push(line);
    }
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    let lines: Vec<Vec<&str>> = rows.iter().map(|row| row.iter().map(String::as_str).collect()).collect();
    let mut text = format!("{}\n", caps_words(prepared));
    text += &align_all(&head, &lines);
    if done.rows.is_empty() {
        text += "no rows\n";
    }
    if rows.iter().flatten().any(|cell| cell == UNDEFINED) {
        text += UNDEFINED_WORDS;
    }
    text += &cut_words(prepared, done);
    text += "\n";
    text += &cost_words(prepared);
    text += &hint_words(prepared, done);
    text += &format!("claim written to {}\n", done.path.display());
    if args.answer.seed.is_some() {
        text += "not for release: the noise was drawn from a seed\n";
    }
    text
}

/// How much of one person counts: it decides what the answers are of, so it stands above them.
fn caps_words(prepared: &PreparedQuery) -> String {
    let plan = &prepared.plan;
    let caps = caps_line(plan, plan.caps.rows.get(), plan.most_groups().get());
    format!("{caps}\n{}{}", suggestion_words(prepared), join_words(prepared))
}

/// How many rows the caps leave out, where they are counted.
fn cut_words(prepared: &PreparedQuery, done: &QueryDone) -> String {
    let Some(cut) = done.cut else { return String::new() };
    format!(
        "rows left out by the caps: {} ± {}, of which each {} adds at most {}\n",
        shown(cut.number.answer, cut.number.error_bar),
        decimal::up(cut.number.error_bar, ERROR_DIGITS),
        prepared.plan.unit.name(),
        cut.most
    )
}

/// What the choice of caps costs, before they are chosen.
fn suggestion_words(prepared: &PreparedQuery) -> String {
    let Some(suggestion) = &prepared.suggestion else { return String::new() };
    format!(
        "the caps are chosen from the data: each choice spends epsilon {}, and the answer {}; the errors below are for caps of 1\n",
        decimal::up(suggestion.epsilon.get(), 4),
        decimal::up(suggestion.left.get(), 4)
    )
}

/// The caps on rows and groups.
pub fn caps_line(plan: &Plan, rows: u64, groups: u64) -> String {
    let unit = plan.unit.name();
    let rows = match rows {
        1 => "at most 1 row".to_owned(),
        rows => format!("at most {rows} rows"),
    };
    let group = if plan.every.is_some() { "period" } else { "group" };
    let is_one = plan.groupings().all(|plan| plan.keys.is_empty());
    let line = match (is_one, groups) {
        (true, _) => format!("each {unit} contributes {rows}"),
        (false, 1) => format!("each {unit} contributes {rows} to at most 1 {group}"),
        (false, groups) => format!("each {unit} contributes {rows} to each of at most {groups} {group}s"),
    };
    let line = match plan.groupings().count() {
        1 => line,
        groupings => line + &format!(", in each of {groupings} groupings"),
    };
    // A sub-query per person has a cap of its own.
    let inner = plan.sources.iter().filter_map(|source| source.per_unit.as_ref()?.rows.most);
    inner.fold(line, |line, most| match most.get() {
        1 => line + ", computed from at most 1 row of the table",
        most => line + &format!(", computed from at most {most} rows of the table"),
    })
}

/// Where the noisy answers look as if nothing could be read, what may be wrong with the file.
fn hint_words(prepared: &PreparedQuery, done: &QueryDone) -> String {
    let lines = done.hints(prepared).into_iter().map(|hint| match hint {
        Hint::NoCells(column) => format!(
            "hint: hardly any cell of column {} could be read, or ε is too small to see it; check decimal, thousands and \
             delimiter in the catalog\n",
            clean(&column)
        ),
        Hint::NoRows => "hint: hardly any row was counted, or ε is too small to see it; check delimiter and encoding in the \
                         catalog, and the spelling of keys and conditions\n"
            .to_owned(),
    });
    lines.collect()
}

/// What it costs, and which groups are shown.
fn cost_words(prepared: &PreparedQuery) -> String {
    let mut lines = text::answer(&prepared.subject, &prepared.answer);
    lines.truncate(lines.find('\n').map_or(lines.len(), |end| end + 1));
    let unit = prepared.plan.unit.name();
    if let Some(threshold) = prepared.threshold {
        lines += &format!(
            "groups with a noisy count below {} {} are suppressed\n",
            decimal::nearest(threshold, 6),
            plural(unit)
        );
    }
    if prepared.plan.has_quantile() {
        lines += "error bars of quantiles: for values without large gaps around the quantile\n";
    }
    lines
}

/// The plural of a privacy unit.
fn plural(unit: &str) -> String {
    if unit == "person" { "people".to_owned() } else { format!("{unit}s") }
}

/// How many rows of one person are joined to another private table.
fn join_words(prepared: &PreparedQuery) -> String {
    let mut tables: Vec<(&str, u64)> = Vec::new();
    for source in &prepared.plan.sources {
        let table = source.most.map(|most| (source.table.name.as_str(), most.get()));
        tables.extend(table.filter(|table| !tables.contains(table)));
    }
    if tables.is_empty() {
        return String::new();
    }
    let tables: Vec<String> =
        tables.iter().map(|(name, most)| format!("{most} rows of {}", clean(name))).collect();
    format!("each {} contributes to joins at most {}\n", prepared.plan.unit.name(), tables.join(", "))
}

pub fn preview_words(prepared: &PreparedQuery, rows: u64, ledger: &str) -> Result<String, Error> {
    let mut lines: Vec<Vec<String>> = Vec::new();
    if prepared.plan.every.is_some() {
        return Ok(format!(
            "{}\n{}\n{}{ledger}dry run: no rows were read, nothing was released, no budget was spent\n",
            caps_words(prepared),
            periods_words(prepared)?,
            cost_words(prepared)
        ));
    }
    for column in prepared.columns() {
        let cost = prepared.cost_of(&column)?;
        let epsilon = cost.epsilon.upper().map_or(f64::INFINITY, |upper| upper.0.get());
        let error = prepared.expected_error(&column, rows);
        lines.push(vec![
            clean(&column.name),
            match error.is_finite() {
                true => format!("± {}", decimal::up(error, ERROR_DIGITS)),
                false => UNDEFINED.to_owned(),
            },
            decimal::up(epsilon, 4),
        ]);
    }
    let lines: Vec<Vec<&str>> = lines.iter().map(|row| row.iter().map(String::as_str).collect()).collect();
    Ok(format!(
        "{}\n{}\n{}{}assuming {rows} rows per group\n{ledger}dry run: no rows were read, nothing was released, no \
         budget was spent\n",
        caps_words(prepared),
        align_all(&["column", "95%", "epsilon alone"], &lines),
        cost_words(prepared),
        suppressed_words(prepared)
    ))
}

/// The largest errors of a query of every period, beside those of other ways.
fn periods_words(prepared: &PreparedQuery) -> Result<String, Error> {
    let mut lines: Vec<[String; 4]> = Vec::new();
    for (name, preview) in prepared.periods()? {
        let name = clean(name);
        let separate = format!("{} separate queries", preview.periods);
        let ways = [
            ("this query", preview.released),
            ("independent noise", preview.independent),
            (separate.as_str(), preview.separate),
        ];
        let bar = |error: f64| format!("± {}", decimal::up(error, ERROR_DIGITS));
        lines.extend(ways.map(|(way, errors)| {
            let total = errors.total.map_or("–".to_owned(), bar);
            [name.clone(), way.to_owned(), bar(errors.period), total]
        }));
    }
    let lines: Vec<Vec<&str>> = lines.iter().map(|row| row.iter().map(String::as_str).collect()).collect();
    Ok(align_all(&["largest 95% error", "", "of one period", "of a total so far"], &lines))
}

/// How likely the threshold suppresses a group of private keys, by the number of units in it.
fn suppressed_words(prepared: &PreparedQuery) -> String {
    let suppressed = prepared.suppressed();
    if suppressed.is_empty() {
        return String::new();
    }
    let share = |(_, upper): (f64, f64)| format!("{}%", decimal::up(100.0 * upper, 4));
    let rows: Vec<[String; 2]> =
        suppressed.iter().map(|(units, chance)| [units.to_string(), share(*chance)]).collect();
    let head = format!("{} in a group", plural(prepared.plan.unit.name()));
    format!("\n{}\n", align([head.as_str(), "suppressed with probability at most"], &rows))
}

pub fn preview_json(prepared: &PreparedQuery, rows: u64) -> Result<Value, Error> {
    let mut object = text::cost(&prepared.subject, &prepared.answer)?;
    let mut columns = Vec::new();
    for column in prepared.columns() {
        let cost = text::cost(&prepared.subject, &prepared.cost_of(&column)?)?;
        let error = prepared.expected_error(&column, rows);
        columns.push(json!({
            "name": column.name,
            "error_bar": error.is_finite().then_some(error),
            "epsilon": cost["epsilon"],
            "delta": cost["delta"],
        }));
    }
    object["schema"] = json!("veracity.query-preview/2");
    object["columns"] = json!(columns);
    object["rows_assumed"] = json!(rows);
    let suppressed = prepared.suppressed().into_iter().map(
        |(units, (lower, upper))| json!({ "units": units, "share": { "lower": lower, "upper": upper } }),
    );
    object["suppressed"] = json!(suppressed.collect::<Vec<_>>());
    plan_json(prepared, &mut object);
    Ok(object)
}

pub fn answer_json(done: &QueryDone) -> Result<Value, Error> {
    let prepared = &done.prepared;
    let mut object = text::cost(&prepared.subject, &prepared.answer)?;
    let rows: Vec<Value> = done
        .rows
        .iter()
        .map(|row| {
            let cells = done.outputs.iter().zip(row).map(|(output, cell)| {
                let value = match cell {
                    Cell::Key(key) => json!(key),
                    Cell::Absent => Value::Null,
                    Cell::Number(noisy) => number_json(*noisy),
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
    object["rows_cut"] = done.cut.map_or(Value::Null, |cut| number_json(cut.number));
    plan_json(prepared, &mut object);
    Ok(object)
}

/// A noisy number; null where it is undefined.
fn number_json(noisy: NoisyNumber) -> Value {
    let defined = noisy.is_defined().then_some(noisy);
    json!({
        "answer": defined.map(|noisy| noisy.answer),
        "error_bar": defined.map(|noisy| noisy.error_bar),
    })
}

/// The columns in the order of the query, which an object does not keep.
fn columns_json(done: &QueryDone) -> Vec<Value> {
    let kind = |value: &OutputValue| match value {
        OutputValue::Key(_) | OutputValue::Absent | OutputValue::Grouping(_) => "key",
        OutputValue::Noisy(_) => "noisy",
    };
    done.outputs.iter().map(|output| json!({ "name": output.name, "kind": kind(&output.value) })).collect()
}

/// How much of one unit counts, and from how many units on a group of unknown keys is shown.
fn plan_json(prepared: &PreparedQuery, object: &mut Value) {
    object["groups_per_person"] = json!(prepared.plan.most_groups().get());
    object["rows_per_group"] = json!(prepared.plan.caps.rows.get());
    object["threshold"] = json!(prepared.threshold);
}
