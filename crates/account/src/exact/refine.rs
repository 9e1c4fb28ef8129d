//! Narrows one interval, around δ(ε) or around ε(δ): draws one line after another, each where the last one pointed, and
//! intersects what they certify.
//!
//! Each line certifies its own interval. So the estimates, the order of the schemes and the constants of this file decide how
//! long the search takes and how narrow the answer gets, never whether it holds.
//!
//! Words of this folder: a *line* is a contour Re z = c with its quadrature nodes, or a sum over a lattice. Its [`Scheme`] says
//! how the nodes are placed. The *saddle* is the point of the real axis where the integrand is least. Large losses are *rare*
//! if hardly any composition has one, and those few make up δ.

use super::composed::{Composed, Saddle};
use super::distribution::Distribution;
use super::line::Line;
use super::pairs::once;
use super::placement::Scheme;
use super::rare;
use veracity_core::numerics::{UNIT, root};

/// A relative width that needs no further work. Promised is 1e-6; the rest is for rounding outward in the steps that follow.
pub(super) const NARROW: f64 = 6e-7;
/// A relative width of δ that is not worth an expensive scheme: it moves ε by some 1e-6 of itself.
pub(super) const NARROW_DELTA: f64 = 2e-5;
/// Outcomes of this probability, relative to δ, are left out and added to the upper bound.
pub(super) const LEFT_OUT: f64 = 1e-9;
/// The bounds of that share once ε is known well enough to say what an error of δ does to it: below the first the losses that
/// stay tilt the distribution too far, above the second the upper end shows it.
const LEFT_OUT_RANGE: (f64, f64) = (1e-11, 1e-7);
/// A δ to begin with where none is known: large, so that much is left out and the first line can be drawn at all.
const FIRST_DELTA: f64 = 1e-3;
/// A line drawn for a δ more than so many times too large is drawn once more, for the δ found.
const TOO_LARGE: f64 = 10.0;
/// From one line to the next the estimate of δ falls by no more than this, since the first lines may be far off.
const STEEPEST_FALL: f64 = 1e-6;
/// The most lines of one scheme. Far from the answer each moves the estimate of δ by up to [`STEEPEST_FALL`]: eight of them reach
/// any δ of practice. Those that settle take one or two.
const MOST_LINES: usize = 8;
/// What is tried for δ in turn; from the second on where large losses are not rare.
const DELTA_SCHEMES: [Scheme; 4] = [Scheme::Rare, Scheme::Quick, Scheme::Sharp, Scheme::OneJump];
/// What is tried for ε in turn, in the order of cost: only the ε that the first finds says whether large losses are rare there.
const EPSILON_SCHEMES: [Scheme; 4] = [Scheme::Quick, Scheme::Rare, Scheme::Sharp, Scheme::OneJump];

/// Which number is looked for.
#[derive(Debug, Clone, Copy)]
enum Sought {
    DeltaAt { epsilon: f64 },
    EpsilonAt { delta: f64 },
}

/// An interval that holds what is sought, and the last line drawn for it.
#[derive(Debug)]
pub(super) struct Refinement<'a> {
    losses: &'a Composed,
    sought: Sought,
    pub interval: (f64, f64),
    pub line: Option<Line>,
}

/// Where a line is drawn, and the probability of the outcomes it need not contain.
#[derive(Debug, Clone, Copy)]
struct Aim {
    saddle: Saddle,
    left_out: f64,
}

/// What one line says: an interval, an estimate inside it, and whether a line drawn for that estimate would say the same.
struct Reading {
    interval: (f64, f64),
    estimate: f64,
    is_settled: bool,
}

