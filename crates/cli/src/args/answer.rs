//! What `release` and `query` have in common: what an answer may cost, who pays, and where it goes.

use super::{ChargeArgs, choice};
use clap::Args;
use std::path::PathBuf;
use veracity::query::NoiseKind;

/// An answer: its budget, its ledger, its files.
#[derive(Args)]
pub struct AnswerArgs {
    /// The ε to spend
    #[arg(long, value_name = "E", help_heading = "Budget")]
    pub epsilon: f64,
    /// The δ to spend
    #[arg(long, value_name = "D", default_value_t = 0.0, help_heading = "Budget")]
    pub delta: f64,
    /// Which noise [default: the one with the smaller error; with a --ledger that adds up μ², gaussian]
    #[arg(long, value_name = "KIND", value_parser = choice::noise(), help_heading = "Budget")]
    pub noise: Option<NoiseKind>,
    #[command(flatten)]
    pub charge: ChargeArgs,
    /// Show the error and the cost; read no row, release nothing, spend nothing
    #[arg(long, help_heading = "Output", conflicts_with = "ledger")]
    pub dry_run: bool,
    /// With --dry-run: how many rows to assume, of a query in each group, where the error depends on it [default: 1000]
    #[arg(long, value_name = "N", help_heading = "Output", requires = "dry_run")]
    pub rows: Option<f64>,
    /// Draw from a seed, to repeat a test; the answer is then not for release
    #[arg(long, value_name = "N", help_heading = "Output", conflicts_with_all = ["dry_run", "ledger"])]
    pub seed: Option<u64>,
    /// Where the claim goes: a new file, or a folder in which it gets a name of its own, such as mean-of-age.claim.json
    /// [default: the current folder]
    #[arg(long, value_name = "PATH", help_heading = "Output")]
    pub claim: Option<PathBuf>,
    /// What the data are called in the claim; the claims of one dataset add up [default: the name of the file, or of the first table]
    #[arg(long, value_name = "NAME", help_heading = "Output")]
    pub dataset: Option<String>,
    /// One JSON object
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}
