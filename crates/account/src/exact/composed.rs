//! Distributions composed, and where to look at them: the saddle point of the integrand for a given ε or δ.
//!
//! Everything here steers and proves nothing, save `chernoff`, which is certified.

use super::distribution::{Distribution, Formula, Tilted};
use super::gathered::{self, Gathered};
use super::majorant;
use super::sampled::SampledGaussian;
use std::f64::consts::PI;
use veracity_core::numerics::UNIT;

/// Distributions composed: each with how often it is used, and all un-sampled Gaussians as one.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Composed {
    pub parts: Vec<(Distribution, f64)>,
    /// Σ μ² of the Gaussians.
    pub gaussian: f64,
    /// A few distributions that stand for many, where there are many: they steer.
    sketch: Vec<(Distribution, f64)>,
}

/// So many distributions are looked at one by one to steer.
const FEW_PARTS: usize = 48;

/// The point through which a contour is drawn.
#[derive(Debug, Clone, Copy)]
pub(super) struct Saddle {
    /// Abscissa.
    pub c: f64,
    /// The ε it belongs to.
    pub epsilon: f64,
    /// Estimate of log δ there.
    pub log_delta: f64,
    /// Variance of the tilted total loss.
    pub variance: f64,
}

impl Saddle {
    /// How much a relative error of δ matters for ε: x moves ε by about x/worth of itself.
    pub(super) fn worth_of_epsilon(&self) -> f64 {
        (self.c * self.epsilon.abs()).max(1e-3)
    }
}

impl Composed {
    /// Distributions with how often each is used, and Σ μ² of the Gaussians.
    pub(super) fn new(parts: Vec<(Distribution, f64)>, gaussian: f64) -> Composed {
        let sketch = if parts.len() > FEW_PARTS { sketch(&parts) } else { Vec::new() };
        Composed { parts, gaussian, sketch }
    }

    /// The composition without outcomes of large loss, and a bound on the probability that one of them occurs:
    /// about `mass`.
    pub(super) fn capped(&self, mass: f64) -> (Composed, f64) {
        let mut left_out = 0.0;
        let sampled =
            self.parts.iter().filter(|(part, _)| matches!(part, Distribution::Sampled(_))).count() as f64;
        let mut before = None;
        let cap = |(part, times): &(Distribution, f64)| match part {
            Distribution::Sampled(step) => {
                let capped = capped_like(before, step, mass / (times * sampled));
                before = Some(capped);
                left_out += times * capped.left_out();
                (Distribution::Sampled(capped), *times)
            }
            Distribution::Laplace { .. } | Distribution::Atoms { .. } => (part.clone(), *times),
        };
        let parts = self.parts.iter().map(cap).collect();
        (Composed::new(parts, self.gaussian), left_out)
    }

    /// Estimates of K(c), K′(c), K″(c) of the whole.
    pub(super) fn cumulants(&self, c: f64) -> [f64; 3] {
        let g = self.gaussian;
        let mut total = [0.5 * g * c * (c + 1.0), g * (c + 0.5), g];
        let steering = if self.sketch.is_empty() { &self.parts } else { &self.sketch };
        for (part, times) in steering {
            for (sum, part) in total.iter_mut().zip(part.cumulants(c)) {
                *sum += times * part;
            }
        }
        total
    }

    /// An estimate of log δ(ε) + cε from the integrand at abscissa c.
    ///
    /// The variance of the tilted distribution, which the estimate divides by, is trusted only within the range it has for
    /// Gaussian-like distributions: rare large losses inflate it without widening the peak of the integrand.
    pub(super) fn height(&self, c: f64, depth: f64) -> (f64, [f64; 3]) {
        let moments = self.cumulants(c);
        let peak = (c * c * moments[2] + 2.0).min(2.0 * depth.max(1.0) + 2.0);
        (moments[0] - c.ln_1p() - 0.5 * (2.0 * PI * peak).ln(), moments)
    }

    /// The saddle point for a given ε: the integrand is least there on the real axis.
    pub(super) fn saddle_for_epsilon(&self, epsilon: f64) -> Option<Saddle> {
        // The slope of K(c) − cε − log c − log(1 + c) rises through zero at the saddle.
        let slope = |t: f64| {
            let c = t.exp();
            let value = self.cumulants(c)[1] - epsilon - 1.0 / c - 1.0 / (1.0 + c);
            if value.is_nan() { f64::INFINITY } else { value }
        };
        let mut low = self.first_guess();
        let mut high = low;
        if slope(low) < 0.0 {
            while slope(high) < 0.0 {
                low = high;
                high += 1.0;
                if high > 45.0 {
                    return None;
                }
            }
        } else {
            while slope(low) > 0.0 {
                high = low;
                low -= 1.0;
                if low < -45.0 {
                    return None;
                }
            }
        }
        while high - low > 0.03 {
            let middle = 0.5 * (low + high);
            if slope(middle) < 0.0 { low = middle } else { high = middle }
        }
        let c = low.exp();
        let (height, _) = self.height(c, 20.0);
        let (height, moments) = self.height(c, -(height - c * epsilon));
        let log_delta = (height - c * epsilon).min(0.0);
        log_delta.is_finite().then_some(Saddle { c, epsilon, log_delta, variance: moments[2] })
    }

