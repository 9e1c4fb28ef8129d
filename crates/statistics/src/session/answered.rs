//! A charged question and the rows it is about become an answer with its claim.

use super::{ChargedQuestion, Grouping, PlannedQuestion, Session};
use crate::{answer_note, prepared::noise_note, provenance};
use std::{borrow::Cow, collections::HashMap};
use veracity_account::claims::{AnswerNote, ClaimFile, Parameters, ReleaseNote};
use veracity_core::{Error, Refusal};
use veracity_mechanisms::{Cell, Column};

/// The rows of a table, as far as a question needs them; all of one length.
#[derive(Debug, Clone, Copy)]
pub struct Rows<'a> {
    /// What is asked about; a count without a column takes any that has a value in each row.
    pub column: &'a Column,
    /// Which group each is in, where there are groups.
    pub groups: Option<&'a [Option<String>]>,
    /// Whose each is, where the session has people.
    pub persons: Option<&'a [Option<String>]>,
}

/// An answer and its claim.
#[derive(Debug, Clone)]
pub struct AnsweredQuestion {
    /// The numbers of each group, in the order of the keys; one entry where there are no groups.
    pub cells: Vec<Vec<Cell>>,
    planned: PlannedQuestion,
    note: ReleaseNote,
}

impl AnsweredQuestion {
    /// What it promises, in writing. The first claim of a question takes longer than its answer.
    ///
    /// # Errors
    /// Returns the refusal of the accountant.
    pub fn claim(&self) -> Result<ClaimFile, Refusal> {
        Ok(self.planned.claim()?.with_release(self.note.clone()))
    }
}

impl Session {
    /// Answers a question that was charged. What goes wrong here stays charged.
    ///
    /// A refusal rests on the kind of column and on lengths, never on values.
    ///
    /// # Errors
    /// Refuses a column of another kind, groups or persons that are missing or of another length, and a copy of the process.
    pub fn answer(&self, charged: ChargedQuestion, rows: Rows<'_>) -> Result<AnsweredQuestion, Error> {
        self.must_be_here()?;
        let ChargedQuestion { planned, number } = charged;
        let provenance = provenance(&self.settings().dataset)?;
        let mut rng = self.noise(number)?;
        let drawn = (rng.origin(), rng.is_releasable());
        let parts = self.parts(&planned.grouping, rows)?;
        let mut cells = Vec::with_capacity(parts.len());
        for part in &parts {
            let mut of_part = Vec::new();
            for design in &planned.designs {
                of_part.extend(design.release(part, &mut rng)?.cells);
            }
            cells.push(of_part);
        }
        let statistic = &planned.designs[0].question().statistic;
        let name = match &planned.grouping {
            None => statistic.name().to_owned(),
            Some(grouping) => format!("{} by {}", statistic.name(), grouping.column()),
        };
        let noise = planned.designs.iter().flat_map(|design| design.parts()).map(noise_note).collect();
        let keys = planned.grouping.as_ref().map(Grouping::keys);
        let parameters = match (answer_note::parameters(statistic), keys) {
            (parameters, None) => parameters,
            (parameters, Some(keys)) => {
                Some(Parameters { categories: Some(keys.to_vec()), ..parameters.unwrap_or_default() })
            }
        };
        let note = ReleaseNote::new(&name, drawn, noise).with_provenance(&provenance).with_answer(
            planned.column.as_deref(),
            parameters,
            answers(keys, &cells),
        );
        Ok(AnsweredQuestion { cells, planned, note })
    }

    /// The rows of each group, bounded by person where the session has people. The rows that are kept of a person are the same for
    /// every column, since they are drawn by the person's name.
    fn parts<'a>(&self, grouping: &Option<Grouping>, rows: Rows<'a>) -> Result<Vec<Cow<'a, Column>>, Error> {
        let bounded = |column: &Column| -> Result<Option<Column>, Error> {
            match (&self.settings().persons, rows.persons) {
                (None, _) => Ok(None),
                (Some(persons), Some(of)) => {
                    Ok(Some(persons.bound(column, of, &self.entropy)?.column().clone()))
                }
                (Some(_), None) => Err(Error::invalid(
                    "the session has a privacy ID column; pass the privacy ID of each row",
                )),
            }
        };
        let column = bounded(rows.column)?.map_or(Cow::Borrowed(rows.column), Cow::Owned);
        let Some(grouping) = grouping else { return Ok(vec![column]) };
        let groups = rows
            .groups
            .ok_or_else(|| Error::invalid("the group of each row is missing; pass one for each row"))?;
        let groups = match (&self.settings().persons, bounded(&Column::Texts(groups.to_vec()))?) {
            (Some(_), Some(Column::Texts(texts))) => Cow::Owned(texts),
            _ => Cow::Borrowed(groups),
        };
        if groups.len() != column.rows() {
            return Err(Error::invalid(
                "the number of groups differs from the number of rows; pass one group for each row",
            ));
        }
        Ok(split(&column, &groups, grouping.keys()).into_iter().map(Cow::Owned).collect())
    }
}

/// The rows of each key, in their order; those of no key are dropped.
fn split(column: &Column, groups: &[Option<String>], keys: &[String]) -> Vec<Column> {
    let places: HashMap<&str, usize> = keys.iter().enumerate().map(|(i, key)| (key.as_str(), i)).collect();
    let place = |row: usize| groups[row].as_deref().and_then(|key| places.get(key)).copied();
    fn dealt<T: Clone>(values: &[T], keys: usize, place: impl Fn(usize) -> Option<usize>) -> Vec<Vec<T>> {
        let mut parts = vec![Vec::new(); keys];
        for (row, value) in values.iter().enumerate() {
            if let Some(place) = place(row) {
                parts[place].push(value.clone());
            }
        }
        parts
    }
    match column {
        Column::Numbers(values) => {
            dealt(values, keys.len(), place).into_iter().map(Column::Numbers).collect()
        }
        Column::Texts(values) => dealt(values, keys.len(), place).into_iter().map(Column::Texts).collect(),
    }
}

/// The numbers as a claim notes them, each with its group.
fn answers(keys: Option<&[String]>, cells: &[Vec<Cell>]) -> Vec<AnswerNote> {
    let Some(keys) = keys else { return answer_note::answer(&cells.concat()) };
    let of_key = |(key, cells): (&String, &Vec<Cell>)| {
        let labelled = |note: AnswerNote| AnswerNote {
            bin: Some(note.bin.map_or_else(|| key.clone(), |bin| format!("{key}: {bin}"))),
            ..note
        };
        answer_note::answer(cells).into_iter().map(labelled).collect::<Vec<_>>()
    };
    keys.iter().zip(cells).flat_map(of_key).collect()
}
