//! Letters as outlines and widths, from DejaVu Sans.
//!
//! The fonts come embedded by the `dejavu` crate. Their licence is that of Bitstream Vera with public-domain changes and
//! glyphs of Arev: free to use, copy and embed, with its notice kept (`LICENSE` beside the fonts in that crate).

pub use ttf_parser::OutlineBuilder;

use crate::picture::Weight;
use std::sync::OnceLock;
use ttf_parser::Face;

/// The face of a weight; `None` only if the embedded file could not be read.
fn face(weight: Weight) -> Option<&'static Face<'static>> {
    static REGULAR: OnceLock<Option<Face<'static>>> = OnceLock::new();
    static BOLD: OnceLock<Option<Face<'static>>> = OnceLock::new();
    match weight {
        Weight::Regular => REGULAR.get_or_init(|| Face::parse(dejavu::sans::regular(), 0).ok()).as_ref(),
        Weight::Bold => BOLD.get_or_init(|| Face::parse(dejavu::sans::bold(), 0).ok()).as_ref(),
    }
}

/// How wide a text is.
///
/// # Examples
///
/// ```
/// use veracity_report::{font::width, picture::Weight};
///
/// assert!(width("epsilon", 12.0, Weight::Bold) > width("epsilon", 12.0, Weight::Regular));
/// assert!((width("iii", 24.0, Weight::Regular) - 2.0 * width("iii", 12.0, Weight::Regular)).abs() < 1e-3);
/// ```
pub fn width(text: &str, size: f32, weight: Weight) -> f32 {
    let Some(face) = face(weight) else { return 0.6 * size * text.chars().count() as f32 };
    let units: f32 = text.chars().map(|c| advance(face, c)).sum();
    units * size / f32::from(face.units_per_em())
}

fn advance(face: &Face<'_>, c: char) -> f32 {
    let glyph = face.glyph_index(c).unwrap_or_default();
    f32::from(face.glyph_hor_advance(glyph).unwrap_or(0))
}

/// Passes the outline of each letter to `pen`, as if the text began at the origin with y pointing down.
///
/// # Examples
///
/// ```
/// use veracity_report::{font::{OutlineBuilder, outline}, picture::Weight};
///
/// struct Contours(usize);
/// impl OutlineBuilder for Contours {
///     fn move_to(&mut self, _: f32, _: f32) {}
///     fn line_to(&mut self, _: f32, _: f32) {}
///     fn quad_to(&mut self, _: f32, _: f32, _: f32, _: f32) {}
///     fn curve_to(&mut self, _: f32, _: f32, _: f32, _: f32, _: f32, _: f32) {}
///     fn close(&mut self) {
///         self.0 += 1;
///     }
/// }
/// let mut pen = Contours(0);
/// // An l is one outline; an o has a second one inside.
/// outline("lo", 12.0, Weight::Regular, &mut pen);
/// assert_eq!(pen.0, 3);
/// ```
pub fn outline(text: &str, size: f32, weight: Weight, pen: &mut impl OutlineBuilder) {
    let Some(face) = face(weight) else { return };
    let scale = size / f32::from(face.units_per_em());
    let mut moved = Moved { pen, scale, x: 0.0 };
    for c in text.chars() {
        let glyph = face.glyph_index(c).unwrap_or_default();
        face.outline_glyph(glyph, &mut moved);
        moved.x += advance(face, c) * scale;
    }
}

/// Font units, y up, become points, y down, at the letter's place.
struct Moved<'a, P> {
    pen: &'a mut P,
    scale: f32,
    x: f32,
}

impl<P> Moved<'_, P> {
    fn place(&self, x: f32, y: f32) -> (f32, f32) {
        (self.x + x * self.scale, -y * self.scale)
    }
}

impl<P: OutlineBuilder> OutlineBuilder for Moved<'_, P> {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.place(x, y);
        self.pen.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.place(x, y);
        self.pen.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ((x1, y1), (x, y)) = (self.place(x1, y1), self.place(x, y));
        self.pen.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let ((x1, y1), (x2, y2), (x, y)) = (self.place(x1, y1), self.place(x2, y2), self.place(x, y));
        self.pen.curve_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.pen.close();
    }
}
