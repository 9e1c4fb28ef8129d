//! The slow contour: δ(ε) of any composition whose transform dies away, by a plain trapezoid sum in double-double.
//!
//! δ(ε) = (1/2πi) ∫ e^{Σ T K(z) − zε}/(z(z+1)) dz on Re z = c. With step h the sum exceeds δ by aliases that Chernoff
//! bounds, so it is an upper end, and a lower one once the bound is taken off. Transforms come from nodes and weights
//! (an inner trapezoid sum, or outcomes as they are); a turn of each node is multiplied on from one point of the line to
//! the next.

use super::complex::Cdd;
use super::double_double::{DD_UNIT, Dd, PI};
use super::law::World;
use super::nodes;
use super::truth::Truth;

/// Aliases lie this many nats below δ.
const DEEP: f64 = 40.0;
/// The sum ends where all that is left is at most this part of it.
pub(super) const REST: f64 = 1e-18;
/// The sum also ends where its points are that small and the rest is proven to be at most this part: a proof from floats
/// cannot say much less.
const SETTLED: f64 = 1e-12;
/// Sums over nodes that are further off than this are made again with finer ones, while there are finer ones.
pub(super) const SHARP: f64 = 1e-13;

/// δ(ε) by the contour, where at most `most` products of a node and a point are enough for two digits: what was not summed
/// by then widens it.
pub fn along(world: &World, epsilon: f64, most: f64) -> Option<Truth> {
    let saddle = Saddle::find(world, epsilon)?;
    let h = saddle.step(world, epsilon)?;
    for fineness in finenesses(world) {
        match summed(world, epsilon, &saddle, h, fineness, most)? {
            Summed::Done(truth) => return truth.is_rough().then_some(truth),
            Summed::TooCoarse => {}
        }
    }
    None
}

/// Spacings of nodes to try, in units of `nodes`: the first is as wide as aliases allow low down on the line.
pub(super) fn finenesses(world: &World) -> [f64; 4] {
    let most = world.uses.iter().map(|(_, times)| *times as f64).fold(1.0, f64::max);
    let widest = (165.0 / (most.ln() + 40.0)).min(3.0);
    [widest, 0.6 * widest, 0.3 * widest, 0.1 * widest]
}

/// An upper bound on log δ(ε) by Chernoff, from floats: a margin for what they may be off is added.
pub fn chernoff(world: &World, epsilon: f64) -> Option<f64> {
    let saddle = Saddle::find(world, epsilon)?;
    let exponent = total_cumulant(world, saddle.c, &saddle.caps)?;
    let uses: f64 = world.uses.iter().map(|(_, times)| *times as f64).sum();
    let margin = 1e-3 + 1e-9 * (exponent.abs() + saddle.c * epsilon) + 1e-11 * uses;
    let (bound, lost) = (saddle.log_delta + margin, saddle.log_left_out);
    Some(bound.max(lost) + (bound.min(lost) - bound.max(lost)).exp().ln_1p())
}

enum Summed {
    Done(Truth),
    TooCoarse,
}

/// Where the line is drawn, and of what.
pub(super) struct Saddle {
    pub(super) c: f64,
    /// Beyond these points outcomes of each use are left out.
    pub(super) caps: Vec<f64>,
    /// log of the chance that any of them comes.
    log_left_out: f64,
    /// About log δ, from above.
    log_delta: f64,
}

/// Σ T K(c) in floats, for steering and for alias bounds with a wide margin.
fn total_cumulant(world: &World, c: f64, caps: &[f64]) -> Option<f64> {
    let mut sum = 0.0;
    for ((once, times), cap) in world.uses.iter().zip(caps) {
        sum += *times as f64 * nodes::cumulant(once, c, *cap)?;
    }
    sum.is_finite().then_some(sum)
}

/// log of Chernoff's factor c^c/(1+c)^{1+c}.
pub(super) fn log_kappa(c: f64) -> f64 {
    -c * (1.0 / c).ln_1p() - c.ln_1p()
}

