//! The privacy profile δ(ε) and the trade-off curve f(α), side by side, as one picture that explains itself.

use crate::{
    axis::{Axis, Scale},
    frame::Frame,
    picture::{Anchor, Ink, Picture, Place, Stroke, Weight},
    png::{fitted, text_width},
};
use veracity_core::decimal;

/// The least δ that is drawn.
const LEAST_DELTA: f64 = 1e-10;
const MARGIN: f32 = 36.0;
const PANEL: (f32, f32) = (470.0, 380.0);
const TOP: f32 = 118.0;
const LEFT: f32 = 72.0;

/// δ at one ε.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProfilePoint {
    /// The ε.
    pub epsilon: f64,
    /// The true δ is at least this, where known.
    pub lower: Option<f64>,
    /// The true δ is at most this.
    pub upper: f64,
}

/// What is drawn.
///
/// # Examples
///
/// ```
/// use veracity_report::curve::{Curves, Panels, ProfilePoint, draw};
///
/// let point = |epsilon: f64| ProfilePoint { epsilon, lower: None, upper: 0.1 * (-epsilon).exp() };
/// let curves = Curves {
///     title: "Gaussian, noise multiplier 1".into(),
///     caption: "epsilon ≤ 4.38 at delta 1e-5".into(),
///     footnote: "method exact".into(),
///     profile: (0..20).map(|i| point(f64::from(i) / 4.0)).collect(),
///     promise: (4.38, 1e-5),
///     tradeoff: vec![(0.0, 1.0), (0.3, 0.3), (1.0, 0.0)],
///     advantage: 0.39,
/// };
/// let (one, both) = (draw(&curves, Panels::Profile), draw(&curves, Panels::Both));
/// assert!(both.width > 1.8 * one.width && both.description.contains("4.38"));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Curves {
    /// The mechanism.
    pub title: String,
    /// The guarantee in one line.
    pub caption: String,
    /// Where the numbers come from.
    pub footnote: String,
    /// The profile, by rising ε.
    pub profile: Vec<ProfilePoint>,
    /// The ε and δ of the caption.
    pub promise: (f64, f64),
    /// False-positive rates by rising value, each with a bound that no false-negative rate is below.
    pub tradeoff: Vec<(f64, f64)>,
    /// A bound on true-positive minus false-positive rate.
    pub advantage: f64,
}

/// Which panels are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Panels {
    /// The profile.
    Profile,
    /// The trade-off curve.
    Tradeoff,
    /// Both.
    Both,
}

/// Lays the picture out.
pub fn draw(curves: &Curves, panels: Panels) -> Picture {
    let one = LEFT + PANEL.0;
    let width = MARGIN * 2.0 + if panels == Panels::Both { 2.0 * one + 24.0 } else { one };
    let height = TOP + PANEL.1 + 100.0;
    let description = format!("{}: {}", curves.title, curves.caption);
    let mut picture = Picture { width, height, description, marks: Vec::new() };
    let room = width - 2.0 * MARGIN;
    let title = fitted(&curves.title, 21.0, Weight::Bold, room);
    picture.write_bold((MARGIN, 46.0), &title, 21.0, Ink::BLACK, Anchor::Start);
    let caption = fitted(&curves.caption, 15.0, Weight::Regular, room);
    picture.write((MARGIN, 72.0), &caption, 15.0, Ink::GREY, Anchor::Start);
    let footnote = fitted(&curves.footnote, 11.0, Weight::Regular, room);
    picture.write((MARGIN, height - 18.0), &footnote, 11.0, Ink::GREY, Anchor::Start);
    let mut left = MARGIN + LEFT;
    if panels != Panels::Tradeoff {
        profile(&mut picture, curves, left);
        left += one + 24.0;
    }
    if panels != Panels::Profile {
        tradeoff(&mut picture, curves, left);
    }
    picture
}

/// A panel's axes, its heading, and the titles of the axes.
fn panel(picture: &mut Picture, heading: &str, left: f32, [x, y]: [Axis; 2]) -> Frame {
    picture.write_bold((left, TOP - 16.0), heading, 13.5, Ink::BLACK, Anchor::Start);
    let frame = Frame { left, top: TOP, sides: PANEL, letters: 12.5, x, y };
    frame.draw(picture);
    let (middle, bottom) = (left + PANEL.0 / 2.0, TOP + PANEL.1);
    picture.write((middle, bottom + 45.0), &frame.x.title, 13.5, Ink::BLACK, Anchor::Middle);
    picture.write_turned((left - 54.0, TOP + PANEL.1 / 2.0), &frame.y.title, 13.5, Ink::BLACK, -90.0);
    frame
}

