//! δ(ε) as a sum along a vertical contour through the saddle point, with everything the sum leaves out bounded.
//!
//! For L the total loss, K its log moment function and any c > 0,
//! δ(ε) = (1/2πi) ∫_{Re z = c} e^{K(z) − zε} / (z(z+1)) dz. The trapezoid rule with step h on that line gives
//! exactly δ(ε) + Σ_{j≥1} [e^{2πjc/h} δ(ε + 2πj/h) + e^{−2πjc/h} δ(ε − 2πj/h)]: it errs upward, by an amount that
//! Chernoff bounds. Cutting the line off is paid for by an envelope of the transform; where there is none, the
//! composition is made a little worse by one more, very weak Gaussian mechanism, whose own cost is then bounded.

use super::composed::{Composed, Saddle, tilt_all};
use super::modulus::Modulus;
use super::placement::{Placement, Scheme, high_alias};
use super::points::Fineness;
use super::truncation::Truncation;
use num_complex::Complex64;
use std::f64::consts::PI;
use veracity_core::numerics::UNIT;

/// What is known of δ at one ε.
#[derive(Debug, Clone, Copy)]
pub(super) struct Value {
    pub lower: f64,
    pub middle: f64,
    pub upper: f64,
    /// Estimate of dδ/dε.
    pub slope: f64,
    /// How uncertain `middle` is as an estimate.
    pub noise: f64,
}

impl Value {
    fn with_far(self, far: &FarLosses, epsilon: f64) -> Value {
        let (lower, upper) = far.at(epsilon);
        Value {
            lower: (self.lower + lower).max(0.0),
            middle: self.middle + 0.5 * (lower + upper),
            upper: at_least_zero(self.upper + upper).min(1.0),
            slope: self.slope - epsilon.exp() * far.second,
            noise: self.noise + 0.5 * (upper - lower),
        }
    }
}

/// Node values along the contour and the bounds that hold for all ε.
#[derive(Debug)]
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
    /// Σ of the node moduli.
    total_size: f64,
    log_scale: f64,
    log_scale_error: f64,
    /// Bounds on the cut-off tail, for δ and for the density, relative to the scale.
    tail: f64,
    density_tail: f64,
    /// An abscissa c′ > c with the logarithm of the aliasing bound at ε = 0.
    high_alias: (f64, f64),
    low_alias: f64,
    left_out: f64,
    /// d and the logarithm of a bound on what was subtracted, at ε = 0: it falls like e^{−dε}.
    rest: Option<(f64, f64)>,
    /// μ of the smoothing Gaussian, zero for none.
    smoothing: f64,
    /// What outcomes add that end above ε for certain.
    far: Option<FarLosses>,
}

/// P(far) − e^ε Q(far), for losses that carry every outcome past ε.
#[derive(Debug, Clone, Copy)]
pub(super) struct FarLosses {
    /// Its value at one ε, Q(far), and how far the value may be off.
    pub epsilon: f64,
    pub value: f64,
    pub second: f64,
    pub error: f64,
    /// Q(far) of those that may end below ε after all.
    pub lost: f64,
}

impl FarLosses {
    /// From both sides.
    fn at(&self, epsilon: f64) -> (f64, f64) {
        let growth = self.epsilon.exp();
        let value = self.value - self.second * growth * (epsilon - self.epsilon).exp_m1();
        let rounding = 8.0 * UNIT * (self.value.abs() + value.abs());
        (value - self.error - rounding, value + self.error + rounding + epsilon.exp() * self.lost)
    }
}

/// LineCache of up to this many nodes are drawn at the first look.
const FEW_NODES: f64 = 2500.0;

/// The most nodes on a contour.
const MOST_NODES: f64 = 250_000.0;

