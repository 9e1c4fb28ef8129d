//! A column of data: numbers or texts, some missing. Its kind and, where the adjacency says so, its length are public.

use veracity_core::Refusal;

/// One value per row. Of numbers, NaN is missing; of texts, `None`. Columns are equal where the same is there and missing.
///
/// # Examples
///
/// Whether there is an answer depends on the kind of column, never on a value:
///
/// ```
/// use veracity_core::{Adjacency, NoiseMultiplier};
/// use veracity_noise::{NoiseStream, Purpose};
/// use veracity_mechanisms::{Bounds, Column, NoiseKind, Question, Statistic};
///
/// let statistic = Statistic::Sum(Bounds::new(0.0, 1.0)?);
/// let question = Question { statistic, adjacency: Adjacency::AddRemove };
/// let design = question.design(NoiseKind::Laplace, NoiseMultiplier::new(1.0)?)?;
/// let mut rng = NoiseStream::system(Purpose::Noise)?;
/// let odd = Column::Numbers(vec![f64::NAN, f64::INFINITY]);
/// assert!(design.release(&odd, &mut rng).is_ok());
/// assert!(design.release(&Column::Texts(vec![Some("0.5".into())]), &mut rng).is_err());
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
#[derive(Debug, Clone)]
pub enum Column {
    /// Numbers; NaN is missing.
    Numbers(Vec<f64>),
    /// Texts.
    Texts(Vec<Option<String>>),
}

impl PartialEq for Column {
    fn eq(&self, other: &Column) -> bool {
        match (self, other) {
            (Column::Numbers(a), Column::Numbers(b)) => {
                let same = |(a, b): (&f64, &f64)| a == b || a.is_nan() && b.is_nan();
                a.len() == b.len() && a.iter().zip(b).all(same)
            }
            (Column::Texts(a), Column::Texts(b)) => a == b,
            (Column::Numbers(_), Column::Texts(_)) | (Column::Texts(_), Column::Numbers(_)) => false,
        }
    }
}

/// Numbers, some of them missing, as readers of files give them.
///
/// # Examples
///
/// ```
/// use veracity_mechanisms::Column;
///
/// // What a reader gives for a column: a value for each row, or none.
/// assert_eq!(Column::from(vec![Some(31.0), None]).rows(), 2);
/// assert_eq!(Column::from(vec![Some("Ulm".to_owned()), None]).rows(), 2);
/// // Where nothing is missing.
/// assert_eq!(Column::from(vec![31.0, 47.0]), Column::from(vec![Some(31.0), Some(47.0)]));
/// assert_eq!(["Ulm", "Bonn"].into_iter().collect::<Column>().rows(), 2);
/// ```
impl From<Vec<Option<f64>>> for Column {
    fn from(numbers: Vec<Option<f64>>) -> Column {
        numbers.into_iter().map(|number| number.unwrap_or(f64::NAN)).collect()
    }
}

/// Texts, some of them missing, as readers of files give them.
impl From<Vec<Option<String>>> for Column {
    fn from(texts: Vec<Option<String>>) -> Column {
        Column::Texts(texts)
    }
}

/// Numbers; NaN is missing.
impl From<Vec<f64>> for Column {
    fn from(numbers: Vec<f64>) -> Column {
        Column::Numbers(numbers)
    }
}

impl FromIterator<f64> for Column {
    fn from_iter<I: IntoIterator<Item = f64>>(numbers: I) -> Column {
        Column::Numbers(numbers.into_iter().collect())
    }
}

impl<'a> FromIterator<&'a str> for Column {
    fn from_iter<I: IntoIterator<Item = &'a str>>(texts: I) -> Column {
        Column::Texts(texts.into_iter().map(|text| Some(text.to_owned())).collect())
    }
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

    /// The numbers, or a refusal that depends only on the type of the column.
    pub(crate) fn numbers(&self) -> Result<&[f64], Refusal> {
        match self {
            Column::Numbers(values) => Ok(values),
            Column::Texts(_) => {
                Err(Refusal::invalid("column contains strings, but this statistic needs numbers"))
            }
        }
    }

    /// The strings, or a refusal that depends only on the type of the column.
    pub(crate) fn texts(&self) -> Result<&[Option<String>], Refusal> {
        match self {
            Column::Texts(values) => Ok(values),
            Column::Numbers(_) => {
                Err(Refusal::invalid("column contains numbers, but categories need strings"))
            }
        }
    }
}

/// The numbers that are there.
pub(crate) fn present(values: &[f64]) -> impl Iterator<Item = f64> {
    values.iter().copied().filter(|x| !x.is_nan())
}
