//! Questions in SQL: `query`.

use super::{ChargeArgs, FormArgs, choice};
use clap::Args;
use std::path::PathBuf;
use veracity::query::NoiseKind;

/// `veracity query`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  veracity query \"SELECT sex, AVG(hours) FROM people GROUP BY sex\" --catalog catalog.toml --epsilon 1
  veracity query \"SELECT COUNT(*), MEDIAN(hours) FROM people WHERE age > 30\" --catalog catalog.toml --epsilon 1 --dry-run
  veracity query \"SELECT town, COUNT(DISTINCT id) AS n FROM visits GROUP BY town ORDER BY n DESC LIMIT 10\" \\
    --catalog catalog.toml --epsilon 1 --delta 1e-6 --groups-per-person 3
  veracity query \"SELECT COUNT(*) FROM people\" --catalog catalog.toml --epsilon 0.1 --ledger year.ledger --request-id monday-1

A query is SELECT keys and aggregates FROM tables WHERE … GROUP BY keys HAVING … ORDER BY … LIMIT …. Aggregates are COUNT(*),
COUNT(x), COUNT(DISTINCT person), SUM, AVG, VARIANCE, STDDEV, MEDIAN and QUANTILE(x, rank). HAVING, ORDER BY and LIMIT see noisy
answers. Tables are joined on the person, or with public tables. Anything else is refused, with what to write instead.

The catalog declares tables, whose rows they hold, bounds of numbers and public keys:
  [tables.people]
  path = \"people.csv\"
  person = \"id\"
  [tables.people.columns]
  hours = { lower = 0, upper = 99 }
  sex = { keys = [\"Male\", \"Female\"] }
  town = { type = \"text\" }

Groups of public keys are all answered, whether they occur or not. Groups of other keys are shown when enough people are in them,
which takes a --delta.

Exit codes: 0 answered, 1 over budget, 2 error.")]
pub struct QueryArgs {
    /// The query
    #[arg(value_name = "SQL")]
    pub query: String,
    /// What is public about the tables, as TOML
    #[arg(long, value_name = "FILE")]
    pub catalog: PathBuf,
    /// The ε to spend
    #[arg(long, value_name = "E", help_heading = "Budget")]
    pub epsilon: f64,
    /// The δ to spend
    #[arg(long, value_name = "D", default_value_t = 0.0, help_heading = "Budget")]
    pub delta: f64,
    /// Which noise [default: the one with the smaller error; with a --ledger that adds up μ², gaussian]
    #[arg(long, value_name = "KIND", value_parser = choice::noise(), help_heading = "Budget")]
    pub noise: Option<NoiseKind>,
    /// In how many groups of a query one person counts [default: that of the catalog, or 1]
    #[arg(long, value_name = "N", help_heading = "Budget")]
    pub groups_per_person: Option<f64>,
    /// How many rows of one person count in each group [default: that of the catalog, or 1]
    #[arg(long, value_name = "N", help_heading = "Budget")]
    pub rows_per_group: Option<f64>,
    /// The engine that holds the tables: sqlite, duckdb or postgres [default: that of the catalog; sqlite for files]
    #[arg(long, value_name = "NAME", help_heading = "Tables")]
    pub engine: Option<String>,
    #[command(flatten)]
    pub form: FormArgs,
    #[command(flatten)]
    pub charge: ChargeArgs,
    /// Show the cost and the error of each column; read no row, release nothing, spend nothing
    #[arg(long, help_heading = "Output", conflicts_with = "ledger")]
    pub dry_run: bool,
    /// With --dry-run: how many rows to assume in a group, where the error depends on it [default: 1000]
    #[arg(long, value_name = "N", help_heading = "Output", requires = "dry_run")]
    pub rows: Option<f64>,
    /// Draw from a seed, to repeat a test; the answer is then not for release
    #[arg(long, value_name = "N", help_heading = "Output", conflicts_with_all = ["dry_run", "ledger"])]
    pub seed: Option<u64>,
    /// Where the claim goes: a new file, or a folder in which it gets a name of its own [default: the current folder]
    #[arg(long, value_name = "PATH", help_heading = "Output")]
    pub claim: Option<PathBuf>,
    /// What the data are called in the claim [default: the name of the first table]
    #[arg(long, value_name = "NAME", help_heading = "Output")]
    pub dataset: Option<String>,
    /// One JSON object
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}
