//! What names mean: tables of the catalog, and their declared columns.

use super::per_unit;
use crate::sql::{
    Catalog, Column,
    ast::{Comparison, Expr, From, JoinKind, Name},
    catalog::RowsOf,
    plan::{Measure, Source},
    scalar::{ColumnRef, Predicate, Range},
};
use veracity_core::printable;
use veracity_core::{Count, Refusal};

/// The most tables of a query.
const MOST_TABLES: usize = 8;

/// The tables of a query, and the columns that it reads so far.
pub(super) struct Names {
    pub sources: Vec<Source>,
    aliases: Vec<String>,
    /// The columns that the subquery of a table selects, where it does not select all of them.
    selected: Vec<Option<Vec<Name>>>,
    /// Whether those of the subquery itself are meant, which has all columns.
    is_inside: bool,
    /// How many tables can be named: in the condition of a join, those up to it.
    pub known: usize,
    /// Columns that `USING` made one with a column of a table before theirs.
    merged: Vec<(usize, Name)>,
}

/// What a column of the query is.
pub(super) enum Meaning {
    /// One that is declared.
    Declared(ColumnRef),
    /// One of those that say whose a row is: the table, and its place among them.
    Unit(usize, usize),
}

impl Names {
    pub(super) fn new(from: &[From], catalog: &Catalog, rows: Option<Count>) -> Result<Names, Refusal> {
        if from.len() > MOST_TABLES {
            return Err(Refusal::out_of_range("tables", from.len(), "at most 8 tables in a query"));
        }
        let mut names = Names {
            sources: Vec::new(),
            aliases: Vec::new(),
            selected: Vec::new(),
            is_inside: false,
            known: from.len(),
            merged: Vec::new(),
        };
        for one in from {
            let source = match &one.query {
                None => stored(&one.table, catalog)?,
                Some(query) => per_unit::source(query, catalog, rows)?,
            };
            let alias = one.alias.clone().unwrap_or_else(|| source.table.name.clone());
            if names.aliases.iter().any(|known| known.eq_ignore_ascii_case(&alias)) {
                return Err(Refusal::invalid("query has two tables with the same name; give each an alias"));
            }
            let has = |name: &Name| columns_of(&source).any(|column| name.is(column));
            if let Some(missing) = one.selected.iter().flatten().find(|name| !has(name)) {
                return Err(undeclared(missing, columns_of(&source)));
            }
            names.aliases.push(alias);
            names.sources.push(source);
            names.selected.push(one.selected.clone());
        }
        Ok(names)
    }

    /// Whether the query sees a column of a table: one in a subquery shows what it selects.
    fn is_seen(&self, place: usize, column: &str) -> bool {
        let selected = self.selected.get(place).and_then(Option::as_ref).filter(|_| !self.is_inside);
        selected.is_none_or(|selected| selected.iter().any(|name| name.is(column)))
    }

    /// The columns of a table that the query sees.
    fn seen(&self, place: usize) -> impl Iterator<Item = &String> {
        columns_of(&self.sources[place]).filter(move |column| self.is_seen(place, column))
    }

    /// Reads what stands in the subquery of a table, which has all of its columns.
    pub(super) fn inside<T>(&mut self, read: impl FnOnce(&mut Names) -> T) -> T {
        self.is_inside = true;
        let read = read(self);
        self.is_inside = false;
        read
    }

