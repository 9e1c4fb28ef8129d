//! Answers of groups as bars that lie on their side, each with its error bar: a panel for each measure, a line for each group.
//!
//! Bars lie so that names of groups can be read. They begin at zero, so that their lengths may be compared.

use crate::{
    axis::{Axis, Scale},
    picture::{Anchor, Ink, Picture, Place, Stroke, Weight},
    png::{fitted, text_width},
};

/// The width of the picture.
const WIDTH: f32 = 560.0;
/// The size of its letters.
const LETTERS: f32 = 12.0;
/// The height of a line of the legend.
const ROW: f32 = 18.0;
/// The height of a bar, and the room between two groups.
const BAR: f32 = 13.0;
const GAP: f32 = 9.0;
/// The widest that a name is; the rest of a longer one is left out.
const WIDEST_NAME: f32 = 190.0;
const RIGHT: f32 = 18.0;
/// The room above the axes of a panel, for what it measures, and below them, for ticks.
const ABOVE: f32 = 26.0;
const BELOW: f32 = 40.0;

/// An answer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bar {
    /// The answer; one that is not finite is left out.
    pub value: f64,
    /// How far the truth may be.
    pub error: f64,
    /// The truth itself, where it is known, as in a demonstration.
    pub truth: Option<f64>,
}

/// A group, with one bar in each colour.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// What it is called.
    pub name: String,
    /// Its bars, from above; nothing where a colour has none.
    pub bars: Vec<Option<Bar>>,
}

/// Bars on one axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Panel {
    /// What they measure.
    pub measure: String,
    /// The groups, from above.
    pub groups: Vec<Group>,
    /// From where to where the axis goes, with zero in between; error bars may go on past its ends. By default it holds all.
    pub reach: Option<(f64, f64)>,
}

/// What is drawn.
///
/// # Examples
///
/// ```
/// use veracity_report::bars::{Bar, Bars, Group, Panel, draw};
/// use veracity_report::svg;
///
/// let group = |name: &str, value| {
///     Group { name: name.into(), bars: vec![Some(Bar { value, error: 24.0, truth: None })] }
/// };
/// let panel = Panel { measure: "visits".into(), groups: vec![group("female", 917.0), group("male", 940.0)], reach: None };
/// let bars = Bars {
///     description: "visits by sex".into(),
///     caption: None,
///     colours: vec![],
///     panels: vec![panel],
///     note: None,
/// };
/// let file = svg::render(&draw(&bars));
/// assert!(file.contains("female") && file.contains("95 % error bar"));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Bars {
    /// What it shows, for those who cannot see it.
    pub description: String,
    /// What must be known to read it, above.
    pub caption: Option<String>,
    /// What each colour stands for, at most two of them; none where all bars have one.
    pub colours: Vec<String>,
    /// One below the other.
    pub panels: Vec<Panel>,
    /// What else is to be said, below.
    pub note: Option<String>,
}

/// The colours, in their order.
const INKS: [Ink; 2] = [Ink::BLUE, Ink::VERMILLION];

/// Lays the picture out.
pub fn draw(bars: &Bars) -> Picture {
    let mut picture =
        Picture { width: WIDTH, height: 0.0, description: bars.description.clone(), marks: Vec::new() };
    let mut top = 0.0;
    if let Some(caption) = &bars.caption {
        picture.write((8.0, 18.0), &fitting(caption, WIDTH - 16.0), LETTERS, Ink::BLACK, Anchor::Start);
        top += ROW;
    }
    top = legend(&mut picture, bars, top);
    let names = bars.panels.iter().flat_map(|panel| &panel.groups).map(|group| short(&group.name));
    let widest = names.map(|name| width(&name)).fold(0.0, f32::max);
    let left = widest + 22.0;
    for panel in &bars.panels {
        top = draw_panel(&mut picture, panel, (left, top));
    }
    if let Some(note) = &bars.note {
        picture.write((8.0, top + 8.0), &fitting(note, WIDTH - 16.0), LETTERS, Ink::GREY, Anchor::Start);
        top += ROW;
    }
    picture.height = top + 8.0;
    picture
}

fn width(text: &str) -> f32 {
    text_width(text, LETTERS, Weight::Regular)
}

/// As much of a text as there is room for.
fn fitting(text: &str, room: f32) -> String {
    fitted(text, LETTERS, Weight::Regular, room)
}

fn short(name: &str) -> String {
    fitting(name, WIDEST_NAME)
}

