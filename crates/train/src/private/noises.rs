//! The streams that noise comes from, silent in earnest; with a tape in audits.
//!
//! A tape holds what noise hides. Only seeded entropy can be taped, and nothing drawn from it is fit for release.

use super::{CalibratedNoise, ClippedSum, Part, Place, Prefetch, prefetch};
use rayon::prelude::*;
use std::{fmt, sync::Arc};
use veracity_core::{Adjacency, Refusal};
use veracity_noise::{Call, Family, Tape};

/// Parameters that get their noise from one stream.
pub(super) const BLOCK: usize = 1 << 15;
/// Parameters that get their noise, and are updated, by one thread at a time.
pub(crate) const PIECE: usize = 1 << 13;
/// Parameters whose noise is drawn, added and handed on at a time, unless it was drawn ahead.
const ADDED: usize = 1 << 10;
/// Pieces beyond which other threads are asked.
const PARALLEL: usize = 2;
/// Streams of a step are numbered by block; the last number is for the balance.
const BLOCK_BITS: u32 = 20;

/// The noise of one model.
#[derive(Debug)]
pub struct Noises {
    family: Arc<Family>,
    recorder: Recorder,
    ahead: Option<PrefetchHandle>,
    /// Room for what is drawn as it is added, empty of noise between steps.
    normals: Normals,
}

/// Noise that is drawn ahead, until the model is gone.
#[derive(Debug)]
struct PrefetchHandle(Arc<Prefetch>);

impl Drop for PrefetchHandle {
    fn drop(&mut self) {
        self.0.end();
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
        Noises {
            family: Arc::new(family),
            recorder: Recorder::Silent,
            ahead: None,
            normals: Normals::default(),
        }
    }

    /// The same draws, keeping the last sum of gradients before its noise. Refused for entropy that is fit for release.
    pub(crate) fn into_listening(self) -> Result<Noises, Refusal> {
        Noises { recorder: Recorder::Listening { sum: Vec::new() }, ..self }.seeded()
    }

    /// The last sum of gradients before its noise, of listening noises. It is private.
    pub(crate) fn last_sum(&self) -> Option<&[f32]> {
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
    pub(crate) fn into_recording(self, adjacency: Adjacency) -> Result<Noises, Refusal> {
        let recorder = Recorder::Recording { adjacency, tape: Tape::default() };
        Noises { recorder, ..self }.seeded()
    }

    /// Repeats the outputs of `script`, call by call, and records the sums of this run.
    pub(crate) fn into_replaying(self, adjacency: Adjacency, script: Tape) -> Result<Noises, Refusal> {
        let recorder = Recorder::Replaying { adjacency, script, heard: Tape::default() };
        Noises { recorder, ..self }.seeded()
    }

    fn seeded(self) -> Result<Noises, Refusal> {
        if self.family.stream(0).origin().is_releasable() {
            return Err(Refusal::Invalid(
                "a recorded run needs seeded entropy, because a recording reveals what the noise hides"
                    .into(),
            ));
        }
        Ok(self)
    }

    /// Whether what it protects may be released: system entropy, and no tape.
    pub(crate) fn is_releasable(&self) -> bool {
        self.family.stream(0).origin().is_releasable() && matches!(self.recorder, Recorder::Silent)
    }

    /// The tape of recording or replaying noises. Its sums are private.
    pub(crate) fn into_tape(self) -> Option<Tape> {
        match self.recorder {
            Recorder::Silent | Recorder::Listening { .. } => None,
            Recorder::Recording { tape, .. } | Recorder::Replaying { heard: tape, .. } => Some(tape),
        }
    }

    /// The noise of a step's gradient, to be drawn while its sum is still being made, by whoever has time; nothing where there is
    /// not enough to gain. Where one thread alone makes the sum, another is asked at once. What is added has the same bits with and
    /// without.
    pub(crate) fn draw_ahead(
        &mut self,
        noise: &CalibratedNoise,
        step: u64,
        length: usize,
        summing: usize,
    ) -> Option<&Prefetch> {
        let threads = rayon::current_num_threads();
        let is_silent = matches!(self.recorder, Recorder::Silent);
        if length < prefetch::LEAST || threads < 2 || noise.gaussian_grid().is_none() || !is_silent {
            return None;
        }
        if self.ahead.as_ref().is_none_or(|PrefetchHandle(ahead)| ahead.length() != length) {
            self.ahead =
                Some(PrefetchHandle(Arc::new(Prefetch::new(Arc::clone(&self.family), length, summing))));
        }
        let PrefetchHandle(ahead) = self.ahead.as_ref()?;
        if summing == 1 {
            ahead.ask(step);
        }
        Some(ahead)
    }

    /// Replaces a sum by that of all its parts with the noise of a step, and hands each piece of it to `then` with its part of the
    /// target.
    pub(super) fn add<T: Target>(
        &mut self,
        sum: ClippedSum<'_>,
        noise: &CalibratedNoise,
        step: u64,
        target: T,
        then: impl Fn(T, &[f32]) + Sync,
    ) {
        let ClippedSum { sum, others, place } = sum;
        if !matches!(self.recorder, Recorder::Silent) {
            self.add_with_tape(place, noise, step, sum, &others);
            return pieces(sum, target, PIECE).into_iter().for_each(|piece| then(piece.target, piece.values));
        }
        let fits = |ahead: &&Prefetch| {
            place == Place::Gradient && ahead.length() == sum.len() && noise.gaussian_grid().is_some()
        };
        if let Some(ahead) = self.ahead.as_ref().map(|PrefetchHandle(ahead)| &**ahead).filter(fits) {
            let add = |piece: Piece<'_, T>| {
                let mut spare = Normals::default();
                piece.by(prefetch::DRAWN, |Piece { first, values, target }| {
                    ahead.with(step, first / prefetch::DRAWN, &mut spare, |normals| {
                        noise.add_drawn(values, &others, first, normals)
                    });
                    then(target, values);
                });
            };
            let pieces = pieces(sum, target, PIECE);
            match pieces.len() > PARALLEL {
                true => pieces.into_par_iter().for_each(add),
                false => pieces.into_iter().for_each(add),
            }
            return ahead.pass(step);
        }
        let family = &*self.family;
        let add = |piece: Piece<'_, T>, normals: &mut Normals| {
            let mut rng = family.stream(number(place, step, piece.first / BLOCK));
            // Few at a time, which are still in the nearest cache when they are handed on.
            piece.by(ADDED, |Piece { first, values, target }| {
                noise.add(values, &others, first, normals.some(values.len()), &mut rng);
                then(target, values);
            });
        };
        match sum.len() > BLOCK {
            true => {
                let pieces = pieces(sum, target, BLOCK).into_par_iter();
                pieces.for_each(|piece| add(piece, &mut Normals::default()));
            }
            false => {
                add(Piece { first: 0, values: sum, target }, &mut self.normals);
                self.normals.wipe();
            }
        }
    }

    /// The same bits, on integers that can be kept.
    #[cold]
    fn add_with_tape(
        &mut self,
        place: Place,
        noise: &CalibratedNoise,
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

/// Whether threads share the pass that adds noise to so many parameters.
pub(crate) fn is_shared(parameters: usize) -> bool {
    parameters > PARALLEL * PIECE
}

/// What becomes of a noisy sum, number by number.
pub(crate) trait Target: Send + Sized {
    /// That of the first so many numbers, and that of the others.
    fn split(self, at: usize) -> (Self, Self);
}

/// Nothing is done with it.
impl Target for () {
    fn split(self, _: usize) -> ((), ()) {
        ((), ())
    }
}

/// Some numbers of a vector side by side, with what becomes of them.
pub(crate) struct Piece<'a, T> {
    /// The place of the first.
    pub first: usize,
    pub values: &'a mut [f32],
    pub target: T,
}

