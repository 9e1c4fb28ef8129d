//! Verifies a ledger: the hash chain, the costs, and every charge through a fresh filter.
//!
//! It detects any record that was changed, removed from between others, inserted or moved, limits that the budget does not have, and a
//! charge below the cost of its query, even under a new hash chain. It cannot detect that records were removed from the end together
//! with the head, that an old copy of the file was restored, or that the whole chain was replaced, unless a head hash was noted elsewhere.

use crate::{Charge, Event, Hash, Ledger, Record, exact::Meter, price::Price, rows};
use rusqlite::Connection;
use std::{
    collections::{HashMap, HashSet},
    ops::ControlFlow,
};
use veracity_account::filter::Amounts;
use veracity_core::{Error, Mechanism};

/// The most faults that are reported.
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
pub struct LedgerVerification {
    /// How many records there are.
    pub records: u64,
    /// How many of them charge something.
    pub reserved: u64,
    /// How many of them are answers.
    pub answered: u64,
    /// The last hash. Note it elsewhere: a later verification with it detects that records were removed from the end.
    pub head: Hash,
    /// At which record the hash stands that was noted before; 0 is the beginning.
    pub noted_at: Option<u64>,
    /// What is wrong, the first faults first.
    pub faults: Vec<Fault>,
}

impl LedgerVerification {
    /// Whether nothing is wrong.
    pub fn holds(&self) -> bool {
        self.faults.is_empty()
    }
}

impl Ledger {
    /// Checks everything again. With a hash that was noted before, checks that the chain still has it.
    ///
    /// # Errors
    /// Returns the error of a file that cannot be read. What is wrong with the chain is in the result.
    pub fn verify(&self, noted: Option<Hash>) -> Result<LedgerVerification, Error> {
        let handle = self.handle()?;
        let from = &handle.opened.connection;
        let mut walk = Walk::new(self, noted);
        walk.check_pages(from)?;
        walk.check_limits()?;
        let mut failed = None;
        rows::all(from, |row| {
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
        if walk.found.faults.len() < MOST_FAULTS {
            walk.check_head(from)?;
        }
        if noted.is_some() && walk.found.noted_at.is_none() {
            walk.fault(
                None,
                "the head hash that you noted is not in the chain: records were removed from the end, or \
                 this is another file",
            );
        }
        Ok(walk.found)
    }
}

/// The walk from the first record to the last.
struct Walk<'a> {
    ledger: &'a Ledger,
    noted: Option<Hash>,
    found: LedgerVerification,
    expected: i64,
    whole: Meter,
    /// What each analyst spent.
    shares: Vec<Meter>,
    /// Which reservations are open.
    open: HashSet<u64>,
    ids: HashSet<String>,
    /// What a question was priced at before, by its text and analyst: the same question costs the same.
    prices: HashMap<(String, Option<usize>), Price>,
}

impl<'a> Walk<'a> {
    fn new(ledger: &'a Ledger, noted: Option<Hash>) -> Walk<'a> {
        let head = ledger.first();
        let noted_at = (noted == Some(head)).then_some(0);
        let found =
            LedgerVerification { records: 0, reserved: 0, answered: 0, head, noted_at, faults: Vec::new() };
        Walk {
            ledger,
            noted,
            found,
            expected: 1,
            whole: Meter::new(&ledger.limits()[0]),
            shares: ledger.limits()[1..].iter().map(Meter::new).collect(),
            open: HashSet::new(),
            ids: HashSet::new(),
            prices: HashMap::new(),
        }
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
            self.fault(None, "the file is damaged, or one of its indexes was changed");
        }
        Ok(())
    }

    /// The head that is noted beside the records must be one of them, and the last unless others have written meanwhile.
    fn check_head(&mut self, from: &Connection) -> Result<(), Error> {
        let head = rows::head(from).map_err(|error| self.ledger.failed(error))?;
        let (last, hash) = (self.expected - 1, self.found.head);
        if !head.is_some_and(|head| head == (last, hash) || head.0 > last && self.is_longer(from, head)) {
            self.fault(
                None,
                "the head hash is not that of the last record: records were removed from the end, or the \
                 file was copied during a commit",
            );
        }
        Ok(())
    }