/// What colours and marks stand for; where the rest may begin.
fn legend(picture: &mut Picture, bars: &Bars, top: f32) -> f32 {
    let mut at = (8.0, top + 18.0);
    let mut say = |picture: &mut Picture, name: &str, sign: &dyn Fn(&mut Picture, Place)| {
        let wide = 30.0 + width(name) + 20.0;
        if at.0 > 8.0 && at.0 + wide > WIDTH {
            at = (8.0, at.1 + ROW);
        }
        sign(picture, at);
        picture.write((at.0 + 30.0, at.1), name, LETTERS, Ink::GREY, Anchor::Start);
        at.0 += wide;
    };
    for (name, ink) in bars.colours.iter().zip(INKS) {
        let name = fitting(name, WIDTH - 60.0);
        say(picture, &name, &|picture, (x, y)| {
            fill(picture, (x, x + 24.0), (y - 10.0, y + 1.0), ink);
        });
    }
    say(picture, "95 % error bar", &|picture, (x, y)| {
        whisker(picture, [x, x + 24.0].map(|at| End { at, is_drawn: true }), y - 4.5);
    });
    let mut all = bars.panels.iter().flat_map(|panel| &panel.groups).flat_map(|group| &group.bars).flatten();
    if all.any(|bar| bar.truth.is_some()) {
        say(picture, "true answer", &|picture, (x, y)| true_answer(picture, x + 12.0, (y - 11.0, y + 2.0)));
    }
    at.1 + 14.0
}

/// One panel; where the next may begin.
fn draw_panel(picture: &mut Picture, panel: &Panel, (left, top): Place) -> f32 {
    let right = WIDTH - RIGHT;
    let title = fitted(&panel.measure, LETTERS, Weight::Bold, right - left);
    picture.write_bold((left, top + 14.0), &title, LETTERS, Ink::BLACK, Anchor::Start);
    let top = top + ABOVE;
    let tall = |group: &Group| GAP + BAR * group.bars.len().max(1) as f32;
    let bottom = top + panel.groups.iter().map(tall).sum::<f32>() + GAP;
    let axis = axis(panel);
    let across = |value: f64| left + axis.place(value) as f32 * (right - left);
    for (value, label) in axis.ticks() {
        let x = across(value);
        picture.line(vec![(x, top), (x, bottom)], Ink::PALE, 1.0, Stroke::Solid);
        picture.write((x, bottom + 1.5 * LETTERS), &label, LETTERS, Ink::GREY, Anchor::Middle);
    }
    let mut y = top + GAP;
    for group in &panel.groups {
        let middle = y + (tall(group) - GAP) / 2.0;
        let beside = (left - 10.0, middle + 0.36 * LETTERS);
        picture.write(beside, &short(&group.name), LETTERS, Ink::BLACK, Anchor::End);
        for (at, bar) in group.bars.iter().enumerate() {
            if let Some(bar) = bar.filter(|bar| bar.value.is_finite() && bar.error.is_finite()) {
                let top = y + BAR * at as f32;
                draw_bar(picture, &bar, (&axis, &across), top, INKS[at % INKS.len()]);
            }
        }
        y += tall(group);
    }
    let zero = across(0.0);
    picture.line(vec![(zero, top), (zero, bottom)], Ink::GREY, 1.2, Stroke::Solid);
    bottom + BELOW
}

/// From zero, or what is below it, to the end of the longest error bar, and a little on.
fn axis(panel: &Panel) -> Axis {
    if let Some((low, high)) = panel.reach {
        return Axis { title: panel.measure.clone(), low, high, scale: Scale::Linear };
    }
    let bars = panel.groups.iter().flat_map(|group| &group.bars).flatten();
    let ends = bars.flat_map(|bar| {
        let truth = bar.truth.unwrap_or(bar.value);
        [bar.value - bar.error, bar.value + bar.error, truth]
    });
    let (low, high) = ends
        .filter(|end| end.is_finite())
        .fold((0.0f64, 0.0f64), |(low, high), end| (low.min(end), high.max(end)));
    let spare = 0.03 * (high - low);
    let low = if low < 0.0 { low - spare } else { 0.0 };
    let high = if high > 0.0 { high + spare } else { 0.0 };
    let high = if high > low { high } else { low + 1.0 };
    Axis { title: panel.measure.clone(), low, high, scale: Scale::Linear }
}

