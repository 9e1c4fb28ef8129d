//! δ(ε) as a sum along a vertical contour through the saddle point, with everything the sum leaves out bounded.
//!
//! For L the total loss, K its log moment function and any c > 0,
//! δ(ε) = (1/2πi) ∫_{Re z = c} e^{K(z) − zε} / (z(z+1)) dz. The trapezoid rule with step h on that line gives
//! exactly δ(ε) + Σ_{j≥1} [e^{2πjc/h} δ(ε + 2πj/h) + e^{−2πjc/h} δ(ε − 2πj/h)]: it errs upward, by an amount that
//! Chernoff bounds. Cutting the line off is paid for by an envelope of the transform; where there is none, the
//! composition is made a little worse by one more, very weak Gaussian mechanism, whose own cost is then bounded.

use super::law::{Law, Tilted};
use num_complex::Complex64;
use std::f64::consts::PI;
use veracity_numerics::UNIT;

/// Laws composed: each with how often it is used, and all un-sampled Gaussians as one.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Composed {
    pub laws: Vec<(Law, f64)>,
    /// Σ μ² of the Gaussians.
    pub gaussian: f64,
}

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

impl Composed {
    /// Estimates of K(c), K′(c), K″(c) of the whole.
    fn scout(&self, c: f64) -> [f64; 3] {
        let g = self.gaussian;
        let mut total = [0.5 * g * c * (c + 1.0), g * (c + 0.5), g];
        for (law, times) in &self.laws {
            for (sum, part) in total.iter_mut().zip(law.scout(c)) {
                *sum += times * part;
            }
        }
        total
    }

    /// The saddle point with abscissa c: the integrand is stationary there for exactly one ε.
    pub(super) fn saddle(&self, c: f64) -> Saddle {
        let [k, k1, k2] = self.scout(c);
        let epsilon = k1 - 1.0 / c - 1.0 / (1.0 + c);
        let spread = k2 + 1.0 / (c * c) + 1.0 / ((1.0 + c) * (1.0 + c));
        let log_delta = k - c * epsilon - (c * (1.0 + c)).ln() - 0.5 * (2.0 * PI * spread).ln();
        Saddle { c, epsilon, log_delta, variance: k2 }
    }

    /// The saddle point where `measure` falls through zero; `measure` must fall as c rises.
    fn saddle_where(&self, measure: impl Fn(&Saddle) -> f64) -> Option<Saddle> {
        let spread = self.scout(1e-3)[2].sqrt();
        let mut t = if spread > 0.0 { (4.0 / spread).ln() } else { 0.0 }.clamp(-20.0, 20.0);
        let at = |t: f64| {
            let saddle = self.saddle(t.exp());
            let value = measure(&saddle);
            (if value.is_nan() { f64::NEG_INFINITY } else { value.max(-1e300) }, saddle)
        };
        let (mut value, mut saddle) = at(t);
        let mut stride = 0.7;
        let direction = if value > 0.0 { 1.0 } else { -1.0 };
        // Walk until the sign changes, then halve or interpolate: the abscissa need only be good to a percent.
        let (mut before, mut before_value) = (t, value);
        for _ in 0..80 {
            if (value > 0.0) != (direction > 0.0) {
                break;
            }
            (before, before_value) = (t, value);
            t += direction * stride;
            stride *= 1.3;
            if !(-40.0..=40.0).contains(&t) {
                return None;
            }
            (value, saddle) = at(t);
        }
        let (mut low, mut low_value, mut high, mut high_value) =
            if direction > 0.0 { (before, before_value, t, value) } else { (t, value, before, before_value) };
        for _ in 0..40 {
            if high - low < 0.01 {
                break;
            }
            let share = if high_value > -1e200 { low_value / (low_value - high_value) } else { 0.5 };
            let middle = low + (high - low) * share.clamp(0.1, 0.9);
            let (v, s) = at(middle);
            saddle = s;
            if v > 0.0 { (low, low_value) = (middle, v) } else { (high, high_value) = (middle, v) }
            if v.abs() < 0.02 {
                break;
            }
        }
        let saddle = self.before_the_wall(saddle);
        (saddle.log_delta.is_finite() && saddle.c.is_finite()).then_some(saddle)
    }

