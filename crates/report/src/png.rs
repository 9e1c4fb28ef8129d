//! A picture as PNG, two pixels to the point, and the letters of DejaVu Sans, whose widths every layout uses.
//!
//! The `dejavu` crate embeds the fonts. Their license is that of Bitstream Vera with public-domain changes and glyphs of Arev: free to
//! use, copy and embed, with its notice kept (`LICENSE` beside the fonts in that crate).

use crate::picture::{Anchor, Ink, Mark, Picture, Place, Stroke, Text, Weight};
use std::sync::OnceLock;
use tiny_skia::{
    Color, FillRule, LineCap, LineJoin, Paint, Path, PathBuilder, Pixmap, Stroke as Line, StrokeDash,
    Transform,
};
use ttf_parser::{Face, OutlineBuilder};

/// Pixels to the point: sharp on a slide.
const SCALE: f32 = 2.0;

/// The file's bytes; `None` when the picture has no area or is too large to hold.
pub fn render(picture: &Picture) -> Option<Vec<u8>> {
    let mut pixels = Pixmap::new((picture.width * SCALE) as u32, (picture.height * SCALE) as u32)?;
    pixels.fill(Color::WHITE);
    for mark in &picture.marks {
        draw(&mut pixels, mark);
    }
    pixels.encode_png().ok().and_then(marked)
}

/// Where the header of every PNG file ends: eight bytes of signature, and a chunk of thirteen with its twelve around.
const HEADER: usize = 33;
/// The chunk after the header by which a file is known as ours: its length, its name, a keyword, a text, and their CRC-32.
const MARK: &[u8] = b"\0\0\0\x11tEXtSoftware\0veracity\x75\xae\x08\x1d";

/// Puts the mark into a file.
fn marked(file: Vec<u8>) -> Option<Vec<u8>> {
    let (header, rest) = file.split_at_checked(HEADER)?;
    Some([header, MARK, rest].concat())
}

/// Whether a file is a picture of ours, whole.
pub fn is_ours(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\x89PNG\r\n\x1a\n")
        && bytes.get(HEADER..).is_some_and(|rest| rest.starts_with(MARK))
        && bytes.ends_with(b"IEND\xae\x42\x60\x82")
}

fn draw(pixels: &mut Pixmap, mark: &Mark) {
    let upright = Transform::from_scale(SCALE, SCALE);
    match mark {
        Mark::Line { points, ink, width, stroke } => {
            let Some(path) = through(points, false) else { return };
            let dash = match stroke {
                Stroke::Solid => None,
                Stroke::Dashed => StrokeDash::new(vec![6.0, 5.0], 0.0),
            };
            let (line_cap, line_join) = (LineCap::Round, LineJoin::Round);
            let line = Line { width: *width, line_cap, line_join, dash, ..Line::default() };
            pixels.stroke_path(&path, &paint(*ink), &line, upright, None);
        }
        Mark::Area { points, ink } => {
            let Some(path) = through(points, true) else { return };
            pixels.fill_path(&path, &paint(*ink), FillRule::Winding, upright, None);
        }
        Mark::Dot { at: (x, y), radius, ink } => {
            let Some(path) = PathBuilder::from_circle(*x, *y, *radius) else { return };
            pixels.fill_path(&path, &paint(*ink), FillRule::Winding, upright, None);
        }
        Mark::Text(text) => letters(pixels, text, upright),
    }
}

fn letters(pixels: &mut Pixmap, text: &Text, upright: Transform) {
    let Some(path) = outline(text) else { return };
    let width = text_width(&text.text, text.size, text.weight);
    let back = match text.anchor {
        Anchor::Start => 0.0,
        Anchor::Middle => -width / 2.0,
        Anchor::End => -width,
    };
    let place = upright.pre_translate(text.at.0, text.at.1).pre_rotate(text.turned).pre_translate(back, 0.0);
    pixels.fill_path(&path, &paint(text.ink), FillRule::Winding, place, None);
}

fn paint(ink: Ink) -> Paint<'static> {
    let [red, green, blue] = ink.rgb;
    let mut paint = Paint::default();
    paint.set_color_rgba8(red, green, blue, (ink.opacity * 255.0) as u8);
    paint
}