    /// Whether records were added since the walk ended, up to this head.
    fn is_longer(&self, from: &Connection, (number, hash): (i64, Hash)) -> bool {
        let row = |number| rows::numbered(from, number).ok().flatten();
        let mut previous = self.found.head;
        for number in self.expected..=number {
            match row(number).filter(|row| row.follows(previous)) {
                Some(row) => previous = row.link(previous),
                None => return false,
            }
        }
        previous == hash
    }

    /// The limits, priced again.
    fn check_limits(&mut self) -> Result<(), Error> {
        let priced = self.ledger.terms().filters()?;
        for (filter, stored) in priced.iter().zip(self.ledger.limits()) {
            if !covers(filter.limit(), stored) {
                self.fault(None, "a limit exceeds the budget");
            }
        }
        Ok(())
    }

    fn step(&mut self, row: &rows::Row) -> Result<(), Error> {
        let number = u64::try_from(row.number).unwrap_or(0);
        if row.number != self.expected {
            self.fault(Some(number), "earlier records are missing, or this record was inserted");
        }
        self.expected = row.number.saturating_add(1);
        self.found.records += 1;
        if !row.follows(self.found.head) {
            self.fault(Some(number), "its hash does not match its fields and the previous record");
        }
        let Some(record) = row.record() else {
            self.fault(Some(number), "a ledger never writes such a record");
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
        if !is_sum(&record.spent, &self.whole.spent()) {
            self.fault(Some(number), "the running sum is not the sum of the charges");
        }
        Ok(())
    }

    fn ended(&mut self, number: u64, reservation: u64) {
        if !self.open.remove(&reservation) {
            self.fault(Some(number), "it closes no open reservation");
        }
    }

    /// A charge, taken again from the filters.
    fn charged(&mut self, record: &Record, charge: &Charge, row: &rows::Row) -> Result<(), Error> {
        let number = record.number;
        self.found.reserved += 1;
        self.open.insert(number);
        if charge.id.as_ref().is_some_and(|id| !self.ids.insert(id.name().to_owned())) {
            self.fault(Some(number), "its request ID was used before");
        }
        let Ok(analyst) = self.ledger.terms().analyst(charge.analyst.as_deref()) else {
            self.fault(Some(number), "its analyst is not an analyst of this ledger");
            return Ok(());
        };
        let Some(price) = self.price(charge, row, analyst)? else {
            self.fault(Some(number), "the cost of its query cannot be computed");
            return Ok(());
        };
        let mut share = analyst.map(|at| self.shares[at].clone());
        let is_same = same_cover(charge.charged.as_ref(), price.charged.as_ref());
        if !(is_same && price.is_covered(self.ledger, &charge.cost, &self.whole).unwrap_or(false)) {
            self.fault(Some(number), "it was charged less than its query costs");
        }
        if let (Some((cost, _)), Some(meter)) = (&charge.share, &share)
            && !price.is_share_covered(self.ledger, cost, meter).unwrap_or(false)
        {
            self.fault(Some(number), "its analyst was charged less than its query costs");
        }
        if !self.whole.clone().take(&charge.cost) {
            self.fault(Some(number), "it exceeds the budget");
        }
        self.whole.record(&charge.cost);
        match (&charge.share, share.as_mut()) {
            (None, None) => {}
            (Some((cost, spent)), Some(meter)) => {
                let fits = meter.clone().take(cost);
                meter.record(cost);
                if !fits || !is_sum(spent, &meter.spent()) {
                    self.fault(Some(number), "the running sum of its analyst is not the sum of the charges");
                }
            }
            _ => {
                self.fault(Some(number), "it lacks the charge of its analyst, or has one without an analyst")
            }
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
        match Price::of(self.ledger, &charge.question, analyst) {
            Ok(price) => {
                self.prices.insert(key, price.clone());
                Ok(Some(price))
            }
            Err(_) => Ok(None),
        }
    }
}

/// Whether a stored sum is the exact sum, or a little more: an earlier version rounded up at each charge. No charge rests on it.
fn is_sum(stored: &Amounts, exact: &Amounts) -> bool {
    let close = |stored: f64, exact: f64| stored >= exact && stored <= exact * (1.0 + 1e-9);
    close(stored.sum, exact.sum)
        && close(stored.delta, exact.delta)
        && (close(stored.pure, exact.pure) || stored.pure == exact.pure)
        && stored.slots == exact.slots
}

/// Whether `one` is no less than `other`, except for the last bits.
fn covers(one: &Amounts, other: &Amounts) -> bool {
    let least = |x: f64| x * (1.0 - ROUNDING);
    one.sum >= least(other.sum)
        && one.delta >= least(other.delta)
        && one.pure >= least(other.pure)
        && one.slots == other.slots
}

/// Whether what was charged in place of a question is what is charged in its place now, except for the last bits.
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

    /// The chain of a ledger, written again with each cost of a charge changed.
    fn rewrite(ledger: &Ledger, change: impl Fn(Amounts) -> Amounts) {
        let handle = ledger.handle().unwrap();
        let connection = &handle.opened.connection;
        let mut all = Vec::new();
        rows::all(connection, |row| {
            all.push(row);
            ControlFlow::Continue(())
        })
        .unwrap();
        connection.execute_batch("DELETE FROM record").unwrap();
        let mut meter = Meter::new(&ledger.limits()[0]);
        let mut previous = ledger.first();
        for mut row in all {
            let cost = change(crate::amounts::read(row.cost.as_ref().unwrap()).unwrap());
            assert!(meter.take(&cost));
            row.cost = Some(crate::amounts::written(&cost));
            row.spent = crate::amounts::written(&meter.spent());
            previous = row.append(connection, previous).unwrap();
        }
    }

    /// Prices beside what is left are certified again: a little more is accepted, a little less is not, in any of the three numbers.
    #[test]
    fn lower_charges_of_a_union_are_found() {
        let folder = std::env::temp_dir().join(format!("veracity-ledger-union-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        let delta = Delta::new(1e-6).unwrap();
        let budget = Budget { epsilon: Epsilon::new(1.0).unwrap(), delta };
        type Change = fn(Amounts) -> Amounts;
        let changes: [(Change, usize); 5] = [
            (|cost| cost, 0),
            (|cost| Amounts { sum: 1.001 * cost.sum, delta: 1.1 * cost.delta, ..cost }, 0),
            (|cost| Amounts { sum: 0.99 * cost.sum, ..cost }, 3),
            (|cost| Amounts { delta: 0.5 * cost.delta, ..cost }, 3),
            (|cost| Amounts { pure: 0.5 * cost.pure, ..cost }, 3),
        ];
        for (at, (change, faults)) in changes.into_iter().enumerate() {
            let ledger = Ledger::create(&folder.join(format!("l{at}")), Terms::new(budget).unwrap()).unwrap();
            for _ in 0..3 {
                let mechanism = Mechanism::Pure { epsilon: Epsilon::new(0.05).unwrap() };
                let question = Question { mechanism, adjacency: Adjacency::AddRemove };
                let _ = ledger.reserve(Request::new(question, "x")).unwrap();
            }
            rewrite(&ledger, change);
            let found = ledger.verify(None).unwrap().faults;
            assert_eq!(found.len(), faults, "{at}: {found:?}");
            assert!(found.iter().all(|fault| fault.what.contains("charged less")), "{found:?}");
        }
        std::fs::remove_dir_all(folder).unwrap();
    }

    /// A writer of the file can write a chain without a false hash. Lower charges in it are found by their prices.
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
        rewrite(&ledger, |_| Amounts::of(0.125, 0.0));
        let faults = ledger.verify(None).unwrap().faults;
        assert_eq!(faults.len(), 3, "{faults:?}");
        assert!(faults.iter().all(|fault| fault.what.contains("charged less")), "{faults:?}");
        drop(ledger);
        std::fs::remove_dir_all(folder).unwrap();
    }
}
