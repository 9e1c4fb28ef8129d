//! How good a sum over nodes is, and what a transform does not exceed further up the line: both by moving the path of t.
//!
//! M(z) = ∫ φ(t) R(t)^{…} dt is the transform of a Gaussian on a Poisson batch, R(t) = 1 − q + q e^{μt − μ²/2}. R has no zero
//! while |Im t| < π/μ, so the path may run through t + i a(t) with 0 ≤ μa < π. There |φ| grows by e^{a²/2}, |R| is known,
//! and |R^{iy}| is e^{−yθ} with an angle θ ≥ 0. Two bounds follow, both proven but for the floats that add them up:
//!
//! - Above: |M(c + iy)| ≤ ∫ |φ R^{…}| e^{−yθ} √(1 + a′²) dt, and the right side only falls as y rises. Jumps of nearly one
//!   size bring |M| back up, so what |M| is at one point says nothing of the next; this does.
//! - Aliases: a trapezoid sum of step s errs by at most (G₊ + G₋)/(e^{2πa/s} − 1), with G± the same integral for the
//!   constants ±a.

use super::law::Situation;
use std::f64::consts::PI;

/// One use of a Gaussian on a Poisson batch, with its tilted weights at the nodes low + k·step.
pub struct Strip {
    situation: Situation,
    rate: f64,
    mu: f64,
    c: f64,
    low: f64,
    step: f64,
    weights: Vec<f64>,
    /// q e^w/(1 − q + q e^w) at t and at −t.
    shares: Vec<(f64, f64)>,
    total: f64,
    /// Constant shifts, to bound aliases.
    flat: Vec<(f64, Path)>,
    /// The last alias bound, and up to where it holds.
    known: (f64, f64),
    /// Paths to bound what comes further up; drawn when first asked for.
    paths: Vec<Path>,
}

/// A path of t: per node the logarithm of what the integrand grows by, and the angle θ.
struct Path {
    growth: Vec<(f64, f64)>,
    /// By this much more at most where a node is weighed by the chance that the record was absent, or present: both are
    /// a positive number over R, and |R| is at least cos(μa/2) of its size on the real line.
    labelled: f64,
    /// What the ends of the path add, beside the total.
    ends: f64,
}

impl Strip {
    /// From rate, shift and the weights of nodes tilted to c.
    pub fn new(
        (rate, mu, situation): (f64, f64, Situation),
        c: f64,
        (low, step): (f64, f64),
        weights: Vec<f64>,
    ) -> Strip {
        let share = |t: f64| 1.0 / (1.0 + (1.0 - rate) / rate * (0.5 * mu * mu - mu * t).exp());
        let at = |k: usize| low + step * k as f64;
        let shares = (0..weights.len()).map(|k| (share(at(k)), share(-at(k)))).collect();
        let total = weights.iter().sum();
        let mut strip = Strip {
            situation,
            rate,
            mu,
            c,
            low,
            step,
            weights,
            shares,
            total,
            flat: Vec::new(),
            known: (0.0, f64::NEG_INFINITY),
            paths: Vec::new(),
        };
        let widest = (0.95 * PI / mu).min(2.0 * PI / step);
        for part in [1.0, 0.75, 0.5, 0.25, 0.1, 0.05, 0.02] {
            let a = part * widest;
            strip.flat.push((a, strip.path(|_| (a, 0.0))));
        }
        strip
    }

