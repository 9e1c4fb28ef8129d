//! Closed choices: the help lists the words, and a slip of the finger is told the word that was meant.
//!
//! Where an inner room has the list, it is taken from there, so that it is said once.

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
};

/// One of all that a room has, by its name there.
fn named<T: Copy + Send + Sync + 'static>(
    all: &'static [T],
    name: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(all.iter().map(|one| name(*one)))
        .map(move |word| *all.iter().find(|one| name(**one) == word).expect("no other word was let through"))
}

/// Which datasets must look alike.
pub fn adjacency() -> impl TypedValueParser<Value = Adjacency> {
    named(&Adjacency::ALL, Adjacency::name)
}

/// How a mechanism is accounted for.
pub fn method() -> impl TypedValueParser<Value = Method> {
    named(&Method::ALL, Method::name)
}

/// How counts become a bound.
pub fn from_counts() -> impl TypedValueParser<Value = FromCounts> {
    named(&FromCounts::ALL, FromCounts::name)
}

/// How the guesses of one run become a bound.
pub fn from_guesses() -> impl TypedValueParser<Value = FromGuesses> {
    named(&FromGuesses::ALL, FromGuesses::name)
}

/// How values are reported where nobody is trusted.
pub fn protocol() -> impl TypedValueParser<Value = Kind> {
    named(&Kind::ALL, Kind::name)
}

/// Which noise.
pub fn noise() -> impl TypedValueParser<Value = NoiseKind> {
    named(&[NoiseKind::Laplace, NoiseKind::Gaussian], NoiseKind::name)
}

/// What to look for.
pub fn solve() -> impl TypedValueParser<Value = Solve> {
    named(&[Solve::Noise, Solve::Steps, Solve::SamplingRate], |solve| match solve {
        Solve::Noise => "noise",
        Solve::Steps => "steps",
        Solve::SamplingRate => "sampling-rate",
    })
}

/// How a training is attacked: from within, by a canary of some kind, or by the best of them.
pub fn attack() -> PossibleValuesParser {
    let canaries = veracity::auditing::CanaryKind::ALL.map(|kind| kind.name());
    PossibleValuesParser::new(["white-box"].into_iter().chain(canaries).chain(["search"]))
}

/// How scores become a bound, as certificates have it.
pub fn scores_to_bound() -> PossibleValuesParser {
    PossibleValuesParser::new(["clopper-pearson", "one-run", "many-runs", "gdp"])
}

/// What is asked of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum StatisticWord {
    /// How many rows
    Count,
    /// Their sum
    Sum,
    /// Their mean
    Mean,
    /// Their variance
    Variance,
    /// The value at a rank
    Quantile,
    /// The quantile at rank 0.5
    Median,
    /// How many are in each bin
    Histogram,
}

impl StatisticWord {
    /// As it was typed.
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

/// By which rule a ledger holds charges against its budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RuleWord {
    /// ε and δ add up
    Sum,
    /// μ² adds up
    Gaussian,
    /// Pools and slots are used up
    Product,
}

/// What a picture shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PanelsWord {
    /// δ(ε)
    Profile,
    /// f(α)
    Tradeoff,
    /// Both, side by side
    Both,
}

/// Which error of a strategy is made small.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum AimWord {
    /// The mean over all running sums
    Mean,
    /// The largest
    Largest,
}

/// How the last model's answer about a canary is scored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ScoreWord {
    /// The score of its class above the others
    Margin,
    /// The loss
    Loss,
    /// The loss against those of shadow models
    LikelihoodRatio,
}

/// What a mechanism might be, where only its ε is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TruthWord {
    /// Gaussian noise
    Gaussian,
    /// Randomized response
    Pure,
}

impl TruthWord {
    /// As it was typed.
    pub fn name(self) -> &'static str {
        match self {
            TruthWord::Gaussian => "gaussian",
            TruthWord::Pure => "pure",
        }
    }
}

/// Where a threshold comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ThresholdWord {
    /// Known beforehand
    Fixed,
    /// The first half of the trials chooses
    Split,
    /// Folds choose for each other
    Folds,
    /// All at once, each paid for
    Union,
}

impl ThresholdWord {
    /// As it was typed.
    pub fn name(self) -> &'static str {
        match self {
            ThresholdWord::Fixed => "fixed",
            ThresholdWord::Split => "split",
            ThresholdWord::Folds => "folds",
            ThresholdWord::Union => "union",
        }
    }
}

/// Whether there is colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ColorWord {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Also in files and pipes
    Always,
    /// Nowhere
    Never,
}
