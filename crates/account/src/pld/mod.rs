//! Privacy loss distributions on a grid, certified from both sides.
//!
//! Each part becomes a loss law (`tails`), the law a dominating and a dominated grid law (`discretize`), both are
//! composed by tilted Fourier transforms (`tilt`, `compose`), and the grid is refined until the two sides meet.

mod allocation;
mod attained;
mod compose;
mod discretize;
mod ladder;
mod lists;
mod mixture;
mod once;
mod tails;
mod tilt;

use crate::{Composition, Question, expand::expand};
use compose::{Curve, Side, compose};
use discretize::{Cut, Grid, ends};
use tails::{Direction, Law, law};
use tilt::{Sketch, Target, Tilt, choose};
use veracity_core::numerics::{UNIT, fft::RealFft};
use veracity_core::{Bracket, Count, Delta, Epsilon, Finding, Refusal, Upper};

/// Refining stops when the sides are this close, relatively.
const CLOSE: f64 = 1e-4;
/// The shortest transform has 2^12 points.
const SHORTEST: u32 = 12;
/// The longest transform has 2^21 points.
const LONGEST: u32 = 21;
/// What may lie below the grid: it is rounded up on one side and dropped on the other.
const BOTTOM: f64 = 1e-14;

/// The ε that goes with `delta`.
///
/// # Promise    The true ε lies in the bracket; parts without a matching lower bound give the upper side only
/// # Reference  \[Doroshenko22\] for the upper side; the lower side and the error bounds are proved beside their functions
/// # Assumes    All parts of a composition point the same way: P has the record in each of them, or Q has
/// # Numerics   Refined until the sides are within 1e-4 of each other or the transform has 2^21 points
pub fn epsilon_at(question: &Question, delta: Delta) -> Result<Finding<Epsilon>, Refusal> {
    let found = worst(question, Target::Delta(delta.get()))?;
    if found.upper.is_infinite() {
        return Err(Refusal::NotCertified(format!(
            "epsilon is infinite or not certified at delta {delta}; use a larger delta"
        )));
    }
    found.finding(Epsilon::new)
}

/// The δ that goes with `epsilon`.
///
/// # Promise    As `epsilon_at`
/// # Reference  As `epsilon_at`
/// # Assumes    As `epsilon_at`
/// # Numerics   As `epsilon_at`
pub fn delta_at(question: &Question, epsilon: Epsilon) -> Result<Finding<Delta>, Refusal> {
    if epsilon.get().is_infinite() {
        return Err(Refusal::out_of_range("epsilon", epsilon, "a finite epsilon"));
    }
    let found = worst(question, Target::Epsilon(epsilon.get()))?;
    if found.upper >= 1.0 {
        return Err(Refusal::NotCertified(format!(
            "no delta below 1 is certified at epsilon {epsilon}; use a larger epsilon"
        )));
    }
    found.finding(Delta::new)
}

/// Both sides of an answer.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Sides {
    lower: f64,
    upper: f64,
    upper_only: bool,
}

impl Sides {
    const NONE: Sides = Sides { lower: 0.0, upper: 0.0, upper_only: false };

    /// The sides of the larger of two unknowns.
    fn worse(self, other: Sides) -> Sides {
        Sides {
            lower: self.lower.max(other.lower),
            upper: self.upper.max(other.upper),
            upper_only: self.upper_only || other.upper_only,
        }
    }

    /// What two brackets of the same unknown say together.
    fn narrowed(self, other: Sides) -> Sides {
        Sides { lower: self.lower.max(other.lower), upper: self.upper.min(other.upper), ..self }
    }

    fn is_close(self) -> bool {
        self.upper.is_finite() && self.upper - self.lower <= CLOSE * self.upper
    }

    fn finding<T>(self, make: impl Fn(f64) -> Result<T, Refusal>) -> Result<Finding<T>, Refusal> {
        let upper = make(self.upper)?;
        if self.upper_only {
            return Ok(Finding::Upper(Upper(upper)));
        }
        // Each side is proved without the other, so sides that cross would disprove the arithmetic of one.
        if self.lower > self.upper {
            return Err(Refusal::Contradiction(format!(
                "the lower bound exceeds the upper bound ({} > {}); this is a bug, please report it and use method rdp",
                self.lower, self.upper
            )));
        }
        Ok(Finding::Bracket(Bracket::new(make(self.lower)?, upper)))
    }
}

