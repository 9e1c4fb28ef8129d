//! What is asked of a column: a statistic, with everything about it that must be chosen without looking at the data.

use crate::Bounds;
use std::collections::HashSet;
use veracity_core::{Adjacency, Refusal};

/// A statistic of a column, and which datasets must look alike.
///
/// Where rows are public (replace-one, zero-out), every row counts in sums, means and variances, and a missing value
/// stands in the middle of the bounds: that is the blank which contributes nothing. Under add-remove a missing value is
/// as good as no row. A missing value is in no count, no quantile and no bin.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// What is asked.
    pub statistic: Statistic,
    /// Which datasets must look alike.
    pub adjacency: Adjacency,
}

/// What can be asked of a column.
///
/// # Examples
///
/// The median income, to within how many records' ranks:
///
/// ```
/// use veracity_core::{Adjacency, NoiseMultiplier};
/// use veracity_noise::{Entropy, Key, NoiseStream, Purpose};
/// use veracity_mechanisms::{Bounds, Column, ErrorBar, NoiseKind, Question, Rank, Statistic};
///
/// let bounds = Bounds::new(0.0, 200_000.0)?;
/// let statistic = Statistic::Quantile { bounds, rank: Rank::new(1, 2)?, steps: 2_000, bar: ErrorBar::Pair };
/// let question = Question { statistic, adjacency: Adjacency::AddRemove };
/// let design = question.design(NoiseKind::Laplace, NoiseMultiplier::new(1.0)?)?;
///
/// let incomes = (0..10_001).map(|i| 20_000.0 + 4.0 * f64::from(i)).collect();
/// let mut rng = NoiseStream::new(Entropy::seeded(1).stream(Purpose::Noise, Key::default()));
/// let median = &design.release(&Column::Numbers(incomes), &mut rng)?.cells[0];
/// assert!((median.value - 40_000.0).abs() < 1_000.0);
/// assert!(median.rank_error.is_some_and(|ranks| ranks < 100.0));
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub enum Statistic {
    /// How many values are present.
    Count,
    /// Their sum, each clamped.
    Sum(Bounds),
    /// Their mean, each clamped.
    Mean(Bounds),
    /// Their population variance (divided by the number, not one less), each clamped.
    Variance(Bounds),
    /// The value below which a given part of them lies.
    Quantile {
        /// The answer is a point of a decimal grid between the bounds: one of them, or a multiple of 1, 2 or 5 times a power
        /// of ten. Values go to the nearest point.
        bounds: Bounds,
        /// Which part.
        rank: Rank,
        /// The most steps from the lower to the upper bound: 1 to 2^20, for example [`Rank::STEPS`].
        steps: u32,
        /// How the error in the column's unit is found.
        bar: ErrorBar,
    },
    /// How many of them are in each bin.
    Histogram(Bins),
}

impl Statistic {
    /// The name used on the command line and in files.
    pub fn name(&self) -> &'static str {
        match self {
            Statistic::Count => "count",
            Statistic::Sum(_) => "sum",
            Statistic::Mean(_) => "mean",
            Statistic::Variance(_) => "variance",
            Statistic::Quantile { .. } => "quantile",
            Statistic::Histogram(_) => "histogram",
        }
    }

    /// Whether its column is read as numbers; else as texts.
    pub fn reads_numbers(&self) -> bool {
        match self {
            Statistic::Count | Statistic::Histogram(Bins::Categories(_)) => false,
            Statistic::Sum(_)
            | Statistic::Mean(_)
            | Statistic::Variance(_)
            | Statistic::Quantile { .. }
            | Statistic::Histogram(Bins::Numeric { .. }) => true,
        }
    }
}

/// How a quantile gets its error bar in the column's unit. How dense the values are is private.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorBar {
    /// Both ends of the bar are chosen at once with all of the ε, and the answer is their middle. The bar holds with probability 95% where
    /// values around the quantile are spread about evenly (`docs/proofs/quantile-pair.md`).
    Pair,
    /// The answer is chosen with two thirds of the ε and the bar with a third. The bar holds with probability 95% whatever the data, and is
    /// several times as wide.
    Charged,
    /// The answer is chosen with all of the ε. Its error bar is the distance to the farther bound.
    LeftOut,
}

