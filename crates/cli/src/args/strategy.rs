//! Strategy matrices for correlated noise: `strategy`.

use super::choice::AimWord;
use clap::Args;
use std::path::PathBuf;

/// `veracity strategy`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  veracity strategy --steps 1000 --bands 10
  veracity strategy --steps 1000 --bands 10 --aim largest --out strategy.json
  veracity account matrix --strategy strategy.json --noise-multiplier 2 --participations 5 --separation 200 --delta 1e-6

The command compares the strategy with tree aggregation and the square-root strategy.
Errors are variances of the running sums, for noise scaled to the strategy's
sensitivity and one participation per record. More participations, if they are at
least as far apart as the number of bands, multiply all errors by the same factor.")]
pub struct StrategyArgs {
    /// Number of steps
    #[arg(long, value_name = "T")]
    pub steps: f64,
    /// Number of bands
    ///
    /// It must not exceed the number of steps between two participations of a record.
    #[arg(long, value_name = "B")]
    pub bands: f64,
    /// Error of the running sums to minimize
    #[arg(long, value_name = "WHAT", default_value = "mean")]
    pub aim: AimWord,
    /// Write the strategy to a new file, for --strategy
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}
