//! Several views of one example: its gradient is the mean over them, taken before clipping.

use crate::Shape;
use std::fmt;
use veracity_core::Refusal;
use veracity_noise::{Stream, exact::uniform_below};

/// Makes views of an example, such as shifted or mirrored images.
///
/// A view is a function of one record, the step and its own number, so the mean gradient over an example's views belongs to
/// that record alone, and clipping it bounds the record's contribution as ever. There is no cost in privacy.
///
/// # Reference  \[DeBerradaHayesSmithBalle22\]
pub trait Views: fmt::Debug + Send + Sync {
    /// How many views an example has.
    fn count(&self) -> usize;

    /// Writes view `which` of an example for a step. The same arguments always give the same view.
    fn write(&self, step: u64, which: usize, features: &[f32], view: &mut [f32]);
}

/// Moves that are drawn beforehand and used in turn. A prime, so that steps and views fall on all of them.
const MOVES: usize = 4093;

/// Whether an image may be turned about its vertical axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mirror {
    /// As it is, always.
    Never,
    /// Every other time, by a coin.
    Sometimes,
}

/// An image and shifted, perhaps mirrored copies of it: the first view is the image itself. What is shifted in from beyond
/// its edges is 0.
///
/// # Examples
///
/// ```
/// use veracity_noise::{Entropy, Key, Purpose};
/// use veracity_train::{Mirror, Shape, ShiftedViews, Views};
///
/// let image = Shape::Image { channels: 1, height: 2, width: 3 };
/// let mut rng = Entropy::seeded(1).stream(Purpose::Init, Key::default());
/// let views = ShiftedViews::new(image, 4, 1, Mirror::Never, &mut rng)?;
/// let (features, mut view) = ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [0.0; 6]);
/// // The first view is the image itself; all are functions of one record.
/// views.write(0, 0, &features, &mut view);
/// assert_eq!(view, features);
/// assert_eq!(views.count(), 4);
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct ShiftedViews {
    count: usize,
    height: usize,
    width: usize,
    moves: Vec<Move>,
}

/// What is done to an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Move {
    down: isize,
    right: isize,
    mirrored: bool,
}

impl ShiftedViews {
    /// `count` views of images of this shape, each moved by at most `most` pixels along each side.
    ///
    /// `rng` is a stream of [`veracity_noise::Purpose::Init`] that does not depend on data.
    ///
    /// # Errors
    /// Refuses inputs other than images, counts and shifts out of range, and views that are all alike.
    pub fn new(
        shape: Shape,
        count: usize,
        most: usize,
        mirror: Mirror,
        rng: &mut Stream,
    ) -> Result<ShiftedViews, Refusal> {
        let Shape::Image { height, width, .. } = shape else {
            return Err(Refusal::Invalid(
                "views need images; set the input to three sides: channels, height and width".into(),
            ));
        };
        if !(2..=1 << 12).contains(&count) {
            return Err(Refusal::out_of_range("views", count, "2 ≤ views ≤ 4096"));
        }
        if most >= height.min(width) {
            return Err(Refusal::out_of_range("shift", most, "less than a side of the image"));
        }
        if most == 0 && mirror == Mirror::Never {
            return Err(Refusal::Invalid(
                "all views are equal; use a shift of at least 1, or mirrored views".into(),
            ));
        }
        let mut shift = || uniform_below(2 * most as u128 + 1, rng) as isize - most as isize;
        let shifts: Vec<[isize; 2]> = (0..MOVES).map(|_| [shift(), shift()]).collect();
        let mut coin = || mirror == Mirror::Sometimes && uniform_below(2, rng) == 1;
        let moves = shifts.into_iter().map(|[down, right]| Move { down, right, mirrored: coin() }).collect();
        Ok(ShiftedViews { count, height, width, moves })
    }

    /// The row or column that a place of the view shows, if it is within the image.
    fn source(at: usize, by: isize, side: usize) -> Option<usize> {
        at.checked_add_signed(-by).filter(|from| *from < side)
    }
}