fn through(points: &[Place], closed: bool) -> Option<Path> {
    let mut path = PathBuilder::new();
    let (first, rest) = points.split_first()?;
    path.move_to(first.0, first.1);
    for (x, y) in rest {
        path.line_to(*x, *y);
    }
    if closed {
        path.close();
    }
    path.finish()
}

/// The face of a weight; `None` only if the embedded file could not be read.
fn face(weight: Weight) -> Option<&'static Face<'static>> {
    static REGULAR: OnceLock<Option<Face<'static>>> = OnceLock::new();
    static BOLD: OnceLock<Option<Face<'static>>> = OnceLock::new();
    match weight {
        Weight::Regular => REGULAR.get_or_init(|| Face::parse(dejavu::sans::regular(), 0).ok()).as_ref(),
        Weight::Bold => BOLD.get_or_init(|| Face::parse(dejavu::sans::bold(), 0).ok()).as_ref(),
    }
}

/// How wide a text is, in every format.
pub(crate) fn text_width(text: &str, size: f32, weight: Weight) -> f32 {
    let Some(face) = face(weight) else { return 0.6 * size * text.chars().count() as f32 };
    let units: f32 = text.chars().map(|c| advance(face, c)).sum();
    units * size / f32::from(face.units_per_em())
}

/// As much of a text as there is room for.
pub(crate) fn fitted(text: &str, size: f32, weight: Weight, room: f32) -> String {
    if text_width(text, size, weight) <= room {
        return text.to_owned();
    }
    let mut kept = text.to_owned();
    while kept.pop().is_some() {
        let cut = format!("{}…", kept.trim_end_matches([' ', ',', '.', ';']));
        if text_width(&cut, size, weight) <= room {
            return cut;
        }
    }
    kept
}

fn advance(face: &Face<'_>, c: char) -> f32 {
    let glyph = face.glyph_index(c).unwrap_or_default();
    f32::from(face.glyph_hor_advance(glyph).unwrap_or(0))
}

/// The outlines of letters, as if the text began at the origin with y pointing down.
fn outline(text: &Text) -> Option<Path> {
    let face = face(text.weight)?;
    let scale = text.size / f32::from(face.units_per_em());
    let mut pen = Pen { path: PathBuilder::new(), scale, x: 0.0 };
    for c in text.text.chars() {
        face.outline_glyph(face.glyph_index(c).unwrap_or_default(), &mut pen);
        pen.x += advance(face, c) * scale;
    }
    pen.path.finish()
}

/// Turns font units, y up, into points, y down, at the place of a letter.
struct Pen {
    path: PathBuilder,
    scale: f32,
    x: f32,
}

impl Pen {
    fn place(&self, x: f32, y: f32) -> (f32, f32) {
        (self.x + x * self.scale, -y * self.scale)
    }
}

impl OutlineBuilder for Pen {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.place(x, y);
        self.path.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.place(x, y);
        self.path.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ((x1, y1), (x, y)) = (self.place(x1, y1), self.place(x, y));
        self.path.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let ((x1, y1), (x2, y2), (x, y)) = (self.place(x1, y1), self.place(x2, y2), self.place(x, y));
        self.path.cubic_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.path.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiny_skia::PathSegment;

    #[test]
    fn widths_follow_size_and_weight_and_letters_have_their_contours() {
        let width = |text, size, weight| text_width(text, size, weight);
        assert!(width("epsilon", 12.0, Weight::Bold) > width("epsilon", 12.0, Weight::Regular));
        let double = 2.0 * width("iii", 12.0, Weight::Regular);
        assert!((width("iii", 24.0, Weight::Regular) - double).abs() < 1e-3);
        // An l is one outline; an o has a second one inside.
        let (text, weight) = ("lo".to_owned(), Weight::Regular);
        let text = Text {
            at: (0.0, 0.0),
            text,
            size: 12.0,
            ink: Ink::BLACK,
            anchor: Anchor::Start,
            weight,
            turned: 0.0,
        };
        let path = outline(&text).expect("letters have an outline");
        assert_eq!(path.segments().filter(|segment| *segment == PathSegment::Close).count(), 3);
    }
}
