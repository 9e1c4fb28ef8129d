//! What a call says of its noise, and the chances that follow from it, each from above.
//!
//! All of them stay true where more noise was added than declared: more noise is no fault.

use std::{
    f64::consts::{PI, TAU},
    str::FromStr,
};
use veracity_core::Refusal;

/// By which part chances are raised, for the rounding of the few operations that they take.
const RAISED: f64 = 1.0 + 1e-13;

/// The law of added noise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoiseLaw {
    /// Density ∝ exp(−x²/2 scale²).
    Gaussian,
    /// Density ∝ exp(−|x|/scale).
    Laplace,
    /// The same weights on multiples of the grid, as for [`NoiseLaw::Gaussian`].
    DiscreteGaussian,
    /// The same weights on multiples of the grid, as for [`NoiseLaw::Laplace`].
    DiscreteLaplace,
}

impl NoiseLaw {
    const ALL: [NoiseLaw; 4] =
        [NoiseLaw::Gaussian, NoiseLaw::Laplace, NoiseLaw::DiscreteGaussian, NoiseLaw::DiscreteLaplace];

    /// The name used in files.
    pub fn name(self) -> &'static str {
        match self {
            NoiseLaw::Gaussian => "gaussian",
            NoiseLaw::Laplace => "laplace",
            NoiseLaw::DiscreteGaussian => "discrete-gaussian",
            NoiseLaw::DiscreteLaplace => "discrete-laplace",
        }
    }

    fn is_discrete(self) -> bool {
        matches!(self, NoiseLaw::DiscreteGaussian | NoiseLaw::DiscreteLaplace)
    }
}

impl FromStr for NoiseLaw {
    type Err = Refusal;

    fn from_str(name: &str) -> Result<NoiseLaw, Refusal> {
        NoiseLaw::ALL.into_iter().find(|law| law.name() == name).ok_or_else(|| {
            let expected = "gaussian, laplace, discrete-gaussian or discrete-laplace";
            Refusal::out_of_range("noise kind", name, expected)
        })
    }
}

/// Independent noise of one law and scale on every number of a call, at least.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DeclaredNoise {
    law: NoiseLaw,
    scale: f64,
    grid: f64,
}

impl DeclaredNoise {
    /// Noise of this scale: σ of a Gaussian, b of a Laplace.
    ///
    /// `grid` is what discrete noise is a multiple of (1, if nothing is said), or to which continuous noise, or an output with
    /// it, is rounded (0, if nothing is said).
    ///
    /// # Errors
    /// A scale or a grid that is not a finite number above 0.
    pub fn new(law: NoiseLaw, scale: f64, grid: Option<f64>) -> Result<DeclaredNoise, Refusal> {
        if !(scale > 0.0 && scale.is_finite()) {
            return Err(Refusal::out_of_range("noise scale", scale, "a finite number > 0"));
        }
        let usual = if law.is_discrete() { 1.0 } else { 0.0 };
        let grid = grid.unwrap_or(usual);
        if !(grid >= 0.0 && grid.is_finite()) || (law.is_discrete() && grid == 0.0) {
            let expected = "a finite number ≥ 0, and > 0 for discrete noise";
            return Err(Refusal::out_of_range("noise grid", grid, expected));
        }
        Ok(DeclaredNoise { law, scale, grid })
    }

    /// Its law.
    pub fn law(&self) -> NoiseLaw {
        self.law
    }

    /// Its scale.
    pub fn scale(&self) -> f64 {
        self.scale
    }

    /// What it is a multiple of, or rounded to.
    pub fn grid(&self) -> f64 {
        self.grid
    }

    pub(super) fn is_discrete(&self) -> bool {
        self.law.is_discrete()
    }

    /// How far rounding to the grid can take an output from its input and noise.
    pub(super) fn rounding(&self) -> f64 {
        if self.is_discrete() { 0.0 } else { 0.5 * self.grid }
    }

    /// The chance that noise is within `reach` of a given number, from above: the law is highest at nothing.
    pub(super) fn near(&self, reach: f64) -> f64 {
        let chance = match self.law {
            NoiseLaw::Gaussian => 2.0 * reach / (self.scale * TAU.sqrt()),
            NoiseLaw::Laplace => reach / self.scale,
            NoiseLaw::DiscreteGaussian | NoiseLaw::DiscreteLaplace => {
                let points = (2.0 * reach / self.grid * RAISED).floor() + 1.0;
                points * (-self.log_weights(1.0)).exp()
            }
        };
        (chance * RAISED).min(1.0)
    }

    /// −log of how likely noise of this size is, over that of none; from above, where the size is.
    pub(super) fn energy(&self, size: f64) -> f64 {
        match self.law {
            NoiseLaw::Gaussian => 0.5 * (size / self.scale).powi(2),
            NoiseLaw::Laplace => size / self.scale,
            NoiseLaw::DiscreteGaussian => 0.5 * (self.on_grid(size) / self.scale).powi(2),
            NoiseLaw::DiscreteLaplace => self.on_grid(size) / self.scale,
        }
    }

    /// The largest multiple of the grid that is no larger.
    fn on_grid(&self, size: f64) -> f64 {
        (size / self.grid * RAISED).floor() * self.grid
    }

