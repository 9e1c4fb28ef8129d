//! Where records come from: `[data]` of a plan, read by the records room, or the digits that are built in.

use super::{
    people,
    private_bounds::{BoundedColumn, PrivateBounds, PrivateBoundsSpec},
};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use veracity_account::claims::spec::Whole;
use veracity_core::printable;
use veracity_core::{Error, Refusal};
use veracity_tables::{
    Array, Cells, Column, Form, Header, Kind, LabelColumn, LabelKind, Layout, Limits, Notation, Onto, Scale,
    Source, Table, Unknown, Values, assemble, read_columns, read_features, read_idx, read_npy, read_npz,
};
use veracity_train::{Dataset, Labels};

/// 1797 handwritten digits: a label and 64 grey values from 0 to 16 each. See NOTICE.
/// Bytes of one digit.
const DIGIT: usize = 65;
/// Of so many digits, the last is held out.
const FOLD: usize = 5;

/// `[data]`. Paths are not written into models: where files were is nobody's business.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "format", rename_all = "kebab-case", deny_unknown_fields)]
#[allow(missing_docs)] // The plan's documentation lists the fields.
pub enum DataSpec {
    /// The digits that are built in.
    Digits {},
    /// Columns of a table of text: CSV or TSV.
    Csv {
        #[serde(default, skip_serializing)]
        path: PathBuf,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        delimiter: Option<char>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        header: Option<bool>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        decimal: Option<char>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        thousands: Option<char>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        person: Option<String>,
        column: Vec<ColumnSpec>,
        label: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        classes: Option<Classes>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        label_bounds: Option<[f64; 2]>,
    },
    /// Columns of a Parquet file.
    Parquet {
        #[serde(default, skip_serializing)]
        path: PathBuf,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        person: Option<String>,
        column: Vec<ColumnSpec>,
        label: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        classes: Option<Classes>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        label_bounds: Option<[f64; 2]>,
    },
    /// Two NPY files.
    Npy {
        #[serde(default, skip_serializing)]
        path: PathBuf,
        #[serde(default, skip_serializing)]
        labels: PathBuf,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bounds: Option<[f64; 2]>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        onto: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        classes: Option<Classes>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        label_bounds: Option<[f64; 2]>,
    },
    /// Two arrays of one NPZ file.
    Npz {
        #[serde(default, skip_serializing)]
        path: PathBuf,
        features: String,
        labels: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bounds: Option<[f64; 2]>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        onto: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        classes: Option<Classes>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        label_bounds: Option<[f64; 2]>,
    },
    /// Two IDX files; grey values from 0 to 255.
    Idx {
        #[serde(default, skip_serializing)]
        path: PathBuf,
        #[serde(default, skip_serializing)]
        labels: PathBuf,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        onto: Option<String>,
        classes: Classes,
    },
}

/// The classes: how many, or their names, each of which may be a list of spellings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Classes {
    /// So many, written as whole numbers from 0.
    Counted(usize),
    /// By their names.
    Named(Vec<Spellings>),
}

/// One name, or several for the same class.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Spellings {
    /// One.
    One(String),
    /// Several; the first is shown.
    Several(Vec<String>),
}

/// `[[data.column]]`: numbers by their bounds, or categories by their list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)] // The plan's documentation lists the fields.
pub struct ColumnSpec {
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bounds: Option<[f64; 2]>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub private_bounds: Option<PrivateBoundsSpec>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub onto: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub categories: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unknown: Option<String>,
}

/// Which of the built-in digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Four of five, to train on.
    Training,
    /// Each fifth, to evaluate on.
    HeldOut,
}

/// What is wanted of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// Features and labels.
    Labelled,
    /// Features; the labels need not be there.
    Features,
}

impl DataSpec {
    /// Where the records are; nothing for those that are built in.
    pub fn path(&self) -> Option<&Path> {
        match self {
            DataSpec::Digits {} => None,
            DataSpec::Csv { path, .. }
            | DataSpec::Parquet { path, .. }
            | DataSpec::Npy { path, .. }
            | DataSpec::Npz { path, .. }
            | DataSpec::Idx { path, .. } => Some(path),
        }
    }

