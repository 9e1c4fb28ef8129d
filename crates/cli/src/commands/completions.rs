//! `veracity completions`: a script that teaches a shell our commands.

use crate::{
    Outcome,
    args::{Cli, CompletionsArgs},
};
use clap::CommandFactory;
use veracity::Error;

/// Prints the script.
pub fn run(args: &CompletionsArgs) -> Result<Outcome, Error> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "veracity", &mut script);
    Outcome::done(String::from_utf8_lossy(&script).into_owned())
}
