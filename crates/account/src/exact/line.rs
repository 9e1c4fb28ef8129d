//! A line of nodes that gives δ near one ε: a contour, a lattice sum, or several contours for rare large losses.

use super::composed::{Composed, Saddle};
use super::contour::{Contour, Value};
use super::lattice::LatticeSum;
use super::law::Law;
use super::one_jump::OneJump;
use super::placement::Care;
use super::split::Split;
use veracity_numerics::UNIT;

/// A line of nodes that gives δ near one ε.
pub(super) enum Line {
    Contour(Contour),
    Lattice(LatticeSum),
    OneJump(OneJump),
    Split(Split),
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
            return OneJump::draw(losses, saddle, worth, 0.0).map(Line::OneJump);
        }
        let (capped, left_out) = losses.capped(left_out);
        if care == Care::Split {
            return Split::draw(&capped, left_out, saddle.epsilon, saddle.log_delta.exp(), worth)
                .map(Line::Split);
        }
        Contour::draw(&capped, left_out, saddle, worth, care).map(Line::Contour)
    }

    pub(super) fn describe(&self) -> String {
        match self {
            Line::Contour(c) => c.describe(),
            Line::Lattice(_) => "lattice".into(),
            Line::Split(s) => s.describe(),
            Line::OneJump(_) => "one".into(),
        }
    }
    pub(super) fn value_at(&self, epsilon: f64) -> Value {
        match self {
            Line::Contour(contour) => contour.value_at(epsilon),
            Line::Lattice(sum) => sum.value_at(epsilon),
            Line::OneJump(one) => one.value_at(epsilon),
            Line::Split(split) => split.value_at(epsilon),
        }
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
