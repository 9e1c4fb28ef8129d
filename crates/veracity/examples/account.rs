//! What does a training run leak? `cargo run -p veracity --example account`

use veracity::{
    Choice, ClaimFile, Count, Delta, Error, Mechanism, NoiseMultiplier, PrivacyUnit, SamplingRate, Subject,
    Target, account, verify,
};

pub(crate) fn main() -> Result<(), Error> {
    // 14,000 steps on batches of 256 of 60,000 people, and one histogram of the same people with Gaussian noise.
    let rate = SamplingRate::new(256.0 / 60_000.0)?;
    let training = Mechanism::dp_sgd(rate, NoiseMultiplier::new(1.0)?, Count::new(14_000)?);
    let histogram = Mechanism::Gaussian { noise_multiplier: NoiseMultiplier::new(10.0)? };
    let mechanism = Mechanism::Composed(vec![training, histogram]);
    let subject = Subject { unit: PrivacyUnit::new("person")?, ..Subject::new(mechanism) };

    let answer = account(&subject, Target::Delta(Delta::new(1e-5)?), Choice::Best)?;
    println!("{}", subject.describe());
    if let (Some(least), Some(most)) = (answer.epsilon.lower(), answer.epsilon.upper()) {
        println!("epsilon is between {} and {} at delta 1e-5, by {}", least.0, most.0, answer.method);
    }

    // What may be promised, as a file that anyone can check.
    let claim = ClaimFile::new(&subject, &answer)?.to_json()?;
    println!("the claim holds: {}", verify(&claim)?.stands());
    Ok(())
}
