//! A picture as a list of marks, in points from the top left corner; later marks lie on top.

/// A colour with its opacity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ink {
    /// Red, green and blue.
    pub rgb: [u8; 3],
    /// From 0, clear, to 1, solid.
    pub opacity: f32,
}

impl Ink {
    /// Text.
    pub const BLACK: Ink = Ink::solid(0x22, 0x22, 0x22);
    /// Second-rank text.
    pub const GREY: Ink = Ink::solid(0x66, 0x66, 0x66);
    /// Grid lines.
    pub const PALE: Ink = Ink::solid(0xe4, 0xe4, 0xe4);
    /// The ground.
    pub const WHITE: Ink = Ink::solid(0xff, 0xff, 0xff);
    /// The first colour of the palette of Okabe and Ito, which colour-blind readers can tell apart.
    pub const BLUE: Ink = Ink::solid(0x00, 0x72, 0xb2);
    /// The second.
    pub const VERMILLION: Ink = Ink::solid(0xd5, 0x5e, 0x00);

    /// A solid colour.
    pub const fn solid(red: u8, green: u8, blue: u8) -> Ink {
        Ink { rgb: [red, green, blue], opacity: 1.0 }
    }

    /// The same colour, seen through.
    pub const fn faint(self, opacity: f32) -> Ink {
        Ink { rgb: self.rgb, opacity }
    }
}

/// A place in the picture.
pub type Place = (f32, f32);

/// Which end of a text its place is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    /// Its left end.
    Start,
    /// Its middle.
    Middle,
    /// Its right end.
    End,
}

/// How heavy letters are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weight {
    /// Plain.
    Regular,
    /// Heavy.
    Bold,
}

/// How a line is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stroke {
    /// Without gaps.
    Solid,
    /// With gaps.
    Dashed,
}

/// A line of letters.
#[derive(Debug, Clone, PartialEq)]
pub struct Text {
    /// Where its anchor is, on the base line.
    pub at: Place,
    /// What it says.
    pub text: String,
    /// Its size in points.
    pub size: f32,
    /// Its colour.
    pub ink: Ink,
    /// Which end `at` is.
    pub anchor: Anchor,
    /// How heavy it is.
    pub weight: Weight,
    /// Degrees by which it is turned clockwise about `at`.
    pub turned: f32,
}

/// One thing that is drawn.
#[derive(Debug, Clone, PartialEq)]
pub enum Mark {
    /// A line through points.
    Line {
        /// The points.
        points: Vec<Place>,
        /// Its colour.
        ink: Ink,
        /// Its width.
        width: f32,
        /// Its kind.
        stroke: Stroke,
    },
    /// A filled polygon.
    Area {
        /// Its corners.
        points: Vec<Place>,
        /// Its colour.
        ink: Ink,
    },
    /// A filled circle.
    Dot {
        /// Its centre.
        at: Place,
        /// Its radius.
        radius: f32,
        /// Its colour.
        ink: Ink,
    },
    /// Letters.
    Text(Text),
}

/// Marks on a white ground.
///
/// # Examples
///
/// ```
/// use veracity_report::picture::{Anchor, Ink, Picture, Stroke};
/// use veracity_report::svg;
///
/// let mut picture =
///     Picture { width: 100.0, height: 40.0, description: "R&D".into(), marks: Vec::new() };
/// picture.line(vec![(0.0, 20.0), (100.0, 20.0)], Ink::GREY, 1.0, Stroke::Dashed);
/// picture.write((50.0, 15.0), "a < b", 10.0, Ink::BLACK, Anchor::Middle);
/// let file = svg::render(&picture);
/// // Words are escaped.
/// assert!(file.contains("R&amp;D") && file.contains("a &lt; b"));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Picture {
    /// The width in points.
    pub width: f32,
    /// The height in points.
    pub height: f32,
    /// What it shows, for those who cannot see it.
    pub description: String,
    /// The marks, from back to front.
    pub marks: Vec<Mark>,
}