    /// The same records with another column, or array, of two classes for their label: the first is named `names[0]`, or 0.
    ///
    /// # Errors
    /// Refuses formats without columns or arrays.
    pub fn labelled_by(&self, column: &str, names: [&str; 2]) -> Result<DataSpec, Refusal> {
        let mut layout = self.clone();
        match &mut layout {
            DataSpec::Csv { label, classes, label_bounds, .. }
            | DataSpec::Parquet { label, classes, label_bounds, .. } => {
                *label = column.to_owned();
                *classes = Some(Classes::Named(names.map(|name| Spellings::One(name.to_owned())).to_vec()));
                *label_bounds = None;
            }
            DataSpec::Npz { labels, classes, label_bounds, .. } => {
                *labels = column.to_owned();
                *classes = Some(Classes::Counted(2));
                *label_bounds = None;
            }
            DataSpec::Digits {} | DataSpec::Npy { .. } | DataSpec::Idx { .. } => {
                return Err(Refusal::invalid(format!(
                    "the records of the model have no column {column}; only models of CSV, Parquet or NPZ records have columns"
                )));
            }
        }
        Ok(layout)
    }

    /// Reads the records that the plan names. Relative paths start at `folder`.
    pub(super) fn records(&self, folder: &Path) -> Result<Dataset, Error> {
        let (path, labels) = self.places();
        let [path, labels] = [path, labels].map(|place| place.map(|place| from(folder, place)));
        match path {
            None => digits(Part::Training),
            Some(path) => {
                let source = Source::at(&path, &Limits::default())?;
                let data = self.read_source(&source, labels.as_deref(), Wanted::Labelled)?;
                match self.person() {
                    Some(column) => Ok(people::by_person(&data, &self.persons(&source, column)?)?),
                    None => Ok(data),
                }
            }
        }
    }

    /// The privacy ID column, if there is one.
    pub fn person(&self) -> Option<&str> {
        match self {
            DataSpec::Csv { person, .. } | DataSpec::Parquet { person, .. } => person.as_deref(),
            DataSpec::Digits {} | DataSpec::Npy { .. } | DataSpec::Npz { .. } | DataSpec::Idx { .. } => None,
        }
    }

    /// The privacy ID of each record.
    fn persons(&self, source: &Source, column: &str) -> Result<Vec<Option<String>>, Error> {
        let wanted = [veracity_tables::Wanted { name: column, kind: Kind::Texts }];
        let read = read_columns(source, self.layout(None)?.form, &wanted, &Limits::default())?;
        match read.values.into_iter().next() {
            Some(Values::Texts(persons)) => Ok(persons.to_vec()),
            Some(Values::Numbers(_)) | None => {
                Err(Error::invalid("internal error: privacy IDs were not read as strings"))
            }
        }
    }

    fn places(&self) -> (Option<&Path>, Option<&Path>) {
        match self {
            DataSpec::Digits {} => (None, None),
            DataSpec::Csv { path, .. } | DataSpec::Parquet { path, .. } | DataSpec::Npz { path, .. } => {
                (Some(path), None)
            }
            DataSpec::Npy { path, labels, .. } | DataSpec::Idx { path, labels, .. } => {
                (Some(path), Some(labels))
            }
        }
    }

    /// Reads other records of the same layout.
    ///
    /// # Errors
    /// Refuses files that cannot be read or have another layout.
    pub fn read(&self, path: &Path, labels: Option<&Path>, wanted: Wanted) -> Result<Dataset, Error> {
        self.read_source(&Source::at(path, &Limits::default())?, labels, wanted)
    }

    fn read_source(&self, source: &Source, labels: Option<&Path>, wanted: Wanted) -> Result<Dataset, Error> {
        let limits = Limits::default();
        let kind = self.label_kind()?;
        let scale = self.scale()?;
        let labelled = wanted == Wanted::Labelled;
        let file = source.name();
        type Read = fn(&Source, &Limits) -> Result<Array, Error>;
        let beside = |read: Read| match (labelled, labels) {
            (false, _) => Ok(None),
            (true, Some(labels)) => Ok(Some(read(&Source::at(labels, &limits)?, &limits)?)),
            (true, None) => Err(Error::invalid("labels are missing; give the file of the labels too")),
        };
        let arrays = |features: Array, labels: Option<Array>| {
            assemble(&file, &features, scale, labels.as_ref().map(|labels| (labels, &kind)), &limits)
        };
        let table = match self {
            DataSpec::Digits {} => {
                return Err(Error::invalid(
                    "the model was trained on the built-in digits; write digits instead of a file to use the held-out ones",
                ));
            }
            DataSpec::Csv { .. } | DataSpec::Parquet { .. } => {
                read_features(source, &self.layout(labelled.then_some(kind))?, &limits)?
            }
            DataSpec::Npy { .. } => arrays(read_npy(source, &limits)?, beside(read_npy)?)?,
            DataSpec::Idx { .. } => arrays(read_idx(source, &limits)?, beside(read_idx)?)?,
            DataSpec::Npz { features, labels, .. } => {
                let labels = labelled.then(|| read_npz(source, labels, &limits)).transpose()?;
                arrays(read_npz(source, features, &limits)?, labels)?
            }
        };
        Ok(dataset(table)?)
    }

