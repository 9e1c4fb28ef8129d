//! δ(ε) as a sum along a vertical contour through the saddle point, with everything the sum leaves out bounded.
//!
//! For L the total loss, K its log moment function and any c > 0,
//! δ(ε) = (1/2πi) ∫_{Re z = c} e^{K(z) − zε} / (z(z+1)) dz. The trapezoid rule with step h on that line gives
//! exactly δ(ε) + Σ_{j≥1} [e^{2πjc/h} δ(ε + 2πj/h) + e^{−2πjc/h} δ(ε − 2πj/h)]: it errs upward, by an amount that
//! Chernoff bounds. Cutting the line off is paid for by an envelope of the transform; where there is none, the
//! composition is made a little worse by one more, very weak Gaussian mechanism, whose own cost is then bounded.

use super::law::{Law, Tilted};
use super::points::{Bulk, Fineness};
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

impl Saddle {
    /// How much a relative error of δ matters for ε: x moves ε by about x/worth of itself.
    pub(super) fn worth_of_epsilon(&self) -> f64 {
        (self.c * self.epsilon.abs()).max(1e-3)
    }
}

impl Composed {
    /// The composition without outcomes of large loss, and a bound on the probability that one of them occurs:
    /// about `mass`.
    pub(super) fn capped(&self, mass: f64) -> (Composed, f64) {
        let mut left_out = 0.0;
        let sampled = self.laws.iter().filter(|(law, _)| matches!(law, Law::Sampled(_))).count() as f64;
        let cap = |(law, times): &(Law, f64)| match law {
            Law::Sampled(step) => {
                let capped = step.capped(mass / (times * sampled));
                left_out += times * capped.left_out();
                (Law::Sampled(capped), *times)
            }
            Law::Laplace { .. } | Law::Atoms { .. } => (law.clone(), *times),
        };
        let laws = self.laws.iter().map(cap).collect();
        (Composed { laws, gaussian: self.gaussian }, left_out)
    }

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

    /// An estimate of log δ(ε) + cε from the integrand at abscissa c.
    ///
    /// The variance of the tilted law, which the estimate divides by, is trusted only within the range it has for
    /// Gaussian-like laws: rare large losses inflate it without widening the peak of the integrand.
    fn height(&self, c: f64, depth: f64) -> (f64, [f64; 3]) {
        let moments = self.scout(c);
        let peak = (c * c * moments[2] + 2.0).min(2.0 * depth.max(1.0) + 2.0);
        (moments[0] - c.ln_1p() - 0.5 * (2.0 * PI * peak).ln(), moments)
    }

