//! Errors of aggregates of small groups: ours with their error bars, and those of the peers on the same values at the same ε.
//!
//! Our example writes the values of each group and answers for them, the peers' program answers for the same files, and this module compares
//! all answers with the exact statistic. `--repeats N` asks so many times for each of the twenty groups of a size.

use super::{build_example, environment_in, field, number, output, peer, release_folder};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, io};

const PACKAGES: [&str; 3] = ["scikit-learn==1.6.1", "diffprivlib==0.6.6", "opendp==0.16.0"];
const STATISTICS: [&str; 7] = ["count", "sum", "mean", "variance", "deviation", "median", "0.9 quantile"];
const DATA: [&str; 3] = ["normal", "skewed", "tied"];
const ROWS: [u32; 3] = [5, 50, 5000];
const PEERS: [&str; 3] = ["diffprivlib", "opendp", "textbook"];

/// A group of so many values.
type Group = (String, u32, u32);
/// Errors of one tool in a cell of the table: by group, each with its error bar.
type Errors = BTreeMap<Group, Vec<(f64, f64)>>;

/// Asks everyone and prints the table.
pub fn run(root: &Path, words: &[&str]) -> io::Result<bool> {
    let repeats = match words {
        [] => "25",
        ["--repeats", number] => number,
        _ => return Err(io::Error::other("usage: cargo xtask bench statistics [--repeats N]")),
    };
    build_example(root, "veracity-statistics", "bench_statistics")?;
    let python = environment_in(&root.join("target/statistics-peers"), &PACKAGES)?;
    let folder = root.join("target/bench-statistics");
    fs::create_dir_all(&folder)?;
    let ours = release_folder(root).join("examples/bench_statistics");
    let mut found = BTreeMap::new();
    for mut command in [Command::new(ours), {
        let mut command = Command::new(python);
        command.arg(peer(root, "statistics_peer.py"));
        command
    }] {
        collect(&output(command.arg(&folder).arg(repeats))?, &folder, &mut found)?;
    }
    println!("{}", table(&found));
    Ok(STATISTICS
        .iter()
        .all(|statistic| found.contains_key(&("veracity".to_owned(), (*statistic).to_owned()))))
}

/// Reads the answers of one program, and compares each with the exact statistic.
fn collect(said: &str, folder: &Path, found: &mut BTreeMap<(String, String), Errors>) -> io::Result<()> {
    let mut exact: BTreeMap<(String, Group), f64> = BTreeMap::new();
    for line in said.lines() {
        let (Some(tool), Some(statistic), Some(data)) =
            (field(line, "tool"), field(line, "statistic"), field(line, "data"))
        else {
            continue;
        };
        let group = (data, number(line, "rows") as u32, number(line, "group") as u32);
        let of = (statistic.clone(), group.clone());
        if !exact.contains_key(&of) {
            exact.insert(of.clone(), truth(&statistic, values(folder, &group)?));
        }
        let answer = (number(line, "answer") - exact[&of], number(line, "error_bar"));
        found.entry((tool, statistic)).or_default().entry(group).or_default().push(answer);
    }
    Ok(())
}

fn values(folder: &Path, (data, rows, group): &Group) -> io::Result<Vec<f64>> {
    let path: PathBuf = folder.join(format!("{data}-{rows}-{group}.csv"));
    let read = |line: &str| line.parse().map_err(|_| io::Error::other(format!("{line} is not a number")));
    fs::read_to_string(path)?.lines().map(read).collect()
}

/// The exact statistic. A quantile is interpolated, as in numpy and in `PERCENTILE_CONT`.
fn truth(statistic: &str, mut values: Vec<f64>) -> f64 {
    let n = values.len() as f64;
    let sum: f64 = values.iter().sum();
    let variance = values.iter().map(|x| (x - sum / n).powi(2)).sum::<f64>() / n;
    values.sort_by(f64::total_cmp);
    let quantile = |rank: f64| {
        let at = rank * (n - 1.0);
        let (low, high) = (values[at.floor() as usize], values[at.ceil() as usize]);
        low + (at - at.floor()) * (high - low)
    };
    match statistic {
        "count" => n,
        "sum" => sum,
        "mean" => sum / n,
        "variance" => variance,
        "deviation" => variance.sqrt(),
        "median" => quantile(0.5),
        _ => quantile(0.9),
    }
}

/// What the answers of a tool in a cell come to.
struct Summary {
    rms: f64,
    /// The mean error, over groups.
    bias: f64,
    /// The standard deviation of answers of the same group.
    deviation: f64,
    coverage: f64,
    /// The mean error bar over the 95% quantile of the errors.
    width: f64,
}

