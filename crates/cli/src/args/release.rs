//! Answers about a table: `release`.

use super::{
    AnswerArgs, brief,
    choice::{self, ErrorBarWord, StatisticWord},
};
use clap::Args;
use std::path::PathBuf;
use veracity::Adjacency;

/// The notation of a text table.
#[derive(Args, Clone)]
pub struct FormArgs {
    /// Cell delimiter: a character, or tab [default: detected]
    ///
    /// The header decides: a tab, else a comma, else a semicolon.
    #[arg(long, value_name = "C", help_heading = "File")]
    pub delimiter: Option<String>,
    /// Decimal separator [default: .]
    #[arg(long, value_name = "CHAR", help_heading = "File")]
    pub decimal: Option<String>,
    /// Thousands separator [default: none]
    #[arg(long, value_name = "CHAR", help_heading = "File")]
    pub thousands: Option<String>,
    /// Encoding of text: utf-8, windows-1252 or latin-1 [default: utf-8]
    #[arg(long, value_name = "NAME", help_heading = "File")]
    pub encoding: Option<String>,
}

/// The flags of `veracity release -h`.
const MAIN: &str = "\
    column lower upper rank bins categories epsilon delta person rows-per-person ledger dry-run \
    claim json";

/// `veracity release`.
#[derive(Args)]
#[command(
    allow_negative_numbers = true,
    mut_args = brief(MAIN),
    after_help = "\
Examples:
  veracity release count people.csv --epsilon 1
  veracity release mean people.csv --column age --lower 0 --upper 100 --epsilon 1
  veracity release mean visits.csv --column cost --lower 0 --upper 500 --epsilon 1 --person patient

More options, examples and explanations: veracity release --help",
    after_long_help = "\
Examples:
  veracity release count people.csv --epsilon 1
  veracity release mean people.csv --column age --lower 0 --upper 100 --epsilon 1
  veracity release mean people.csv --column age --lower 0 --upper 100 --epsilon 1 --dry-run --rows 5000
  veracity release median people.csv --column income --lower 0 --upper 1e6 --epsilon 0.5
  veracity release quantile people.csv --column income --lower 0 --upper 1e6 --rank 0.9 --epsilon 0.5
  veracity release histogram people.csv --column age --lower 0 --upper 100 --bins 10 --epsilon 1
  veracity release histogram people.csv --column city --categories Basel,Bern,Chur --epsilon 1 --delta 1e-6

  veracity release mean visits.csv --column cost --lower 0 --upper 500 --epsilon 1 --person patient --rows-per-person 3
  zcat people.csv.gz | veracity release count - --epsilon 1
  veracity release count people.csv --epsilon 0.5 --ledger year.ledger --request-id monday-1

Files: CSV, TSV, Parquet, NPY, NPZ and IDX, each optionally compressed with gzip or zstd.
Use - for standard input. The command detects the format from the content. Columns have
names in CSV, TSV and Parquet, positions from 1 in NPY and IDX, and names of arrays in
NPZ.

Privacy unit: by default the release protects one row. If a person can have several
rows, name the ID column with --person, and the release protects all rows of a person.

Values: cells that are not numbers are missing values, and missing values are ignored.
Values outside the bounds are clamped. Numbers have a decimal point and no thousands
separator unless you set --decimal and --thousands, so 1,234 is a missing value by
default. No cell can make the command fail, because a failure would reveal something
about that person.

Claims: each release writes a claim to a new file and never overwrites one, because
claims are the record of what you spent. `veracity account CLAIM…` composes claims,
`veracity verify` checks them."
)]
pub struct ReleaseArgs {
    /// Statistic
    #[arg(value_name = "STATISTIC")]
    pub statistic: StatisticWord,
    /// Table: CSV, TSV, Parquet, NPY, NPZ or IDX; - for standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Column name; optional for count, which then counts all rows
    #[arg(long, value_name = "NAME", help_heading = "Question")]
    pub column: Option<String>,
    /// Lower clamping bound; must not be computed from the data
    #[arg(long, value_name = "L", help_heading = "Question")]
    pub lower: Option<f64>,
    /// Upper clamping bound; must not be computed from the data
    #[arg(long, value_name = "U", help_heading = "Question")]
    pub upper: Option<f64>,
    /// quantile: rank from 0 to 1 [default: 0.5, the median]
    #[arg(long, value_name = "Q", help_heading = "Question")]
    pub rank: Option<f64>,
    /// median, quantile: error bar [default: pair]
    #[arg(long, value_name = "BAR", help_heading = "Question")]
    pub error_bar: Option<ErrorBarWord>,
    /// histogram: number of bins of equal width
    #[arg(long, value_name = "K", help_heading = "Question")]
    pub bins: Option<f64>,
    /// histogram: categories, separated by commas; must be known in advance
    #[arg(long, value_name = "A,B,…", help_heading = "Question", value_delimiter = ',')]
    pub categories: Option<Vec<String>>,
    #[command(flatten)]
    pub form: FormArgs,
    #[command(flatten)]
    pub answer: AnswerArgs,
    /// How neighboring datasets differ
    ///
    /// Except for add-remove, the number of rows is public.
    #[arg(long, value_name = "A", default_value = "add-remove", value_parser = choice::adjacency(), help_heading = "Budget")]
    pub adjacency: Adjacency,
    /// Privacy ID column: protects all rows with the same value together
    #[arg(long, value_name = "COLUMN", help_heading = "Budget", conflicts_with = "replay")]
    pub person: Option<String>,
    /// Maximum number of rows per person; requires --person [default: 1]
    ///
    /// Of a person with more rows, this many are sampled at random. Pick the smallest number that fits, because noise grows with it.
    #[arg(long, value_name = "K", help_heading = "Budget", requires = "person")]
    pub rows_per_person: Option<f64>,
    /// Privacy unit in the claim: row, or a name for the people of --person [default: row, or person]
    #[arg(long, value_name = "NAME", help_heading = "Budget")]
    pub unit: Option<String>,
    /// Check the sensitivity on neighboring datasets instead of releasing
    ///
    /// The command computes the statistic on this column and on neighbors of it, with the same noisy outputs, and checks that only the noise differs.
    /// It releases nothing, but its output is not private: it depends on the data.
    #[arg(long, help_heading = "Output", conflicts_with_all = ["dry_run", "ledger"])]
    pub replay: bool,
}
