//! What was asked of a ledger: as a table, as JSON, and exported.

use crate::{
    Outcome,
    args::{LedgerExportArgs, LedgerShowArgs},
    meaning::clean,
    text,
};
use serde_json::{Value, json};
use veracity::{
    Error, decimal,
    ledger::{Entry, Ledger},
    ledger_json, moment, saving,
    words::table::align,
    writing::{Cells, Column, csv},
};

/// The columns of the CSV.
const COLUMNS: &str = "number,moment,request,analyst,what,state,cost_sum,cost_delta,spent_sum,spent_delta";

/// Every entry, the first first.
pub fn history(args: &LedgerShowArgs) -> Result<Outcome, Error> {
    let ledger = Ledger::open(&args.file)?;
    let entries = ledger.history()?;
    if args.json {
        let entries: Vec<Value> = entries.iter().map(ledger_json::entry).collect();
        return Outcome::done(text::json(
            &json!({ "schema": "veracity.ledger-history/1", "entries": entries }),
        )?);
    }
    if entries.is_empty() {
        return Outcome::done("no requests yet\n".to_owned());
    }
    let limits = ledger.status()?.spent;
    let rows: Vec<[String; 7]> = entries
        .iter()
        .map(|entry| {
            let dash = |text: Option<&str>| text.map_or_else(|| "–".to_owned(), clean);
            [
                entry.number.to_string(),
                moment::written(entry.moment, 0)[..19].replace('T', " "),
                dash(entry.charge.id.as_ref().map(|id| id.name())),
                dash(entry.charge.analyst.as_deref()),
                format!("{}%", decimal::up(100.0 * limits.part(&entry.charge.cost), 3)),
                entry.state.to_owned(),
                clean(&entry.charge.what),
            ]
        })
        .collect();
    let head = ["entry", "when (UTC)", "request", "analyst", "of the budget", "state", "what"];
    Outcome::done(align(head, &rows))
}

/// Every entry with its answer, into a file or to stdout.
pub fn export(args: &LedgerExportArgs) -> Result<Outcome, Error> {
    let ending =
        args.out.as_deref().map(|path| path.extension().and_then(|ending| ending.to_str()).unwrap_or(""));
    let is_csv = match ending {
        None | Some("jsonl") => false,
        Some("csv") => true,
        Some(other) => return Err(Error::out_of_range("ending of --out", other, "jsonl or csv")),
    };
    if let Some(path) = &args.out {
        saving::must_be_new("out", path)?;
    }
    let entries = Ledger::open(&args.file)?.history()?;
    let mut lines = String::new();
    if is_csv {
        let rows: Vec<[String; 10]> = entries.iter().map(cells).collect();
        let column = |(at, name): (usize, &str)| Column {
            name: name.to_owned(),
            cells: Cells::Texts(rows.iter().map(|row| Some(row[at].clone())).collect()),
        };
        let columns: Vec<Column> = COLUMNS.split(',').enumerate().map(column).collect();
        lines = String::from_utf8_lossy(&csv(&columns)?).into_owned();
    } else {
        for entry in &entries {
            let mut object = ledger_json::entry(entry);
            object["schema"] = json!("veracity.ledger-entry/1");
            object["answer"] = json!(entry.answer);
            lines += &format!("{object}\n");
        }
    }
    match &args.out {
        None => Outcome::done(lines),
        Some(path) => {
            saving::create("out", path, lines.as_bytes())?;
            Outcome::done(format!("wrote {}, entries: {}\n", path.display(), entries.len()))
        }
    }
}

fn cells(entry: &Entry) -> [String; 10] {
    let charge = &entry.charge;
    [
        entry.number.to_string(),
        moment::written(entry.moment, 0),
        charge.id.as_ref().map_or("", |id| id.name()).to_owned(),
        charge.analyst.clone().unwrap_or_default(),
        charge.what.clone(),
        entry.state.to_owned(),
        charge.cost.sum.to_string(),
        charge.cost.delta.to_string(),
        entry.spent.sum.to_string(),
        entry.spent.delta.to_string(),
    ]
}
