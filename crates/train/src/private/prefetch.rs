//! Prefetch of noise: it does not depend on the data, so an idle thread can draw it before the sum is known.
//!
//! Buffers for a few steps stand in a ring. Each is in pieces, each piece behind a lock together with the step that its noise is for.
//! Whoever has time draws what is missing, in order of steps. Who adds noise takes a piece if it is there, and else draws it: nobody
//! ever waits for another, and bits are the same with and without.

use super::{
    Place,
    noises::{BLOCK, Normals, number},
};
use crate::phases::{Phase, timed};
use std::{
    fmt,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};
use veracity_noise::{Family, Process, vector};
use zeroize::Zeroize;

/// Parameters whose noise is drawn at a time.
pub(super) const DRAWN: usize = 1 << 11;
/// Parameters whose noise is worth another thread.
pub(super) const LEAST: usize = 1 << 12;
/// Numbers in a ring, unless two steps have more.
const ROOM: usize = 1 << 17;
/// The most steps of a ring.
const MOST_STEPS: usize = 16;
/// Parameters beyond which there is memory for one step and no more.
const LARGE: usize = 1 << 21;

/// The noise of one model's next steps. What is left of it is wiped when it is dropped: it would undo what it was added to.
pub(crate) struct Prefetch {
    family: Arc<Family>,
    /// The process that made it: its threads do not live in a forked child, which would ask them in vain.
    process: Process,
    length: usize,
    /// One buffer for each of some steps that follow one another.
    ring: Vec<Vec<Mutex<Piece>>>,
    /// The first step whose noise may still be wanted.
    now: AtomicU64,
    /// The first step that nobody has begun to draw ahead.
    until: AtomicU64,
    /// Whether someone draws ahead, or was asked to.
    is_asked: AtomicBool,
    /// Whether the model is gone.
    is_over: AtomicBool,
}

/// Some normals of a step.
#[derive(Default)]
struct Piece {
    /// Whose they are; nothing where they are nobody's.
    of: Option<Owner>,
    normals: Vec<i32>,
}

/// The step that noise is for, and the process that drew it: a forked child draws its own.
#[derive(Clone, Copy, PartialEq)]
struct Owner {
    step: u64,
    process: Process,
}

impl Owner {
    fn of(step: u64) -> Owner {
        Owner { step, process: Process::current() }
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        self.normals.zeroize();
    }
}

impl fmt::Debug for Prefetch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prefetch").field("length", &self.length).finish_non_exhaustive()
    }
}

impl Prefetch {
    /// Room for the noise of so many parameters, of which nothing is drawn yet: that of some steps, where `summing`, the threads
    /// that make a sum, leave another one free.
    pub(super) fn new(family: Arc<Family>, length: usize, summing: usize) -> Prefetch {
        let steps = match summing == 1 && length <= LARGE {
            true => (ROOM / length.max(1)).clamp(2, MOST_STEPS),
            false => 1,
        };
        let pieces = || (0..length.div_ceil(DRAWN)).map(|_| Mutex::default()).collect();
        Prefetch {
            family,
            process: Process::current(),
            length,
            ring: (0..steps).map(|_| pieces()).collect(),
            now: AtomicU64::new(0),
            until: AtomicU64::new(0),
            is_asked: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
        }
    }

    /// How many parameters it is for.
    pub(super) fn length(&self) -> usize {
        self.length
    }

    /// Has another thread draw noise of this step and of some that follow, if there is one that has time.
    pub(super) fn ask(self: &Arc<Self>, step: u64) {
        self.now.store(step, Ordering::Relaxed);
        let ready = self.until.load(Ordering::Relaxed).saturating_sub(step);
        let enough = ready > self.ring.len() as u64 / 2 || self.process != Process::current();
        if enough || self.is_asked.swap(true, Ordering::Acquire) {
            return;
        }
        let ahead = Arc::clone(self);
        rayon::spawn(move || {
            ahead.draw_ahead();
            ahead.is_asked.store(false, Ordering::Release);
        });
    }

    /// Says that nobody will want the noise of a step any more.
    pub(super) fn pass(&self, step: u64) {
        self.now.store(step + 1, Ordering::Relaxed);
    }

    /// Draws until the ring is full.
    fn draw_ahead(&self) {
        let mut step = self.until.load(Ordering::Relaxed);
        loop {
            let now = self.now.load(Ordering::Relaxed);
            step = step.max(now);
            // A resumed run, or another one, may have gone back.
            step = step.min(now + self.ring.len() as u64);
            if step == now + self.ring.len() as u64 || self.is_over.load(Ordering::Relaxed) {
                return;
            }
            self.until.store(step + 1, Ordering::Relaxed);
            self.draw_while(step, || {
                self.now.load(Ordering::Relaxed) <= step && !self.is_over.load(Ordering::Relaxed)
            });
            step += 1;
        }
    }

    /// Draws what is missing of a step, but for what others are drawing, as long as it is wanted.
    pub(crate) fn draw_while(&self, step: u64, is_wanted: impl Fn() -> bool) {
        for (at, piece) in self.pieces(step).iter().enumerate() {
            if !is_wanted() {
                return;
            }
            // Whoever holds it draws it.
            if let Ok(mut piece) = piece.try_lock() {
                self.complete(&mut piece, at, step);
            }
        }
    }

    /// Hands the noise of a piece to `work`, and draws it where it is not there: to `spare`, which is in the nearest cache, unless
    /// someone might draw it once more for want of it here.
    pub(super) fn with(&self, step: u64, at: usize, spare: &mut Normals, work: impl FnOnce(&[i32])) {
        // Held while it is drawn, so that nobody else does. Who holds it now is drawing it, or failed to, and may not go on for long.
        let mut held = self.pieces(step)[at].try_lock().ok();
        match &mut held {
            Some(piece) if self.ring.len() > 1 || piece.of == Some(Owner::of(step)) => {
                self.complete(piece, at, step);
                work(&piece.normals);
            }
            Some(_) | None => {
                let normals = spare.some(DRAWN.min(self.length - at * DRAWN));
                self.draw(normals, at, step);
                work(normals);
            }
        }
    }

    fn pieces(&self, step: u64) -> &[Mutex<Piece>] {
        &self.ring[(step % self.ring.len() as u64) as usize]
    }

    /// Draws a piece unless it is that of this step, drawn by this process.
    fn complete(&self, piece: &mut Piece, at: usize, step: u64) {
        let owner = Owner::of(step);
        if piece.of == Some(owner) {
            return;
        }
        piece.of = None;
        piece.normals.resize(DRAWN.min(self.length - at * DRAWN), 0);
        self.draw(&mut piece.normals, at, step);
        piece.of = Some(owner);
    }

    /// Draws the normals of a piece.
    fn draw(&self, normals: &mut [i32], at: usize, step: u64) {
        let first = at * DRAWN;
        let mut stream = self.family.stream(number(Place::Gradient, step, first / BLOCK));
        timed(Phase::Noise, || vector::fill_from(first % BLOCK, normals, &mut stream));
    }

    /// Says that the model is gone.
    pub(super) fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}
