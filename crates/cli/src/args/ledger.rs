//! A budget in a file: `ledger`, and the flags by which other commands charge it.

use super::choice::{self, RuleWord};
use clap::{Args, Subcommand};
use std::path::PathBuf;
use veracity::Adjacency;

/// `veracity ledger`.
#[derive(Subcommand)]
pub enum LedgerCommand {
    /// Create a ledger with a budget in a new file
    Create(Box<LedgerCreateArgs>),
    /// Show the spent and the remaining budget
    Show(LedgerShowArgs),
    /// List all requests, oldest first
    History(LedgerShowArgs),
    /// Recompute the hash chain, the limits and every charge
    Verify(LedgerVerifyArgs),
    /// Export all entries with their answers as JSON lines or CSV
    Export(LedgerExportArgs),
    /// Plot cumulative spending as SVG or PNG
    Plot(LedgerPlotArgs),
}

/// The ledger to charge, and the analyst.
#[derive(Args, Clone, Default)]
pub struct ChargeArgs {
    /// Charge this ledger first
    ///
    /// If the request exceeds the budget, nothing is read or released, and the exit code is 1.
    #[arg(long, value_name = "FILE", help_heading = "Ledger")]
    pub ledger: Option<PathBuf>,
    /// Name of the request, unique in the ledger
    ///
    /// Repeating a request under the same name returns the stored answer at no cost.
    #[arg(long, value_name = "ID", help_heading = "Ledger", requires = "ledger")]
    pub request_id: Option<String>,
    /// Analyst name; required if the ledger has per-analyst caps
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

All rules stay valid if analysts choose each query after seeing earlier answers:
  sum       adds up ε and δ; a mechanism without a finite ε at δ = 0 is charged
            at one hundredth of the ledger's δ
  union     grants what fits into the sum of ε, or into a pool of μ² that is exact
            for Gaussian noise and nearly exact for many small queries and DP-SGD;
            --reserve sets δ aside for thresholds, declared δ and far tails
  gaussian  adds up μ² of each mechanism on its own; the default of earlier versions
  product   has a pool of μ² (--mu), a pool of δ (--reserve) and slots (--slot)

The mechanism of a release determines its cost, not the ε at its own δ: under the rules
union and gaussian, n equal releases cost about √n times as much ε as one."
)]
pub struct LedgerCreateArgs {
    /// Ledger file to create
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Budget ε for all releases together
    #[arg(long, value_name = "E", help_heading = "Budget")]
    pub epsilon: f64,
    /// Budget δ for all releases together
    #[arg(long, value_name = "D", default_value_t = 0.0, help_heading = "Budget")]
    pub delta: f64,
    /// Composition rule [default: union; sum if δ is 0]
    #[arg(long, value_name = "RULE", help_heading = "Budget")]
    pub rule: Option<RuleWord>,
    /// union, gaussian, product: δ for thresholds and declared δ [default: 5% of δ]
    #[arg(long, value_name = "D", help_heading = "Budget")]
    pub reserve: Option<f64>,
    /// product: pool of Gaussian noise, as the total μ [default: 0]
    #[arg(long, value_name = "M", help_heading = "Budget")]
    pub mu: Option<f64>,
    /// product: slots for COUNT mechanisms of this ε; repeatable
    ///
    /// KIND is laplace, or pure for any mechanism with δ = 0.
    #[arg(long, value_name = "KIND:E:COUNT", help_heading = "Budget")]
    pub slot: Vec<String>,
    /// Analyst with a cap on ε, at the ledger's δ; repeatable [default: anyone]
    #[arg(long, value_name = "NAME:E", help_heading = "Budget")]
    pub analyst: Vec<String>,
    /// Dataset name; releases of other datasets are refused [default: any dataset]
    #[arg(long, value_name = "NAME", help_heading = "Data")]
    pub dataset: Option<String>,
    /// How neighboring datasets differ
    #[arg(long, value_name = "A", default_value = "add-remove", value_parser = choice::adjacency(), help_heading = "Data")]
    pub adjacency: Adjacency,
    /// Privacy unit, such as row or person [default: that of the first request]
    #[arg(long, value_name = "NAME", help_heading = "Data")]
    pub unit: Option<String>,
    /// Print the result as JSON
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

/// `veracity ledger show` and `veracity ledger history`.
#[derive(Args)]
pub struct LedgerShowArgs {
    /// Ledger file
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// `veracity ledger verify`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  veracity ledger verify year.ledger
  veracity ledger verify year.ledger --head 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08

A truncated ledger and a restored old copy still have a valid hash chain. To detect them,
store the head hash that `ledger show` prints in another place, and pass it with --head.

Exit codes: 0 valid, 1 invalid, 2 error.")]
pub struct LedgerVerifyArgs {
    /// Ledger file
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Head hash from an earlier `ledger show` that the chain must contain
    #[arg(long, value_name = "HASH")]
    pub head: Option<String>,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// `veracity ledger export`.
#[derive(Args)]
pub struct LedgerExportArgs {
    /// Ledger file
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// New output file that ends in .jsonl or .csv [default: stdout, as JSON lines]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// `veracity ledger plot`.
#[derive(Args)]
pub struct LedgerPlotArgs {
    /// Ledger file
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Output file that ends in .svg or .png
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
}
