//! Asks seeded log-uniform questions about DP-SGD over the whole range that is promised and prints one JSON object a line:
//! the question, the ends of ε, and how long it took.
//!
//! `cargo run --release -p veracity-account --example corners -- COUNT SEED [calibrate]`; with the last word the noise that an ε
//! asks for is looked for instead, and its ends are the noise and the noise.

use std::time::Instant;
use veracity_account::{Method, Question, calibrate, epsilon_at};
use veracity_core::{Adjacency, Count, Delta, Epsilon, Mechanism, NoiseMultiplier, Refusal, SamplingRate};
use veracity_testkit::sceptic::dice::Dice;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let count: u64 = arguments.next().map_or(Ok(1000), |word| word.parse())?;
    let seed: u64 = arguments.next().map_or(Ok(1), |word| word.parse())?;
    let calibrates = arguments.next().is_some();
    let mut dice = Dice::from_state(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x5DEE_CE66);
    for _ in 0..count {
        let asked = Asked::draw(&mut dice);
        let start = Instant::now();
        let found = if calibrates { asked.noise(&mut dice) } else { asked.answer() };
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
    fn draw(dice: &mut Dice) -> Asked {
        let adjacency = if dice.below(3) == 0 { Adjacency::ReplaceOne } else { Adjacency::AddRemove };
        let delta =
            if dice.below(2) == 0 { dice.log_uniform(1e-15, 0.1) } else { dice.log_uniform(1e-300, 0.999) };
        Asked {
            rate: dice.log_uniform(1e-9, 1.0),
            noise: dice.log_uniform(0.05, 1e6),
            steps: dice.log_uniform(1.0, 1e9) as u64,
            delta,
            adjacency,
        }
    }

    fn answer(&self) -> Result<(f64, f64), Refusal> {
        let rate = SamplingRate::new(self.rate)?;
        let mechanism =
            Mechanism::sampled_gaussian(rate, NoiseMultiplier::new(self.noise)?, Count::new(self.steps)?);
        let question = Question { mechanism, adjacency: self.adjacency };
        let found = epsilon_at(&question, Delta::new(self.delta)?, Method::Exact)?;
        let lower = found.lower().map_or(0.0, |bound| bound.0.get());
        Ok((lower, found.upper().map_or(f64::INFINITY, |bound| bound.0.get())))
    }

    /// The least noise for an ε between 0.01 and 10.
    fn noise(&self, dice: &mut Dice) -> Result<(f64, f64), Refusal> {
        let (rate, steps) = (SamplingRate::new(self.rate)?, Count::new(self.steps)?);
        let family = |noise| Mechanism::sampled_gaussian(rate, noise, steps);
        let epsilon = Epsilon::new(dice.log_uniform(0.01, 10.0))?;
        let found = calibrate::noise(&family, self.adjacency, epsilon, Delta::new(self.delta.max(1e-15))?)?;
        Ok((found.get(), found.get()))
    }
}
