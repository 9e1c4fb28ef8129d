//! Worlds whose truth is known: seeded draws for the coverage tests.

#![allow(dead_code)] // Each user takes the part that it needs.
#![allow(clippy::unwrap_used)] // A simulation that cannot go on should stop there.

use veracity_audit::{
    ClaimedCurve, Declared, Scores,
    bound::{gdp, one_run::Guesses},
};
use veracity_core::numerics::binomial;
use veracity_core::{Count, Delta, Epsilon, GdpMu, Lower, Refusal, Significance};
use veracity_noise::{Entropy, Key, Purpose, Stream};

/// A claimed curve without noise to take away.
pub struct Fixed(pub ClaimedCurve);

impl Declared for Fixed {
    fn with_noise(&self, _: f64) -> Result<ClaimedCurve, Refusal> {
        Ok(self.0.clone())
    }

    fn has_noise(&self) -> bool {
        false
    }
}

/// Draws of one repetition, a function of (seed, repetition) alone.
pub struct Draws(Stream);

impl Draws {
    pub fn of(seed: u64, repetition: u64) -> Draws {
        Draws(Entropy::seeded(seed).stream(Purpose::Attack, Key { trial: repetition, ..Key::default() }))
    }

    /// Uniform on [0, 1).
    pub fn uniform(&mut self) -> f64 {
        (self.0.word() >> 11) as f64 * (f64::EPSILON / 2.0)
    }

    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    pub fn coin(&mut self, chance: f64) -> bool {
        self.uniform() < chance
    }

    /// N(μ, 1) with the canary and N(0, 1) without, so many of each.
    pub fn gaussian(&mut self, mu: f64, each: usize) -> Scores {
        let inside = (0..each).map(|_| mu + self.normal()).collect();
        Scores::new(inside, (0..each).map(|_| self.normal()).collect()).unwrap()
    }

    /// Canaries of one run, each in by a fair coin, each with a score of its own: in/σ + noise.
    pub fn canaries(&mut self, mu: f64, canaries: usize) -> Scores {
        let (mut inside, mut outside) = (Vec::new(), Vec::new());
        for _ in 0..canaries {
            match self.coin(0.5) {
                true => inside.push(mu + self.normal()),
                false => outside.push(self.normal()),
            }
        }
        Scores::new(inside, outside).unwrap()
    }

    /// Right guesses of so many when each is the answer of randomized response.
    pub fn responses(&mut self, epsilon: f64, canaries: u64) -> Guesses {
        let right = (0..canaries).filter(|_| self.coin(1.0 / (1.0 + (-epsilon).exp()))).count();
        Guesses::new(canaries, canaries, right as u64).unwrap()
    }

    /// Each canary is named with chance δ and nothing else is said: private at ε = 0 with this δ. The guesser takes the
    /// named ones first and tosses coins for the rest.
    pub fn named(&mut self, delta: f64, canaries: u64, guesses: u64) -> Guesses {
        let named = (0..canaries).filter(|_| self.coin(delta)).count() as u64;
        let sure = named.min(guesses);
        let lucky = (sure..guesses).filter(|_| self.coin(0.5)).count() as u64;
        Guesses::new(canaries, guesses, sure + lucky).unwrap()
    }

    /// Canaries of one game as [`Draws::canaries`], of which the `guessed` that are surest are guessed.
    pub fn surest(&mut self, mu: f64, canaries: usize, guessed: usize) -> Guesses {
        let mut all: Vec<(f64, bool)> = (0..canaries)
            .map(|_| {
                let inside = self.coin(0.5);
                let beyond = self.normal() + if inside { 0.5 * mu } else { -0.5 * mu };
                (beyond.abs(), (beyond > 0.0) == inside)
            })
            .collect();
        all.sort_by(|a, b| b.0.total_cmp(&a.0));
        let right = all.iter().take(guessed).filter(|guess| guess.1).count();
        Guesses::new(canaries as u64, guessed as u64, right as u64).unwrap()
    }

    /// All canaries hang on one coin: with `chance` every bit is published through randomized response that is wrong with
    /// chance `wrong`, and else nothing is. Each is guessed, by a coin where nothing is known.
    pub fn all_or_none(&mut self, chance: f64, wrong: f64, canaries: u64) -> Guesses {
        let right = if self.coin(chance) { 1.0 - wrong } else { 0.5 };
        let correct = (0..canaries).filter(|_| self.coin(right)).count() as u64;
        Guesses::new(canaries, canaries, correct).unwrap()
    }
}

/// ε at δ of N(μ, 1) against N(0, 1).
pub fn truth(mu: f64, delta: f64) -> f64 {
    gdp::epsilon(Lower(GdpMu::new(mu).unwrap()), self::delta(delta)).0.get()
}

/// log of P[so many failures or more], were each as likely as stated.
pub fn log_surprise(failures: u64, repetitions: u64, stated: f64) -> f64 {
    binomial::log_upper_tail(repetitions, failures, stated)
}

pub fn delta(delta: f64) -> Delta {
    Delta::new(delta).unwrap()
}

pub fn level(p: f64) -> Significance {
    Significance::new(p).unwrap()
}

pub fn count(n: u64) -> Count {
    Count::new(n).unwrap()
}

pub fn epsilon(epsilon: f64) -> Epsilon {
    Epsilon::new(epsilon).unwrap()
}
