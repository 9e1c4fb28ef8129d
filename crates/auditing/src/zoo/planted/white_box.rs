//! One attack for all code that can be replayed: who sees every noise call runs the code again in both worlds and weighs what was said.
//!
//! The attacker is told nothing of a bug. Of many pairs of datasets it takes the one whose sums move farthest; a few runs tell it how
//! large the noise of every number really is. What is said is then held against the inputs that either world would have had.

use crate::zoo::planted::Replays;
use veracity_audit::{AuditSubject, Failure, World, replay::Fault};
use veracity_core::Refusal;
use veracity_noise::{NoiseStream, Tape};

/// Runs that tell how large the noise is; far from the numbers of trials.
const PILOT: std::ops::Range<u64> = 1 << 40..(1 << 40) + 64;
/// Noise this near to what is declared is taken for it.
const AS_DECLARED: std::ops::Range<f64> = 0.4..2.5;
/// The least part of the declared variance that is believed.
const LEAST: f64 = 1e-8;
/// The score where one of the worlds cannot have brought about what is seen.
const CERTAIN: f64 = 1e12;

/// Code that is attacked by replays of itself.
pub struct WhiteBox<'a> {
    replays: &'a Replays,
    pair: u64,
    /// One over the variance of every number of every call, in steps of the grid.
    weights: Vec<Vec<f64>>,
}

impl Replays {
    /// The same code as a subject with one canary: the record by which the datasets of a pair differ.
    ///
    /// # Errors
    /// Datasets that do not differ by a record.
    pub fn attacked(&self) -> Result<WhiteBox<'_>, Refusal> {
        let mut farthest = (0, f64::NEG_INFINITY);
        for pair in 0..self.pairs() {
            let replayed = self.replay(pair)?;
            let moved = match replayed.fault {
                Some(Fault::Sensitivity { moved, declared, .. }) if moved.is_finite() && declared > 0.0 => {
                    moved / declared
                }
                Some(Fault::Sensitivity { .. } | Fault::ControlFlow { .. }) => f64::INFINITY,
                _ => replayed.used,
            };
            if moved > farthest.1 {
                farthest = (pair, moved);
            }
        }
        let weights = self.weights(farthest.0)?;
        Ok(WhiteBox { replays: self, pair: farthest.0, weights })
    }

    /// What is declared of the noise, where a few runs do not show something else.
    fn weights(&self, pair: u64) -> Result<Vec<Vec<f64>>, Refusal> {
        let mut squares: Vec<Vec<(f64, f64)>> = Vec::new();
        let mut declared = Vec::new();
        for trial in PILOT {
            let tape = self.recorded(World::Out, pair, trial)?.0;
            for (call, said) in tape.calls.iter().enumerate() {
                if squares.len() <= call {
                    squares.push(vec![(0.0, 0.0); said.input.len()]);
                    declared.push(self.declared_variance(said));
                }
                let residuals =
                    said.output.iter().zip(&said.input).map(|(out, hidden)| (out - hidden) as f64);
                for ((sum, runs), residual) in squares[call].iter_mut().zip(residuals) {
                    (*sum, *runs) = (*sum + residual * residual, *runs + 1.0);
                }
            }
        }
        let weight = |(sum, runs): (f64, f64), declared: f64| {
            let seen = sum / f64::max(runs, 1.0);
            let is_declared = AS_DECLARED.contains(&(seen / declared));
            1.0 / if is_declared { declared } else { seen.max(LEAST * declared) }
        };
        let of = |(squares, declared): (Vec<(f64, f64)>, f64)| {
            squares.into_iter().map(|square| weight(square, declared)).collect()
        };
        Ok(squares.into_iter().zip(declared).map(of).collect())
    }
}

impl WhiteBox<'_> {
    /// The log-likelihood ratio of "in" over "out", as far as the noise is known.
    fn score(&self, trial: u64, world: World) -> Result<f64, Refusal> {
        let (tape, published) = self.replays.recorded(world, self.pair, trial)?;
        let again = |world| -> Result<Option<Tape>, Refusal> {
            let mut replaying = NoiseStream::replaying(tape.clone(), self.replays.stream(trial));
            let said = self.replays.play(world, self.pair, &mut replaying)?;
            let heard = replaying.into_tape().unwrap_or_default();
            Ok((is_same(&tape, &heard) && same_numbers(&said, &published)).then_some(heard))
        };
        Ok(match (again(World::In)?, again(World::Out)?) {
            (Some(_), None) => CERTAIN,
            (None, Some(_)) => -CERTAIN,
            (None, None) => 0.0,
            (Some(with), Some(without)) => self.weighed(&tape, &with, &without),
        })
    }

    fn weighed(&self, said: &Tape, with: &Tape, without: &Tape) -> f64 {
        let mut score = 0.0;
        for (call, weights) in self.weights.iter().enumerate().take(said.calls.len()) {
            let (inside, outside) = (&with.calls[call].input, &without.calls[call].input);
            let numbers = said.calls[call].output.iter().zip(inside.iter().zip(outside)).zip(weights);
            for ((said, (inside, outside)), weight) in numbers {
                let (said, inside, outside) = (*said as f64, *inside as f64, *outside as f64);
                score += weight * (said - 0.5 * (inside + outside)) * (inside - outside);
            }
        }
        if score.is_nan() { 0.0 } else { score }
    }
}

/// Whether two runs made the same calls; what they hid may differ.
fn is_same(one: &Tape, other: &Tape) -> bool {
    one.calls.len() == other.calls.len()
        && one.calls.iter().zip(&other.calls).all(|(one, other)| {
            (one.place, one.declared, one.output.len()) == (other.place, other.declared, other.output.len())
        })
}

fn same_numbers(one: &[f64], other: &[f64]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(a, b)| a.to_bits() == b.to_bits())
}

impl AuditSubject for WhiteBox<'_> {
    fn run(&self, trial: u64, worlds: &[World]) -> Result<Vec<f64>, Failure> {
        worlds.iter().map(|world| Ok(self.score(trial, *world)?)).collect()
    }
}
