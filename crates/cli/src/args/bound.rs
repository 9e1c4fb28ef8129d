//! From evidence to a lower bound: `bound`.

use super::choice::{self, ThresholdWord, TruthWord};
use clap::{Args, Subcommand};
use std::path::PathBuf;
use veracity::lower_bounds::bound::{FromCounts, FromGuesses};

/// `veracity bound`.
#[derive(Args)]
#[command(
    allow_negative_numbers = true,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "\
Examples:
  veracity bound --tp 463 --fn 37 --fp 37 --tn 463
  veracity bound scores scores.csv
  veracity bound power --claim-epsilon 1 --true-epsilon 4

More examples: veracity bound --help",
    after_long_help = "\
Examples:
  veracity bound --tp 4922 --fn 95078 --fp 174 --tn 99826 --significance 1e-10
  veracity bound --tp 463 --fn 37 --fp 37 --tn 463 --bound gdp
  veracity bound --tp 400 --fn 100 --fp 10 --tn 490 --group-size 2 --delta 0
  veracity bound one-run --canaries 1000 --guesses 100 --correct 75 --delta 1e-4 --significance 0.05
  veracity bound scores scores.csv
  veracity bound power --claim-epsilon 1 --true-epsilon 4"
)]
pub struct BoundArgs {
    #[command(subcommand)]
    pub command: Option<BoundCommand>,
    /// True positives: runs with the canary, guessed as included
    #[arg(long, value_name = "N", help_heading = "Counts", required = true)]
    pub tp: Option<f64>,
    /// False negatives: runs with the canary, guessed as excluded
    #[arg(long = "fn", value_name = "N", help_heading = "Counts", required = true)]
    pub fn_: Option<f64>,
    /// False positives: runs without the canary, guessed as included
    #[arg(long, value_name = "N", help_heading = "Counts", required = true)]
    pub fp: Option<f64>,
    /// True negatives: runs without the canary, guessed as excluded
    #[arg(long, value_name = "N", help_heading = "Counts", required = true)]
    pub tn: Option<f64>,
    /// Statistical method for the lower bound
    ///
    /// clopper-pearson is valid for any mechanism.
    ///
    /// gdp is valid if the mechanism is Gaussian.
    ///
    /// bayesian is a credible bound, log-katz an approximation.
    #[arg(long, value_name = "B", default_value = "clopper-pearson", value_parser = choice::from_counts(), help_heading = "Question")]
    pub bound: FromCounts,
    /// Number of records in the canary
    #[arg(long, value_name = "K", default_value_t = 1.0, help_heading = "Question")]
    pub group_size: f64,
    #[command(flatten)]
    pub question: BoundQuestion,
}

/// The flags of every bound.
#[derive(Args)]
pub struct BoundQuestion {
    /// δ at which to bound ε
    #[arg(long, value_name = "D", default_value = "1e-5", help_heading = "Question")]
    pub delta: f64,
    /// Significance level: probability that the bound is wrong
    #[arg(long, value_name = "P", default_value_t = 0.01, help_heading = "Question")]
    pub significance: f64,
    /// Print the result as JSON
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

/// Other evidence, and planning.
#[derive(Subcommand)]
pub enum BoundCommand {
    /// Compute the bound from one run with many canaries, each included with probability 1/2
    OneRun(BoundOneRunArgs),
    /// Compute all bounds from a CSV file of scores, each with its assumptions
    Scores(BoundScoresArgs),
    /// Plan an audit: number of trials that would refute a claim
    Power(BoundPowerArgs),
}

/// `veracity bound one-run`.
#[derive(Args)]
#[command(
    allow_negative_numbers = true,
    after_help = "\
Example:
  veracity bound one-run --canaries 1000 --guesses 100 --correct 75 --delta 1e-4

Bounds:
  one-run                       valid for any mechanism; audits use this one
  one-run-binomial              valid for any mechanism; older and simpler
  one-run-gaussian              valid if the mechanism is Gaussian
  one-run-independent           valid if the canaries are independent
  one-run-independent-gaussian  valid if both hold

Choose one bound before you look at the results: the significance level holds for each
bound separately, not for the best of them."
)]
pub struct BoundOneRunArgs {
    /// Number of canaries, each included with probability 1/2
    #[arg(long, value_name = "M", help_heading = "Guesses")]
    pub canaries: f64,
    /// Number of guesses; must be fixed before you see the scores
    #[arg(long, value_name = "R", help_heading = "Guesses")]
    pub guesses: f64,
    /// Number of correct guesses
    #[arg(long, value_name = "V", help_heading = "Guesses")]
    pub correct: f64,
    /// Statistical method for the lower bound, see below
    #[arg(long, value_name = "B", default_value = "one-run", value_parser = choice::from_guesses(), hide_possible_values = true, help_heading = "Question")]
    pub bound: FromGuesses,
    #[command(flatten)]
    pub question: BoundQuestion,
}

/// `veracity bound scores`.
#[derive(Args)]
#[command(
    allow_negative_numbers = true,
    after_help = "\
The file:
  world,score
  in,1.7
  out,-0.2

One independent trial per row. A higher score means stronger evidence that the canary
was included."
)]
pub struct BoundScoresArgs {
    /// CSV file with the columns world (in or out) and score
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Threshold fixed before the trials [default: chosen on the first half]
    #[arg(long, value_name = "T", help_heading = "Question")]
    pub threshold: Option<f64>,
    /// Number of folds for choosing the threshold by cross-validation
    #[arg(long, value_name = "K", default_value_t = 5.0, help_heading = "Question")]
    pub folds: f64,
    #[command(flatten)]
    pub question: BoundQuestion,
}

/// `veracity bound power`.
#[derive(Args)]
#[command(
    allow_negative_numbers = true,
    after_help = "\
Examples:
  veracity bound power --claim-epsilon 1 --true-epsilon 4
  veracity bound power --claim-epsilon 1 --true-epsilon 4 --trials 1000"
)]
pub struct BoundPowerArgs {
    /// Claimed ε
    #[arg(long, value_name = "E", help_heading = "Question")]
    pub claim_epsilon: f64,
    /// True ε to plan for
    #[arg(long, value_name = "E", help_heading = "Question")]
    pub true_epsilon: f64,
    /// Mechanism to plan for
    #[arg(long, value_name = "KIND", default_value = "gaussian", help_heading = "Question")]
    pub mechanism: TruthWord,
    /// How the audit chooses its threshold
    #[arg(long, value_name = "HOW", default_value = "split", help_heading = "Question")]
    pub choice: ThresholdWord,
    /// Number of folds; for --choice folds
    #[arg(long, value_name = "K", default_value_t = 5.0, help_heading = "Question")]
    pub folds: f64,
    /// Probability of refuting the claim (statistical power)
    #[arg(
        long = "power",
        alias = "chance",
        value_name = "P",
        default_value_t = 0.9,
        help_heading = "Question"
    )]
    pub chance: f64,
    /// Compute the power of this number of trials instead
    #[arg(long, value_name = "N", help_heading = "Question", conflicts_with = "chance")]
    pub trials: Option<f64>,
    #[command(flatten)]
    pub question: BoundQuestion,
}
