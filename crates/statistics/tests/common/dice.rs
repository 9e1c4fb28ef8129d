//! Seeded choices for tests.

use veracity_testkit::short;

#[derive(Debug, Clone)]
pub struct Dice(short::Dice);

impl Dice {
    pub fn new(seed: u64) -> Dice {
        // Neighboring seeds begin far apart.
        Dice(short::Dice::new(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ 0x9e37_79b9_7f4a_7c15))
    }

    /// 0 to `below` − 1.
    pub fn below(&mut self, below: usize) -> usize {
        self.0.below(below as u64) as usize
    }

    /// Holds once in `of`.
    pub fn once_in(&mut self, of: usize) -> bool {
        self.below(of) == 0
    }

    /// From 0 to 1.
    pub fn part(&mut self) -> f64 {
        self.0.unit()
    }

    pub fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }

    pub fn shuffle<T>(&mut self, all: &mut [T]) {
        for i in (1..all.len()).rev() {
            all.swap(i, self.below(i + 1));
        }
    }
}
