//! Columns of files as queries and local reports take them, and whose rows they are.

use veracity_core::Error;
use veracity_mechanisms::Column;
pub use veracity_tables::{Encoding, Form, FormParts, Header, Kind, Limits, Notation, Source};
use veracity_tables::{Values, Wanted, check_columns, read_columns};

/// What is asked of a file.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The column; without one, every row is a text that is present.
    pub column: Option<&'a str>,
    /// What its cells are read as.
    pub kind: Kind,
    /// The column that says whose row it is.
    pub person: Option<&'a str>,
    /// How the file is written, where it is text.
    pub form: Form,
}

/// A column as it was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// Its values.
    pub column: Column,
    /// Whose row each is, where that was asked.
    pub persons: Option<Vec<Option<String>>>,
}

/// Reads a column. What is wrong with the file is refused; what is in a cell never is.
///
/// # Errors
/// Refuses a file that cannot be read or does not have the columns.
pub fn read(source: &Source, request: &Request<'_>) -> Result<Reading, Error> {
    let read = read_columns(source, request.form, &request.wanted(), &Limits::default())?;
    let mut values = read.values.into_iter();
    let column = match request.column.and_then(|_| values.next()) {
        Some(Values::Numbers(numbers)) => Column::from(numbers),
        Some(Values::Texts(texts)) => Column::Texts(texts.to_vec()),
        None => Column::Texts(vec![Some(String::new()); read.rows]),
    };
    Ok(Reading { column, persons: values.next().and_then(Values::into_texts) })
}

/// Checks that the file has the columns, without a look at any row.
///
/// # Errors
/// Refuses a file that cannot be read or does not have the columns.
pub fn check(source: &Source, request: &Request<'_>) -> Result<(), Error> {
    check_columns(source, request.form, &request.wanted(), &Limits::default())
}

impl<'a> Request<'a> {
    fn wanted(&self) -> Vec<Wanted<'a>> {
        let column = self.column.map(|name| Wanted { name, kind: self.kind });
        let person = self.person.map(|name| Wanted { name, kind: Kind::Texts });
        column.into_iter().chain(person).collect()
    }
}
