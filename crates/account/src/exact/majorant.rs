//! An upper bound on K(c) of many sampled Gaussian steps by that of a few: steps alike share one that leaks at least as much.
//!
//! A record that is removed has the likelihood ratio A = 1 − q + q e^w with mean 1 under Q₀, and e^w is a martingale in s². So
//! A grows in convex order with q and with s, and E₀[f(A)] with it for every convex f: f(a) = a^{1+c}, or a^{−c} for a record
//! that is added. A distribution without its losses above log C has at most the moment of f below C and its tangent at C above, which
//! is convex too.

use super::sampled::{SampledGaussian, Situation};
use veracity_core::numerics::normal;

/// Steps whose s differ by more than this are not alike: their K differ by twice that and more.
const ALIKE: f64 = 1.01;

/// A bound that exceeds the K of the least step by more than this is not used.
const LOOSE: f64 = 1.25;

/// Steps, with how often each is used, in groups of alike ones; only removed or added records.
///
/// # Promise  Each group has one situation; nothing is lost
pub(super) fn alike(mut steps: Vec<(SampledGaussian, f64)>) -> Vec<Vec<(SampledGaussian, f64)>> {
    steps.sort_by(|(a, _), (b, _)| {
        (a.situation as u8)
            .cmp(&(b.situation as u8))
            .then(a.rate.total_cmp(&b.rate))
            .then(a.s.total_cmp(&b.s))
    });
    let near = |(first, _): &(SampledGaussian, f64), (next, _): &(SampledGaussian, f64)| {
        first.situation == next.situation
            && next.rate <= ALIKE * first.rate
            && next.s <= ALIKE * first.s
            && next.s >= first.s
    };
    let mut groups: Vec<Vec<(SampledGaussian, f64)>> = Vec::new();
    for step in steps {
        match groups.last_mut() {
            Some(group) if near(&group[0], &step) => group.push(step),
            _ => groups.push(vec![step]),
        }
    }
    groups
}

/// At least Σ times·K(c) of a group of alike steps; none where it cannot be computed.
///
/// # Promise  Never below the truth, save for rounding of 1e-9
pub(super) fn log_mgf(group: &[(SampledGaussian, f64)], c: f64) -> Option<f64> {
    let exactly = |(step, times): &(SampledGaussian, f64)| {
        step.tilted(c, 0.0, 0.0).map(|points| times * (points.log_mgf + points.log_mgf_error))
    };
    let uses: f64 = group.iter().map(|(_, times)| times).sum();
    match group {
        [] => Some(0.0),
        [one] => exactly(one),
        // Two that are replaced are no function of one likelihood ratio.
        [(first, _), ..] if first.situation == Situation::Replace => group.iter().map(exactly).sum(),
        // A step that leaks much more than the least of them, or is cut off where most of its moment is, says too little.
        [(least, _), ..] => match most(group, c) {
            Some(k) if k <= LOOSE * least.cumulants(c)[0] => Some(uses * k),
            _ => group.iter().map(exactly).sum(),
        },
    }
}

/// At least the K(c) of each of the steps.
fn most(group: &[(SampledGaussian, f64)], c: f64) -> Option<f64> {
    let (first, _) = group.first()?;
    let rate = group.iter().map(|(step, _)| step.rate).fold(0.0, f64::max);
    let s = group.iter().map(|(step, _)| step.s).fold(0.0, f64::max);
    let largest = SampledGaussian { rate, s, ..SampledGaussian::new(rate, s, first.situation) };
    if group.iter().any(|(step, _)| step.cap == f64::INFINITY) || first.situation == Situation::Add {
        let points = largest.tilted(c, 0.0, 0.0)?;
        return Some(points.log_mgf + points.log_mgf_error);
    }
    // log C, rounded up: the most that any of them keeps.
    let log_cap = group.iter().map(|(step, _)| step.log_ratio(step.cap)).fold(f64::NEG_INFINITY, f64::max);
    let capped = SampledGaussian { cap: largest.place_of(log_cap * (1.0 + 1e-12) + 1e-15), ..largest };
    if !capped.cap.is_finite() {
        return None;
    }
    let points = capped.tilted(c, 0.0, 0.0)?;
    let below = points.log_mgf + points.log_mgf_error;
    let beyond = tangent_beyond(&capped, c);
    Some(below + (beyond - below).exp().ln_1p() * (1.0 + 1e-9))
}

/// The logarithm of at least E₀[f(C) + f′(C)(A − C)] over A > C, for f(a) = a^{1+c} and log C the loss at the cap.
///
/// # Numerics  E₀[(A − C)₊] = q(Φ(s − x) − e^w Φ(−x)) at the cap w = sx − s²/2: what cancels is added in units of 1e-9
fn tangent_beyond(capped: &SampledGaussian, c: f64) -> f64 {
    let (w, s) = (capped.cap, capped.s);
    let x = w / s + 0.5 * s;
    let log_cap = capped.log_ratio(w);
    let (absent, present) = (normal::log_cdf(-x), normal::log_cdf(s - x));
    // All relative to Φ(−x), which may underflow.
    let ratio = (present - absent - w).exp();
    let over = (ratio - 1.0).max(0.0) + 1e-9 * (ratio + 1.0);
    let slope = (1.0 + c) * (capped.rate.ln() + w - log_cap).exp() * over;
    (1.0 + c) * log_cap + absent + (1.0 + slope).ln() + 1e-9
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(situation: Situation, mass: f64) -> Vec<(SampledGaussian, f64)> {
        let step = |i: usize| {
            let whole =
                SampledGaussian::new(0.02 + 1e-5 * (i % 7) as f64, 0.6 + 0.0007 * i as f64, situation);
            (if mass > 0.0 { whole.capped(mass) } else { whole }, (1 + i % 4) as f64)
        };
        (0..300).map(step).collect()
    }

    /// Step by step is the slow twin: a group is never below it, and not far above.
    #[test]
    fn a_group_bounds_its_steps_from_above() {
        for situation in [Situation::Remove, Situation::Add, Situation::Replace] {
            for mass in [0.0, 1e-18, 1e-9] {
                for c in [0.05, 1.0, 7.0, 30.0] {
                    let groups = alike(steps(situation, mass));
                    assert_eq!(groups.iter().map(Vec::len).sum::<usize>(), 300);
                    let (mut bound, mut truth) = (0.0, 0.0);
                    for group in &groups {
                        let Some(k) = log_mgf(group, c) else { continue };
                        let each = |(step, times): &(SampledGaussian, f64)| {
                            let points = step.tilted(c, 0.0, 0.0).unwrap();
                            (times * (points.log_mgf - points.log_mgf_error), *times)
                        };
                        let exact: f64 = group.iter().map(|pair| each(pair).0).sum();
                        let uses: f64 = group.iter().map(|(_, times)| times).sum();
                        assert!(k >= exact - 1e-9 * uses, "{situation:?} {mass} {c}: {k} {exact}");
                        bound += k;
                        truth += exact;
                    }
                    assert!(bound <= 1.3 * truth.abs() + 1e-6, "{situation:?} {mass} {c}: {bound} {truth}");
                }
            }
        }
    }
}