    /// What a class is called, where classes have names.
    pub fn class_name(&self, class: usize) -> String {
        let classes = match self {
            DataSpec::Csv { classes, .. } | DataSpec::Parquet { classes, .. } => classes.as_ref(),
            _ => None,
        };
        match classes {
            Some(Classes::Named(names)) => names.get(class).map(|names| names.all()[0].clone()),
            Some(Classes::Counted(_)) | None => None,
        }
        .unwrap_or_else(|| class.to_string())
    }

    /// The columns that get bounds by private quantiles; nothing where there are none.
    pub(super) fn private_bounds(&self) -> Result<Option<PrivateBounds>, Refusal> {
        let columns = match self {
            DataSpec::Csv { column, .. } | DataSpec::Parquet { column, .. } => column,
            DataSpec::Digits {} | DataSpec::Npy { .. } | DataSpec::Npz { .. } | DataSpec::Idx { .. } => {
                return Ok(None);
            }
        };
        if columns.iter().all(|column| column.private_bounds.is_none()) {
            return Ok(None);
        }
        let layout = self.layout(None)?;
        let (mut at, mut bounded) = (0, Vec::new());
        for (spec, column) in columns.iter().zip(layout.columns) {
            if let Some(private) = &spec.private_bounds {
                bounded.push(BoundedColumn::new(at, target(spec.onto.as_deref())?, private)?);
            }
            at += column.cells.width();
        }
        Ok(Some(PrivateBounds(bounded)))
    }

    /// How many scores a model of such labels has: one for each of several classes, or one.
    pub(super) fn scores(&self) -> Result<usize, Refusal> {
        Ok(self.label_kind()?.classes().filter(|classes| *classes > 2).unwrap_or(1))
    }

    /// Whether labels are numbers within declared bounds, which are then brought onto [0, 1].
    pub(super) fn has_label_bounds(&self) -> Result<bool, Refusal> {
        Ok(matches!(self.label_kind()?, LabelKind::Numbers(Some(_))))
    }

    fn label_kind(&self) -> Result<LabelKind, Refusal> {
        let (classes, bounds) = match self {
            DataSpec::Digits {} => return Ok(LabelKind::Counted(10)),
            DataSpec::Idx { classes, .. } => (Some(classes), None),
            DataSpec::Csv { classes, label_bounds, .. }
            | DataSpec::Parquet { classes, label_bounds, .. }
            | DataSpec::Npy { classes, label_bounds, .. }
            | DataSpec::Npz { classes, label_bounds, .. } => (classes.as_ref(), *label_bounds),
        };
        let kind = match (classes, bounds) {
            (Some(_), Some(_)) => {
                return Err(Refusal::invalid("label_bounds and classes are both given; give only one"));
            }
            (Some(Classes::Counted(classes)), None) => LabelKind::Counted(*classes),
            (Some(Classes::Named(names)), None) => {
                LabelKind::Named(names.iter().map(Spellings::all).collect())
            }
            (None, Some([lower, upper])) => LabelKind::Numbers(Some(Scale::new(lower, upper, Onto::Unit)?)),
            (None, None) => LabelKind::Numbers(None),
        };
        kind.check()?;
        Ok(kind)
    }

    fn scale(&self) -> Result<Option<Scale>, Refusal> {
        match self {
            DataSpec::Digits {} | DataSpec::Csv { .. } | DataSpec::Parquet { .. } => Ok(None),
            DataSpec::Idx { onto, .. } => Scale::new(0.0, 255.0, target(onto.as_deref())?).map(Some),
            DataSpec::Npy { bounds, onto, .. } | DataSpec::Npz { bounds, onto, .. } => {
                scale(*bounds, onto.as_deref())
            }
        }
    }

    fn layout(&self, kind: Option<LabelKind>) -> Result<Layout, Refusal> {
        let (form, column, label) = match self {
            DataSpec::Csv { delimiter, header, decimal, thousands, column, label, .. } => {
                let form = Form {
                    delimiter: delimiter.map(single_byte).transpose()?,
                    header: if header.unwrap_or(true) { Header::Named } else { Header::Counted },
                    notation: Notation::new(decimal.unwrap_or('.'), *thousands)?,
                    ..Form::default()
                };
                (form, column, label)
            }
            DataSpec::Parquet { column, label, .. } => (Form::default(), column, label),
            DataSpec::Digits {} | DataSpec::Npy { .. } | DataSpec::Npz { .. } | DataSpec::Idx { .. } => {
                return Err(Refusal::invalid("only CSV and Parquet files have columns"));
            }
        };
        let layout = Layout {
            form,
            columns: column.iter().map(ColumnSpec::column).collect::<Result<_, _>>()?,
            label: kind.map(|kind| LabelColumn { name: label.clone(), kind }),
        };
        layout.check()?;
        Ok(layout)
    }
}

