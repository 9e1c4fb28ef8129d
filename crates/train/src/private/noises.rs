//! The streams that noise comes from, silent in earnest; with a tape in audits.
//!
//! A tape holds what noise hides. Only seeded entropy can be taped, and nothing drawn from it is fit for release.

use super::{Calibrated, ClippedSum, Part, Place};
use crate::phases::{Phase, timed};
use rayon::prelude::*;
use std::{
    fmt,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};
use veracity_core::{Adjacency, Refusal};
use veracity_noise::{Call, Family, Tape, vector};
use zeroize::Zeroize;

/// Parameters that get their noise from one stream.
const BLOCK: usize = 1 << 15;
/// Parameters that get their noise, and are updated, by one thread at a time.
pub(crate) const PIECE: usize = 1 << 13;
/// Parameters whose noise is drawn ahead by one thread at a time.
const DRAWN: usize = 1 << 11;
/// Pieces beyond which other threads are asked.
const PARALLEL: usize = 2;
/// Parameters whose noise is worth another thread.
const LEAST_AHEAD: usize = 1 << 12;
/// Streams of a step are numbered by block; the last number is for the balance.
const BLOCK_BITS: u32 = 20;

/// The noise of one model.
#[derive(Debug)]
pub struct Noises {
    family: Family,
    recorder: Recorder,
    ahead: Ahead,
}

/// Noise that was drawn before the sum that it is for. It is wiped when dropped: it would undo what it was added to.
#[derive(Default)]
struct Ahead {
    normals: Vec<i32>,
    /// The step whose gradient it is for; nothing once it was used.
    step: Option<u64>,
}

impl fmt::Debug for Ahead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ahead").field("step", &self.step).finish_non_exhaustive()
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        self.normals.zeroize();
    }
}

#[derive(Debug)]
enum Recorder {
    Silent,
    /// Keeps the last sum of gradients and no other.
    Listening {
        sum: Vec<f32>,
    },
    Recording {
        adjacency: Adjacency,
        tape: Tape,
    },
    Replaying {
        adjacency: Adjacency,
        script: Tape,
        heard: Tape,
    },
}

impl Noises {
    /// Draws noise and records nothing.
    pub fn new(family: Family) -> Noises {
        Noises { family, recorder: Recorder::Silent, ahead: Ahead::default() }
    }

    /// The same draws, keeping the last sum of gradients before its noise. Refused for entropy that is fit for release.
    pub fn into_listening(self) -> Result<Noises, Refusal> {
        Noises { recorder: Recorder::Listening { sum: Vec::new() }, ..self }.seeded()
    }

    /// The last sum of gradients before its noise, of listening noises. It is private.
    pub fn last_sum(&self) -> Option<&[f32]> {
        match &self.recorder {
            Recorder::Listening { sum } if !sum.is_empty() => Some(sum),
            Recorder::Silent
            | Recorder::Listening { .. }
            | Recorder::Recording { .. }
            | Recorder::Replaying { .. } => None,
        }
    }

    /// The same draws with a tape of every sum and how far it may move between datasets of an adjacency. Refused for entropy
    /// that is fit for release.
    pub fn into_recording(self, adjacency: Adjacency) -> Result<Noises, Refusal> {
        let recorder = Recorder::Recording { adjacency, tape: Tape::default() };
        Noises { recorder, ..self }.seeded()
    }

    /// Repeats the outputs of `script`, call by call, and records the sums of this run.
    pub fn into_replaying(self, adjacency: Adjacency, script: Tape) -> Result<Noises, Refusal> {
        let recorder = Recorder::Replaying { adjacency, script, heard: Tape::default() };
        Noises { recorder, ..self }.seeded()
    }

    fn seeded(self) -> Result<Noises, Refusal> {
        if self.family.stream(0).origin().is_releasable() {
            return Err(Refusal::Invalid(
                "a tape of what noise hides was asked for with system entropy, expected seeded entropy"
                    .into(),
            ));
        }
        Ok(self)
    }

    /// Whether what it protects may be released: system entropy, and no tape.
    pub fn is_releasable(&self) -> bool {
        self.family.stream(0).origin().is_releasable() && matches!(self.recorder, Recorder::Silent)
    }

