//! How long the accountant takes for one ε, in this process: the median of many calls, for `cargo xtask bench python`.
//!
//! Prints a line of JSON with the microseconds and the upper end.

use std::time::Instant;
use veracity::{
    Choice, Count, Delta, Mechanism, NoiseMultiplier, Refusal, SamplingRate, Subject, Target, account,
};

const CALLS: usize = 401;

fn main() -> Result<(), Refusal> {
    let rate = SamplingRate::new(256.0 / 60_000.0)?;
    let subject =
        Subject::new(Mechanism::sampled_gaussian(rate, NoiseMultiplier::new(1.0)?, Count::new(2344)?));
    let target = Target::Delta(Delta::new(1e-5)?);
    let mut times = Vec::with_capacity(CALLS);
    let mut upper = f64::NAN;
    for _ in 0..CALLS {
        let start = Instant::now();
        let answer = account(&subject, target, Choice::Best)?;
        times.push(start.elapsed().as_secs_f64());
        upper = answer.epsilon.upper().map_or(f64::NAN, |upper| upper.0.get());
    }
    times.sort_by(f64::total_cmp);
    println!("{{\"microseconds\": {}, \"epsilon\": {upper}}}", times[CALLS / 2] * 1e6);
    Ok(())
}