impl Contour {
    /// Draws a contour that serves ε near the saddle's. `left_out` is the probability of outcomes that the
    /// composition does not contain.
    ///
    /// `worth` is the relative error of δ that is as bad as a relative error 1 of the answer.
    pub(super) fn draw(
        composed: &Composed,
        left_out: f64,
        saddle: &Saddle,
        worth: f64,
        scheme: Scheme,
    ) -> Option<Contour> {
        let tolerance = (1e-8 * worth).min(1e-6);
        let Placement { c, period, log_scale, cancelled } =
            Placement::best(composed, saddle, tolerance, scheme)?;
        let wanted = saddle.log_delta + tolerance.ln();
        let (period, high_alias) = high_alias(composed, saddle, c, period, wanted)?;
        let step = 2.0 * PI / period;
        let reach = (2.0 * (1.0 / tolerance).ln() + 8.0).sqrt();
        let smoothing_for = |gap: f64| {
            let wanted = (gap * worth.min(10.0) / (c * (c + 1.0))).sqrt();
            // More than is wanted where the nodes would not suffice: a wider answer, and still a certified one.
            wanted.max(reach / (step * MOST_NODES))
        };
        // A first look need not be sharp: it is followed by another at the ε found.
        let (first, sharp) = (smoothing_for(5e-4), smoothing_for(2.5e-7));
        let smoothing = if scheme == Scheme::Quick { first } else { sharp };
        let (far, farthest) = (reach / smoothing, reach / sharp);
        // What the tail is measured against: δ over the scale e^{K(c) − cε}.
        let share = (saddle.log_delta - (log_scale - c * saddle.epsilon)).exp();
        let allowed = tolerance * share;
        let cancellation = cancelled.exp();
        let start = 3.5 / saddle.variance.max(1e-300).sqrt();
        let coarse = tilt_all(composed, c, 0.0, 0.0)?;
        // A long line is drawn only when nothing shorter will do.
        let limit = if scheme == Scheme::Quick { farthest.min(FEW_NODES * step) } else { farthest };
        let plain = Truncation::search(composed, c, &coarse, composed.gaussian, start, limit, allowed);
        let (truncation, smoothing) = match plain {
            Some(truncation) => (truncation, 0.0),
            None => {
                let gaussian = composed.gaussian + smoothing * smoothing;
                (
                    Truncation::search(composed, c, &coarse, gaussian, far, 2.0 * far, f64::INFINITY)?,
                    smoothing,
                )
            }
        };
        let count = (truncation.last / step).ceil().max(8.0);
        if count > 2.5 * MOST_NODES {
            return None;
        }
        let mut contour =
            Contour::with_nodes(composed, c, step, count as usize, smoothing, tolerance / cancellation)?;
        contour.tail = truncation.tail;
        contour.density_tail = truncation.density_tail;
        // The aliases are those of the smoothed composition.
        let (d, log_bound) = high_alias;
        contour.high_alias = (d, log_bound + 0.5 * smoothing * smoothing * d * (d + 1.0));
        contour.left_out = left_out;
        Some(contour)
    }

    /// A line to which `count` + 1 nodes will be added. Until its bounds are set it certifies nothing: they are infinite.
    fn without_nodes(c: f64, step: f64, count: usize) -> Contour {
        Contour {
            c,
            step,
            nodes: Vec::with_capacity(count + 1),
            node_error: 0.0,
            density_error: 0.0,
            phase_error: 0.0,
            total_size: 0.0,
            log_scale: 0.0,
            log_scale_error: f64::INFINITY,
            tail: f64::INFINITY,
            density_tail: f64::INFINITY,
            high_alias: (c, f64::INFINITY),
            low_alias: f64::INFINITY,
            left_out: 0.0,
            rest: None,
            smoothing: 0.0,
            far: None,
        }
    }

    /// Computes the nodes.
    fn with_nodes(
        composed: &Composed,
        c: f64,
        step: f64,
        count: usize,
        smoothing: f64,
        tolerance: f64,
    ) -> Option<Contour> {
        let gaussian = composed.gaussian + smoothing * smoothing;
        let mut exponents: Vec<Complex64> = (0..=count)
            .map(|k| {
                let y = k as f64 * step;
                0.5 * gaussian * Complex64::new(-y * y, y * (2.0 * c + 1.0))
            })
            .collect();
        let mut errors = vec![0.0; count + 1];
        let mut log_scale = 0.5 * gaussian * c * (c + 1.0);
        let mut log_scale_error = 8.0 * UNIT * log_scale;
        for (part, times) in &tilt_all(composed, c, step * count as f64, 0.02 * tolerance)? {
            let (k, k_error) = part.log_mgf();
            log_scale += times * k;
            log_scale_error += times * k_error + 4.0 * UNIT * (times * k).abs();
            let fineness = if smoothing > 0.0 { Fineness::Windowed } else { Fineness::Full };
            let transform = part.transform(step, count, fineness);
            accumulate(transform, *times, &mut exponents, &mut errors);
        }
        let mut contour = Contour {
            log_scale,
            log_scale_error,
            low_alias: 1.0 / (2.0 * PI * c / step).exp_m1(),
            smoothing,
            ..Contour::without_nodes(c, step, count)
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
            let relative = (error + UNIT * (32.0 + 4.0 * exponent.modulus())).exp_m1();
            let size = value.modulus().max(f64::MIN_POSITIVE);
            let (kept, lost) = if relative < 0.5 {
                (value, size * relative)
            } else {
                (Complex64::new(0.0, 0.0), ((exponent.re + error).min(0.0)).exp() / denominator.modulus())
            };
            let size = kept.modulus().max(f64::MIN_POSITIVE);
            let half = if k == 0 { 0.5 } else { 1.0 };
            self.node_error += half * lost;
            self.density_error += half * lost * denominator.modulus();
            self.phase_error += size * y;
            self.total_size += size;
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
        let rounding = UNIT * (400.0 + self.nodes.len() as f64) * self.total_size
            + 2.0 * UNIT * epsilon.abs() * self.phase_error;
        let measure = self.step / PI;
        let error = measure * (self.node_error + rounding) + self.tail;
        let exponent = self.log_scale - self.c * epsilon;
        let scale_error = (self.log_scale_error
            + 4.0 * UNIT * (self.log_scale.abs() + (self.c * epsilon).abs() + 4.0))
            .exp_m1();
        let scale = exponent.exp();
        let (above, below) = (scale * (1.0 + scale_error), scale * (1.0 - scale_error).max(0.0));
        let middle = scale * measure * sum;
        let rest = self.rest.map_or(0.0, |(d, log)| (log - d * epsilon).exp());
        let upper = above * at_least_zero(measure * sum + error) + self.left_out + rest;
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
        let value = Value {
            lower: lower.max(0.0),
            middle,
            upper: upper.min(1.0),
            slope: -scale * measure * slope,
            noise: above * error,
        };
        self.far.map_or(value, |far| value.with_far(&far, epsilon))
    }

    /// The same line, with outcomes added that it does not contain.
    pub(super) fn with_far(self, far: FarLosses) -> Contour {
        Contour { far: Some(far), ..self }
    }

    /// How many nodes it has.
    pub(super) fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// Where it crosses the real axis.
    pub(super) fn abscissa(&self) -> f64 {
        self.c
    }

    fn largest_denominator(&self) -> f64 {
        let y = self.step * self.nodes.len() as f64;
        (self.c + y) * (self.c + 1.0 + y)
    }

    /// A bound on what aliasing adds.
    fn aliases(&self, epsilon: f64) -> f64 {
        let (c, log_bound) = self.high_alias;
        (log_bound - c * epsilon).exp() + self.low_alias
    }
}

/// A line whose nodes come from elsewhere, one by one.
pub(super) struct ContourBuilder(Contour);

impl ContourBuilder {
    pub(super) fn new(c: f64, step: f64, count: usize) -> ContourBuilder {
        ContourBuilder(Contour::without_nodes(c, step, count))
    }

