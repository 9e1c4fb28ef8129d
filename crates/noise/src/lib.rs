//! The only maker of randomness: entropy, named streams, exact integer samplers, fast vectors of Gaussians.
//!
//! An [`Entropy`] enters once, at the rim. It gives [`Stream`]s, each named by its [`Purpose`] and keyed by (run, trial,
//! step). Samplers read [`Bits`] from a stream. Whatever protects a person goes through a [`NoiseStream`], the one door at
//! which every noise call states what it hides and how far one record can move it.

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

pub use additive::Noise;
pub use bits::Bits;
pub use entropy::{Entropy, Family, Key, Purpose, RootAside};
pub use ratio::Ratio;
pub use stream::Stream;
pub use tape::{Call, Departure, Distance, NoiseStream, Tape};
pub use veracity_core::Origin;