/// The worst over alternatives and directions.
fn worst(question: &Question, target: Target) -> Result<Sides, Refusal> {
    let mut worst = Sides::NONE;
    for composition in expand(&question.mechanism, question.adjacency)? {
        let found = both_directions(&composition, target)?;
        // What some dataset shows is a lower end, the theorem the upper one.
        let shown = attained::compositions(&composition)
            .iter()
            .map(|shown| both_directions(shown, target))
            .reduce(|one, other| Ok(one?.worse(other?)));
        worst = worst.worse(match shown {
            Some(shown) => Sides { upper: found.upper, ..shown? },
            None => found,
        });
    }
    Ok(worst)
}

/// The worse of the two directions of one composition.
fn both_directions(composition: &Composition, target: Target) -> Result<Sides, Refusal> {
    let (remove, add) = (laws(composition, Direction::Remove)?, laws(composition, Direction::Add)?);
    let found = bracket(&remove, target)?;
    if add == remove { Ok(found) } else { Ok(found.worse(bracket(&add, target)?)) }
}

fn laws(composition: &Composition, direction: Direction) -> Result<Vec<(Law, f64)>, Refusal> {
    composition.parts.iter().map(|(part, times)| Ok((law(part, direction)?, times.as_f64()))).collect()
}

/// What ε is at least, at this δ, of `times` uses of something that shows these losses, each with at least the probability
/// beside it.
///
/// # Promise    As `Sides::lower`: probabilities that are left out, and losses that are too small, only lower it
pub(crate) fn least_epsilon(losses: &[(f64, f64)], times: Count, delta: Delta) -> Result<f64, Refusal> {
    least(losses, times, Target::Delta(delta.get()))
}

/// What δ is at least, at this ε, as [`least_epsilon`].
pub(crate) fn least_delta(losses: &[(f64, f64)], times: Count, epsilon: Epsilon) -> Result<f64, Refusal> {
    least(losses, times, Target::Epsilon(epsilon.get()))
}

fn least(losses: &[(f64, f64)], times: Count, target: Target) -> Result<f64, Refusal> {
    let atoms = losses.iter().map(|&(loss, mass)| tails::Atom { loss, mass });
    // As for laws without a lower end, refining stops when the bound has settled.
    let law = Law { upper_only: true, ..tails::listed(atoms.collect()) };
    Ok(bracket(&[(law, times.as_f64())], target)?.lower)
}

/// Both sides for one composition in one direction.
fn bracket(laws: &[(Law, f64)], target: Target) -> Result<Sides, Refusal> {
    let upper_only = laws.iter().any(|(law, _)| law.upper_only);
    let most: f64 = laws.iter().map(|(law, times)| times * largest_loss(law)).sum();
    let pure = most.is_finite() && laws.iter().all(|(law, _)| law.infinite == 0.0);
    if pure && target == Target::Delta(0.0) {
        // The losses of all uses can be largest together: the largest sum is the pure ε.
        let most = most.max(0.0);
        let hair = 64.0 * UNIT;
        return Ok(Sides { lower: most * (1.0 - hair), upper: most * (1.0 + hair), upper_only });
    }
    if target == Target::Delta(0.0) {
        return Err(Refusal::NotCertified("epsilon is infinite at delta 0; use a delta > 0".to_owned()));
    }
    if let [(law, 1.0)] = laws {
        let side = |side| match target {
            Target::Delta(delta) => once::epsilon_at(law, delta, side),
            Target::Epsilon(epsilon) => once::delta_at(law, epsilon, side),
        };
        return Ok(Sides { lower: side(Side::Lower), upper: side(Side::Upper), upper_only });
    }
    refine(laws, target, upper_only)
}

/// The largest loss one use can show.
fn largest_loss(law: &Law) -> f64 {
    if law.unlisted > 0.0 {
        return f64::INFINITY;
    }
    let atom = law.atoms.last().map_or(f64::NEG_INFINITY, |atom| atom.loss);
    law.smooth.as_ref().map_or(atom, |smooth| atom.max(smooth.support().1))
}