fn profile(picture: &mut Picture, curves: &Curves, left: f32) {
    let farthest = curves.profile.last().map_or(1.0, |point| point.epsilon);
    let x = Axis { title: "epsilon".into(), low: 0.0, high: farthest, scale: Scale::Linear };
    let y = Axis { title: "delta".into(), low: LEAST_DELTA, high: 1.0, scale: Scale::Log };
    let frame = panel(picture, "Privacy profile: delta for each epsilon", left, [x, y]);
    let upper: Vec<Place> = curves.profile.iter().map(|point| frame.at(point.epsilon, point.upper)).collect();
    let lower: Vec<Place> =
        curves.profile.iter().filter_map(|point| Some(frame.at(point.epsilon, point.lower?))).collect();
    let mut below = upper.clone();
    below.extend([frame.at(farthest, LEAST_DELTA), frame.at(0.0, LEAST_DELTA)]);
    picture.area(below, Ink::BLUE.faint(0.08));
    if !lower.is_empty() {
        let between = upper.iter().copied().chain(lower.iter().rev().copied()).collect();
        picture.area(between, Ink::BLUE.faint(0.35));
        picture.line(lower.clone(), Ink::BLUE, 1.2, Stroke::Dashed);
    }
    picture.line(upper, Ink::BLUE, 2.6, Stroke::Solid);
    let standing = if lower.is_empty() { "upper bound" } else { "lower and upper bound" };
    label_promise(picture, &frame, curves.promise, standing);
}

/// The point of the caption, with hairlines to both axes and what it says beside it.
fn label_promise(picture: &mut Picture, frame: &Frame, (epsilon, delta): (f64, f64), standing: &str) {
    let at = frame.at(epsilon, delta);
    let (foot, side) = (frame.at(epsilon, frame.y.low), frame.at(frame.x.low, delta));
    picture.line(vec![side, at, foot], Ink::BLUE.faint(0.7), 1.0, Stroke::Dashed);
    picture.dot(at, 5.0, Ink::BLUE);
    let first = format!("epsilon ≤ {} at delta {}", decimal::up(epsilon, 4), decimal::nearest(delta, 4));
    let wide = text_width(&first, 13.5, Weight::Bold);
    // Under the curve, left of the point, nothing else is drawn; a point near the axis has its room on the other side.
    let (x, y, anchor) = if at.0 - 14.0 - wide > frame.left {
        (at.0 - 12.0, at.1 + 24.0, Anchor::End)
    } else {
        (at.0 + 12.0, at.1 - 26.0, Anchor::Start)
    };
    let y = y.clamp(TOP + 16.0, TOP + PANEL.1 - 24.0);
    picture.write_bold((x, y), &first, 13.5, Ink::BLUE, anchor);
    picture.write((x, y + 16.0), standing, 11.5, Ink::BLUE, anchor);
}

fn tradeoff(picture: &mut Picture, curves: &Curves, left: f32) {
    let rate = |title: &str| Axis { title: title.into(), low: 0.0, high: 1.0, scale: Scale::Linear };
    let axes = [rate("false-positive rate"), rate("false-negative rate")];
    let frame = panel(picture, "Trade-off: the errors that every attack must make", left, axes);
    let curve: Vec<Place> = curves.tradeoff.iter().map(|&(alpha, beta)| frame.at(alpha, beta)).collect();
    let mut below = curve.clone();
    below.extend([frame.at(1.0, 0.0), frame.at(0.0, 0.0)]);
    picture.area(below, Ink::VERMILLION.faint(0.10));
    picture.line(vec![frame.at(0.0, 1.0), frame.at(1.0, 0.0)], Ink::GREY, 1.4, Stroke::Dashed);
    picture.line(curve, Ink::VERMILLION, 2.6, Stroke::Solid);
    // Along the diagonal, a little above it.
    let slope = (PANEL.1 / PANEL.0).atan().to_degrees();
    let (x, y) = frame.at(0.72, 0.28);
    picture.write_turned((x + 6.0, y - 7.0), "random guessing", 12.5, Ink::GREY, slope);
    advantage(picture, &frame, curves.advantage);
}

/// The best attack's advantage is the gap between curve and diagonal where both errors are equal.
fn advantage(picture: &mut Picture, frame: &Frame, advantage: f64) {
    let error = (1.0 - advantage) / 2.0;
    let (tip, end) = (frame.at(error, error), frame.at(0.5, 0.5));
    let apart = (end.0 - tip.0).hypot(end.1 - tip.1);
    if apart > 14.0 {
        picture.line(vec![tip, end], Ink::VERMILLION, 1.4, Stroke::Solid);
        picture.dot(end, 3.0, Ink::VERMILLION);
    }
    picture.dot(tip, 5.0, Ink::VERMILLION);
    // Above the diagonal nothing else is drawn.
    let (x, y) = frame.at(0.53, 0.56);
    let says = format!("advantage ≤ {}", decimal::up(advantage, 3));
    picture.write_bold((x, y), &says, 13.5, Ink::VERMILLION, Anchor::Start);
    if error > 0.22 {
        let (x, y) = frame.at(0.03, 0.06);
        picture.write((x, y), "impossible for any attack", 12.5, Ink::VERMILLION, Anchor::Start);
    }
}