    /// Degrees of freedom of twice the energy of one number, which has a chi-square law; none where it is discrete.
    pub(super) fn degrees(&self) -> Option<u64> {
        match self.law {
            NoiseLaw::Gaussian => Some(1),
            NoiseLaw::Laplace => Some(2),
            NoiseLaw::DiscreteGaussian | NoiseLaw::DiscreteLaplace => None,
        }
    }

    /// Those degrees, of the continuous law where the noise is discrete: for figures, not for chances.
    pub(super) fn degrees_of_kind(&self) -> u64 {
        match self.law {
            NoiseLaw::Gaussian | NoiseLaw::DiscreteGaussian => 1,
            NoiseLaw::Laplace | NoiseLaw::DiscreteLaplace => 2,
        }
    }

    /// log E exp(−rate × energy), and how far rounding may have taken it.
    pub(super) fn log_transform(&self, rate: f64) -> (f64, f64) {
        match self.law {
            NoiseLaw::Gaussian => (-0.5 * rate.ln_1p(), 1e-15 * rate.ln_1p()),
            NoiseLaw::Laplace => (-rate.ln_1p(), 1e-15 * rate.ln_1p()),
            NoiseLaw::DiscreteGaussian | NoiseLaw::DiscreteLaplace => {
                let (tilted, plain) = (self.log_weights(1.0 + rate), self.log_weights(1.0));
                (tilted - plain, 1e-15 * (tilted.abs() + plain.abs() + 4.0))
            }
        }
    }

    /// log Σ exp(−power × energy) over the grid.
    ///
    /// # Reference  Poisson summation for the Gaussian: Σ e^(−ak²) = √(π/a) Σ e^(−π²k²/a), of which one side is short
    fn log_weights(&self, power: f64) -> f64 {
        let steps = self.grid / self.scale;
        match self.law {
            NoiseLaw::DiscreteLaplace | NoiseLaw::Laplace => -(0.5 * power * steps).tanh().ln(),
            NoiseLaw::DiscreteGaussian | NoiseLaw::Gaussian => {
                let a = 0.5 * power * steps * steps;
                let sides = |a: f64| -> f64 { (1..=6).map(|k| 2.0 * (-a * f64::from(k * k)).exp()).sum() };
                if a >= PI { sides(a).ln_1p() } else { 0.5 * (PI / a).ln() + sides(PI * PI / a).ln_1p() }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(law: NoiseLaw, scale: f64, grid: f64) -> DeclaredNoise {
        DeclaredNoise::new(law, scale, Some(grid)).unwrap()
    }

    #[test]
    fn sums_over_the_grid_meet_the_slow_sum() {
        for (law, scale, grid) in [
            (NoiseLaw::DiscreteGaussian, 0.3, 1.0),
            (NoiseLaw::DiscreteGaussian, 0.56, 1.0),
            (NoiseLaw::DiscreteGaussian, 0.57, 1.0),
            (NoiseLaw::DiscreteGaussian, 25.0, 0.5),
            (NoiseLaw::DiscreteLaplace, 0.2, 1.0),
            (NoiseLaw::DiscreteLaplace, 40.0, 2.0),
        ] {
            let noise = noise(law, scale, grid);
            let weight = |k: i32, power: f64| (-power * noise.energy(f64::from(k.abs()) * grid)).exp();
            let sum = |power: f64| (-3000..=3000).map(|k| weight(k, power)).sum::<f64>();
            assert!((noise.near(0.0) * sum(1.0) - 1.0).abs() < 1e-12, "{noise:?}");
            for rate in [0.01, 1.0, 30.0] {
                let (found, error) = noise.log_transform(rate);
                let truth = (sum(1.0 + rate) / sum(1.0)).ln();
                assert!((found - truth).abs() <= error + 1e-13, "{noise:?} {rate}: {found} {truth}");
            }
        }
    }

    #[test]
    fn continuous_chances_are_those_of_the_density() {
        // An interval of 0.02 scales about nothing: 0.0079788 of a Gaussian, 0.00995 of a Laplace.
        let gaussian = noise(NoiseLaw::Gaussian, 3.0, 0.0).near(0.03);
        assert!((0.007_978_7..0.007_979).contains(&gaussian), "{gaussian}");
        let laplace = noise(NoiseLaw::Laplace, 3.0, 0.0).near(0.03);
        assert!((0.009_95..0.010_01).contains(&laplace), "{laplace}");
        assert_eq!(noise(NoiseLaw::Laplace, 3.0, 0.0).near(1e9), 1.0);
    }

    #[test]
    fn strange_declarations_are_refused() {
        assert!(DeclaredNoise::new(NoiseLaw::Gaussian, 0.0, None).is_err());
        assert!(DeclaredNoise::new(NoiseLaw::Gaussian, f64::NAN, None).is_err());
        assert!(DeclaredNoise::new(NoiseLaw::Gaussian, 1.0, Some(-1.0)).is_err());
        assert!(DeclaredNoise::new(NoiseLaw::DiscreteLaplace, 1.0, Some(0.0)).is_err());
        assert_eq!(DeclaredNoise::new(NoiseLaw::DiscreteLaplace, 1.0, None).unwrap().grid(), 1.0);
        assert!("cauchy".parse::<NoiseLaw>().unwrap_err().to_string().starts_with("noise kind is cauchy"));
    }
}
