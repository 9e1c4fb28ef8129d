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
    /// True positives: runs with the canary in which the attacker saw it
    #[arg(long, value_name = "N", help_heading = "Counts", required = true)]
    pub tp: Option<f64>,
    /// False negatives: runs with the canary in which the attacker missed it
    #[arg(long = "fn", value_name = "N", help_heading = "Counts", required = true)]
    pub fn_: Option<f64>,
    /// False positives: runs without the canary in which the attacker saw one
    #[arg(long, value_name = "N", help_heading = "Counts", required = true)]
    pub fp: Option<f64>,
    /// True negatives: runs without the canary in which the attacker saw none
    #[arg(long, value_name = "N", help_heading = "Counts", required = true)]
    pub tn: Option<f64>,
    /// How counts become a bound: clopper-pearson is proved, gdp if the mechanism is Gaussian, bayesian is credible, log-katz
    /// approximate
    #[arg(long, value_name = "B", default_value = "clopper-pearson", value_parser = choice::from_counts(), help_heading = "Question")]
    pub bound: FromCounts,
    /// By how many records the two worlds differ
    #[arg(long, value_name = "K", default_value_t = 1.0, help_heading = "Question")]
    pub group_size: f64,
    #[command(flatten)]
    pub question: BoundQuestion,
}

/// What every bound asks for.
#[derive(Args)]
pub struct BoundQuestion {
    /// The δ at which ε is bounded
    #[arg(long, value_name = "D", default_value_t = 1e-5, help_heading = "Question")]
    pub delta: f64,
    /// The chance of error that may be spent
    #[arg(long, value_name = "P", default_value_t = 0.01, help_heading = "Question")]
    pub significance: f64,
    /// One JSON object
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

/// The other kinds of evidence, and the plan for it.
#[derive(Subcommand)]
pub enum BoundCommand {
    /// From one run with many canaries, each in or out by its own fair coin
    OneRun(BoundOneRunArgs),
    /// From a CSV file of scores: all bounds side by side, each with what it rests on
    Scores(BoundScoresArgs),
    /// How many trials would refute a claim, and the most that so many could show
    Power(BoundPowerArgs),
}

/// `veracity bound one-run`.
#[derive(Args)]
#[command(
    allow_negative_numbers = true,
    after_help = "\
Bounds:
  one-run                       proved; the one that audits use
  one-run-binomial              proved; an older and simpler one
  one-run-gaussian              proved if the mechanism is Gaussian
  one-run-independent           proved if canaries are independent
  one-run-independent-gaussian  proved if canaries are independent and the mechanism is Gaussian

Each errs with the stated chance by itself, so settle on one before looking."
)]
pub struct BoundOneRunArgs {
    /// How many canaries there were, each in with chance one half
    #[arg(long, value_name = "M", help_heading = "Guesses")]
    pub canaries: f64,
    /// For how many of them a guess was made; fixed before the scores were seen
    #[arg(long, value_name = "R", help_heading = "Guesses")]
    pub guesses: f64,
    /// How many guesses were right
    #[arg(long, value_name = "V", help_heading = "Guesses")]
    pub correct: f64,
    /// How guesses become a bound; see below
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

One trial a row, independent of each other; a higher score says \"in\" more loudly."
)]
pub struct BoundScoresArgs {
    /// A CSV file with the columns world (in or out) and score
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// A threshold that was known before the trials [default: the first half of the trials chooses]
    #[arg(long, value_name = "T", help_heading = "Question")]
    pub threshold: Option<f64>,
    /// In how many folds the trials choose for each other
    #[arg(long, value_name = "K", default_value_t = 5.0, help_heading = "Question")]
    pub folds: f64,
    #[command(flatten)]
    pub question: BoundQuestion,
}

/// `veracity bound power`.
#[derive(Args)]
#[command(allow_negative_numbers = true)]
pub struct BoundPowerArgs {
    /// The ε that is claimed
    #[arg(long, value_name = "E", help_heading = "Question")]
    pub claim_epsilon: f64,
    /// The ε that the truth might be
    #[arg(long, value_name = "E", help_heading = "Question")]
    pub true_epsilon: f64,
    /// What the mechanism might be
    #[arg(long, value_name = "KIND", default_value = "gaussian", help_heading = "Question")]
    pub mechanism: TruthWord,
    /// Where the threshold comes from
    #[arg(long, value_name = "HOW", default_value = "split", help_heading = "Question")]
    pub choice: ThresholdWord,
    /// With --choice folds: how many
    #[arg(long, value_name = "K", default_value_t = 5.0, help_heading = "Question")]
    pub folds: f64,
    /// The chance of a refutation to plan for
    #[arg(long, value_name = "P", default_value_t = 0.9, help_heading = "Question")]
    pub chance: f64,
    /// What so many trials can do, instead of how many are needed
    #[arg(long, value_name = "N", help_heading = "Question", conflicts_with = "chance")]
    pub trials: Option<f64>,
    #[command(flatten)]
    pub question: BoundQuestion,
}
