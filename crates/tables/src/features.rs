//! Tables of text or Parquet: declared columns become features, one column may become the label.
//!
//! Numbers are scaled by declared bounds, categories become one number each by a public list. Other columns of the file are
//! ignored.

use crate::{
    Form, LabelKind, Labels, Limits, Notation, Scale, Source, Table,
    scale::scaled,
    source::refuse,
    tabular::{Cell, Row, Tabular, short},
};
use std::collections::HashMap;
use veracity_core::{Error, Refusal};

/// How a table is laid out, and what is made of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Layout {
    /// How it is written, where it is text.
    pub form: Form,
    /// The columns that become features, in this order.
    pub columns: Vec<Column>,
    /// The column that becomes the label.
    pub label: Option<LabelColumn>,
}

/// A column that becomes features.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// What its cells are.
    pub cells: Cells,
}

/// What the cells of a column are, and what becomes of them.
///
/// # Examples
///
/// ```
/// use veracity_tables::{Cells, Unknown};
///
/// let names = || vec!["red".to_owned(), "green".to_owned()];
/// assert_eq!(Cells::Categories { names: names(), unknown: Unknown::Zeros }.width(), 2);
/// assert_eq!(Cells::Categories { names: names(), unknown: Unknown::Other }.width(), 3);
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Cells {
    /// Numbers, by declared bounds or as they are.
    Numbers {
        /// The bounds.
        scale: Option<Scale>,
        /// What stands for an empty cell; where nothing does, an empty cell is refused.
        missing: Option<f64>,
    },
    /// One of a public list; one feature for each of them, 1 or 0.
    Categories {
        /// The list.
        names: Vec<String>,
        /// What becomes of others.
        unknown: Unknown,
    },
}

/// What becomes of a category that is not on the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Unknown {
    /// All features of the column are 0.
    #[default]
    Zeros,
    /// One more feature is 1.
    Other,
}

impl Cells {
    /// How many features one cell becomes.
    pub fn width(&self) -> usize {
        match self {
            Cells::Numbers { .. } => 1,
            Cells::Categories { names, unknown } => names.len() + usize::from(*unknown == Unknown::Other),
        }
    }
}

/// The column that becomes the label.
#[derive(Debug, Clone, PartialEq)]
pub struct LabelColumn {
    /// Its name.
    pub name: String,
    /// What its cells are.
    pub kind: LabelKind,
}

impl Layout {
    /// How many features a record has.
    pub fn width(&self) -> usize {
        self.columns.iter().map(|column| column.cells.width()).sum()
    }

    /// Checks that there is a feature, and that no list has a name twice.
    ///
    /// # Errors
    /// Refuses no features or too many, and categories that are empty or named twice.
    pub fn check(&self) -> Result<(), Refusal> {
        if !(1..=1 << 20).contains(&self.width()) {
            return Err(Refusal::out_of_range("features", self.width(), "1 ≤ features ≤ 2^20"));
        }
        for column in &self.columns {
            if let Cells::Categories { names, .. } = &column.cells {
                let different: std::collections::HashSet<&str> =
                    names.iter().map(|name| name.trim()).collect();
                if different.len() < names.len() || names.is_empty() {
                    let name = short(&column.name);
                    return Err(Refusal::Invalid(format!(
                        "the categories of column {name} must be distinct, and at least one"
                    )));
                }
            }
        }
        self.label.as_ref().map_or(Ok(()), |label| label.kind.check())
    }
}

/// Reads the features, and the labels where they are asked for, from a table of text or Parquet.
///
/// # Examples
///
/// A refusal names the place, and no value:
///
/// ```
/// use veracity_tables::{Cells, Column, Form, Layout, Limits, Source, read_features};
///
/// let source = Source::in_memory("people.csv", "age\n31\nsecret\n".as_bytes());
/// let cells = Cells::Numbers { scale: None, missing: None };
/// let columns = vec![Column { name: "age".into(), cells }];
/// let layout = Layout { form: Form::default(), columns, label: None };
/// let refusal = read_features(&source, &layout, &Limits::default()).unwrap_err().to_string();
/// assert!(refusal.contains("people.csv") && refusal.contains("age") && !refusal.contains("secret"));
/// ```
///
/// # Errors
/// Refuses what is wrong with the layout, the file or a record, by its place.
pub fn read_features(source: &Source, layout: &Layout, limits: &Limits) -> Result<Table, Error> {
    layout.check()?;
    let opened = source.open(limits)?;
    let file = opened.name.clone();
    let label = layout.label.as_ref().map(|label| label.name.as_str());
    let names: Vec<&str> = layout.columns.iter().map(|column| column.name.as_str()).chain(label).collect();
    let mut table = Tabular::open(opened, layout.form, &names, limits)?;
    let mut rows = Rows::new(&file, layout, &table)?;
    while let Some(row) = table.next()? {
        rows.make_room(limits)?;
        rows.add(&row)?;
    }
    Ok(rows.table())
}

/// A column at work.
struct Reading<'a> {
    at: usize,
    name: &'a str,
    first: usize,
    width: usize,
    how: How<'a>,
}

enum How<'a> {
    Number {
        scale: Option<Scale>,
        missing: Option<f64>,
        notation: Notation,
    },
    /// The place of each category; others have the place `other`, or none.
    Category {
        places: HashMap<&'a [u8], usize>,
        other: Option<usize>,
    },
}

