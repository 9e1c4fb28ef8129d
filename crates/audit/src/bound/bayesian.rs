//! The posterior of ε: Jeffreys priors on both error rates, and how much of them is private at an ε.
//!
//! Narrower than limits on each rate, and no promise on how often it errs: it cannot refute a claim by itself.

use super::{Basis, LowerBound, at_least_zero};
use crate::Counts;
use std::f64::consts::PI;
use veracity_core::numerics::{beta, legendre, root};
use veracity_core::{Delta, Lower, Significance};

/// Panels of the quadrature between two kinks.
const PANELS: usize = 5;

/// The ε that the truth falls below with posterior probability equal to the significance.
///
/// # Promise    None on how often it errs; a credible limit under independent Jeffreys priors. Where nothing leaks it is
/// always above the truth: the prior holds ε = 0 for impossible.
/// # Reference  \[ZanellaBeguelinEtAl23\]: FNR ~ Beta(½ + FN, ½ + TP), FPR ~ Beta(½ + FP, ½ + TN), and the posterior
/// probability of "at most ε" is that of the region of error rates which (ε, δ)-privacy allows
/// # Assumes    Independent trials; the threshold is fixed or comes from other trials
/// # Numerics   One integral over the angle of √FNR, whose density is smooth; error about 1e-9 of the probability
pub fn bound(counts: Counts, delta: Delta, significance: Significance) -> LowerBound {
    let level = significance.spend();
    let shown = |counts| at_least_zero(quantile(counts, delta.get(), level));
    LowerBound {
        epsilon: Lower(shown(counts)),
        ceiling: shown(counts.perfect_attack()),
        basis: Basis::Credible,
    }
}

/// The `level` quantile of the posterior.
fn quantile(counts: Counts, delta: f64, level: f64) -> f64 {
    let below = |epsilon: f64| probability_at_most(counts, delta, epsilon) <= level;
    if !below(0.0) {
        return 0.0;
    }
    let mut beyond = 1.0;
    while beyond < 128.0 && below(beyond) {
        beyond *= 2.0;
    }
    root::bisect(0.0, beyond, 1e-10, below).holds
}

/// The posterior probability that the truth is at most `epsilon`.
fn probability_at_most(counts: Counts, delta: f64, epsilon: f64) -> f64 {
    let (misses, found) = (0.5 + counts.false_negatives as f64, 0.5 + counts.true_positives as f64);
    let (alarms, quiet) = (0.5 + counts.false_positives as f64, 0.5 + counts.true_negatives as f64);
    let growth = epsilon.exp();
    let inner = |theta: f64| {
        let fnr = theta.sin().powi(2);
        let tpr = theta.cos().powi(2);
        let least = (1.0 - delta - fnr * growth).max((tpr - delta) / growth).max(0.0);
        let most = (1.0 + (delta - fnr) / growth).min(delta + tpr * growth).min(1.0);
        let mass = beta::cdf(alarms, quiet, most) - beta::cdf(alarms, quiet, least);
        mass.max(0.0) * beta::angle_density(misses, found, theta)
    };
    edges(misses, found, delta, growth).windows(2).map(|edge| integrate(&inner, edge[0], edge[1])).sum()
}

/// Where the integrand begins, has kinks, and ends, as angles.
fn edges(misses: f64, found: f64, delta: f64, growth: f64) -> Vec<f64> {
    let centre = (misses / (misses + found)).sqrt().asin();
    // In the angle the law is about normal with deviation 1/(2√n); beyond twelve of them there is less than 1e-30.
    let reach = 6.0 / (misses + found).sqrt();
    let (from, to) = ((centre - reach).max(0.0), (centre + reach).min(PI / 2.0));
    let room = 1.0 - delta;
    let kinks =
        [room / growth, room, room / (1.0 + growth), delta, 1.0 - room / growth, 1.0 - room / (1.0 + growth)];
    let mut edges: Vec<f64> = kinks
        .into_iter()
        .filter(|rate| (0.0..=1.0).contains(rate))
        .map(|rate| rate.sqrt().asin())
        .filter(|angle| *angle > from && *angle < to)
        .collect();
    edges.extend([from, to]);
    edges.sort_by(f64::total_cmp);
    edges
}

/// Gauss–Legendre on equal panels.
fn integrate(f: &impl Fn(f64) -> f64, from: f64, to: f64) -> f64 {
    let half = 0.5 * (to - from) / PANELS as f64;
    let panel = |i: usize| {
        let middle = from + (2 * i + 1) as f64 * half;
        legendre::rule().iter().map(|(node, weight)| weight * f(middle + half * node)).sum::<f64>()
    };
    half * (0..PANELS).map(panel).sum::<f64>()
}
