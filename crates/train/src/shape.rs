//! What one example looks like between two layers.

use std::fmt;
use veracity_core::Refusal;

/// The shape of one example's values. Images are stored channel by channel, sequences place by place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Shape {
    /// Plain numbers.
    Flat(usize),
    /// Channels of height × width.
    Image {
        /// How many channels.
        channels: usize,
        /// Rows of a channel.
        height: usize,
        /// Columns of a channel.
        width: usize,
    },
    /// Places, each with `width` numbers.
    Sequence {
        /// How many places.
        length: usize,
        /// Numbers at each.
        width: usize,
    },
}

impl Shape {
    /// The most numbers one example may have.
    pub const MOST: usize = 1 << 28;

    /// The shape, if an example has at least one number and at most [`Shape::MOST`].
    ///
    /// # Errors
    /// Refuses other sizes.
    pub fn checked(self) -> Result<Shape, Refusal> {
        let sides = match self {
            Shape::Flat(size) => [size, 1, 1],
            Shape::Image { channels, height, width } => [channels, height, width],
            Shape::Sequence { length, width } => [length, width, 1],
        };
        let size = sides.iter().try_fold(1usize, |size, side| size.checked_mul(*side));
        match size {
            Some(1..=Shape::MOST) => Ok(self),
            _ => Err(Refusal::out_of_range("shape", self, "1 to 2^28 numbers for each example")),
        }
    }

    /// The shape of so many sides, as files have it: one for plain numbers, length and width of a sequence, or channels, height
    /// and width of an image.
    ///
    /// # Errors
    /// Refuses no sides, more than three, and sizes out of range.
    ///
    /// # Examples
    ///
    /// ```
    /// use veracity_train::Shape;
    ///
    /// assert_eq!(Shape::of_sides(&[1, 28, 28])?, Shape::Image { channels: 1, height: 28, width: 28 });
    /// assert_eq!(Shape::Sequence { length: 5, width: 2 }.sides(), [5, 2]);
    /// assert!(Shape::of_sides(&[]).is_err() && Shape::of_sides(&[3, 0]).is_err());
    /// # Ok::<(), veracity_core::Refusal>(())
    /// ```
    pub fn of_sides(sides: &[usize]) -> Result<Shape, Refusal> {
        match *sides {
            [size] => Shape::Flat(size),
            [length, width] => Shape::Sequence { length, width },
            [channels, height, width] => Shape::Image { channels, height, width },
            _ => return Err(Refusal::out_of_range("sides of the input", sides.len(), "1, 2 or 3")),
        }
        .checked()
    }

    /// Its sides, as files have them.
    pub fn sides(self) -> Vec<usize> {
        match self {
            Shape::Flat(size) => vec![size],
            Shape::Sequence { length, width } => vec![length, width],
            Shape::Image { channels, height, width } => vec![channels, height, width],
        }
    }

    /// How many numbers one example has.
    pub fn size(self) -> usize {
        match self {
            Shape::Flat(size) => size,
            Shape::Image { channels, height, width } => channels * height * width,
            Shape::Sequence { length, width } => length * width,
        }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Shape::Flat(size) => write!(f, "{size}"),
            Shape::Image { channels, height, width } => write!(f, "{channels}×{height}×{width}"),
            Shape::Sequence { length, width } => write!(f, "{length}×{width}"),
        }
    }
}
