//! Any function under audit: how much does it leak at least? `cargo run -p veracity --example audit_code`

use veracity::noise::{Entropy, Key, Purpose, Ratio, exact};
use veracity::prelude::*;

pub(crate) fn main() -> Result<(), Error> {
    // It claims Laplace noise of scale 1, which is ε = 1, and adds half of that, in steps of 1/1024.
    let scale = Ratio::at_least(512.0)?;
    let noisy_count = move |is_included: bool, trial: u64| {
        let mut rng = Entropy::seeded(1).stream(Purpose::Noise, Key { trial, ..Key::default() });
        let people = if is_included { 100 } else { 99 };
        (people * 1024 + exact::discrete_laplace(scale, &mut rng)) as f64
    };
    let case = Case::of_function("a noisy count", 1.0, 20_000, noisy_count)?;
    println!("{}", words::headline(&audit(&case, &AuditSettings::default())?.judged()?));
    Ok(())
}