/// The place of a file: relative to the folder, and `-` is standard input wherever the plan is.
fn from(folder: &Path, place: &Path) -> PathBuf {
    if place == Path::new("-") { place.to_owned() } else { folder.join(place) }
}

fn single_byte(delimiter: char) -> Result<u8, Refusal> {
    let byte = u8::try_from(delimiter).ok().filter(|byte| byte.is_ascii() && !b"\"\r\n".contains(byte));
    byte.ok_or_else(|| Refusal::invalid("delimiter is not one ASCII character, such as a comma"))
}

impl Spellings {
    fn all(&self) -> Vec<String> {
        match self {
            Spellings::One(name) => vec![name.clone()],
            Spellings::Several(names) => names.clone(),
        }
    }
}

impl ColumnSpec {
    fn column(&self) -> Result<Column, Refusal> {
        let wrong = |why: &str| {
            let name = printable(&self.name, 80);
            Err(Refusal::invalid(format!("column {name} has {why}")))
        };
        if self.private_bounds.is_some() && self.bounds.is_none() {
            return wrong("private_bounds without bounds; add public bounds that are wide enough");
        }
        let numbers = self.bounds.is_some() || self.onto.is_some() || self.missing.is_some();
        let cells = match (&self.categories, self.unknown.as_deref()) {
            (Some(_), _) if numbers => {
                return wrong("both categories and bounds, onto or missing; use categories, or the others");
            }
            (Some(names), unknown) => Cells::Categories {
                names: names.clone(),
                unknown: match unknown {
                    None | Some("zeros") => Unknown::Zeros,
                    Some("other") => Unknown::Other,
                    Some(_) => return wrong("an unknown value for unknown, expected zeros or other"),
                },
            },
            (None, Some(_)) => return wrong("unknown without categories; add categories or remove unknown"),
            (None, None) => {
                Cells::Numbers { scale: scale(self.bounds, self.onto.as_deref())?, missing: self.missing }
            }
        };
        Ok(Column { name: self.name.clone(), cells })
    }
}

fn scale(bounds: Option<[f64; 2]>, onto: Option<&str>) -> Result<Option<Scale>, Refusal> {
    match bounds {
        Some([lower, upper]) => Scale::new(lower, upper, target(onto)?).map(Some),
        None if onto.is_some() => Err(Refusal::invalid("bounds is missing; onto needs it")),
        None => Ok(None),
    }
}

fn target(onto: Option<&str>) -> Result<Onto, Refusal> {
    match onto {
        None | Some("unit") => Ok(Onto::Unit),
        Some("symmetric") => Ok(Onto::Symmetric),
        Some(_) => Err(Refusal::invalid("onto has an unknown value, expected unit or symmetric")),
    }
}

/// Records as the trainer takes them. Without labels, each is the number 0, which nobody reads.
fn dataset(table: Table) -> Result<Dataset, Refusal> {
    let labels = match table.labels {
        Some(veracity_tables::Labels::Classes { of, classes }) => Labels::Classes { of, classes },
        Some(veracity_tables::Labels::Values(values)) => Labels::Values(values),
        None => Labels::Values(vec![0.0; table.features.len() / table.width.max(1)]),
    };
    Dataset::new(table.features, table.width, labels)
}

/// The built-in digits, with gray values from 0 to 1.
pub(super) fn digits(part: Part) -> Result<Dataset, Error> {
    let rows = || {
        veracity_train::DIGITS
            .chunks_exact(DIGIT)
            .enumerate()
            .filter(move |(at, _)| (at % FOLD == FOLD - 1) == (part == Part::HeldOut))
    };
    let features = rows().flat_map(|(_, row)| row[1..].iter().map(|grey| f32::from(*grey) / 16.0)).collect();
    let of = rows().map(|(_, row)| u32::from(row[0])).collect();
    Ok(Dataset::new(features, DIGIT - 1, Labels::Classes { of, classes: 10 })?)
}

/// Checks a training set as a whole: some records, and an example of every class.
pub(super) fn check(data: &Dataset) -> Result<(), Refusal> {
    if data.is_empty() {
        return Err(Refusal::invalid("there are no records to train on"));
    }
    let Labels::Classes { of, classes } = data.labels() else { return Ok(()) };
    let mut seen = vec![false; *classes];
    of.iter().for_each(|class| seen[*class as usize] = true);
    match seen.iter().position(|seen| !seen) {
        Some(class) => Err(Refusal::invalid(format!(
            "class {class} has no record; the training data need at least one record of each of the {classes} classes"
        ))),
        None => Whole(of.len() as f64).count("records").map(drop),
    }
}