impl<'a, T: Target> Piece<'a, T> {
    /// Hands it on in pieces of a length, one after another.
    fn by(self, length: usize, mut work: impl FnMut(Piece<'a, T>)) {
        let Piece { mut first, mut values, mut target } = self;
        while values.len() > length {
            let (some, rest) = values.split_at_mut(length);
            let (to, others) = target.split(length);
            work(Piece { first, values: some, target: to });
            (values, target, first) = (rest, others, first + length);
        }
        work(Piece { first, values, target });
    }
}

/// Room for the normals of whoever draws some. It is wiped when dropped: what is left would undo the noise.
#[derive(Default)]
pub(super) struct Normals(Vec<i32>);

impl Normals {
    /// Room for so many.
    pub(super) fn some(&mut self, count: usize) -> &mut [i32] {
        if self.0.len() < count {
            self.wipe();
            self.0 = vec![0; count];
        }
        &mut self.0[..count]
    }

    fn wipe(&mut self) {
        // All at once, where `zeroize` goes one by one.
        self.0.fill(0);
        zeroize::optimization_barrier(&self.0[..]);
    }
}

impl Drop for Normals {
    fn drop(&mut self) {
        self.wipe();
    }
}

impl fmt::Debug for Normals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Normals").finish_non_exhaustive()
    }
}

/// A vector and its target in pieces of a length, cut at the same places.
pub(crate) fn pieces<T: Target>(values: &mut [f32], target: T, length: usize) -> Vec<Piece<'_, T>> {
    let mut pieces = Vec::with_capacity(values.len().div_ceil(length));
    Piece { first: 0, values, target }.by(length, |piece| pieces.push(piece));
    pieces
}

/// The number of a stream: no two sums of a run, nor two blocks of a sum, share one.
///
/// # Assumes  Fewer than 2^40 steps, and 2^30 parameters and so 2^15 blocks, as plans and networks check
pub(super) fn number(place: Place, step: u64, block: usize) -> u64 {
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
    use veracity_core::ClipNorm;
    use veracity_noise::{Entropy, Purpose};
    use veracity_testkit::short;

    /// Noise of an earlier step, or noise that nobody has drawn, would undo a release.
    #[test]
    fn noise_that_is_not_all_there_is_drawn_anew() {
        let length = 2 * BLOCK + 100;
        let (noise, clip) = (short::noise(1.0), ClipNorm::new(1.0).unwrap());
        let law = CalibratedNoise::gaussian(noise, clip, length, Rounding::ONE_SUM).unwrap();
        let noises = || Noises::new(Entropy::seeded(4).family(Purpose::Noise, 0, 0));
        let noisy = |rng: &mut Noises, step| {
            let mut sum = vec![0.5; length];
            privatize(ClippedSum::of_gradients(&mut sum, Vec::new()), &law, step, rng);
            sum
        };
        let in_time = [0, 1, 2].map(|step| noisy(&mut noises(), step));
        let mut rng = noises();
        for (step, in_time) in (0..).zip(&in_time) {
            // All of the first step is drawn ahead, nothing of the second, and of the third what another thread has time for.
            let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
            pool.install(|| {
                let ahead = rng.draw_ahead(&law, step, length, 2 - usize::from(step == 2)).unwrap();
                if step == 0 {
                    ahead.draw_while(step, || true);
                }
            });
            assert!(noisy(&mut rng, step) == *in_time, "step {step}");
        }
    }
}