impl Saddle {
    /// The least height of the integrand on the real axis, by golden section on log c.
    pub(super) fn find(world: &World, epsilon: f64) -> Option<Saddle> {
        let height = |t: f64| {
            let c = t.exp();
            Saddle::at(world, epsilon, c)
                .map_or(f64::INFINITY, |saddle| saddle.log_delta - log_kappa(c) - t - c.ln_1p())
        };
        // Coarse first: the height is convex in c, so one valley in log c too.
        let mut best = (f64::INFINITY, 0.0);
        let mut t = -12.0;
        while t < 42.0 {
            let value = height(t);
            if value < best.0 {
                best = (value, t);
            } else if best.0.is_finite() {
                break;
            }
            t += 1.4;
        }
        let (mut low, mut high) = (best.1 - 1.4, best.1 + 1.4);
        const GOLDEN: f64 = 0.618_033_988_749_894_8;
        for _ in 0..12 {
            let (one, two) = (high - GOLDEN * (high - low), low + GOLDEN * (high - low));
            if height(one) < height(two) { high = two } else { low = one }
        }
        let c = (0.5 * (low + high)).exp();
        let saddle = Saddle::at(world, epsilon, c)?;
        best.0.is_finite().then_some(Saddle { log_delta: saddle.log_delta.min(0.0), ..saddle })
    }

    /// The line at c: outcomes are left out only where that loses next to nothing of δ.
    fn at(world: &World, epsilon: f64, c: f64) -> Option<Saddle> {
        let caps: Vec<f64> = world.uses.iter().map(|(once, _)| nodes::cap(once, c)).collect();
        let lost = world.uses.iter().zip(&caps);
        let lost = lost.map(|((once, times), cap)| nodes::log_left_out(once, *cap) + (*times as f64).ln());
        let log_left_out = lost.fold(f64::NEG_INFINITY, f64::max) + (world.uses.len() as f64).ln();
        let log_delta = |caps: &[f64]| {
            total_cumulant(world, c, caps)
                .map(|k| k - c * epsilon + log_kappa(c))
                .filter(|log| log.is_finite())
        };
        let capped = log_delta(&caps)?;
        if log_left_out < capped - 30.0 {
            return Some(Saddle { c, caps, log_left_out, log_delta: capped });
        }
        let caps = vec![f64::INFINITY; caps.len()];
        let log_delta = log_delta(&caps)?;
        Some(Saddle { c, caps, log_left_out: f64::NEG_INFINITY, log_delta })
    }

    /// The widest step whose aliases are negligible. δ may be far below Chernoff's bound: 15 nats are allowed for that.
    pub(super) fn step(&self, world: &World, epsilon: f64) -> Option<f64> {
        let floor = self.log_delta - 15.0 - DEEP;
        let low = 2.0 * PI.hi * self.c / -floor;
        let mut high: f64 = 0.0;
        for factor in [1.02, 1.05, 1.1, 1.2, 1.4, 1.7, 2.2, 3.0, 5.0, 10.0, 30.0, 100.0] {
            let other = self.c * factor;
            let Some(k) = total_cumulant(world, other, &self.caps) else { continue };
            let above = k - other * epsilon + log_kappa(other) - floor;
            high = high.max(2.0 * PI.hi * (other - self.c) / above);
        }
        (high > 0.0).then_some(low.min(high))
    }

    /// A bound on the sum of all aliases for the step h, as a logarithm.
    pub(super) fn log_aliases(&self, world: &World, epsilon: f64, h: f64) -> f64 {
        let low = -2.0 * PI.hi * self.c / h;
        let mut high = f64::INFINITY;
        for factor in [1.02, 1.05, 1.1, 1.2, 1.4, 1.7, 2.2, 3.0, 5.0, 10.0, 30.0, 100.0] {
            let other = self.c * factor;
            let Some(k) = total_cumulant(world, other, &self.caps) else { continue };
            high = high.min(k - other * epsilon + log_kappa(other) - 2.0 * PI.hi * (other - self.c) / h);
        }
        // Geometric series, and what floats may be off: a millionth of the exponent is far more.
        low.max(high) + 2.0 + 1e-6 * (low.abs() + high.abs())
    }
}