    /// The path t + i a(t), where `shape` gives a and its slope.
    fn path(&self, shape: impl Fn(f64) -> (f64, f64)) -> Path {
        let mut growth = Vec::with_capacity(self.weights.len());
        for (k, (share, mirrored)) in self.shares.iter().enumerate() {
            let (a, slope) = shape(self.low + self.step * k as f64);
            let (sine, versine) = ((self.mu * a).sin(), 2.0 * (0.5 * self.mu * a).sin().powi(2));
            let log_size = |x: f64| 0.5 * (-2.0 * x * (1.0 - x) * versine).ln_1p();
            let angle = |x: f64| (x * sine).atan2(1.0 - x * versine);
            let (log, theta) = match self.situation {
                Situation::Remove => ((1.0 + self.c) * log_size(*share), angle(*share)),
                Situation::Add => (-self.c * log_size(*mirrored), angle(*mirrored)),
                Situation::Replace => (
                    (1.0 + self.c) * log_size(*share) - self.c * log_size(*mirrored),
                    angle(*share) + angle(*mirrored),
                ),
            };
            growth.push((0.5 * a * a + log + 0.5 * (slope * slope).ln_1p(), theta));
        }
        // From the real line up to the path at either end, where the integrand is not larger than at the path's own height.
        let last = self.weights.len() - 1;
        let end = |k: usize| {
            let a = shape(self.low + self.step * k as f64).0;
            a / self.step * self.weights[k] * growth[k].0.max(0.5 * a * a).exp()
        };
        let ends = end(0) + end(last);
        let highest = (0..=last).map(|k| shape(self.low + self.step * k as f64).0).fold(0.0, f64::max);
        Path { growth, labelled: 1.0 / (0.5 * self.mu * highest).cos(), ends }
    }

    /// The share of what was added up by which the trapezoid sum at height y, or below it, may be off.
    pub fn aliases(&mut self, y: f64) -> f64 {
        if y <= self.known.0 && self.known.1 >= 0.0 {
            return self.known.1;
        }
        let upto = 1.3 * y;
        let mut best = f64::INFINITY;
        for (a, path) in &self.flat {
            let turns = 2.0 * PI * a / self.step;
            let mut sum = 0.0;
            for (weight, (growth, theta)) in self.weights.iter().zip(&path.growth) {
                sum += weight * ((growth + upto * theta - turns).exp() + (growth - turns).exp());
            }
            sum += (self.outside(*a, upto, turns, -1.0) + self.outside(*a, upto, turns, 1.0)).min(1e300);
            best = best.min(sum * path.labelled / -(-turns).exp_m1());
        }
        // Twice, for the floats; and the ends, where the sum breaks off: their heights by Abel and Plana.
        let ends = 8.0 * (self.weights[0] + self.weights[self.weights.len() - 1]) / self.step.min(1.0);
        let bound = (2.0 * best + ends) / self.total;
        // Where an end that is not far out in the tails turns faster than the nodes can follow, nothing is known.
        let speed = upto * self.mu * self.step;
        let last = self.shares.len() - 1;
        let turning = |k: usize| self.shares[k].0.max(self.shares[k].1) * speed > PI;
        let bound =
            if (turning(0) || turning(last)) && ends > 1e-33 * self.total { f64::INFINITY } else { bound };
        self.known = (upto, bound);
        bound
    }

    /// What lies beyond the nodes to one side adds to G at most, in the unit of the weights: next to nothing is left of φ there,
    /// but angles grow up to μa. Cell by cell, with φ at the inner edge and the rest, which is monotone, at the worse one.
    fn outside(&self, a: f64, y: f64, turns: f64, side: f64) -> f64 {
        const CELL: f64 = 0.25;
        let last = self.weights.len() - 1;
        let (k, weight) = if side > 0.0 { (last, self.weights[last]) } else { (0, self.weights[0]) };
        let end = self.low + self.step * k as f64;
        let log_ratio = |t: f64| {
            let w = self.mu * t - 0.5 * self.mu * self.mu;
            if w > 600.0 { w + self.rate.ln() } else { (self.rate * w.exp_m1()).ln_1p() }
        };
        let share = |t: f64| {
            1.0 / (1.0 + (1.0 - self.rate) / self.rate * (0.5 * self.mu * self.mu - self.mu * t).exp())
        };
        let (sine, versine) = ((self.mu * a).sin(), 2.0 * (0.5 * self.mu * a).sin().powi(2));
        let angle = |t: f64| (share(t) * sine).atan2(1.0 - share(t) * versine);
        let (one, other) = match self.situation {
            Situation::Remove => (1.0, 0.0),
            Situation::Add => (0.0, 1.0),
            Situation::Replace => (1.0, 1.0),
        };
        let tilt = |t: f64| one * (1.0 + self.c) * log_ratio(t) - other * self.c * log_ratio(-t);
        let turned = |t: f64| one * angle(t) + other * angle(-t);
        let grown = 0.5 * a * a - other * self.c * (0.5 * self.mu * a).cos().ln() - turns;
        let (mut sum, mut t) = (0.0, end);
        loop {
            let next = t + side * CELL;
            let fall =
                0.5 * (t - end).abs() * (t + end).abs() * if t.abs() >= end.abs() { 1.0 } else { -1.0 };
            let known = tilt(t).max(tilt(next)) - tilt(end) - fall + grown;
            sum += (known + y * turned(t).max(turned(next))).exp() * CELL / self.step;
            if known + y * (one + other) * self.mu * a < -200.0 || sum > 1e280 || (t - end).abs() > 1e4 {
                return if (t - end).abs() > 1e4 { f64::INFINITY } else { sum * weight };
            }
            t = next;
        }
    }

