//! Short constructors of the quantities and mechanisms of tests, and a small random generator. A number out of range panics.

use veracity_core::{Count, Delta, Epsilon, Mechanism, NoiseMultiplier, Probability, SamplingRate};

macro_rules! short {
    ($($name:ident: $from:ty => $type:ident),*) => {
        $(#[doc = concat!("A [`", stringify!($type), "`].")]
        pub fn $name(x: $from) -> $type {
            $type::new(x).unwrap_or_else(|refusal| panic!("{refusal}"))
        })*
    };
}

short!(
    count: u64 => Count, delta: f64 => Delta, epsilon: f64 => Epsilon, noise: f64 => NoiseMultiplier,
    probability: f64 => Probability, rate: f64 => SamplingRate
);

/// Gaussian noise.
pub fn gaussian(sigma: f64) -> Mechanism {
    Mechanism::Gaussian { noise_multiplier: noise(sigma) }
}

/// Laplace noise.
pub fn laplace(scale: f64) -> Mechanism {
    Mechanism::Laplace { noise_multiplier: noise(scale) }
}

/// A declared pure ε.
pub fn pure(x: f64) -> Mechanism {
    Mechanism::Pure { epsilon: epsilon(x) }
}

/// DP-SGD on Poisson batches.
pub fn dp_sgd(q: f64, sigma: f64, steps: u64) -> Mechanism {
    Mechanism::sampled_gaussian(rate(q), noise(sigma), count(steps))
}

/// Numbers that are the same in every run: SplitMix64.
#[derive(Debug, Clone)]
pub struct Dice(u64);

impl Dice {
    /// Dice that begin at a seed.
    pub fn new(seed: u64) -> Dice {
        Dice(seed)
    }

    fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From 0 to `n` − 1.
    pub fn below(&mut self, n: u64) -> u64 {
        self.word() % n
    }

    /// From 0 to 1, without 1.
    pub fn unit(&mut self) -> f64 {
        (self.word() >> 11) as f64 / (1u64 << 53) as f64
    }
}