    /// The tape of recording or replaying noises. Its sums are private.
    pub fn into_tape(self) -> Option<Tape> {
        match self.recorder {
            Recorder::Silent | Recorder::Listening { .. } => None,
            Recorder::Recording { tape, .. } | Recorder::Replaying { heard: tape, .. } => Some(tape),
        }
    }

    /// The noise of a step's gradient, to be drawn while its sum is still being made, by whoever has time; nothing where there is
    /// not enough to gain. What is added has the same bits with and without: what was not drawn to the end, and said to be by
    /// [`Drawing::finish`], is drawn when it is added.
    pub(crate) fn draw_ahead(&mut self, noise: &Calibrated, step: u64, length: usize) -> Option<Drawing<'_>> {
        let is_silent = matches!(self.recorder, Recorder::Silent);
        if length < LEAST_AHEAD || noise.gaussian_grid().is_none() || !is_silent {
            return None;
        }
        let (family, Ahead { normals, step: of }) = (&self.family, &mut self.ahead);
        normals.resize(length, 0);
        // What is there is of an earlier step.
        *of = None;
        let pieces = normals.chunks_mut(DRAWN).map(Mutex::new).collect();
        Some(Drawing { family, step, pieces, next: AtomicUsize::new(0), done: AtomicUsize::new(0), of })
    }

    /// Replaces a sum by that of all its parts with the noise of a step, and hands each [`PIECE`] of it to `then` with the target
    /// of that number.
    pub(super) fn add<T: Send>(
        &mut self,
        sum: ClippedSum<'_>,
        noise: &Calibrated,
        step: u64,
        targets: Vec<T>,
        then: impl Fn(T, &[f32]) + Sync,
    ) {
        let ClippedSum { sum, others, place } = sum;
        // Pieces and targets go in pairs: with fewer targets, some numbers would get no noise.
        assert_eq!(targets.len(), sum.len().div_ceil(PIECE), "every piece has a target");
        let is_ahead = place == Place::Gradient
            && self.ahead.step.take() == Some(step)
            && noise.gaussian_grid().is_some();
        if !matches!(self.recorder, Recorder::Silent) {
            self.add_with_tape(place, noise, step, sum, &others);
            return sum.chunks(PIECE).zip(targets).for_each(|(values, target)| then(target, values));
        }
        let (family, normals) = (&self.family, &self.ahead.normals);
        if is_ahead {
            let add = |(at, (values, target)): (usize, (&mut [f32], T))| {
                let from = at * PIECE;
                noise.add_drawn(values, &others, from, &normals[from..][..values.len()]);
                then(target, values);
            };
            return match targets.len() > PARALLEL {
                true => sum.par_chunks_mut(PIECE).zip(targets).enumerate().for_each(add),
                false => sum.chunks_mut(PIECE).zip(targets).enumerate().for_each(add),
            };
        }
        let add = |(block, (values, targets)): (usize, (&mut [f32], Vec<T>))| {
            noise.add(values, &others, block * BLOCK, &mut family.stream(number(place, step, block)));
            values.chunks(PIECE).zip(targets).for_each(|(values, target)| then(target, values));
        };
        if sum.len() <= BLOCK {
            return add((0, (sum, targets)));
        }
        let mut targets = targets.into_iter();
        let blocks: Vec<(&mut [f32], Vec<T>)> = sum
            .chunks_mut(BLOCK)
            .map(|values| (values, targets.by_ref().take(BLOCK / PIECE).collect()))
            .collect();
        blocks.into_par_iter().enumerate().for_each(add);
    }

    /// The same bits, on integers that can be kept.
    #[cold]
    fn add_with_tape(
        &mut self,
        place: Place,
        noise: &Calibrated,
        step: u64,
        sum: &mut [f32],
        others: &[Part<'_>],
    ) {
        let total = |(at, value): (usize, &f32)| noise.total(*value, others, at);
        let input: Vec<i128> = sum.iter().enumerate().map(total).collect();
        let family = &self.family;
        let draw = || -> Vec<i128> {
            let blocks = input.chunks(BLOCK).enumerate();
            blocks
                .flat_map(|(block, input)| {
                    let drawn = noise.noise(input.len(), &mut family.stream(number(place, step, block)));
                    input.iter().zip(drawn).map(|(value, noise)| value + noise).collect::<Vec<i128>>()
                })
                .collect()
        };
        let (adjacency, output, tape) = match &mut self.recorder {
            Recorder::Silent => return,
            Recorder::Listening { sum: kept } => {
                if place == Place::Gradient {
                    kept.clear();
                    kept.extend(input.iter().map(|steps| noise.value(*steps)));
                }
                for (value, steps) in sum.iter_mut().zip(&draw()) {
                    *value = noise.value(*steps);
                }
                return;
            }
            Recorder::Recording { adjacency, tape } => (*adjacency, draw(), tape),
            Recorder::Replaying { adjacency, script, heard } => {
                let scripted = script.calls.get(heard.calls.len()).map(|call| call.output.clone());
                // Past the end of a script, or off it, the run has departed already; it may go on as it likes.
                let said = scripted.filter(|said| said.len() == input.len());
                (*adjacency, said.unwrap_or_else(draw), heard)
            }
        };
        for (value, steps) in sum.iter_mut().zip(&output) {
            *value = noise.value(*steps);
        }
        let declared = noise.distance(adjacency.contributions());
        tape.calls.push(Call { place: place.name(), declared, input, output });
    }
}

