//! Where the time of a step goes, beside what it could not be less than: the tables of `docs/speed.md`.
//!
//! One thread, so that the phases add up to the step; the quickest of many stretches of steps, so that what else the machine does
//! counts little. Floors: multiplications and additions at the best rate that any product reached in the same run; words of keystream
//! as the stream makes them by itself.

use super::{build_example, number, output, release_folder};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

const TASKS: [(&str, &str, &str); 8] = [
    ("logistic", "64", "784→10"),
    ("logistic", "256", "784→10"),
    ("logistic", "2048", "784→10"),
    ("network", "64", "784-256-10"),
    ("network", "256", "784-256-10"),
    ("network", "2048", "784-256-10"),
    ("cnn", "256", "convolutional"),
    ("digits", "64", "64→10"),
];
/// As `veracity_train::phases` calls them. One thread draws noise as it adds it, which is part of the update.
const PHASES: [&str; 7] = ["Sampling", "Fetching", "Forward", "Backward", "Norms", "Sum", "Update"];
/// The value of `VERACITY_VECTORS`, and how it is called.
const VECTORS: [(&str, &str); 2] = [("avx2", "AVX2"), ("all", "Widest vectors of the machine")];

/// Measures, and prints the tables.
pub fn run(root: &Path) -> io::Result<bool> {
    build_example(root, "veracity-train", "bench_train")?;
    build_example(root, "veracity-noise", "bench_noise")?;
    let folder = release_folder(root).join("examples");
    let mut all = true;
    for (vectors, title) in VECTORS {
        let mut rows = Vec::new();
        for (model, batch, title) in TASKS {
            for protection in ["plain", "private"] {
                let said = output(&mut command(&folder, vectors, &["phases", model, batch, protection]))?;
                rows.push((said, [title, batch, protection]));
            }
        }
        let floors = Floors::measure(&folder, vectors, &rows)?;
        println!("### {title}\n");
        println!(
            "One thread: {:.0} GFLOP/s in products, {:.0} M words of keystream and {:.0} M normals per second.\n",
            floors.gflops,
            floors.words * 1e-6,
            floors.normals * 1e-6
        );
        println!(
            "| model | batch | | {} | step | products: minimum, ratio | noise: minimum, ratio |",
            PHASES.join(" | ").to_lowercase()
        );
        println!("|---|---|---|{}---|---|---|", "---|".repeat(PHASES.len()));
        for (said, task) in rows {
            all &= print_row(&said, task, &floors);
        }
        println!();
    }
    Ok(all)
}

/// The phases that are products for the most part.
const PRODUCTS: [&str; 3] = ["Forward", "Backward", "Sum"];

/// What the machine can do, with one thread.
struct Floors {
    gflops: f64,
    words: f64,
    normals: f64,
}

impl Floors {
    fn measure(folder: &Path, vectors: &str, rows: &[(String, [&str; 3])]) -> io::Result<Floors> {
        let rate = |said: &str| number(said, "flops") / 1e3 / spent_on_products(said);
        let gflops = rows.iter().map(|(said, _)| rate(said)).fold(0.0, f64::max);
        let noise = output(Command::new(folder.join("bench_noise")).env("VERACITY_VECTORS", vectors))?;
        let of_task = |task: &str| {
            let line = noise.lines().find(|line| line.contains(task)).unwrap_or_default();
            number(line, "per_second")
        };
        Ok(Floors { gflops, words: of_task("keystream words"), normals: of_task("vector Gaussians") })
    }
}

fn command(folder: &Path, vectors: &str, words: &[&str]) -> Command {
    eprintln!("{vectors}: {}", words.join(" "));
    let program: PathBuf = folder.join("bench_train");
    let mut command = Command::new(program);
    command.args(words).env("VERACITY_VECTORS", vectors).env("RAYON_NUM_THREADS", "1");
    command
}

fn spent_on_products(said: &str) -> f64 {
    PRODUCTS.iter().map(|phase| number(said, phase)).sum()
}

/// Prints microseconds a step; whether there were any.
fn print_row(said: &str, [title, batch, protection]: [&str; 3], floors: &Floors) -> bool {
    let of = |name| number(said, name);
    let phases: Vec<String> = PHASES.iter().map(|phase| digits(of(phase))).collect();
    let products = of("flops") / (1e3 * floors.gflops);
    let spent = spent_on_products(said);
    let noise = match protection {
        "private" => {
            let floor = 1e6 * of("parameters") / floors.words;
            format!("{}, {:.0}%", digits(floor), 100.0 * floor / of("Update"))
        }
        _ => String::new(),
    };
    println!(
        "| {title} | {batch} | {protection} | {} | {} | {}, {:.0}% | {noise} |",
        phases.join(" | "),
        digits(of("total")),
        digits(products),
        100.0 * products / spent
    );
    of("total").is_finite()
}

fn digits(x: f64) -> String {
    if x < 10.0 { format!("{x:.1}") } else { format!("{x:.0}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_that_was_not_measured_is_no_success() {
        let floors = Floors { gflops: 100.0, words: 1e9, normals: 5e8 };
        let said = "{\"Forward\": 2.0, \"Update\": 1, \"total\": 9.5, \"flops\": 1000, \"parameters\": 10}";
        assert!(print_row(said, ["a model", "64", "private"], &floors));
        assert!(!print_row("Traceback", ["a model", "64", "plain"], &floors));
        assert_eq!((digits(9.96), digits(12.3)), ("10.0".into(), "12".into()));
    }
}
