//! Local differential privacy: `local`.

use super::{FormArgs, brief, choice};
use clap::{Args, Subcommand};
use std::path::PathBuf;
use veracity::local::Kind;

/// `veracity local`.
#[derive(Subcommand)]
pub enum LocalCommand {
    /// Compare the errors of local protocols, and of central privacy
    Plan(LocalPlanArgs),
    /// Randomize answers on the client, before they leave it
    Encode(Box<LocalEncodeArgs>),
    /// Estimate frequencies or a mean from reports, with error bars
    Estimate(LocalEstimateArgs),
}

/// The possible answers, which are public.
#[derive(Args, Clone)]
pub struct DomainArgs {
    /// Categories, separated by commas
    #[arg(long, value_name = "A,B,…", help_heading = "Question", value_delimiter = ',')]
    pub categories: Option<Vec<String>>,
    /// Number of categories, if their names are 0, 1, …
    #[arg(long, value_name = "K", help_heading = "Question", conflicts_with = "categories")]
    pub domain_size: Option<f64>,
}

/// `veracity local plan`.
#[derive(Args)]
#[command(
    allow_negative_numbers = true,
    after_help = "Example:\n  veracity local plan --domain-size 1024 --epsilon 1 --reports 1e6"
)]
pub struct LocalPlanArgs {
    #[command(flatten)]
    pub domain: DomainArgs,
    /// ε of one report
    #[arg(long, value_name = "E", help_heading = "Question")]
    pub epsilon: f64,
    /// Expected number of reports
    #[arg(long, value_name = "N", help_heading = "Question")]
    pub reports: f64,
    /// Print the result as JSON
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

/// The flags of `veracity local encode -h`.
const MAIN: &str = "column categories domain-size lower upper other survey epsilon max-epsilon out claim";

/// `veracity local encode`.
#[derive(Args)]
#[command(
    allow_negative_numbers = true,
    mut_args = brief(MAIN),
    after_help = "\
Examples:
  veracity local encode --categories Basel,Bern,Chur --epsilon 1 < answer.txt
  veracity local encode --survey survey.jsonl --max-epsilon 1 < answer.txt
  veracity local encode people.csv --column age --lower 0 --upper 100 --epsilon 1 --out ages.jsonl

More options, examples and explanations: veracity local encode --help",
    after_long_help = "\
Examples:
  veracity local encode --categories Basel,Bern,Chur --epsilon 1 < answer.txt
  veracity local encode --survey survey.jsonl --max-epsilon 1 < answer.txt
  veracity local encode people.csv --column city --categories Basel,Bern,Chur,other --other other --epsilon 1 --out reports.jsonl
  veracity local encode people.csv --column age --lower 0 --upper 100 --epsilon 1 --out ages.jsonl

Without FILE, the whole standard input is the answer of one person. No option takes an
answer, because other users and the shell history can see the command line.

The first line of the output holds the settings that clients and server share. Every
other line is one report and is safe to send. --survey reads such a first line. For
example, the settings of a count-mean sketch include its hash functions, which all
clients must share. The server sets the ε of a survey, so --max-epsilon states how much
you are willing to spend.

Every answer becomes one report of the same length, because an exit code or a shorter
line would reveal the answer:
  - an answer outside the categories is reported as --other or, without it, as a
    category drawn uniformly, which spreads such people evenly over the estimate
  - a number outside the bounds is clamped
  - an answer that is not a number becomes the middle of the bounds

Every report spends its ε again, so answer a question only once."
)]
pub struct LocalEncodeArgs {
    /// Table with one row per person [default: one answer from standard input]
    ///
    /// CSV, TSV, Parquet, NPY, NPZ or IDX; - for standard input.
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Column to report
    #[arg(long, value_name = "NAME", help_heading = "Question", requires = "file")]
    pub column: Option<String>,
    #[command(flatten)]
    pub domain: DomainArgs,
    /// Lower clamping bound, for numbers
    #[arg(long, value_name = "L", help_heading = "Question", requires = "upper")]
    pub lower: Option<f64>,
    /// Upper clamping bound, for numbers
    #[arg(long, value_name = "U", help_heading = "Question", requires = "lower")]
    pub upper: Option<f64>,
    /// Category for missing and other answers [default: one drawn uniformly]
    #[arg(long, value_name = "NAME", help_heading = "Question")]
    pub other: Option<String>,
    #[command(flatten)]
    pub form: FormArgs,
    /// Read the settings from the first line of this file
    ///
    /// The server can estimate the reports of all clients that share the settings together.
    #[arg(long, value_name = "FILE", help_heading = "Question", requires = "at_most", conflicts_with_all = ["categories", "domain_size", "lower", "upper", "epsilon", "protocol"])]
    pub survey: Option<PathBuf>,
    /// ε of one report
    #[arg(long, value_name = "E", help_heading = "Budget", required_unless_present = "survey")]
    pub epsilon: Option<f64>,
    /// Maximum ε you are willing to spend; a survey that needs more is refused
    #[arg(long = "max-epsilon", alias = "at-most", value_name = "E", help_heading = "Budget")]
    pub at_most: Option<f64>,
    /// Local protocol [default: the one with the least variance]
    #[arg(long, value_name = "P", value_parser = choice::protocol(), help_heading = "Budget")]
    pub protocol: Option<Kind>,
    /// Output file for the reports [default: stdout]
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub out: Option<PathBuf>,
    /// Write the guarantee of each report to a claim file, for `veracity verify`
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub claim: Option<PathBuf>,
    /// Draw the noise from a seed, for tests only; such reports protect no one
    #[arg(long, value_name = "N", help_heading = "Output")]
    pub seed: Option<u64>,
}

/// `veracity local estimate`.
#[derive(Args)]
#[command(after_help = "Example:\n  veracity local estimate reports.jsonl --top 20")]
pub struct LocalEstimateArgs {
    /// Reports written by `veracity local encode`
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Confidence level of each interval
    #[arg(long, value_name = "P", default_value_t = 0.95)]
    pub confidence: f64,
    /// Project the frequencies onto the probability simplex
    ///
    /// The frequencies are then nonnegative and add up to 1, but they are biased.
    #[arg(long)]
    pub project: bool,
    /// Show only the N most frequent categories
    #[arg(long, value_name = "N")]
    pub top: Option<usize>,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}
