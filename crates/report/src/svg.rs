//! A picture as SVG, with real text that can be searched and restyled.

use crate::picture::{Anchor, Ink, Mark, Picture, Place, Stroke, Text, Weight};
use std::fmt::Write;

/// The first of these that the reader's machine has is used; all are of similar width.
const FONTS: &str = "DejaVu Sans, Verdana, Bitstream Vera Sans, Geneva, Arial, sans-serif";

/// The file's text.
pub fn render(picture: &Picture) -> String {
    let Picture { width, height, description, marks } = picture;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" font-family=\"{FONTS}\" role=\"img\">\n<title>{}</title>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
        escape(description)
    );
    for mark in marks {
        svg += &element(mark);
        svg.push('\n');
    }
    svg + "</svg>\n"
}

fn element(mark: &Mark) -> String {
    match mark {
        Mark::Line { points, ink, width, stroke } => {
            let dash = match stroke {
                Stroke::Solid => "",
                Stroke::Dashed => " stroke-dasharray=\"6 5\"",
            };
            format!(
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\"{} stroke-width=\"{width}\" \
                 stroke-linejoin=\"round\" stroke-linecap=\"round\"{dash}/>",
                places(points),
                colour(*ink),
                opacity("stroke", *ink)
            )
        }
        Mark::Area { points, ink } => {
            format!(
                "<polygon points=\"{}\" fill=\"{}\"{}/>",
                places(points),
                colour(*ink),
                opacity("fill", *ink)
            )
        }
        Mark::Dot { at: (x, y), radius, ink } => format!(
            "<circle cx=\"{x:.2}\" cy=\"{y:.2}\" r=\"{radius}\" fill=\"{}\"{}/>",
            colour(*ink),
            opacity("fill", *ink)
        ),
        Mark::Text(text) => letters(text),
    }
}

fn letters(text: &Text) -> String {
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
        "<text x=\"{x:.2}\" y=\"{y:.2}\" font-size=\"{}\" text-anchor=\"{anchor}\" fill=\"{}\"{weight}{turned}>{}</text>",
        text.size,
        colour(text.ink),
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

fn colour(ink: Ink) -> String {
    let [red, green, blue] = ink.rgb;
    format!("#{red:02x}{green:02x}{blue:02x}")
}

fn opacity(what: &str, ink: Ink) -> String {
    if ink.opacity < 1.0 { format!(" {what}-opacity=\"{}\"", ink.opacity) } else { String::new() }
}

/// Characters that mean something to XML, and those that XML forbids.
fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe += "&amp;",
            '<' => safe += "&lt;",
            '>' => safe += "&gt;",
            '"' => safe += "&quot;",
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => safe.push(' '),
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_become_markup() {
        assert_eq!(escape("<b a=\"1\">&\u{0}"), "&lt;b a=&quot;1&quot;&gt;&amp; ");
    }
}