impl Views for ShiftedViews {
    fn count(&self) -> usize {
        self.count
    }

    fn write(&self, step: u64, which: usize, features: &[f32], view: &mut [f32]) {
        if which == 0 {
            view.copy_from_slice(features);
            return;
        }
        // The remainder of a product is that of remainders; no step overflows it.
        let turn = (step % MOVES as u64) as usize * (self.count % MOVES) + which;
        let Move { down, right, mirrored } = self.moves[turn % MOVES];
        let plane = self.height * self.width;
        for (from, to) in features.chunks_exact(plane).zip(view.chunks_exact_mut(plane)) {
            for (at, row) in to.chunks_exact_mut(self.width).enumerate() {
                let Some(source) = ShiftedViews::source(at, down, self.height) else {
                    row.fill(0.0);
                    continue;
                };
                let source = &from[source * self.width..][..self.width];
                for (at, pixel) in row.iter_mut().enumerate() {
                    let at = if mirrored { self.width - 1 - at } else { at };
                    *pixel = ShiftedViews::source(at, right, self.width).map_or(0.0, |from| source[from]);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use veracity_noise::{Entropy, Key, Purpose};

    const SHAPE: Shape = Shape::Image { channels: 2, height: 3, width: 4 };

    fn shifted(count: usize, most: usize, mirror: Mirror) -> Result<ShiftedViews, Refusal> {
        let mut rng = Entropy::seeded(3).stream(Purpose::Init, Key::default());
        ShiftedViews::new(SHAPE, count, most, mirror, &mut rng)
    }

    /// A slow twin: where a pixel came from, by arithmetic on whole numbers.
    fn slow(features: &[f32], way: Move) -> Vec<f32> {
        let mut view = Vec::new();
        for channel in 0..2 {
            for row in 0..3isize {
                for column in 0..4isize {
                    let column = if way.mirrored { 3 - column } else { column };
                    let (y, x) = (row - way.down, column - way.right);
                    let inside = (0..3).contains(&y) && (0..4).contains(&x);
                    view.push(if inside { features[channel * 12 + (y * 4 + x) as usize] } else { 0.0 });
                }
            }
        }
        view
    }

    #[test]
    fn views_are_the_image_and_its_shifted_and_mirrored_copies() {
        let features: Vec<f32> = (1..=24).map(|x| x as f32).collect();
        let views = shifted(5, 2, Mirror::Sometimes).unwrap();
        let mut seen = std::collections::HashSet::new();
        for step in 0..400 {
            for which in 0..5 {
                let mut view = vec![f32::NAN; 24];
                views.write(step, which, &features, &mut view);
                let turn = (step as usize * 5 + which) % MOVES;
                let way = match which {
                    0 => Move { down: 0, right: 0, mirrored: false },
                    _ => views.moves[turn],
                };
                assert_eq!(view, slow(&features, way));
                seen.insert((way.down, way.right, way.mirrored));
            }
        }
        // Five shifts down, five right, mirrored or not: all of them come up.
        assert_eq!(seen.len(), 50);
        views.write(u64::MAX, 4, &features, &mut [0.0; 24]);
    }

    #[test]
    fn views_that_cannot_be_made_are_refused() {
        assert!(shifted(1, 1, Mirror::Never).unwrap_err().to_string().contains("2 ≤ views"));
        assert!(shifted(2, 3, Mirror::Never).unwrap_err().to_string().contains("side of the image"));
        assert!(shifted(2, 0, Mirror::Never).unwrap_err().to_string().contains("all views are equal"));
        let mut rng = Entropy::seeded(3).stream(Purpose::Init, Key::default());
        let flat = ShiftedViews::new(Shape::Flat(12), 2, 1, Mirror::Never, &mut rng);
        assert!(flat.unwrap_err().to_string().contains("three sides"));
    }
}
