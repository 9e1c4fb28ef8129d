//! Where a contour may be cut off: a bound on the transform beyond its last node.
//!
//! Far out the smoothness of the distributions alone bounds it. Nearer by, where many uses of a distribution already make the transform
//! tiny but its smoothness does not tell, it is evaluated at single points and moves little in between.

use super::composed::Composed;
use super::distribution::{Distribution, Tilted};
use super::points::Bulk;
use std::f64::consts::PI;

/// The most distributions that are looked at one by one.
const MOST_ZONES: usize = 64;

/// Where the contour may be cut off.
pub(super) struct Truncation {
    pub last: f64,
    /// Bounds on (1/π) ∫ |e^{K(z)−K(c)}| / y² dy and on (1/π) ∫ |e^{K(z)−K(c)}| dy beyond it.
    pub tail: f64,
    pub density_tail: f64,
}

impl Truncation {
    /// The first point of a geometric ladder from `start` to `limit` beyond which the tail is at most `allowed`.
    pub(super) fn search(
        composed: &Composed,
        c: f64,
        coarse: &[(Tilted, f64)],
        gaussian: f64,
        start: f64,
        limit: f64,
        allowed: f64,
    ) -> Option<Truncation> {
        const RATIO: f64 = 1.16;
        let smooth = |y: f64| {
            -0.5 * gaussian * y * y
                + coarse.iter().map(|(part, times)| times * part.envelope(y).ln()).sum::<f64>()
        };
        // Where smoothness alone makes the rest vanish.
        let mut top = start;
        while smooth(top) > -80.0 && top < limit * 4.0 {
            top *= RATIO;
        }
        let mut zones: Option<Vec<Zone>> = None;
        let mut bounds = Vec::new();
        let mut y = start;
        while y <= top {
            let mut log = smooth(y);
            if log > -60.0 && allowed.is_finite() {
                let zones = zones.get_or_insert_with(|| Zone::all(composed, c, top));
                let bulk: f64 = zones.iter_mut().map(|zone| zone.bound(y, y * RATIO)).sum();
                log = log.min(bulk - 0.5 * gaussian * y * y);
            }
            bounds.push((y, log.exp()));
            y *= RATIO;
        }
        let rest = smooth(y).exp();
        let (mut tail, mut density) =
            (rest / y, if gaussian > 0.0 { rest / (gaussian * y) } else { f64::INFINITY });
        let mut found = None;
        for &(y, size) in bounds.iter().rev() {
            // A sum of nodes exceeds the integral of a bound that may rise again: by one node for each stretch, and a
            // stretch holds more than one.
            tail += 2.2 * size * (1.0 - 1.0 / RATIO) / y;
            density += 2.2 * size * (RATIO - 1.0) * y;
            if tail > allowed * PI || y < start {
                break;
            }
            found = Some(Truncation { last: y, tail: tail / PI, density_tail: density / PI });
        }
        found.filter(|truncation| truncation.last <= limit)
    }
}

/// The bulk of one distribution between the last node and where smoothness alone suffices. With ρ = |φ_bulk|² and rare losses
/// of mass ν split off, |φ| ≤ √ρ + ν, and with v the spread of the bulk ρ moves by at most
/// v·(y₂² − y₁²), and by at most √(2v)·(y₂ − y₁).
struct Zone {
    bulk: Bulk,
    rare: f64,
    mass: f64,
    spread: f64,
    times: f64,
    reach: f64,
    /// Plain sums left to spend.
    budget: usize,
}

impl Zone {
    fn all(composed: &Composed, c: f64, last: f64) -> Vec<Zone> {
        // Many distributions together fall by their smoothness alone.
        if composed.parts.len() > MOST_ZONES {
            return Vec::new();
        }
        composed.parts.iter().filter_map(|(part, times)| Zone::of(part, *times, c, last)).collect()
    }

    fn of(part: &Distribution, times: f64, c: f64, last: f64) -> Option<Zone> {
        let Distribution::Sampled(sampled) = part else { return None };
        if times < 10.0 {
            return None;
        }
        let rare = 0.5 / times;
        let coarse = sampled.tilted(c, 0.0, rare)?.bulk();
        let (mass, spread) = coarse.pair_spread();
        let reach = (6.0 * mass / spread.sqrt()).min(last);
        let bulk = Bulk::new(&sampled.tilted(c, reach, rare)?.bulk(), reach);
        Some(Zone { bulk, rare, mass, spread, times, reach, budget: 60_000 })
    }

    /// A bound on times·log|φ| over [y, next].
    fn bound(&mut self, y: f64, next: f64) -> f64 {
        let cost = self.bulk.cost();
        if y > self.reach || self.budget < cost {
            return 0.0;
        }
        self.budget -= cost;
        let value = self.bulk.deviation(y);
        // |φ_bulk|² − mass², with the deviation measured from the bulk's own mass.
        let square = 2.0 * self.mass * value.re + value.norm_sqr();
        let moved =
            (self.spread * (next * next - y * y)).min((next - y) * (2.0 * self.spread).sqrt()) * 1.001;
        let error = 4.0 * self.bulk.quadrature + 1e-13 * (1.0 - self.mass + y * y * self.spread) + 4e-16;
        let least = ((square + moved + error) / (self.mass * self.mass)).clamp(-1.0, 0.0);
        let modulus = self.mass * (0.5 * least.ln_1p()).exp();
        self.times * (modulus + self.rare).min(1.0).ln()
    }
}
