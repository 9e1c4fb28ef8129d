//! What a call added to its input, and how far floats may have taken that from the noise that was drawn.

use super::super::TraceCall;
use super::law::DeclaredNoise;
use veracity_core::numerics::UNIT;

/// The unit round-off of single precision.
const SINGLE: f64 = f32::EPSILON as f64 / 2.0;
/// Noise beyond so many scales is not compared with other noise, so that the rounding of the rest is known beforehand.
const FAR: f64 = 39.0;

/// The residuals of one call whose noise is declared.
#[derive(Debug)]
pub(super) struct Residuals<'a> {
    /// Which call of the trace.
    pub(super) call: usize,
    pub(super) place: &'a str,
    pub(super) noise: DeclaredNoise,
    /// Output minus input.
    pub(super) added: Vec<f64>,
    /// How far each may be from the noise that was drawn, if it is not [`FAR`] out. A function of the input alone.
    slack: Vec<f64>,
    unit: f64,
}

impl<'a> Residuals<'a> {
    /// Those of a call, if it declares its noise and has any number.
    ///
    /// # Numerics  out = fl(in + x) is within u |out| of its real value, and out − in is rounded once more; with
    /// |out| ≤ |in| + |x| that is at most 2u (2 |in| + |x|). A call whose numbers are all of single precision is taken to have
    /// been computed in it, which can only make its residuals less certain
    pub(super) fn of(call: usize, of: &'a TraceCall) -> Option<Residuals<'a>> {
        let noise = of.noise.filter(|_| !of.input.is_empty())?;
        let is_single = |x: &f64| f64::from(*x as f32) == *x;
        let single = !noise.is_discrete() && of.input.iter().chain(&of.output).all(is_single);
        let unit = if single { SINGLE } else { UNIT };
        let added: Vec<f64> = of.output.iter().zip(&of.input).map(|(said, hidden)| said - hidden).collect();
        let far = (FAR + 1.0) * noise.scale();
        let slack = of.input.iter().map(|hidden| 2.0 * unit * (2.0 * hidden.abs() + far)).collect();
        Some(Residuals { call, place: &of.place, noise, added, slack, unit })
    }

    pub(super) fn len(&self) -> usize {
        self.added.len()
    }

    /// How far a residual may be from its noise: rounding to the grid, and that of floats.
    pub(super) fn reach(&self, at: usize) -> f64 {
        self.slack[at] + self.noise.rounding()
    }

    /// How far floats alone may have taken a residual.
    pub(super) fn slack(&self, at: usize) -> f64 {
        self.slack[at]
    }

    /// Whether a residual is near enough for its rounding to be known.
    pub(super) fn is_near(&self, at: usize) -> bool {
        self.added[at].abs() <= FAR * self.noise.scale()
    }

    /// The size of a number's noise, from above.
    pub(super) fn size(&self, at: usize) -> f64 {
        self.added[at].abs() * (1.0 + 2.0 * self.unit) + self.reach(at)
    }

    /// The mean energy of what was added, over that of the noise that is declared, as a factor of its scale. A figure for
    /// people.
    pub(super) fn part_of_scale(all: &[&Residuals<'_>]) -> f64 {
        let numbers: usize = all.iter().map(|one| one.len()).sum();
        let of = |one: &Residuals<'_>| -> f64 {
            let scale = one.noise.scale();
            match one.noise.degrees_of_kind() {
                1 => one.added.iter().map(|x| (x / scale).powi(2)).sum(),
                _ => 2.0 * one.added.iter().map(|x| (x / scale).abs()).sum::<f64>(),
            }
        };
        let degrees: u64 = all.iter().map(|one| one.noise.degrees_of_kind() * one.len() as u64).sum();
        let ratio = all.iter().map(|one| of(one)).sum::<f64>() / degrees as f64;
        // Energies of Gaussians go with the square of their scale, those of Laplace noise with the scale itself.
        if degrees == 2 * numbers as u64 { ratio } else { ratio.sqrt() }
    }
}