fn draw_bar(
    picture: &mut Picture,
    bar: &Bar,
    (axis, across): (&Axis, &dyn Fn(f64) -> f32),
    top: f32,
    ink: Ink,
) {
    fill(picture, (across(0.0), across(bar.value)), (top + 1.0, top + BAR - 1.0), ink);
    // An end that is past the axis has no stroke there.
    let end = |value: f64| End { at: across(value), is_drawn: value >= axis.low && value <= axis.high };
    whisker(picture, [end(bar.value - bar.error), end(bar.value + bar.error)], top + BAR / 2.0);
    if let Some(truth) = bar.truth.filter(|truth| truth.is_finite()) {
        true_answer(picture, across(truth), (top, top + BAR));
    }
}

fn fill(picture: &mut Picture, (left, right): (f32, f32), (top, bottom): (f32, f32), ink: Ink) {
    picture.rectangle((left, right), (top, bottom), ink.faint(0.45));
}

/// An end of an error bar.
struct End {
    at: f32,
    is_drawn: bool,
}

/// A line between two ends.
fn whisker(picture: &mut Picture, ends: [End; 2], y: f32) {
    picture.line(vec![(ends[0].at, y), (ends[1].at, y)], Ink::BLACK, 1.4, Stroke::Solid);
    for end in ends.iter().filter(|end| end.is_drawn) {
        picture.line(vec![(end.at, y - 3.0), (end.at, y + 3.0)], Ink::BLACK, 1.4, Stroke::Solid);
    }
}

/// A diamond.
fn true_answer(picture: &mut Picture, x: f32, (top, bottom): (f32, f32)) {
    let (middle, half) = ((top + bottom) / 2.0, 4.2);
    let corners =
        |half: f32| vec![(x, middle - half), (x + half, middle), (x, middle + half), (x - half, middle)];
    picture.area(corners(half + 1.2), Ink::WHITE);
    picture.area(corners(half), Ink::BLACK);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::Mark;

    fn bars(values: &[(f64, f64)], name: &str) -> Bars {
        let one = |(value, error): &(f64, f64)| Group {
            name: name.to_owned(),
            bars: vec![Some(Bar { value: *value, error: *error, truth: None }), None],
        };
        let panel = Panel { measure: name.to_owned(), groups: values.iter().map(one).collect(), reach: None };
        Bars {
            description: String::new(),
            caption: Some(name.to_owned()),
            colours: vec![name.to_owned(), "b".into()],
            panels: vec![panel.clone(), panel],
            note: Some(name.to_owned()),
        }
    }

    /// Whatever is answered and however groups are called, all of it is inside of the picture.
    #[test]
    fn nothing_is_drawn_outside() {
        let long = "a name that nobody can read in one go, and which no picture has room for ".repeat(4);
        let numbers =
            [(0.0, 0.0), (-3.0, 9.0), (1e12, 1.0), (1e-9, 0.0), (f64::NAN, 1.0), (1.0, f64::INFINITY)];
        for name in ["", "x", &long] {
            for some in [&numbers[..], &numbers[..1], &numbers[4..], &[]] {
                let picture = draw(&bars(some, name));
                picture.must_hold_its_marks();
            }
        }
    }

    /// Bars of twice the length are twice as much, and whiskers end where the error does.
    #[test]
    fn lengths_are_amounts() {
        let picture = draw(&bars(&[(10.0, 1.0), (20.0, 5.0)], "n"));
        let lengths: Vec<f32> = picture
            .marks
            .iter()
            .filter_map(|mark| match mark {
                Mark::Area { points, .. } => Some(points[1].0 - points[0].0),
                Mark::Line { .. } | Mark::Dot { .. } | Mark::Text(_) => None,
            })
            .skip(2) // Two boxes of the legend.
            .collect();
        assert!((lengths[1] / lengths[0] - 2.0).abs() < 1e-4, "{lengths:?}");
        let whiskers: Vec<f32> = picture
            .marks
            .iter()
            .filter_map(|mark| match mark {
                Mark::Line { points, ink: Ink::BLACK, .. } if points[0].1 == points[1].1 => {
                    Some(points[1].0 - points[0].0)
                }
                _ => None,
            })
            .skip(1)
            .collect();
        assert!(
            (whiskers[0] / lengths[0] - 0.2).abs() < 1e-4 && (whiskers[1] / whiskers[0] - 5.0).abs() < 1e-3
        );
    }
}
