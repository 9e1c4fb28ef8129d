//! Answers aggregates of small groups many times, for `cargo xtask bench statistics`.
//!
//! `bench_statistics FOLDER REPEATS` writes the values of each group to `FOLDER/DATA-ROWS-GROUP.csv`, one to a line, so that the peers answer
//! for the same values. Then it prints a JSON line for each answer: tool, statistic, data, rows, group, answer, error bar.
#![allow(clippy::unwrap_used)]

use std::io::Write;
use std::path::Path;
use veracity_core::{Epsilon, numerics::normal};
use veracity_noise::{Entropy, Key, NoiseStream, Purpose, Stream};
use veracity_statistics::sql::{
    Catalog, Cell, Engine, Plan, PreparedQuery, QueryRequest, Secret, engine::Sqlite,
};
use veracity_tables::{Limits, Values};

const STATISTICS: [(&str, &str); 7] = [
    ("count", "COUNT(*)"),
    ("sum", "SUM(x)"),
    ("mean", "AVG(x)"),
    ("variance", "VARIANCE(x)"),
    ("deviation", "STDDEV(x)"),
    ("median", "MEDIAN(x)"),
    ("0.9 quantile", "QUANTILE(x, 0.9)"),
];
/// Each row is of a person of its own.
const CATALOG: &str = r#"
[tables.t]
path = "t.csv"
person = "id"
rows_per_group = 1
[tables.t.columns]
x = { lower = 0, upper = 100 }
"#;
/// Groups of each size.
const GROUPS: u64 = 20;

fn main() {
    let mut words = std::env::args().skip(1);
    let folder = words.next().expect("a folder");
    let repeats: u64 = words.next().map_or(25, |text| text.parse().expect("how many answers for each group"));
    let catalog = Catalog::read(CATALOG, Path::new("")).unwrap();
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for (name, expression) in STATISTICS {
        let query = format!("SELECT {expression} AS a FROM t");
        let prepared = QueryRequest::new(&query, Epsilon::new(1.0).unwrap()).prepare(&catalog).unwrap();
        for (at, data) in (0..).zip(["normal", "skewed", "tied"]) {
            for rows in [5, 50, 5000] {
                for group in 0..GROUPS {
                    let key = Key { run: at, trial: rows, step: group };
                    let mut stream = Entropy::seeded(33).stream(Purpose::Attack, key);
                    let values: Vec<f64> = (0..rows).map(|_| value(data, &mut stream)).collect();
                    if name == "count" {
                        let lines: String = values.iter().map(|x| format!("{x}\n")).collect();
                        std::fs::write(Path::new(&folder).join(format!("{data}-{rows}-{group}.csv")), lines)
                            .unwrap();
                    }
                    for (answer, error_bar) in answers(&prepared, values, (key, repeats)) {
                        // With the spaces of Python's JSON, which the bench reads.
                        writeln!(
                            out,
                            "{{\"tool\": \"veracity\", \"statistic\": \"{name}\", \"data\": \"{data}\", \"rows\": {rows}, \
                             \"group\": {group}, \"answer\": {answer:e}, \"error_bar\": {error_bar:e}}}"
                        )
                        .unwrap();
                    }
                }
            }
        }
    }
}

/// Normal around 47.3 with deviation 10, skewed with median 7.4 (log-normal with deviation 0.8), or normal and rounded to integers. The
/// bounds are 0 and 100.
fn value(data: &str, stream: &mut Stream) -> f64 {
    let uniform = ((stream.word() >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
    let z = normal::quantile(uniform);
    let x = match data {
        "normal" => 47.3 + 10.0 * z,
        "skewed" => (2.0 + 0.8 * z).exp(),
        _ => (47.3 + 10.0 * z).round(),
    };
    x.clamp(0.0, 100.0)
}

/// The answers of one group, each with fresh noise.
fn answers(prepared: &PreparedQuery, values: Vec<f64>, (key, repeats): (Key, u64)) -> Vec<(f64, f64)> {
    let plan: &Plan = &prepared.plan;
    let mut engine = Sqlite::open(Limits::default()).unwrap();
    let persons: Vec<Option<String>> = (0..values.len()).map(|at| Some(at.to_string())).collect();
    engine
        .load(
            "t",
            &[
                ("id", Values::Texts(persons.into())),
                ("x", Values::Numbers(values.into_iter().map(Some).collect())),
            ],
        )
        .unwrap();
    let totals = engine.totals(plan, &Secret::new([7; 32])).unwrap();
    let mut rng = NoiseStream::new(Entropy::seeded(34).stream(Purpose::Noise, key));
    let answer = |_| {
        let groups = plan.answer(&prepared.design, prepared.threshold, &totals, &mut rng).unwrap();
        match plan.show(&prepared.design, groups)[0][0] {
            Cell::Number(number) => (number.answer, number.error_bar),
            Cell::Key(_) | Cell::Absent => panic!("a key"),
        }
    };
    (0..repeats).map(answer).collect()
}
