//! The command line: arguments → meaning → one facade call → printer, one file per command.
//!
//! stdout is the answer and stderr the rest. Exit code 0 is done, 1 is refuted or over budget, 2 is an error, told in
//! one line.

mod args;
mod commands;
mod meaning;
mod text;
mod usage;

use args::{Cli, Command};
use clap::Parser;
use std::{io::Write, process::ExitCode};
use veracity::Error;

/// What a command leaves behind.
pub struct Outcome {
    /// For stdout.
    pub text: String,
    /// Whether what was checked stands.
    pub stands: bool,
}

impl Outcome {
    fn done(text: String) -> Result<Outcome, Error> {
        Ok(Outcome { text, stands: true })
    }
}

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) if error.use_stderr() => return fail(&usage::condense(&error)),
        Err(help) => return print(&help.to_string(), 0),
    };
    match run(cli.command) {
        Ok(outcome) => print(&outcome.text, if outcome.stands { 0 } else { 1 }),
        Err(refusal) => fail(&refusal.to_string()),
    }
}

fn run(command: Command) -> Result<Outcome, Error> {
    match command {
        Command::Account(args) => commands::account::run(&args),
        Command::Calibrate(args) => commands::calibrate::run(&args),
        Command::Curve(args) => commands::curve::run(&args),
        Command::Explain(args) => commands::explain::run(&args),
        Command::Batching(args) => commands::batching::run(&args),
        Command::Strategy(args) => commands::strategy::run(&args),
        Command::Audit(args) => commands::audit::run(&args),
        Command::Bound(args) => commands::bound::run(&args),
        Command::Release(args) => commands::release::run(&args),
        Command::Local(command) => commands::local::run(&command),
        Command::Train(args) => commands::train::run(&args),
        Command::Predict(args) => commands::predict::run(&args),
        Command::Evaluate(args) => commands::evaluate::run(&args),
        Command::Verify(args) => commands::verify::run(&args),
        Command::Zoo(args) => commands::zoo::run(&args),
        Command::Completions(args) => commands::completions::run(&args),
    }
}

/// Writes the answer. A reader that has seen enough (`| head -1`) is not an error.
fn print(text: &str, code: u8) -> ExitCode {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            fail(&format!("stdout is not writable ({error})"))
        }
        Ok(()) | Err(_) => ExitCode::from(code),
    }
}

fn fail(line: &str) -> ExitCode {
    let one_line: String = line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    // A closed stderr leaves nothing to tell.
    let _ = writeln!(std::io::stderr(), "veracity: {}", one_line.trim_end());
    ExitCode::from(2)
}