fn summary(errors: &Errors, data: &str, rows: u32) -> Option<Summary> {
    let groups: Vec<&Vec<(f64, f64)>> =
        errors.iter().filter(|((of, size, _), _)| of == data && *size == rows).map(|(_, all)| all).collect();
    let mean = |all: &[f64]| all.iter().sum::<f64>() / all.len() as f64;
    let all: Vec<(f64, f64)> = groups.iter().flat_map(|group| group.iter().copied()).collect();
    if all.is_empty() {
        return None;
    }
    let within: Vec<f64> = groups
        .iter()
        .map(|group| {
            let errors: Vec<f64> = group.iter().map(|(error, _)| *error).collect();
            mean(&errors.iter().map(|error| (error - mean(&errors)).powi(2)).collect::<Vec<_>>())
        })
        .collect();
    let mut sizes: Vec<f64> = all.iter().map(|(error, _)| error.abs()).collect();
    sizes.sort_by(f64::total_cmp);
    let bars: Vec<f64> = all.iter().map(|(_, bar)| *bar).collect();
    // A rounding of the exact statistic is no miss.
    let covered = all.iter().filter(|(error, bar)| error.abs() <= bar * (1.0 + 1e-9) + 1e-9).count();
    Some(Summary {
        rms: mean(&all.iter().map(|(error, _)| error * error).collect::<Vec<_>>()).sqrt(),
        bias: mean(&all.iter().map(|(error, _)| *error).collect::<Vec<_>>()),
        deviation: mean(&within).sqrt(),
        coverage: covered as f64 / all.len() as f64,
        width: mean(&bars) / sizes[((0.95 * sizes.len() as f64) as usize).min(sizes.len() - 1)],
    })
}

fn table(found: &BTreeMap<(String, String), Errors>) -> String {
    let mut lines = vec![
        "| statistic | data | rows | rms error | bias | deviation | coverage | width ÷ true quantile | diffprivlib | OpenDP | textbook |"
            .to_owned(),
        "|---|---|---|---|---|---|---|---|---|---|---|".to_owned(),
    ];
    let of = |tool: &str, statistic: &str, data: &str, rows: u32| {
        summary(found.get(&(tool.to_owned(), statistic.to_owned()))?, data, rows)
    };
    for statistic in STATISTICS {
        for data in DATA {
            for rows in ROWS {
                let Some(ours) = of("veracity", statistic, data, rows) else { continue };
                let peers = PEERS.map(|tool| {
                    of(tool, statistic, data, rows).map_or("–".to_owned(), |found| digits(found.rms))
                });
                let width =
                    if ours.width.is_finite() { format!("{:.2}", ours.width) } else { "–".to_owned() };
                lines.push(format!(
                    "| {statistic} | {data} | {rows} | {} | {} | {} | {:.1}% | {width} | {} |",
                    digits(ours.rms),
                    digits(ours.bias),
                    digits(ours.deviation),
                    100.0 * ours.coverage,
                    peers.join(" | ")
                ));
            }
        }
    }
    lines.join("\n")
}

/// Three significant digits.
fn digits(x: f64) -> String {
    if x == 0.0 || !x.is_finite() {
        return "0".to_owned();
    }
    let places = (2 - x.abs().log10().floor() as i32).clamp(0, 8);
    format!("{x:.*}", places as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_are_those_of_numpy() {
        // numpy.quantile([1, 2, 4, 8], 0.9) = 6.8
        let values = vec![8.0, 1.0, 4.0, 2.0];
        let found = STATISTICS.map(|statistic| truth(statistic, values.clone()));
        let expected = [4.0, 15.0, 3.75, 7.1875, 7.1875f64.sqrt(), 3.0, 6.8];
        assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{found:?}");
    }

    /// Two groups with a bias of 1 and answers 2 apart: half of the bars hold.
    #[test]
    fn a_cell_tells_bias_from_deviation() {
        let group = |at| ("normal".to_owned(), 5, at);
        let all = vec![(0.0, 1.0), (2.0, 1.0)];
        let found = summary(&Errors::from([(group(0), all.clone()), (group(1), all)]), "normal", 5).unwrap();
        assert_eq!((found.bias, found.deviation, found.coverage), (1.0, 1.0, 0.5));
        assert_eq!((found.rms, found.width), (2f64.sqrt(), 0.5));
        assert_eq!([0.0, 12.345, 0.012_34].map(digits), ["0", "12.3", "0.0123"]);
    }
}
