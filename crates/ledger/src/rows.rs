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
        let bytes = |text: &Option<String>| text.as_ref().map(|text| text.clone().into_bytes());
        let fields = [
            Some(number.to_le_bytes().to_vec()),
            Some(kind.clone().into_bytes()),
            Some(moment.to_le_bytes().to_vec()),
            bytes(request),
            bytes(analyst),
            bytes(question),
            bytes(charged),
            bytes(what),
            bytes(cost),
            Some(spent.clone().into_bytes()),
            bytes(share_cost),
            bytes(share_spent),
            reservation.map(|number| number.to_le_bytes().to_vec()),
            bytes(answer),
        ];
        let fields: Vec<Option<&[u8]>> = fields.iter().map(Option::as_deref).collect();
        previous.next(&fields)
    }

    /// Whether its hash is that of its fields after `previous`.
    pub fn follows(&self, previous: Hash) -> bool {
        self.link(previous).bytes() == self.hash
    }

    /// Writes it as the next row.
    pub fn append(mut self, to: &Connection, previous: Hash) -> rusqlite::Result<()> {
        self.hash = self.link(previous).bytes().to_vec();
        let sql = format!(
            "INSERT INTO record ({COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)"
        );
        let mut insert = to.prepare(&sql)?;
        insert.execute(params![
            self.number,
            self.kind,
            self.moment,
            self.request,
            self.analyst,
            self.question,
            self.charged,
            self.what,
            self.cost,
            self.spent,
            self.share_cost,
            self.share_spent,
            self.reservation,
            self.answer,
            self.hash,
        ])?;
        Ok(())
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

    /// What was spent of the whole.
    pub fn spent(&self) -> Option<Amounts> {
        amounts::read(&self.spent)
    }
}

/// The last row.
pub(crate) fn last(from: &Connection) -> rusqlite::Result<Option<Row>> {
    one(from, "ORDER BY number DESC LIMIT 1", [])
}

/// The row of this number.
pub(crate) fn numbered(from: &Connection, number: i64) -> rusqlite::Result<Option<Row>> {
    one(from, "WHERE number = ?1", [number])
}

/// The row that charged this request.
pub(crate) fn requested(from: &Connection, id: &RequestId) -> rusqlite::Result<Option<Row>> {
    one(from, "WHERE request = ?1", [id.name()])
}

/// The last row of an analyst.
pub(crate) fn last_of(from: &Connection, analyst: &str) -> rusqlite::Result<Option<Row>> {
    one(from, "WHERE analyst = ?1 ORDER BY number DESC LIMIT 1", [analyst])
}

/// The row that ended a reservation.
pub(crate) fn ending(from: &Connection, reservation: i64) -> rusqlite::Result<Option<Row>> {
    one(from, "WHERE reservation = ?1", [reservation])
}

/// Every row, by number, as long as `each` wants to go on.
pub(crate) fn all(
    from: &Connection,
    mut each: impl FnMut(Row) -> std::ops::ControlFlow<()>,
) -> rusqlite::Result<()> {
    let mut query = from.prepare(&format!("SELECT {COLUMNS} FROM record ORDER BY number"))?;
    let mut rows = query.query([])?;
    while let Some(row) = rows.next()? {
        if each(Row::read(row)?).is_break() {
            break;
        }
    }
    Ok(())
}

fn one(from: &Connection, which: &str, values: impl rusqlite::Params) -> rusqlite::Result<Option<Row>> {
    from.prepare(&format!("SELECT {COLUMNS} FROM record {which}"))?.query_row(values, Row::read).optional()
}
