//! Records to learn from: features side by side, and a label for each.

use crate::packed::Packed;
use veracity_core::Refusal;

/// What each record is to be told by its features.
#[derive(Debug, Clone, PartialEq)]
pub enum Labels {
    /// One of so many classes, counted from 0.
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

/// Records. All features are finite, all classes in range.
#[derive(Debug, Clone, PartialEq)]
pub struct Dataset {
    features: Vec<f32>,
    packed: Option<Packed>,
    width: usize,
    labels: Labels,
}

impl Dataset {
    /// Checks the lengths, and that features and labels are what they should be. A refusal names no value.
    pub fn new(features: Vec<f32>, width: usize, labels: Labels) -> Result<Dataset, Refusal> {
        let wrong = |why: &str| Err(Refusal::NoAnswer(why.to_owned()));
        if width == 0 || features.len() != width.saturating_mul(labels.len()) {
            return wrong(
                "features and labels have different numbers of records, expected one row for each label",
            );
        }
        if features.iter().any(|x| !x.is_finite()) {
            return wrong("a feature is not a finite number, expected all of them to be");
        }
        match &labels {
            Labels::Classes { classes, .. } if *classes < 2 => wrong("there are fewer than 2 classes"),
            Labels::Classes { of, classes } if of.iter().any(|class| *class as usize >= *classes) => {
                wrong("a label is out of range, expected 0 ≤ label < number of classes")
            }
            Labels::Values(values) if values.iter().any(|x| !x.is_finite()) => {
                wrong("a label is not a finite number, expected all of them to be")
            }
            Labels::Classes { .. } | Labels::Values(_) => {
                Ok(Dataset { features, packed: None, width, labels })
            }
        }
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
        Dataset { packed: Packed::new(&self.features), ..self }
    }

    /// Copies the features of one record.
    #[inline]
    pub(crate) fn copy_row(&self, at: usize, to: &mut [f32]) {
        match &self.packed {
            Some(packed) => packed.unpack(at * self.width, to),
            None => to.copy_from_slice(self.row(at)),
        }
    }

    /// Features, their number in a record, and labels, to be made into another dataset.
    pub fn into_parts(self) -> (Vec<f32>, usize, Labels) {
        (self.features, self.width, self.labels)
    }

    /// The labels.
    pub fn labels(&self) -> &Labels {
        &self.labels
    }
}