/// The rows read so far.
struct Rows<'a> {
    file: &'a str,
    cells: usize,
    width: usize,
    columns: Vec<Reading<'a>>,
    label: Option<Label<'a>>,
    notation: Notation,
    features: Vec<f32>,
    count: usize,
}

/// The label column at work.
struct Label<'a> {
    at: usize,
    name: &'a str,
    kind: &'a LabelKind,
    places: HashMap<&'a [u8], u32>,
    classes: Vec<u32>,
    values: Vec<f32>,
}

impl<'a> Rows<'a> {
    fn new(file: &'a str, layout: &'a Layout, table: &Tabular) -> Result<Rows<'a>, Error> {
        let notation = layout.form.notation;
        let mut width = 0;
        let mut columns = Vec::with_capacity(layout.columns.len());
        for column in &layout.columns {
            let how = match &column.cells {
                Cells::Numbers { scale, missing } => {
                    How::Number { scale: *scale, missing: *missing, notation }
                }
                Cells::Categories { names, unknown } => How::Category {
                    places: names.iter().enumerate().map(|(at, name)| (name.trim().as_bytes(), at)).collect(),
                    other: (*unknown == Unknown::Other).then_some(names.len()),
                },
            };
            let at = table.place(file, &column.name)?;
            columns.push(Reading { at, name: &column.name, first: width, width: column.cells.width(), how });
            width += column.cells.width();
        }
        let label = layout.label.as_ref().map(|label| Label::new(file, table, label)).transpose()?;
        let cells = table.width();
        Ok(Rows { file, cells, width, columns, label, notation, features: Vec::new(), count: 0 })
    }

    /// Refuses one record more than the limits allow.
    fn make_room(&self, limits: &Limits) -> Result<(), Error> {
        if self.count < limits.rows && self.features.len() + self.width <= limits.values {
            return Ok(());
        }
        Err(refuse(self.file, format!("at most {} records and {} features", limits.rows, limits.values)))
    }

    fn add(&mut self, record: &Row<'_>) -> Result<(), Error> {
        self.count += 1;
        let row = self.count;
        if record.len() != self.cells {
            let cells = self.cells;
            return Err(refuse(
                self.file,
                format!("{cells} cells in record {row}, but it has a different number"),
            ));
        }
        let start = self.features.len();
        self.features.resize(start + self.width, 0.0);
        for column in &self.columns {
            let features = &mut self.features[start + column.first..][..column.width];
            let cell = record.cell(column.at);
            if column.how.fill(cell, features).is_none() {
                let name = short(column.name);
                return Err(refuse(self.file, format!("a number in column {name} of record {row}")));
            }
        }
        match &mut self.label {
            Some(label) => label.add(self.file, record.cell(label.at), row, self.notation),
            None => Ok(()),
        }
    }

    fn table(self) -> Table {
        let labels = self.label.map(|label| match label.kind.classes() {
            Some(classes) => Labels::Classes { of: label.classes, classes },
            None => Labels::Values(label.values),
        });
        Table { width: self.width, features: self.features, labels }
    }
}

impl How<'_> {
    /// Writes a cell's features; nothing when it is not what it should be.
    fn fill(&self, cell: Cell<'_>, features: &mut [f32]) -> Option<()> {
        match self {
            How::Number { scale, missing, notation } => {
                let number = if cell == Cell::Missing { (*missing)? } else { cell.number(*notation)? };
                features[0] = scaled(*scale, number)?;
            }
            How::Category { places, other } => {
                let name = cell.text().unwrap_or_default();
                if let Some(at) = places.get(&*name).copied().or(*other) {
                    features[at] = 1.0;
                }
            }
        }
        Some(())
    }
}

impl<'a> Label<'a> {
    fn new(file: &str, table: &Tabular, label: &'a LabelColumn) -> Result<Label<'a>, Error> {
        let mut places = HashMap::new();
        if let LabelKind::Named(names) = &label.kind {
            for (class, spellings) in (0..).zip(names) {
                places.extend(spellings.iter().map(|name| (name.trim().as_bytes(), class)));
            }
        }
        Ok(Label {
            at: table.place(file, &label.name)?,
            name: &label.name,
            kind: &label.kind,
            places,
            classes: Vec::new(),
            values: Vec::new(),
        })
    }

    fn add(&mut self, file: &str, cell: Cell<'_>, row: usize, notation: Notation) -> Result<(), Error> {
        let name = cell.text().unwrap_or_default();
        let read = match self.kind {
            LabelKind::Named(_) => self.places.get(&*name).map(|class| self.classes.push(*class)),
            LabelKind::Counted(classes) => std::str::from_utf8(&name)
                .ok()
                .and_then(|text| text.parse::<u32>().ok())
                .filter(|class| (*class as usize) < *classes)
                .map(|class| self.classes.push(class)),
            LabelKind::Numbers(scale) => {
                cell.number(notation).and_then(|x| scaled(*scale, x)).map(|value| self.values.push(value))
            }
        };
        let expected = match self.kind {
            LabelKind::Named(_) => "a declared class".to_owned(),
            LabelKind::Counted(classes) => format!("a label from 0 to {}", classes - 1),
            LabelKind::Numbers(_) => "a number".to_owned(),
        };
        read.ok_or_else(|| {
            let name = short(self.name);
            refuse(file, format!("{expected} in column {name} of record {row}"))
        })
    }
}