    /// Where the moment function is driven by rare large losses the saddle lies on a wall: the tilted law splits in
    /// two and its variance explodes. Any abscissa is valid; a smaller one has a calmer law and still little to cancel.
    fn before_the_wall(&self, saddle: Saddle) -> Saddle {
        let calm = 2.0 * (-saddle.log_delta).max(4.0);
        let mut c = saddle.c;
        let mut variance = saddle.variance;
        for _ in 0..40 {
            if c * c * variance <= calm {
                break;
            }
            c *= 0.92;
            variance = self.scout(c)[2];
        }
        Saddle { c, variance, ..saddle }
    }

    /// The saddle point for a given ε.
    pub(super) fn saddle_for_epsilon(&self, epsilon: f64) -> Option<Saddle> {
        let scale = epsilon.abs().max(1e-300);
        let found = self.saddle_where(|s| (epsilon - s.epsilon) / (0.02 * scale + 1.0 / s.c).max(1e-300))?;
        // Re-centre the estimate of δ on the ε that was asked.
        Some(Saddle { log_delta: found.log_delta - found.c * (epsilon - found.epsilon), epsilon, ..found })
    }

    /// The saddle point at which δ is about as given.
    pub(super) fn saddle_for_delta(&self, log_delta: f64) -> Option<Saddle> {
        self.saddle_where(|s| s.log_delta - log_delta)
    }

    /// An upper bound on δ(ε) by Chernoff at one abscissa, from certified moments.
    ///
    /// # Reference  (1 − e^{ε−l})₊ ≤ κ(c) e^{c(l−ε)} with κ(c) = c^c/(1+c)^{1+c}
    pub(super) fn chernoff(&self, c: f64) -> Option<f64> {
        let mut k = 0.5 * self.gaussian * c * (c + 1.0) * (1.0 + 8.0 * UNIT);
        for (law, times) in &self.laws {
            let (value, error) = law.tilted(c, 0.0, 0.0)?.log_mgf();
            k += times * (value + error);
        }
        Some(k - c * (1.0 / c).ln_1p() - c.ln_1p() + 1e-9)
    }
}

/// What is known of δ at one ε.
#[derive(Debug, Clone, Copy)]
pub(super) struct Value {
    pub lower: f64,
    pub middle: f64,
    pub upper: f64,
    /// Estimate of dδ/dε.
    pub slope: f64,
}

/// Node values along the contour and the bounds that hold for all ε.
pub(super) struct Contour {
    c: f64,
    step: f64,
    /// e^{K(z) − K(c)}/(z(z+1)) at z = c + i·k·step.
    nodes: Vec<Complex64>,
    /// Σ of the node moduli times their relative errors, for δ and for the density.
    node_error: f64,
    density_error: f64,
    /// Σ of y times the node moduli: how much a rounding of ε·y can matter.
    phase_error: f64,
    log_scale: f64,
    log_scale_error: f64,
    /// Bounds on the cut-off tail, for δ and for the density, relative to the scale.
    tail: f64,
    density_tail: f64,
    /// Abscissae c′ > c with the logarithm of the aliasing bound at ε = 0.
    high_aliases: Vec<(f64, f64)>,
    low_alias: f64,
    /// μ of the smoothing Gaussian, zero for none.
    smoothing: f64,
}

/// The most nodes on a contour.
const MOST_NODES: f64 = 400_000.0;

impl Contour {
    /// Draws a contour that serves ε near the saddle's.
    pub(super) fn draw(composed: &Composed, saddle: &Saddle) -> Option<Contour> {
        let c = saddle.c;
        // Relative error of δ that moves ε by about 1e-8 of itself.
        let worth = (c * saddle.epsilon.abs()).max(1e-3);
        let tolerance = (1e-8 * worth).min(1e-6);
        let (step, high_aliases) = aliasing(composed, saddle, tolerance)?;
        let smoothing = (2e-7 * worth / (c * (c + 1.0))).sqrt();
        let far = (2.0 * (1.0 / tolerance).ln() + 8.0).sqrt() / smoothing;
        // What the tail is measured against: δ over the scale e^{K(c) − cε}.
        let relative = (saddle.log_delta - (composed.scout(c)[0] - c * saddle.epsilon)).exp();
        let mut reach = 8.0 / saddle.variance.max(1e-300).sqrt();
        loop {
            let smooth = reach >= far;
            if smooth {
                reach = far;
            }
            let count = (reach / step).ceil().max(8.0);
            if count > MOST_NODES {
                return None;
            }
            let extra = if smooth { smoothing } else { 0.0 };
            if std::env::var("DBG").is_ok() { eprintln!("DBG saddle {saddle:?} step {step:e} reach {reach:e} count {count} smooth {smooth} far {far:e} tol {tolerance:e} rel {relative:e}"); }
            if let Some(contour) = Contour::try_draw(composed, c, step, count as usize, extra, (tolerance, relative)) {
                return Some(Contour { high_aliases, ..contour });
            }
            if smooth {
                return None;
            }
            reach *= 2.2;
        }
    }

