//! Lines with bands around them, on one pair of axes: the picture of a page.
//!
//! It is small, with large letters, so that it can be read at the width of a phone.

use crate::{
    axis::Axis,
    frame::Frame,
    picture::{Anchor, Ink, Picture, Stroke, Weight},
    png::text_width,
};

/// Width and height of the picture.
pub(crate) const SIZE: (f32, f32) = (400.0, 290.0);
/// The size of its letters.
pub(crate) const LETTERS: f32 = 13.0;
/// The room left of the axes; what stands at their ticks goes there.
const LEFT: f32 = 56.0;
const RIGHT: f32 = 16.0;
const BELOW: f32 = 50.0;
/// The height of a line of the legend.
const ROW: f32 = 18.0;

/// A line through points, by rising first value.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// What it is; a chart with more than one named line says so above.
    pub name: String,
    /// The points.
    pub points: Vec<(f64, f64)>,
    /// Its colour.
    pub ink: Ink,
    /// Its kind.
    pub stroke: Stroke,
}

/// The room between two curves over the same first values.
#[derive(Debug, Clone, PartialEq)]
pub struct Band {
    /// What it is; the legend shows a named band, as it shows lines.
    pub name: String,
    /// Its lower edge.
    pub lower: Vec<(f64, f64)>,
    /// Its upper edge.
    pub upper: Vec<(f64, f64)>,
    /// Its colour; at most [`SHADE`] of it is drawn, so that lines are seen through it.
    pub ink: Ink,
}

/// The most opaque that a band is.
pub const SHADE: f32 = 0.2;

/// Where a label has room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Above its point, for a curve that rises.
    Above,
    /// Below its point, for a curve that falls.
    Below,
}

/// A point that is pointed out.
#[derive(Debug, Clone, PartialEq)]
pub struct Spot {
    /// Where it is.
    pub at: (f64, f64),
    /// What is written beside it.
    pub label: String,
    /// On which side of it.
    pub side: Side,
    /// Its colour.
    pub ink: Ink,
}

/// What is drawn.
///
/// # Examples
///
/// ```
/// use veracity_report::axis::{Axis, Scale};
/// use veracity_report::chart::{Chart, Line, draw};
/// use veracity_report::picture::{Ink, Stroke};
/// use veracity_report::svg;
///
/// let axis = |title: &str, high| Axis { title: title.into(), low: 0.0, high, scale: Scale::Linear };
/// let line = |name: &str, ink, points| Line { name: name.into(), points, ink, stroke: Stroke::Solid };
/// let chart = Chart {
///     description: "accuracy by epoch".into(),
///     x: axis("epoch", 2.0),
///     y: axis("accuracy", 1.0),
///     bands: vec![],
///     lines: vec![
///         line("private", Ink::BLUE, vec![(0.0, 0.1), (1.0, 0.7), (2.0, 0.8)]),
///         line("without noise", Ink::VERMILLION, vec![(0.0, 0.1), (1.0, 0.9), (2.0, 0.95)]),
///     ],
///     spots: vec![],
/// };
/// let file = svg::render(&draw(&chart));
/// // Two named lines have a legend.
/// assert!(file.contains("without noise") && file.contains("accuracy by epoch"));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    /// What it shows, for those who cannot see it.
    pub description: String,
    /// Across.
    pub x: Axis,
    /// Up.
    pub y: Axis,
    /// Behind the lines.
    pub bands: Vec<Band>,
    /// The lines.
    pub lines: Vec<Line>,
    /// On top of them.
    pub spots: Vec<Spot>,
}

/// Lays the picture out.
pub fn draw(chart: &Chart) -> Picture {
    let legend = legend(chart);
    let mut picture = blank(&chart.description);
    // A long legend takes nothing from the curves.
    picture.height += ROW * legend.len().saturating_sub(2) as f32;
    let frame = frame(&mut picture, chart.x.clone(), chart.y.clone(), legend.len());
    key(&mut picture, &legend);
    for band in &chart.bands {
        let back = frame.trace(&band.lower).into_iter().rev();
        picture.area(frame.trace(&band.upper).into_iter().chain(back).collect(), shade(band.ink));
    }
    for line in &chart.lines {
        picture.line(frame.trace(&line.points), line.ink, 2.4, line.stroke);
    }
    for spot in &chart.spots {
        point_out(&mut picture, &frame, spot);
    }
    picture
}

/// A picture of the common size with nothing on it.
pub(crate) fn blank(description: &str) -> Picture {
    Picture { width: SIZE.0, height: SIZE.1, description: description.to_owned(), marks: Vec::new() }
}

/// Axes that leave room for so many lines of a legend. The title of the second axis stands above it, upright.
pub(crate) fn frame(picture: &mut Picture, x: Axis, y: Axis, legend: usize) -> Frame {
    let top = 34.0 + ROW * legend as f32;
    let widest =
        y.ticks().iter().map(|tick| text_width(&tick.1, LETTERS, Weight::Regular)).fold(0.0, f32::max);
    // Long numbers push the axis to the right, and the rest is for the curve.
    let left = LEFT.min(widest + 20.0).max(28.0).max(widest + 14.0);
    let sides = (SIZE.0 - left - RIGHT, picture.height - top - BELOW);
    let frame = Frame { left, top, sides, letters: LETTERS, x, y };
    picture.write((4.0, 16.0), &frame.y.title, LETTERS, Ink::BLACK, Anchor::Start);
    frame.draw(picture);
    let end = SIZE.0 - RIGHT;
    picture.write((end, picture.height - 8.0), &frame.x.title, LETTERS, Ink::BLACK, Anchor::End);
    frame
}

