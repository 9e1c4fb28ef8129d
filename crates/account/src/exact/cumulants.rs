//! Quick estimates of the moments of a sampled Gaussian step. They steer; nothing they say is a bound.

use super::sampled::{SampledGaussian, Situation};

impl SampledGaussian {
    /// A quick estimate of K(c), K′(c), K″(c), with no bound: it only steers.
    pub(super) fn cumulants(&self, c: f64) -> [f64; 3] {
        let (alpha, beta) = self.exponents(c);
        let log_weight = |w: f64| {
            let mirrored = if beta == 0.0 { 0.0 } else { beta * self.log_ratio(self.mirror(w)) };
            self.log_density(w) + alpha * self.log_ratio(w) + mirrored
        };
        let step = (0.7 * self.s).min(0.7);
        // The tilted distribution has a mode near the centre and, once rare large losses count, one where log A has slope 1.
        let centre = self.lower_mode(alpha, beta);
        let far = (alpha.max(0.0) - 0.5).mul_add(self.s * self.s, 0.0).min(self.cap).max(centre);
        let (at_centre, at_far) = (log_weight(centre), log_weight(far));
        // How steeply the weight rises into the cap, if it does: the mass there is e^{at_far}/steep.
        let steep = alpha * self.slope(far) - (far / self.s / self.s + 0.5);
        let at_cap = far == self.cap && steep > 1.0 / self.s;
        if at_far > at_centre + 40.0 {
            let (log_width, spread) =
                if at_cap { (-steep.ln(), 1.0 / steep) } else { (self.s.ln() + 0.919, self.s) };
            return [at_far + log_width, self.log_ratio(far), spread * spread];
        }
        let floor = at_centre.max(at_far) - 34.0;
        let mut sums = Moments::default();
        let mut walk = |start: f64, stride: f64, stop: f64| {
            let mut w = start;
            for _ in 0..2000 {
                let lw = log_weight(w);
                if lw < floor || (stride > 0.0 && w >= stop) || (stride < 0.0 && w <= stop) {
                    break;
                }
                sums.add(self, w, lw, alpha, beta);
                w += stride;
            }
            w
        };
        walk(centre - step, -step, f64::NEG_INFINITY);
        let reached = walk(centre, step, if at_cap { far - 2.0 / steep } else { self.cap });
        if at_cap && at_far > floor {
            sums.add(self, far - 1.0 / steep, at_far - (steep * step).ln(), alpha, beta);
        } else if at_far > floor && reached < far {
            // Keep to one lattice of steps, so that the two walks cannot overlap.
            let start = reached + ((far - reached) / step).ceil() * step;
            walk(start, step, self.cap);
            walk(start - step, -step, reached);
        }
        sums.finish(step)
    }

    /// Where the tilted density is largest next to where it was untilted, by steps that the tilt pushes up (or, for an
    /// added record, down).
    fn lower_mode(&self, alpha: f64, beta: f64) -> f64 {
        let s2 = self.s * self.s;
        let mut w = -0.5 * s2;
        for _ in 0..60 {
            let mirrored = if beta == 0.0 { 0.0 } else { beta * self.slope(self.mirror(w)) };
            let pushed = (-0.5 + alpha * self.slope(w) - mirrored) * s2;
            // An added record pulls back: half a step at a time, so as not to overshoot.
            let next = if alpha < 0.0 { 0.5 * (w + pushed) } else { pushed }.min(self.cap);
            let settled = (next - w).abs() < 0.05 * self.s;
            w = next;
            if settled || w == self.cap {
                break;
            }
        }
        w
    }
}

/// Sums with no bound, for steering.
#[derive(Default)]
struct Moments {
    offset: f64,
    excess: f64,
    mass: f64,
    first: f64,
    second: f64,
}

impl Moments {
    fn add(&mut self, step: &SampledGaussian, w: f64, log_weight: f64, alpha: f64, beta: f64) {
        if log_weight > self.offset + 300.0 {
            let shrink = (self.offset - log_weight).exp();
            self.mass *= shrink;
            self.first *= shrink;
            self.second *= shrink;
            self.excess = f64::INFINITY;
            self.offset = log_weight;
        }
        let la = step.log_ratio(w);
        let (lb, b) = if beta == 0.0 {
            (0.0, 0.0)
        } else {
            (step.log_ratio(step.mirror(w)), step.excess(step.mirror(w)))
        };
        let loss = match step.situation {
            Situation::Remove => la,
            Situation::Add => -la,
            Situation::Replace => la - lb,
        };
        let weight = (log_weight - self.offset).exp();
        self.mass += weight;
        self.first += weight * loss;
        self.second += weight * loss * loss;
        let density = step.log_density(w).exp();
        self.excess += density * ((alpha * la + beta * lb).exp_m1() - alpha * step.excess(w) - beta * b);
    }

    fn finish(&self, step: f64) -> [f64; 3] {
        let mean = self.first / self.mass;
        let variance = (self.second / self.mass - mean * mean).max(0.0);
        let direct = self.offset + (self.mass * step).ln();
        // What is subtracted from the excess may lie where the tilted distribution is not: it serves only where the sum cancels.
        let k = if direct.abs() < 1e-9 && self.excess.is_finite() {
            (self.excess * step).ln_1p()
        } else {
            direct
        };
        [k, mean, variance]
    }
}
