//! The command line: arguments → meaning → one facade call → printer, one file per command.
//!
//! stdout has the answer and stderr everything else. Exit code 0 is success, 1 is refuted or over budget, 2 is an error, printed in one
//! line, 3 is an inconclusive audit.

mod args;
mod charging;
mod commands;
mod console;
mod meaning;
mod progress;
mod text;
mod usage;

use args::{Cli, Command};
use clap::{Parser, error::ErrorKind};
use console::Console;
use std::process::ExitCode;
use veracity::Error;

/// The result of a command.
pub struct Outcome {
    /// For stdout.
    pub text: String,
    /// How it ended.
    pub ending: Ending,
}

/// How a command ended; its exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// Success, or not refuted.
    Stands = 0,
    /// Refuted, or over budget.
    Falls = 1,
    /// An inconclusive audit.
    CannotTell = 3,
}

impl Ending {
    fn of(stands: bool) -> Ending {
        if stands { Ending::Stands } else { Ending::Falls }
    }
}

impl Outcome {
    fn done(text: String) -> Result<Outcome, Error> {
        Ok(Outcome { text, ending: Ending::Stands })
    }
}

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return without_arguments(&error, Console::at_first()),
    };
    let console = Console::new(cli.quiet, cli.color);
    let charges = charges_a_ledger(&cli.command);
    match run(cli.command, console) {
        Ok(outcome) => console.print(&outcome.text, outcome.ending as u8),
        Err(refusal) => {
            let code = console.fail(refusal.kind().name(), &refusal.to_string());
            // Printed like an error, with the exit code of a refuted claim.
            let is_over = charges && refusal.kind() == veracity::ErrorKind::OverBudget;
            if is_over { ExitCode::from(Ending::Falls as u8) } else { code }
        }
    }
}

/// Whether a budget in a file decides.
fn charges_a_ledger(command: &Command) -> bool {
    match command {
        Command::Ledger(_) => true,
        Command::Query(args) => args.answer.charge.ledger.is_some(),
        Command::Release(args) => args.answer.charge.ledger.is_some(),
        Command::Train(args) => args.charge.ledger.is_some(),
        _ => false,
    }
}

/// Arguments that are not a command: requested help, help for missing arguments, or a usage error.
fn without_arguments(error: &clap::Error, console: Console) -> ExitCode {
    match error.kind() {
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand if !console.is_json() => {
            console.help(&error.to_string())
        }
        _ if error.use_stderr() => console.fail("usage", &usage::condense(error)),
        _ => console.print(&error.to_string(), 0),
    }
}

fn run(command: Command, console: Console) -> Result<Outcome, Error> {
    match command {
        Command::Account(args) => commands::account::run(&args),
        Command::Calibrate(args) => commands::calibrate::run(&args),
        Command::Curve(args) => commands::curve::run(&args),
        Command::Explain(args) => commands::explain::run(&args),
        Command::Batching(args) => commands::batching::run(&args),
        Command::Strategy(args) => commands::strategy::run(&args),
        Command::Audit(args) => commands::audit::run(&args, console),
        Command::Bound(args) => commands::bound::run(&args),
        Command::Release(args) => commands::release::run(&args, console),
        Command::Ledger(command) => commands::ledger::run(&command),
        Command::Query(args) => commands::query::run(&args),
        Command::Local(command) => commands::local::run(&command, console),
        Command::Init(args) => commands::init::run(&args),
        Command::Train(args) => commands::train::run(&args, console),
        Command::Predict(args) => commands::predict::run(&args, console),
        Command::Evaluate(args) => commands::evaluate::run(&args),
        Command::Verify(args) => commands::verify::run(&args),
        Command::Serve(args) => commands::serve::run(&args, console),
        Command::Zoo(args) => commands::zoo::run(&args, console),
        Command::Completions(args) => commands::completions::run(&args),
        Command::Man(args) => commands::man::run(&args),
    }
}