    /// Computes the nodes and the tail; none when the tail exceeds what is allowed.
    fn try_draw(
        composed: &Composed,
        c: f64,
        step: f64,
        count: usize,
        smoothing: f64,
        (tolerance, relative): (f64, f64),
    ) -> Option<Contour> {
        let last = step * count as f64;
        let gaussian = composed.gaussian + smoothing * smoothing;
        let tilted: Vec<(Tilted, f64)> = composed
            .laws
            .iter()
            .map(|(law, times)| law.tilted(c, last, 0.02 * tolerance / times).map(|tilted| (tilted, *times)))
            .collect::<Option<_>>()?;
        let (tail, density_tail) = tails(composed, c, &tilted, gaussian, last);
        if std::env::var("DBG").is_ok() { eprintln!("DBG   tail {tail:e} allowed {:e}", tolerance*relative);
            for (t, n) in &tilted { if let Tilted::Points(p) = t { eprintln!("DBG   points {} panels {} quad {:e} K {:e} err {:e} *T {:e} env {:e} mom {:?}", p.losses.len(), p.panels.len(), p.quadrature, p.log_mgf, p.log_mgf_error, p.quadrature*n, p.envelope(last), p.busy); } } }
        if tail > tolerance * relative {
            return None;
        }
        let mut exponents: Vec<Complex64> = (0..=count)
            .map(|k| {
                let y = k as f64 * step;
                0.5 * gaussian * Complex64::new(-y * y, y * (2.0 * c + 1.0))
            })
            .collect();
        let mut errors = vec![0.0; count + 1];
        let mut log_scale = 0.5 * gaussian * c * (c + 1.0);
        let mut log_scale_error = 8.0 * UNIT * log_scale;
        for (law, times) in &tilted {
            let (k, k_error) = law.log_mgf();
            log_scale += times * k;
            log_scale_error += times * k_error + 4.0 * UNIT * (times * k).abs();
            accumulate(law.transform(step, count), *times, &mut exponents, &mut errors);
        }
        let mut contour = Contour {
            c,
            step,
            nodes: Vec::new(),
            node_error: 0.0,
            density_error: 0.0,
            phase_error: 0.0,
            log_scale,
            log_scale_error,
            tail,
            density_tail,
            high_aliases: Vec::new(),
            low_alias: 1.0 / (2.0 * PI * c / step).exp_m1(),
            smoothing,
        };
        contour.set_nodes(&exponents, &errors);
        Some(contour)
    }

    /// Turns exponents into node values and sums up their errors.
    fn set_nodes(&mut self, exponents: &[Complex64], errors: &[f64]) {
        for (k, (exponent, error)) in exponents.iter().zip(errors).enumerate() {
            let y = k as f64 * self.step;
            let z = Complex64::new(self.c, y);
            let denominator = z * (z + 1.0);
            let value = exponent.exp() / denominator;
            // A node whose relative error is not small counts as error altogether.
            let relative = (error + UNIT * (32.0 + 4.0 * exponent.norm())).exp_m1();
            let size = value.norm().max(f64::MIN_POSITIVE);
            let (kept, lost) = if relative < 0.5 {
                (value, size * relative)
            } else {
                (Complex64::new(0.0, 0.0), ((exponent.re + error).min(0.0)).exp() / denominator.norm())
            };
            let half = if k == 0 { 0.5 } else { 1.0 };
            self.node_error += half * lost;
            self.density_error += half * lost * denominator.norm();
            self.phase_error += size * y;
            self.nodes.push(kept * half);
        }
    }

