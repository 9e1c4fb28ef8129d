//! Which records enter a batch.

use veracity_core::{Count, Refusal, SamplingRate};
use veracity_noise::{Bits, Stream};

/// How batches are drawn. Each way has accounting of its own.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Sampling {
    /// Every record enters independently.
    Poisson {
        /// The planned batch size: what sums are divided by.
        batch: Count,
        /// How many records the rate is for; public.
        population: Count,
    },
}

impl Sampling {
    /// The chance with which a record enters a batch.
    pub fn rate(self) -> Result<SamplingRate, Refusal> {
        match self {
            Sampling::Poisson { batch, population } => {
                SamplingRate::new(batch.as_f64() / population.as_f64())
            }
        }
    }

    /// What sums are divided by: the planned batch size, since the realised one is private.
    pub fn planned(self) -> Count {
        match self {
            Sampling::Poisson { batch, .. } => batch,
        }
    }
}

/// The records of a Poisson batch, rising. The gaps between them are geometric, so the cost is that of the batch and not of
/// the data.
///
/// # Numerics  A gap's chance is that of `rate` within a relative 2^-50, from 53 random bits
pub(crate) fn poisson(rate: SamplingRate, records: usize, batch: &mut Vec<u32>, rng: &mut Stream) {
    batch.clear();
    let q = rate.get();
    if q >= 1.0 {
        batch.extend(0..records as u32);
        return;
    }
    let log_miss = libm::log1p(-q);
    let mut next = 0.0;
    loop {
        // Uniform on (0, 1]: the logarithm is finite.
        let u = (rng.bits(53) + 1) as f64 * (f64::EPSILON / 2.0);
        next += (libm::log(u) / log_miss).floor();
        if !(next < records as f64) {
            return;
        }
        batch.push(next as u32);
        next += 1.0;
    }
}