/// A part of the whole as an exact ratio, such as 1/2 for the median.
///
/// # Examples
///
/// ```
/// use veracity_mechanisms::Rank;
///
/// assert_eq!(Rank::from_fraction(0.25)?, Rank::new(1, 4)?);
/// assert!(Rank::from_fraction(1.5).is_err());
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rank {
    below: u32,
    whole: u32,
}

impl Rank {
    /// The grid of a quantile unless something else is asked for: about a millionth of the width.
    pub const STEPS: u32 = 1 << 20;
    /// The largest denominator.
    const MOST: u32 = 1_000_000;

    /// Checks that 0 ≤ below ≤ whole and 1 ≤ whole ≤ 10^6.
    ///
    /// # Errors
    /// Refuses other numbers.
    pub fn new(below: u32, whole: u32) -> Result<Rank, Refusal> {
        if below <= whole && (1..=Rank::MOST).contains(&whole) {
            let shared = gcd(below, whole);
            Ok(Rank { below: below / shared, whole: whole / shared })
        } else {
            Err(Refusal::out_of_range("rank", format!("{below}/{whole}"), "0 ≤ rank ≤ 1 in millionths"))
        }
    }

    /// The nearest rank in millionths: 0.5 is the median.
    ///
    /// # Errors
    /// Refuses numbers outside of 0 to 1.
    pub fn from_fraction(fraction: f64) -> Result<Rank, Refusal> {
        if (0.0..=1.0).contains(&fraction) {
            // At most 10^6, so the cast is exact.
            Rank::new((fraction * f64::from(Rank::MOST)).round() as u32, Rank::MOST)
        } else {
            Err(Refusal::out_of_range("rank", fraction, "0 ≤ rank ≤ 1"))
        }
    }

    /// How far adjacent datasets move the error of a point, in units of which one value is [`Rank::whole`].
    pub(crate) fn moved(self, adjacency: Adjacency) -> u32 {
        match adjacency {
            // A blank is missing, and what is missing is in no quantile.
            Adjacency::AddRemove | Adjacency::ZeroOut => self.below.max(self.whole - self.below),
            // From one side to the other.
            Adjacency::ReplaceOne => self.whole,
        }
    }

    /// The number above the line, in lowest terms.
    pub fn below(self) -> u32 {
        self.below
    }

    /// The number below the line.
    pub fn whole(self) -> u32 {
        self.whole
    }
}

fn gcd(mut a: u32, mut b: u32) -> u32 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// The bins of a histogram: public, and each value is in at most one.
#[derive(Debug, Clone, PartialEq)]
pub enum Bins {
    /// Ranges of equal width between two bounds; what lies outside is counted in the first or the last. Each begins at its
    /// lower edge, and the last one has its upper edge too. Edges are exact: of the decimals that were written.
    Numeric {
        /// From where to where.
        bounds: Bounds,
        /// How many.
        bins: u32,
    },
    /// Texts. What equals none of them is not counted: add a bin of your own for the rest before asking.
    Categories(Vec<String>),
}

impl Bins {
    /// The most bins.
    pub const MOST: usize = 1_000_000;

    /// Checks that there are 1 to 10^6 bins, all different.
    pub(crate) fn check(&self) -> Result<(), Refusal> {
        let number = match self {
            Bins::Numeric { bins, .. } => *bins as usize,
            Bins::Categories(names) => names.len(),
        };
        if !(1..=Bins::MOST).contains(&number) {
            return Err(Refusal::out_of_range("bins", number, "1 to 10^6 bins"));
        }
        match self {
            Bins::Categories(names) if names.iter().collect::<HashSet<_>>().len() < names.len() => {
                Err(Refusal::out_of_range("bins", "repeated", "different categories"))
            }
            Bins::Categories(_) | Bins::Numeric { .. } => Ok(()),
        }
    }
}

/// The kind of noise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoiseKind {
    /// Integer Laplace noise, or for a quantile the exponential mechanism: pure ε.
    Laplace,
    /// Integer Gaussian noise.
    Gaussian,
}

impl NoiseKind {
    /// The name used on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            NoiseKind::Laplace => "laplace",
            NoiseKind::Gaussian => "gaussian",
        }
    }
}