fn summed(world: &World, epsilon: f64, saddle: &Saddle, h: f64, fineness: f64, most: f64) -> Option<Summed> {
    let c = Dd::new(saddle.c);
    let step = Dd::new(h);
    let mut lines: Vec<(Line, Dd)> = Vec::new();
    for ((once, times), cap) in world.uses.iter().zip(&saddle.caps) {
        let line = match nodes::closed(once) {
            Some(closed) => Line::Closed(closed),
            None => Line::Summed(Box::new(nodes::of(once, saddle.c, fineness, *cap)?.turning(step))),
        };
        lines.push((line, Dd::whole(*times)));
    }
    let work: f64 = lines.iter().map(|(line, _)| line.work()).sum::<f64>() + 100.0;
    if 40.0 * work > most {
        return None;
    }
    let coarse =
        lines.iter().any(|(line, _)| matches!(line, Line::Summed(_))) && fineness > finenesses(world)[3];
    let (mut sum, mut error, mut scale) = (Dd::ZERO, 0.0, 0.0);
    let (mut k, mut look, mut spent) = (0u64, 1u64, false);
    let rest = loop {
        let z = Cdd::new(c, step * Dd::whole(k));
        let (mut exponent, mut blur, mut grown) = (Cdd::ZERO, 0.0, 0.0);
        for (line, times) in &mut lines {
            let (log, relative) = line.next(z);
            exponent = exponent + log.times(*times);
            blur += times.hi * (relative + 4.0 * DD_UNIT * log.size());
            grown += times.hi * relative.ln_1p();
        }
        exponent = exponent - z.times(Dd::new(epsilon));
        if k == 0 {
            scale = exponent.re.hi;
        }
        exponent.re = exponent.re - Dd::new(scale);
        let weight = z * (z + Cdd::ONE);
        let value = exponent.exp() / weight;
        let size = (exponent.re.hi + grown).exp() / weight.size();
        let half = if k == 0 { 0.5 } else { 1.0 };
        if blur > 1e-3 && size > SHARP * sum.hi.abs() && coarse {
            return Some(Summed::TooCoarse);
        }
        if k >= 32 && k.is_power_of_two() {
            // Nothing dies away faster than a Gaussian: where even that would take too long, give up early.
            let drop = (-exponent.re.hi).max(1e-3);
            spent |= k as f64 * (40.0 / drop).sqrt() * work > 1.5 * most;
        }
        sum = sum + value.re * Dd::new(half);
        error += size * (blur + 64.0 * DD_UNIT * (1.0 + exponent.size())).min(2.0);
        spent |= (k + 1) as f64 * work > most;
        if k >= look && size < REST * sum.hi.abs() || spent {
            let rest = beyond(&mut lines, z, k, h, -saddle.c * epsilon - scale);
            if rest < SETTLED * sum.hi.abs() || spent {
                break rest;
            }
            look = k + 4 + k / 8;
        }
        k += 1;
    };
    if rest > 0.01 * sum.hi.abs() {
        return None;
    }
    if error > SHARP * sum.hi.abs() && coarse {
        return Some(Summed::TooCoarse);
    }
    let factor = step / PI;
    let value = sum * factor;
    error += rest;
    let aliases = (saddle.log_aliases(world, epsilon, h) - scale).exp();
    let error = error * h;
    let low = Truth::of_value(value - Dd::new(aliases), error, Dd::new(scale));
    // What was left out may all be lost.
    let left_out = (saddle.log_left_out - scale).exp();
    let high = Truth::of_value(value + Dd::new(left_out), error, Dd::new(scale));
    Some(Summed::Done(Truth { log_low: low.log_low, log_high: high.log_high }))
}

/// A bound on the sum of all points after z, the k-th: no transform exceeds its ceiling from there on, and the weights
/// 1/|z(z+1)| ≤ 1/(hj)² add up to at most 1/(h²k).
fn beyond(lines: &mut [(Line, Dd)], z: Cdd, k: u64, h: f64, base: f64) -> f64 {
    let mut log = base;
    for (line, times) in lines {
        log += times.hi * line.ceiling(z, times.hi);
    }
    // A nat for what floats may be off.
    (log + 1.0).exp() / (h * h * k as f64)
}

/// The transform of one use along the line.
enum Line {
    Closed(nodes::Closed),
    Summed(Box<nodes::Turning>),
}

impl Line {
    fn work(&self) -> f64 {
        match self {
            Line::Closed(_) => 100.0,
            Line::Summed(turning) => turning.work(),
        }
    }

    /// K at the next point, and how far it may be off.
    fn next(&mut self, z: Cdd) -> (Cdd, f64) {
        match self {
            Line::Closed(closed) => (closed.at(z), 32.0 * DD_UNIT),
            Line::Summed(turning) => turning.next(),
        }
    }

    /// What Re K does not exceed at z or above it.
    fn ceiling(&mut self, z: Cdd, times: f64) -> f64 {
        match self {
            Line::Closed(closed) => closed.envelope(z),
            Line::Summed(turning) => turning.ceiling(z.im.hi, times),
        }
    }
}
