//! A picture as SVG, with real text that can be searched and restyled.
//!
//! [`render`] gives a file of its own, on white. [`inline`] gives an element for a page: it has no ground, takes the width it
//! is given, and its colours are the page's, by name, so that the picture follows the page from light to dark.

use crate::{
    markup::escape,
    picture::{Anchor, Ink, Mark, Picture, Place, Stroke, Text, Weight},
};
use std::fmt::Write;

/// The first of these that the reader's machine has is used; all are of similar width.
const FONTS: &str = "DejaVu Sans, Verdana, Bitstream Vera Sans, Geneva, Arial, sans-serif";

/// The second line of every file, by which it is known as ours.
const MARK: &str = "<metadata>veracity</metadata>\n";

/// Whether a file is a picture of ours, whole.
pub fn is_ours(bytes: &[u8]) -> bool {
    let second = bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |end| end + 1);
    bytes.starts_with(b"<svg xmlns=\"http://www.w3.org/2000/svg\" ")
        && bytes[second..].starts_with(MARK.as_bytes())
        && bytes.ends_with(b"</svg>\n")
}

/// The file's text.
pub fn render(picture: &Picture) -> String {
    let Picture { width, height, description, marks } = picture;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" font-family=\"{FONTS}\" role=\"img\">\n{MARK}<title>{}</title>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
        escape(description)
    );
    for mark in marks {
        svg += &element(mark, Colours::Fixed);
        svg.push('\n');
    }
    svg + "</svg>\n"
}

/// An element for a page that has the colours of [`names`].
pub fn inline(picture: &Picture) -> String {
    let Picture { width, height, description, marks } = picture;
    let marks: String = marks.iter().map(|mark| element(mark, Colours::Named)).collect();
    format!(
        "<svg viewBox=\"0 0 {width} {height}\" role=\"img\"><title>{}</title>{marks}</svg>",
        escape(description)
    )
}

/// The CSS variables of an inline picture, each with the ink that it stands for.
pub fn names() -> [(&'static str, Ink); 6] {
    [
        ("--text", Ink::BLACK),
        ("--soft", Ink::GREY),
        ("--grid", Ink::PALE),
        ("--ground", Ink::WHITE),
        ("--first", Ink::BLUE),
        ("--second", Ink::VERMILLION),
    ]
}

/// Whether colours are written out or called by the names of the page.
#[derive(Clone, Copy)]
enum Colours {
    Fixed,
    Named,
}

impl Colours {
    /// The attribute that paints a part, `fill` or `stroke`.
    fn paint(self, part: &str, ink: Ink) -> String {
        let name = names().into_iter().find(|(_, known)| known.rgb == ink.rgb);
        let colour = match (self, name) {
            (Colours::Named, Some((name, _))) => format!("style=\"{part}:var({name})\""),
            (Colours::Named, None) | (Colours::Fixed, _) => {
                let [red, green, blue] = ink.rgb;
                format!("{part}=\"#{red:02x}{green:02x}{blue:02x}\"")
            }
        };
        if ink.opacity < 1.0 {
            return format!("{colour} {part}-opacity=\"{}\"", ink.opacity);
        }
        colour
    }
}

fn element(mark: &Mark, colours: Colours) -> String {
    match mark {
        Mark::Line { points, ink, width, stroke } => {
            let dash = match stroke {
                Stroke::Solid => "",
                Stroke::Dashed => " stroke-dasharray=\"6 5\"",
            };
            format!(
                "<polyline points=\"{}\" fill=\"none\" {} stroke-width=\"{width}\" \
                 stroke-linejoin=\"round\" stroke-linecap=\"round\"{dash}/>",
                places(points),
                colours.paint("stroke", *ink)
            )
        }
        Mark::Area { points, ink } => {
            format!("<polygon points=\"{}\" {}/>", places(points), colours.paint("fill", *ink))
        }
        Mark::Dot { at: (x, y), radius, ink } => {
            format!("<circle cx=\"{x:.2}\" cy=\"{y:.2}\" r=\"{radius}\" {}/>", colours.paint("fill", *ink))
        }
        Mark::Text(text) => letters(text, colours),
    }
}

fn letters(text: &Text, colours: Colours) -> String {
    let (x, y) = text.at;
    let anchor = match text.anchor {
        Anchor::Start => "start",
        Anchor::Middle => "middle",
        Anchor::End => "end",
    };
    let weight = match text.weight {
        Weight::Regular => "",
        Weight::Bold => " font-weight=\"bold\"",
    };
    let turned = if text.turned == 0.0 {
        String::new()
    } else {
        format!(" transform=\"rotate({} {x:.2} {y:.2})\"", text.turned)
    };
    format!(
        "<text x=\"{x:.2}\" y=\"{y:.2}\" font-size=\"{}\" text-anchor=\"{anchor}\" {}{weight}{turned}>{}</text>",
        text.size,
        colours.paint("fill", text.ink),
        escape(&text.text)
    )
}

fn places(points: &[Place]) -> String {
    let mut all = String::new();
    for (x, y) in points {
        // Writing to a string does not fail.
        let _ = write!(all, "{x:.2},{y:.2} ");
    }
    all.truncate(all.trim_end().len());
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inline_picture_has_the_colours_of_its_page_and_no_ground() {
        let mut picture =
            Picture { width: 10.0, height: 5.0, description: "a <b>".into(), marks: Vec::new() };
        for (_, ink) in names() {
            picture.dot((1.0, 1.0), 1.0, ink.faint(0.5));
        }
        let page = inline(&picture);
        for (name, _) in names() {
            assert!(page.contains(&format!("fill:var({name})")), "{name} in {page}");
        }
        assert!(!page.contains('#') && !page.contains("<rect") && page.contains("a &lt;b&gt;"), "{page}");
        let file = render(&picture);
        assert!(file.contains("#0072b2") && !file.contains("var("), "{file}");
    }
}
