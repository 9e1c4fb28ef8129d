//! How much noise does ε = 3 need? `cargo run -p veracity --example calibrate`

use veracity::{
    Adjacency, Count, Delta, Epsilon, Error, Mechanism, NoiseMultiplier, SamplingRate, calibrate::least_noise,
};

pub(crate) fn main() -> Result<(), Error> {
    let (epsilon, delta) = (Epsilon::new(3.0)?, Delta::new(1e-5)?);
    let (rate, steps) = (SamplingRate::new(256.0 / 60_000.0)?, Count::new(14_000)?);

    // Any family of mechanisms that leaks less with more noise.
    let training = |noise: NoiseMultiplier| Ok(Mechanism::dp_sgd(rate, noise, steps));
    let noise = least_noise(&training, Adjacency::AddRemove, epsilon, delta)?;
    println!("noise multiplier {noise} keeps {} steps within epsilon {epsilon} at delta 1e-5", steps.get());
    Ok(())
}
