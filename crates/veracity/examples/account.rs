//! What does a training run reveal? `cargo run -p veracity --example account`

use veracity::prelude::*;

pub(crate) fn main() -> Result<(), Error> {
    // 14,000 steps on batches of 256 of 60,000 people, and one histogram of the same people.
    let training = Mechanism::dp_sgd(256.0 / 60_000.0, 1.0, 14_000)?;
    let subject = Subject::new(Mechanism::Composed(vec![training, Mechanism::gaussian(10.0)?]));
    let answer = subject.epsilon(1e-5)?;
    println!("{}: {answer}", subject.describe());
    println!("the claim holds: {}", verify(&ClaimFile::new(&subject, &answer)?.to_json()?)?.stands());
    Ok(())
}