impl<'a> Refinement<'a> {
    /// δ at `epsilon`, which lies in `known`.
    ///
    /// # Promise  The interval holds δ
    pub(super) fn of_delta(losses: &'a Composed, epsilon: f64, known: (f64, f64)) -> Refinement<'a> {
        let sought = Sought::DeltaAt { epsilon };
        let mut refinement = Refinement { losses, sought, interval: known, line: None };
        let schemes = if rare::are_rare(losses, epsilon) { &DELTA_SCHEMES[..] } else { &DELTA_SCHEMES[1..] };
        if !refinement.is_narrow(schemes[0])
            && let Some(aim) = refinement.aim_for_delta(epsilon, FIRST_DELTA)
        {
            refinement.refine(aim, schemes);
        }
        refinement
    }

    /// ε at `delta`, from an estimate of it; the upper end is infinite where no line could be drawn.
    ///
    /// # Promise  The interval holds ε
    pub(super) fn of_epsilon(losses: &'a Composed, delta: f64, saddle: &Saddle) -> Refinement<'a> {
        let sought = Sought::EpsilonAt { delta };
        let mut refinement = Refinement { losses, sought, interval: (0.0, f64::INFINITY), line: None };
        let left_out = LEFT_OUT * delta;
        if let Some(saddle) = saddle_of_one_large(losses, delta, saddle) {
            refinement.refine(Aim { saddle, left_out }, &[Scheme::Rare]);
        }
        // From the first estimate: that of one large loss leads astray where its line did not do.
        refinement.refine(Aim { saddle: *saddle, left_out }, &EPSILON_SCHEMES);
        refinement
    }

    /// Draws lines by each scheme in turn until the interval is narrow; by one scheme until its estimate settles.
    fn refine(&mut self, mut aim: Aim, schemes: &[Scheme]) {
        for &scheme in schemes {
            if self.is_narrow(scheme) {
                return;
            }
            for _ in 0..MOST_LINES {
                let worth = match self.sought {
                    Sought::DeltaAt { .. } => 1.0,
                    Sought::EpsilonAt { .. } => aim.saddle.worth_of_epsilon(),
                };
                let Some(line) = Line::draw(self.losses, aim.left_out, &aim.saddle, worth, scheme) else {
                    break;
                };
                let reading = self.read(&line, &aim, scheme);
                self.line = Some(line);
                let Some(Reading { interval: (lower, upper), estimate, is_settled }) = reading else { break };
                self.interval = (self.interval.0.max(lower), self.interval.1.min(upper));
                if self.is_narrow(scheme) {
                    return;
                }
                let Some(next) = self.next_aim(aim, estimate, is_settled) else { break };
                aim = next;
                if is_settled {
                    break;
                }
            }
        }
    }

    /// Whether the interval is so narrow that `scheme` is not worth its cost.
    fn is_narrow(&self, scheme: Scheme) -> bool {
        let width = match (self.sought, scheme) {
            (Sought::EpsilonAt { .. }, _) | (_, Scheme::Quick) => NARROW,
            (Sought::DeltaAt { .. }, Scheme::Rare | Scheme::Sharp | Scheme::OneJump) => NARROW_DELTA,
        };
        let (lower, upper) = self.interval;
        upper.is_finite() && upper - lower <= width * upper
    }

    fn read(&self, line: &Line, aim: &Aim, scheme: Scheme) -> Option<Reading> {
        match self.sought {
            Sought::DeltaAt { epsilon } => {
                let value = line.value_at(epsilon);
                let is_settled = value.middle * TOO_LARGE > aim.left_out / LEFT_OUT;
                Some(Reading { interval: (value.lower, value.upper), estimate: value.middle, is_settled })
            }
            Sought::EpsilonAt { delta } => read_epsilon(line, delta, aim, scheme),
        }
    }

    fn next_aim(&mut self, aim: Aim, estimate: f64, is_settled: bool) -> Option<Aim> {
        match self.sought {
            Sought::DeltaAt { .. } if is_settled => Some(aim),
            Sought::DeltaAt { epsilon } => {
                let least = STEEPEST_FALL * aim.left_out / LEFT_OUT;
                self.aim_for_delta(epsilon, estimate.max(least).max(1e-290))
            }
            Sought::EpsilonAt { delta } => {
                let saddle = Saddle { epsilon: estimate, log_delta: delta.ln(), ..aim.saddle };
                // A relative error x of δ moves ε by about x/(cε) of itself.
                let share = (1e-8 * saddle.c * estimate).clamp(LEFT_OUT_RANGE.0, LEFT_OUT_RANGE.1);
                Some(Aim { saddle, left_out: share * delta })
            }
        }
    }

    /// Aims at a δ of about `guess` and bounds it by Chernoff at the saddle found.
    fn aim_for_delta(&mut self, epsilon: f64, guess: f64) -> Option<Aim> {
        let (capped, left_out) = self.losses.capped(LEFT_OUT * guess);
        let saddle = capped.saddle_for_epsilon(epsilon)?;
        if let Some(log) = capped.chernoff(saddle.c) {
            self.interval.1 = self.interval.1.min((log - saddle.c * epsilon).exp() + left_out);
        }
        Some(Aim { saddle, left_out: LEFT_OUT * guess })
    }
}

/// The ε of a line by Newton's method, and a certified step to each side of it.
fn read_epsilon(line: &Line, delta: f64, aim: &Aim, scheme: Scheme) -> Option<Reading> {
    let epsilon = solve(line, delta, aim.saddle.epsilon)?;
    let value = line.value_at(epsilon);
    let slope = -value.slope;
    let above = outward(epsilon, (value.upper - delta) / slope, 1.0, |e| line.value_at(e).upper <= delta);
    let below = outward(epsilon, (delta - value.lower) / slope, -1.0, |e| line.value_at(e).lower >= delta);
    let moved = (epsilon - aim.saddle.epsilon).abs();
    let is_settled = match scheme {
        // The abscissa of such a line is its own: what counts is how far ε moved.
        Scheme::Rare => moved <= 0.01 * epsilon,
        // A contour serves ε within a share of 1/c, and where its upper end is within a thousandth nothing else is to be had.
        Scheme::Quick | Scheme::Sharp | Scheme::OneJump => {
            aim.saddle.c * moved < 0.05 || value.upper < 1.001 * value.middle
        }
    };
    let interval = (below.unwrap_or(0.0), above.unwrap_or(f64::INFINITY));
    Some(Reading { interval, estimate: epsilon, is_settled })
}

/// The saddle moved to where one loss alone gives about δ, if large losses are rare there.
fn saddle_of_one_large(losses: &Composed, delta: f64, saddle: &Saddle) -> Option<Saddle> {
    let [(single @ Distribution::Sampled(_), times)] = losses.parts.as_slice() else { return None };
    let enough = |epsilon: f64| times * once(single, epsilon).1 <= delta;
    let mut high = saddle.epsilon.max(1e-12);
    while !enough(high) && high < 1e12 {
        high *= 4.0;
    }
    let epsilon = root::bisect(high, 0.0, 1e-3 * high, enough).holds;
    rare::are_rare(losses, epsilon).then_some(Saddle { epsilon, log_delta: delta.ln(), ..*saddle })
}

/// The most steps of Newton's method or of the bisection that guards it: sixty halvings exhaust a float.
const MOST_STEPS: usize = 60;

/// The ε at which the line's estimate of δ is as given: Newton on log δ, kept between points known to lie on either
/// side. Where the estimate drowns in its error before that, the slope of the last good point says where to look next.
fn solve(line: &Line, delta: f64, start: f64) -> Option<f64> {
    let (mut low, mut high) = (0.0, f64::INFINITY);
    let mut epsilon = start.max(0.0);
    let mut ahead = None;
    for _ in 0..MOST_STEPS {
        let value = line.value_at(epsilon);
        let drowned = value.middle <= 0.0 || value.noise > 3.0 * value.middle;
        let step = (value.middle / delta).ln() * value.middle / -value.slope;
        if !drowned && step.abs() <= 1e-12 * epsilon {
            return Some(epsilon);
        }
        if value.middle > delta && !drowned {
            low = epsilon;
            ahead = Some(epsilon + step);
        } else {
            high = epsilon;
        }
        let mut next = epsilon + step;
        if drowned || !(next > low && next < high) {
            next = if high.is_finite() { 0.5 * (low + high) } else { 2.0 * epsilon + 1e-3 };
        }
        epsilon = next;
        if drowned && high - low <= 1e-9 * high {
            return ahead.filter(|ahead| ahead.is_finite());
        }
        if epsilon < 1e-15 {
            return None;
        }
    }
    Some(epsilon)
}

/// How much longer the next step outward is than the last: the answer is at most so many times too wide.
const GROWTH: f64 = 1.7;

/// The first point in a growing series of steps from `start` at which the predicate holds. The first step is a little longer
/// than `guess`, so that a good guess holds at once.
fn outward(start: f64, guess: f64, sign: f64, holds: impl Fn(f64) -> bool) -> Option<f64> {
    let mut distance = guess.max(0.0) * 1.05 + start.abs() * 4.0 * UNIT + 1e-300;
    for _ in 0..MOST_STEPS {
        let point = start + sign * distance;
        if point < 0.0 {
            return None;
        }
        if holds(point) {
            return Some(point);
        }
        distance *= GROWTH;
    }
    None
}
