//! A number between two bounds on one axis: what was seen, what is proved, and what is claimed.

use crate::{
    axis::{Axis, Scale},
    chart::{LETTERS, SIZE},
    picture::{Anchor, Ink, Picture, Stroke, Weight},
    png::text_width,
};
use veracity_core::decimal;

const LEFT: f32 = 12.0;
const BAR: (f32, f32) = (72.0, 100.0);
const HEIGHT: f32 = 158.0;
/// The base lines of the labels above the bar: what is claimed, what was shown, what is proved.
const ROWS: [f32; 3] = [15.0, 36.0, 57.0];
/// In so many steps a bar without an end fades out.
const FADES: usize = 8;

/// What is drawn. The truth lies between `lower` and `upper`, unless one of them is wrong.
#[derive(Debug, Clone, PartialEq)]
pub struct Sandwich {
    /// What it shows, for those who cannot see it.
    pub description: String,
    /// What is bounded, such as `epsilon`.
    pub quantity: String,
    /// A lower bound and what it comes from, such as `seen`.
    pub lower: (f64, String),
    /// An upper bound and what it comes from, such as `proved`; without one, the truth may be anything above.
    pub upper: Option<(f64, String)>,
    /// What is claimed of it, where that is another number.
    pub claimed: Option<f64>,
}

/// Lays the picture out.
pub fn draw(sandwich: &Sandwich) -> Picture {
    let description = sandwich.description.clone();
    let mut picture = Picture { width: SIZE.0, height: HEIGHT, description, marks: Vec::new() };
    let axis = axis(sandwich);
    let place = |value: f64| LEFT + axis.place(value) as f32 * (SIZE.0 - 2.0 * LEFT);
    ruler(&mut picture, &axis, &place);
    let (low, name) = (sandwich.lower.0, &sandwich.lower.1);
    let high = sandwich.upper.as_ref().filter(|upper| upper.0.is_finite());
    match high {
        Some((upper, name)) => {
            bar(&mut picture, place(low), place(*upper), low <= *upper);
            let says = format!("{name} ≤ {}", decimal::up(*upper, 4));
            label(&mut picture, place(*upper), ROWS[2], &says, Ink::BLUE);
        }
        None => {
            open_bar(&mut picture, place(low), SIZE.0 - LEFT);
            picture.write((SIZE.0 - 4.0, ROWS[2]), "no upper bound", LETTERS, Ink::GREY, Anchor::End);
        }
    }
    edge(&mut picture, place(low), Ink::VERMILLION);
    let says = format!("{name} ≥ {}", decimal::down(low, 4));
    label(&mut picture, place(low), ROWS[1], &says, Ink::VERMILLION);
    if let Some(claimed) = sandwich.claimed {
        let x = place(claimed);
        picture.line(vec![(x, BAR.0 - 6.0), (x, BAR.1 + 10.0)], Ink::BLACK, 2.0, Stroke::Dashed);
        let says = format!("claim {}", decimal::nearest(claimed, 4));
        label(&mut picture, x, ROWS[0], &says, Ink::BLACK);
    }
    picture
}

/// From 0 to a little beyond the largest number.
fn axis(sandwich: &Sandwich) -> Axis {
    let numbers = [Some(sandwich.lower.0), sandwich.upper.as_ref().map(|upper| upper.0), sandwich.claimed];
    let largest = numbers.into_iter().flatten().filter(|number| number.is_finite()).fold(0.0, f64::max);
    let high = if largest > 0.0 { largest * 1.12 } else { 1.0 };
    Axis { title: sandwich.quantity.clone(), low: 0.0, high, scale: Scale::Linear }
}

fn ruler(picture: &mut Picture, axis: &Axis, place: &impl Fn(f64) -> f32) {
    let end = SIZE.0 - LEFT;
    picture.rectangle((LEFT, end), BAR, Ink::PALE.faint(0.6));
    for (value, label) in axis.ticks() {
        let x = place(value);
        picture.line(vec![(x, BAR.1), (x, BAR.1 + 5.0)], Ink::GREY, 1.2, Stroke::Solid);
        picture.write((x, BAR.1 + 22.0), &label, LETTERS, Ink::GREY, Anchor::Middle);
    }
    picture.line(vec![(LEFT, BAR.1), (end, BAR.1)], Ink::GREY, 1.2, Stroke::Solid);
    picture.write((end, HEIGHT - 8.0), &axis.title, LETTERS, Ink::BLACK, Anchor::End);
}

/// Where the truth may be; in the colour of alarm where the bounds cross, since then one of them is false.
fn bar(picture: &mut Picture, from: f32, to: f32, in_order: bool) {
    let ink = if in_order { Ink::BLUE } else { Ink::VERMILLION };
    picture.rectangle((from, to), BAR, ink.faint(0.35));
    edge(picture, to, Ink::BLUE);
}

