//! Records to learn from: features side by side, and a label for each.

use crate::{byte_features::ByteFeatures, skinny_product::square_norms};
use std::{ops::Range, sync::OnceLock};
use veracity_core::Refusal;

/// The label of each record: what a model predicts from its features.
#[derive(Debug, Clone, PartialEq)]
pub enum Labels {
    /// One of `classes` classes, counted from 0.
    Classes {
        /// The class of each record.
        of: Vec<u32>,
        /// How many classes there are; public.
        classes: usize,
    },
    /// A number.
    Values(Vec<f32>),
}

impl Labels {
    fn len(&self) -> usize {
        match self {
            Labels::Classes { of, .. } => of.len(),
            Labels::Values(values) => values.len(),
        }
    }
}

/// Whose records they are, where one person has several: records of one person stand side by side.
///
/// # Examples
///
/// ```
/// use veracity_train::{Dataset, Labels, People};
///
/// let data = Dataset::new(vec![1.0, 2.0, 3.0], 1, Labels::Values(vec![0.1, 0.2, 0.3]))?;
/// // Two people: the first has two records.
/// let data = data.of_people(People::new([2, 1]))?;
/// assert_eq!((data.len(), data.units()), (3, 2));
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct People {
    /// The first record of each person, and the end of the last one's.
    starts: Vec<usize>,
}

impl People {
    /// From the number of records of each person, one person after another.
    pub fn new(records: impl IntoIterator<Item = usize>) -> People {
        let mut starts = vec![0];
        let mut end = 0;
        starts.extend(records.into_iter().map(|records| {
            end += records;
            end
        }));
        People { starts }
    }

    /// How many people there are.
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many records each of them has.
    pub fn sizes(&self) -> impl Iterator<Item = usize> + '_ {
        self.starts.windows(2).map(|pair| pair[1] - pair[0])
    }

    /// The records of one of them.
    pub(crate) fn records_of(&self, person: usize) -> Range<usize> {
        self.starts[person]..self.starts[person + 1]
    }

    /// How many records they have together.
    pub fn records(&self) -> usize {
        self.starts[self.len()]
    }
}

/// Records. All features are finite, all classes in range.
///
/// # Examples
///
/// ```
/// use veracity_train::{Dataset, Labels};
///
/// let labels = || Labels::Classes { of: vec![0, 1], classes: 2 };
/// let data = Dataset::new(vec![0.1, 0.2, 0.3, 0.4], 2, labels())?;
/// assert_eq!((data.len(), data.row(1)), (2, &[0.3, 0.4][..]));
/// assert!(Dataset::new(vec![0.1, 0.2, f32::NAN, 0.4], 2, labels()).is_err());
/// assert!(Dataset::new(vec![0.1, 0.2], 1, Labels::Classes { of: vec![0, 2], classes: 2 }).is_err());
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Dataset {
    features: Vec<f32>,
    people: Option<People>,
    packed: Option<ByteFeatures>,
    norms: NormCache,
    width: usize,
    labels: Labels,
}

/// The squared norms of all records, once someone has asked for one. They follow from the features, and are not compared.
#[derive(Debug, Clone, Default)]
struct NormCache(OnceLock<Vec<f32>>);

impl PartialEq for NormCache {
    fn eq(&self, _: &NormCache) -> bool {
        true
    }
}

impl Dataset {
    /// Checks the lengths, and that features and labels are what they should be. A refusal names no value.
    ///
    /// # Errors
    /// Refuses lengths that differ, features that are not finite, and labels out of range.
    pub fn new(features: Vec<f32>, width: usize, labels: Labels) -> Result<Dataset, Refusal> {
        let wrong = |why: &str| Err(Refusal::Invalid(why.to_owned()));
        if width == 0 || features.len() != width.saturating_mul(labels.len()) {
            return wrong("features and labels have different numbers of records");
        }
        if features.iter().any(|x| !x.is_finite()) {
            return wrong("a feature is not a finite number");
        }
        match &labels {
            Labels::Classes { classes, .. } if *classes < 2 => wrong("fewer than 2 classes"),
            Labels::Classes { of, classes } if of.iter().any(|class| *class as usize >= *classes) => {
                wrong("a label is out of range, expected 0 ≤ label < number of classes")
            }
            Labels::Values(values) if values.iter().any(|x| !x.is_finite()) => {
                wrong("a label is not a finite number")
            }
            Labels::Classes { .. } | Labels::Values(_) => Ok(Dataset {
                features,
                people: None,
                packed: None,
                norms: NormCache::default(),
                width,
                labels,
            }),
        }
    }