impl Picture {
    /// Draws a line.
    pub fn line(&mut self, points: Vec<Place>, ink: Ink, width: f32, stroke: Stroke) {
        self.marks.push(Mark::Line { points, ink, width, stroke });
    }

    /// Fills a polygon.
    pub fn area(&mut self, points: Vec<Place>, ink: Ink) {
        self.marks.push(Mark::Area { points, ink });
    }

    /// Sets a dot.
    pub fn dot(&mut self, at: Place, radius: f32, ink: Ink) {
        self.marks.push(Mark::Dot { at, radius, ink });
    }

    /// Fills a rectangle between its left and right, and its top and bottom.
    pub fn rectangle(&mut self, (left, right): (f32, f32), (top, bottom): (f32, f32), ink: Ink) {
        self.area(vec![(left, top), (right, top), (right, bottom), (left, bottom)], ink);
    }

    /// Writes plain letters.
    pub fn write(&mut self, at: Place, text: &str, size: f32, ink: Ink, anchor: Anchor) {
        let (text, weight) = (text.to_owned(), Weight::Regular);
        self.marks.push(Mark::Text(Text { at, text, size, ink, anchor, weight, turned: 0.0 }));
    }

    /// Writes heavy letters.
    pub fn write_bold(&mut self, at: Place, text: &str, size: f32, ink: Ink, anchor: Anchor) {
        let (text, weight) = (text.to_owned(), Weight::Bold);
        self.marks.push(Mark::Text(Text { at, text, size, ink, anchor, weight, turned: 0.0 }));
    }

    /// Writes turned letters.
    pub fn write_turned(&mut self, at: Place, text: &str, size: f32, ink: Ink, turned: f32) {
        let (text, anchor, weight) = (text.to_owned(), Anchor::Middle, Weight::Regular);
        self.marks.push(Mark::Text(Text { at, text, size, ink, anchor, weight, turned }));
    }
}

/// The room that letters take, for tests of layouts.
#[cfg(test)]
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Letters {
    pub left: f32,
    pub right: f32,
    pub top: f32,
    pub bottom: f32,
}

#[cfg(test)]
impl Letters {
    /// Whether there is so much room between the two, across or down.
    pub fn is_apart(&self, other: &Letters, room: f32) -> bool {
        let across = (other.left - self.right).max(self.left - other.right);
        let down = (other.top - self.bottom).max(self.top - other.bottom);
        across >= room || down >= room
    }
}

#[cfg(test)]
impl Picture {
    /// Panics where a mark is outside of the picture.
    pub(crate) fn must_hold_its_marks(&self) {
        let fits = |(x, y): Place| (0.0..=self.width).contains(&x) && (0.0..=self.height).contains(&y);
        for mark in &self.marks {
            let is_inside = match (mark, mark.letters()) {
                (Mark::Line { points, .. } | Mark::Area { points, .. }, _) => {
                    points.iter().all(|at| fits(*at))
                }
                (Mark::Dot { at, .. }, _) => fits(*at),
                (Mark::Text(_), room) => {
                    room.is_none_or(|room| fits((room.left, room.top)) && fits((room.right, room.bottom)))
                }
            };
            assert!(is_inside, "{mark:?}");
        }
    }
}

#[cfg(test)]
impl Mark {
    /// The room of a text that is not turned: tall letters above the line, and tails below.
    pub(crate) fn letters(&self) -> Option<Letters> {
        let Mark::Text(text) = self else { return None };
        let wide = crate::png::text_width(&text.text, text.size, text.weight);
        let left = match text.anchor {
            Anchor::Start => text.at.0,
            Anchor::Middle => text.at.0 - wide / 2.0,
            Anchor::End => text.at.0 - wide,
        };
        let (top, bottom) = (text.at.1 - 0.76 * text.size, text.at.1 + 0.24 * text.size);
        Some(Letters { left, right: left + wide, top, bottom })
    }
}
