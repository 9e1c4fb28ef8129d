//! `veracity query`: a question in SQL about people.

use crate::{
    Outcome,
    args::QueryArgs,
    charging::{self, Beginning, Charged, Printed},
    commands::release::shown,
    meaning::{clean, form},
    text,
};
use serde_json::{Map, Value, json};
use veracity::{
    Count, Delta, Epsilon, Error,
    query::NoiseKind,
    report::{decimal, table::align_all},
    spec::Whole,
    sql::{
        CapsWanted, Catalog, Cell, OutputValue, Prepared, QueryDone, QueryRequest, QuerySettings, ask,
        engine_for,
    },
};

/// Digits of an error bar.
const ERROR_DIGITS: usize = 2;
/// Rows of a group that a preview assumes where it is told none.
const USUAL_ROWS: u64 = 1000;

/// Previews or asks. The claim is on disk before the answer is on the screen.
pub fn run(args: &QueryArgs) -> Result<Outcome, Error> {
    let catalog = Catalog::open(&args.catalog)?;
    let count = |name: &'static str, number: Option<f64>| -> Result<Option<Count>, Error> {
        Ok(number.map(|number| Whole(number).count(name)).transpose()?)
    };
    let caps = CapsWanted {
        groups: count("groups per person", args.groups_per_person)?,
        rows: count("rows per group", args.rows_per_group)?,
    };
    let request = QueryRequest {
        query: args.query.clone(),
        epsilon: Epsilon::new(args.epsilon)?,
        delta: Delta::new(args.delta)?,
        kind: noise(args)?,
        caps,
    };
    let prepared = request.prepare(&catalog)?;
    if args.dry_run {
        let rows = count("rows", args.rows)?.map_or(USUAL_ROWS, Count::get);
        return Outcome::done(match args.json {
            true => text::json(&preview_json(&prepared, rows)?)?,
            false => preview_words(&prepared, rows)?,
        });
    }
    let settings =
        QuerySettings { claim: args.claim.clone(), dataset: args.dataset.clone(), seed: args.seed };
    let mut engine = engine_for(&prepared, args.engine.as_deref(), form(&args.form)?)?;
    // What is wrong with the tables as such need not cost anything.
    engine.prepare(&prepared.plan)?;
    let dataset = args.dataset.as_deref().unwrap_or(&prepared.plan.sources[0].table.name);
    let charged =
        match charging::charge(&args.charge, &prepared.subject, (dataset, &args.query), Beginning::Fresh)? {
            Charged::Known { printed, from } => return Outcome::done(printed.text_again(args.json, &from)?),
            charged => charged,
        };
    let done = match ask(&prepared, &mut *engine, &settings) {
        Ok(done) => done,
        Err(error) => {
            charged.forgo();
            return Err(error);
        }
    };
    let printed =
        Printed { words: answer_words(args, &prepared, &done), object: answer_json(&prepared, &done)? };
    charged.keep(&printed)?;
    Outcome::done(printed.text(args.json)?)
}

/// The noise that was asked for. Nobody said, and a ledger pays that adds up μ²: then what costs it least.
fn noise(args: &QueryArgs) -> Result<Option<NoiseKind>, Error> {
    let prefers = args.noise.is_none() && args.delta > 0.0 && charging::prefers_gaussian(&args.charge)?;
    Ok(if prefers { Some(NoiseKind::Gaussian) } else { args.noise })
}

fn answer_words(args: &QueryArgs, prepared: &Prepared, done: &QueryDone) -> String {
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
    if args.seed.is_some() {
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
    if let Some(threshold) = prepared.threshold {
        lines += &format!("groups are shown from a noisy {} {unit}s on\n", decimal::nearest(threshold, 6));
    }
    lines
}

fn preview_words(prepared: &Prepared, rows: u64) -> Result<String, Error> {
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
        "{}\n{}{rows} rows assumed in a group\ndry run: no row was read, nothing was released or spent\n",
        align_all(&["column", "95%", "epsilon by itself"], &lines),
        cost_words(prepared)
    ))
}

fn preview_json(prepared: &Prepared, rows: u64) -> Result<Value, Error> {
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
    plan_json(prepared, &mut object);
    Ok(object)
}

fn answer_json(prepared: &Prepared, done: &QueryDone) -> Result<Value, Error> {
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
    object["rows"] = json!(rows);
    object["for_release"] = json!(note.is_some_and(|note| note.for_release));
    object["noise"] = json!(note.map_or(&[][..], |note| &note.noise));
    object["claim"] = json!(done.path.display().to_string());
    plan_json(prepared, &mut object);
    Ok(object)
}

/// How much of one unit counts, and from how many units on a group of unknown keys is shown.
fn plan_json(prepared: &Prepared, object: &mut Value) {
    object["groups_per_person"] = json!(prepared.plan.caps.groups.get());
    object["rows_per_group"] = json!(prepared.plan.caps.rows.get());
    object["threshold"] = json!(prepared.threshold);
}