    /// δ at ε, from both sides.
    ///
    /// # Promise  lower ≤ δ(ε) ≤ upper
    pub(super) fn value_at(&self, epsilon: f64) -> Value {
        let (mut sum, mut slope, mut density) = (0.0, 0.0, 0.0);
        let turn = Complex64::from_polar(1.0, -self.step * epsilon);
        let mut phase = Complex64::new(1.0, 0.0);
        for (k, node) in self.nodes.iter().enumerate() {
            // The phase is multiplied up and set anew every so often: 64 products lose at most 200 ulp.
            if k % 64 == 0 {
                phase = Complex64::from_polar(1.0, -(k as f64 * self.step) * epsilon);
            }
            let z = Complex64::new(self.c, k as f64 * self.step);
            let term = node * phase;
            let sloped = z * term;
            sum += term.re;
            slope += sloped.re;
            density += sloped.re + (z * sloped).re;
            phase *= turn;
        }
        let rounding = UNIT * (400.0 + self.nodes.len() as f64) * self.total_size()
            + 2.0 * UNIT * epsilon.abs() * self.phase_error;
        let measure = self.step / PI;
        let error = measure * (self.node_error + rounding) + self.tail;
        let exponent = self.log_scale - self.c * epsilon;
        let scale_error =
            (self.log_scale_error + 4.0 * UNIT * (self.log_scale.abs() + (self.c * epsilon).abs() + 4.0)).exp_m1();
        let scale = exponent.exp();
        let (above, below) = (scale * (1.0 + scale_error), scale * (1.0 - scale_error).max(0.0));
        let middle = scale * measure * sum;
        let upper = above * (measure * sum + error).max(0.0);
        // Smoothing and aliasing only ever add to δ.
        let gap = if self.smoothing > 0.0 {
            let s = self.smoothing;
            let size = measure * (density.abs() + self.density_error + rounding * self.largest_denominator())
                + self.density_tail;
            above * s * s * (1.0 + s) * (s * s / 8.0).exp() * size
        } else {
            0.0
        };
        let lower = below * (measure * sum - error) - gap - self.aliases(epsilon);
        Value { lower: lower.max(0.0), middle, upper: upper.min(1.0), slope: -scale * measure * slope }
    }

    fn total_size(&self) -> f64 {
        self.nodes.iter().map(|node| node.norm()).sum()
    }

    fn largest_denominator(&self) -> f64 {
        let y = self.step * self.nodes.len() as f64;
        (self.c + y) * (self.c + 1.0 + y)
    }

    /// A bound on what aliasing adds.
    fn aliases(&self, epsilon: f64) -> f64 {
        let high = self
            .high_aliases
            .iter()
            .map(|(c, log_bound)| (log_bound - c * epsilon).exp())
            .fold(f64::INFINITY, f64::min);
        high + self.low_alias
    }
}

/// The step of the contour, and for some c′ > c the logarithm of κ(c′) e^{K(c′)}/(e^{2π(c′−c)/h} − 1), which bounds
/// what the losses above ε alias to (times e^{−c′ε}).
fn aliasing(composed: &Composed, saddle: &Saddle, tolerance: f64) -> Option<(f64, Vec<(f64, f64)>)> {
    let c = saddle.c;
    let wanted = saddle.log_delta + tolerance.ln();
    let mut step = 2.0 * PI * c / (-wanted).max(3.0);
    for _ in 0..60 {
        let period = 2.0 * PI / step;
        let estimate = |rise: f64| {
            let k = composed.scout(c + rise)[0];
            k - (c + rise) * saddle.epsilon - period * rise - (c + rise).ln_1p()
        };
        // The estimate is convex in the rise: double it while that helps.
        let mut rise = 0.02 * c;
        let mut value = estimate(rise);
        for _ in 0..40 {
            let next = estimate(2.0 * rise);
            if !(next < value) {
                break;
            }
            (rise, value) = (2.0 * rise, next);
            if value < wanted - 3.0 {
                break;
            }
        }
        if value < wanted - 0.5 {
            if let Some(log_bound) = composed.chernoff(c + rise) {
                let log_gain = period * rise + (-(-period * rise).exp()).ln_1p();
                return Some((step, vec![(c + rise, log_bound - log_gain)]));
            }
        }
        step *= 0.8;
    }
    None
}

