//! The only maker of randomness: entropy, named streams, exact integer samplers, fast vectors of Gaussians.
//!
//! An [`Entropy`] enters once, at the edge of the program. It gives [`Stream`]s, each named by its [`Purpose`] and keyed by
//! (run, trial, step). Samplers read [`Bits`] from a stream. Whatever protects a person goes through a [`NoiseStream`], the
//! one door at which every noise call states what it hides and how far one record can move it.
//!
//! A count that one person moves by at most 1, released with ε = 1/2:
//!
//! ```
//! use veracity_noise::{Distance, Noise, NoiseStream, Purpose, Ratio};
//!
//! let mut rng = NoiseStream::system(Purpose::Noise)?;
//! assert!(rng.is_releasable());
//!
//! let noise = Noise::Laplace { scale: Ratio::new(2, 1)? };
//! let noisy = noise.add("people", &[1234], Distance::L1(1), &mut rng);
//! // Farther off than 100 happens with probability e^-50.
//! assert!(noisy[0].abs_diff(1234) <= 100);
//! # Ok::<(), veracity_core::Refusal>(())
//! ```
#![warn(clippy::missing_errors_doc)]

mod additive;
mod bits;
mod entropy;
pub mod exact;
mod fork;
mod keystream;
mod ratio;
mod stream;
mod tape;
pub mod vector;
pub mod vectors;

pub use additive::Noise;
pub use bits::Bits;
pub use entropy::{Entropy, Family, Key, Purpose, RootAside};
pub use fork::Process;
pub use ratio::Ratio;
pub use stream::Stream;
pub use tape::{Call, Departure, Distance, NoiseStream, Tape};
pub use veracity_core::Origin;
