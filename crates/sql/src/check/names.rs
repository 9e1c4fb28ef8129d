//! What names mean: tables of the catalog, and their declared columns.

use crate::{
    Catalog, Column,
    ast::{From, Name},
    catalog::RowsOf,
    plan::Source,
    scalar::{ColumnRef, Range},
};
use veracity_core::Refusal;

/// The most tables of a query.
const MOST_TABLES: usize = 8;

/// The tables of a query, and the columns that it reads so far.
pub(super) struct Names {
    pub sources: Vec<Source>,
    aliases: Vec<String>,
    /// How many tables can be named: in the condition of a join, those up to it.
    pub known: usize,
}

/// What a column of the query is.
pub(super) enum Found {
    /// One that is declared.
    Declared(ColumnRef),
    /// One of those that say whose a row is: the table, and its place among them.
    Unit(usize, usize),
}

impl Names {
    pub(super) fn new(from: &[From], catalog: &Catalog) -> Result<Names, Refusal> {
        if from.len() > MOST_TABLES {
            return Err(Refusal::out_of_range("tables", from.len(), "at most 8 in a query"));
        }
        let mut names = Names { sources: Vec::new(), aliases: Vec::new(), known: from.len() };
        for one in from {
            let mut found = catalog.tables().filter(|table| one.table.is(&table.name));
            let Some(table) = found.next() else {
                let known: Vec<&str> = catalog.tables().map(|table| table.name.as_str()).take(12).collect();
                return Err(Refusal::invalid(format!(
                    "table {} is not in the catalog, expected one of {}",
                    one.table.shown(),
                    known.join(", ")
                )));
            };
            if found.next().is_some() {
                return Err(ambiguous("table", &one.table));
            }
            let alias = one.alias.clone().unwrap_or_else(|| table.name.clone());
            if names.aliases.iter().any(|known| known.eq_ignore_ascii_case(&alias)) {
                return Err(Refusal::invalid("query has two tables of one name, expected an alias for each"));
            }
            let unit = match &table.rows_of {
                RowsOf::Public => Vec::new(),
                RowsOf::Units { columns, .. } => columns.clone(),
            };
            names.aliases.push(alias);
            names.sources.push(Source {
                table: table.clone(),
                unit,
                columns: Vec::new(),
                join: None,
                most: None,
            });
        }
        Ok(names)
    }

    /// What a name is, in all tables or in one.
    pub(super) fn find(&mut self, table: Option<&Name>, name: &Name) -> Result<Found, Refusal> {
        let tables: Vec<usize> = (0..self.known)
            .filter(|place| table.is_none_or(|table| table.is(&self.aliases[*place])))
            .collect();
        if tables.is_empty() {
            let table = table.map_or(String::new(), Name::shown);
            return Err(Refusal::invalid(format!(
                "table {table} is not in FROM, expected one of {}",
                self.aliases[..self.known].iter().map(|alias| one_line(alias)).collect::<Vec<_>>().join(", ")
            )));
        }
        let mut found = Vec::new();
        for place in tables {
            let source = &self.sources[place];
            found.extend(
                source
                    .unit
                    .iter()
                    .enumerate()
                    .filter(|(_, unit)| name.is(unit))
                    .map(|(at, _)| (place, Err(at))),
            );
            let declared = source.table.columns.keys().filter(|column| name.is(column));
            found.extend(declared.map(|column| (place, Ok(column.clone()))));
        }
        match <[_; 1]>::try_from(found) {
            Ok([(table, Err(at))]) => Ok(Found::Unit(table, at)),
            Ok([(table, Ok(column))]) => Ok(Found::Declared(self.read(table, &column))),
            Err(found) if found.is_empty() => Err(Refusal::invalid(format!(
                "column {} is not declared in the catalog, expected one of {}",
                name.shown(),
                self.declared_names()
            ))),
            Err(_) => Err(ambiguous("column", name)),
        }
    }

    /// The place of a column among those that are read.
    fn read(&mut self, table: usize, column: &str) -> ColumnRef {
        let source = &mut self.sources[table];
        let known = source.columns.iter().position(|(name, _)| name == column);
        let place = known.unwrap_or_else(|| {
            let declared = source.table.columns[column].clone();
            source.columns.push((column.to_owned(), declared));
            source.columns.len() - 1
        });
        ColumnRef { table, column: place }
    }

    fn declared_names(&self) -> String {
        let all = self.sources[..self.known].iter().flat_map(|source| source.table.columns.keys());
        all.take(12).cloned().collect::<Vec<_>>().join(", ")
    }

    /// A column of texts, and all that it can be where that is public.
    pub(super) fn text_column(
        &mut self,
        table: Option<&Name>,
        name: &Name,
    ) -> Result<(ColumnRef, Option<Vec<String>>), Refusal> {
        match self.find(table, name)? {
            Found::Unit(..) => Err(about_units(name)),
            Found::Declared(column) => match self.declared(column) {
                Column::Text(keys) => Ok((column, keys.clone())),
                Column::Number(_) => Err(Refusal::invalid(format!(
                    "column {} has numbers, expected texts: declare keys for it to group by it",
                    name.shown()
                ))),
            },
        }
    }

    /// Whether a name is a column of numbers.
    pub(super) fn is_number(&mut self, table: Option<&Name>, name: &Name) -> bool {
        matches!(self.find(table, name), Ok(Found::Declared(column)) if matches!(self.declared(column), Column::Number(_)))
    }

    pub(super) fn declared(&self, column: ColumnRef) -> &Column {
        &self.sources[column.table].columns[column.column].1
    }

    pub(super) fn name_of(&self, column: ColumnRef) -> String {
        self.sources[column.table].columns[column.column].0.clone()
    }

    /// Between which numbers a column is.
    pub(super) fn range(&self, column: ColumnRef) -> Range {
        match self.declared(column) {
            Column::Number(bounds) => Range { low: bounds.lower(), high: bounds.upper() },
            Column::Text(_) => Range::point(0.0),
        }
    }
}

/// What may be done with the column that says whose a row is.
pub(super) fn about_units(name: &Name) -> Refusal {
    Refusal::invalid(format!(
        "column {} says whose a row is, expected it in COUNT(DISTINCT {0}) or in JOIN … ON alone",
        name.shown()
    ))
}

fn ambiguous(what: &str, name: &Name) -> Refusal {
    Refusal::invalid(format!(
        "{what} {} means several, expected table.column, or the name in quotes",
        name.shown()
    ))
}

/// Short and without control characters, for a refusal: an alias may be anything in quotes.
fn one_line(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(60).collect()
}
