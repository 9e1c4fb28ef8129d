//! Time to encode and to estimate a million reports over 1024 values at ε = 1, single thread: one JSON object per line.
//!
//! `cargo run --release -p veracity-mechanisms --example bench_local [reports]`

use std::time::Instant;
use veracity_core::{Epsilon, Refusal};
use veracity_mechanisms::local::{Domain, Kind, Protocol, Report};
use veracity_noise::{Entropy, Key, Purpose};

const SIZE: u32 = 1024;

fn main() -> Result<(), Refusal> {
    let reports = std::env::args().nth(1).and_then(|word| word.parse().ok()).unwrap_or(1_000_000);
    let domain = Domain::range(SIZE)?;
    for kind in [
        Kind::OptimisedUnary,
        Kind::LocalHashing,
        Kind::Hadamard,
        Kind::RandomizedResponse,
        Kind::SymmetricUnary,
        Kind::Sketch,
        Kind::HadamardSketch,
    ] {
        let protocol = Protocol::new(kind, &domain, Epsilon::new(1.0)?, 1)?;
        let mut rng = Entropy::system()?.stream(Purpose::Report, Key::default());
        let start = Instant::now();
        let mut sent: Vec<Report> = Vec::with_capacity(reports as usize);
        for person in 0..reports {
            sent.push(protocol.encode(person % SIZE, &mut rng)?);
        }
        let encode = start.elapsed().as_secs_f64();
        let start = Instant::now();
        let mut tally = protocol.tally();
        tally.absorb(&sent)?;
        let estimates = tally.estimate();
        let estimate = start.elapsed().as_secs_f64();
        // Printed so that nothing is optimised away, and as a check: 1 on average.
        let truth = f64::from(reports) / f64::from(SIZE);
        let square =
            estimates.values.iter().map(|e| ((e.count - truth) / e.standard_error).powi(2)).sum::<f64>();
        let task = format!("local reports, k {SIZE}, {}", protocol.name());
        let speed = f64::from(reports) / (encode + estimate);
        let fit = square / f64::from(SIZE);
        println!(
            r#"{{"task": "{task}", "tool": "veracity", "per_second": {speed:.0}, "squared_error_over_variance": {fit:.3}}}"#
        );
    }
    Ok(())
}
