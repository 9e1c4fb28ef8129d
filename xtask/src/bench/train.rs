//! Training against PyTorch and Opacus: examples a second of one model, complete trainings a second of cohorts, memory.
//!
//! Each task is one process, ours or a peer's, that prints one JSON object; all run one after another on the same machine, in
//! rounds, and the best round of each counts. Ours run twice: with AVX2 alone, as on most machines, and with all that this one has.
//! Peers are measured as they come and with the memory allocator kept from giving pages back, which helps them much. The
//! machine's peak is the better of two large matrix products, theirs and ours.

use super::{build_example, environment, number, output, peer, release_folder};
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

/// Ours: the value of `VERACITY_VECTORS`, and how it is called.
const VECTORS: [(&str, &str); 2] = [("avx2", "AVX2"), ("all", "widest")];
/// Rounds in which everyone is timed, unless that is asked for otherwise.
const ROUNDS: usize = 3;
const USAGE: &str = "usage: cargo xtask bench train [--rounds N] [--only logistic|network|cnn|digits]";

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

/// What is measured.
struct Selection<'a> {
    rounds: usize,
    only: Option<&'a str>,
}

impl<'a> Selection<'a> {
    fn parse(words: &[&'a str]) -> io::Result<Selection<'a>> {
        let mut asked = Selection { rounds: ROUNDS, only: None };
        for pair in words.chunks(2) {
            match *pair {
                ["--rounds", count] => {
                    asked.rounds = count.parse().map_err(|_| io::Error::other(USAGE))?;
                }
                ["--only", model] => asked.only = Some(model),
                _ => return Err(io::Error::other(USAGE)),
            }
        }
        Ok(asked)
    }

    fn wants(&self, model: &str) -> bool {
        self.only.is_none_or(|only| only == model)
    }
}

/// Times everyone and prints the tables.
pub fn run(root: &Path, words: &[&str]) -> io::Result<bool> {
    let asked = Selection::parse(words)?;
    build_example(root, "veracity-train", "bench_train")?;
    let programs = Programs {
        ours: release_folder(root).join("examples/bench_train"),
        python: environment(root, &PACKAGES)?,
        theirs: peer(root, "train_peer.py"),
    };
    let products = [programs.ours("all", &["product"])?, programs.theirs(&["product"], Allocator::Tuned)?];
    let peak = products.iter().flatten().map(|speed| speed.gflops).fold(0.0, f64::max);
    println!("The machine's matrix-product peak in this run: {peak:.0} GFLOP/s.\n");
    let steps = print_steps(&programs, &asked, peak)?;
    let cohorts = print_cohorts(&programs, &asked, peak)?;
    Ok(steps && cohorts)
}

/// One model. Returns whether we had an answer for every one.
fn print_steps(programs: &Programs, asked: &Selection<'_>, peak: f64) -> io::Result<bool> {
    println!(
        "| model | batch | tool | examples/s | our private, AVX2 ÷ it | our private, widest ÷ it | share of peak | peak MiB |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    let mut all = true;
    for (model, title) in MODELS.into_iter().filter(|(model, _)| asked.wants(model)) {
        for batch in BATCHES {
            let (mut ours, mut theirs) = ([None; 4], [None; PEERS.len()]);
            for _ in 0..asked.rounds {
                programs.our_round(&mut ours, &["step", model, batch])?;
                for ((mode, allocator, _), best) in PEERS.into_iter().zip(&mut theirs) {
                    better(best, programs.theirs(&["step", model, batch, mode], allocator)?);
                }
            }
            all &= ours.iter().all(Option::is_some);
            let tools = PEERS.map(|(_, _, tool)| tool);
            print_rows(&[title, batch], ours, &tools, &theirs, peak);
        }
    }
    println!();
    Ok(all)
}

/// Many models. Returns whether we had all answers.
fn print_cohorts(programs: &Programs, asked: &Selection<'_>, peak: f64) -> io::Result<bool> {
    println!(
        "| cohort, 100 steps | tool | trainings/s | our private, AVX2 ÷ it | our private, widest ÷ it | share of peak | peak MiB |"
    );
    println!("|---|---|---|---|---|---|---|");
    let mut all = true;
    for (cohort, title) in COHORTS.into_iter().filter(|(cohort, _)| asked.wants(cohort)) {
        let (mut ours, mut theirs) = ([None; 4], [None; 2]);
        for _ in 0..asked.rounds {
            programs.our_round(&mut ours, &["cohort", cohort])?;
            for (tool, best) in ["opacus", "vmap"].into_iter().zip(&mut theirs) {
                better(best, programs.theirs(&["cohort", cohort, tool], Allocator::Tuned)?);
            }
        }
        all &= ours.iter().all(Option::is_some);
        print_rows(&[title], ours, &["Opacus, ghost, one by one", "PyTorch, vmap"], &theirs, peak);
    }
    Ok(all)
}

/// Keeps the better of two.
fn better(best: &mut Option<Speed>, found: Option<Speed>) {
    let faster = |found: &Speed| best.is_none_or(|best: Speed| found.per_second > best.per_second);
    *best = found.filter(faster).or(*best);
}

/// Ours, plain and private for each kind of vectors, and the peers'.
fn print_rows(task: &[&str], ours: [Option<Speed>; 4], tools: &[&str], theirs: &[Option<Speed>], peak: f64) {
    let private = [ours[1], ours[3]];
    for ((_, vectors), pair) in VECTORS.into_iter().zip(ours.chunks_exact(2)) {
        print_row(task, &format!("veracity, non-private, {vectors}"), pair[0], private, peak);
        print_row(task, &format!("**veracity, private, {vectors}**"), pair[1], private, peak);
    }
    for (tool, speed) in tools.iter().zip(theirs) {
        print_row(task, tool, *speed, private, peak);
    }
}

impl Programs {
    /// Plain and private, with each kind of vectors.
    fn our_round(&self, best: &mut [Option<Speed>; 4], task: &[&str]) -> io::Result<()> {
        let mut best = best.iter_mut();
        for (vectors, _) in VECTORS {
            for protection in ["plain", "private"] {
                let found = self.ours(vectors, &[task, &[protection]].concat())?;
                best.next().into_iter().for_each(|best| better(best, found));
            }
        }
        Ok(())
    }

    fn ours(&self, vectors: &str, words: &[&str]) -> io::Result<Option<Speed>> {
        eprintln!("veracity {} ({vectors})", words.join(" "));
        Ok(parse(&output(Command::new(&self.ours).args(words).env("VERACITY_VECTORS", vectors))?))
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
    let [per_second, gflops, peak_kib] = ["per_second", "gflops", "peak_kib"].map(|name| number(line, name));
    Some(Speed { per_second, gflops, peak_kib })
}

fn print_row(task: &[&str], tool: &str, speed: Option<Speed>, ours: [Option<Speed>; 2], peak: f64) {
    let task = task.join(" | ");
    let Some(speed) = speed else {
        println!("| {task} | {tool} | no answer | | | | |");
        return;
    };
    let digits = if speed.per_second < 100.0 { 1 } else { 0 };
    let ratio = |ours: Option<Speed>| {
        ours.map_or(String::new(), |ours| format!("{:.2}", ours.per_second / speed.per_second))
    };
    println!(
        "| {task} | {tool} | {:.digits$} | {} | {} | {:.0} % | {:.0} |",
        speed.per_second,
        ratio(ours[0]),
        ratio(ours[1]),
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
        let (slow, mut best) = (Speed { per_second: 1.0, ..speed }, None);
        for found in [Some(slow), Some(speed), None, Some(slow)] {
            better(&mut best, found);
        }
        assert_eq!(best.map(|best| best.per_second), Some(2.5));
    }
}
