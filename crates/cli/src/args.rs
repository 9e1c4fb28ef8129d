//! The arguments, as typed. The module `meaning` interprets them.

mod account;
mod answer;
mod audit;
mod batching;
mod bound;
pub mod choice;
mod ledger;
mod local;
mod query;
mod release;
mod serve;
mod strategy;
mod train;
mod zoo;

pub use account::{AccountArgs, CalibrateArgs, CurveArgs, ExplainArgs, MechanismArgs};
pub use answer::AnswerArgs;
pub use audit::{AuditAction, AuditArgs};
pub use batching::BatchingArgs;
pub use bound::{BoundArgs, BoundCommand, BoundOneRunArgs, BoundPowerArgs, BoundQuestion, BoundScoresArgs};
pub use ledger::{
    ChargeArgs, LedgerCommand, LedgerCreateArgs, LedgerExportArgs, LedgerPlotArgs, LedgerShowArgs,
    LedgerVerifyArgs,
};
pub use local::{DomainArgs, LocalCommand, LocalEncodeArgs, LocalEstimateArgs, LocalPlanArgs};
pub use query::QueryArgs;
pub use release::{FormArgs, ReleaseArgs};
pub use serve::ServeArgs;
pub use strategy::StrategyArgs;
pub use train::{EvaluateArgs, InitArgs, PredictArgs, TrainArgs};
pub use zoo::ZooArgs;

use choice::ColorWord;
use clap::{Arg, Args, Parser, Subcommand, builder::PossibleValue};
use clap_complete::Shell;
use std::path::PathBuf;
use veracity::training::PlanChange;

/// Differential privacy you can check: prove, train, release, audit
#[derive(Parser)]
#[command(
    name = "veracity",
    version,
    arg_required_else_help = true,
    help_template = help_template(),
    mut_subcommands = wrapped,
    after_help = EXIT_CODES,
    after_long_help = format!("{EXAMPLES}\n\n{EXIT_CODES}")
)]
pub struct Cli {
    /// The command.
    #[command(subcommand)]
    pub command: Command,
    /// Print only errors to stderr
    #[arg(long, short, global = true, help_heading = "Global options")]
    pub quiet: bool,
    /// When to color verdicts: auto, always or never
    #[arg(
        long,
        alias = "colour",
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        hide_possible_values = true,
        help_heading = "Global options"
    )]
    pub color: ColorWord,
}

const EXAMPLES: &str = "\
Examples:
  veracity account gaussian --noise-multiplier 2 --times 10 --delta 1e-5
  veracity account dp-sgd --batch-size 256 --dataset-size 60000 --noise-multiplier 1 --epochs 10 --delta 1e-5
  veracity calibrate dp-sgd --sampling-rate 0.01 --steps 1000 --epsilon 2 --delta 1e-5
  veracity train plan.toml --out model
  veracity release mean people.csv --column age --lower 0 --upper 100 --epsilon 1
  veracity verify model
  veracity audit plan.toml --trials 2000";

const EXIT_CODES: &str = "\
Exit codes: 0 success, 1 refuted or over budget, 2 error, 3 inconclusive audit
An error is one line on stderr; with --json it is a JSON object.

Run 'veracity COMMAND -h' for the main options of a command, or --help for all of them.";

/// The commands as the help lists them, by what they are for.
const GROUPS: [(&str, &[&str]); 5] = [
    ("Accounting", &["account", "calibrate", "curve", "explain", "batching", "strategy"]),
    ("Training", &["init", "train", "predict", "evaluate"]),
    ("Statistics", &["release", "query", "ledger", "local"]),
    ("Checking", &["verify", "audit", "bound", "zoo"]),
    ("Tools", &["serve", "completions", "man"]),
];

/// The help of the program. Clap has no headings for commands, so the list is made here.
fn help_template() -> String {
    let all = Command::augment_subcommands(clap::Command::new("veracity"));
    let line = |name: &&str| {
        let about = all.find_subcommand(name).and_then(clap::Command::get_about);
        format!("  {name:<12} {}\n", about.map(ToString::to_string).unwrap_or_default())
    };
    let groups: String = GROUPS
        .iter()
        .map(|(title, names)| format!("{title}\n{}", names.iter().map(line).collect::<String>()))
        .collect();
    format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}\nOptions:\n{{options}}{{after-help}}"
    )
}

