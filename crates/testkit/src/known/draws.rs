//! Seeded draws of one repetition. They protect nobody.

use veracity_noise::{Entropy, Key, Purpose, Stream};

/// Draws of one repetition, a function of (seed, repetition) alone.
pub struct Draws(Stream);

impl Draws {
    /// The draws of a repetition.
    pub fn of(seed: u64, repetition: u64) -> Draws {
        Draws(Entropy::seeded(seed).stream(Purpose::Attack, Key { trial: repetition, ..Key::default() }))
    }

    /// Uniform on [0, 1).
    pub fn uniform(&mut self) -> f64 {
        (self.0.word() >> 11) as f64 * (f64::EPSILON / 2.0)
    }

    /// A standard normal, by Box and Muller.
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// Whether something of this chance happens.
    pub fn coin(&mut self, chance: f64) -> bool {
        self.uniform() < chance
    }
}