    /// What a name is, in all tables or in one.
    pub(super) fn find(&mut self, table: Option<&Name>, name: &Name) -> Result<Meaning, Refusal> {
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
                    .filter(|(_, unit)| name.is(unit) && self.is_seen(place, unit))
                    .map(|(at, _)| (place, Err(at))),
            );
            let declared = source.table.columns.keys();
            let declared = declared.filter(|column| name.is(column) && self.is_seen(place, column));
            found.extend(declared.map(|column| (place, Ok(column.clone()))));
        }
        if table.is_none() && found.len() > 1 {
            let is_merged =
                |place: usize| self.merged.iter().any(|(of, merged)| *of == place && merged.is(&name.text));
            found.retain(|(place, _)| !is_merged(*place));
        }
        match <[_; 1]>::try_from(found) {
            Ok([(table, Err(at))]) => Ok(Meaning::Unit(table, at)),
            Ok([(table, Ok(column))]) => Ok(Meaning::Declared(self.read(table, &column))),
            Err(found) if found.is_empty() => {
                let is_there = |place: usize| columns_of(&self.sources[place]).any(|column| name.is(column));
                if (0..self.known).any(is_there)
                    && !self.is_inside
                    && self.selected.iter().any(Option::is_some)
                {
                    return Err(Refusal::invalid(format!(
                        "column {} is not selected by the subquery that the query reads; add it to the SELECT there",
                        name.shown()
                    )));
                }
                let mut seen = Vec::new();
                for place in 0..self.known {
                    let declared = self.sources[place].table.columns.keys();
                    seen.extend(declared.filter(|column| self.is_seen(place, column)));
                }
                Err(undeclared(name, seen.into_iter()))
            }
            Err(_) => Err(ambiguous("column", name)),
        }
    }

    /// What a name is; nothing where no table has it.
    pub(super) fn known(&mut self, table: Option<&Name>, name: &Name) -> Result<Option<Meaning>, Refusal> {
        let of = |alias: &String| table.is_none_or(|table| table.is(alias));
        let mut tables = self.aliases.iter().enumerate().take(self.known);
        match tables.any(|(place, alias)| of(alias) && self.seen(place).any(|column| name.is(column))) {
            true => self.find(table, name).map(Some),
            false => Ok(None),
        }
    }

    /// The condition that a table has the same as those before it in columns of these names. From then on such a name means the
    /// column of the table before it: their values are the same, or the row has no partner.
    pub(super) fn using(&mut self, place: usize, columns: &[Name]) -> Result<Expr, Refusal> {
        let alias = |at: usize| Name { text: self.aliases[at].clone(), quoted: true };
        let has = |at: usize, name: &Name| self.seen(at).any(|column| name.is(column));
        let mut same = Vec::new();
        for name in columns {
            let Some(first) = (0..place).find(|at| has(*at, name)).filter(|_| has(place, name)) else {
                return Err(Refusal::invalid(format!(
                    "column {} after USING is not in both tables; write JOIN … ON",
                    name.shown()
                )));
            };
            let column = |at: usize| Box::new(Expr::Column(Some(alias(at)), name.clone()));
            same.push(Expr::Compare(Comparison::Equal, column(first), column(place)));
        }
        self.merged.extend(columns.iter().map(|name| (place, name.clone())));
        Ok(if same.len() == 1 { same.remove(0) } else { Expr::And(same) })
    }

    /// Joins what is computed of each unit, under no name, and says how: on the unit, which may have none.
    pub(super) fn add_unnamed(&mut self, source: Source, column: &str) -> Result<ColumnRef, Refusal> {
        let place = self.sources.len();
        if place == MOST_TABLES {
            return Err(Refusal::out_of_range("tables", place + 1, "at most 8 tables in a query"));
        }
        let same = (0..source.unit.len()).map(|at| Predicate::SameUnit(place, at)).collect();
        self.sources.push(Source { join: Some((JoinKind::Left, Predicate::And(same))), ..source });
        Ok(self.read(place, column))
    }

    /// The place of a column among those that are read.
    pub(super) fn read(&mut self, table: usize, column: &str) -> ColumnRef {
        let source = &mut self.sources[table];
        let known = source.columns.iter().position(|(name, _)| name == column);
        let place = known.unwrap_or_else(|| {
            let declared = source.table.columns[column].clone();
            source.columns.push((column.to_owned(), declared));
            source.columns.len() - 1
        });
        ColumnRef { table, column: place }
    }

    pub(super) fn declared(&self, column: ColumnRef) -> &Column {
        &self.sources[column.table].columns[column.column].1
    }

    /// Whether a column counts the rows of each unit.
    pub(super) fn is_count(&self, column: ColumnRef) -> bool {
        let source = &self.sources[column.table];
        let name = &source.columns[column.column].0;
        let measure = source.per_unit.as_ref().and_then(|per_unit| per_unit.measures.get(name));
        matches!(measure, Some(Measure::Rows | Measure::Present(_)))
    }

    /// Between which numbers a column is.
    pub(super) fn range(&self, column: ColumnRef) -> Range {
        match self.declared(column).range() {
            Some((low, high)) => Range { low, high },
            None => Range::point(0.0),
        }
    }
}

/// The columns that say whose a row is, and those that are declared.
fn columns_of(source: &Source) -> impl Iterator<Item = &String> {
    source.unit.iter().chain(source.table.columns.keys())
}

fn undeclared<'a>(name: &Name, known: impl Iterator<Item = &'a String>) -> Refusal {
    let known: Vec<&str> = known.take(12).map(String::as_str).collect();
    Refusal::invalid(format!(
        "column {} is not declared in the catalog, expected one of {}",
        name.shown(),
        known.join(", ")
    ))
}

/// A table of the catalog.
pub(super) fn stored(name: &Name, catalog: &Catalog) -> Result<Source, Refusal> {
    let mut found = catalog.tables().filter(|table| name.is(&table.name));
    let Some(table) = found.next() else {
        let known: Vec<&str> = catalog.tables().map(|table| table.name.as_str()).take(12).collect();
        return Err(Refusal::invalid(format!(
            "table {} is not in the catalog, expected one of {}",
            name.shown(),
            known.join(", ")
        )));
    };
    if found.next().is_some() {
        return Err(ambiguous("table", name));
    }
    let unit = match &table.rows_of {
        RowsOf::Public => Vec::new(),
        RowsOf::Units { columns, .. } => columns.clone(),
    };
    Ok(Source { table: table.clone(), unit, columns: Vec::new(), join: None, most: None, per_unit: None })
}

/// What may be done with the column that says whose a row is.
pub(super) fn about_units(name: &Name) -> Refusal {
    Refusal::invalid(format!(
        "column {} is the privacy ID; it can be used only in COUNT(DISTINCT {0}), in JOIN … ON, and in {0} IN (SELECT …)",
        name.shown()
    ))
}

fn ambiguous(what: &str, name: &Name) -> Refusal {
    Refusal::invalid(format!("{what} {} is ambiguous; write table.column, or quote the name", name.shown()))
}

/// Short and without control characters, for a refusal: an alias may be anything in quotes.
fn one_line(text: &str) -> String {
    printable(text, 60)
}
