//! A budget in a file: `ledger`, and the flags by which other commands charge it.

use super::choice::{self, RuleWord};
use clap::{Args, Subcommand};
use std::path::PathBuf;
use veracity::Adjacency;

/// `veracity ledger`.
#[derive(Subcommand)]
pub enum LedgerCommand {
    /// Makes a ledger with a budget, in a new file
    Create(Box<LedgerCreateArgs>),
    /// What was spent, and what is left
    Show(LedgerShowArgs),
    /// What was asked, the first first
    History(LedgerShowArgs),
    /// Checks everything again: the hash chain, the limits, and every charge
    Verify(LedgerVerifyArgs),
    /// Every entry with its answer, as JSON lines or CSV
    Export(LedgerExportArgs),
    /// The spend over the entries, as SVG or PNG
    Plot(LedgerPlotArgs),
}

/// By which ledger a release or a training is paid, and as whom.
#[derive(Args, Clone, Default)]
pub struct ChargeArgs {
    /// Charge this ledger first; over budget, nothing is read or released, and the exit code is 1
    #[arg(long, value_name = "FILE", help_heading = "Ledger")]
    pub ledger: Option<PathBuf>,
    /// With --ledger: a name of this request; asked again under it, the answer is the same and nothing is charged
    #[arg(long, value_name = "ID", help_heading = "Ledger", requires = "ledger")]
    pub request_id: Option<String>,
    /// With --ledger: who asks, where it has caps for analysts
    #[arg(long, value_name = "NAME", help_heading = "Ledger", requires = "ledger")]
    pub analyst: Option<String>,
}

/// `veracity ledger create`.
#[derive(Args)]
#[command(
    allow_negative_numbers = true,
    after_help = "\
Examples:
  veracity ledger create year.ledger --epsilon 3 --delta 1e-6
  veracity ledger create year.ledger --epsilon 3 --delta 1e-6 --dataset people.csv --analyst ada:1 --analyst bob:2
  veracity ledger create year.ledger --epsilon 2 --delta 1e-6 --rule product --mu 0.2 --reserve 1e-7 --slot pure:0.1:10

Rules, all of them sound for analysts who choose each question in view of the answers:
  sum       epsilon and delta add up; what has no epsilon of its own is charged at a hundredth of the delta
  gaussian  mu squared adds up, which is exact for Gaussian noise; --reserve is set aside for thresholds and declared deltas
  product   a pool of mu squared (--mu), a pool of delta (--reserve) and slots (--slot), each used up

What a release costs is fixed by its mechanism, not by the epsilon at its own delta: under gaussian, n like releases cost
about the square root of n times one."
)]
pub struct LedgerCreateArgs {
    /// A new file
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The ε of all releases together
    #[arg(long, value_name = "E", help_heading = "Budget")]
    pub epsilon: f64,
    /// The δ of all releases together
    #[arg(long, value_name = "D", default_value_t = 0.0, help_heading = "Budget")]
    pub delta: f64,
    /// By which rule charges are held against the budget [default: gaussian; sum without a delta]
    #[arg(long, value_name = "RULE", help_heading = "Budget")]
    pub rule: Option<RuleWord>,
    /// gaussian and product: the part of the δ that is set aside for thresholds and declared δ [default: a tenth]
    #[arg(long, value_name = "D", help_heading = "Budget")]
    pub reserve: Option<f64>,
    /// product: the pool of Gaussian noise, as the μ of all of it [default: 0]
    #[arg(long, value_name = "M", help_heading = "Budget")]
    pub mu: Option<f64>,
    /// product: so many mechanisms of this ε, where KIND is laplace, or pure for any without a δ; may be given more than once
    #[arg(long, value_name = "KIND:E:COUNT", help_heading = "Budget")]
    pub slot: Vec<String>,
    /// Who may ask, with a cap on ε at the ledger's δ; may be given more than once [default: anyone, without caps]
    #[arg(long, value_name = "NAME:E", help_heading = "Budget")]
    pub analyst: Vec<String>,
    /// What the data are called; releases of others are then refused [default: any]
    #[arg(long, value_name = "NAME", help_heading = "Data")]
    pub dataset: Option<String>,
    /// Which datasets must look alike
    #[arg(long, value_name = "A", default_value = "add-remove", value_parser = choice::adjacency(), help_heading = "Data")]
    pub adjacency: Adjacency,
    /// What is protected as one, such as row or person [default: what the first request protects]
    #[arg(long, value_name = "NAME", help_heading = "Data")]
    pub unit: Option<String>,
    /// One JSON object
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

/// `veracity ledger show` and `veracity ledger history`.
#[derive(Args)]
pub struct LedgerShowArgs {
    /// A ledger
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// One JSON object
    #[arg(long)]
    pub json: bool,
}

/// `veracity ledger verify`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  veracity ledger verify year.ledger
  veracity ledger verify year.ledger --head 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08

A tail that was cut off and an old copy of the file that was put back leave a chain that holds. Note the head that `ledger
show` prints somewhere else: with it they are found.

Exit codes: 0 all holds, 1 something does not, 2 error.")]
pub struct LedgerVerifyArgs {
    /// A ledger
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// A head that was noted before: the chain must still have it
    #[arg(long, value_name = "HASH")]
    pub head: Option<String>,
    /// One JSON object
    #[arg(long)]
    pub json: bool,
}

/// `veracity ledger export`.
#[derive(Args)]
pub struct LedgerExportArgs {
    /// A ledger
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Where the entries go, a new file that ends in .jsonl or .csv [default: stdout, as JSON lines]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// `veracity ledger plot`.
#[derive(Args)]
pub struct LedgerPlotArgs {
    /// A ledger
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Where the picture goes: a path that ends in .svg or .png
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
}
