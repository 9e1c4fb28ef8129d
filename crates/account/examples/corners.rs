//! Asks seeded log-uniform questions about DP-SGD over the whole range that is promised and prints one JSON object a line:
//! the question, the ends of ε, and how long it took.
//!
//! `cargo run --release -p veracity-account --example corners -- COUNT SEED [calibrate]`; with the last word the noise that an ε
//! asks for is looked for instead, and its ends are the noise and the noise.

use std::time::Instant;
use veracity_account::{Method, Question, calibrate, epsilon_at};
use veracity_core::{Adjacency, Count, Delta, Epsilon, Mechanism, NoiseMultiplier, Refusal, SamplingRate};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let count: u64 = arguments.next().map_or(Ok(1000), |word| word.parse())?;
    let seed: u64 = arguments.next().map_or(Ok(1), |word| word.parse())?;
    let calibrates = arguments.next().is_some();
    let mut draws = Draws(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x5DEE_CE66);
    for _ in 0..count {
        let asked = Asked::draw(&mut draws);
        let start = Instant::now();
        let found = if calibrates { asked.noise(&mut draws) } else { asked.answer() };
        let milliseconds = start.elapsed().as_secs_f64() * 1e3;
        let Asked { rate, noise, steps, delta, adjacency } = &asked;
        let question = format!(
            r#""rate": {rate:?}, "noise": {noise:?}, "steps": {steps}, "delta": {delta:?}, "adjacency": "{adjacency}""#
        );
        match found {
            Ok((lower, upper)) => println!(
                r#"{{{question}, "lower": {lower:?}, "upper": {upper:?}, "milliseconds": {milliseconds}}}"#
            ),
            Err(refusal) => {
                println!(r#"{{{question}, "failure": "{refusal}", "milliseconds": {milliseconds}}}"#)
            }
        }
    }
    Ok(())
}

/// A question about DP-SGD.
struct Asked {
    rate: f64,
    noise: f64,
    steps: u64,
    delta: f64,
    adjacency: Adjacency,
}

impl Asked {
    fn draw(draws: &mut Draws) -> Asked {
        let adjacency = if draws.below(3) == 0 { Adjacency::ReplaceOne } else { Adjacency::AddRemove };
        let delta = if draws.below(2) == 0 {
            draws.log_uniform(1e-15, 0.1)
        } else {
            draws.log_uniform(1e-300, 0.999)
        };
        Asked {
            rate: draws.log_uniform(1e-9, 1.0),
            noise: draws.log_uniform(0.05, 1e6),
            steps: draws.log_uniform(1.0, 1e9) as u64,
            delta,
            adjacency,
        }
    }

    fn answer(&self) -> Result<(f64, f64), Refusal> {
        let rate = SamplingRate::new(self.rate)?;
        let mechanism = Mechanism::dp_sgd(rate, NoiseMultiplier::new(self.noise)?, Count::new(self.steps)?);
        let question = Question { mechanism, adjacency: self.adjacency };
        let found = epsilon_at(&question, Delta::new(self.delta)?, Method::Exact)?;
        let lower = found.lower().map_or(0.0, |bound| bound.0.get());
        Ok((lower, found.upper().map_or(f64::INFINITY, |bound| bound.0.get())))
    }

    /// The least noise for an ε between 0.01 and 10.
    fn noise(&self, draws: &mut Draws) -> Result<(f64, f64), Refusal> {
        let (rate, steps) = (SamplingRate::new(self.rate)?, Count::new(self.steps)?);
        let family = |noise| Mechanism::dp_sgd(rate, noise, steps);
        let epsilon = Epsilon::new(draws.log_uniform(0.01, 10.0))?;
        let found = calibrate::noise(&family, self.adjacency, epsilon, Delta::new(self.delta.max(1e-15))?)?;
        Ok((found.get(), found.get()))
    }
}

/// SplitMix64: any seed will do.
struct Draws(u64);

impl Draws {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    fn log_uniform(&mut self, low: f64, high: f64) -> f64 {
        let share = (self.next() >> 11) as f64 / (1u64 << 53) as f64;
        (low.ln() + share * (high.ln() - low.ln())).exp().clamp(low, high)
    }
}
