//! CSV files, plain or gzipped: declared columns become features, one column may become the label.
//!
//! Numbers are scaled by declared bounds, categories become one number each by a public list. Other columns of the file are
//! never looked at.

use crate::{
    LabelKind, Labels, Limits, Scale, Table,
    scale::scaled,
    source::{explain, named, refuse, stream},
};
use csv::{ByteRecord, ReaderBuilder};
use std::{collections::HashMap, io::Read, path::Path};
use veracity_core::Refusal;

/// How a CSV file is laid out, and what is made of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Layout {
    /// The byte between cells.
    pub delimiter: u8,
    /// Whether the first line names the columns.
    pub header: Header,
    /// The columns that become features, in this order.
    pub columns: Vec<Column>,
    /// The column that becomes the label.
    pub label: Option<LabelColumn>,
}

/// How columns are called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Header {
    /// By the first line.
    #[default]
    Named,
    /// By their place, counted from 1; the first line is a record.
    Counted,
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
#[derive(Debug, Clone, PartialEq)]
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
                    return Err(Refusal::NoAnswer(format!(
                        "categories of column {name} are empty or have a name twice, expected different names"
                    )));
                }
            }
        }
        self.label.as_ref().map_or(Ok(()), |label| label.kind.check())
    }
}

/// Reads a CSV file.
pub fn read_csv(path: &Path, layout: &Layout, limits: &Limits) -> Result<Table, Refusal> {
    layout.check()?;
    let file = named(path);
    let mut reader = ReaderBuilder::new()
        .delimiter(layout.delimiter)
        .has_headers(layout.header == Header::Named)
        .flexible(true)
        .from_reader(stream(path, limits)?);
    let mut record = ByteRecord::new();
    let first = match layout.header {
        Header::Named => reader.byte_headers().map_err(|error| unreadable(&file, &error))?.clone(),
        Header::Counted => {
            next(&mut reader, &mut record, &file)?;
            record.clone()
        }
    };
    if first.is_empty() || (first.len() == 1 && first[0].trim_ascii().is_empty()) {
        return Err(refuse(&file, "a CSV file with something in it, found it empty"));
    }
    let mut rows = Rows::new(&file, layout, &first)?;
    let mut more = layout.header == Header::Counted || next(&mut reader, &mut record, &file)?;
    while more {
        rows.make_room(limits)?;
        rows.add(&record)?;
        more = next(&mut reader, &mut record, &file)?;
    }
    Ok(rows.table())
}

fn next<R: Read>(reader: &mut csv::Reader<R>, record: &mut ByteRecord, file: &str) -> Result<bool, Refusal> {
    reader.read_byte_record(record).map_err(|error| unreadable(file, &error))
}

fn unreadable(file: &str, error: &csv::Error) -> Refusal {
    match error.kind() {
        csv::ErrorKind::Io(error) => explain(file, error),
        _ => refuse(file, "a readable CSV file"),
    }
}

/// A name as it is shown.
fn short(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(80).collect()
}

/// The place of a column. The header's names are not listed: in a file without one, they are someone's data.
fn place(file: &str, header: Header, first: &ByteRecord, name: &str) -> Result<usize, Refusal> {
    let wrong = |why: &str| Refusal::NoAnswer(format!("column is {}, expected {why} in {file}", short(name)));
    if header == Header::Counted {
        let at = name.trim().parse::<usize>().ok().filter(|at| (1..=first.len()).contains(at));
        return at.map(|at| at - 1).ok_or_else(|| wrong("the place of a column, counted from 1,"));
    }
    let mut places = first.iter().enumerate().filter(|(at, cell)| {
        let cell = if *at == 0 { cell.strip_prefix(b"\xef\xbb\xbf").unwrap_or(cell) } else { cell };
        cell.trim_ascii() == name.trim().as_bytes()
    });
    match (places.next(), places.next()) {
        (Some((at, _)), None) => Ok(at),
        (Some(_), Some(_)) => Err(wrong("a name that is there once, found it twice")),
        (None, _) => Err(wrong("a name that is in the header")),
    }
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
    },
    /// The place of each category; others have the place `other`, or none.
    Category {
        places: HashMap<&'a [u8], usize>,
        other: Option<usize>,
    },
}

