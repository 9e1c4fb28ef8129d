//! How much noise does ε = 3 need? `cargo run -p veracity --example calibrate`

use veracity::prelude::*;

pub(crate) fn main() -> Result<(), Error> {
    println!("{}", noise_for(3.0, 1e-5, |noise| Mechanism::dp_sgd(256.0 / 60_000.0, noise, 14_000))?);
    Ok(())
}
