//! A picture as PNG, two pixels to the point.

use crate::{
    font,
    picture::{Anchor, Ink, Mark, Picture, Place, Stroke, Text},
};
use tiny_skia::{
    Color, FillRule, LineCap, LineJoin, Paint, Path, PathBuilder, Pixmap, Stroke as Pen, StrokeDash,
    Transform,
};

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
            let pen = Pen {
                width: *width,
                line_cap: LineCap::Round,
                line_join: LineJoin::Round,
                dash,
                ..Pen::default()
            };
            pixels.stroke_path(&path, &paint(*ink), &pen, upright, None);
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
    let mut outline = Outline(PathBuilder::new());
    font::outline(&text.text, text.size, text.weight, &mut outline);
    let Some(path) = outline.0.finish() else { return };
    let width = font::width(&text.text, text.size, text.weight);
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

/// The letters' pen.
struct Outline(PathBuilder);

impl ttf_parser::OutlineBuilder for Outline {
    fn move_to(&mut self, x: f32, y: f32) {
        self.0.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        self.0.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        self.0.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        self.0.cubic_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.0.close();
    }
}
