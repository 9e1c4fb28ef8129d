//! A line of nodes that gives δ near one ε: a contour, a lattice sum, or contours with one large loss counted apart.

use super::composed::{Composed, Saddle};
use super::contour::{Contour, Value};
use super::distribution::Distribution;
use super::lattice::LatticeSum;
use super::one_jump::OneJump;
use super::placement::Scheme;
use super::rare;
use std::sync::{Arc, Mutex};
use veracity_core::numerics::UNIT;

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
        scheme: Scheme,
    ) -> Option<Line> {
        // A lattice too fine to sum is as good as a continuous distribution.
        if let Some((offset, spacing)) = lattice(losses)
            && let Some(sum) = LatticeSum::draw(losses, saddle, offset, spacing)
        {
            return Some(Line::Lattice(sum));
        }
        match scheme {
            Scheme::Rare => rare::draw(losses, saddle, (1e-8 * worth).min(1e-6)).map(Line::Contour),
            Scheme::OneJump => OneJump::draw(losses, saddle, worth).map(|one| Line::OneJump(Box::new(one))),
            Scheme::Quick | Scheme::Sharp => {
                let (capped, left_out) = losses.capped(left_out);
                Contour::draw(&capped, left_out, saddle, worth, scheme).map(Line::Contour)
            }
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

/// How far apart the ε are for which lines of a curve are drawn, as a ratio.
const STRETCH: f64 = 1.12;

/// A stretch of ε with its line, or nothing where none could be drawn.
type Stretch = (i64, Option<Arc<Line>>);

/// LineCache of one direction's curve, each for a stretch of ε. They are a memory, not part of what they belong to: clones start
/// without, and all are equal.
#[derive(Debug, Default)]
pub(super) struct LineCache(Mutex<Vec<Stretch>>);

impl LineCache {
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

impl Clone for LineCache {
    fn clone(&self) -> Self {
        LineCache::default()
    }
}

impl PartialEq for LineCache {
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
    for (part, times) in &losses.parts {
        let Distribution::Atoms { atoms, spacing: Some(spacing), .. } = part else { return None };
        if common.is_some_and(|known: f64| (known - spacing).abs() > 4.0 * UNIT * spacing) {
            return None;
        }
        common = Some(*spacing);
        offset += times * atoms.first()?.loss;
    }
    common.map(|spacing| (offset, spacing))
}
