//! Flags that `release` and `query` share: budget, ledger and files.

use super::{ChargeArgs, choice};
use clap::Args;
use std::path::PathBuf;
use veracity::query::NoiseKind;

/// An answer: its budget, its ledger, its files.
#[derive(Args)]
pub struct AnswerArgs {
    /// Privacy budget ε to spend
    #[arg(long, value_name = "E", help_heading = "Budget")]
    pub epsilon: f64,
    /// Privacy budget δ to spend
    #[arg(long, value_name = "D", default_value_t = 0.0, help_heading = "Budget")]
    pub delta: f64,
    /// Noise distribution [default: the one with the smaller error]
    ///
    /// If --ledger names a ledger with the rule union or gaussian, the default is gaussian, because such a ledger composes it exactly.
    #[arg(long, value_name = "KIND", value_parser = choice::noise(), help_heading = "Budget")]
    pub noise: Option<NoiseKind>,
    #[command(flatten)]
    pub charge: ChargeArgs,
    /// Show the expected error and the cost, without releasing or spending anything
    ///
    /// A dry run reads no rows. With --ledger it also shows which part of the remaining budget the request takes, and how many such
    /// requests would fit. Nothing is written to the ledger.
    #[arg(long, help_heading = "Output")]
    pub dry_run: bool,
    /// Number of rows that --dry-run assumes [default: 1000]
    ///
    /// Some errors depend on the number of rows. For a query with GROUP BY, it is the number of rows in each group.
    #[arg(long, value_name = "N", help_heading = "Output", requires = "dry_run")]
    pub rows: Option<f64>,
    /// Draw the noise from a seed, for tests only; do not publish the answer
    ///
    /// Anyone who knows the seed can subtract the noise.
    #[arg(long, value_name = "N", help_heading = "Output", conflicts_with_all = ["dry_run", "ledger"])]
    pub seed: Option<u64>,
    /// Output path of the claim: a new file or a folder [default: current folder]
    ///
    /// In a folder the claim gets a name that is not yet taken, such as mean-of-age.claim.json.
    #[arg(long, value_name = "PATH", help_heading = "Output")]
    pub claim: Option<PathBuf>,
    /// Dataset name in the claim [default: name of the file or of the first table]
    ///
    /// Claims about the same dataset are composed.
    #[arg(long, value_name = "NAME", help_heading = "Output")]
    pub dataset: Option<String>,
    /// Print the result as JSON
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}
