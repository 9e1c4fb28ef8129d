//! The whole chain, checked before anything is charged, and the sums of what it charged.
//!
//! Every record is hashed again, from the first to the last, and the last must be the head that is noted in a table of its own: a record
//! that was edited stops charges wherever it is, and so does a copy that was made in the middle of a commit. Costs are added up from the
//! records themselves. A handle keeps what it checked for as long as no other connection has written, which SQLite tells by
//! `data_version`; each new handle checks all of it once.

use crate::{Hash, Ledger, exact::Meter, rows};
use rusqlite::Connection;
use std::ops::ControlFlow;
use veracity_core::Error;

/// A chain that was checked.
#[derive(Debug, Clone)]
pub(crate) struct CheckedChain {
    /// What SQLite said of other writers then.
    version: i64,
    /// The number of the last record; 0 where there is none.
    pub number: i64,
    /// Its hash; that of the terms where there is none.
    pub hash: Hash,
    /// What is spent of the whole, then of each analyst's cap.
    pub meters: Vec<Meter>,
}

impl Ledger {
    /// Checks the chain, in a transaction, unless it is as `before` has it.
    pub(crate) fn checked(
        &self,
        from: &Connection,
        before: &mut Option<CheckedChain>,
    ) -> Result<CheckedChain, Error> {
        let failed = |error| self.failed(error);
        let version: i64 = from.pragma_query_value(None, "data_version", |row| row.get(0)).map_err(failed)?;
        if let Some(known) = before.as_ref().filter(|known| known.version == version) {
            return Ok(known.clone());
        }
        *before = None;
        let mut all = CheckedChain {
            version,
            number: 0,
            hash: self.first(),
            meters: self.limits().iter().map(Meter::new).collect(),
        };
        let mut wrong = None;
        rows::all(from, |row| match self.follow(&mut all, &row) {
            Some(()) => ControlFlow::Continue(()),
            None => {
                wrong = Some(row.number);
                ControlFlow::Break(())
            }
        })
        .map_err(failed)?;
        if let Some(number) = wrong {
            return Err(self.damaged(number));
        }
        if rows::head(from).map_err(failed)? != Some((all.number, all.hash)) {
            return Err(self.cut_off());
        }
        *before = Some(all.clone());
        Ok(all)
    }

    /// Takes in the next record; nothing where it is not the one that was written after the last.
    fn follow(&self, all: &mut CheckedChain, row: &rows::Row) -> Option<()> {
        let is_next = all.number.checked_add(1) == Some(row.number) && row.follows(all.hash);
        if !is_next {
            return None;
        }
        if row.kind == "reserved" {
            let (cost, share) = row.costs()?;
            all.meters[0].record(&cost);
            if let Some(cost) = share {
                let analyst = self.terms().analyst(row.analyst.as_deref()).ok()??;
                all.meters[analyst + 1].record(&cost);
            }
        }
        (all.number, all.hash) = (row.number, Hash::from_bytes(&row.hash)?);
        Some(())
    }

    /// The last record is not the head.
    fn cut_off(&self) -> Error {
        let why = "the last record does not match the head hash: the file was copied during a commit, or \
                   records were removed from its end; nothing is charged; verify the ledger or copy it again";
        Error::damaged(self.path(), Error::invalid(why))
    }
}
