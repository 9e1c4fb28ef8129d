//! The server's side: reports become whole numbers, whole numbers become estimates.

use crate::local::{Estimates, Protocol, Report, protocol::each};
use veracity_core::Refusal;

/// Counts of reports of one protocol. Tallies of parts add up to the tally of the whole, in any order.
///
/// # Examples
///
/// ```
/// use veracity_core::Epsilon;
/// use veracity_mechanisms::local::{Domain, Kind, Protocol, Report};
///
/// let protocol = Protocol::new(Kind::RandomizedResponse, &Domain::range(4)?, Epsilon::new(2.0)?, 0)?;
/// let (mut one, mut other) = (protocol.tally(), protocol.tally());
/// one.absorb(&[Report::Value(0), Report::Value(3)])?;
/// other.absorb(&[Report::Value(3)])?;
/// one.merge(&other)?;
/// assert_eq!(one.reports(), 3);
/// // A report that no client can have sent: none of the batch is added.
/// assert!(one.absorb(&[Report::Value(1), Report::Value(4)]).is_err());
/// assert_eq!(one.reports(), 3);
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Tally {
    protocol: Protocol,
    reports: u64,
    /// By value, by row, by function and cell, or by cohort and bit, as the protocol says.
    counts: Vec<i64>,
}

impl Tally {
    pub(crate) fn new(protocol: Protocol) -> Tally {
        let cells = match &protocol {
            Protocol::RandomizedResponse(_) | Protocol::Unary(_) | Protocol::LocalHashing(_) => {
                protocol.size() as usize
            }
            Protocol::Hadamard(hadamard) => hadamard.rows() as usize,
            Protocol::Sketch(sketch) => sketch.functions() as usize * sketch.width() as usize,
            Protocol::Rappor(rappor) => rappor.cells(),
        };
        Tally { protocol, reports: 0, counts: vec![0; cells] }
    }

    /// The protocol.
    pub fn protocol(&self) -> &Protocol {
        &self.protocol
    }

    /// How many reports.
    pub fn reports(&self) -> u64 {
        self.reports
    }

    /// Adds reports, the more at once the faster; if one does not fit the protocol, none is added.
    ///
    /// # Errors
    /// Refuses reports of another protocol.
    pub fn absorb(&mut self, reports: &[Report]) -> Result<(), Refusal> {
        if !reports.iter().all(|report| self.protocol.fits(report)) {
            return Err(Refusal::Invalid("a report does not fit the protocol".into()));
        }
        each!(&self.protocol, protocol => protocol.absorb(reports, &mut self.counts));
        self.reports += reports.len() as u64;
        Ok(())
    }

    /// Adds another tally of the same protocol.
    ///
    /// # Errors
    /// Refuses a tally of another protocol.
    pub fn merge(&mut self, other: &Tally) -> Result<(), Refusal> {
        if self.protocol != other.protocol {
            return Err(Refusal::Invalid("the tallies are of different protocols".into()));
        }
        self.reports += other.reports;
        self.counts.iter_mut().zip(&other.counts).for_each(|(count, more)| *count += more);
        Ok(())
    }

    /// The estimated count of every value, unbiased, with its standard error.
    ///
    /// # Assumes  One report from each person
    pub fn estimate(&self) -> Estimates {
        let independent = |counts: &[f64]| vec![0.0; counts.len()];
        let n = self.reports;
        match &self.protocol {
            Protocol::RandomizedResponse(protocol) => {
                protocol.chances().estimates(&self.counts, n, independent)
            }
            Protocol::Unary(protocol) => protocol.chances().estimates(&self.counts, n, independent),
            Protocol::LocalHashing(protocol) => protocol.chances().estimates(&self.counts, n, independent),
            Protocol::Hadamard(protocol) => {
                let supports = protocol.supports(&self.counts, n);
                protocol.chances().estimates(&supports, n, independent)
            }
            Protocol::Sketch(protocol) => {
                let supports = protocol.supports(&self.counts, n);
                let collisions = |counts: &[f64]| protocol.estimated_collisions(counts, n);
                protocol.chances().estimates(&supports, n, collisions)
            }
            Protocol::Rappor(protocol) => protocol.decoder().estimates(&self.counts, protocol.shown()),
        }
    }
}
