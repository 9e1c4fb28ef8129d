//! Any code under audit: what does it leak at least? `cargo run -p veracity --example audit_code`
//!
//! The code claims to add Laplace noise of scale 1 to a count, which would be ε = 1. It adds half of that.

use veracity::{
    Adjacency, AuditDone, AuditSettings, Case, Count, Delta, Entropy, Epsilon, Error, Upper, audit,
    auditing::{AuditSubject, Claim, Failure, World},
    noise::{Key, Purpose, Ratio, exact},
};

/// Steps of the count that noise is drawn in.
const STEPS: i128 = 1 << 10;

struct HalfTheNoise(Entropy);

impl AuditSubject for HalfTheNoise {
    /// One count, of 100 people with the canary and 99 without; the higher, the more it speaks for the canary.
    fn run(&self, trial: u64, worlds: &[World]) -> Result<Vec<f64>, Failure> {
        let mut rng = self.0.stream(Purpose::Noise, Key { trial, ..Key::default() });
        let scale = Ratio::at_least(0.5 * STEPS as f64).map_err(|why| Failure::Run(why.to_string()))?;
        let mut count = |world: &World| {
            let people = if *world == World::In { 100 } else { 99 };
            (people * STEPS + exact::discrete_laplace(scale, &mut rng)) as f64 / STEPS as f64
        };
        Ok(worlds.iter().map(&mut count).collect())
    }
}

pub(crate) fn main() -> Result<(), Error> {
    let claim =
        Claim { epsilon: Upper(Epsilon::new(1.0)?), delta: Delta::ZERO, adjacency: Adjacency::AddRemove };
    let case =
        Case::of_code("a noisy count", HalfTheNoise(Entropy::seeded(1)), claim, Count::new(20_000)?, 1);
    match audit(&case, &AuditSettings::default(), None)? {
        AuditDone::Judged { audited, .. } => println!(
            "claimed 1, shown at least {:.3}: {}",
            audited.evidence.shown.epsilon.0.get(),
            if audited.is_refuted() { "refuted" } else { "not refuted" }
        ),
        AuditDone::Share { .. } => println!("trials of other shares are missing"),
    }
    Ok(())
}
