//! What comes out of every reader: features side by side, and labels where there are some.

use crate::{Array, Limits, Scale, source::refuse};
use veracity_core::{Error, Refusal};

/// Records, row by row. All features are finite and all classes in range.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// Features of one record.
    pub width: usize,
    /// The features of all records, one after another.
    pub features: Vec<f32>,
    /// The labels, where they were asked for.
    pub labels: Option<Labels>,
}

impl Table {
    /// How many records there are.
    pub fn rows(&self) -> usize {
        self.features.len() / self.width.max(1)
    }

    /// Features, how many of them a record has, and labels: what the constructors of training data take.
    pub fn into_parts(self) -> (Vec<f32>, usize, Option<Labels>) {
        (self.features, self.width, self.labels)
    }
}

/// Labels, one for each record.
#[derive(Debug, Clone, PartialEq)]
pub enum Labels {
    /// Classes counted from 0.
    Classes {
        /// The class of each record.
        of: Vec<u32>,
        /// How many classes there are.
        classes: usize,
    },
    /// Numbers.
    Values(Vec<f32>),
}

/// What labels are, as declared.
///
/// # Examples
///
/// ```
/// use veracity_tables::LabelKind;
///
/// let named = LabelKind::Named(vec![vec!["no".into(), "0".into()], vec!["yes".into(), "1".into()]]);
/// assert_eq!(named.classes(), Some(2));
/// named.check()?;
/// // One word for two classes.
/// assert!(LabelKind::Named(vec![vec!["no".into()], vec!["no".into()]]).check().is_err());
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum LabelKind {
    /// Classes by their names; each may be spelled in several ways.
    Named(Vec<Vec<String>>),
    /// This many classes, written as integers from 0.
    Counted(usize),
    /// Numbers, by declared bounds or as they are.
    Numbers(Option<Scale>),
}

impl LabelKind {
    /// How many classes there are; none for numbers.
    pub fn classes(&self) -> Option<usize> {
        match self {
            LabelKind::Named(names) => Some(names.len()),
            LabelKind::Counted(classes) => Some(*classes),
            LabelKind::Numbers(_) => None,
        }
    }

    /// Checks that there are from 2 to 2^20 classes, that each has a name, and that no name is there twice.
    ///
    /// # Errors
    /// Refuses other classes.
    pub fn check(&self) -> Result<(), Refusal> {
        if let Some(classes) = self.classes()
            && !(2..=1 << 20).contains(&classes)
        {
            return Err(Refusal::out_of_range("classes", classes, "2 ≤ classes ≤ 2^20"));
        }
        let LabelKind::Named(names) = self else { return Ok(()) };
        let mut all: Vec<&str> = names.iter().flatten().map(|name| name.trim()).collect();
        let many = all.len();
        all.sort_unstable();
        all.dedup();
        if all.len() < many || names.iter().any(Vec::is_empty) {
            return Err(Refusal::out_of_range(
                "classes",
                "repeated or without a name",
                "distinct names, one or more per class",
            ));
        }
        Ok(())
    }
}

/// Features from one array, row by row along its first axis, and labels from another. `file` names them in a refusal.
///
/// # Examples
///
/// Two images of two by two gray values, and their classes:
///
/// ```
/// use veracity_tables::{LabelKind, Labels, Limits, Scale, Source, assemble, read_idx};
///
/// let limits = Limits::default();
/// let images = [&[0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 2][..], &[0, 255, 51, 0, 255, 255, 0, 0]];
/// let images = read_idx(&Source::in_memory("images", images.concat()), &limits)?;
/// let classes = read_idx(&Source::in_memory("labels", [0, 0, 8, 1, 0, 0, 0, 2, 7, 3]), &limits)?;
/// let labels = Some((&classes, &LabelKind::Counted(10)));
/// let table = assemble("images", &images, Some(Scale::GREY), labels, &limits)?;
/// assert_eq!((table.rows(), table.width, table.features[2]), (2, 4, 0.2));
/// assert_eq!(table.labels, Some(Labels::Classes { of: vec![7, 3], classes: 10 }));
/// # Ok::<(), veracity_core::Error>(())
/// ```
///
/// # Errors
/// Refuses features that are not finite, labels out of range or of another number, and arrays that exceed the limits.
pub fn assemble(
    file: &str,
    features: &Array,
    scale: Option<Scale>,
    labels: Option<(&Array, &LabelKind)>,
    limits: &Limits,
) -> Result<Table, Error> {
    let Some((&rows, rest)) = features.shape().split_first() else {
        return Err(refuse(file, "features with one row per record, but it is a single number"));
    };
    // A box with an empty side may have others whose product is beyond any number.
    let width = rest.iter().try_fold(1usize, |width, side| width.checked_mul(*side));
    let Some(width) = width.filter(|width| (1..=limits.values).contains(width)) else {
        return Err(refuse(file, "a supported number of features per record (at least 1)"));
    };
    if rows > limits.rows {
        return Err(refuse(file, format!("at most {} records", limits.rows)));
    }
    let values = features.numbers().features(scale);
    let values = values.ok_or_else(|| refuse(file, "finite numbers as features"))?;
    let labels = labels.map(|(array, kind)| labels_of(file, array, kind, rows)).transpose()?;
    Ok(Table { width, features: values, labels })
}

fn labels_of(file: &str, array: &Array, kind: &LabelKind, rows: usize) -> Result<Labels, Error> {
    kind.check()?;
    if array.numbers().len() != rows || !matches!(array.shape(), [_] | [_, 1]) {
        return Err(refuse(file, "as many labels as records"));
    }
    match kind {
        LabelKind::Counted(classes) => {
            let of = array.numbers().classes(*classes);
            let of = of.ok_or_else(|| refuse(file, format!("labels from 0 to {}", classes - 1)))?;
            Ok(Labels::Classes { of, classes: *classes })
        }
        LabelKind::Numbers(scale) => {
            let values = array.numbers().features(*scale);
            let values = values.ok_or_else(|| refuse(file, "finite numbers as labels"))?;
            Ok(Labels::Values(values))
        }
        LabelKind::Named(_) => {
            Err(refuse(file, "a number of classes, because arrays cannot hold class names"))
        }
    }
}
