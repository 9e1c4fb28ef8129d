//! Two groups of numbers as shares of their own size over common bins: how far apart they lie.

use crate::{
    axis::{Axis, Scale},
    chart::{self, LETTERS, SIZE},
    frame::Frame,
    picture::{Anchor, Ink, Picture, Stroke, Weight},
    png::text_width,
};
use veracity_core::decimal;

/// Bins between the least and the largest number.
const BINS: usize = 32;

/// A group of numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// What they have in common.
    pub name: String,
    /// The numbers; those that are not finite are left out.
    pub values: Vec<f64>,
}

/// What is drawn.
///
/// # Examples
///
/// ```
/// use veracity_report::histogram::{Group, Histogram, draw};
/// use veracity_report::svg;
///
/// let histogram = Histogram {
///     description: "scores with and without the canary".into(),
///     measure: "score".into(),
///     groups: [
///         Group { name: "in".into(), values: vec![0.9, 1.1, 1.3, f64::NAN] },
///         Group { name: "out".into(), values: vec![-0.2, 0.1, 0.3] },
///     ],
///     threshold: Some((0.6, "threshold".into())),
/// };
/// assert!(svg::render(&draw(&histogram)).contains("threshold"));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Histogram {
    /// What it shows, for those who cannot see it.
    pub description: String,
    /// What the numbers measure.
    pub measure: String,
    /// The groups: the first in blue, the second in vermillion.
    pub groups: [Group; 2],
    /// Where a line is drawn between them, and its name.
    pub threshold: Option<(f64, String)>,
}

/// Lays the picture out.
pub fn draw(histogram: &Histogram) -> Picture {
    let mut picture = chart::blank(&histogram.description);
    let (low, high) = reach(histogram);
    let shares = [0, 1].map(|at| shares(&histogram.groups[at].values, low, high));
    let tallest = shares.iter().flatten().copied().fold(0.0, f64::max);
    let x = Axis { title: histogram.measure.clone(), low, high, scale: Scale::Linear };
    // The name of the threshold stands above the bars.
    let above = if histogram.threshold.is_some() { 1.18 } else { 1.05 };
    let top = if tallest > 0.0 { tallest * above } else { 1.0 };
    let y = Axis { title: "fraction of each group".into(), low: 0.0, high: top, scale: Scale::Linear };
    let frame = chart::frame(&mut picture, x, y, 2);
    for (at, (group, ink)) in histogram.groups.iter().zip([Ink::BLUE, Ink::VERMILLION]).enumerate() {
        let row = 34.0 + 18.0 * at as f32;
        picture.rectangle((4.0, 28.0), (row - 10.0, row), ink.faint(0.45));
        picture.write((36.0, row), &group.name, LETTERS, Ink::GREY, Anchor::Start);
        bars(&mut picture, &frame, &shares[at], ink);
    }
    if let Some((value, name)) = &histogram.threshold {
        threshold(&mut picture, &frame, *value, name);
    }
    picture
}

/// From the least to the largest number, widened where they are one.
fn reach(histogram: &Histogram) -> (f64, f64) {
    let values = histogram.groups.iter().flat_map(|group| &group.values).copied();
    let all = values.chain(histogram.threshold.as_ref().map(|line| line.0)).filter(|value| value.is_finite());
    let (low, high) = all.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), x| (a.min(x), b.max(x)));
    match high - low {
        apart if apart > 0.0 && apart.is_finite() => (low, high),
        _ if low.is_finite() => (low - 0.5 * low.abs().max(1.0), low + 0.5 * low.abs().max(1.0)),
        _ => (0.0, 1.0),
    }
}

/// The part of the numbers in each bin.
fn shares(values: &[f64], low: f64, high: f64) -> [f64; BINS] {
    let mut shares = [0.0; BINS];
    let finite: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    for value in &finite {
        let bin = ((value - low) / (high - low) * BINS as f64) as usize;
        shares[bin.min(BINS - 1)] += 1.0 / finite.len() as f64;
    }
    shares
}

/// One outline for all bars, so that neighbours have no seam.
fn bars(picture: &mut Picture, frame: &Frame, shares: &[f64; BINS], ink: Ink) {
    let (low, high) = (frame.x.low, frame.x.high);
    let edge = |at: usize| low + (high - low) * at as f64 / BINS as f64;
    let mut outline = vec![frame.at(low, 0.0)];
    for (at, share) in shares.iter().enumerate() {
        outline.extend([frame.at(edge(at), *share), frame.at(edge(at + 1), *share)]);
    }
    outline.push(frame.at(high, 0.0));
    picture.area(outline.clone(), ink.faint(0.35));
    picture.line(outline, ink, 1.4, Stroke::Solid);
}

fn threshold(picture: &mut Picture, frame: &Frame, value: f64, name: &str) {
    let (x, bottom) = frame.at(value, 0.0);
    picture.line(vec![(x, frame.top), (x, bottom)], Ink::BLACK, 1.6, Stroke::Dashed);
    let label = format!("{name} {}", decimal::nearest(value, 4));
    let fits = x + 8.0 + text_width(&label, LETTERS, Weight::Regular) < SIZE.0 - 8.0;
    let (x, anchor) = if fits { (x + 8.0, Anchor::Start) } else { (x - 8.0, Anchor::End) };
    picture.write((x, frame.top + LETTERS), &label, LETTERS, Ink::BLACK, anchor);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::Mark;

    #[test]
    fn every_number_is_in_one_bin() {
        let all = shares(&[0.0, 0.1, 0.5, 1.0, f64::NAN], 0.0, 1.0);
        assert!((all.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        assert_eq!((all[0], all[3], all[16], all[31]), (0.25, 0.25, 0.25, 0.25));
    }

    #[test]
    fn no_bar_is_behind_the_name_of_the_threshold() {
        let group = |name: &str| Group { name: name.into(), values: vec![0.0, 0.9, 1.0] };
        let histogram = Histogram {
            description: String::new(),
            measure: "score".into(),
            groups: [group("in"), group("out")],
            threshold: Some((0.5, "threshold".into())),
        };
        let marks = draw(&histogram).marks;
        let is_name = |mark: &&Mark| matches!(mark, Mark::Text(text) if text.text.starts_with("threshold"));
        let name = marks.iter().find(is_name).and_then(Mark::letters).unwrap_or_else(|| panic!("no name"));
        let tops = marks.iter().filter_map(|mark| match mark {
            // The bars; boxes of the legend have four corners.
            Mark::Area { points, .. } if points.len() > 4 => {
                points.iter().map(|point| point.1).reduce(f32::min)
            }
            _ => None,
        });
        assert!(tops.into_iter().all(|top| top >= name.bottom));
    }

    #[test]
    fn groups_without_spread_or_numbers_still_have_axes() {
        for values in [vec![], vec![2.0, 2.0], vec![f64::NAN], vec![-1e300, 1e300]] {
            let group = Group { name: "in".into(), values };
            let histogram = Histogram {
                description: String::new(),
                measure: "score".into(),
                groups: [group.clone(), group],
                threshold: None,
            };
            let (low, high) = reach(&histogram);
            assert!(low < high && (high - low).is_finite(), "{low} {high}");
            assert!(!draw(&histogram).marks.is_empty());
        }
    }
}
