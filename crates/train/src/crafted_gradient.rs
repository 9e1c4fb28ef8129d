//! A record that is given as its gradient: the worst that any record could contribute, for an auditor.
//!
//! It takes part in batches like any other record, is shortened by the plan's own clipping, and is added to the clipped sum
//! in front of the noise. So what is audited is the run itself, with a record that no real feature vector may reach.

use crate::{
    CalibratedNoise, Clipping, Network,
    clip::{Balance, Clip},
    explicit::Measure,
};
use veracity_core::Refusal;

/// The gradient of a record, by its entries that are not zero. The same at every step.
///
/// # Examples
///
/// ```
/// use veracity_train::CraftedGradient;
///
/// // A canary that owns one parameter, and how loudly a noisy sum speaks for it.
/// let canary = CraftedGradient::dirac(2, 1.0)?;
/// assert_eq!(canary.along(&[0.5, -3.0, 1.25]), 1.25);
/// assert!(CraftedGradient::new(vec![(1, 0.5), (1, 0.5)]).is_err());
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct CraftedGradient {
    entries: Vec<(u32, f32)>,
}

impl CraftedGradient {
    /// A gradient by its entries, each parameter at most once.
    ///
    /// # Errors
    /// Refuses a parameter that occurs twice, and entries that are not finite.
    pub fn new(mut entries: Vec<(u32, f32)>) -> Result<CraftedGradient, Refusal> {
        entries.sort_by_key(|entry| entry.0);
        if entries.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            return Err(Refusal::Invalid("a crafted gradient has two entries for the same parameter".into()));
        }
        if entries.iter().any(|entry| !entry.1.is_finite()) {
            return Err(Refusal::Invalid("a crafted gradient has an entry that is not finite".into()));
        }
        Ok(CraftedGradient { entries })
    }

    /// A gradient along one parameter.
    ///
    /// # Reference  \[NasrEtAl23\], the Dirac canary
    ///
    /// # Errors
    /// Refuses a length that is not finite.
    pub fn dirac(parameter: u32, length: f32) -> Result<CraftedGradient, Refusal> {
        CraftedGradient::new(vec![(parameter, length)])
    }

    /// Whether it is a gradient of this network.
    pub(crate) fn fits(&self, parameters: usize) -> bool {
        self.entries.last().is_none_or(|last| (last.0 as usize) < parameters)
    }

    /// Its inner product with a vector over all parameters.
    pub fn along(&self, vector: &[f32]) -> f64 {
        self.entries.iter().map(|(at, value)| f64::from(*value) * f64::from(vector[*at as usize])).sum()
    }

    /// What it adds to a clipped sum of a plan with flat clipping, in steps of the grid of its noise.
    pub fn steps(&self, network: &Network, noise: &CalibratedNoise) -> Vec<(u32, f64)> {
        let measure = Measure::L2(Clip::new(&Clipping::Flat, network, noise.clip_limit()));
        let mut found = Vec::new();
        self.each(network, &measure, |at, value| {
            let mut steps = [0.0];
            noise.add_steps(&mut steps, &[value]);
            found.push((at as u32, steps[0]));
        });
        found
    }

    /// Shortens it as the plan would shorten a record's gradient, and passes on what there is to add.
    pub(crate) fn each(
        &self,
        network: &Network,
        measure: &Measure,
        mut add: impl FnMut(usize, f32),
    ) -> Balance {
        let mut squares = vec![0.0f64; network.places().len()];
        let mut size = 0.0f64;
        for (at, value) in &self.entries {
            squares[stage(network, *at)] += f64::from(*value).powi(2);
            size += f64::from(value.abs());
        }
        let squares: Vec<f32> = squares.into_iter().map(|square| square as f32).collect();
        let mut factors = vec![0.0; squares.len()];
        let balance = measure.factors(&squares, size as f32, &mut factors);
        for (at, value) in &self.entries {
            add(*at as usize, factors[stage(network, *at)] * value);
        }
        balance
    }
}

/// Which stage a parameter belongs to.
fn stage(network: &Network, parameter: u32) -> usize {
    let holds = |place: &std::ops::Range<usize>| place.contains(&(parameter as usize));
    network.places().iter().position(holds).expect("a run checks that crafted gradients fit its network")
}