/// A name of the legend.
enum Key<'a> {
    Line(&'a Line),
    Band(&'a Band),
}

/// The names of the legend: none where there is only one.
fn legend(chart: &Chart) -> Vec<Key<'_>> {
    let lines = chart.lines.iter().filter(|line| !line.name.is_empty()).map(Key::Line);
    let bands = chart.bands.iter().filter(|band| !band.name.is_empty()).map(Key::Band);
    let all: Vec<Key<'_>> = lines.chain(bands).collect();
    if all.len() > 1 { all } else { Vec::new() }
}

/// A line of the legend for each name.
fn key(picture: &mut Picture, legend: &[Key<'_>]) {
    for (at, key) in legend.iter().enumerate() {
        let y = 34.0 + ROW * at as f32;
        let name = match key {
            Key::Line(line) => {
                picture.line(vec![(4.0, y - 4.0), (28.0, y - 4.0)], line.ink, 2.4, line.stroke);
                &line.name
            }
            Key::Band(band) => {
                picture.rectangle((4.0, 28.0), (y - 10.0, y + 1.0), shade(band.ink));
                &band.name
            }
        };
        picture.write((36.0, y), name, LETTERS, Ink::GREY, Anchor::Start);
    }
}

fn shade(ink: Ink) -> Ink {
    ink.faint(ink.opacity.min(SHADE))
}

/// A dot with hairlines to both axes, and its label where there is room for it.
fn point_out(picture: &mut Picture, frame: &Frame, spot: &Spot) {
    let at = frame.at(spot.at.0, spot.at.1);
    let bottom = frame.top + frame.sides.1;
    let thin = spot.ink.faint(0.6);
    picture.line(vec![(frame.left, at.1), at], thin, 1.0, Stroke::Dashed);
    picture.line(vec![at, (at.0, bottom)], thin, 1.0, Stroke::Dashed);
    picture.dot(at, 4.5, spot.ink);
    let wide = text_width(&spot.label, LETTERS, Weight::Bold);
    // To the left, where neither a rising curve is above nor a falling one below, unless that is past the axis.
    let fits = at.0 - 10.0 - wide > frame.left;
    let (x, anchor) = if fits { (at.0 - 10.0, Anchor::End) } else { (at.0 + 10.0, Anchor::Start) };
    let y = match spot.side {
        Side::Above => (at.1 - 9.0).max(frame.top + LETTERS),
        Side::Below => (at.1 + 20.0).min(bottom - 6.0),
    };
    picture.write_bold((x, y), &spot.label, LETTERS, spot.ink, anchor);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{axis::Scale, picture::Mark};

    fn axis(title: &str) -> Axis {
        Axis { title: title.into(), low: 0.0, high: 1.0, scale: Scale::Linear }
    }

    /// Wherever its spot lies and whatever its numbers are, all of a chart is inside of its picture.
    #[test]
    fn nothing_is_drawn_outside() {
        for (at, side) in [(0.0, Side::Below), (0.3, Side::Above), (0.7, Side::Below), (1.0, Side::Above)] {
            for high in [1e-7, 1.0, 123_456.0] {
                let line = |name: &str| Line {
                    name: name.into(),
                    points: vec![(0.0, f64::NAN), (1.0, 2.0 * high)],
                    ink: Ink::BLUE,
                    stroke: Stroke::Solid,
                };
                let chart = Chart {
                    description: String::new(),
                    x: axis("steps"),
                    y: Axis { high, ..axis("epsilon") },
                    bands: vec![Band {
                        name: "band".into(),
                        lower: vec![(0.0, 0.0)],
                        upper: vec![(1.0, high)],
                        ink: Ink::BLUE,
                    }],
                    lines: vec![line("one"), line("two")],
                    spots: vec![Spot {
                        at: (at, at * high),
                        label: "epsilon ≤ 3".into(),
                        side,
                        ink: Ink::BLUE,
                    }],
                };
                draw(&chart).must_hold_its_marks();
            }
        }
    }

    /// What lies behind a band is seen through it, whatever ink it is given, and the legend says what it is.
    #[test]
    fn a_band_is_seen_through_and_named() {
        let points = vec![(0.0, 0.0), (1.0, 1.0)];
        let line =
            Line { name: "seen".into(), points: points.clone(), ink: Ink::BLUE, stroke: Stroke::Solid };
        let band = Band { name: "its limit".into(), lower: vec![(0.0, 0.0)], upper: points, ink: Ink::BLUE };
        let chart = Chart {
            description: String::new(),
            x: axis("x"),
            y: axis("y"),
            bands: vec![band],
            lines: vec![line],
            spots: vec![],
        };
        let marks = draw(&chart).marks;
        let shades = marks.iter().filter_map(|mark| match mark {
            Mark::Area { ink, .. } => Some(ink.opacity),
            Mark::Line { .. } | Mark::Dot { .. } | Mark::Text(_) => None,
        });
        // The band, and its box in the legend.
        assert_eq!(shades.filter(|opacity| *opacity <= SHADE).count(), 2);
        let says =
            |name: &str| marks.iter().any(|mark| matches!(mark, Mark::Text(text) if text.text == name));
        assert!(says("its limit") && says("seen"));
    }
}
