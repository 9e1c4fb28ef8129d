//! Answers about a table: `release`.

use super::{
    AnswerArgs,
    choice::{self, StatisticWord},
};
use clap::Args;
use std::path::PathBuf;
use veracity::Adjacency;

/// How a table is written, where it is text.
#[derive(Args, Clone)]
pub struct FormArgs {
    /// The character between cells, or tab [default: what the header has: a tab, else a comma, else a semicolon]
    #[arg(long, value_name = "C", help_heading = "File")]
    pub delimiter: Option<String>,
    /// The character before the fraction of a number
    #[arg(long, value_name = "CHAR", default_value = ".", help_heading = "File")]
    pub decimal: String,
    /// The character between the thousands of a number [default: none]
    #[arg(long, value_name = "CHAR", help_heading = "File")]
    pub thousands: Option<String>,
}

/// `veracity release`.
#[derive(Args)]
#[command(
    allow_negative_numbers = true,
    after_help = "\
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

The file is recognised by its bytes: CSV, TSV or Parquet, by the names of columns; NPY and IDX, by their places from 1; NPZ, by the
names of arrays; plain, or packed by gzip or zstd. - is standard input.

One row is protected, or with --person all rows of one person. Cells that are not numbers count as missing, and missing cells are
left out; numbers outside the bounds are moved to the bound. Numbers have a decimal point and nothing between the thousands, unless
--decimal and --thousands say otherwise: 1,234 is then missing. Nothing in a cell can make the command fail: that would tell about
the person.

The claim of each release is a file of its own, which nothing writes over: it is the record of what was spent.
`veracity account CLAIM…` adds claims up, `veracity verify` checks them."
)]
pub struct ReleaseArgs {
    /// What is asked
    #[arg(value_name = "STATISTIC")]
    pub statistic: StatisticWord,
    /// A table: CSV, TSV, Parquet, NPY, NPZ or IDX; - for standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The column, by its name in the header; count takes every row without it
    #[arg(long, value_name = "NAME", help_heading = "Question")]
    pub column: Option<String>,
    /// What no value is below; known beforehand, not read from the data
    #[arg(long, value_name = "L", help_heading = "Question")]
    pub lower: Option<f64>,
    /// What no value is above; known beforehand, not read from the data
    #[arg(long, value_name = "U", help_heading = "Question")]
    pub upper: Option<f64>,
    /// quantile: which one, from 0 to 1 [default: 0.5, the median]
    #[arg(long, value_name = "Q", help_heading = "Question")]
    pub rank: Option<f64>,
    /// histogram: how many bins of equal width
    #[arg(long, value_name = "K", help_heading = "Question")]
    pub bins: Option<f64>,
    /// histogram: the categories, with commas between them; known beforehand, not read from the data
    #[arg(long, value_name = "A,B,…", help_heading = "Question", value_delimiter = ',')]
    pub categories: Option<Vec<String>>,
    #[command(flatten)]
    pub form: FormArgs,
    #[command(flatten)]
    pub answer: AnswerArgs,
    /// Which datasets must look alike; all but add-remove take the number of rows as public
    #[arg(long, value_name = "A", default_value = "add-remove", value_parser = choice::adjacency(), help_heading = "Budget")]
    pub adjacency: Adjacency,
    /// The column that says whose row it is: all rows of one person are then protected together
    #[arg(long, value_name = "COLUMN", help_heading = "Budget", conflicts_with = "replay")]
    pub person: Option<String>,
    /// With --person: how many rows of each person count, drawn at random [default: 1]
    #[arg(long, value_name = "K", help_heading = "Budget", requires = "person")]
    pub rows_per_person: Option<f64>,
    /// What is protected: row, or with --person what such a person is called [default: row, or person]
    #[arg(long, value_name = "NAME", help_heading = "Budget")]
    pub unit: Option<String>,
    /// Answer this column and neighbours of it, replaying the same outputs, and check that nothing but noise differs; releases
    /// nothing, and what it prints is about private data
    #[arg(long, help_heading = "Output", conflicts_with_all = ["dry_run", "ledger"])]
    pub replay: bool,
}