/// Adds times·log(1 + deviation) to the exponents and times·error/|1 + deviation| to the errors.
fn accumulate(transform: (Vec<Complex64>, Vec<f64>), times: f64, exponents: &mut [Complex64], errors: &mut [f64]) {
    let (values, bounds) = transform;
    for (k, (value, bound)) in values.iter().zip(&bounds).enumerate() {
        let square = 2.0 * value.re + value.norm_sqr();
        let modulus = (1.0 + square).max(0.0).sqrt();
        let log = Complex64::new(0.5 * square.max(-1.0).ln_1p(), value.im.atan2(1.0 + value.re));
        if k == 0 {
            continue;
        }
        let share = bound / modulus.max(1e-300);
        if share < 0.25 {
            exponents[k] += times * log;
            errors[k] += times * (1.2 * share + UNIT * (4.0 * log.norm() + 4.0 * value.norm()));
        } else {
            // The value drowns in its error: keep only a bound on the modulus.
            exponents[k] += times * (modulus + bound).min(1.0).ln();
            errors[k] += 1.0;
        }
    }
}

/// Bounds on (1/π) ∫ |e^{K(z)−K(c)}| / y² dy and on (1/π) ∫ |e^{K(z)−K(c)}| dy beyond the last node.
fn tails(composed: &Composed, c: f64, tilted: &[(Tilted, f64)], gaussian: f64, last: f64) -> (f64, f64) {
    let smooth = |y: f64| {
        let mut log = -0.5 * gaussian * y * y;
        for (law, times) in tilted {
            log += times * law.envelope(y).ln();
        }
        log
    };
    let mut zones: Option<Vec<Zone>> = None;
    let (mut tail, mut density) = (0.0, 0.0);
    let mut y = last;
    for _ in 0..400 {
        let next = y * 1.08;
        let mut log = smooth(y);
        if log > -60.0 {
            let zones = zones.get_or_insert_with(|| Zone::all(composed, c, last));
            let bulk: f64 = zones.iter_mut().map(|zone| zone.bound(y, next)).sum();
            log = log.min(bulk - 0.5 * gaussian * y * y);
        }
        let size = log.exp();
        tail += size * (1.0 / y - 1.0 / next);
        density += size * (next - y);
        y = next;
        if smooth(y) < -200.0 {
            break;
        }
    }
    let size = smooth(y).exp();
    let density_rest = if gaussian > 0.0 { size / (gaussian * y) } else { f64::INFINITY };
    ((tail + size / y) / PI, (density + density_rest) / PI)
}

/// The bulk of one law between the last node and where smoothness alone suffices. With ρ = |φ_bulk|² and rare losses
/// of mass ν split off, |φ| ≤ √ρ + ν, and ρ moves by at most v·(y₂² − y₁²) where v is the spread of the bulk.
struct Zone {
    bulk: super::points::Points,
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
        composed.laws.iter().filter_map(|(law, times)| Zone::of(law, *times, c, last)).collect()
    }

    fn of(law: &Law, times: f64, c: f64, last: f64) -> Option<Zone> {
        let Law::Sampled(sampled) = law else { return None };
        let rare = 0.5 / times;
        let coarse = sampled.tilted(c, 0.0, rare)?.bulk();
        let (mass, spread) = coarse.pair_spread();
        let reach = 6.0 * mass / spread.sqrt();
        if reach <= last {
            return None;
        }
        let bulk = sampled.tilted(c, reach, rare)?.bulk();
        Some(Zone { bulk, rare, mass, spread, times, reach, budget: 60_000 })
    }

    /// A bound on times·log|φ| over [y, next].
    fn bound(&mut self, y: f64, next: f64) -> f64 {
        let cost = self.bulk.losses.len();
        if y > self.reach || self.budget < cost {
            return 0.0;
        }
        self.budget -= cost;
        let value = self.bulk.deviation(y);
        // |φ_bulk|² − mass², with the deviation measured from the bulk's own mass.
        let square = 2.0 * self.mass * value.re + value.norm_sqr();
        let moved = self.spread * (next * next - y * y) * 1.001;
        let error = 4.0 * self.bulk.quadrature + 1e-13 * (1.0 - self.mass + y * y * self.spread) + 4e-16;
        let least = ((square + moved + error) / (self.mass * self.mass)).clamp(-1.0, 0.0);
        let modulus = self.mass * (0.5 * least.ln_1p()).exp();
        self.times * (modulus + self.rare).min(1.0).ln()
    }
}
