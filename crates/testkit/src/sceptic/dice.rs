//! A small seeded source of questions: the same seed and index ask the same question for ever.

/// SplitMix64.
#[derive(Debug, Clone)]
pub struct Dice(u64);

impl Dice {
    /// The dice of one question of a series.
    pub fn new(seed: u64, index: u64) -> Dice {
        let mut dice =
            Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ index.wrapping_mul(0xd134_2543_de82_ef95));
        dice.bits();
        dice
    }

    /// Dice that go on from a state.
    pub fn from_state(state: u64) -> Dice {
        Dice(state)
    }

    /// 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform from 0 to 1.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A whole number below n.
    pub fn below(&mut self, n: usize) -> usize {
        (self.bits() % n as u64) as usize
    }

    /// Uniform on the logarithmic scale.
    pub fn log_uniform(&mut self, low: f64, high: f64) -> f64 {
        (low.ln() + self.unit() * (high.ln() - low.ln())).exp().clamp(low, high)
    }

    /// A count, uniform on the logarithmic scale.
    pub fn count(&mut self, low: u64, high: u64) -> u64 {
        (self.log_uniform(low as f64, high as f64 + 1.0) as u64).clamp(low, high)
    }

    /// One of these.
    pub fn pick<T: Copy>(&mut self, options: &[T]) -> T {
        options[self.below(options.len())]
    }
}