/// A command and those below it with the long help of their options in lines that fit a terminal of 80 columns.
fn wrapped(command: clap::Command) -> clap::Command {
    command.mut_args(readable).mut_subcommands(wrapped)
}

/// An option whose long help is broken into lines, and has the values if they are too many for `-h`.
fn readable(arg: Arg) -> Arg {
    let Some(help) = arg.get_help().map(ToString::to_string) else { return arg };
    let mut long = arg.get_long_help().map_or_else(|| help.clone(), ToString::to_string);
    let values = arg.get_possible_values();
    let names = values.iter().map(PossibleValue::get_name).collect::<Vec<_>>().join(", ");
    // Switches have values too, and values with help are listed with it.
    let are_names = arg.get_action().takes_values() && values.iter().all(|value| value.get_help().is_none());
    let is_open = names.is_empty() || arg.is_hide_possible_values_set();
    let arg = if are_names && !is_open && help.len() + names.len() > 60 {
        long += &format!("\n\nPossible values: {names}.");
        arg.hide_possible_values(true)
    } else {
        arg
    };
    let long = lines(&long, 70);
    if long == help { arg } else { arg.long_help(long) }
}

/// Paragraphs, broken into lines of at most `width` characters.
fn lines(text: &str, width: usize) -> String {
    let mut all = String::with_capacity(text.len());
    // A default stays in one piece.
    for (at, paragraph) in text.replace("[default: ", "[default:\0").split('\n').enumerate() {
        all += if at == 0 { "" } else { "\n" };
        let mut column = 0;
        for word in paragraph.split(' ') {
            let length = word.chars().count();
            if column > 0 {
                let is_full = column + 1 + length > width;
                all.push(if is_full { '\n' } else { ' ' });
                column = if is_full { 0 } else { column + 1 };
            }
            all += word;
            column += length;
        }
    }
    all.replace('\0', " ")
}

/// Keeps all flags out of `-h` except those that are named; `--help` has them all.
fn brief(main: &'static str) -> impl FnMut(Arg) -> Arg {
    move |arg| {
        let is_main = arg.get_long().is_none_or(|name| main.split(' ').any(|one| one == name));
        if is_main { arg } else { arg.hide_short_help(true) }
    }
}

/// A command of the program.
#[derive(Subcommand)]
pub enum Command {
    /// Compute ε at a given δ, or δ at a given ε, as a certified interval
    Account(AccountArgs),
    /// Find the least noise, most steps or largest sampling rate that fits a privacy budget
    Calibrate(CalibrateArgs),
    /// Plot the privacy profile δ(ε) and trade-off curve f(α), or export them as CSV
    Curve(CurveArgs),
    /// Explain a privacy guarantee in plain language
    Explain(ExplainArgs),
    /// Compare ε under Poisson, fixed-size, balls-and-bins and shuffled batching
    Batching(BatchingArgs),
    /// Optimize a banded strategy for correlated noise (DP-FTRL)
    Strategy(StrategyArgs),
    /// Audit a privacy claim by attacking it: lower bound on ε, upper bound, verdict
    Audit(Box<AuditArgs>),
    /// Compute a lower bound on ε from attack counts, one-run guesses or recorded scores
    Bound(BoundArgs),
    /// Release one private statistic of a column
    Release(ReleaseArgs),
    /// Manage a privacy budget stored in a file
    #[command(subcommand)]
    Ledger(LedgerCommand),
    /// Run a differentially private SQL query
    Query(QueryArgs),
    /// Collect data under local differential privacy: plan, encode, estimate
    #[command(subcommand)]
    Local(LocalCommand),
    /// Write a training plan template from a data file's header
    Init(InitArgs),
    /// Train a differentially private model from a TOML plan
    Train(TrainArgs),
    /// Predict labels with a trained model
    Predict(PredictArgs),
    /// Measure a model's accuracy on held-out records
    Evaluate(EvaluateArgs),
    /// Verify claims and certificates, and match models to their claims
    Verify(VerifyArgs),
    /// Serve the interactive web page on localhost
    Serve(ServeArgs),
    /// Run the audits against a suite of planted bugs
    Zoo(ZooArgs),
    /// Print a shell completion script
    Completions(CompletionsArgs),
    /// Write man pages
    Man(ManArgs),
}

