//! A question at a noise level: everything public about the release, then the release itself.

use crate::statistic::{Count, Histogram, Mean, Method, Quantile, Sum, Variance};
use crate::{Column, NoiseKind, Question, Statistic};
use veracity_core::{Count as Whole, Epsilon, Mechanism, NoiseMultiplier, Refusal};
use veracity_noise::{Noise, NoiseStream};

/// Everything public about a release: grids, sensitivities, scales. Making one touches no data.
///
/// # Examples
///
/// What a release will be is known before any data is read:
///
/// ```
/// use veracity_core::{Adjacency, Mechanism, NoiseMultiplier};
/// use veracity_mechanisms::{NoiseKind, Question, Statistic};
///
/// let question = Question { statistic: Statistic::Count, adjacency: Adjacency::AddRemove };
/// let design = question.design(NoiseKind::Laplace, NoiseMultiplier::new(10.0)?)?;
/// assert!(matches!(design.mechanism(), Mechanism::DiscreteLaplace { sensitivity, .. } if sensitivity.get() == 1));
/// // Laplace noise of scale 10 stays within 10 ln 20 = 30 in 95 of 100 cases.
/// let bar = design.preview(1_000).error_bar;
/// assert!(bar > 29.0 && bar < 32.0);
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Design {
    question: Question,
    kind: NoiseKind,
    multiplier: NoiseMultiplier,
    plan: Plan,
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq)]
enum Plan {
    Count(Count),
    Sum(Sum),
    Mean(Mean),
    Variance(Variance),
    Quantile(Quantile),
    Histogram(Histogram),
}

/// One noise call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Part {
    /// Where in the program.
    pub place: &'static str,
    /// What one step of the integer scale is worth: the answer of this call is a multiple of it.
    pub granularity: f64,
    /// How far one record moves the integer answer (for a choice: how far adjacent datasets move a score).
    pub sensitivity: Whole,
    /// What is drawn.
    pub draw: Draw,
}

/// What a noise call draws.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Draw {
    /// Integer noise, added to the integer answer.
    Added(Noise),
    /// A candidate, by the exponential mechanism.
    Chosen {
        /// Its ε.
        epsilon: Epsilon,
    },
}

/// What to expect of a release.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Preview {
    /// How many cells it will have.
    pub cells: usize,
    /// About the error bar of each.
    pub error_bar: f64,
    /// For a quantile, how many records' ranks it may be off.
    pub rank_error: Option<f64>,
}

/// An answer that protects the records it is about.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Release {
    /// The answers: one, or one for each bin.
    pub cells: Vec<Cell>,
    /// What the accountant reads.
    pub mechanism: Mechanism,
}

/// One number of a release.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Cell {
    /// The bin, in a histogram.
    pub label: Option<String>,
    /// The answer.
    pub value: f64,
    /// Coverage at least 95 % over the noise: the exact statistic of the clamped values is within this of the answer.
    /// For a quantile see [`ErrorBar`](crate::ErrorBar).
    pub error_bar: f64,
    /// For a quantile, with chance at least 95 %: by how many records the rank asked for misses the ranks of the answer,
    /// which are all from #(x < answer) to #(x ≤ answer), among the values on the grid.
    pub rank_error: Option<f64>,
}

