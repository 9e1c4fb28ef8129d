//! Randomized response: each person reports the truth, or a bucket drawn at random.

use veracity_core::{Buckets, Epsilon, Mechanism, Probability, Refusal};
use veracity_noise::{Bits, Distance, NoiseStream, exact};

/// How one person's bucket becomes a report.
///
/// # Examples
///
/// ```
/// use veracity_core::{Buckets, Epsilon};
/// use veracity_noise::{Entropy, Key, NoiseStream, Purpose};
/// use veracity_query::RandomizedResponse;
///
/// let response = RandomizedResponse::at_epsilon(Buckets::new(2)?, Epsilon::new(3f64.ln())?)?;
/// // Odds of 3 to 1.
/// assert!((response.truthful() - 0.75).abs() < 1e-12);
///
/// let mut rng = NoiseStream::new(Entropy::seeded(1).stream(Purpose::Report, Key::default()));
/// let truths = (0..10_000).filter(|_| response.report(Some(1), &mut rng) == 1).count();
/// assert!(truths.abs_diff(7_500) < 300);
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RandomizedResponse {
    buckets: Buckets,
    /// The chance to ignore the truth, in 2^-53.
    odds: u64,
}

impl RandomizedResponse {
    const ONE: u64 = 1 << 53;

    /// Ignores the truth with chance `noise`, rounded up to a multiple of 2^-53: a float holds that exactly, so what is
    /// drawn and what is claimed are the same.
    pub fn new(buckets: Buckets, noise: Probability) -> Result<RandomizedResponse, Refusal> {
        if noise.get() <= 0.0 {
            return Err(Refusal::out_of_range("noise", noise, "0 < noise ≤ 1"));
        }
        // Scaling by a power of two is exact, and at most 2^53 is an exact integer.
        let odds = (noise.get() * RandomizedResponse::ONE as f64).ceil() as u64;
        Ok(RandomizedResponse { buckets, odds })
    }

    /// The least noise that is ε-differentially private when one person's answer is replaced: k/(e^ε + k − 1), rounded up.
    ///
    /// # Reference  \[Warner65\]; \[KairouzOhViswanath15\]
    pub fn at_epsilon(buckets: Buckets, epsilon: Epsilon) -> Result<RandomizedResponse, Refusal> {
        if !(epsilon.get() <= 30.0) {
            return Err(Refusal::out_of_range("epsilon", epsilon, "0 ≤ epsilon ≤ 30"));
        }
        let k = f64::from(buckets.get());
        // A handful of roundings, covered outward.
        let noise = k / (epsilon.get().exp() + k - 1.0) * (1.0 + 16.0 * f64::EPSILON);
        RandomizedResponse::new(buckets, Probability::new(noise.min(1.0))?)
    }

    /// One report. No truth, or one that is no bucket, gives a uniformly random report: the blank of zero-out.
    ///
    /// # Promise  Exact: each report has the probability that [`RandomizedResponse::mechanism`] says
    pub fn report(&self, truth: Option<u32>, rng: &mut NoiseStream) -> u32 {
        let k = u128::from(self.buckets.get());
        let known = truth.filter(|bucket| u128::from(*bucket) < k);
        let input = known.map_or(-1, i128::from);
        // Any bucket may become any other, or blank.
        let said = rng.call("randomized response", &[input], Distance::LInf(k), |input, stream| {
            // Both are drawn always: then time says nothing.
            let ignore = stream.bits(53) < self.odds;
            let random = exact::uniform_below(k, stream) as i128;
            vec![if ignore || input[0] < 0 { random } else { input[0] }]
        });
        // A bucket, so the cast is exact.
        said[0] as u32
    }

    /// The chance that a report is the truth.
    pub fn truthful(&self) -> f64 {
        let noise = self.noise();
        1.0 - noise + noise / f64::from(self.buckets.get())
    }

    fn noise(&self) -> f64 {
        self.odds as f64 / RandomizedResponse::ONE as f64
    }

    /// What the accountant reads.
    pub fn mechanism(&self) -> Mechanism {
        let noise = Probability::new(self.noise()).expect("odds are at most one");
        Mechanism::RandomizedResponse { buckets: self.buckets, noise }
    }
}
