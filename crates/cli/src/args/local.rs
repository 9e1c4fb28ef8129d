//! Reports of people who trust nobody: `local`.

use super::{FormArgs, choice};
use clap::{Args, Subcommand};
use std::path::PathBuf;
use veracity::local::Kind;

/// `veracity local`.
#[derive(Subcommand)]
pub enum LocalCommand {
    /// Which protocol has the least error for so many categories and reports, and what central privacy would have
    Plan(LocalPlanArgs),
    /// Randomises answers on the client: one from standard input, or one report for each row of a column
    Encode(Box<LocalEncodeArgs>),
    /// Estimates frequencies or a mean from reports, with error bars
    Estimate(LocalEstimateArgs),
}

/// What the reports are about: public, known to every client beforehand.
#[derive(Args, Clone)]
pub struct DomainArgs {
    /// The categories, with commas between them
    #[arg(long, value_name = "A,B,…", help_heading = "Question", value_delimiter = ',')]
    pub categories: Option<Vec<String>>,
    /// How many categories there are, if their names do not matter: 0, 1, …
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
    /// The ε of one report
    #[arg(long, value_name = "E", help_heading = "Question")]
    pub epsilon: f64,
    /// How many reports are expected
    #[arg(long, value_name = "N", help_heading = "Question")]
    pub reports: f64,
    /// One JSON object
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

/// `veracity local encode`.
#[derive(Args)]
#[command(
    allow_negative_numbers = true,
    after_help = "\
Examples:
  veracity local encode --categories Basel,Bern,Chur --epsilon 1 < answer.txt
  veracity local encode --survey survey.jsonl --at-most 1 < answer.txt
  veracity local encode people.csv --column city --categories Basel,Bern,Chur,other --other other --epsilon 1 --out reports.jsonl
  veracity local encode people.csv --column age --lower 0 --upper 100 --epsilon 1 --out ages.jsonl

Without a file, all of standard input is one person's answer. An answer is never read from the command line, where other
users and the shell's history would see it. The first line of the output says what client and server agree on; each other
line is one report, safe to send. --survey reads such a line: count-mean sketches have hash functions of their own in it,
which all clients must share. The server sets the ε of a survey, so --at-most says how much you are willing to give.

Whatever an answer is, it becomes one report of the same length: an exit code or a shorter line would tell. An answer that
is not among the categories is reported as --other or, without it, as a category drawn uniformly, so that the estimate
spreads such people evenly. A number outside the bounds is moved to the bound, and what is no number to the middle. Every
report costs its ε again: answer a question once."
)]
pub struct LocalEncodeArgs {
    /// A table with one row per person: CSV, TSV, Parquet, NPY, NPZ or IDX; - for standard input [default: one answer from
    /// standard input]
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// The column, by its name in the header
    #[arg(long, value_name = "NAME", help_heading = "Question", requires = "file")]
    pub column: Option<String>,
    #[command(flatten)]
    pub domain: DomainArgs,
    /// For numbers: what no value is below
    #[arg(long, value_name = "L", help_heading = "Question", requires = "upper")]
    pub lower: Option<f64>,
    /// For numbers: what no value is above
    #[arg(long, value_name = "U", help_heading = "Question", requires = "lower")]
    pub upper: Option<f64>,
    /// The category that stands for all answers outside the list, and for missing ones [default: one drawn uniformly]
    #[arg(long, value_name = "NAME", help_heading = "Question")]
    pub other: Option<String>,
    #[command(flatten)]
    pub form: FormArgs,
    /// Report on what the first line of this file says: clients that share it can be estimated together
    #[arg(long, value_name = "FILE", help_heading = "Question", requires = "at_most", conflicts_with_all = ["categories", "domain_size", "lower", "upper", "epsilon", "protocol"])]
    pub survey: Option<PathBuf>,
    /// The ε of one report
    #[arg(long, value_name = "E", help_heading = "Budget", required_unless_present = "survey")]
    pub epsilon: Option<f64>,
    /// The most ε that you are willing to give; a survey that asks for more is refused
    #[arg(long, value_name = "E", help_heading = "Budget")]
    pub at_most: Option<f64>,
    /// How values are reported [default: the way with the least variance]
    #[arg(long, value_name = "P", value_parser = choice::protocol(), help_heading = "Budget")]
    pub protocol: Option<Kind>,
    /// Where the reports go [default: stdout]
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub out: Option<PathBuf>,
    /// Write down what each report promises, as a claim that `veracity verify` checks
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub claim: Option<PathBuf>,
    /// Draw from a seed, to repeat a test; the reports then protect nobody
    #[arg(long, value_name = "N", help_heading = "Output")]
    pub seed: Option<u64>,
}

/// `veracity local estimate`.
#[derive(Args)]
#[command(after_help = "Example:\n  veracity local estimate reports.jsonl --top 20")]
pub struct LocalEstimateArgs {
    /// Reports as `veracity local encode` writes them
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// With which probability each interval holds
    #[arg(long, value_name = "P", default_value_t = 0.95)]
    pub confidence: f64,
    /// Move the frequencies to the nearest distribution: no negative ones, all together 1; biased
    #[arg(long)]
    pub project: bool,
    /// Only the most frequent
    #[arg(long, value_name = "N")]
    pub top: Option<usize>,
    /// One JSON object
    #[arg(long)]
    pub json: bool,
}