    /// The saddle point for a given ε: the integrand is least there on the real axis.
    pub(super) fn saddle_for_epsilon(&self, epsilon: f64) -> Option<Saddle> {
        // The slope of K(c) − cε − log c − log(1 + c) rises through zero at the saddle.
        let slope = |t: f64| {
            let c = t.exp();
            let value = self.scout(c)[1] - epsilon - 1.0 / c - 1.0 / (1.0 + c);
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
        let variance = self.scout(c)[2];
        value.is_finite().then_some(Saddle { c, epsilon: value, log_delta, variance })
    }

    /// The logarithm of an abscissa that suits a Gaussian of the same spread.
    fn first_guess(&self) -> f64 {
        let spread = self.scout(1e-3)[2].sqrt();
        if spread > 0.0 { (4.0 / spread).ln().clamp(-20.0, 30.0) } else { 0.0 }
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
    /// μ of the smoothing Gaussian, zero for none.
    smoothing: f64,
}

/// The most nodes on a contour.
const MOST_NODES: f64 = 500_000.0;

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
        care: Care,
    ) -> Option<Contour> {
        let tolerance = (1e-8 * worth).min(1e-6);
        let Placement { c, period, log_scale } = Placement::best(composed, saddle, tolerance, care)?;
        let wanted = saddle.log_delta + tolerance.ln();
        let (period, high_alias) = high_alias(composed, saddle, c, period, wanted)?;
        let step = 2.0 * PI / period;
        let smoothing = (2.5e-7 * worth / (c * (c + 1.0))).sqrt();
        let reach = (2.0 * (1.0 / tolerance).ln() + 8.0).sqrt();
        // More smoothing than is wanted where the nodes would not suffice: a wider answer, and still a certified one.
        let smoothing = smoothing.max(reach / (step * MOST_NODES));
        let far = reach / smoothing;
        // What the tail is measured against: δ over the scale e^{K(c) − cε}.
        let share = (saddle.log_delta - (log_scale - c * saddle.epsilon)).exp();
        let allowed = tolerance * share;
        // How much larger the integrand is than the integral.
        let cancellation = (1.0 / (share * c * (c + 1.0))).max(1.0);
        let start = 3.5 / saddle.variance.max(1e-300).sqrt();
        let coarse = tilt_all(composed, c, 0.0, 0.0)?;
        let plain = Horizon::search(composed, c, &coarse, composed.gaussian, start, far, allowed);
        let (horizon, smoothing) = match plain {
            Some(horizon) => (horizon, 0.0),
            None => {
                let gaussian = composed.gaussian + smoothing * smoothing;
                (Horizon::search(composed, c, &coarse, gaussian, far, 2.0 * far, f64::INFINITY)?, smoothing)
            }
        };
        let count = (horizon.last / step).ceil().max(8.0);
        if count > 2.5 * MOST_NODES {
            return None;
        }
        let mut contour =
            Contour::with_nodes(composed, c, step, count as usize, smoothing, tolerance / cancellation)?;
        contour.tail = horizon.tail;
        contour.density_tail = horizon.density_tail;
        contour.high_alias = high_alias;
        contour.left_out = left_out;
        Some(contour)
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
        for (law, times) in &tilt_all(composed, c, step * count as f64, 0.02 * tolerance)? {
            let (k, k_error) = law.log_mgf();
            log_scale += times * k;
            log_scale_error += times * k_error + 4.0 * UNIT * (times * k).abs();
            let fineness = if smoothing > 0.0 { Fineness::Windowed } else { Fineness::Full };
            accumulate(law.transform(step, count, fineness), *times, &mut exponents, &mut errors);
        }
        let mut contour = Contour {
            c,
            step,
            nodes: Vec::with_capacity(count + 1),
            node_error: 0.0,
            density_error: 0.0,
            phase_error: 0.0,
            total_size: 0.0,
            log_scale,
            log_scale_error,
            tail: f64::INFINITY,
            density_tail: f64::INFINITY,
            high_alias: (c, f64::INFINITY),
            low_alias: 1.0 / (2.0 * PI * c / step).exp_m1(),
            left_out: 0.0,
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
        let upper = above * (measure * sum + error).max(0.0) + self.left_out;
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

/// Every law tilted to c, its tails of mass `negligible`/times not resolved.
pub(super) fn tilt_all(
    composed: &Composed,
    c: f64,
    reach: f64,
    negligible: f64,
) -> Option<Vec<(Tilted, f64)>> {
    let tilt =
        |(law, times): &(Law, f64)| law.tilted(c, reach, negligible / times).map(|tilted| (tilted, *times));
    composed.laws.iter().map(tilt).collect()
}

/// How much work a contour is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Care {
    Quick,
    Sharp,
    /// Rare large losses are counted apart.
    Split,
}

/// Where the contour crosses the real axis, and how far apart its aliases are.
///
/// At the saddle the integrand cancels least, but where rare large losses drive the moment function the saddle lies
/// on a wall: the tilted law splits in two and its upper half aliases far. Any abscissa is valid; the best one needs
/// the shortest period.
pub(super) struct Placement {
    pub c: f64,
    pub period: f64,
    pub log_scale: f64,
}

impl Placement {
    /// The fewer digits may cancel, the more `care`, and the longer the period.
    pub(super) fn best(
        composed: &Composed,
        saddle: &Saddle,
        tolerance: f64,
        care: Care,
    ) -> Option<Placement> {
        let wanted = saddle.log_delta + tolerance.ln() - 1.0;
        let (ratio, range, price) = match care {
            Care::Quick => (1.2f64, -9..=6, 3.0),
            Care::Sharp | Care::Split => (1.07f64, -24..=16, 1.3),
        };
        let table: Vec<(f64, f64)> = range
            .map(|i| {
                let c = saddle.c * ratio.powi(i);
                (c, composed.scout(c)[0])
            })
            .collect();
        let mut best: Option<(f64, Placement)> = None;
        for (i, &(c, k)) in table.iter().enumerate() {
            let excess = k - c * saddle.epsilon - (c * (c + 1.0)).ln() - saddle.log_delta;
            if !(excess < 16.0) {
                continue;
            }
            let low = -wanted / c;
            let high = table[i + 1..]
                .iter()
                .map(|&(d, k)| (k - d * saddle.epsilon - d.ln_1p() - wanted) / (d - c))
                .filter(|period| period.is_finite())
                .fold(f64::INFINITY, f64::min);
            let period = low.max(high).max(1e-300);
            // Digits that cancel must be bought with tighter nodes.
            let cost = period * (excess.max(0.0) / price).exp();
            if cost.is_finite() && best.as_ref().is_none_or(|b| cost < b.0) {
                best = Some((cost, Placement { c, period, log_scale: k }));
            }
        }
        best.map(|(_, placement)| placement)
    }
}

/// A period at least as long as given for which what the losses above ε alias to is at most e^{wanted}; with it c′ > c
/// and the logarithm of κ(c′) e^{K(c′)}/(e^{(c′−c)·period} − 1), which bounds that (times e^{−c′ε}).
pub(super) fn high_alias(
    composed: &Composed,
    saddle: &Saddle,
    c: f64,
    period: f64,
    wanted: f64,
) -> Option<(f64, (f64, f64))> {
    // Moments that steer may mislead next to a wall: they only order the ladder, certified ones decide.
    let bound = |d: f64, log: f64, period: f64| {
        let gain = (d - c) * period;
        log - gain - (-(-gain).exp()).ln_1p()
    };
    let mut ladder = [0.06, 0.2, 0.44, 0.8, 1.5].map(|rise| {
        let d = c * (1.0 + rise);
        let guess = bound(d, composed.scout(d)[0], period) - d.ln_1p() - d * saddle.epsilon;
        (d, if guess.is_nan() { f64::INFINITY } else { guess })
    });
    ladder.sort_by(|a, b| a.1.total_cmp(&b.1));
    let mut best: Option<(f64, (f64, f64))> = None;
    for (d, _) in ladder {
        let Some(log) = composed.chernoff(d) else { continue };
        let mut long = period;
        while bound(d, log, long) - d * saddle.epsilon > wanted && long < 300.0 * period {
            long *= 1.15;
        }
        if best.is_none_or(|(known, _)| long < known) {
            best = Some((long, (d, bound(d, log, long))));
        }
        if long == period {
            break;
        }
    }
    best.filter(|(long, _)| *long < 300.0 * period)
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

/// Where the contour may be cut off.
struct Horizon {
    last: f64,
    /// Bounds on (1/π) ∫ |e^{K(z)−K(c)}| / y² dy and on (1/π) ∫ |e^{K(z)−K(c)}| dy beyond it.
    tail: f64,
    density_tail: f64,
}

impl Horizon {
    /// The first point of a geometric ladder from `start` to `limit` beyond which the tail is at most `allowed`.
    fn search(
        composed: &Composed,
        c: f64,
        coarse: &[(Tilted, f64)],
        gaussian: f64,
        start: f64,
        limit: f64,
        allowed: f64,
    ) -> Option<Horizon> {
        const RATIO: f64 = 1.16;
        let smooth = |y: f64| {
            -0.5 * gaussian * y * y
                + coarse.iter().map(|(law, times)| times * law.envelope(y).ln()).sum::<f64>()
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
            tail += size * (1.0 - 1.0 / RATIO) / y;
            density += size * (RATIO - 1.0) * y;
            if tail > allowed * PI || y < start {
                break;
            }
            found = Some(Horizon { last: y, tail: tail / PI, density_tail: density / PI });
        }
        found.filter(|horizon| horizon.last <= limit)
    }
}

/// The bulk of one law between the last node and where smoothness alone suffices. With ρ = |φ_bulk|² and rare losses
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
        composed.laws.iter().filter_map(|(law, times)| Zone::of(law, *times, c, last)).collect()
    }

    fn of(law: &Law, times: f64, c: f64, last: f64) -> Option<Zone> {
        let Law::Sampled(sampled) = law else { return None };
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
