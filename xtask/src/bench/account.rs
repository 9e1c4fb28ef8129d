//! The same questions to us and to the peers, in one run, on one machine: who brackets ε how tightly, and how fast.
//!
//! Sets up a Python environment for the peers, builds our example, asks, and prints Markdown. A peer that fails or needs
//! more than a minute is shown as such.

use super::{
    build_command_line, build_example, environment, field, kinds, number, output, output_within, peer,
    questions, release_folder, start_to_exit,
};
use std::io;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

const PEERS: [(&str, &str); 3] =
    [("pld", "dp_accounting PLD"), ("prv", "prv_accountant"), ("rdp", "dp_accounting RDP")];
const PACKAGES: [&str; 6] = [
    "dp-accounting==0.6.0", "prv-accountant==0.2.0", "jax-privacy==2.0.0", "PLD_accounting==2.0",
    "numba==0.68.1", "setuptools<81",
];
/// A peer has a minute for a question.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a tool said to a question.
pub(super) struct Answer {
    pub(super) lower: f64,
    pub(super) upper: f64,
    pub(super) milliseconds: f64,
    pub(super) peak_kib: f64,
}

/// Asks everyone everything and prints the tables.
pub fn run(root: &Path) -> io::Result<bool> {
    let asked = peer(root, "account_questions.csv");
    build_example(root, "veracity-account", "bench_questions")?;
    build_command_line(root, &[])?;
    let release = release_folder(root);
    let python = environment(root, &PACKAGES)?;
    let said = output(Command::new(release.join("examples/bench_questions")).arg(&asked))?;
    println!("| question | tool | ε lower (or noise) | ε upper | width | ms | time ÷ ours | width ÷ ours |");
    println!("|---|---|---|---|---|---|---|---|");
    let mut all_ours = true;
    for row in questions(&asked)? {
        let name = row.split(',').next().unwrap_or_default();
        let ours = said.lines().find(|line| line.contains(&format!("\"name\": \"{name}\"")));
        let ours = ours.map_or_else(|| Err("no answer".to_owned()), parse);
        all_ours &= ours.is_ok();
        print_row(name, "veracity exact", &ours, None);
        for (tool, title) in PEERS {
            let theirs = ask_peer(&python, &peer(root, "account_peer.py"), (tool, &row), PATIENCE)?;
            print_row(name, title, &theirs, ours.as_ref().ok());
        }
    }
    println!(
        "\nPeak resident memory of ours over all questions: {:.1} MiB.",
        number(&said, "peak_kib") / 1024.0
    );
    let words =
        "account dp-sgd --sampling-rate 0.004266666666666667 --noise-multiplier 1 --steps 14000 --delta 1e-5";
    let command = |_| {
        let mut command = Command::new(release.join("veracity"));
        command.args(words.split(' '));
        command
    };
    match start_to_exit(21, command)? {
        Ok(time) => println!("`veracity {words}` takes {time:.1} ms from start to exit (median of 21)."),
        Err(why) => println!("`veracity {words}` failed: {why}"),
    }
    Ok(all_ours & kinds::run(root, &release, &python)?)
}

/// The kinds beyond DP-SGD alone.
pub fn kinds_alone(root: &Path) -> io::Result<bool> {
    build_example(root, "veracity-account", "bench_questions")?;
    kinds::run(root, &release_folder(root), &environment(root, &PACKAGES)?)
}

/// Asks a script about one row; what it said, or why it did not.
pub(super) fn ask_peer(
    python: &Path,
    script: &Path,
    (tool, row): (&str, &str),
    patience: Duration,
) -> io::Result<Result<Answer, String>> {
    let said = output_within(Command::new(python).arg(script).args([tool, row]), patience)?;
    Ok(said.and_then(|said| parse(said.lines().last().unwrap_or_default())))
}

/// Reads one flat JSON object as this project's own programs print it.
pub(super) fn parse(line: &str) -> Result<Answer, String> {
    if let Some(failure) = field(line, "failure") {
        return Err(failure);
    }
    let [lower, upper, milliseconds, peak_kib] =
        ["lower", "upper", "milliseconds", "peak_kib"].map(|name| number(line, name));
    Ok(Answer { lower, upper, milliseconds, peak_kib })
}

fn print_row(name: &str, tool: &str, answer: &Result<Answer, String>, ours: Option<&Answer>) {
    let answer = match answer {
        Ok(answer) => answer,
        Err(why) => {
            println!("| {name} | {tool} | {why} | | | | | |");
            return;
        }
    };
    let width = answer.upper - answer.lower;
    let ratio = |theirs: f64, ours: f64| {
        let ratio = theirs / ours;
        if ratio.is_finite() && ratio > 0.0 { format!("{ratio:.1e}") } else { String::new() }
    };
    let (times, widths) = ours.map_or((String::new(), String::new()), |ours| {
        (ratio(answer.milliseconds, ours.milliseconds), ratio(width, ours.upper - ours.lower))
    });
    let memory = if answer.peak_kib.is_nan() {
        String::new()
    } else {
        format!(" ({:.0} MiB)", answer.peak_kib / 1024.0)
    };
    // A calibrated noise multiplier comes as both ends and has no width.
    let shown = |x: f64| if x.is_nan() { "–".to_owned() } else { format!("{x:.12}") };
    let wide = if width > 0.0 { format!("{width:.1e}") } else { String::new() };
    println!(
        "| {name} | {tool}{memory} | {} | {} | {wide} | {:.3} | {times} | {widths} |",
        shown(answer.lower),
        shown(answer.upper),
        answer.milliseconds
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flat_objects_are_read() {
        let line = r#"{"name": "a b", "lower": 0.5, "upper": "inf", "milliseconds": 3e-1}"#;
        let answer = parse(line).unwrap();
        assert_eq!((answer.lower, answer.upper, answer.milliseconds), (0.5, f64::INFINITY, 0.3));
        assert!(answer.peak_kib.is_nan());
        assert_eq!(parse(r#"{"name": "a", "failure": "not built"}"#).err().as_deref(), Some("not built"));
    }
}