    /// log of what |M|/M(c) does not exceed at height y or above; `times` uses follow one another.
    pub fn log_ceiling(&mut self, y: f64, times: f64) -> f64 {
        if self.paths.is_empty() {
            self.draw(times);
        }
        let mut best = 0.0_f64;
        for path in &self.paths {
            let terms = self.weights.iter().zip(&path.growth);
            let sum: f64 =
                terms.map(|(weight, (growth, theta))| weight * (growth - y * theta).exp_m1()).sum();
            best = best.min((sum + path.ends) / self.total);
        }
        // What floats may be off: each weight by far less than this part of the change.
        (best * (1.0 - 1e-6)).ln_1p()
    }

    /// What the part of |M| of batches that hold the record does not exceed at height y or above, in the unit of the weights.
    pub fn present_ceiling(&mut self, y: f64) -> f64 {
        if self.paths.is_empty() {
            let widest = (0.8 * PI / self.mu).min(12.0);
            self.paths = (0..8).map(|j| self.path(|_| (widest * 0.7f64.powi(j), 0.0))).collect();
        }
        let mut best = f64::INFINITY;
        for path in &self.paths {
            let terms = self.weights.iter().zip(&self.shares).zip(&path.growth);
            let sum: f64 =
                terms.map(|((weight, share), (g, theta))| weight * share.0 * (g - y * theta).exp()).sum();
            best = best.min((sum + path.ends) * path.labelled);
        }
        best * (1.0 + 1e-6)
    }

    /// Flat paths, and paths that rise only where losses are rare: how rare, and how high, in steps of two and four.
    fn draw(&mut self, times: f64) {
        let widest = (0.8 * PI / self.mu).min(9.0);
        let needed = 60.0 / times;
        let mut paths = Vec::new();
        let mut a = widest;
        loop {
            paths.push(self.path(|_| (a, 0.0)));
            if a * a < 0.25 * needed {
                break;
            }
            a *= 0.5;
        }
        let (up, down) = match self.situation {
            Situation::Remove => (true, false),
            Situation::Add => (false, true),
            Situation::Replace => (true, true),
        };
        for (wanted, sign) in [(up, 1.0), (down, -1.0)] {
            let mut rare = 0.5;
            while wanted && rare > 0.25 * needed {
                let middle = self.beyond(rare, sign);
                let width = (1.0 / self.mu).clamp(0.7, 2.0);
                let mut a = widest;
                while rare * a * a > 0.05 * needed && a > 0.02 * widest {
                    paths.push(self.path(|t| {
                        let bend = (sign * (t - middle) / width).tanh();
                        (0.5 * a * (1.0 + bend), 0.5 * a * (1.0 - bend * bend) / width)
                    }));
                    a *= 0.5;
                }
                rare *= 0.25;
            }
        }
        self.paths = paths;
    }

