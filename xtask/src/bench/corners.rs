//! The accountant in its corners: seeded log-uniform questions over the whole range that is promised, and the commands that
//! ask it many times, each with how long it took.

use super::{build_command_line, build_example, number, output, release_folder, start_to_exit};
use std::io;
use std::path::Path;
use std::process::Command;

/// Questions of each kind.
const QUESTIONS: usize = 2000;
const CALIBRATIONS: usize = 60;
/// A relative width that is promised, and an absolute one below which nobody cares.
const NARROW: (f64, f64) = (1e-6, 1e-12);

/// Commands that were slow once, each with a name.
const COMMANDS: [(&str, &str); 5] = [
    ("curve", "curve dp-sgd --sampling-rate 1e-4 --noise-multiplier 0.5 --steps 1000 --out CLAIM.csv"),
    ("explain", "explain dp-sgd --sampling-rate 1e-4 --noise-multiplier 0.5 --steps 1000 --delta 1e-6"),
    (
        "claim",
        "account dp-sgd --sampling-rate 1e-4 --noise-multiplier 0.5 --steps 1000 --delta 1e-6 --claim CLAIM.json",
    ),
    ("verify", "verify CLAIM.json"),
    ("calibrate", "calibrate dp-sgd --sampling-rate 2.1e-5 --steps 7600 --epsilon 0.036 --delta 2.5e-13"),
];

/// One answer.
struct Row {
    noise: f64,
    delta: f64,
    /// Relative and absolute width; none where there is no answer.
    width: Option<(f64, f64)>,
    milliseconds: f64,
}

/// Asks everything and prints the tables.
pub fn run(root: &Path) -> io::Result<bool> {
    build_example(root, "veracity-account", "corners")?;
    build_command_line(root, &[])?;
    let release = release_folder(root);
    let ask = |words: &[String]| output(Command::new(release.join("examples/corners")).args(words));
    let rows: Vec<Row> = ask(&[QUESTIONS.to_string(), "1".into()])?.lines().map(parse).collect();
    println!("| questions | asked | no answer | wider than 1e-6 | median ms | 99 % | worst |");
    println!("|---|---|---|---|---|---|---|");
    print_row("all", &rows, |_| true);
    print_row("σ ≥ 5", &rows, |row| row.noise >= 5.0);
    print_row("σ < 5, δ ≥ 1e-15", &rows, |row| row.noise < 5.0 && row.delta >= 1e-15);
    print_row("σ < 5, δ < 1e-15", &rows, |row| row.noise < 5.0 && row.delta < 1e-15);
    let calibrated = ask(&[CALIBRATIONS.to_string(), "1".into(), "calibrate".into()])?;
    let rows: Vec<Row> = calibrated.lines().map(parse).collect();
    print_row("calibrated noise", &rows, |_| true);
    commands(&release)?;
    Ok(true)
}

fn parse(line: &str) -> Row {
    let upper = number(line, "upper");
    let width = upper - number(line, "lower");
    let relative = if upper > 0.0 { width / upper } else { 0.0 };
    Row {
        noise: number(line, "noise"),
        delta: number(line, "delta"),
        width: width.is_finite().then_some((relative, width)),
        milliseconds: number(line, "milliseconds"),
    }
}

fn print_row(name: &str, rows: &[Row], keep: impl Fn(&Row) -> bool) {
    let rows: Vec<&Row> = rows.iter().filter(|row| keep(row)).collect();
    let mut times: Vec<f64> = rows.iter().map(|row| row.milliseconds).collect();
    times.sort_by(f64::total_cmp);
    let at =
        |share: f64| times.get(((times.len() as f64 * share) as usize).min(times.len().saturating_sub(1)));
    let shown = |share: f64| at(share).map_or(String::new(), |time| format!("{time:.2}"));
    let none = rows.iter().filter(|row| row.width.is_none()).count();
    let wide = rows.iter().filter_map(|row| row.width).filter(|w| w.0 > NARROW.0 && w.1 > NARROW.1).count();
    println!(
        "| {name} | {} | {none} | {wide} | {} | {} | {} |",
        rows.len(),
        shown(0.5),
        shown(0.99),
        shown(1.0)
    );
}

/// Times whole commands from start to exit, the median of five.
fn commands(release: &Path) -> io::Result<()> {
    let folder = std::env::temp_dir().join(format!("veracity-corners-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    println!("\n| command, start to exit | ms, median of 5 |\n|---|---|");
    for (name, words) in COMMANDS {
        let command = |turn| {
            // A claim is not overwritten. The last one is verified.
            let claim = format!("claim-{}", if name == "verify" { 4 } else { turn });
            let mut command = Command::new(release.join("veracity"));
            command.current_dir(&folder).args(words.replace("CLAIM", &claim).split(' '));
            command
        };
        match start_to_exit(5, command)? {
            Ok(time) => println!("| {name} | {time:.1} |"),
            Err(why) => println!("| {name} | failed: {why} |"),
        }
    }
    std::fs::remove_dir_all(&folder)
}
