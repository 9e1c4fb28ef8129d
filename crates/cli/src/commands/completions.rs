//! `veracity completions`: a script that teaches a shell our commands.

use crate::{
    Outcome,
    args::{Cli, CompletionsArgs},
};
use clap::CommandFactory;
use clap_complete::Shell;
use veracity::Error;

/// Prints the script.
pub fn run(args: &CompletionsArgs) -> Result<Outcome, Error> {
    let shell: Shell = args.shell.parse().map_err(|_| {
        let shown: String = args.shell.chars().take(40).collect();
        Error::out_of_range("shell", shown, "bash, zsh, fish, elvish or powershell")
    })?;
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "veracity", &mut script);
    Outcome::done(String::from_utf8_lossy(&script).into_owned())
}