/// Noise that is being drawn.
pub(crate) struct Drawing<'a> {
    family: &'a Family,
    step: u64,
    pieces: Vec<Mutex<&'a mut [i32]>>,
    /// The first piece that nobody has taken.
    next: AtomicUsize,
    /// How many were drawn to their end.
    done: AtomicUsize,
    /// Where it is noted that all were.
    of: &'a mut Option<u64>,
}

impl Drawing<'_> {
    /// Draws what nobody has begun, piece by piece.
    pub(crate) fn draw_rest(&self) {
        loop {
            let at = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(piece) = self.pieces.get(at) else { return };
            let Ok(mut normals) = piece.lock() else { return };
            let (block, first) = (at * DRAWN / BLOCK, at * DRAWN % BLOCK);
            let mut stream = self.family.stream(number(Place::Gradient, self.step, block));
            timed(Phase::Noise, || vector::fill_from(first, &mut normals, &mut stream));
            self.done.fetch_add(1, Ordering::Release);
        }
    }

    /// Says that whoever drew has stopped. Only noise that is all there is used; old noise never is.
    pub(crate) fn finish(self) {
        if self.done.load(Ordering::Acquire) == self.pieces.len() {
            *self.of = Some(self.step);
        }
    }
}

/// The number of a stream: no two sums of a run, nor two blocks of a sum, share one.
///
/// # Assumes  Fewer than 2^40 steps, and 2^30 parameters and so 2^15 blocks, as plans and networks check
fn number(place: Place, step: u64, block: usize) -> u64 {
    let within = match place {
        // Records have a family of their own, so that their numbers may be those of gradients.
        Place::Gradient | Place::Record => block as u64,
        Place::Balance => (1 << BLOCK_BITS) - 1,
    };
    step << BLOCK_BITS | within
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Rounding, privatize};
    use veracity_core::{ClipNorm, NoiseMultiplier};
    use veracity_noise::{Entropy, Purpose};

    /// Noise of an earlier step, or noise that nobody has drawn, would undo a release.
    #[test]
    fn noise_that_is_not_all_there_is_drawn_anew() {
        let length = 2 * BLOCK + 100;
        let (noise, clip) = (NoiseMultiplier::new(1.0).unwrap(), ClipNorm::new(1.0).unwrap());
        let law = Calibrated::gaussian(noise, clip, length, Rounding::ONE_SUM).unwrap();
        let noises = || Noises::new(Entropy::seeded(4).family(Purpose::Noise, 0, 0));
        let noisy = |rng: &mut Noises, step| {
            let mut sum = vec![0.5; length];
            privatize(ClippedSum::of_gradients(&mut sum, Vec::new()), &law, step, rng);
            sum
        };
        let in_time = [0, 1, 2].map(|step| noisy(&mut noises(), step));
        let mut rng = noises();
        for (step, in_time) in (0..).zip(&in_time) {
            let drawing = rng.draw_ahead(&law, step, length).unwrap();
            // All of the first step, nothing of the second; the third is forgotten.
            if step == 0 {
                drawing.draw_rest();
            }
            if step < 2 {
                drawing.finish();
            }
            assert!(noisy(&mut rng, step) == *in_time, "step {step}");
        }
    }
}
