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

Errors are variances of running sums for noise as large as the strategy's sensitivity, and one participation. Participations
that are at least as far apart as there are bands multiply them all by the same number.")]
pub struct StrategyArgs {
    /// How many steps the running sums go over
    #[arg(long, value_name = "T")]
    pub steps: f64,
    /// How many bands the strategy may have: at most the separation of a record's participations
    #[arg(long, value_name = "B")]
    pub bands: f64,
    /// Which error of the running sums to make small
    #[arg(long, value_name = "WHAT", default_value = "mean")]
    pub aim: AimWord,
    /// Write the strategy down for --strategy, in a new file
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// One JSON object
    #[arg(long)]
    pub json: bool,
}
