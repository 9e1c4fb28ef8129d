//! The streams that noise comes from, silent in earnest; with a tape in audits.
//!
//! A tape holds what noise hides. Only seeded entropy can be taped, and nothing drawn from it is fit for release.

use super::{Calibrated, Part, Place};
use rayon::prelude::*;
use std::fmt;
use veracity_core::{Adjacency, Refusal};
use veracity_noise::{Call, Family, Tape, vector};
use zeroize::Zeroize;

/// Parameters that get their noise from one stream.
const BLOCK: usize = 1 << 15;
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

    /// Whether there is something to gain from [`Noises::draw_ahead`].
    pub(crate) fn can_draw_ahead(&self, noise: &Calibrated, length: usize) -> bool {
        length >= LEAST_AHEAD && noise.gaussian_grid().is_some() && matches!(self.recorder, Recorder::Silent)
    }

    /// Draws the noise of a step's gradient while its sum is still being made. What is added has the same bits with and
    /// without.
    pub(crate) fn draw_ahead(&mut self, step: u64, length: usize) {
        let (family, Ahead { normals, step: of }) = (&self.family, &mut self.ahead);
        normals.resize(length, 0);
        normals.par_chunks_mut(BLOCK).enumerate().for_each(|(block, normals)| {
            vector::fill(normals, &mut family.stream(number(Place::Gradient, step, block)));
        });
        *of = Some(step);
    }

    /// Replaces a sum by that of all its parts with the noise of a step.
    pub(super) fn add(
        &mut self,
        place: Place,
        noise: &Calibrated,
        step: u64,
        sum: &mut [f32],
        others: &[Part<'_>],
    ) {
        match self.recorder {
            Recorder::Silent => self.add_silently(place, noise, step, sum, others),
            Recorder::Listening { .. } | Recorder::Recording { .. } | Recorder::Replaying { .. } => {
                self.add_with_tape(place, noise, step, sum, others);
            }
        }
    }

    fn add_silently(
        &mut self,
        place: Place,
        noise: &Calibrated,
        step: u64,
        sum: &mut [f32],
        others: &[Part<'_>],
    ) {
        let ahead = place == Place::Gradient
            && self.ahead.step.take() == Some(step)
            && noise.gaussian_grid().is_some();
        let add = |(block, values): (usize, &mut [f32])| {
            let others: Vec<Part<'_>> =
                others.iter().map(|part| part.block(block * BLOCK, values.len())).collect();
            if ahead {
                noise.add_drawn(values, &others, &self.ahead.normals[block * BLOCK..][..values.len()]);
            } else {
                noise.add(values, &others, &mut self.family.stream(number(place, step, block)));
            }
        };
        if sum.len() > BLOCK {
            sum.par_chunks_mut(BLOCK).enumerate().for_each(add);
        } else {
            add((0, sum));
        }
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
