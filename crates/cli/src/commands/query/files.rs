//! Noisy rows as files: CSV or Parquet, and a picture. They are made from the JSON of the answer, so that they hold nothing else.

use super::plotting;
use crate::args::QueryArgs;
use serde_json::Value;
use std::path::{Path, PathBuf};
use veracity::{
    Error,
    report::{png, svg},
    saving::{self, IsOurs},
    sql::{OutputValue, Plan},
    writing::{self, Cells, Column},
};

/// The files that were asked for, before there is an answer.
pub struct Wanted {
    out: Option<(PathBuf, Format)>,
    plot: Option<(PathBuf, Drawn)>,
    is_json: bool,
}

/// What a file of rows holds.
#[derive(Clone, Copy)]
enum Format {
    Csv,
    Parquet,
}

/// What a picture is.
#[derive(Clone, Copy)]
enum Drawn {
    Svg,
    Png,
}

impl Wanted {
    /// Refuses what could not be written, before anything is read or charged.
    pub fn new(args: &QueryArgs, plan: &Plan) -> Result<Wanted, Error> {
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
                "svg" => Drawn::Svg,
                "png" => Drawn::Png,
                _ => {
                    let expected = "a path that ends in .svg or .png";
                    return Err(Error::out_of_range("plot", path.display(), expected));
                }
            };
            saving::refuse_foreign_file("plot", path, drawn.recogniser())?;
            if !path.exists() {
                // Then its folder must be there.
                saving::must_be_new("plot", path)?;
            }
            Ok((path.clone(), drawn))
        });
        Ok(Wanted { out: out.transpose()?, plot: plot.transpose()?, is_json: args.answer.json })
    }

    /// Writes them; what is said of it, where people read.
    pub fn write(&self, answer: &Value) -> Result<String, Error> {
        let mut said = String::new();
        if let Some((path, format)) = &self.out {
            let columns = columns(answer)?;
            let bytes = match format {
                Format::Csv => writing::csv(&columns)?,
                Format::Parquet => writing::parquet(&columns)?,
            };
            saving::create("out", path, &bytes)?;
            said += &format!("rows written to {}\n", path.display());
        }
        if let Some((path, drawn)) = &self.plot {
            let picture = plotting::picture(&columns(answer)?);
            let bytes = match drawn {
                Drawn::Svg => svg::render(&picture).into_bytes(),
                Drawn::Png => png::render(&picture).ok_or_else(|| {
                    Error::invalid("picture could not be encoded as PNG, expected --plot FILE.svg")
                })?,
            };
            saving::replace("plot", path, &bytes, drawn.recogniser())?;
            said += &format!("picture written to {}\n", path.display());
        }
        Ok(if self.is_json { String::new() } else { said })
    }
}

impl Drawn {
    fn recogniser(self) -> IsOurs {
        match self {
            Drawn::Svg => svg::is_ours,
            Drawn::Png => png::is_ours,
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

/// A column of the query must not be called as the error bar of another.
fn refuse_like_names(plan: &Plan) -> Result<(), Error> {
    for output in &plan.outputs {
        let beside = error_bar_of(&output.name);
        let is_noisy = matches!(output.value, OutputValue::Aggregate(_));
        if is_noisy && plan.outputs.iter().any(|other| other.name == beside) {
            return Err(Error::invalid(format!(
                "query has a column called {beside}, which is the error bar of another, expected AS with another name"
            )));
        }
    }
    Ok(())
}

/// The columns of an answer, in the order of the query; each noisy one has its error bar beside it.
fn columns(answer: &Value) -> Result<Vec<Column>, Error> {
    let odd = || Error::invalid("request id was answered by another program, expected a new request id");
    let (Some(rows), Some(named)) = (answer["rows"].as_array(), answer["columns"].as_array()) else {
        return Err(odd());
    };
    let mut columns = Vec::new();
    for column in named {
        let name = column["name"].as_str().ok_or_else(odd)?;
        let cells = rows.iter().map(|row| &row[name]);
        if column["kind"] == "key" {
            let texts = cells.map(|cell| cell.as_str().map(str::to_owned)).collect::<Option<_>>();
            columns.push(Column { name: name.to_owned(), cells: Cells::Texts(texts.ok_or_else(odd)?) });
        } else {
            for (name, field) in [(name.to_owned(), "answer"), (error_bar_of(name), "error_bar")] {
                let numbers = cells.clone().map(|cell| cell[field].as_f64()).collect::<Option<_>>();
                columns.push(Column { name, cells: Cells::Numbers(numbers.ok_or_else(odd)?) });
            }
        }
    }
    Ok(columns)
}
