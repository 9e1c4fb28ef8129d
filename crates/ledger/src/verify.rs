//! Everything checked again: the chain, the prices, and every charge through a fresh filter.
//!
//! What is found: any record that was changed, taken out from between others, put in or moved; limits that the budget does not have;
//! a charge that is below what its question costs, also where someone has written a new chain over it. What cannot be found: a tail
//! that was cut off, an old copy of the file that was put back, or a whole other chain, unless the last hash was noted elsewhere.

use crate::{Charge, Event, Hash, Ledger, Record, price::Price, rows, store};
use rusqlite::Connection;
use std::{
    collections::{HashMap, HashSet},
    ops::ControlFlow,
};
use veracity_account::filter::{Amounts, Filter};
use veracity_core::{Error, Mechanism, Refusal};

/// After so many faults nobody reads on.
const MOST_FAULTS: usize = 20;
/// How much the last bits of a price may differ between versions of the accountant.
const ROUNDING: f64 = 1e-12;

/// What is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The number of the record; nothing where it is not about one.
    pub record: Option<u64>,
    /// What is wrong with it.
    pub what: String,
}

/// What a verification found.
#[derive(Debug, Clone, PartialEq)]
pub struct Verified {
    /// How many records there are.
    pub records: u64,
    /// How many of them charge something.
    pub reserved: u64,
    /// How many of them are answers.
    pub answered: u64,
    /// The last hash. Note it elsewhere: a later verification with it finds a tail that was cut off.
    pub head: Hash,
    /// At which record the hash stands that was noted before; 0 is the beginning.
    pub noted_at: Option<u64>,
    /// What is wrong, the first faults first.
    pub faults: Vec<Fault>,
}

impl Verified {
    /// Whether nothing is wrong.
    pub fn holds(&self) -> bool {
        self.faults.is_empty()
    }
}

impl Ledger {
    /// Checks everything again. With a hash that was noted before, checks that the chain still has it.
    pub fn verify(&self, noted: Option<Hash>) -> Result<Verified, Error> {
        let connection = self.connection()?;
        let reading = store::look(&connection, self.path())?;
        let mut walk = Walk::new(self, noted)?;
        walk.check_pages(&reading)?;
        walk.check_limits()?;
        let mut failed = None;
        rows::all(&reading, |row| {
            if let Err(error) = walk.step(&row) {
                failed = Some(error);
                return ControlFlow::Break(());
            }
            if walk.found.faults.len() < MOST_FAULTS {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        })
        .map_err(|error| self.failed(error))?;
        failed.map_or(Ok(()), Err)?;
        if noted.is_some() && walk.found.noted_at.is_none() {
            walk.fault(None, "the hash that was noted is not in the chain: records were cut off, or another file was put here");
        }
        Ok(walk.found)
    }
}

/// The walk from the first record to the last.
struct Walk<'a> {
    ledger: &'a Ledger,
    noted: Option<Hash>,
    found: Verified,
    expected: i64,
    whole: Filter,
    /// The filter of each analyst.
    shares: Vec<Filter>,
    /// Which reservations are open.
    open: HashSet<u64>,
    ids: HashSet<String>,
    /// What a question was priced at before, by its text and analyst: the same question costs the same.
    prices: HashMap<(String, Option<usize>), Price>,
}

