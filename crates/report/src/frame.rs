//! A pair of axes at a place of a picture: grid, ticks, and where values lie.

use crate::{
    axis::Axis,
    picture::{Anchor, Ink, Picture, Place, Stroke},
};

/// A pair of axes at a place of the picture.
pub(crate) struct Frame {
    /// Where the first axis begins.
    pub left: f32,
    /// Where the second ends.
    pub top: f32,
    /// How long the axes are.
    pub sides: (f32, f32),
    /// The size of the letters at the ticks.
    pub letters: f32,
    /// Across.
    pub x: Axis,
    /// Up.
    pub y: Axis,
}

impl Frame {
    /// Where a pair of values lies.
    pub fn at(&self, x: f64, y: f64) -> Place {
        let across = self.x.place(x) as f32 * self.sides.0;
        let up = self.y.place(y) as f32 * self.sides.1;
        (self.left + across, self.top + self.sides.1 - up)
    }

    /// Where a list of values lies.
    pub fn trace(&self, points: &[(f64, f64)]) -> Vec<Place> {
        points.iter().map(|&(x, y)| self.at(x, y)).collect()
    }

    /// Grid lines, what stands at them, and the axes.
    pub fn draw(&self, picture: &mut Picture) {
        let (left, right) = (self.left, self.left + self.sides.0);
        let (top, bottom) = (self.top, self.top + self.sides.1);
        for (value, label) in self.x.ticks() {
            let (x, _) = self.at(value, self.y.low);
            picture.line(vec![(x, top), (x, bottom)], Ink::PALE, 1.0, Stroke::Solid);
            picture.write((x, bottom + 1.6 * self.letters), &label, self.letters, Ink::GREY, Anchor::Middle);
        }
        for (value, label) in self.y.ticks() {
            let (_, y) = self.at(self.x.low, value);
            picture.line(vec![(left, y), (right, y)], Ink::PALE, 1.0, Stroke::Solid);
            let beside = (left - 0.8 * self.letters, y + 0.36 * self.letters);
            picture.write(beside, &label, self.letters, Ink::GREY, Anchor::End);
        }
        picture.line(vec![(left, top), (left, bottom), (right, bottom)], Ink::GREY, 1.2, Stroke::Solid);
    }
}