/// The rows read so far.
pub(crate) struct Rows<'a> {
    file: &'a str,
    cells: usize,
    width: usize,
    columns: Vec<Reading<'a>>,
    label: Option<Label<'a>>,
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
    pub(crate) fn new(file: &'a str, layout: &'a Layout, first: &ByteRecord) -> Result<Rows<'a>, Refusal> {
        let mut width = 0;
        let mut columns = Vec::with_capacity(layout.columns.len());
        for column in &layout.columns {
            let how = match &column.cells {
                Cells::Numbers { scale, missing } => How::Number { scale: *scale, missing: *missing },
                Cells::Categories { names, unknown } => How::Category {
                    places: names.iter().enumerate().map(|(at, name)| (name.trim().as_bytes(), at)).collect(),
                    other: (*unknown == Unknown::Other).then_some(names.len()),
                },
            };
            let at = place(file, layout.header, first, &column.name)?;
            columns.push(Reading { at, name: &column.name, first: width, width: column.cells.width(), how });
            width += column.cells.width();
        }
        let label = layout.label.as_ref().map(|label| Label::new(file, layout.header, first, label));
        let label = label.transpose()?;
        Ok(Rows { file, cells: first.len(), width, columns, label, features: Vec::new(), count: 0 })
    }

    /// Refuses one record more than the limits allow.
    pub(crate) fn make_room(&self, limits: &Limits) -> Result<(), Refusal> {
        if self.count < limits.rows && self.features.len() + self.width <= limits.values {
            return Ok(());
        }
        Err(refuse(self.file, format!("at most {} records and {} features", limits.rows, limits.values)))
    }

    pub(crate) fn add(&mut self, record: &ByteRecord) -> Result<(), Refusal> {
        self.count += 1;
        let row = self.count;
        if record.len() != self.cells {
            let cells = self.cells;
            return Err(refuse(self.file, format!("{cells} cells in record {row}, found another number")));
        }
        let start = self.features.len();
        self.features.resize(start + self.width, 0.0);
        for column in &self.columns {
            let features = &mut self.features[start + column.first..][..column.width];
            let cell = record[column.at].trim_ascii();
            if column.how.fill(cell, features).is_none() {
                let name = short(column.name);
                return Err(refuse(
                    self.file,
                    format!("a number in column {name} of record {row}, found something else"),
                ));
            }
        }
        match &mut self.label {
            Some(label) => label.add(self.file, record, row),
            None => Ok(()),
        }
    }

    pub(crate) fn table(self) -> Table {
        let labels = self.label.map(|label| match label.kind.classes() {
            Some(classes) => Labels::Classes { of: label.classes, classes },
            None => Labels::Values(label.values),
        });
        Table { width: self.width, features: self.features, labels }
    }
}

impl How<'_> {
    /// Writes a cell's features; nothing when it is not what it should be.
    fn fill(&self, cell: &[u8], features: &mut [f32]) -> Option<()> {
        match self {
            How::Number { scale, missing } => {
                let number = if cell.is_empty() { (*missing)? } else { number(cell)? };
                features[0] = scaled(*scale, number)?;
            }
            How::Category { places, other } => {
                if let Some(at) = places.get(cell).copied().or(*other) {
                    features[at] = 1.0;
                }
            }
        }
        Some(())
    }
}

fn number(cell: &[u8]) -> Option<f64> {
    std::str::from_utf8(cell).ok()?.parse().ok()
}

impl<'a> Label<'a> {
    fn new(
        file: &str,
        header: Header,
        first: &ByteRecord,
        label: &'a LabelColumn,
    ) -> Result<Label<'a>, Refusal> {
        let mut places = HashMap::new();
        if let LabelKind::Named(names) = &label.kind {
            for (class, spellings) in (0..).zip(names) {
                places.extend(spellings.iter().map(|name| (name.trim().as_bytes(), class)));
            }
        }
        Ok(Label {
            at: place(file, header, first, &label.name)?,
            name: &label.name,
            kind: &label.kind,
            places,
            classes: Vec::new(),
            values: Vec::new(),
        })
    }

    fn add(&mut self, file: &str, record: &ByteRecord, row: usize) -> Result<(), Refusal> {
        let cell = record[self.at].trim_ascii();
        let read = match self.kind {
            LabelKind::Named(_) => self.places.get(cell).map(|class| self.classes.push(*class)),
            LabelKind::Counted(classes) => std::str::from_utf8(cell)
                .ok()
                .and_then(|text| text.parse::<u32>().ok())
                .filter(|class| (*class as usize) < *classes)
                .map(|class| self.classes.push(class)),
            LabelKind::Numbers(scale) => {
                number(cell).and_then(|x| scaled(*scale, x)).map(|value| self.values.push(value))
            }
        };
        let expected = match self.kind {
            LabelKind::Named(_) => "one of the declared classes".to_owned(),
            LabelKind::Counted(classes) => format!("a label from 0 to {}", classes - 1),
            LabelKind::Numbers(_) => "a number".to_owned(),
        };
        read.ok_or_else(|| {
            let name = short(self.name);
            refuse(file, format!("{expected} in column {name} of record {row}, found something else"))
        })
    }
}
