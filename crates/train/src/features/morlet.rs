//! The filters of a scattering transform: Morlet wavelets, given by their spectra, and a Gaussian low pass, given as one
//! small matrix for each side of the image, since a Gaussian is a product of two.
//!
//! Everything is computed in double precision from libm's functions, periodic on the padded image, and rounded once.

use super::plane::Plane;
use rustfft::num_complex::Complex;
use std::f64::consts::PI;

/// The width of a wavelet at the finest scale, in pixels.
const SPREAD: f64 = 0.8;
/// The frequency of a wavelet at the finest scale, in radians for each pixel.
const FREQUENCY: f64 = 0.75 * PI;
/// How many periods of the image are folded into one on either side; a wavelet has died out long before.
const PERIODS: i64 = 2;

/// The spectrum, column by column, of the wavelet of a scale and an angle on a plane. It is real.
///
/// # Reference  [BrunaMallat13]; constants and order of angles as in [Kymatio20]
pub(super) fn wavelet(plane: &Plane<f64>, scale: usize, angle: usize, angles: usize) -> Vec<f64> {
    let spread = SPREAD * (1u64 << scale) as f64;
    let frequency = FREQUENCY / (1u64 << scale) as f64;
    let theta = ((angles as f64 / 2.0 - 1.0).trunc() - angle as f64) * PI / angles as f64;
    let slant = 4.0 / angles as f64;
    let wave = gabor(plane, spread, theta, frequency, slant);
    let envelope = gabor(plane, spread, theta, 0.0, slant);
    // The mean is taken out, so that a constant image has no wavelet coefficients.
    let mean = wave.iter().sum::<Complex<f64>>() / envelope.iter().sum::<Complex<f64>>();
    let mut values: Vec<_> = wave.iter().zip(&envelope).map(|(w, e)| w - mean * e).collect();
    let mut spectrum = vec![Complex::default(); plane.size()];
    plane.forward(&mut values, &mut spectrum, &mut vec![Complex::default(); plane.scratch()]);
    // A filter f with f(−u) the conjugate of f(u) has a real spectrum; the rest is round-off.
    spectrum.iter().map(|value| value.re).collect()
}

/// A Gaussian of elliptic shape times a plane wave, folded onto the plane.
fn gabor(plane: &Plane<f64>, spread: f64, theta: f64, frequency: f64, slant: f64) -> Vec<Complex<f64>> {
    let (sin, cos) = (libm::sin(theta), libm::cos(theta));
    let curve = 1.0 / (2.0 * spread * spread);
    let down = (cos * cos + slant * slant * sin * sin) * curve;
    let across = 2.0 * sin * cos * (1.0 - slant * slant) * curve;
    let along = (sin * sin + slant * slant * cos * cos) * curve;
    let norm = slant / (2.0 * PI * spread * spread);
    let (height, width) = (plane.height as i64, plane.width as i64);
    let value = |x: f64, y: f64| {
        let size = norm * libm::exp(-(down * x * x + across * x * y + along * y * y));
        let phase = frequency * (x * cos + y * sin);
        Complex::new(size * libm::cos(phase), size * libm::sin(phase))
    };
    let folded = |row: i64, column: i64| {
        let shifts = (-PERIODS..=PERIODS).flat_map(|a| (-PERIODS..=PERIODS).map(move |b| (a, b)));
        shifts.map(|(a, b)| value((row + a * height) as f64, (column + b * width) as f64)).sum()
    };
    (0..height)
        .flat_map(|row| (0..width).map(move |column| (row, column)))
        .map(|(r, c)| folded(r, c))
        .collect()
}

/// Keeps the low frequencies of a spectrum, column by column: what is left of a filter on an image that has lost every second
/// pixel `times` times.
pub(super) fn crop(spectrum: &[f64], plane: &Plane<f64>, times: usize) -> Vec<f64> {
    kept(plane.width, times)
        .flat_map(|column| kept(plane.height, times).map(move |row| spectrum[column * plane.height + row]))
        .collect()
}

/// The frequencies below the limit of a side that has been halved `times` times, in the order of its own spectrum.
fn kept(side: usize, times: usize) -> impl Iterator<Item = usize> {
    let short = side >> times;
    (0..short).map(move |k| if 2 * k < short { k } else { side - short + k })
}

/// The low pass along one side, as a matrix row by row: from a side of `padded` >> `times` pixels to the inner ones of
/// `padded` >> `scales`.
pub(super) fn low_pass(padded: usize, scales: usize, times: usize) -> Vec<f32> {
    let spread = SPREAD * 2f64.powi(scales as i32 - 1);
    let gauss = |u: i64| {
        let x = u as f64;
        libm::exp(-x * x / (2.0 * spread * spread)) / (libm::sqrt(2.0 * PI) * spread)
    };
    let side = padded as i64;
    let folded: Vec<f64> =
        (0..side).map(|u| (-PERIODS..=PERIODS).map(|a| gauss(u + a * side)).sum()).collect();
    let turn = |k: usize, u: usize, of: usize| libm::cos(2.0 * PI * ((k * u) % of) as f64 / of as f64);
    // The kernel is even, so cosines are all of its transform.
    let spectrum: Vec<f64> = (0..padded)
        .map(|k| folded.iter().enumerate().map(|(u, value)| value * turn(k, u, padded)).sum())
        .collect();
    let spectrum: Vec<f64> = kept(padded, times).map(|k| spectrum[k]).collect();
    let short = spectrum.len();
    let kernel: Vec<f64> = (0..short)
        .map(|u| {
            spectrum.iter().enumerate().map(|(k, value)| value * turn(k, u, short)).sum::<f64>()
                / short as f64
        })
        .collect();
    let step = 1 << (scales - times);
    (1..(padded >> scales) - 1)
        .flat_map(|at| (0..short).map(move |from| (at * step + short - from) % short))
        .map(|u| kernel[u] as f32)
        .collect()
}
