//! Convolution as a matrix product: what the window sees at each place, side by side, and the way back.
//!
//! With stride 1 what lies side by side is one number of the window at neighbouring places; with longer strides it is one
//! place's neighbouring numbers. Either way the copies are runs of contiguous floats.

use super::window::Window;
use crate::{
    product::{Into, Matrix, multiply},
    small_product::Grid,
};

impl Window {
    /// How many numbers [`Window::columns`] writes.
    pub(super) fn columns_size(&self) -> usize {
        self.places() * self.seen()
    }

    /// Copies an image into `padded`, with zeros around it.
    pub(super) fn pad(&self, image: &[f32], padded: &mut [f32]) {
        padded.fill(0.0);
        let wide = self.padded_width();
        let planes = padded.chunks_exact_mut(self.padded_height() * wide);
        for (plane, channel) in planes.zip(image.chunks_exact(self.height * self.width)) {
            let rows = plane[self.padding * wide..].chunks_exact_mut(wide);
            for (row, from) in rows.zip(channel.chunks_exact(self.width)) {
                row[self.padding..][..self.width].copy_from_slice(from);
            }
        }
    }

    /// Copies the inside of `padded` back.
    pub(super) fn unpad(&self, padded: &[f32], image: &mut [f32]) {
        let wide = self.padded_width();
        let planes = padded.chunks_exact(self.padded_height() * wide);
        for (plane, channel) in planes.zip(image.chunks_exact_mut(self.height * self.width)) {
            let rows = plane[self.padding * wide..].chunks_exact(wide);
            for (row, to) in rows.zip(channel.chunks_exact_mut(self.width)) {
                to.copy_from_slice(&row[self.padding..][..self.width]);
            }
        }
    }

    /// Writes what the window sees of a padded image.
    pub(super) fn columns(&self, padded: &[f32], columns: &mut [f32]) {
        match (self.stride, self.kernel) {
            (1, _) => self.by_number(padded, columns),
            (_, 2) => self.by_place::<2>(padded, columns),
            (_, 3) => self.by_place::<3>(padded, columns),
            (_, 4) => self.by_place::<4>(padded, columns),
            (_, 5) => self.by_place::<5>(padded, columns),
            (_, 7) => self.by_place::<7>(padded, columns),
            (_, 8) => self.by_place::<8>(padded, columns),
            _ => self.by_place::<0>(padded, columns),
        }
    }

    /// [`Window::columns`] as places × what is seen there.
    pub(super) fn matrix<'a>(&self, columns: &'a [f32]) -> Matrix<'a> {
        if self.stride == 1 {
            Matrix::new(columns, self.seen(), self.places()).transposed()
        } else {
            Matrix::new(columns, self.places(), self.seen())
        }
    }

    /// Writes `left` × `right`, places × what is seen there, the way [`Window::columns`] does.
    pub(super) fn product(&self, columns: &mut [f32], left: Matrix<'_>, right: Matrix<'_>) {
        if self.stride == 1 {
            multiply(columns, Into::Replace, right.transposed(), left.transposed());
        } else {
            multiply(columns, Into::Replace, left, right);
        }
    }

    /// Adds every number of `columns` to where [`Window::columns`] copies it from.
    pub(super) fn add_back(&self, columns: &[f32], padded: &mut [f32]) {
        match (self.stride, self.kernel) {
            (1, _) => self.add_by_number(columns, padded),
            (_, 2) => self.add_by_place::<2>(columns, padded),
            (_, 3) => self.add_by_place::<3>(columns, padded),
            (_, 4) => self.add_by_place::<4>(columns, padded),
            (_, 5) => self.add_by_place::<5>(columns, padded),
            (_, 7) => self.add_by_place::<7>(columns, padded),
            (_, 8) => self.add_by_place::<8>(columns, padded),
            _ => self.add_by_place::<0>(columns, padded),
        }
    }

    /// Where the number (channel, y, x) of the window is when it stands at the start of row `down`.
    fn start(&self, channel: usize, down: usize, y: usize, x: usize) -> usize {
        (channel * self.padded_height() + down * self.stride + y) * self.padded_width() + x
    }

    /// Where in a padded image what the window sees is, places × what is seen there.
    pub(super) fn grid(&self) -> Grid {
        let (down, along) = (0..self.down, 0..self.along);
        let places =
            down.flat_map(|down| along.clone().map(move |x| self.start(0, down, 0, x * self.stride)));
        let numbers = self.numbers().map(|(channel, y, x)| self.start(channel, 0, y, x));
        Grid::new(places.collect(), numbers.collect())
    }

    /// The numbers of the window, in order: channel, y, x.
    fn numbers(&self) -> impl Iterator<Item = (usize, usize, usize)> + use<> {
        let Window { channels, kernel, .. } = *self;
        (0..channels).flat_map(move |c| (0..kernel).flat_map(move |y| (0..kernel).map(move |x| (c, y, x))))
    }

    fn by_number(&self, padded: &[f32], columns: &mut [f32]) {
        for ((channel, y, x), row) in self.numbers().zip(columns.chunks_exact_mut(self.places())) {
            for (down, run) in row.chunks_exact_mut(self.along).enumerate() {
                run.copy_from_slice(&padded[self.start(channel, down, y, x)..][..self.along]);
            }
        }
    }

    fn add_by_number(&self, columns: &[f32], padded: &mut [f32]) {
        for ((channel, y, x), row) in self.numbers().zip(columns.chunks_exact(self.places())) {
            for (down, run) in row.chunks_exact(self.along).enumerate() {
                let target = &mut padded[self.start(channel, down, y, x)..][..self.along];
                target.iter_mut().zip(run).for_each(|(sum, x)| *sum += x);
            }
        }
    }

    /// For each place and channel, where the window's first row starts.
    fn stops(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.down).flat_map(move |down| {
            (0..self.along).flat_map(move |along| {
                (0..self.channels).map(move |channel| self.start(channel, down, 0, along * self.stride))
            })
        })
    }

    /// `KERNEL` is that of the window, or 0 when it is known at run time only.
    fn by_place<const KERNEL: usize>(&self, padded: &[f32], columns: &mut [f32]) {
        let kernel = if KERNEL == 0 { self.kernel } else { KERNEL };
        let wide = self.padded_width();
        for (start, patch) in self.stops().zip(columns.chunks_exact_mut(kernel * kernel)) {
            let from = &padded[start..][..(kernel - 1) * wide + kernel];
            for (y, run) in patch.chunks_exact_mut(kernel).enumerate() {
                run.copy_from_slice(&from[y * wide..][..kernel]);
            }
        }
    }

    fn add_by_place<const KERNEL: usize>(&self, columns: &[f32], padded: &mut [f32]) {
        let kernel = if KERNEL == 0 { self.kernel } else { KERNEL };
        let wide = self.padded_width();
        for (start, patch) in self.stops().zip(columns.chunks_exact(kernel * kernel)) {
            let target = &mut padded[start..][..(kernel - 1) * wide + kernel];
            for (y, run) in patch.chunks_exact(kernel).enumerate() {
                let target = &mut target[y * wide..][..kernel];
                target.iter_mut().zip(run).for_each(|(sum, x)| *sum += x);
            }
        }
    }
}
