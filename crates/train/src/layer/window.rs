//! A square window that slides over images: where it stops, and what it sees there.

use crate::Shape;
use veracity_core::Refusal;

/// The most zeros around an image.
const MOST_PADDING: usize = 1 << 12;
/// The most numbers that a window sees of one example, at all places together.
const MOST_SEEN: u128 = 1 << 30;

/// A window of `kernel` × `kernel` numbers that moves by `stride` over images with `padding` zeros around them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Window {
    pub channels: usize,
    pub height: usize,
    pub width: usize,
    pub kernel: usize,
    pub stride: usize,
    pub padding: usize,
    /// How often it stops on the way down.
    pub down: usize,
    /// How often it stops on the way along.
    pub along: usize,
}

impl Window {
    pub(super) fn new(
        layer: &str,
        input: Shape,
        kernel: usize,
        stride: usize,
        padding: usize,
    ) -> Result<Window, Refusal> {
        let Shape::Image { channels, height, width } = input else {
            return Err(Refusal::Invalid(format!(
                "a {layer} layer needs an image (channels × height × width), but its input is {input}"
            )));
        };
        if padding >= kernel.max(1) {
            return Err(Refusal::out_of_range("padding", padding, "less than the kernel"));
        }
        // More could not be stored, and less cannot overflow below.
        if padding > MOST_PADDING {
            return Err(Refusal::out_of_range("padding", padding, "at most 2^12"));
        }
        let (padded_height, padded_width) = (height + 2 * padding, width + 2 * padding);
        if kernel == 0 || kernel > padded_height.min(padded_width) {
            return Err(Refusal::Invalid(format!(
                "kernel is {kernel}, expected 1 ≤ kernel ≤ {} for an input of {input}, padding included",
                padded_height.min(padded_width)
            )));
        }
        if stride == 0 || stride > padded_height.max(padded_width) {
            return Err(Refusal::Invalid(format!(
                "stride is {stride}, expected 1 ≤ stride ≤ {} for an input of {input}",
                padded_height.max(padded_width)
            )));
        }
        let stops = |padded: usize| (padded - kernel) / stride + 1;
        let (down, along) = (stops(padded_height), stops(padded_width));
        let window = Window { channels, height, width, kernel, stride, padding, down, along };
        let seen = [channels, kernel, kernel, down, along].map(|side| side as u128).iter().product::<u128>();
        let padded = [channels, padded_height, padded_width].map(|side| side as u128).iter().product();
        if seen.max(padded) > MOST_SEEN {
            return Err(Refusal::out_of_range(
                "window entries per example",
                seen.max(padded),
                "at most 2^30; use a smaller image, kernel or padding, or a larger stride",
            ));
        }
        Ok(window)
    }

    /// How many places it stops at.
    pub(super) fn places(&self) -> usize {
        self.down * self.along
    }

    /// How many numbers it sees at each, in all channels.
    pub(super) fn seen(&self) -> usize {
        self.channels * self.kernel * self.kernel
    }

    /// The size of an image with the zeros around it.
    pub(super) fn padded(&self) -> usize {
        self.channels * self.padded_height() * self.padded_width()
    }

    pub(super) fn padded_height(&self) -> usize {
        self.height + 2 * self.padding
    }

    pub(super) fn padded_width(&self) -> usize {
        self.width + 2 * self.padding
    }

    /// What one such window per channel gives.
    pub(super) fn output(&self, channels: usize) -> Shape {
        Shape::Image { channels, height: self.down, width: self.along }
    }

    /// Where the window starts for each row of outputs, of all channels of all examples. Without padding.
    pub(super) fn row_starts(&self) -> impl Iterator<Item = usize> + use<> {
        let Window { height, width, stride, down, .. } = *self;
        (0..).flat_map(move |plane| (0..down).map(move |row| (plane * height + row * stride) * width))
    }

    /// How far from its start the window's numbers are, in one channel. Without padding.
    pub(super) fn offsets(&self) -> impl Iterator<Item = usize> + use<> {
        let Window { width, kernel, .. } = *self;
        (0..kernel).flat_map(move |y| (0..kernel).map(move |x| y * width + x))
    }
}
