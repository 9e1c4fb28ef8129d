//! The scattering transform of images: wavelets, moduli, wavelets again, moduli, and a low pass; nothing is learnt.
//!
//! An image is padded by reflection and transformed once. Each first wavelet gives a modulus, which is averaged (order 1)
//! and, where finer than another, filtered by each coarser wavelet for a second modulus, averaged as well (order 2). The
//! average of the image itself is order 0. Filtering by wavelets happens in the spectrum, where taking every second pixel is
//! folding; averaging happens in space, as two small matrix products.

use super::{
    Map, Scratch, filled,
    morlet::{crop, low_pass, wavelet},
    plane::Plane,
};
use crate::Shape;
use rustfft::num_complex::Complex;
use veracity_core::Refusal;

/// Scattering of order 2.
///
/// # Reference  [BrunaMallat13]; padding, filters and order of channels as in [Kymatio20]
/// # Numerics   In f32, within 1e-5 of the largest feature. The order of operations depends on the machine's vector
/// instructions and on nothing else
pub(super) struct Scattering {
    input: Shape,
    side: Side,
    scales: usize,
    wavelets: Vec<Wavelet>,
    /// The size of the padded image after each number of halvings.
    planes: Vec<Plane<f32>>,
    /// The low pass after each number of halvings, down and across.
    averages: Vec<(Vec<f32>, Vec<f32>)>,
}

/// The sides of one channel.
#[derive(Clone, Copy)]
struct Side {
    channels: usize,
    height: usize,
    width: usize,
}

/// A wavelet's spectra on images that have been halved so many times.
struct Wavelet {
    scale: usize,
    levels: Vec<Vec<f32>>,
}

/// Memory for one image, cut from the scratch space.
struct Room<'a> {
    image: &'a mut [Complex<f32>],
    first: &'a mut [Complex<f32>],
    folded: &'a mut [Complex<f32>],
    plane: &'a mut [Complex<f32>],
    fft: &'a mut [Complex<f32>],
    modulus: &'a mut [f32],
    half: &'a mut [f32],
}

impl Scattering {
    pub(super) fn new(input: Shape, scales: usize, angles: usize) -> Result<Scattering, Refusal> {
        let Shape::Image { channels, height, width } = input else {
            return Err(Refusal::Invalid(format!("scattering needs images, but the input is {input}")));
        };
        if !(1..=8).contains(&scales) {
            return Err(Refusal::out_of_range("scales", scales, "1 ≤ scales ≤ 8"));
        }
        if !(1..=64).contains(&angles) {
            return Err(Refusal::out_of_range("angles", angles, "1 ≤ angles ≤ 64"));
        }
        let padded = |side: usize| ((side >> scales) + 2) << scales;
        let fits =
            |side: usize| (1 << scales..=1 << 12).contains(&side) && (padded(side) - side).div_ceil(2) < side;
        if !fits(height) || !fits(width) {
            return Err(Refusal::out_of_range(
                "image",
                input,
                "sides of at most 4096 and large enough to reflect 2^scales pixels; use fewer scales",
            ));
        }
        let (high, wide) = (padded(height), padded(width));
        let exact = Plane::new(high, wide);
        let of_scale = |scale| (0..angles).map(move |angle| (scale, angle));
        let wavelets = (0..scales)
            .flat_map(of_scale)
            .map(|(scale, angle)| {
                let spectrum = wavelet(&exact, scale, angle, angles);
                // Moduli of finer wavelets come halved fewer times than this one's scale.
                let levels = (0..scale.max(1)).map(|times| round(&crop(&spectrum, &exact, times))).collect();
                Wavelet { scale, levels }
            })
            .collect();
        Ok(Scattering {
            input,
            side: Side { channels, height, width },
            scales,
            wavelets,
            planes: (0..scales).map(|times| Plane::new(high >> times, wide >> times)).collect(),
            averages: (0..scales)
                .map(|times| (low_pass(high, scales, times), low_pass(wide, scales, times)))
                .collect(),
        })
    }

    /// Features of one channel.
    fn paths(&self) -> usize {
        let coarser = |finer: &Wavelet| self.wavelets.iter().filter(|w| w.scale > finer.scale).count();
        1 + self.wavelets.iter().map(|wavelet| 1 + coarser(wavelet)).sum::<usize>()
    }

    fn averaged(&self) -> (usize, usize) {
        (self.side.height >> self.scales, self.side.width >> self.scales)
    }

    fn channel(&self, pixels: &[f32], output: &mut [f32], room: &mut Room<'_>) {
        let (high, wide) = self.averaged();
        let mut outputs = output.chunks_exact_mut(high * wide);
        let mut next = || outputs.next().expect("there is one output for each path");
        self.pad(pixels, room);
        self.average(0, room, next());
        self.planes[0].forward(room.plane, room.image, room.fft);
        // Order 1 comes first as a whole: the second orders of each wavelet are written behind it.
        let firsts: Vec<&mut [f32]> = self.wavelets.iter().map(|_| next()).collect();
        for (first, target) in self.wavelets.iter().zip(firsts) {
            let level = first.scale;
            fold(room.image, &first.levels[0], &self.planes[0], level, room.folded);
            self.modulus(level, room);
            self.average(level, room, target);
            if level + 1 == self.scales {
                continue;
            }
            let size = self.planes[level].size();
            lift(&room.modulus[..size], &mut room.plane[..size]);
            self.planes[level].forward(&mut room.plane[..size], &mut room.first[..size], room.fft);
            for second in self.wavelets.iter().filter(|second| second.scale > level) {
                let times = second.scale - level;
                fold(&room.first[..size], &second.levels[level], &self.planes[level], times, room.folded);
                self.modulus(second.scale, room);
                self.average(second.scale, room, next());
            }
        }
    }

