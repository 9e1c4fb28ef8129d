//! Records as rows of the file: read, hashed, written, and turned into [`Record`]s.
//!
//! The hash is of the texts that are in the row, so nothing is parsed before it is known to be what was written.

use crate::{Charge, Event, Hash, Record, RequestId, amounts, request};
use rusqlite::{Connection, OptionalExtension, Row as SqlRow, params};
use veracity_account::filter::Amounts;

const COLUMNS: &str = "number, kind, moment, request, analyst, question, charged, what, cost, spent, \
                       share_cost, share_spent, reservation, answer, hash";

/// A record in the texts of its row.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Row {
    pub number: i64,
    pub kind: String,
    pub moment: i64,
    pub request: Option<String>,
    pub analyst: Option<String>,
    pub question: Option<String>,
    pub charged: Option<String>,
    pub what: Option<String>,
    pub cost: Option<String>,
    pub spent: String,
    pub share_cost: Option<String>,
    pub share_spent: Option<String>,
    pub reservation: Option<i64>,
    pub answer: Option<String>,
    pub hash: Vec<u8>,
}

impl Row {
    fn read(row: &SqlRow<'_>) -> rusqlite::Result<Row> {
        Ok(Row {
            number: row.get(0)?,
            kind: row.get(1)?,
            moment: row.get(2)?,
            request: row.get(3)?,
            analyst: row.get(4)?,
            question: row.get(5)?,
            charged: row.get(6)?,
            what: row.get(7)?,
            cost: row.get(8)?,
            spent: row.get(9)?,
            share_cost: row.get(10)?,
            share_spent: row.get(11)?,
            reservation: row.get(12)?,
            answer: row.get(13)?,
            hash: row.get(14)?,
        })
    }

    /// Its link of the chain, from the one before and from every other field.
    pub fn link(&self, previous: Hash) -> Hash {
        // Taken apart by name, so that a field that is not hashed does not compile.
        let Row {
            number,
            kind,
            moment,
            request,
            analyst,
            question,
            charged,
            what,
            cost,
            spent,
            share_cost,
            share_spent,
            reservation,
            answer,
            hash: _,
        } = self;
        fn bytes(text: &Option<String>) -> Option<&[u8]> {
            text.as_ref().map(String::as_bytes)
        }
        let (number, moment) = (number.to_le_bytes(), moment.to_le_bytes());
        let reservation = reservation.map(i64::to_le_bytes);
        previous.next(&[
            Some(&number),
            Some(kind.as_bytes()),
            Some(&moment),
            bytes(request),
            bytes(analyst),
            bytes(question),
            bytes(charged),
            bytes(what),
            bytes(cost),
            Some(spent.as_bytes()),
            bytes(share_cost),
            bytes(share_spent),
            reservation.as_ref().map(|number| &number[..]),
            bytes(answer),
        ])
    }

    /// Whether its hash is that of its fields after `previous`.
    pub fn follows(&self, previous: Hash) -> bool {
        self.link(previous).bytes() == self.hash
    }

    /// Writes it as the next row and as the head; its link of the chain.
    pub fn append(mut self, to: &Connection, previous: Hash) -> rusqlite::Result<Hash> {
        let link = self.link(previous);
        self.hash = link.bytes().to_vec();
        let sql = format!(
            "INSERT INTO record ({COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)"
        );
        let mut insert = to.prepare(&sql)?;
        insert.execute(params![
            self.number, self.kind, self.moment, self.request, self.analyst, self.question, self.charged,
            self.what, self.cost, self.spent, self.share_cost, self.share_spent, self.reservation,
            self.answer, self.hash,
        ])?;
        to.execute("UPDATE head SET number = ?1, hash = ?2", params![self.number, self.hash])?;
        Ok(link)
    }

