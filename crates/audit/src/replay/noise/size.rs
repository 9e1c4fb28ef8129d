//! Whether noise is as large as declared: its energy against the law that the declared noise would give it.
//!
//! Twice the energy of continuous noise, Σx²/σ² or 2Σ|x|/b, is chi-square with one or two degrees of freedom for each number,
//! and sums of both are too: an exact test. Discrete noise has a bound by its transform instead, which is never below the
//! chance and equals it where nothing was added at all.

use super::residuals::Residuals;
use veracity_core::numerics::{UNIT, chi_squared, root};

/// log of the chance that declared noise, or more, is as small as what was added; from above.
pub(super) fn log_chance(calls: &[&Residuals<'_>]) -> f64 {
    let numbers: usize = calls.iter().map(|call| call.len()).sum();
    let energy: f64 = calls
        .iter()
        .map(|call| (0..call.len()).map(|at| call.noise.energy(call.size(at))).sum::<f64>())
        .sum();
    // From above: every term is off by a few units, the sum by as many as it has terms.
    let energy = energy * (1.0 + 2.0 * UNIT * (numbers as f64 + 8.0));
    let degrees = |call: &&Residuals<'_>| call.noise.degrees().map(|each| each * call.len() as u64);
    match calls.iter().map(degrees).sum::<Option<u64>>() {
        Some(degrees) => chi_squared::log_lower_tail(degrees, 2.0 * energy),
        None => log_bound(calls, energy),
    }
}

/// Chernoff's bound: P[energy ≤ e] ≤ e^(rate × e) E exp(−rate × energy) for every rate, whichever is taken.
fn log_bound(calls: &[&Residuals<'_>], energy: f64) -> f64 {
    let exponent = |rate: f64| -> f64 {
        let transformed = calls.iter().map(|call| {
            let (value, error) = call.noise.log_transform(rate);
            call.len() as f64 * (value + error)
        });
        let (gained, paid) = (transformed.sum::<f64>(), rate * energy);
        gained + paid + 8.0 * UNIT * (gained.abs() + paid) * (calls.len() as f64 + 1.0)
    };
    // The exponent is convex in the rate: it falls where it is lower a little farther on.
    let falls = |log_rate: f64| exponent(2f64.powf(log_rate + 0.01)) < exponent(2f64.powf(log_rate));
    let (least, most) = (-40.0, 60.0);
    let log_rate = match (falls(least), falls(most)) {
        (false, _) => return 0.0,
        (true, true) => most,
        (true, false) => root::bisect(least, most, 1e-3, falls).holds,
    };
    exponent(2f64.powf(log_rate)).min(0.0)
}

#[cfg(test)]
mod tests {
    use super::super::{DeclaredNoise, NoiseLaw};
    use super::*;
    use crate::replay::{Norm, TraceCall};

    fn call(law: NoiseLaw, scale: f64, added: &[f64]) -> TraceCall {
        let noise = DeclaredNoise::new(law, scale, None).unwrap();
        let call = TraceCall::new("sum", Norm::L1, 1.0, vec![0.0; added.len()], added.to_vec()).unwrap();
        call.with_noise(noise).unwrap()
    }

    fn chance(call: &TraceCall) -> f64 {
        log_chance(&[&Residuals::of(0, call).unwrap()]).exp()
    }

    /// Twin: the law of the sum of absolute integers, by convolving the law of one of them.
    fn slow(scale: f64, numbers: usize, most: usize, energy: impl Fn(f64) -> f64, total: f64) -> f64 {
        let weight = |k: usize| (-energy(k as f64)).exp() * if k == 0 { 1.0 } else { 2.0 };
        let all: f64 = (0..(60.0 * scale) as usize).map(weight).sum();
        fn go(numbers: usize, most: usize, left: f64, one: &dyn Fn(usize) -> (f64, f64)) -> f64 {
            if numbers == 0 {
                return 1.0;
            }
            let take = |k| {
                let (chance, energy) = one(k);
                let left = left - energy;
                if left < -1e-9 { 0.0 } else { chance * go(numbers - 1, most, left, one) }
            };
            (0..=most).map(take).sum()
        }
        go(numbers, most, total, &|k| (weight(k) / all, energy(k as f64)))
    }

    #[test]
    fn bounds_of_discrete_noise_are_above_the_slow_sum_and_equal_to_it_for_none() {
        for (law, scale) in [(NoiseLaw::DiscreteLaplace, 4.0), (NoiseLaw::DiscreteGaussian, 3.0)] {
            let one = DeclaredNoise::new(law, scale, None).unwrap();
            for (added, most) in [([0.0; 4], 0), ([1.0, 0.0, -1.0, 0.0], 4), ([1.0, -2.0, 0.0, 1.0], 6)] {
                let total = added.iter().map(|x: &f64| one.energy(x.abs())).sum();
                let truth = slow(scale, 4, most, |size| one.energy(size), total);
                let ours = chance(&call(law, scale, &added));
                assert!(ours >= truth && ours <= truth * 12.0, "{law:?} {added:?}: {ours} {truth}");
                assert!(most > 0 || ours <= truth * (1.0 + 1e-9), "{law:?}: {ours} {truth}");
            }
        }
    }

    #[test]
    fn continuous_noise_has_its_exact_chance() {
        // Exponential for two Gaussians or one Laplace: 1 − e^(−energy).
        let gaussian = chance(&call(NoiseLaw::Gaussian, 10.0, &[0.3, -0.4]));
        assert!((gaussian / -(-0.00125f64).exp_m1() - 1.0).abs() < 1e-6, "{gaussian}");
        let laplace = chance(&call(NoiseLaw::Laplace, 10.0, &[0.2503]));
        assert!((laplace / -(-0.02503f64).exp_m1() - 1.0).abs() < 1e-6, "{laplace}");
        assert_eq!(chance(&call(NoiseLaw::Laplace, 10.0, &[1e300])), 1.0);
    }
}
