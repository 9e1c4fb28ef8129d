//! What one example looks like between two layers.

use std::fmt;

/// The shape of one example's values. Images are stored channel by channel, sequences place by place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
    /// Places, each with so many numbers.
    Sequence {
        /// How many places.
        length: usize,
        /// Numbers at each.
        width: usize,
    },
}

impl Shape {
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
