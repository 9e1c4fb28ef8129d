//! A line of nodes that gives δ near one ε: a contour, a lattice sum, or contours with one rare large loss counted apart.

use super::composed::{Composed, Saddle};
use super::contour::{Contour, Value};
use super::lattice::LatticeSum;
use super::law::Law;
use super::one_jump::OneJump;
use super::placement::Care;
use std::sync::{Arc, Mutex};
use veracity_numerics::UNIT;

/// A line of nodes that gives δ near one ε.
#[derive(Debug)]
pub(super) enum Line {
    Contour(Contour),
    Lattice(LatticeSum),
    OneJump(Box<OneJump>),
}

impl Line {
    /// Outcomes of probability about `left_out` need not be looked at.
    pub(super) fn draw(
        losses: &Composed,
        left_out: f64,
        saddle: &Saddle,
        worth: f64,
        care: Care,
    ) -> Option<Line> {
        // A lattice too fine to sum is as good as a continuous law.
        if let Some((offset, spacing)) = lattice(losses)
            && let Some(sum) = LatticeSum::draw(losses, saddle, offset, spacing)
        {
            return Some(Line::Lattice(sum));
        }
        if care == Care::OneJump {
            return OneJump::draw(losses, saddle, worth, 0.0).map(|one| Line::OneJump(Box::new(one)));
        }
        let (capped, left_out) = losses.capped(left_out);
        Contour::draw(&capped, left_out, saddle, worth, care).map(Line::Contour)
    }

    /// How many nodes it has.
    fn nodes(&self) -> usize {
        match self {
            Line::Contour(contour) => contour.nodes(),
            Line::Lattice(sum) => sum.nodes(),
            Line::OneJump(one) => one.nodes(),
        }
    }

    pub(super) fn value_at(&self, epsilon: f64) -> Value {
        match self {
            Line::Contour(contour) => contour.value_at(epsilon),
            Line::Lattice(sum) => sum.value_at(epsilon),
            Line::OneJump(one) => one.value_at(epsilon),
        }
    }
}

/// The most lines that are kept.
const MOST_KEPT: usize = 48;
/// The most nodes that all of them may have.
const MOST_NODES: usize = 400_000;

/// Lines drawn for one direction, each with the ε it was drawn for. They are a memory, not part of what they belong to: clones
/// start without, and all are equal.
#[derive(Debug, Default)]
pub(super) struct Lines(Mutex<Vec<(f64, Arc<Line>)>>);

impl Lines {
    /// Remembers a line.
    pub(super) fn keep(&self, epsilon: f64, line: Line) -> Arc<Line> {
        let line = Arc::new(line);
        if let Ok(mut lines) = self.0.lock() {
            // A second look at the same place is the sharper one.
            lines.retain(|(place, _)| (place - epsilon).abs() > 1e-6 * epsilon);
            lines.push((epsilon, Arc::clone(&line)));
            while lines.len() > MOST_KEPT
                || lines.iter().map(|(_, line)| line.nodes()).sum::<usize>() > MOST_NODES
            {
                lines.remove(0);
            }
        }
        line
    }

    /// What the two nearest lines say of δ at ε.
    pub(super) fn best_at(&self, epsilon: f64) -> (f64, f64) {
        let Ok(lines) = self.0.lock() else { return (0.0, 1.0) };
        let nearest = |side: f64| {
            let there = lines.iter().filter(|(place, _)| (place - epsilon) * side >= 0.0);
            there.min_by(|a, b| (a.0 - epsilon).abs().total_cmp(&(b.0 - epsilon).abs()))
        };
        let (mut lower, mut upper) = (0.0f64, 1.0f64);
        for (_, line) in [nearest(1.0), nearest(-1.0)].into_iter().flatten() {
            let value = line.value_at(epsilon);
            (lower, upper) = (lower.max(value.lower), upper.min(value.upper));
        }
        (lower, upper)
    }
}

impl Clone for Lines {
    fn clone(&self) -> Self {
        Lines::default()
    }
}

impl PartialEq for Lines {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// Offset and spacing of the lattice that all losses together lie on, if they do.
fn lattice(losses: &Composed) -> Option<(f64, f64)> {
    if losses.gaussian > 0.0 {
        return None;
    }
    let (mut offset, mut common) = (0.0, None);
    for (law, times) in &losses.laws {
        let Law::Atoms { atoms, spacing: Some(spacing), .. } = law else { return None };
        if common.is_some_and(|known: f64| (known - spacing).abs() > 4.0 * UNIT * spacing) {
            return None;
        }
        common = Some(*spacing);
        offset += times * atoms.first()?.loss;
    }
    common.map(|spacing| (offset, spacing))
}