    /// Beyond where the tilted weight is `share`, towards rising t (sign 1) or falling t.
    fn beyond(&self, share: f64, sign: f64) -> f64 {
        let count = self.weights.len();
        let mut sum = 0.0;
        for j in 0..count {
            let k = if sign > 0.0 { count - 1 - j } else { j };
            sum += self.weights[k];
            if sum >= share * self.total {
                return self.low + self.step * k as f64;
            }
        }
        self.low
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// (log weight but for a constant, loss) at t.
    fn node((rate, mu, situation): (f64, f64, Situation), c: f64, t: f64) -> (f64, f64) {
        let log_ratio = |t: f64| (rate * (mu * t - 0.5 * mu * mu).exp_m1()).ln_1p();
        let (a, loss) = match situation {
            Situation::Remove => (log_ratio(t), log_ratio(t)),
            Situation::Add => (0.0, -log_ratio(-t)),
            Situation::Replace => (log_ratio(t), log_ratio(t) - log_ratio(-t)),
        };
        (a + c * loss - 0.5 * t * t, loss)
    }

    /// The sum over nodes of this step, of e^{iyL}.
    fn transform(of: (f64, f64, Situation), c: f64, step: f64, y: f64) -> (f64, f64) {
        let count = (80.0 / step) as i64;
        let terms = (-count / 2..count / 2).map(|k| node(of, c, 10.0 + step * k as f64));
        terms.fold((0.0, 0.0), |sum, (log, loss)| {
            let weight = step * log.exp();
            (sum.0 + weight * (y * loss).cos(), sum.1 + weight * (y * loss).sin())
        })
    }

    fn strip(of: (f64, f64, Situation), c: f64, step: f64) -> Strip {
        let count = (80.0 / step) as i64;
        let weights: Vec<f64> =
            (-count / 2..count / 2).map(|k| node(of, c, 10.0 + step * k as f64).0.exp()).collect();
        Strip::new(of, c, (10.0 - step * (count / 2) as f64, step), weights)
    }

    const CASES: [(f64, f64, Situation, f64); 6] = [
        (3.2e-6, 14.6, Situation::Remove, 0.087),
        (1e-3, 4.0, Situation::Remove, 0.5),
        (0.01, 1.0, Situation::Remove, 12.0),
        (0.05, 2.0, Situation::Add, 20.0),
        (0.2, 0.3, Situation::Replace, 3.0),
        (1e-3, 5.0, Situation::Replace, 0.3),
    ];

    /// Jumps of one size bring the transform back up; the ceiling that was stated lower down must still hold.
    #[test]
    fn no_transform_rises_above_a_ceiling_stated_before() {
        for (rate, mu, situation, c) in CASES {
            let of = (rate, mu, situation);
            let step = 0.1 * (1.0_f64).min(1.0 / mu);
            let mut strip = strip(of, c, step);
            let whole = transform(of, c, step, 0.0).0;
            let mut ceiling = 0.0_f64;
            for k in 0..60 {
                let y = 0.002 / rate.sqrt().min(1.0) * 1.15f64.powi(k) / mu;
                if y * mu * step > 1.0 {
                    break; // the sum itself would no longer follow the turns
                }
                ceiling = ceiling.min(strip.log_ceiling(y, 1e4));
                let (re, im) = transform(of, c, step, y);
                let here = (re.hypot(im) / whole).ln();
                // Below e^{−30} floats no longer tell.
                assert!(here <= ceiling + 1e-9 || here < -30.0, "{of:?} {y}: {here} > {ceiling}");
            }
            assert!(ceiling < -1e-3, "{of:?}: {ceiling} says nothing");
        }
    }

    /// Nodes so far apart that aliases show: a sum of ten times as many must lie within what is stated.
    #[test]
    fn aliases_stay_within_their_bound() {
        for (rate, mu, situation, c) in CASES {
            let of = (rate, mu, situation);
            let step = (1.3_f64).min(1.3 / mu);
            let mut strip = strip(of, c, step);
            for y in [0.0, 0.1 / mu, 1.0 / mu, 3.0] {
                let (coarse, fine) = (transform(of, c, step, y), transform(of, c, 0.1 * step, y));
                let off = (coarse.0 - fine.0).hypot(coarse.1 - fine.1) / strip.total / step;
                let bound = strip.aliases(y);
                assert!(off <= bound + 1e-13, "{of:?} {y}: {off:e} > {bound:e}");
            }
        }
    }
}
