//! A line of nodes that gives δ near one ε: a contour, a lattice sum, or contours with one large loss counted apart.

use super::composed::{Composed, Saddle};
use super::contour::{Contour, Value};
use super::lattice::LatticeSum;
use super::law::Law;
use super::one_jump::OneJump;
use super::placement::Care;
use super::rare;
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
        if care == Care::Rare {
            return rare::draw(losses, saddle, (1e-8 * worth).min(1e-6)).map(Line::Contour);
        }
        if care == Care::OneJump {
            return OneJump::draw(losses, saddle, worth, 0.0).map(|one| Line::OneJump(Box::new(one)));
        }
        let (capped, left_out) = losses.capped(left_out);
        Contour::draw(&capped, left_out, saddle, worth, care).map(Line::Contour)
    }

    pub(super) fn value_at(&self, epsilon: f64) -> Value {
        match self {
            Line::Contour(contour) => contour.value_at(epsilon),
            Line::Lattice(sum) => sum.value_at(epsilon),
            Line::OneJump(one) => one.value_at(epsilon),
        }
    }
}

/// How far apart the ε are for which lines of a curve are drawn, as a ratio.
const STRETCH: f64 = 1.12;

/// A stretch of ε with its line, or nothing where none could be drawn.
type Stretch = (i64, Option<Arc<Line>>);

/// Lines of one direction's curve, each for a stretch of ε. They are a memory, not part of what they belong to: clones start
/// without, and all are equal.
#[derive(Debug, Default)]
pub(super) struct Lines(Mutex<Vec<Stretch>>);

impl Lines {
    /// What the line of ε's stretch says; `draw` makes the line for the middle of a stretch that has none yet.
    pub(super) fn value_at(&self, epsilon: f64, draw: impl Fn(f64) -> Option<Line>) -> Option<Value> {
        let stretch = (epsilon.ln() / STRETCH.ln()).floor();
        let mut lines = self.0.lock().ok()?;
        let known = lines.iter().find(|(place, _)| *place == stretch as i64).map(|(_, line)| line.clone());
        let line = known.unwrap_or_else(|| {
            let drawn = draw(((stretch + 0.5) * STRETCH.ln()).exp()).map(Arc::new);
            lines.push((stretch as i64, drawn.clone()));
            drawn
        });
        line.map(|line| line.value_at(epsilon))
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
