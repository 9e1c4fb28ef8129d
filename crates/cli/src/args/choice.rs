//! Closed choices: the help lists the values, and an error for a misspelled value suggests the right one.
//!
//! If another crate has the list, it comes from there.

use clap::{
    ValueEnum,
    builder::{PossibleValuesParser, TypedValueParser},
};
use veracity::{
    Adjacency, Method,
    calibration::Solve,
    local::Kind,
    lower_bounds::bound::{FromCounts, FromGuesses},
    query::NoiseKind,
    sql::Priority,
};

/// One of all values of a type, by its name.
fn named<T: Copy + Send + Sync + 'static>(
    all: &'static [T],
    name: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(all.iter().map(|one| name(*one)))
        .map(move |word| *all.iter().find(|one| name(**one) == word).expect("no other word was let through"))
}

/// How neighboring datasets differ.
pub fn adjacency() -> impl TypedValueParser<Value = Adjacency> {
    named(&Adjacency::ALL, Adjacency::name)
}

/// Accounting methods.
pub fn method() -> impl TypedValueParser<Value = Method> {
    named(&Method::ALL, Method::name)
}

/// Bounds from counts.
pub fn from_counts() -> impl TypedValueParser<Value = FromCounts> {
    named(&FromCounts::ALL, FromCounts::name)
}

/// Bounds from the guesses of one run.
pub fn from_guesses() -> impl TypedValueParser<Value = FromGuesses> {
    named(&FromGuesses::ALL, FromGuesses::name)
}

/// Protocols of local differential privacy.
pub fn protocol() -> impl TypedValueParser<Value = Kind> {
    named(&Kind::ALL, Kind::name)
}

/// Noise distributions.
pub fn noise() -> impl TypedValueParser<Value = NoiseKind> {
    named(&[NoiseKind::Laplace, NoiseKind::Gaussian], NoiseKind::name)
}

/// Numbers of every period.
pub fn priority() -> impl TypedValueParser<Value = Priority> {
    named(&Priority::ALL, Priority::name)
}

/// Quantities to solve for.
pub fn solve() -> impl TypedValueParser<Value = Solve> {
    named(&[Solve::Noise, Solve::Steps, Solve::SamplingRate], |solve| match solve {
        Solve::Noise => "noise",
        Solve::Steps => "steps",
        Solve::SamplingRate => "sampling-rate",
    })
}

/// Attacks on a training run: white-box, a type of canary, or the best type.
pub fn attack() -> PossibleValuesParser {
    let canaries = veracity::auditing::CanaryKind::ALL.map(|kind| kind.name());
    PossibleValuesParser::new(["white-box"].into_iter().chain(canaries).chain(["search"]))
}

/// Bounds from scores, by their names in certificates.
pub fn scores_to_bound() -> PossibleValuesParser {
    PossibleValuesParser::new(["clopper-pearson", "one-run", "many-runs", "gdp"])
}

/// Statistics of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum StatisticWord {
    /// Number of rows
    Count,
    /// Sum of the values
    Sum,
    /// Mean of the values
    Mean,
    /// Variance of the values
    Variance,
    /// Value at --rank
    Quantile,
    /// Quantile at rank 0.5
    Median,
    /// Number of rows in each bin or category
    Histogram,
}

impl StatisticWord {
    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            StatisticWord::Count => "count",
            StatisticWord::Sum => "sum",
            StatisticWord::Mean => "mean",
            StatisticWord::Variance => "variance",
            StatisticWord::Quantile => "quantile",
            StatisticWord::Median => "median",
            StatisticWord::Histogram => "histogram",
        }
    }
}

/// Error bars of a quantile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ErrorBarWord {
    /// Both ends at once, with all of ε; holds if the values around the quantile have no large gaps
    Pair,
    /// With a third of ε; holds for all data, and is several times as wide
    Charged,
}

/// Composition rules of a ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RuleWord {
    /// ε and δ add up
    Sum,
    /// ε adds up, or μ², priced beside what is left
    Union,
    /// μ² adds up
    Gaussian,
    /// Pools and slots are consumed
    Product,
}

/// Curves of a plot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PanelsWord {
    /// Privacy profile δ(ε)
    Profile,
    /// Trade-off curve f(α)
    Tradeoff,
    /// Both, side by side
    Both,
}

/// Errors that a strategy can minimize.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum AimWord {
    /// Mean error over all running sums
    Mean,
    /// Largest error
    Largest,
}

/// Scores of the final model for a canary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ScoreWord {
    /// Score of the canary's class minus the highest other score
    Margin,
    /// Loss
    Loss,
    /// Loss compared with the losses of shadow models
    LikelihoodRatio,
}

/// Mechanisms to plan for when only ε is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TruthWord {
    /// Gaussian noise
    Gaussian,
    /// Randomized response
    Pure,
}

impl TruthWord {
    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            TruthWord::Gaussian => "gaussian",
            TruthWord::Pure => "pure",
        }
    }
}

/// How a threshold is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ThresholdWord {
    /// Known before the trials
    Fixed,
    /// Chosen on the first half of the trials
    Split,
    /// Cross-validated over folds
    Folds,
    /// All thresholds at once, with a union bound
    Union,
}

impl ThresholdWord {
    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            ThresholdWord::Fixed => "fixed",
            ThresholdWord::Split => "split",
            ThresholdWord::Folds => "folds",
            ThresholdWord::Union => "union",
        }
    }
}

/// When to use color.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ColorWord {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Always, also in files and pipes
    Always,
    /// Never
    Never,
}