/// Halves the spacing until the sides meet or the transform is as long as it may be.
fn refine(laws: &[(Law, f64)], target: Target, upper_only: bool) -> Result<Sides, Refusal> {
    let uses: f64 = laws.iter().map(|(_, times)| times).sum();
    let rough_top = match target {
        Target::Delta(delta) => 1e-10 * delta / uses,
        Target::Epsilon(_) => 1e-60 / uses,
    };
    let tilt = choose(&rough(laws, rough_top.max(1e-290)), target);
    let top = (tilt.log_delta.exp() * 1e-10 / uses).max(1e-290);
    let top = if matches!(target, Target::Delta(_)) { rough_top.max(1e-290) } else { top };
    let worst = if matches!(target, Target::Delta(_)) { f64::INFINITY } else { 1.0 };
    let two_laws = laws.iter().any(|(law, _)| law.below.is_some());
    let mut found = Sides { lower: 0.0, upper: worst, upper_only };
    let mut bits = SHORTEST;
    loop {
        let fft = RealFft::new(1 << bits);
        let (upper, lower) = curves(laws, &tilt, top, &fft);
        let answer = |curve: &Curve| match target {
            Target::Delta(delta) => curve.epsilon_at(delta),
            Target::Epsilon(epsilon) => curve.delta_at(epsilon),
        };
        let before = found;
        found = found.narrowed(Sides { lower: answer(&lower), upper: answer(&upper), upper_only });
        // Where only the upper side counts, it is enough that it has settled; where the laws of the two sides differ,
        // that the gap has.
        let settled = (upper_only && before.upper - found.upper <= CLOSE * found.upper)
            || (two_laws && found.upper - found.lower > 0.9 * (before.upper - before.lower));
        if found.is_close() || settled || bits == LONGEST {
            return Ok(found);
        }
        // The gap falls by four when the spacing is halved: skip the lengths that cannot be enough.
        let gap = (found.upper - found.lower) / found.upper / CLOSE;
        let skip = if gap.is_finite() { ((0.5 * gap.log2()).floor() as u32).clamp(1, 3) } else { 2 };
        bits = (bits + skip).min(LONGEST);
    }
}

/// Sketches of the laws, good enough to choose a tilt.
fn rough(laws: &[(Law, f64)], top: f64) -> Vec<(Sketch, f64)> {
    laws.iter().map(|(law, times)| (Sketch::new(law, top, BOTTOM), *times)).collect()
}

/// The least spacing ≥ `at_least` of which the lattice is a multiple, if there is one.
fn on_lattice(lattice: f64, at_least: f64) -> f64 {
    let parts = (lattice / at_least).floor();
    if parts >= 1.0 { lattice / parts } else { at_least }
}

fn grid_for(law: &Law, low: f64, high: f64, spacing: f64) -> Grid {
    let offset =
        law.lattice.map_or(0.0, |lattice| lattice.offset - (lattice.offset / spacing).floor() * spacing);
    Grid::covering(low, high, spacing, offset)
}

/// Both curves on the finest grid on which the window, and each law, fits the transform.
fn curves(laws: &[(Law, f64)], tilt: &Tilt, top: f64, fft: &RealFft) -> (Curve, Curve) {
    let spans: Vec<(f64, f64)> = laws.iter().map(|(law, _)| ends(law, top, BOTTOM)).collect();
    let widest = spans.iter().map(|(low, high)| high - low).fold(tilt.high - tilt.low, f64::max);
    let finest = (widest / (fft.len() as f64 - 8.0)).max(1e-300);
    let lattice = laws.iter().filter_map(|(law, _)| law.lattice).find(|lattice| lattice.spacing >= finest);
    let spacing = lattice.map_or(finest, |lattice| on_lattice(lattice.spacing, finest));
    let (mut uppers, mut lowers) = (Vec::new(), Vec::new());
    for ((law, times), (low, high)) in laws.iter().zip(spans) {
        let grid = grid_for(law, low, high, spacing);
        let cut = Cut::new(law, grid);
        uppers.push((cut.dominating(), *times));
        let lower = match &law.below {
            Some(below) => Cut::new(below, grid).dominated(),
            None => cut.dominated(),
        };
        lowers.push((lower, *times));
    }
    let tilt = tilt.eased(spacing);
    (compose(&uppers, &tilt, fft, Side::Upper), compose(&lowers, &tilt, fft, Side::Lower))
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod twins;