impl Question {
    /// Everything public about the release at this noise level. `multiplier` is the noise scale over the largest
    /// contribution of one record to each part; for a quantile, 1/ε of the answer, and 2/ε of an error bar that is charged.
    ///
    /// # Errors
    /// Refuses a statistic, bounds or noise level that no design exists for, such as Gaussian noise on a quantile.
    pub fn design(&self, kind: NoiseKind, multiplier: NoiseMultiplier) -> Result<Design, Refusal> {
        let (noise, adjacency) = ((kind, multiplier), self.adjacency);
        let plan = match &self.statistic {
            Statistic::Count => Plan::Count(Count::new(noise, adjacency)?),
            Statistic::Sum(bounds) => Plan::Sum(Sum::new(*bounds, noise, adjacency)?),
            Statistic::Mean(bounds) => Plan::Mean(Mean::new(*bounds, noise, adjacency)?),
            Statistic::Variance(bounds) => Plan::Variance(Variance::new(*bounds, noise, adjacency)?),
            Statistic::Quantile { bounds, rank, steps, bar } => {
                Plan::Quantile(Quantile::new((*bounds, *steps), *rank, *bar, noise, adjacency)?)
            }
            Statistic::Histogram(bins) => Plan::Histogram(Histogram::new(bins, noise, adjacency)?),
        };
        let parts = plan.method().parts();
        Ok(Design { question: self.clone(), kind, multiplier, plan, parts })
    }
}

impl Design {
    /// What it answers.
    pub fn question(&self) -> &Question {
        &self.question
    }

    /// The kind of noise.
    pub fn kind(&self) -> NoiseKind {
        self.kind
    }

    /// The noise level.
    pub fn multiplier(&self) -> NoiseMultiplier {
        self.multiplier
    }

    /// What the accountant reads, under the question's adjacency. Its floats are the sampler's ratios.
    pub fn mechanism(&self) -> Mechanism {
        self.plan.method().mechanism()
    }

    /// The noise calls, in order.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// What to expect of a release from a column with this many values, none missing, spread evenly between the bounds.
    pub fn preview(&self, rows: u64) -> Preview {
        self.plan.method().preview(rows)
    }

    /// Answers from data. A refusal rests on the kind of column alone, never on its values.
    ///
    /// # Promise  What is released of adjacent columns is as far apart as [`Design::mechanism`] says
    /// # Assumes  One record is one row; the time it takes is not watched
    ///
    /// # Errors
    /// Refuses a column of the wrong kind.
    ///
    /// # Examples
    ///
    /// A histogram over public categories:
    ///
    /// ```
    /// use veracity_core::{Adjacency, NoiseMultiplier};
    /// use veracity_noise::{Entropy, Key, NoiseStream, Purpose};
    /// use veracity_mechanisms::{Bins, Column, NoiseKind, Question, Statistic};
    ///
    /// let bins = Bins::Categories(vec!["tea".into(), "coffee".into()]);
    /// let question = Question { statistic: Statistic::Histogram(bins), adjacency: Adjacency::AddRemove };
    /// let design = question.design(NoiseKind::Laplace, NoiseMultiplier::new(1.0)?)?;
    ///
    /// let drinks = ["tea"; 300].into_iter().chain(["coffee"; 700]).chain(["a name"; 50]);
    /// let column = Column::Texts(drinks.map(|drink| Some(drink.to_owned())).collect());
    /// let mut rng = NoiseStream::new(Entropy::system()?.stream(Purpose::Noise, Key::default()));
    /// let release = design.release(&column, &mut rng)?;
    /// // Two bins were declared, so two are answered; noise of scale 1 passes 60 with probability e^-60.
    /// assert_eq!(release.cells.len(), 2);
    /// assert!((release.cells[1].value - 700.0).abs() < 60.0);
    /// # Ok::<(), veracity_core::Refusal>(())
    /// ```
    pub fn release(&self, column: &Column, rng: &mut NoiseStream) -> Result<Release, Refusal> {
        let cells = self.plan.method().release(column, rng)?;
        Ok(Release { cells, mechanism: self.mechanism() })
    }
}

impl Plan {
    fn method(&self) -> &dyn Method {
        match self {
            Plan::Count(method) => method,
            Plan::Sum(method) => method,
            Plan::Mean(method) => method,
            Plan::Variance(method) => method,
            Plan::Quantile(method) => method,
            Plan::Histogram(method) => method,
        }
    }
}

impl Cell {
    /// A number without a label.
    pub(crate) fn plain(value: f64, error_bar: f64) -> Cell {
        Cell { label: None, value, error_bar, rank_error: None }
    }
}
