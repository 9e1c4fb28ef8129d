//! SQL queries: `query`.

use super::{AnswerArgs, FormArgs, brief, choice};
use clap::{Args, builder::ArgPredicate};
use std::path::PathBuf;
use veracity::sql::Priority;

/// The flags of `veracity query -h`.
const MAIN: &str = "init catalog epsilon delta groups-per-person rows-per-group every ledger dry-run claim engine out plot json";

/// `veracity query`.
#[derive(Args)]
#[command(
    override_usage = "veracity query --init <FILE> [--out <FILE>]\n       veracity query [OPTIONS] --catalog <FILE> --epsilon <E> <SQL>",
    mut_args = brief(MAIN),
    mut_arg("epsilon", |arg| arg.required(false).required_unless_present("init").default_value_if("init", ArgPredicate::IsPresent, "1")),
    after_help = "\
Examples:
  veracity query --init people.csv
  veracity query \"SELECT COUNT(*) FROM people\" --catalog catalog.toml --epsilon 0.1
  veracity query \"SELECT sex, AVG(hours) FROM people GROUP BY sex\" --catalog catalog.toml --epsilon 1

More options, the SQL that is supported and the format of a catalog: veracity query --help",
    after_long_help = "\
Examples:
  veracity query --init people.csv --out catalog.toml
  veracity query \"SELECT sex, AVG(hours) FROM people GROUP BY sex\" --catalog catalog.toml --epsilon 1
  veracity query \"SELECT COUNT(*), MEDIAN(hours) FROM people WHERE age > 30\" --catalog catalog.toml --epsilon 1 --dry-run
  veracity query \"SELECT town, COUNT(DISTINCT id) AS n FROM visits GROUP BY town ORDER BY n DESC LIMIT 10\" \\
    --catalog catalog.toml --epsilon 1 --delta 1e-6 --groups-per-person 3
  veracity query \"SELECT COUNT(*) FROM people\" --catalog catalog.toml --epsilon 0.1 --ledger year.ledger --request-id monday-1
  veracity query \"SELECT sex, AVG(hours) FROM people GROUP BY sex\" --catalog catalog.toml --epsilon 1 --out hours.csv --plot hours.svg
  veracity query \"SELECT COUNT(*) FROM visits\" --every day --catalog catalog.toml --epsilon 1 --delta 1e-6

A query has the form:
  SELECT keys and aggregates FROM tables WHERE … GROUP BY keys HAVING … ORDER BY … LIMIT …

Aggregates are COUNT(*), COUNT(x), COUNT(DISTINCT person), SUM, AVG, VARIANCE, STDDEV,
MEDIAN and QUANTILE(x, rank). HAVING, ORDER BY and LIMIT work on the noisy answers. You
can join tables on the person column, or with public tables. The command refuses other
SQL and suggests what to write instead.

The catalog declares the tables, the column that identifies people, the bounds of
numbers and the public keys:
  [tables.people]
  path = \"people.csv\"
  person = \"id\"
  rows_per_group = 1
  groups_per_person = 2
  [tables.people.columns]
  hours = { lower = 0, upper = 99 }
  sex = { keys = [\"Male\", \"Female\"] }
  town = { type = \"text\" }

In a catalog, delimiter, decimal, thousands and encoding say how a file is written. The
flags of the same names override them for all files of a query.

Groups of public keys are always in the answer, even if they have no rows. A group of
other keys is in the answer only if enough people are in it, which needs a --delta.

Exit codes: 0 answered, 1 over budget, 2 error."
)]
pub struct QueryArgs {
    /// Query to run
    #[arg(
        value_name = "SQL",
        required = false,
        required_unless_present = "init",
        default_value_if("init", ArgPredicate::IsPresent, "")
    )]
    pub query: String,
    /// Catalog (TOML): tables, bounds and public keys
    #[arg(
        long,
        value_name = "FILE",
        required = false,
        required_unless_present = "init",
        default_value_if("init", ArgPredicate::IsPresent, "catalog.toml")
    )]
    pub catalog: PathBuf,
    /// Write a catalog for a file from its header, with places to fill in; reads no rows
    ///
    /// --out names the catalog [default: catalog.toml].
    #[arg(long, value_name = "FILE", conflicts_with_all = ["query", "catalog", "epsilon", "plot", "ledger", "dry_run"])]
    pub init: Option<PathBuf>,
    #[command(flatten)]
    pub answer: AnswerArgs,
    /// Maximum groups per person [default: the catalog's]
    ///
    /// A query with groups needs this cap, from the catalog or from here.
    #[arg(long, value_name = "N", help_heading = "Budget")]
    pub groups_per_person: Option<f64>,
    /// Maximum rows per person in each group [default: the catalog's]
    ///
    /// A query that counts rows needs this cap, from the catalog or from here. COUNT(DISTINCT person) does not count rows.
    #[arg(long, value_name = "N", help_heading = "Budget")]
    pub rows_per_group: Option<f64>,
    /// Choose the caps that are missing from the data, at this part of ε [default part: 0.1]
    ///
    /// For example, --suggest-caps=0.2 spends a fifth of --epsilon on the choice. The answer names the caps.
    #[arg(long, value_name = "PART", help_heading = "Budget", num_args = 0..=1, require_equals = true, default_missing_value = "0.1")]
    pub suggest_caps: Option<f64>,
    /// Count the rows that the caps leave out, with noise
    ///
    /// The number is one more noisy count of the same query. Each person adds at most 3 times the rows that
    /// count, which bounds the noise. So the number is too small where a few people have very many rows.
    #[arg(long, help_heading = "Budget")]
    pub count_cut: bool,
    /// Answer for every day, week, month, quarter or year of a date column
    ///
    /// One release for all periods, with a total so far beside each. A person counts in at
    /// most --groups-per-person periods. Needs --delta.
    #[arg(long, value_name = "PERIOD", help_heading = "Periods")]
    pub every: Option<String>,
    /// Date column for --every [default: the only one]
    #[arg(long, value_name = "COLUMN", help_heading = "Periods", requires = "every")]
    pub date: Option<String>,
    /// Numbers of --every whose largest error should be smallest [default: totals]
    #[arg(long, value_name = "NUMBERS", help_heading = "Periods", requires = "every", value_parser = choice::priority())]
    pub minimize: Option<Priority>,
    /// Database engine: sqlite, duckdb or postgres [default: the catalog's]
    ///
    /// For files, the default is sqlite.
    #[arg(long, value_name = "NAME", help_heading = "Tables")]
    pub engine: Option<String>,
    #[command(flatten)]
    pub form: FormArgs,
    /// Also write the answer to a new file that ends in .csv or .parquet
    ///
    /// With --init, the path of the new catalog.
    #[arg(long, value_name = "FILE", help_heading = "Output", conflicts_with = "dry_run")]
    pub out: Option<PathBuf>,
    /// Plot the answer with error bars to a file that ends in .svg or .png
    #[arg(long, value_name = "FILE", help_heading = "Output", conflicts_with = "dry_run")]
    pub plot: Option<PathBuf>,
}
