//! Training against PyTorch and Opacus: examples a second of one model, complete trainings a second of cohorts, memory.
//!
//! Each task is one process, ours or a peer's, that prints one JSON object; all run one after another on the same machine.
//! Peers are measured as they come and with the memory allocator kept from giving pages back, which helps them much. The
//! machine's peak is the better of two large matrix products, theirs and ours.

use super::{build_example, environment, field, output, release_folder};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

const PACKAGES: [&str; 2] = ["torch", "opacus==1.6.0"];
const MODELS: [(&str, &str); 3] =
    [("logistic", "784→10"), ("network", "784-256-10"), ("cnn", "convolutional")];
const BATCHES: [&str; 3] = ["64", "256", "2048"];
const COHORTS: [(&str, &str); 2] =
    [("digits", "64→10, 1797 rows, batch 64"), ("network", "784-128-10, 2000 rows, batch 128")];
/// What keeps glibc from returning memory to the system and fetching it back in every step.
const TUNED: [(&str, &str); 2] = [("MALLOC_MMAP_MAX_", "0"), ("MALLOC_TRIM_THRESHOLD_", "100000000000")];

/// Whether a peer gets its allocator tuned.
#[derive(Clone, Copy, PartialEq)]
enum Allocator {
    AsItIs,
    Tuned,
}

/// Mode, allocator and title of each way in which a peer takes a step.
const PEERS: [(&str, Allocator, &str); 5] = [
    ("plain", Allocator::AsItIs, "PyTorch, non-private"),
    ("plain", Allocator::Tuned, "PyTorch, non-private, allocator tuned"),
    ("hooks", Allocator::AsItIs, "Opacus, default"),
    ("hooks", Allocator::Tuned, "Opacus, default, allocator tuned"),
    ("ghost", Allocator::Tuned, "Opacus, ghost, allocator tuned"),
];

/// What a process found.
#[derive(Clone, Copy)]
struct Speed {
    per_second: f64,
    gflops: f64,
    peak_kib: f64,
}

/// Where the programs are.
struct Programs {
    ours: PathBuf,
    python: PathBuf,
    theirs: PathBuf,
}

/// Times everyone and prints the tables.
pub fn run(root: &Path) -> io::Result<bool> {
    build_example(root, "veracity-train", "bench_train")?;
    let programs = Programs {
        ours: release_folder(root).join("examples/bench_train"),
        python: environment(root, &PACKAGES)?,
        theirs: root.join("xtask/bench/train_peer.py"),
    };
    let products = [programs.ours(&["product"])?, programs.theirs(&["product"], Allocator::Tuned)?];
    let peak = products.iter().flatten().map(|speed| speed.gflops).fold(0.0, f64::max);
    println!("The machine's matrix-product peak in this run: {peak:.0} GFLOP/s.\n");
    let steps = print_steps(&programs, peak)?;
    let cohorts = print_cohorts(&programs, peak)?;
    Ok(steps && cohorts)
}

/// One model. Returns whether we had an answer for every dense one.
fn print_steps(programs: &Programs, peak: f64) -> io::Result<bool> {
    println!("| model | batch | tool | examples/s | our private ÷ it | share of peak | peak MiB |");
    println!("|---|---|---|---|---|---|---|");
    let mut all = true;
    for (model, title) in MODELS {
        for batch in BATCHES {
            let ours = |protection| programs.ours(&["step", model, batch, protection]);
            let (plain, private) = (ours("plain")?, ours("private")?);
            all &= model == "cnn" || plain.is_some() && private.is_some();
            let row = |tool, speed| print_row(&[title, batch], tool, speed, private, peak);
            row("veracity, non-private", plain);
            row("**veracity, private**", private);
            for (mode, allocator, tool) in PEERS {
                row(tool, programs.theirs(&["step", model, batch, mode], allocator)?);
            }
        }
    }
    println!();
    Ok(all)
}

/// Many models. Returns whether we had all answers.
fn print_cohorts(programs: &Programs, peak: f64) -> io::Result<bool> {
    println!("| cohort, 100 steps | tool | trainings/s | our private ÷ it | share of peak | peak MiB |");
    println!("|---|---|---|---|---|---|");
    let mut all = true;
    for (cohort, title) in COHORTS {
        let ours = |protection| programs.ours(&["cohort", cohort, protection]);
        let (plain, private) = (ours("plain")?, ours("private")?);
        all &= plain.is_some() && private.is_some();
        let row = |tool, speed| print_row(&[title], tool, speed, private, peak);
        row("veracity, non-private", plain);
        row("**veracity, private**", private);
        for (tool, name) in [("opacus", "Opacus, ghost, one by one"), ("vmap", "PyTorch, vmap")] {
            row(name, programs.theirs(&["cohort", cohort, tool], Allocator::Tuned)?);
        }
    }
    Ok(all)
}

impl Programs {
    fn ours(&self, words: &[&str]) -> io::Result<Option<Speed>> {
        eprintln!("veracity {}", words.join(" "));
        Ok(parse(&output(Command::new(&self.ours).args(words))?))
    }

    fn theirs(&self, words: &[&str], allocator: Allocator) -> io::Result<Option<Speed>> {
        eprintln!("peer {}", words.join(" "));
        let mut command = Command::new(&self.python);
        if allocator == Allocator::Tuned {
            command.envs(TUNED);
        }
        Ok(parse(&output(command.arg(&self.theirs).args(words))?))
    }
}

/// The last line that speaks of a speed; nothing when the program failed, which it has then explained itself.
fn parse(said: &str) -> Option<Speed> {
    let line = said.lines().rfind(|line| line.contains("per_second"))?;
    let number = |name| field(line, name).and_then(|text| text.parse().ok()).unwrap_or(f64::NAN);
    Some(Speed { per_second: number("per_second"), gflops: number("gflops"), peak_kib: number("peak_kib") })
}

fn print_row(task: &[&str], tool: &str, speed: Option<Speed>, ours: Option<Speed>, peak: f64) {
    let task = task.join(" | ");
    let Some(speed) = speed else {
        println!("| {task} | {tool} | no answer | | | |");
        return;
    };
    let digits = if speed.per_second < 100.0 { 1 } else { 0 };
    let ratio = ours.map_or(String::new(), |ours| format!("{:.2}", ours.per_second / speed.per_second));
    println!(
        "| {task} | {tool} | {:.digits$} | {ratio} | {:.0} % | {:.0} |",
        speed.per_second,
        100.0 * speed.gflops / peak,
        speed.peak_kib / 1024.0
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_speed_counts_and_failures_have_none() {
        let said =
            "a warning\n{\"tool\": \"peer\", \"per_second\": 2.5, \"gflops\": 1e1, \"peak_kib\": 2048}\n";
        let speed = parse(said).unwrap();
        assert_eq!((speed.per_second, speed.gflops, speed.peak_kib), (2.5, 10.0, 2048.0));
        assert!(parse("Traceback\n").is_none());
    }
}
