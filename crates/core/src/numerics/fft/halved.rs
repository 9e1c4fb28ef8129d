//! Transforms by rustfft's radix-4 algorithm alone, on even and odd places as one complex sequence of half the length.
//!
//! With z_j = x_{2j} + i x_{2j+1}, Z its transform of length M = N/2 and w = e^{−2πi/N}: the transform of the even places is
//! E_k = (Z_k + Z̄_{M−k})/2, that of the odd ones O_k = (Z_k − Z̄_{M−k})/2i, and X_k = E_k + w^k O_k. One radix-2 level on top of a
//! radix-4 transform, so the bound of [`super::RealFft::roundoff`] is the same: r per level, one level for the split.

use num_complex::Complex64;
use rustfft::{Fft, FftDirection, algorithm::Radix4};
use std::{cell::RefCell, f64::consts::PI, rc::Rc};

thread_local! {
    /// The plans of each power of two, made when they are first needed.
    static KNOWN: RefCell<Vec<Option<Rc<Halves>>>> = const { RefCell::new(Vec::new()) };
}

/// Transforms of one length.
pub(super) struct Plan(Rc<Halves>);

struct Halves {
    forward: Radix4<f64>,
    inverse: Radix4<f64>,
    /// w^k for k = 0 … N/4.
    twiddles: Vec<Complex64>,
}

impl Plan {
    /// # Assumes  `len` is a power of two and at least 2
    pub(super) fn new(len: usize) -> Plan {
        KNOWN.with_borrow_mut(|known| {
            let level = len.trailing_zeros() as usize;
            known.resize(known.len().max(level + 1), None);
            Plan(Rc::clone(known[level].get_or_insert_with(|| Rc::new(Halves::new(len)))))
        })
    }

    pub(super) fn forward(&self, values: &mut [f64]) -> Vec<Complex64> {
        let half = values.len() / 2;
        let mut spectrum = Vec::with_capacity(half + 1);
        spectrum.extend(values.as_chunks::<2>().0.iter().map(|&[even, odd]| Complex64::new(even, odd)));
        self.0.forward.process(&mut spectrum);
        spectrum.push(spectrum[0]);
        for (k, twiddle) in self.0.twiddles.iter().enumerate() {
            let (here, there) = (spectrum[k], spectrum[half - k].conj());
            let even = 0.5 * (here + there);
            // −i/2 times the difference is the odd part.
            let difference = 0.5 * (here - there);
            let odd = twiddle * Complex64::new(difference.im, -difference.re);
            spectrum[k] = even + odd;
            spectrum[half - k] = (even - odd).conj();
        }
        spectrum
    }

    /// N times the sequence.
    pub(super) fn inverse(&self, spectrum: &mut [Complex64]) -> Vec<f64> {
        let half = spectrum.len() - 1;
        for (k, twiddle) in self.0.twiddles.iter().enumerate() {
            let (here, there) = (spectrum[k], spectrum[half - k].conj());
            let even = here + there;
            let odd = twiddle.conj() * (here - there);
            // E + iO, and at M − k the conjugates of both.
            let turned = Complex64::new(-odd.im, odd.re);
            spectrum[k] = even + turned;
            spectrum[half - k] = (even - turned).conj();
        }
        self.0.inverse.process(&mut spectrum[..half]);
        spectrum[..half].iter().flat_map(|value| [value.re, value.im]).collect()
    }
}

impl Halves {
    fn new(len: usize) -> Halves {
        let half = len / 2;
        let turn = |k: usize| Complex64::from_polar(1.0, -2.0 * PI * k as f64 / len as f64);
        Halves {
            forward: Radix4::new(half, FftDirection::Forward),
            inverse: Radix4::new(half, FftDirection::Inverse),
            twiddles: (0..=half / 2).map(turn).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{RealFft, tests::slow};
    use super::*;
    use crate::numerics::UNIT;

    /// Numbers of both signs and of very different sizes.
    fn values(len: usize) -> Vec<f64> {
        let number = |j: usize| ((j * j + 3 * j) % 17) as f64 - 8.0 + 1e-9 * (j % 5) as f64;
        (0..len).map(|j| number(j) * 2f64.powi(-((j % 40) as i32))).collect()
    }

    #[test]
    fn agrees_with_the_sum_within_the_bound() {
        for len in [2, 4, 8, 16, 32, 256, 2048] {
            let (plan, fft, values) = (Plan::new(len), RealFft::new(len), values(len));
            let norm: f64 = values.iter().map(|x| x.abs()).sum();
            let mut spectrum = plan.forward(&mut values.clone());
            assert_eq!(spectrum.len(), len / 2 + 1);
            for (fast, slow) in spectrum.iter().zip(slow(&values)) {
                // The slow sum has an error of its own, of the order of a few units.
                assert!((fast - slow).norm() <= (fft.roundoff() + 16.0 * UNIT) * norm, "{len}");
            }
            for (back, value) in plan.inverse(&mut spectrum).iter().zip(&values) {
                assert!((back / len as f64 - value).abs() <= 2.0 * fft.roundoff() * norm, "{len}");
            }
        }
    }

    /// Both ends of the lengths that the accountant uses.
    #[test]
    fn agrees_with_realfft_within_both_bounds() {
        for len in [2, 64, 4096, 1 << 17] {
            let (plan, fft, values) = (Plan::new(len), RealFft::new(len), values(len));
            let norm: f64 = values.iter().map(|x| x.abs()).sum();
            let (ours, theirs) = (plan.forward(&mut values.clone()), fft.forward(&mut values.clone()));
            for (ours, theirs) in ours.iter().zip(&theirs) {
                assert!((ours - theirs).norm() <= 2.0 * fft.roundoff() * norm, "{len}");
            }
            let mean = theirs.iter().map(|value| value.norm()).sum::<f64>() * 2.0 / len as f64;
            let back = plan.inverse(&mut theirs.clone());
            for (ours, theirs) in back.iter().zip(fft.inverse(&mut theirs.clone())) {
                assert!((ours / len as f64 - theirs).abs() <= 2.0 * fft.roundoff() * mean, "{len}");
            }
        }
    }

    /// A twiddle that is off by a millionth is seen, so the tests above can fail.
    #[test]
    fn a_wrong_twiddle_is_found() {
        let len = 256;
        let mut halves = Halves::new(len);
        halves.twiddles[5] *= 1.0 + 1e-6;
        let (plan, fft, values) = (Plan(Rc::new(halves)), RealFft::new(len), values(len));
        let norm: f64 = values.iter().map(|x| x.abs()).sum();
        let spectrum = plan.forward(&mut values.clone());
        let worst = spectrum.iter().zip(slow(&values)).map(|(a, b)| (a - b).norm()).fold(0.0, f64::max);
        assert!(worst > (fft.roundoff() + 16.0 * UNIT) * norm);
    }
}
