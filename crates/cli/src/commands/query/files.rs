//! Noisy rows as files: CSV or Parquet, and a picture.

use super::{plotting, printing::caps_line};
use crate::args::QueryArgs;
use serde_json::Value;
use std::path::{Path, PathBuf};
use veracity::{
    Error,
    report::{png, svg},
    saving::{self, IsOurs},
    sql::{Cell, Output, OutputValue, Plan, PreparedQuery, QueryDone},
    writing::{self, Cells, Column},
};

/// The files that were asked for, before there is an answer.
pub struct OutFiles {
    out: Option<(PathBuf, Format)>,
    plot: Option<(PathBuf, PictureFormat)>,
    is_json: bool,
}

/// Noisy rows as columns, and how much of one person counts in them.
pub struct NoisyRows {
    columns: Vec<Column>,
    rows_per_group: u64,
    groups_per_person: u64,
}

/// The columns of the caps, which follow the answers.
const CAPS: [&str; 2] = ["rows_per_group", "groups_per_person"];

/// What a file of rows holds.
#[derive(Clone, Copy)]
enum Format {
    Csv,
    Parquet,
}

/// What a picture is.
#[derive(Clone, Copy)]
enum PictureFormat {
    Svg,
    Png,
}

impl OutFiles {
    /// Refuses what could not be written, before anything is read or charged.
    pub fn new(args: &QueryArgs, plan: &Plan) -> Result<OutFiles, Error> {
        let out = args.out.as_ref().map(|path| -> Result<_, Error> {
            let format = match ending(path).as_str() {
                "csv" => Format::Csv,
                "parquet" => Format::Parquet,
                _ => {
                    let expected = "a path that ends in .csv or .parquet";
                    return Err(Error::out_of_range("out", path.display(), expected));
                }
            };
            saving::must_be_new("out", path)?;
            refuse_like_names(plan)?;
            Ok((path.clone(), format))
        });
        let plot = args.plot.as_ref().map(|path| -> Result<_, Error> {
            let drawn = match ending(path).as_str() {
                "svg" => PictureFormat::Svg,
                "png" => PictureFormat::Png,
                _ => {
                    let expected = "a path that ends in .svg or .png";
                    return Err(Error::out_of_range("plot", path.display(), expected));
                }
            };
            saving::refuse_foreign_file("plot", path, drawn.recogniser())?;
            Ok((path.clone(), drawn))
        });
        Ok(OutFiles { out: out.transpose()?, plot: plot.transpose()?, is_json: args.answer.json })
    }

    /// Writes the rows to them, if any were asked for; what is said of it, where people read.
    pub fn write(
        &self,
        prepared: &PreparedQuery,
        rows: impl FnOnce() -> Result<NoisyRows, Error>,
    ) -> Result<String, Error> {
        if self.out.is_none() && self.plot.is_none() {
            return Ok(String::new());
        }
        let rows = rows()?;
        let mut said = String::new();
        if let Some((path, format)) = &self.out {
            let columns = rows.with_caps();
            let bytes = match format {
                Format::Csv => writing::csv(&columns)?,
                Format::Parquet => writing::parquet(&columns)?,
            };
            saving::create("out", path, &bytes)?;
            said += &format!("rows written to {}\n", path.display());
        }
        if let Some((path, drawn)) = &self.plot {
            let picture = plotting::picture(
                &rows.columns,
                caps_line(&prepared.plan, rows.rows_per_group, rows.groups_per_person),
            );
            let bytes = match drawn {
                PictureFormat::Svg => svg::render(&picture).into_bytes(),
                PictureFormat::Png => png::render(&picture).ok_or_else(|| {
                    Error::invalid("the plot could not be encoded as PNG; use --plot FILE.svg")
                })?,
            };
            saving::replace("plot", path, &bytes, drawn.recogniser())?;
            said += &format!("plot written to {}\n", path.display());
        }
        Ok(if self.is_json { String::new() } else { said })
    }
}

impl PictureFormat {
    fn recogniser(self) -> IsOurs {
        match self {
            PictureFormat::Svg => svg::is_ours,
            PictureFormat::Png => png::is_ours,
        }
    }
}

fn ending(path: &Path) -> String {
    path.extension().and_then(|ending| ending.to_str()).unwrap_or_default().to_ascii_lowercase()
}

/// The column beside a noisy one.
pub fn error_bar_of(name: &str) -> String {
    format!("{name}_error_bar")
}

/// A column of the query must not be called as the error bar of another, or as a cap.
fn refuse_like_names(plan: &Plan) -> Result<(), Error> {
    if let Some(output) = plan.outputs.iter().find(|output| CAPS.contains(&output.name.as_str())) {
        return Err(Error::invalid(format!(
            "query has a column called {}, which is the name of the column of a cap; rename it with AS",
            output.name
        )));
    }
    for output in &plan.outputs {
        let beside = error_bar_of(&output.name);
        let is_noisy = matches!(output.value, OutputValue::Noisy(_));
        if is_noisy && plan.outputs.iter().any(|other| other.name == beside) {
            return Err(Error::invalid(format!(
                "query has a column called {beside}, which is the name of an error bar column; rename it \
                 with AS"
            )));
        }
    }
    Ok(())
}

