//! The picture of the SQL tour: private answers of `veracity query --out` beside the true ones of the same table.
//!
//! `sql_tour ANSWERS.csv TABLE.csv FIGURES.csv PICTURE.svg` writes the last two; the picture is drawn from the figures alone.

mod picture;

use picture::Figure;
use std::{collections::BTreeMap, env, fs, process::ExitCode};

fn main() -> ExitCode {
    let paths: Vec<String> = env::args().skip(1).collect();
    let [answers, table, figures, picture] = &paths[..] else {
        eprintln!("usage: sql_tour ANSWERS.csv TABLE.csv FIGURES.csv PICTURE.svg");
        return ExitCode::from(2);
    };
    match write(answers, table, figures, picture) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("sql_tour: {why}");
            ExitCode::FAILURE
        }
    }
}

fn write(answers: &str, table: &str, figures: &str, picture: &str) -> Result<(), String> {
    let read = |path: &str| fs::read_to_string(path).map_err(|error| format!("{path}: {error}"));
    let table = read(table)?;
    let truth = truth(&table)?;
    let mut all = Vec::new();
    for line in read(answers)?.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let [education, sex, hours, error] = cells[..] else {
            return Err(format!("{answers}: other columns"));
        };
        let number = |cell: &str| cell.parse::<f64>().map_err(|_| format!("{answers}: not a number"));
        let (sum, people) = truth.get(&(education, sex)).copied().unwrap_or((0.0, 0.0));
        all.push(Figure {
            education: education.to_owned(),
            sex: sex.to_owned(),
            people,
            truth: sum / people,
            hours: number(hours)?,
            error_bar: number(error)?,
        });
    }
    let text = picture::written(&all);
    fs::write(figures, &text).map_err(|error| format!("{figures}: {error}"))?;
    // From what was written, so that the two cannot differ.
    let drawn = picture::svg(&picture::read(&text)?);
    fs::write(picture, drawn).map_err(|error| format!("{picture}: {error}"))
}

/// The sum of hours and the number of people of each education and sex.
type Truth<'a> = BTreeMap<(&'a str, &'a str), (f64, f64)>;

/// The groups of a table with the columns id, education, sex and hours.
fn truth(table: &str) -> Result<Truth<'_>, String> {
    let mut groups = BTreeMap::new();
    for line in table.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let [_, education, sex, hours] = cells[..] else { return Err("table has other columns".to_owned()) };
        let hours: f64 = hours.parse().map_err(|_| "table has hours that are no number".to_owned())?;
        let group: &mut (f64, f64) = groups.entry((education, sex)).or_default();
        *group = (group.0 + hours, group.1 + 1.0);
    }
    Ok(groups)
}