    /// The next node, without 1/(z(z+1)), and how far it may be off.
    pub(super) fn push(&mut self, value: Complex64, error: f64) {
        let line = &mut self.0;
        let k = line.nodes.len();
        let y = k as f64 * line.step;
        let z = Complex64::new(line.c, y);
        let denominator = z * (z + 1.0);
        let node = value / denominator;
        let half = if k == 0 { 0.5 } else { 1.0 };
        let size = node.modulus().max(f64::MIN_POSITIVE);
        line.node_error += half * (error / denominator.modulus() + 8.0 * UNIT * size);
        line.phase_error += size * y;
        line.total_size += size;
        line.nodes.push(half * node);
    }

    /// The line with the logarithm of its scale and how far that is off, the tail beyond its last node, bounds on its aliases
    /// from above and from below, and a bound on what it does not contain.
    pub(super) fn finish(
        self,
        scale: (f64, f64),
        tail: f64,
        (high_alias, low_alias): ((f64, f64), f64),
        (rest, left_out): ((f64, f64), f64),
    ) -> Contour {
        let (log_scale, log_scale_error) = scale;
        Contour {
            log_scale,
            log_scale_error,
            tail,
            high_alias,
            low_alias,
            rest: Some(rest),
            left_out,
            ..self.0
        }
    }
}

/// max(x, 0), but NaN stays: `f64::max` would turn it into a bound.
pub(super) fn at_least_zero(x: f64) -> f64 {
    if x < 0.0 { 0.0 } else { x }
}

/// e^w − 1 without cancellation near zero.
pub(super) fn exp_m1(w: Complex64) -> Complex64 {
    let (sin, cos) = w.im.sin_cos();
    let half = (0.5 * w.im).sin();
    Complex64::new(w.re.exp_m1() * cos - 2.0 * half * half, w.re.exp() * sin)
}

/// Adds times·log(1 + deviation) to the exponents and times·error/|1 + deviation| to the errors.
pub(super) fn accumulate(
    transform: (Vec<Complex64>, Vec<f64>),
    times: f64,
    exponents: &mut [Complex64],
    errors: &mut [f64],
) {
    let (values, bounds) = transform;
    for (k, (value, bound)) in values.iter().zip(&bounds).enumerate() {
        // Near 1 the modulus is found from its distance to 1, elsewhere directly: neither way cancels.
        let square = 2.0 * value.re + value.norm_sqr();
        let (log_modulus, modulus) = if square > -0.75 {
            (0.5 * square.ln_1p(), (1.0 + square).sqrt())
        } else {
            let modulus = (value + 1.0).modulus();
            (modulus.max(1e-300).ln(), modulus)
        };
        let log = Complex64::new(log_modulus, value.im.atan2(1.0 + value.re));
        if k == 0 {
            continue;
        }
        let share = bound / modulus.max(1e-300);
        if share < 0.25 {
            exponents[k] += times * log;
            let cancelled = value.modulus() / modulus.max(1e-300);
            errors[k] += times
                * (1.2 * share + UNIT * (4.0 * log.modulus() + 4.0 * value.modulus() + 8.0 * cancelled));
        } else {
            // The value drowns in its error: keep only a bound on the modulus.
            exponents[k] += times * (modulus + bound).min(1.0).ln();
            errors[k] += 1.0;
        }
    }
}