impl NoisyRows {
    /// Of an answer that is new.
    pub fn new(done: &QueryDone) -> NoisyRows {
        let prepared = &done.prepared;
        NoisyRows {
            columns: columns_of(done),
            rows_per_group: prepared.plan.caps.rows.get(),
            groups_per_person: prepared.plan.most_groups().get(),
        }
    }

    /// Of an answer that a ledger kept, which has it as JSON.
    pub fn kept(answer: &Value) -> Result<NoisyRows, Error> {
        let cap = |name: &str| answer[name].as_u64().ok_or_else(foreign);
        Ok(NoisyRows {
            columns: columns_of_kept(answer)?,
            rows_per_group: cap(CAPS[0])?,
            groups_per_person: cap(CAPS[1])?,
        })
    }

    /// The columns of a file: each row ends in the caps, which a program reads as it reads the answers.
    fn with_caps(&self) -> Vec<Column> {
        let rows = self.columns.first().map_or(0, |column| match &column.cells {
            Cells::Texts(texts) => texts.len(),
            Cells::Numbers(numbers) => numbers.len(),
            Cells::Integers(integers) => integers.len(),
        });
        let caps = CAPS.into_iter().zip([self.rows_per_group, self.groups_per_person]);
        let caps = caps.map(|(name, cap)| Column {
            name: name.to_owned(),
            cells: Cells::Integers(vec![i64::try_from(cap).unwrap_or(i64::MAX); rows]),
        });
        self.columns.iter().cloned().chain(caps).collect()
    }
}

/// An answer in a ledger that has another shape.
fn foreign() -> Error {
    Error::invalid("request ID was answered by another program; use a new request ID")
}

/// The columns of an answer, in the order of the query; each noisy one has its error bar beside it.
fn columns_of(done: &QueryDone) -> Vec<Column> {
    let mut columns = Vec::new();
    for (at, Output { name, value }) in done.outputs.iter().enumerate() {
        let keys = done.rows.iter().filter_map(|row| match &row[at] {
            Cell::Key(key) => Some(Some(key.clone())),
            Cell::Absent => Some(None),
            Cell::Number(_) => None,
        });
        let numbers = done.rows.iter().filter_map(|row| match &row[at] {
            Cell::Key(_) | Cell::Absent => None,
            Cell::Number(noisy) if noisy.is_defined() => Some((noisy.answer, noisy.error_bar)),
            // Undefined: a file has NaN in both columns.
            Cell::Number(_) => Some((f64::NAN, f64::NAN)),
        });
        match value {
            OutputValue::Key(_) | OutputValue::Absent | OutputValue::Grouping(_) => {
                columns.push(Column { name: name.clone(), cells: Cells::Texts(keys.collect()) });
            }
            OutputValue::Noisy(_) => {
                let (answers, error_bars) = numbers.unzip();
                columns.push(Column { name: name.clone(), cells: Cells::Numbers(answers) });
                columns.push(Column { name: error_bar_of(name), cells: Cells::Numbers(error_bars) });
            }
        }
    }
    columns
}

/// The same of an answer that a ledger kept, which has it as JSON.
fn columns_of_kept(answer: &Value) -> Result<Vec<Column>, Error> {
    let (Some(rows), Some(named)) = (answer["rows"].as_array(), answer["columns"].as_array()) else {
        return Err(foreign());
    };
    let mut columns = Vec::new();
    for column in named {
        let name = column["name"].as_str().ok_or_else(foreign)?;
        let cells = rows.iter().map(|row| &row[name]);
        if column["kind"] == "key" {
            // A key that a grouping has not is null.
            let text = |cell: &Value| match cell {
                Value::Null => Some(None),
                cell => cell.as_str().map(|text| Some(text.to_owned())),
            };
            let texts = cells.map(text).collect::<Option<_>>();
            columns.push(Column { name: name.to_owned(), cells: Cells::Texts(texts.ok_or_else(foreign)?) });
        } else {
            for (name, field) in [(name.to_owned(), "answer"), (error_bar_of(name), "error_bar")] {
                // An answer that is undefined is null.
                let number = |cell: &Value| match &cell[field] {
                    Value::Null if cell.is_object() => Some(f64::NAN),
                    number => number.as_f64(),
                };
                let numbers = cells.clone().map(number).collect::<Option<_>>();
                columns.push(Column { name, cells: Cells::Numbers(numbers.ok_or_else(foreign)?) });
            }
        }
    }
    Ok(columns)
}
