//! What was asked, in order: each reservation with what became of it.

use crate::{Event, Ledger, Record, rows};
use std::{collections::HashMap, ops::ControlFlow};
use veracity_account::filter::Amounts;
use veracity_core::Error;

/// A reservation, and what became of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The number of the record that charged it.
    pub number: u64,
    /// When, in seconds since 1970 began.
    pub moment: u64,
    /// What was charged.
    pub charge: crate::Charge,
    /// What was spent of the whole with it.
    pub spent: Amounts,
    /// `reserved`, `answered` or `abandoned`.
    pub state: &'static str,
    /// The answer that was kept, as JSON.
    pub answer: Option<String>,
}

impl Ledger {
    /// Every reservation, the first first.
    ///
    /// # Errors
    /// Refuses a chain whose records are not as a ledger writes them.
    pub fn history(&self) -> Result<Vec<Entry>, Error> {
        let mut entries: Vec<Entry> = Vec::new();
        let mut places = HashMap::new();
        let mut wrong = None;
        self.records(|record| {
            let ended = |entries: &mut Vec<Entry>, reservation: u64, state, answer| {
                let Some(at) = places.get(&reservation) else { return false };
                let entry: &mut Entry = &mut entries[*at];
                (entry.state, entry.answer) = (state, answer);
                true
            };
            let known = match record.event {
                Event::Answered { reservation, answer } => {
                    ended(&mut entries, reservation, "answered", Some(answer))
                }
                Event::Abandoned { reservation } => ended(&mut entries, reservation, "abandoned", None),
                Event::Reserved(charge) => {
                    places.insert(record.number, entries.len());
                    let Record { number, moment, spent, .. } = record;
                    entries.push(Entry {
                        number,
                        moment,
                        charge: *charge,
                        spent,
                        state: "reserved",
                        answer: None,
                    });
                    true
                }
            };
            if known {
                return ControlFlow::Continue(());
            }
            wrong = Some(record.number);
            ControlFlow::Break(())
        })?;
        match wrong {
            None => Ok(entries),
            Some(number) => Err(self.damaged(i64::try_from(number).unwrap_or(i64::MAX))),
        }
    }

    /// Every record, the first first.
    ///
    /// # Errors
    /// Refuses a record that no ledger writes.
    pub fn records(&self, mut each: impl FnMut(Record) -> ControlFlow<()>) -> Result<(), Error> {
        let handle = self.handle()?;
        let mut unread = None;
        rows::all(&handle.opened.connection, |row| match row.record() {
            Some(record) => each(record),
            None => {
                unread = Some(row.number);
                ControlFlow::Break(())
            }
        })
        .map_err(|error| self.failed(error))?;
        unread.map_or(Ok(()), |number| Err(self.damaged(number)))
    }
}