/// `veracity verify`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  veracity verify mean-of-age.claim.json
  veracity verify out-train
  veracity verify out-audit/certificate.json
  veracity verify out-audit/certificate.json --rerun 20 --key auditor.pub

For a claim, the command recomputes its numbers and checks that the answer or the
model next to it is the one the claim was written for. For a folder, it checks every
claim and certificate, that every model has a claim and every claim its model.

Exit codes: 0 all valid, 1 something is invalid, 2 error or nothing to verify.")]
pub struct VerifyArgs {
    /// Claim, certificate.json (with its trials.csv), model, or folder of such files
    #[arg(value_name = "PATH")]
    pub file: PathBuf,
    /// Rerun N random trials of a certificate and compare their scores bit for bit
    #[arg(long, value_name = "N")]
    pub rerun: Option<f64>,
    /// Training plan that a certificate is about; it names the data file
    #[arg(long, value_name = "PLAN")]
    pub plan: Option<PathBuf>,
    /// Override a setting of the plan, as the audit did; repeatable
    #[arg(long, value_name = "PLACE=VALUE", value_parser = audit::change, requires = "plan")]
    pub set: Vec<PlanChange>,
    /// Command line that --rerun runs; must be the same as in the audit
    #[arg(long, value_name = "LINE", requires = "rerun", conflicts_with = "plan")]
    pub command: Option<String>,
    /// Records the command was run on; requires --command
    #[arg(long, value_name = "FILE", requires = "command", requires = "canary")]
    pub data: Option<PathBuf>,
    /// Canary the command was run with; requires --data
    #[arg(long, value_name = "FILE", requires = "data")]
    pub canary: Option<PathBuf>,
    /// Require a valid minisign signature by this public key
    ///
    /// The signature of certificate.json is read from certificate.json.minisig next to it.
    #[arg(long, value_name = "PUBKEY")]
    pub key: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// `veracity completions`.
#[derive(Args)]
#[command(after_help = "\
Example:
  veracity completions bash > ~/.local/share/bash-completion/completions/veracity")]
pub struct CompletionsArgs {
    /// Shell to write the script for
    #[arg(value_name = "SHELL")]
    pub shell: Shell,
}

/// `veracity man`.
#[derive(Args)]
#[command(after_help = "Example:\n  veracity man --out man/man1")]
pub struct ManArgs {
    /// Output folder, created if missing; gets one page per command
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn every_command_is_in_exactly_one_group_of_the_help() {
        let root = Cli::command();
        let mut commands: Vec<&str> = root.get_subcommands().map(clap::Command::get_name).collect();
        let mut listed: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        commands.sort_unstable();
        listed.sort_unstable();
        assert_eq!(commands, listed);
    }

    #[test]
    fn renamed_flags_keep_their_old_names() {
        for line in [
            "audit --require 0.8",
            "audit --replay --trace a --trace-neighbour b",
            "local encode --survey a --at-most 1",
            "bound power --claim-epsilon 1 --true-epsilon 2 --chance 0.5",
            "zoo --colour never",
        ] {
            assert!(Cli::try_parse_from(format!("veracity {line}").split(' ')).is_ok(), "{line}");
        }
    }

    #[test]
    fn long_help_is_broken_between_words_and_keeps_its_paragraphs() {
        assert_eq!(lines("ε at δ\n\none two three", 7), "ε at δ\n\none two\nthree");
        assert_eq!(lines("unbreakable", 3), "unbreakable");
        assert_eq!(lines("how many [default: 1]", 20), "how many\n[default: 1]");
    }
}
