//! Questions in SQL: `query`.

use super::{AnswerArgs, FormArgs};
use clap::Args;
use std::path::PathBuf;

/// `veracity query`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  veracity query \"SELECT sex, AVG(hours) FROM people GROUP BY sex\" --catalog catalog.toml --epsilon 1
  veracity query \"SELECT COUNT(*), MEDIAN(hours) FROM people WHERE age > 30\" --catalog catalog.toml --epsilon 1 --dry-run
  veracity query \"SELECT town, COUNT(DISTINCT id) AS n FROM visits GROUP BY town ORDER BY n DESC LIMIT 10\" \\
    --catalog catalog.toml --epsilon 1 --delta 1e-6 --groups-per-person 3
  veracity query \"SELECT COUNT(*) FROM people\" --catalog catalog.toml --epsilon 0.1 --ledger year.ledger --request-id monday-1
  veracity query \"SELECT sex, AVG(hours) FROM people GROUP BY sex\" --catalog catalog.toml --epsilon 1 --out hours.csv --plot hours.svg

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
    #[command(flatten)]
    pub answer: AnswerArgs,
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
    /// Where the rows go too: a new file that ends in .csv or .parquet
    #[arg(long, value_name = "FILE", help_heading = "Output", conflicts_with = "dry_run")]
    pub out: Option<PathBuf>,
    /// Draws the rows as bars with error bars: a path that ends in .svg or .png
    #[arg(long, value_name = "FILE", help_heading = "Output", conflicts_with = "dry_run")]
    pub plot: Option<PathBuf>,
}