impl<'a> Walk<'a> {
    fn new(ledger: &'a Ledger, noted: Option<Hash>) -> Result<Walk<'a>, Error> {
        let head = ledger.first();
        let noted_at = (noted == Some(head)).then_some(0);
        let found = Verified { records: 0, reserved: 0, answered: 0, head, noted_at, faults: Vec::new() };
        let shares =
            (1..ledger.limits().len()).map(|which| ledger.fresh(which)).collect::<Result<_, Refusal>>()?;
        Ok(Walk {
            ledger,
            noted,
            found,
            expected: 1,
            whole: ledger.fresh(0)?,
            shares,
            open: HashSet::new(),
            ids: HashSet::new(),
            prices: HashMap::new(),
        })
    }

    fn fault(&mut self, record: Option<u64>, what: impl Into<String>) {
        if self.found.faults.len() < MOST_FAULTS {
            self.found.faults.push(Fault { record, what: what.into() });
        }
    }

    /// SQLite's own check of the file's pages and indices.
    fn check_pages(&mut self, from: &Connection) -> Result<(), Error> {
        let said: String = from
            .pragma_query_value(None, "integrity_check", |row| row.get(0))
            .map_err(|error| self.ledger.failed(error))?;
        if said != "ok" {
            self.fault(None, "the file is damaged, or an index of it was changed");
        }
        Ok(())
    }

    /// The limits, priced again.
    fn check_limits(&mut self) -> Result<(), Error> {
        let priced = self.ledger.terms().filters()?;
        for (filter, stored) in priced.iter().zip(self.ledger.limits()) {
            if !covers(filter.limit(), stored) {
                self.fault(None, "a limit is larger than the budget allows");
            }
        }
        Ok(())
    }

    fn step(&mut self, row: &rows::Row) -> Result<(), Error> {
        let number = u64::try_from(row.number).unwrap_or(0);
        if row.number != self.expected {
            self.fault(Some(number), "records before it are missing, or it was put in");
        }
        self.expected = row.number.saturating_add(1);
        self.found.records += 1;
        if !row.follows(self.found.head) {
            self.fault(Some(number), "its hash is not that of its fields and of the record before it");
        }
        let Some(record) = row.record() else {
            self.fault(Some(number), "no ledger writes such a record");
            return Ok(());
        };
        self.found.head = record.hash;
        if self.noted == Some(record.hash) {
            self.found.noted_at = Some(number);
        }
        match &record.event {
            Event::Reserved(charge) => self.charged(&record, charge, row)?,
            Event::Answered { reservation, .. } => {
                self.found.answered += 1;
                self.ended(number, *reservation);
            }
            Event::Abandoned { reservation } => self.ended(number, *reservation),
        }
        if record.spent != *self.whole.spent() {
            self.fault(Some(number), "the running sum is not the sum of what was charged");
            // From here on by what it says, so that one fault is told once.
            if let Ok(filter) = self.ledger.filter(0, record.spent) {
                self.whole = filter;
            }
        }
        Ok(())
    }

    fn ended(&mut self, number: u64, reservation: u64) {
        if !self.open.remove(&reservation) {
            self.fault(Some(number), "it ends no open reservation");
        }
    }

    /// A charge, taken again from the filters.
    fn charged(&mut self, record: &Record, charge: &Charge, row: &rows::Row) -> Result<(), Error> {
        let number = record.number;
        self.found.reserved += 1;
        self.open.insert(number);
        if charge.id.as_ref().is_some_and(|id| !self.ids.insert(id.name().to_owned())) {
            self.fault(Some(number), "its request id was used before");
        }
        let Ok(analyst) = self.ledger.terms().analyst(charge.analyst.as_deref()) else {
            self.fault(Some(number), "its analyst is not one of the ledger's");
            return Ok(());
        };
        let Some(price) = self.price(charge, row, analyst)? else {
            self.fault(Some(number), "its question has no price");
            return Ok(());
        };
        let mut share = analyst.map(|at| self.shares[at].clone());
        match price.take(&mut self.whole.clone(), share.clone().as_mut()) {
            Err(_) => self.fault(Some(number), "it exceeds the budget, or its analyst's cap"),
            Ok((cost, share_cost)) => {
                if !covers(&charge.cost, &cost)
                    || !same_cover(charge.charged.as_ref(), price.charged.as_ref())
                {
                    self.fault(Some(number), "it was charged less than its question costs");
                }
                if let (Some((stored, _)), Some(cost)) = (&charge.share, &share_cost)
                    && !covers(stored, cost)
                {
                    self.fault(Some(number), "its analyst was charged less than its question costs");
                }
            }
        }
        if self.whole.take(&charge.cost).is_err() {
            self.fault(Some(number), "it exceeds the budget");
        }
        match (&charge.share, share.as_mut()) {
            (None, None) => {}
            (Some((cost, spent)), Some(filter)) => {
                if filter.take(cost).is_err() || filter.spent() != spent {
                    self.fault(
                        Some(number),
                        "the running sum of its analyst is not the sum of what was charged",
                    );
                }
            }
            _ => self.fault(Some(number), "it has no share of an analyst, or one without an analyst"),
        }
        if let (Some(at), Some(share)) = (analyst, share) {
            self.shares[at] = share;
        }
        Ok(())
    }

    fn price(
        &mut self,
        charge: &Charge,
        row: &rows::Row,
        analyst: Option<usize>,
    ) -> Result<Option<Price>, Error> {
        let key = (row.question.clone().unwrap_or_default(), analyst);
        if let Some(price) = self.prices.get(&key) {
            return Ok(Some(price.clone()));
        }
        let share = analyst.map(|at| self.ledger.fresh(at + 1)).transpose()?;
        let whole = self.ledger.fresh(0)?;
        match Price::of(self.ledger.terms(), &charge.question, &whole, share.as_ref()) {
            Ok(price) => {
                self.prices.insert(key, price.clone());
                Ok(Some(price))
            }
            Err(_) => Ok(None),
        }
    }
}

/// Whether `one` is no less than `other`, but for the last bits.
fn covers(one: &Amounts, other: &Amounts) -> bool {
    let least = |x: f64| x * (1.0 - ROUNDING);
    one.sum >= least(other.sum) && one.delta >= least(other.delta) && one.slots == other.slots
}

/// Whether what was charged in place of a question is what is charged in its place now, but for the last bits.
fn same_cover(stored: Option<&Mechanism>, now: Option<&Mechanism>) -> bool {
    match (stored, now) {
        (None, None) => true,
        (
            Some(Mechanism::Approximate { epsilon: one, delta }),
            Some(Mechanism::Approximate { epsilon: other, delta: same }),
        ) => delta == same && one.get() >= other.get() * (1.0 - ROUNDING),
        _ => false,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::{Request, Terms};
    use veracity_account::{Question, filter::Budget};
    use veracity_core::{Adjacency, Delta, Epsilon};

    /// Whoever can write the file can write a chain without a false hash: lower charges in it are found by their prices.
    #[test]
    fn a_new_chain_over_lower_charges_is_found() {
        let folder = std::env::temp_dir().join(format!("veracity-ledger-chain-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        let budget = Budget { epsilon: Epsilon::new(1.0).unwrap(), delta: Delta::ZERO };
        let ledger = Ledger::create(&folder.join("l"), Terms::new(budget).unwrap()).unwrap();
        for _ in 0..3 {
            let mechanism = Mechanism::Pure { epsilon: Epsilon::new(0.25).unwrap() };
            let question = Question { mechanism, adjacency: Adjacency::AddRemove };
            let _ = ledger.reserve(Request::new(question, "x")).unwrap();
        }
        assert!(ledger.verify(None).unwrap().holds());
        {
            let connection = ledger.connection().unwrap();
            let mut all = Vec::new();
            rows::all(&connection, |row| {
                all.push(row);
                ControlFlow::Continue(())
            })
            .unwrap();
            connection.execute_batch("DELETE FROM record").unwrap();
            let mut filter = ledger.fresh(0).unwrap();
            let mut previous = ledger.first();
            for mut row in all {
                let cost = Amounts { sum: 0.125, delta: 0.0, slots: Vec::new() };
                filter.take(&cost).unwrap();
                row.cost = Some(crate::amounts::written(&cost));
                row.spent = crate::amounts::written(filter.spent());
                let link = row.link(previous);
                row.append(&connection, previous).unwrap();
                previous = link;
            }
        }
        let faults = ledger.verify(None).unwrap().faults;
        assert_eq!(faults.len(), 3, "{faults:?}");
        assert!(faults.iter().all(|fault| fault.what.contains("charged less")), "{faults:?}");
        drop(ledger);
        std::fs::remove_dir_all(folder).unwrap();
    }
}