    /// Reflects the image about its border pixels, which are not repeated.
    fn pad(&self, pixels: &[f32], room: &mut Room<'_>) {
        let Side { height, width, .. } = self.side;
        let (high, wide) = (self.planes[0].height, self.planes[0].width);
        let reflect = |at: usize, padded: usize, side: usize| {
            let from = at.abs_diff((padded - side) / 2);
            if from < side { from } else { 2 * (side - 1) - from }
        };
        for (at, row) in room.modulus[..high * wide].chunks_exact_mut(wide).enumerate() {
            let from = &pixels[reflect(at, high, height) * width..][..width];
            for (column, value) in row.iter_mut().enumerate() {
                *value = from[reflect(column, wide, width)];
            }
        }
        lift(&room.modulus[..high * wide], room.plane);
    }

    /// From the folded spectrum to the modulus of its plane.
    fn modulus(&self, level: usize, room: &mut Room<'_>) {
        let plane = &self.planes[level];
        let size = plane.size();
        plane.inverse(&mut room.folded[..size], &mut room.plane[..size], room.fft);
        for (modulus, value) in room.modulus.iter_mut().zip(&room.plane[..size]) {
            *modulus = (value.re * value.re + value.im * value.im).sqrt();
        }
    }

    /// Down, then across.
    fn average(&self, level: usize, room: &mut Room<'_>, output: &mut [f32]) {
        let (down, across) = &self.averages[level];
        let Plane { height, width, .. } = self.planes[level];
        let (high, wide) = self.averaged();
        let half = &mut room.half[..high * width];
        half.fill(0.0);
        for (weights, row) in down.chunks_exact(height).zip(half.chunks_exact_mut(width)) {
            for (weight, from) in weights.iter().zip(room.modulus.chunks_exact(width)) {
                for (sum, value) in row.iter_mut().zip(from) {
                    *sum += weight * value;
                }
            }
        }
        for (row, target) in half.chunks_exact(width).zip(output.chunks_exact_mut(wide)) {
            for (weights, target) in across.chunks_exact(width).zip(target) {
                *target = weights.iter().zip(row).map(|(weight, value)| weight * value).sum();
            }
        }
    }
}

impl Map for Scattering {
    fn output(&self) -> Shape {
        let (height, width) = self.averaged();
        Shape::Image { channels: self.side.channels * self.paths(), height, width }
    }

    fn map(&self, input: &[f32], output: &mut [f32], scratch: &mut Scratch) {
        let size = self.planes[0].size();
        let fft = self.planes.iter().map(Plane::scratch).max().unwrap_or(0);
        let complex = filled(&mut scratch.complex, 4 * size + fft);
        let (image, rest) = complex.split_at_mut(size);
        let (first, rest) = rest.split_at_mut(size);
        let (folded, rest) = rest.split_at_mut(size);
        let (plane, fft) = rest.split_at_mut(size);
        let (modulus, half) = filled(&mut scratch.real, 2 * size).split_at_mut(size);
        let mut room = Room { image, first, folded, plane, fft, modulus, half };
        let (from, to) = (self.input.size() / self.side.channels, output.len() / self.side.channels);
        for (pixels, output) in input.chunks_exact(from).zip(output.chunks_exact_mut(to)) {
            self.channel(pixels, output, &mut room);
        }
    }
}

/// The filtered spectrum of the plane that keeps one pixel of 2^`times` along each side.
fn fold(
    spectrum: &[Complex<f32>],
    filter: &[f32],
    plane: &Plane<f32>,
    times: usize,
    folded: &mut [Complex<f32>],
) {
    let (height, width) = (plane.height >> times, plane.width >> times);
    let scale = 1.0 / plane.size() as f32;
    let folded = &mut folded[..height * width];
    folded.fill(Complex::default());
    let columns = spectrum.chunks_exact(height).zip(filter.chunks_exact(height));
    // Stored column by column: a long column is 2^times short ones, all of which go to the same place.
    for (at, (spectrum, filter)) in columns.enumerate() {
        let target = &mut folded[(at >> times) % width * height..][..height];
        for ((sum, value), weight) in target.iter_mut().zip(spectrum).zip(filter) {
            *sum += value * weight;
        }
    }
    for value in folded {
        *value *= scale;
    }
}

fn lift(values: &[f32], plane: &mut [Complex<f32>]) {
    for (complex, value) in plane.iter_mut().zip(values) {
        *complex = Complex::new(*value, 0.0);
    }
}

fn round(values: &[f64]) -> Vec<f32> {
    values.iter().map(|value| *value as f32).collect()
}
