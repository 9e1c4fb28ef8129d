//! Noise and local privacy against the peers: draws per second, and a million local reports from encoding to estimate.
//!
//! Our examples and the peers' program take turns in one run; each line they print is a task and its speed per second.
//! Tables put the peer's speed beside ours and the ratio.

use super::{build_example, environment, field, median, output, peer, release_folder};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::process::Command;

/// What pure-ldp imports but does not declare is named here; its hashing needs an xxhash that still takes text.
const PACKAGES: [&str; 7] = [
    "opendp==0.16.0", "pure-ldp==1.2.0", "numpy>=2", "xxhash==3.5.0", "scikit-learn", "statsmodels",
    "bitarray",
];
/// Rounds in which everyone is timed; the median of them counts.
const ROUNDS: usize = 3;

/// Speeds by (task, tool), one for each round.
type Speeds = BTreeMap<(String, String), Vec<f64>>;

/// Times everyone and prints the table.
pub fn run(root: &Path) -> io::Result<bool> {
    for (package, example) in [("veracity-noise", "bench_noise"), ("veracity-mechanisms", "bench_local")] {
        build_example(root, package, example)?;
    }
    let python = environment(root, &PACKAGES)?;
    let examples = release_folder(root).join("examples");
    let mut speeds = Speeds::new();
    for round in 1..=ROUNDS {
        eprintln!("round {round} of {ROUNDS}");
        for said in [
            output(&mut Command::new(examples.join("bench_noise")))?,
            output(&mut Command::new(examples.join("bench_local")))?,
            output(Command::new(&python).arg(peer(root, "noise_peer.py")))?,
        ] {
            learn(&said, &mut speeds);
        }
    }
    println!("| task | tool | per second | ours ÷ theirs |");
    println!("|---|---|---|---|");
    for ((task, tool), found) in &speeds {
        let ours = speeds.get(&(task.clone(), "veracity".to_owned())).map(|all| median(all.clone()));
        let speed = median(found.clone());
        let ratio = match ours {
            Some(ours) if tool != "veracity" => format!("{:.1}", ours / speed),
            _ => String::new(),
        };
        println!("| {task} | {tool} | {} | {ratio} |", spaced(speed));
    }
    Ok(speeds.keys().any(|(_, tool)| tool == "veracity") && speeds.keys().any(|(_, tool)| tool != "veracity"))
}

/// Reads the lines of one program.
fn learn(said: &str, speeds: &mut Speeds) {
    for line in said.lines() {
        let speed = field(line, "per_second").and_then(|text| text.parse::<f64>().ok());
        if let (Some(task), Some(tool), Some(speed)) = (field(line, "task"), field(line, "tool"), speed) {
            speeds.entry((task, tool)).or_default().push(speed);
        }
    }
}

/// A whole number in groups of three digits.
fn spaced(x: f64) -> String {
    let digits = format!("{x:.0}");
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().filter_map(|g| std::str::from_utf8(g).ok()).collect();
    groups.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_become_medians_by_task_and_tool() {
        let mut speeds = Speeds::new();
        for speed in [3.0, 1.0, 2.0] {
            learn(&format!(r#"{{"task": "a", "tool": "veracity", "per_second": {speed}}}"#), &mut speeds);
        }
        learn("not a line of ours", &mut speeds);
        assert_eq!(speeds.len(), 1);
        assert_eq!(median(speeds[&("a".to_owned(), "veracity".to_owned())].clone()), 2.0);
        assert_eq!(spaced(1_234_567.0), "1 234 567");
        assert_eq!(spaced(12.0), "12");
    }
}
