//! A column of data: numbers or texts, some missing. Its kind and, where the adjacency says so, its length are public.

use veracity_core::Refusal;

/// One value per row; `None` is missing, and so is a number that is not a number.
///
/// # Examples
///
/// Whether there is an answer depends on the kind of column, never on a value:
///
/// ```
/// use veracity_core::{Adjacency, NoiseMultiplier};
/// use veracity_noise::{Entropy, Key, NoiseStream, Purpose};
/// use veracity_query::{Bounds, Column, NoiseKind, Question, Statistic};
///
/// let statistic = Statistic::Sum(Bounds::new(0.0, 1.0)?);
/// let question = Question { statistic, adjacency: Adjacency::AddRemove };
/// let design = question.design(NoiseKind::Laplace, NoiseMultiplier::new(1.0)?)?;
/// let mut rng = NoiseStream::new(Entropy::system()?.stream(Purpose::Noise, Key::default()));
/// let odd = Column::Numbers(vec![Some(f64::NAN), None, Some(f64::INFINITY)]);
/// assert!(design.release(&odd, &mut rng).is_ok());
/// assert!(design.release(&Column::Texts(vec![Some("0.5".into())]), &mut rng).is_err());
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub enum Column {
    /// Numbers.
    Numbers(Vec<Option<f64>>),
    /// Texts.
    Texts(Vec<Option<String>>),
}

impl Column {
    /// How many rows there are, missing values included.
    pub fn rows(&self) -> usize {
        match self {
            Column::Numbers(values) => values.len(),
            Column::Texts(values) => values.len(),
        }
    }

    /// How many values are present.
    pub(crate) fn present(&self) -> usize {
        match self {
            Column::Numbers(values) => present(values).count(),
            Column::Texts(values) => values.iter().flatten().count(),
        }
    }

    /// The numbers, or a refusal that rests on the kind of column alone.
    pub(crate) fn numbers(&self) -> Result<&[Option<f64>], Refusal> {
        match self {
            Column::Numbers(values) => Ok(values),
            Column::Texts(_) => Err(Refusal::out_of_range("column", "texts", "numbers for this statistic")),
        }
    }

    /// The texts, or a refusal that rests on the kind of column alone.
    pub(crate) fn texts(&self) -> Result<&[Option<String>], Refusal> {
        match self {
            Column::Texts(values) => Ok(values),
            Column::Numbers(_) => Err(Refusal::out_of_range("column", "numbers", "texts for categories")),
        }
    }
}

/// The numbers that are there.
pub(crate) fn present(values: &[Option<f64>]) -> impl Iterator<Item = f64> {
    values.iter().flatten().copied().filter(|x| !x.is_nan())
}