/// Where the truth may be when nothing is proved: it has no end, so the bar has none.
fn open_bar(picture: &mut Picture, from: f32, to: f32) {
    let at = |step: usize| from + (to - from) * step as f32 / FADES as f32;
    for step in 0..FADES {
        let ink = Ink::BLUE.faint(0.35 * (1.0 - step as f32 / FADES as f32));
        picture.rectangle((at(step), at(step + 1)), BAR, ink);
    }
}

/// A bound.
fn edge(picture: &mut Picture, x: f32, ink: Ink) {
    picture.line(vec![(x, BAR.0 - 4.0), (x, BAR.1)], ink, 2.6, Stroke::Solid);
}

/// A text above the bar, as near to its place as the picture has room for.
fn label(picture: &mut Picture, x: f32, y: f32, text: &str, ink: Ink) {
    let half = text_width(text, LETTERS, Weight::Bold) / 2.0;
    let x = x.clamp((4.0 + half).min(SIZE.0 / 2.0), (SIZE.0 - 4.0 - half).max(SIZE.0 / 2.0));
    picture.write_bold((x, y), text, LETTERS, ink, Anchor::Middle);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::Mark;

    fn drawn(lower: f64, upper: Option<f64>, claimed: Option<f64>) -> Picture {
        draw(&Sandwich {
            description: String::new(),
            quantity: "epsilon".into(),
            lower: (lower, "seen".into()),
            upper: upper.map(|upper| (upper, "proved".into())),
            claimed,
        })
    }

    fn has_area(picture: &Picture, ink: Ink) -> bool {
        picture.marks.iter().any(|mark| matches!(mark, Mark::Area { ink: found, .. } if found.rgb == ink.rgb))
    }

    #[test]
    fn bounds_that_cross_are_in_the_colour_of_alarm() {
        assert!(has_area(&drawn(1.0, Some(3.0), None), Ink::BLUE));
        assert!(has_area(&drawn(4.1, Some(3.0), Some(3.0)), Ink::VERMILLION));
        assert!(!has_area(&drawn(1.0, Some(3.0), None), Ink::VERMILLION));
    }

    /// Where nothing is proved, the bar has one end: what was shown.
    #[test]
    fn without_an_upper_bound_none_is_drawn() {
        let ends = |picture: &Picture| {
            let is_end = |mark: &&Mark| matches!(mark, Mark::Line { ink, .. } if ink.rgb == Ink::BLUE.rgb);
            picture.marks.iter().filter(is_end).count()
        };
        assert_eq!(ends(&drawn(1.0, Some(3.0), Some(2.0))), 1);
        for (upper, claimed) in [(None, Some(2.0)), (None, None), (Some(f64::INFINITY), Some(2.0))] {
            assert_eq!(ends(&drawn(1.0, upper, claimed)), 0, "{upper:?} {claimed:?}");
        }
    }

    /// Wherever the numbers lie, there is air between any two texts.
    #[test]
    fn no_text_touches_its_neighbour() {
        for (lower, upper, claimed) in [
            (1.0, Some(1.0), Some(1.0)),
            (0.0, Some(4.377), Some(4.377)),
            (4.1, Some(3.0), Some(3.0)),
            (0.0, None, Some(0.5)),
            (123_456.0, None, None),
        ] {
            let picture = drawn(lower, upper, claimed);
            let boxes: Vec<_> = picture.marks.iter().filter_map(Mark::letters).collect();
            for (at, one) in boxes.iter().enumerate() {
                assert!(one.top >= 0.0 && one.bottom <= picture.height, "{one:?}");
                for other in &boxes[at + 1..] {
                    assert!(one.is_apart(other, 3.0), "{one:?} and {other:?}");
                }
            }
        }
    }

    #[test]
    fn printed_bounds_stay_bounds() {
        let says = |picture: Picture| -> Vec<String> {
            let texts = picture.marks.into_iter().filter_map(|mark| match mark {
                Mark::Text(text) => Some(text.text),
                _ => None,
            });
            texts.collect()
        };
        let all = says(drawn(1.234_56, Some(2.345_61), Some(3.0)));
        for expected in ["seen ≥ 1.234", "proved ≤ 2.346", "claim 3"] {
            assert!(all.iter().any(|text| text == expected), "{expected} in {all:?}");
        }
        // Without an upper bound, or with nothing known at all, there is still a picture.
        assert!(says(drawn(0.0, None, None)).iter().any(|text| text == "seen ≥ 0"));
        assert!(says(drawn(0.0, Some(f64::INFINITY), None)).iter().all(|text| !text.contains("proved")));
    }
}