    /// What the row says; nothing where no ledger writes such a row.
    pub fn record(&self) -> Option<Record> {
        let event = match self.kind.as_str() {
            "reserved" => Event::Reserved(Box::new(self.charge()?)),
            "answered" => Event::Answered {
                reservation: u64::try_from(self.reservation?).ok()?,
                answer: self.answer.clone()?,
            },
            "abandoned" => Event::Abandoned { reservation: u64::try_from(self.reservation?).ok()? },
            _ => return None,
        };
        Some(Record {
            number: u64::try_from(self.number).ok()?,
            moment: u64::try_from(self.moment).ok()?,
            event,
            spent: amounts::read(&self.spent)?,
            hash: Hash::from_bytes(&self.hash)?,
        })
    }

    fn charge(&self) -> Option<Charge> {
        let share = match (&self.share_cost, &self.share_spent) {
            (None, None) => None,
            (Some(cost), Some(spent)) => Some((amounts::read(cost)?, amounts::read(spent)?)),
            _ => return None,
        };
        Some(Charge {
            id: match &self.request {
                None => None,
                Some(id) => Some(RequestId::new(id).ok()?),
            },
            analyst: self.analyst.clone(),
            question: request::question_from(self.question.as_ref()?)?,
            charged: match &self.charged {
                None => None,
                Some(text) => Some(serde_json::from_str(text).ok()?),
            },
            what: self.what.clone()?,
            cost: amounts::read(self.cost.as_ref()?)?,
            share,
        })
    }

    /// What it cost the whole, and its analyst; nothing where no ledger writes such a row.
    pub fn costs(&self) -> Option<(Amounts, Option<Amounts>)> {
        let share = match &self.share_cost {
            None => None,
            Some(cost) => Some(amounts::read(cost)?),
        };
        Some((amounts::read(self.cost.as_ref()?)?, share))
    }
}

/// The number and the hash of the last row, as they are noted beside the rows.
pub(crate) fn head(from: &Connection) -> rusqlite::Result<Option<(i64, Hash)>> {
    let read = |row: &SqlRow<'_>| Ok((row.get(0)?, Hash::from_bytes(row.get_ref(1)?.as_blob()?)));
    let head = from.query_row("SELECT number, hash FROM head", [], read).optional()?;
    Ok(head.and_then(|(number, hash)| Some((number, hash?))))
}

/// The row of this number.
pub(crate) fn numbered(from: &Connection, number: i64) -> rusqlite::Result<Option<Row>> {
    one(from, "WHERE number = ?1", [number])
}

/// The row that charged this request.
pub(crate) fn requested(from: &Connection, id: &RequestId) -> rusqlite::Result<Option<Row>> {
    one(from, "WHERE request = ?1", [id.name()])
}

/// The row that ended a reservation.
pub(crate) fn ending(from: &Connection, reservation: i64) -> rusqlite::Result<Option<Row>> {
    one(from, "WHERE reservation = ?1", [reservation])
}

/// Every row, by number, as long as `each` wants to go on. Rows are never changed, so that without a transaction the file is held for
/// some rows at a time, and others can write in between.
pub(crate) fn all(
    from: &Connection,
    mut each: impl FnMut(Row) -> std::ops::ControlFlow<()>,
) -> rusqlite::Result<()> {
    const AT_ONCE: i64 = 256;
    let mut query = from.prepare(&format!(
        "SELECT {COLUMNS} FROM record WHERE number >= ?1 ORDER BY number LIMIT {AT_ONCE}"
    ))?;
    let mut next = Some(i64::MIN);
    while let Some(first) = next.take() {
        let mut rows = query.query([first])?;
        let mut read = 0;
        while let Some(row) = rows.next()? {
            let row = Row::read(row)?;
            read += 1;
            next = row.number.checked_add(1);
            if each(row).is_break() {
                return Ok(());
            }
        }
        if read < AT_ONCE {
            return Ok(());
        }
    }
    Ok(())
}

fn one(from: &Connection, which: &str, values: impl rusqlite::Params) -> rusqlite::Result<Option<Row>> {
    from.prepare(&format!("SELECT {COLUMNS} FROM record {which}"))?.query_row(values, Row::read).optional()
}
