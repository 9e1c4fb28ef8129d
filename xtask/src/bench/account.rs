//! The same questions to us and to the peers, in one run, on one machine: who brackets ε how tightly, and how fast.
//!
//! Sets up a Python environment for the peers, builds our example, asks, and prints Markdown. A peer that fails or needs
//! more than a minute is shown as such.

use super::{build_example, environment, field, kinds, must, output, release_folder};
use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const PEERS: [(&str, &str); 3] =
    [("pld", "dp_accounting PLD"), ("prv", "prv_accountant"), ("rdp", "dp_accounting RDP")];
const PACKAGES: [&str; 6] = [
    "dp-accounting==0.6.0",
    "prv-accountant==0.2.0",
    "jax-privacy==2.0.0",
    "PLD_accounting==2.0",
    "numba==0.68.1",
    "setuptools<81",
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
    let questions = fs::read_to_string(root.join("xtask/bench/account_questions.csv"))?;
    let rows: Vec<&str> = questions.lines().filter(|line| !line.starts_with('#')).skip(1).collect();
    let release = build(root)?;
    let python = environment(root, &PACKAGES)?;
    let said = output(
        Command::new(release.join("examples/bench_questions"))
            .arg(root.join("xtask/bench/account_questions.csv")),
    )?;
    println!("| question | tool | ε lower (or noise) | ε upper | width | ms | time ÷ ours | width ÷ ours |");
    println!("|---|---|---|---|---|---|---|---|");
    let mut all_ours = true;
    for row in rows {
        let name = row.split(',').next().unwrap_or_default();
        let ours = said.lines().find(|line| line.contains(&format!("\"name\": \"{name}\"")));
        let ours = ours.map_or_else(|| Err("no answer".to_owned()), parse);
        all_ours &= ours.is_ok();
        print_row(name, "veracity exact", &ours, None);
        for (tool, title) in PEERS {
            let theirs = ask_peer(&python, &root.join("xtask/bench/account_peer.py"), (tool, row), PATIENCE)?;
            print_row(name, title, &theirs, ours.as_ref().ok());
        }
    }
    let peak = said.lines().find_map(|line| field(line, "peak_kib")).and_then(|kib| kib.parse::<f64>().ok());
    println!(
        "\nPeak resident memory of ours over all questions: {:.1} MiB.",
        peak.unwrap_or(f64::NAN) / 1024.0
    );
    println!("{}", start_to_exit(&release)?);
    Ok(all_ours & kinds::run(root, &release, &python)?)
}

/// The kinds beyond DP-SGD alone.
pub fn kinds_alone(root: &Path) -> io::Result<bool> {
    build_example(root, "veracity-account", "bench_questions")?;
    kinds::run(root, &release_folder(root), &environment(root, &PACKAGES)?)
}

/// Builds what is timed; the folder of release artefacts.
fn build(root: &Path) -> io::Result<std::path::PathBuf> {
    build_example(root, "veracity-account", "bench_questions")?;
    must(
        Command::new("cargo").current_dir(root).args(["build", "--release", "--package", "veracity-cli"]),
        "the command line does not build",
    )?;
    Ok(release_folder(root))
}

/// Asks a script about one row; what it said, or why it did not.
pub(super) fn ask_peer(
    python: &Path,
    script: &Path,
    (tool, row): (&str, &str),
    patience: Duration,
) -> io::Result<Result<Answer, String>> {
    let errors = std::env::temp_dir().join(format!("veracity-bench-{}.txt", std::process::id()));
    let mut child = Command::new(python)
        .arg(script)
        .args([tool, row])
        .stdout(Stdio::piped())
        .stderr(fs::File::create(&errors)?)
        .spawn()?;
    let begun = Instant::now();
    while child.try_wait()?.is_none() {
        if begun.elapsed() > patience {
            child.kill()?;
            child.wait()?;
            return Ok(Err(format!("no answer in {} s", patience.as_secs())));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let done = child.wait_with_output()?;
    let complaint = fs::read_to_string(&errors)?;
    fs::remove_file(&errors)?;
    let said = String::from_utf8_lossy(&done.stdout);
    Ok(match said.lines().last() {
        Some(line) if done.status.success() => parse(line),
        _ => Err(complaint.lines().last().unwrap_or("failed without a word").replace('|', "/")),
    })
}

/// Reads one flat JSON object as this project's own programs print it.
pub(super) fn parse(line: &str) -> Result<Answer, String> {
    if let Some(failure) = field(line, "failure") {
        return Err(failure);
    }
    let number = |name| field(line, name).and_then(|text| text.parse().ok()).unwrap_or(f64::NAN);
    Ok(Answer {
        lower: number("lower"),
        upper: number("upper"),
        milliseconds: number("milliseconds"),
        peak_kib: number("peak_kib"),
    })
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

/// The median time of the whole command, from start to exit.
fn start_to_exit(release: &Path) -> io::Result<String> {
    let words =
        "account dp-sgd --sampling-rate 0.004266666666666667 --noise-multiplier 1 --steps 14000 --delta 1e-5";
    let mut times = Vec::new();
    for _ in 0..21 {
        let begun = Instant::now();
        let done = Command::new(release.join("veracity")).args(words.split(' ')).output()?;
        if !done.status.success() {
            let why = String::from_utf8_lossy(&done.stderr);
            return Ok(format!("`veracity {words}` failed: {}", why.lines().next().unwrap_or_default()));
        }
        times.push(begun.elapsed().as_secs_f64() * 1e3);
    }
    times.sort_by(f64::total_cmp);
    Ok(format!("`veracity {words}` takes {:.1} ms from start to exit (median of 21).", times[10]))
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
