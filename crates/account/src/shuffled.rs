//! What one shuffled pass after another over a dataset leaks at least: certified from below, since a tight bound is open.
//!
//! The dataset with all other records at −C shows, in a batch of its own, a record at +C or a blank: after a shift every batch
//! has mean 0 but the record's, which has mean 2 or 1. Of the t noisy sums only the largest is looked at; its law is known in
//! closed form, and its slices are a post-processing that composes over epochs.

use crate::pld;
use veracity_core::numerics::normal;
use veracity_core::{Count, Delta, Epsilon, Lower, NoiseMultiplier, Refusal};

/// Slices of the largest sum.
const SLICES: usize = 4096;
/// The relative error of probabilities of the largest sum, for each unit of their logarithm.
const ERROR: f64 = 1e-12;

/// Epochs over a dataset that is shuffled anew before each, in batches of one size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shuffled {
    /// Batches in an epoch.
    pub batches: Count,
    /// σ/C.
    pub noise_multiplier: NoiseMultiplier,
    /// Epochs.
    pub epochs: Count,
}

/// Whether the record is there or blank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Record {
    There,
    Blank,
}

impl Shuffled {
    /// What ε is at least, at this δ, where a record may be blanked (zero-out).
    ///
    /// # Promise    Some pair of adjacent datasets and some queries show at least this much: the true ε is not less
    /// # Reference  \[ChuaEtAl24\] Theorem 4.2 (one epoch: the event that the largest sum exceeds C, here with the best C), and
    /// \[ChuaEtAl24Scalable\] (several epochs: slices of the largest sum, composed)
    /// # Assumes    Batches of one size, in which every record has the same chance for each place
    /// # Numerics   Probabilities under the first law are rounded down, under the second one up
    ///
    /// # Errors
    /// Refuses what the grid cannot hold.
    ///
    /// # Examples
    ///
    /// ```
    /// use veracity_account::{Question, Shuffled, best};
    /// use veracity_core::{Adjacency, Count, Delta, Mechanism, NoiseMultiplier, SamplingRate};
    ///
    /// let (batches, noise_multiplier) = (Count::new(100)?, NoiseMultiplier::new(0.5)?);
    /// let delta = Delta::new(1e-5)?;
    /// let shuffled = Shuffled { batches, noise_multiplier, epochs: Count::ONE }.least_epsilon(delta)?;
    ///
    /// let poisson = Mechanism::sampled_gaussian(SamplingRate::new(0.01)?, noise_multiplier, batches);
    /// let question = Question { mechanism: poisson, adjacency: Adjacency::ZeroOut };
    /// let poisson = best::epsilon_at(&question, delta)?.finding.upper();
    /// // Shuffled batches leak more than the bound for Poisson batches says.
    /// assert!(poisson.is_some_and(|upper| shuffled.0 > upper.0));
    /// # Ok::<(), veracity_core::Refusal>(())
    /// ```
    pub fn least_epsilon(&self, delta: Delta) -> Result<Lower<Epsilon>, Refusal> {
        let mut least: f64 = 0.0;
        for first in [Record::There, Record::Blank] {
            least = least.max(pld::least_epsilon(&self.slices(first), self.epochs, delta)?);
        }
        Epsilon::new(least).map(Lower)
    }

    /// What δ is at least, at this ε, as [`Shuffled::least_epsilon`].
    ///
    /// # Errors
    /// As [`Shuffled::least_epsilon`].
    pub fn least_delta(&self, epsilon: Epsilon) -> Result<Lower<Delta>, Refusal> {
        let mut least: f64 = 0.0;
        for first in [Record::There, Record::Blank] {
            least = least.max(pld::least_delta(&self.slices(first), self.epochs, epsilon)?);
        }
        Delta::new(least).map(Lower)
    }

    /// log P[all sums ≤ C]: Φ((C − m)/σ) Φ(C/σ)^{t−1}, for a record of mean m.
    fn log_within(&self, cap: f64, record: Record) -> f64 {
        let sigma = self.noise_multiplier.get();
        let mean = match record {
            Record::There => 2.0,
            Record::Blank => 1.0,
        };
        normal::log_cdf((cap - mean) / sigma) + (self.batches.as_f64() - 1.0) * normal::log_cdf(cap / sigma)
    }

    /// Where the largest sum is cut: between what it hardly falls below and hardly exceeds, in either law.
    fn caps(&self) -> Vec<f64> {
        let sigma = self.noise_multiplier.get();
        let largest = (2.0 * self.batches.as_f64().ln()).sqrt();
        let high = (2.0 + 12.0 * sigma).max(sigma * (largest + 8.0));
        let low = (1.0 - 10.0 * sigma).max(sigma * (largest - 4.0) - 2.0 * sigma).min(high - sigma);
        (0..=SLICES).map(|i| low + (high - low) * i as f64 / SLICES as f64).collect()
    }

    /// Losses and masses of the slices, with the first law of the record and against the other one.
    fn slices(&self, first: Record) -> Vec<(f64, f64)> {
        let second = if first == Record::There { Record::Blank } else { Record::There };
        let caps = self.caps();
        let mut slices = Vec::with_capacity(caps.len() + 1);
        let mut before = None;
        for cap in caps.iter().map(Some).chain([None]) {
            let ends = (before, cap.copied());
            let (least, most) = (self.slice(ends, first).0, self.slice(ends, second).1);
            if least > 0.0 {
                slices.push(((least / most).ln(), least));
            }
            before = cap.copied();
        }
        slices
    }

    /// P[from < largest sum ≤ to] from both sides; open where an end is not given.
    fn slice(&self, (from, to): (Option<f64>, Option<f64>), record: Record) -> (f64, f64) {
        let log_from = from.map_or(f64::NEG_INFINITY, |cap| self.log_within(cap, record));
        let log_to = to.map_or(0.0, |cap| self.log_within(cap, record));
        // Below the median differences of probabilities within, above it of those outside.
        let (large, small) = if log_to < -0.5 {
            (log_to.exp(), log_from.exp())
        } else {
            (-log_from.exp_m1(), -log_to.exp_m1())
        };
        let depth = if log_to < -0.5 { log_to.abs().max(log_from.abs().min(800.0)) } else { 1.0 };
        let error = ERROR * (1.0 + depth) * large + f64::MIN_POSITIVE;
        let mass = large - small;
        ((mass - error).max(0.0), mass.max(0.0) + error)
    }
}