    /// The saddle point at which δ is about as given: the least ε that the integrand's height allows.
    pub(super) fn saddle_for_delta(&self, log_delta: f64) -> Option<Saddle> {
        let epsilon = |t: f64| {
            let c = t.exp();
            let value = (self.height(c, -log_delta).0 - log_delta) / c;
            if value.is_nan() { f64::INFINITY } else { value }
        };
        // Bracket the minimum on a logarithmic scale, then halve towards it.
        let mut middle = self.first_guess();
        let mut value = epsilon(middle);
        let mut stride = 0.8;
        for _ in 0..60 {
            let (left, right) = (epsilon(middle - stride), epsilon(middle + stride));
            if left < value && left <= right {
                (middle, value) = (middle - stride, left);
            } else if right < value {
                (middle, value) = (middle + stride, right);
            } else if stride < 0.06 {
                break;
            } else {
                stride *= 0.4;
            }
            if middle.abs() > 45.0 {
                return None;
            }
        }
        let c = middle.exp();
        let variance = self.cumulants(c)[2];
        value.is_finite().then_some(Saddle { c, epsilon: value, log_delta, variance })
    }

    /// The logarithm of an abscissa that suits a Gaussian of the same spread.
    fn first_guess(&self) -> f64 {
        let spread = self.cumulants(1e-3)[2].sqrt();
        if spread > 0.0 { (4.0 / spread).ln().clamp(-20.0, 30.0) } else { 0.0 }
    }

    /// An upper bound on δ(ε) by Chernoff at one abscissa, from certified moments.
    ///
    /// # Reference  (1 − e^{ε−l})₊ ≤ κ(c) e^{c(l−ε)} with κ(c) = c^c/(1+c)^{1+c}
    /// # Numerics  A billionth for each distribution covers all rounding
    pub(super) fn chernoff(&self, c: f64) -> Option<f64> {
        let mut k = 0.5 * self.gaussian * c * (c + 1.0) * (1.0 + 8.0 * UNIT);
        let mut steps = Vec::new();
        for (part, times) in &self.parts {
            match part {
                // Of many steps a few that leak at least as much say enough.
                Distribution::Sampled(step) if !self.sketch.is_empty() => steps.push((*step, *times)),
                Distribution::Sampled(_) | Distribution::Laplace { .. } | Distribution::Atoms { .. } => {
                    let (value, error) = part.tilted(c, 0.0, 0.0)?.log_mgf();
                    k += times * (value + error);
                }
            }
        }
        for group in majorant::alike(steps) {
            k += majorant::log_mgf(&group, c)?;
        }
        Some(k - c * (1.0 / c).ln_1p() - c.ln_1p() + 1e-9 * (1.0 + self.parts.len() as f64))
    }
}

/// A step without outcomes of about this probability: at the cap of the step before it, in standard deviations, where that
/// leaves out neither more nor much less. Any cap is valid, since what it leaves out is counted.
fn capped_like(before: Option<SampledGaussian>, step: &SampledGaussian, mass: f64) -> SampledGaussian {
    if let Some(before) =
        before.filter(|before| before.cap < f64::INFINITY && step.situation == before.situation)
    {
        let deviations = before.cap / before.s + 0.5 * before.s;
        let capped = SampledGaussian { cap: step.s * (deviations - 0.5 * step.s), ..*step };
        let left_out = capped.left_out();
        if left_out <= mass && left_out >= 0.2 * mass {
            return capped;
        }
    }
    step.capped(mass)
}

/// Distributions of sampled steps gathered by their likes, each group as its middle distribution, used as often as spreads the losses alike.
fn sketch(parts: &[(Distribution, f64)]) -> Vec<(Distribution, f64)> {
    let (mut steps, mut others) = (Vec::new(), Vec::new());
    for (part, times) in parts {
        match part {
            Distribution::Sampled(step) => steps.push((*step, *times)),
            Distribution::Laplace { .. } | Distribution::Atoms { .. } => others.push((part.clone(), *times)),
        }
    }
    steps.sort_by(|(a, _), (b, _)| a.spread().total_cmp(&b.spread()));
    let together = steps.len().div_ceil(FEW_PARTS).max(1);
    others.extend(steps.chunks(together).map(|group| {
        let (middle, _) = group[group.len() / 2];
        let spread: f64 = group.iter().map(|(step, times)| times * step.spread()).sum();
        (Distribution::Sampled(middle), spread / middle.spread())
    }));
    others
}

/// Every distribution tilted to c, its tails of mass `negligible`/times not resolved; many small distributions as one.
pub(super) fn tilt_all(
    composed: &Composed,
    c: f64,
    reach: f64,
    negligible: f64,
) -> Option<Vec<(Tilted, f64)>> {
    let tilt = |(part, times): &(Distribution, f64)| {
        part.tilted(c, reach, negligible / times).map(|tilted| (tilted, *times))
    };
    // Where only envelopes are asked for, many distributions of any kind are better asked together.
    let steering = reach == 0.0 && composed.parts.len() > FEW_PARTS;
    let small = |(part, _): &&(Distribution, f64)| steering || part.is_small();
    if composed.parts.iter().filter(small).count() <= gathered::FEW {
        return composed.parts.iter().map(tilt).collect();
    }
    let mut all: Vec<_> =
        composed.parts.iter().filter(|part| !small(part)).map(tilt).collect::<Option<_>>()?;
    let (together, uses) =
        Gathered::new(composed.parts.iter().filter(small).map(tilt).collect::<Option<_>>()?);
    all.push((Tilted::Laplace(Formula::Gathered(together)), uses));
    Some(all)
}