    /// Records of which each is in one of `classes` classes: row after row of `width` features, as readers of files give them.
    ///
    /// # Errors
    /// As [`Dataset::new`].
    ///
    /// # Examples
    ///
    /// ```
    /// use veracity_train::Dataset;
    ///
    /// // What a reader of tables gives: features row by row, their number in a row, and labels.
    /// let (features, width) = (vec![0.1, 0.2, 0.3, 0.4], 2);
    /// let data = Dataset::of_classes(features.clone(), width, vec![0, 1], 2)?;
    /// assert_eq!((data.len(), data.width()), (2, 2));
    /// assert_eq!(Dataset::of_values(features, width, vec![1.5, -0.5])?.row(1), [0.3, 0.4]);
    /// # Ok::<(), veracity_core::Refusal>(())
    /// ```
    pub fn of_classes(
        features: Vec<f32>,
        width: usize,
        of: Vec<u32>,
        classes: usize,
    ) -> Result<Dataset, Refusal> {
        Dataset::new(features, width, Labels::Classes { of, classes })
    }

    /// Records of which each has a number to predict.
    ///
    /// # Errors
    /// As [`Dataset::new`].
    pub fn of_values(features: Vec<f32>, width: usize, values: Vec<f32>) -> Result<Dataset, Refusal> {
        Dataset::new(features, width, Labels::Values(values))
    }

    /// The same records as those of people, who may have several each.
    ///
    /// # Errors
    /// Refuses people with another number of records.
    pub fn of_people(self, people: People) -> Result<Dataset, Refusal> {
        if people.records() == self.len() {
            return Ok(Dataset { people: Some(people), ..self });
        }
        Err(Refusal::Invalid("the privacy IDs do not match the number of records".into()))
    }

    /// The same records, of the same people, with other features.
    ///
    /// # Errors
    /// As [`Dataset::new`].
    pub fn with_features(&self, features: Vec<f32>, width: usize) -> Result<Dataset, Refusal> {
        let changed = Dataset::new(features, width, self.labels.clone())?;
        Ok(Dataset { people: self.people.clone(), ..changed })
    }

    /// Whose records they are, where that is told.
    pub fn people(&self) -> Option<&People> {
        self.people.as_ref()
    }

    /// How many of them can enter a batch: people, where records are theirs, and otherwise records.
    pub fn units(&self) -> usize {
        self.people.as_ref().map_or(self.len(), People::len)
    }

    /// How many records there are.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many features each has.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The features of one record.
    pub fn row(&self, at: usize) -> &[f32] {
        &self.features[at * self.width..][..self.width]
    }

    /// The same records with a second copy of their features in a byte each, where these are levels such as greys: cohorts of
    /// small models read it in less time, and get the same bits.
    pub fn packed(self) -> Dataset {
        Dataset { packed: ByteFeatures::new(&self.features), ..self }
    }

    /// Where features are levels such as greys: those levels, a byte each, and what one is worth.
    pub fn levels(&self) -> Option<(Vec<u8>, f64)> {
        let own = if self.packed.is_some() { None } else { ByteFeatures::new(&self.features) };
        let (levels, unit) = self.packed.as_ref().or(own.as_ref())?.levels();
        Some((levels.to_vec(), unit))
    }

    /// The squared norm of the features of one record, as [`square_norms`] measures it.
    #[inline]
    pub(crate) fn square_norm(&self, at: usize) -> f32 {
        let all = || {
            let mut norms = vec![0.0; self.len()];
            square_norms(&self.features, self.width, &mut norms);
            norms
        };
        self.norms.0.get_or_init(all)[at]
    }

    /// Copies the features of some records, row after row.
    #[inline]
    pub(crate) fn copy_rows(&self, records: impl Iterator<Item = usize>, to: &mut [f32]) {
        match &self.packed {
            Some(packed) => packed.unpack(self.width, records, to),
            None => {
                for (row, record) in to.chunks_exact_mut(self.width).zip(records) {
                    row.copy_from_slice(self.row(record));
                }
            }
        }
    }

    /// Features, their number in a record, and labels. Whose records they are is not among them.
    pub fn into_parts(self) -> (Vec<f32>, usize, Labels) {
        (self.features, self.width, self.labels)
    }

    /// The labels.
    pub fn labels(&self) -> &Labels {
        &self.labels
    }
}
